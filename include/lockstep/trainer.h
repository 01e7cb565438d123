/* SPDX-License-Identifier: BSD-3-Clause */
/* Trainers: one model, one optimizer, one step. */
#ifndef LOCKSTEP_TRAINER_H
#define LOCKSTEP_TRAINER_H

#include <lockstep/graph.h>
#include <lockstep/optim.h>
#include <lockstep/pool.h>
#include <lockstep/precision.h>
#include <lockstep/random.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A trainer is a model with its parameters, its optimizer's state and the
 * memory of a step.  A batch is the rows of one step. */
typedef struct ls_trainer ls_trainer;
typedef struct ls_batch ls_batch;

/* The reduction of the devices' gradients to one.  LS_MEAN_EXACT divides the
 * sum over all terms by their weight.  LS_MEAN_OF_SHARDS averages each device's
 * own mean over the devices, as JAX's pmean does; it differs where devices have
 * different weights.  LS_SUM is the sum. */
typedef enum ls_mean { LS_MEAN_EXACT, LS_MEAN_OF_SHARDS, LS_SUM } ls_mean;

/* Optimizer state, replicated or sharded (ZeRO).  With LS_REPLICATE the caller
 * updates everything; with LS_SHARD each worker updates the part that its
 * devices own.  In shared memory parameters exist once either way, and the bits
 * are the same.  ls_state_place has more. */
typedef enum ls_state { LS_REPLICATE, LS_SHARD } ls_state;

/* The rule, one of Flax's two, that gives each parameter its random key. */
typedef enum ls_keys { LS_KEYS_NNX, LS_KEYS_LINEN } ls_keys;

/* The rows that ls_batch_set, ls_batch_set_weights and loaders are given where
 * several ranks train together (lockstep/transport.h).
 *
 * LS_ROWS_ALL    every rank gives the whole batch, and reads of it the rows of
 *                its own devices
 * LS_ROWS_MOVED  every rank gives the rows that it has, and no others: the
 *                batch is those of the first rank, then those of the second,
 *                and so on, to the bytes of a program that has them all.  Rows
 *                travel to the ranks whose devices they fall to
 * LS_ROWS_KEPT   local rows: likewise, but a rank's rows are cut over its own
 *                devices and travel nowhere.  A rank of D' devices with n rows
 *                gives device k in micro-batch i of K its rows from
 *                (i D' + k) E on, E = ceil(n / (K D')) of them.  The bytes are
 *                those of devices with these rows, each padded with rows of
 *                weight 0 to the most that any has
 *
 * In the last two, setting is a call of all ranks, in one order, in which they
 * exchange their numbers of rows; a rank may have none (then data may be NULL,
 * but not weights), and numbers may change from step to step.  Means are exact,
 * since weights travel with rows; outputs and losses of rows are those of all
 * ranks, in order of ranks, on each.  When numbers change, all inputs and the
 * weights must be set again.  What fails on one rank fails on all. */
typedef enum ls_rows { LS_ROWS_ALL, LS_ROWS_MOVED, LS_ROWS_KEPT } ls_rows;

/* Options of training; ls_trainer_open copies them. */
typedef struct ls_trainer_options {
    size_t size; /* ls_trainer_defaults() writes it */
    int64_t seed;           /* of the initial parameters */
    ls_keys keys;
    ls_optimizer optimizer;
    ls_schedule schedule;   /* its boundaries are copied */
    double clip_norm;       /* 0: no clipping */
    int accumulate;         /* micro-batches of a step; 0: 1 */
    ls_mean mean;
    ls_state state;
    const char *backend;    /* of matrix products, see ls_backend_name;
                               NULL: native.  "blis" allocates in every step,
                               and may not be built in */
    const char *data_axis;  /* of the mesh; NULL: "data" */
    bool check_divergence;  /* debug: see lockstep/own.h */
    bool own_dropout_key;   /* keys for dropout come from dropout_key; false:
                               from seed */
    ls_key dropout_key;
    ls_precision precision; /* of a graph's layers; "blis" has f32 alone */
    const struct ls_transport *transport; /* to the ranks that share the
                               devices, borrowed until the trainer is closed
                               (lockstep/transport.h); NULL: all run here */
    bool even_rows;         /* refuse rows that do not divide by devices x
                               micro-batches (LS_ESHAPE), which are cut
                               unevenly otherwise: see ls_batch_set */
    double average;         /* decay of an average of the weights: below 1; 0:
                               none.  See ls_trainer_use_average */
    int n_groups;
    const ls_group *groups; /* of parameters, which are copied; NULL: none */
    double clip_value;      /* 0: no clipping of values */
    int64_t bucket;         /* over ranks: bytes of a bucket of the gradient,
                               sent as soon as it is known (reduce-scatter);
                               0: 1 MiB, < 0: one; no bit depends on it */
    ls_rows rows;           /* over ranks: which ones a batch is given */
    double check;           /* share of the steps in which all is computed a
                               second time by other workers, 0: none, 1: all,
                               see ls_trainer_health; no bit depends on it */
    ls_schedule decay_schedule;   /* weight_decay and l2 of an update are times
                               this schedule's rate of peak 1; all zero: 1.
                               LS_EINVAL for a piecewise one, here and below */
    ls_schedule dropout_schedule; /* and so is the rate of each dropout */
} ls_trainer_options;

/* Keys for dropout, with D = dropout_key or that of seed; c is the call.
 * nnx, nnx.Rngs(seed): layers take requests to the stream among the parameters,
 * in the order they were made; its mask is drawn with
 * fold_in(fold_in(D, request), c).  With own_dropout_key, as
 * nnx.Rngs(seed, dropout=..): only layers of dropout take requests to D.
 * linen, apply(.., rngs={"dropout": fold_in(D, c)}): the layer's path hashed
 * with its count, folded into fold_in(D, c). */

/* Clipping by global norm, c = clip_norm: with G = sqrt(sum g^2) over all
 * parameters, g = (g (1/G)) c where G >= c.  The sum is taken over blocks of
 * 4096 of the flat parameter array, so that its bits depend on nothing else.
 * Infinity clips nothing and reports G.
 * Clipping by value, v = clip_value: then each element g = min(max(g, -v), v),
 * as optax.chain(optax.clip_by_global_norm(c), optax.clip(v)). */

/* Accumulation, K = accumulate: micro-batch i of K is rows iB/K .. (i+1)B/K of
 * the batch, each is cut over all devices, and a device adds its K gradients in
 * order before devices are added.  One step, one update, one loss over all of
 * them. */

/* Returns options with seed 0, nnx keys, sgd with rate 0.1, a constant
 * schedule, no clipping, no accumulation, the exact mean, LS_REPLICATE, axis
 * "data", and layers in f32. */
LS_API void ls_trainer_defaults_bytes(ls_trainer_options *options, size_t size);
static inline ls_trainer_options ls_trainer_defaults(void)
{
    ls_trainer_options o;

    ls_trainer_defaults_bytes(&o, sizeof o);
    return o;
}

/* Compile the graph for the pool's devices and lay out everything a step
 * needs; parameters start from the seed.  The pool is borrowed until the
 * trainer is closed; the graph may be freed at once.  A trainer's devices are
 * those along the mesh's data axis: devices that differ only along another one
 * would compute the same, so each shard is computed once.
 * Fails with the graph's first error if it has one. */
LS_API int ls_trainer_open(ls_trainer **trainer, ls_pool *pool,
                           const ls_graph *graph,
                           const ls_trainer_options *options);
/* Free the trainer and its parameters.  Its batches may be closed before or
 * after it. */
LS_API void ls_trainer_close(ls_trainer *trainer);

/* ------ Batches ------ */

/* Make a batch for one trainer, with nothing set.  It can be used again for
 * every step.  LS_ENOMEM. */
LS_API int ls_batch_open(ls_batch **batch, const ls_trainer *trainer);
/* Free the batch, but not the rows that were set on it. */
LS_API void ls_batch_close(ls_batch *batch);

/* Give the batch its rows of one input, without a copy: data (rows, row shape)
 * is borrowed and must stay as it is until that input is set again or the batch
 * is closed.  So each input needs an array of its own: an array that is filled
 * again and set for a second input changes the first input's rows too, and no
 * check can notice it.
 * Checks dtype and that indices (tokens, labels) are in range: LS_ERANGE names
 * the first that is not.
 * With S = devices x micro-batches, device d of D has in micro-batch i rows
 * (iD + d) ceil(rows / S) and on, ceil(rows / S) of them.  Where S does not
 * divide the rows, the last devices have fewer or none; the bytes are those of
 * a batch filled up with rows of weight 0, so means are exact. */
LS_API int ls_batch_set(ls_batch *batch, const char *input, ls_dtype dtype,
                        const void *data, int64_t rows);

/* The same of data that has n elements: LS_ESHAPE, with both numbers, where the
 * rows need more. */
LS_API int ls_batch_set_view(ls_batch *batch, const char *input, ls_dtype dtype,
                             int64_t n, const void *data, int64_t rows);

/* A weight for each row, finite and not negative (0: masked), borrowed as the
 * rows are; NULL: all 1, as a batch begins. */
LS_API int ls_batch_set_weights(ls_batch *batch, const float *weights,
                                int64_t rows);

/* ------ A step ------ */

/* Results of a step or an evaluation. */
typedef struct ls_result {
    int64_t step;    /* number of this step, from 0 */
    int64_t rows;
    float loss;      /* the mean chosen; NaN when the weight is 0 */
    float accuracy;  /* share of right argmaxes by weight; NaN: no classes */
    float lr;        /* of this step, by the schedule */
    float grad_norm; /* G before clipping; NaN without clip_norm */
    bool updated;    /* false: the weight of the batch was 0 */
    double weight;   /* of all terms; labels below 0 have none */
    float metric[LS_METRICS]; /* sum / weight; NaN where the weight is 0 */
    double gradient_seconds, reduce_seconds, update_seconds;
} ls_result;

/* Train on one batch.  Every input must be set, with equal rows.  Allocates
 * nothing.  LS_ENONFINITE names device, parameter (or the loss) and first row,
 * and LS_EUSER a device whose function failed; the trainer is then as it was
 * before.  A batch whose weights are all 0 updates nothing and is no failure.
 */
LS_API int ls_step_bytes(ls_trainer *trainer, const ls_batch *batch,
                         ls_result *result, size_t size);
static inline int ls_step(ls_trainer *trainer, const ls_batch *batch,
                          ls_result *result)
{
    return ls_step_bytes(trainer, batch, result, sizeof *result);
}

/* Compute the loss and accuracy of a batch without an update.  With
 * LS_MEAN_OF_SHARDS the loss is the exact mean all the same: a shard may be
 * empty here. */
LS_API int ls_evaluate_bytes(ls_trainer *trainer, const ls_batch *batch,
                             ls_result *result, size_t size);
static inline int ls_evaluate(ls_trainer *trainer, const ls_batch *batch,
                              ls_result *result)
{
    return ls_evaluate_bytes(trainer, batch, result, sizeof *result);
}

/* ------ Checks ------ */

/* Findings of ls_trainer_options.check = C, which looks for silent data
 * corruption.  Steps are drawn with the probability C, by the seed and the
 * step's number.  In a drawn step every device's gradient, the packed weights,
 * and blocks of the sum and of the update (4 for each worker; with C = 1 all)
 * are computed again by another worker, into the same memory, and compared.
 * Where two results differ a third computation decides; the step goes on with
 * the right one, and the worker that was wrong moves to another core.  A single
 * worker checks itself, later.  ls_step returns LS_EDIFFERS if nobody can say
 * who is right.  A gradient function or operator of one's own is called again
 * with the same arguments, and must do the same again.  Rows of tables with
 * lazy updates (lockstep/sparse.h) are summed twice and updated once.  Each
 * rank checks what it computes, with its own workers, and tells that here; a
 * rank that cannot decide ends the step of all with LS_EDIFFERS. */
typedef struct ls_health {
    int64_t steps, drawn;  /* of these steps, these were drawn */
    int64_t checks, wrong; /* parts that were computed; of them, not right */
    int64_t moved;         /* workers, to another core */
    int64_t step;          /* of the last wrong one, -1: none */
    const char *text;      /* about it, "": none; the trainer's, until the next
                              step */
    int worker, pu;        /* that was wrong; -1: not known, or not pinned */
} ls_health;

/* Returns what the check found; without the option all are 0, and `step`,
 * `worker` and `pu` -1. */
LS_API void ls_trainer_health_bytes(const ls_trainer *trainer,
                                    ls_health *health, size_t size);
static inline ls_health ls_trainer_health(const ls_trainer *trainer)
{
    ls_health health;

    ls_trainer_health_bytes(trainer, &health, sizeof health);
    return health;
}

/* The value of a node that ls_output named, for every row of a batch: out
 * (rows, the node's row shape), n elements.  Only the inputs it depends on must
 * be set.  Rows of weight 0 are left out: their part of out stays as it is.
 * Allocates nothing.  LS_ENOTFOUND: no such output; LS_ESHAPE: n is not what is
 * needed. */
LS_API int ls_predict(ls_trainer *trainer, const ls_batch *batch,
                      const char *output, int64_t n, float *out);

/* Returns the number of devices that share a batch, which are those along the
 * data axis of the mesh. */
LS_API int ls_trainer_devices(const ls_trainer *trainer);

/* ------ Parameters ------ */

/* Returns the number of parameters; each is an array. */
LS_API int ls_trainer_params(const ls_trainer *trainer);
/* Returns the name of parameter i in canonical order (by path, bytewise). */
LS_API const char *ls_trainer_param_name(const ls_trainer *trainer, int i);
/* Stores the shape of parameter i and returns its rank.  LS_EINVAL: there is no
 * such parameter. */
LS_API int ls_trainer_param_shape(const ls_trainer *trainer, int i,
                                  int64_t shape[LS_MAX_RANK]);
/* Copy the n elements of a parameter to out, wherever it is placed.  The
 * arrays of the optimizer's state have the names below, such as "mu.<name>". */
LS_API int ls_trainer_get(const ls_trainer *trainer, const char *name,
                          int64_t n, float *out);
/* Set the n elements of a parameter, or of an array of the optimizer's state.
 */
LS_API int ls_trainer_set(ls_trainer *trainer, const char *name, int64_t n,
                          const float *values);
/* Returns the number of updates done. */
LS_API int64_t ls_trainer_step(const ls_trainer *trainer);
/* Set that number; schedules, adam's corrections and the keys of dropout go by
 * it.  LS_EINVAL: it is negative, or above 2^46. */
LS_API int ls_trainer_set_step(ls_trainer *trainer, int64_t step);

/* Stores the loss of each row of the batch in loss[0 .. n-1], n being its rows:
 * the mean over the row's terms, as ls_evaluate has it for a batch of this row
 * alone, NaN where it has none.  Weights of rows do not count, nothing is
 * updated, and a number may be not finite.  A gradient function of your own is
 * called for each row.  Over ranks all of them call it and get all rows.
 * LS_ESHAPE: n is another number. */
LS_API int ls_row_losses(ls_trainer *trainer, const ls_batch *batch, int64_t n,
                         float *loss);

/* Set the peak of the learning rate's schedule, from the next step on.
 * Checkpoints remember it.  All ranks set it alike; where they differ, the next
 * call fails on all.  LS_EINVAL: it is no finite number from 0 up. */
LS_API int ls_trainer_set_lr(ls_trainer *trainer, double lr);

/* Put the average (EMA) in the place of the parameters, or these back.  A
 * trainer with ls_trainer_options.average = d keeps with each parameter p its
 * average e = d e + (1 - d) p, taken after each update, from p before the first
 * one (optax.incremental_update).  It is part of the state: of checkpoints, of
 * the hash, and by name "average.<name>".  While it is used, ls_evaluate,
 * ls_predict, ls_trainer_get, what is saved as a model and predictors have the
 * average, and steps and checkpoints are LS_EINVAL.  Over ranks all of them
 * call it.  LS_EINVAL: there is no average, or no update yet. */
LS_API int ls_trainer_use_average(ls_trainer *trainer, bool use);

/* Is the state still made of numbers?  LS_ENONFINITE names the parameter (and
 * the moment) that is not: finite gradients can make an update that overflows,
 * which the next step would find. */
LS_API int ls_trainer_check(const ls_trainer *trainer);

/* Stores the SHA-256, as 64 hex digits, over every parameter in canonical
 * order, then every moment (its arrays in the same order), each as: the name
 * and a zero byte, rank and extents as little-endian int64, the elements as
 * little-endian floats; then the step as little-endian int64.  Moments are
 * named as <lockstep/optim.h> has them: "mu.<name>", then "nu.<name>", of adam.
 * Over ranks it is the same hash, and all of them call it.  LS_EIO: the
 * transport failed; LS_ENOMEM.  hex is "" then. */
LS_API int ls_trainer_hash(ls_trainer *trainer, char hex[65]);

/* Write all parameters as safetensors (F32), aside and renamed: a failure
 * leaves the file that was there, whose mode the new one has.  A CRC-32 of the
 * whole file and a SHA-256 of the data stand in its metadata.  LS_EIO; a link
 * and what is no regular file are refused with it. */
LS_API int ls_trainer_save(const ls_trainer *trainer, const char *path);

/* Load parameters from a safetensors file, ours or another program's; F16, BF16
 * and F64 become F32.  Step and optimizer state stay.  names is a pattern as of
 * fnmatch(3), * matching dots too, and "!head.*" for all others; NULL or "*"
 * for all: each parameter it matches must be in the file with its shape,
 * and each tensor it matches must be a parameter; other tensors are left alone.
 * All is checked before the first value changes.  LS_ENOTFOUND names what is
 * missing or unknown, and the nearest there is; LS_ESHAPE both shapes;
 * LS_ENOTSUP the type; LS_ERANGE an F64 too large; LS_EFORMAT a malformed or
 * damaged file; LS_EIO. */
LS_API int ls_trainer_load(ls_trainer *trainer, const char *path,
                           const char *names);

#ifdef __cplusplus
}
#endif

#endif
