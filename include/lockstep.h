/* lockstep trains neural networks, data-parallel, on the cores of one machine,
 * from C.
 *
 * Build a graph, open a trainer with it, step it.  A step cuts the batch into
 * one shard per device, computes each shard's gradient into that device's own
 * buffer, adds the buffers in the order of a fixed binary tree, multiplies once
 * by 1 / (sum of row weights), and updates the parameters once.  The number of
 * devices belongs to the experiment: results depend on it.  The number of
 * workers (threads) belongs to the machine: results never depend on it.
 *
 * A complete program (examples/02_mlp.c is this one with its data):
 *
 *     ls_mesh *mesh;  ls_pool *pool;  ls_graph *g;
 *     ls_trainer *t;  ls_batch *b;  ls_result r;
 *     ls_mesh_open(&mesh, NULL);                     8 devices, all cores
 *     ls_pool_open(&pool, mesh, NULL);
 *     ls_graph_new(&g);
 *     ls_node *x = ls_input(g, "x", LS_F32, 1, (int64_t[]){2});
 *     ls_node *y = ls_input(g, "y", LS_F32, 1, (int64_t[]){1});
 *     ls_node *h = ls_gelu(ls_dense(x, 32, "hidden"));
 *     ls_loss(g, ls_mean_squared_error(ls_dense(h, 1, "out"), y));
 *     ls_trainer_options o = ls_trainer_defaults();
 *     o.optimizer = ls_adam(1e-2);
 *     if (ls_trainer_open(&t, pool, g, &o) < 0) puts(ls_errmsg());
 *     ls_batch_open(&b, t);
 *     for (int step = 0; step < 200; step++) {
 *         ls_batch_set(b, "x", LS_F32, xs, 64);
 *         ls_batch_set(b, "y", LS_F32, ys, 64);
 *         if (ls_step(t, b, &r) < 0) puts(ls_errmsg());
 *     }
 *
 * Three rules hold for every function below unless its comment says otherwise.
 *
 * Errors.  A function that can fail returns int: 0, or a negative status of
 * LS_ERRORS.  ls_errmsg() then names the thing, the sizes and the place.
 * Results go through pointer arguments and are untouched on failure.  Graph
 * builders return a node or NULL; NULL in gives NULL out; the first error
 * sticks to the graph and is returned when a trainer or model is opened with
 * it, so that calls nest.  The library never prints, exits or aborts on bad
 * input.  A pointer is not NULL unless a comment says what NULL means there:
 * else the call does nothing but set ls_errmsg(), "ls_step: batch is NULL", and
 * returns LS_EINVAL; a function that returns no status then returns 0 (-1 where
 * 0 is one of several values), NULL, false, NaN or "".
 *
 * Ownership.  What is opened (or new) is closed (or freed) by the caller,
 * children before parents; the ending half accepts NULL.  Strings passed in
 * are copied, strings handed out live as long as their owner.  Data passed in
 * as const is borrowed for the call unless a comment says until when.
 *
 * Threads.  An object may be used by one thread at a time, by any thread.
 * Different objects may be used at the same time: the library has no global
 * state.  What uses workers takes the pool meanwhile, as the section Pool says.
 * A thread that calls the library needs a stack of 96 kB; workers have their
 * own.
 *
 * This file has what every program needs, in the order in which programs need
 * it; at its end it includes all other headers of the library:
 *
 *     lockstep/base.h        version, statuses, arrays
 *     lockstep/ops.h         operators, layers and losses of a graph
 *     lockstep/arithmetic.h  arithmetic on nodes, and losses made of it
 *     lockstep/initial.h     how parameters start
 *     lockstep/optim.h       optimizers and schedules
 *     lockstep/precision.h   the numbers that layers compute with
 *     lockstep/own.h         own gradients, operators and losses
 *     lockstep/control.h     early stopping, lower rates on a plateau
 *     lockstep/gradients.h   gradients in hand, before they are applied
 *     lockstep/model.h       graphs and weights as model files
 *     lockstep/predictor.h   predictions on any thread, and generated texts
 *     lockstep/lora.h        low-rank adapters on a saved model
 *     lockstep/archive.h     what safetensors files and checkpoints hold
 *     lockstep/random.h      the random numbers of JAX and NumPy
 *     lockstep/placement.h   who owns and updates which part of the state
 *     lockstep/collective.h  shards, a function on every device, collectives
 *     lockstep/machine.h     cores, caches, places of workers
 *     lockstep/measure.h     costs, times, backends, instruction levels
 *     lockstep/sparse.h      rows that are lists of what is not zero
 *     lockstep/trace.h       who did what, and when
 *     lockstep/transcript.h  hashes that commit a training to its bits
 *     lockstep/transport.h   ranks that train together
 *
 * Libraries of their own, which stand on this one, have lockstep/mpi.h, the
 * transport over MPI, and the readers of data sets (-llockstep_data):
 *
 *     lockstep/files.h       arrays in .npy and .npz files
 *     lockstep/images.h      sets of images as a source
 *     lockstep/table.h       rows of tables (CSV)
 *     lockstep/columns.h     models of tables, and predictions for their rows
 */
#ifndef LOCKSTEP_H
#define LOCKSTEP_H

#include <lockstep/base.h>
#include <lockstep/optim.h>
#include <lockstep/precision.h>
#include <lockstep/random.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ====== Mesh: devices, axes, places ====== */

/* A mesh is a plan, without threads: how many devices there are and along
 * which named axes, and on which processing unit (PU) each worker will sit. */
typedef struct ls_mesh ls_mesh;

/* A function that is told a sentence for the program's log.  The text has no
 * newline and is valid during the call. */
typedef void ls_log_fn(void *user, const char *text);

/* The options of a mesh; ls_mesh_open copies them. */
typedef struct ls_mesh_options {
    size_t size; /* ls_mesh_defaults() writes it */
    int devices;          /* 0: 8, or the product of axes if given */
    int workers;          /* 0: min(devices, usable cores) */
    const char *axes;     /* "data:4" or "data:2,model:2"; NULL: "data" */
    const char *topology; /* hwloc synthetic text, or a FILE.xml of lstopo's;
                             NULL: this machine */
    const char *cpus;     /* the processors that workers may sit on, by the
                             operating system's numbers: "8-15", "0,2,4-7";
                             NULL: all that the calling thread may use */
    bool details;         /* look at all caches too, for ls_mesh_level */
    ls_log_fn *log;       /* called with each ls_mesh_note while the mesh
                             opens; NULL: not called */
    void *log_user;
} ls_mesh_options;

/* Returns options that ask for 8 devices along "data" on this machine's usable
 * cores. */
LS_API void ls_mesh_defaults_sized(ls_mesh_options *options, size_t size);
static inline ls_mesh_options ls_mesh_defaults(void)
{
    ls_mesh_options o;

    ls_mesh_defaults_sized(&o, sizeof o);
    return o;
}

/* Plan a mesh; options NULL means the defaults.  Usable cores are those the
 * calling thread may run on (cpuset and affinity), but no more than its CPU
 * quota, rounded up (cgroup v1 and v2, the least of its group's and of all
 * groups' above).  A core takes one worker; workers are placed on the fastest
 * kind of cores first, and neighbours share caches and NUMA nodes.
 * More workers than usable cores is allowed and is oversubscription; the second
 * PUs of the cores come first then.
 * LS_EINVAL: a count that is negative or beyond 65536, malformed axes, topology
 * or cpus, or a processor that is not there, is offline or may not be used.
 * LS_EIO, LS_EFORMAT: a topology file. */
LS_API int ls_mesh_open(ls_mesh **mesh, const ls_mesh_options *options);
/* Free the mesh.  Pools keep a copy of their own, so this is safe once they are
 * open. */
LS_API void ls_mesh_close(ls_mesh *mesh);

/* Returns the number of devices, which is the product of the axes' sizes. */
LS_API int ls_mesh_devices(const ls_mesh *mesh);
/* Returns the number of threads that a pool will have, the caller included. */
LS_API int ls_mesh_workers(const ls_mesh *mesh);
/* Returns the number of usable cores, as ls_mesh_open counts them. */
LS_API int ls_mesh_usable_cores(const ls_mesh *mesh);

/* Returns the size of a named axis, or 0 when the mesh has no such axis. */
LS_API int ls_mesh_axis_size(const ls_mesh *mesh, const char *axis);

/* Returns a text such as "8 devices on 2 workers (PU 0, 1)", which says
 * "oversubscribed" when there are more workers than usable cores. */
LS_API const char *ls_mesh_text(const ls_mesh *mesh);

/* Returns sentence i = 0, 1, .. of what the user should know about the plan;
 * NULL past the last.  There is a sentence where a cpuset, a binding (mpirun's
 * default) or a quota leaves fewer cores than workers were wanted; workers are
 * more than cores; cores stay idle because devices are fewer; some workers sit
 * on a slower kind; Linux moves pages between NUMA nodes by itself. */
LS_API const char *ls_mesh_note(const ls_mesh *mesh, int i);

/* ====== Pool: the pinned workers ====== */

/* A pool is the threads of a mesh.  Worker 0 is the thread that makes the call
 * at hand.  The others are created, and each pins itself to its PU and verifies
 * that.
 *
 * A pool has any number of trainers and does one thing at a time: a step, an
 * evaluation, a prediction, a collective, a pmap, the opening of a trainer or
 * a trace, a measurement.  Such a call may come from any thread.  It fails with
 * LS_EBUSY, having done nothing, while another one is under way: from another
 * thread, or from inside a user's function that the pool calls.  (Other pools
 * may be used there; so may all that only reads.)
 *
 * A function of yours that is called returns: it neither throws nor jumps out
 * (longjmp).  One that ends the thread it is on (pthread_exit) fails the call
 * with LS_EUSER, and the pool goes on; on the calling thread, whose call then
 * never returns, the pool is free for others.
 *
 * After fork(2) the child has the memory and no workers: there the same calls
 * fail with LS_ETHREAD, while parameters can be read, saved and closed, and the
 * pool closed.  A child of a fork inside a user's function must exec or _exit.
 * exit(3) needs no care: there is nothing to be ended first. */
typedef struct ls_pool ls_pool;

/* The options of a pool; ls_pool_open copies them. */
typedef struct ls_pool_options {
    size_t size; /* ls_pool_defaults() writes it */
    bool no_pin;     /* leave the created workers where Linux puts them */
    bool pin_caller; /* pin the calling thread too, until ls_pool_close */
} ls_pool_options;

/* Returns options by which created workers are pinned and the caller is not. */
LS_API void ls_pool_defaults_sized(ls_pool_options *options, size_t size);
static inline ls_pool_options ls_pool_defaults(void)
{
    ls_pool_options o;

    ls_pool_defaults_sized(&o, sizeof o);
    return o;
}

/* Start the workers; options NULL means the defaults.  The mesh is copied.
 * LS_ETHREAD names the worker that could not be made or placed. */
LS_API int ls_pool_open(ls_pool **pool, const ls_mesh *mesh,
                        const ls_pool_options *options);

/* End the workers, and give the thread that opened the pool its affinity back
 * if it is the one that closes it.  While a call uses the pool, that is put off
 * to the end of the call.  Trainers that are still open live on without
 * workers: they can be read, saved and closed, what needs workers fails with
 * LS_EINVAL, and closing the pool again does nothing.  (After the last of them,
 * as with all that is closed, the pointer must not be used again.) */
LS_API void ls_pool_close(ls_pool *pool);

/* Returns the number of devices of the pool's mesh. */
LS_API int ls_pool_devices(const ls_pool *pool);
/* Returns the number of the pool's threads, the caller included. */
LS_API int ls_pool_workers(const ls_pool *pool);

/* ====== Graph: nodes and parameters ====== */

/* Shapes are per row: the batch axis is not written.  A node of shape (T,D) is
 * an array (rows,T,D) during a step.  Parameters are created by the operators
 * that use them; their names are Flax's paths joined with dots.
 * They are drawn in the order of the calls (nnx keys), so calls that make
 * parameters belong in statements of their own: C does not say which argument
 * of ls_add(ls_dense(..), ls_dense(..)) comes first. */
typedef struct ls_graph ls_graph;
typedef struct ls_node ls_node;

/* Make an empty graph.  LS_ENOMEM. */
LS_API int ls_graph_new(ls_graph **graph);
/* Free the graph and all its nodes.  Trainers that were opened with it are not
 * affected. */
LS_API void ls_graph_free(ls_graph *graph);

/* Say whether errors of this graph pass (true) or the first one sticks (false,
 * as a graph begins).  It is for languages where a builder's NULL is an
 * exception, as lockstep.hpp and the Python module have it: an error was told
 * then.  Where errors pass, a builder that fails leaves the graph as it was
 * before the call, to the keys of the parameters that come after, and what is
 * called next is judged by itself; a builder that is given NULL repeats the
 * words of the last error.  Two still stick: that memory was short, and an
 * adapter that was half put in. */
LS_API void ls_graph_errors_pass(ls_graph *graph, bool pass);

/* Declare an array of every batch by the shape of one of its rows.  With rank
 * 0 a row is one number. */
LS_API ls_node *ls_input(ls_graph *graph, const char *name, ls_dtype dtype,
                         int rank, const int64_t *shape);

/* Stores the row shape of a node and returns its rank, 0 for NULL. */
LS_API int ls_node_shape(const ls_node *node, int64_t shape[LS_MAX_RANK]);

/* Give a node (LS_F32, made by an operator) a name by which ls_predict reads
 * it.  This does not change a bit of the training. */
LS_API int ls_output(ls_graph *graph, ls_node *node, const char *name);

/* A graph or a gradient function has at most this many metrics. */
enum { LS_METRICS = 8 };

/* Watch the mean of a node (LS_F32, made by an operator) over each batch:
 * sum_i w_i sum_j y[i,j] / sum_i w_i n, rows i of weight w_i and n elements;
 * rows of weight 0 do not count.  Returns k = 0, 1, .., its place in
 * ls_result.metric, or LS_EINVAL.  This does not change
 * a bit of the training. */
LS_API int ls_metric(ls_graph *graph, ls_node *node);

/* Declare what training minimises, which is the weighted mean of this loss over
 * all its terms.  A graph has one loss, and a second one is LS_EINVAL: several
 * are weighted and added before ls_mean_loss (lockstep/arithmetic.h). */
LS_API int ls_loss(ls_graph *graph, ls_node *loss);

/* ====== Trainer: one model, one optimizer, one step ====== */

/* A trainer is a model with its parameters, its optimizer's state and the
 * memory of a step.  A batch is the rows of one step. */
typedef struct ls_trainer ls_trainer;
typedef struct ls_batch ls_batch;

/* How the gradients of devices become one.  LS_MEAN_EXACT divides the sum over
 * all terms by their weight.  LS_MEAN_OF_SHARDS averages each device's own
 * mean over the devices, as JAX's pmean does; it differs where devices have
 * different weights.  LS_SUM is the sum.  The collectives know LS_SUM and
 * LS_MEAN, which is the sum divided by the number of devices. */
typedef enum ls_mean {
    LS_MEAN_EXACT, LS_MEAN_OF_SHARDS, LS_SUM, LS_MEAN = LS_MEAN_OF_SHARDS
} ls_mean;

/* Who updates.  With LS_REPLICATE the caller updates everything; with LS_SHARD
 * each worker updates the part that its devices own.  In shared memory
 * parameters exist once either way, and the bits are the same.  ls_state_place
 * has more. */
typedef enum ls_state { LS_REPLICATE, LS_SHARD } ls_state;

/* Which of Flax's two ways gives each parameter its random key. */
typedef enum ls_keys { LS_KEYS_NNX, LS_KEYS_LINEN } ls_keys;

/* How a model is trained; ls_trainer_open copies it. */
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
    const char *backend;    /* who multiplies matrices, see ls_backend_name;
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
    int groups;             /* how many groups of parameters there are */
    const ls_group *group;  /* the groups, which are copied; NULL: none */
    double clip_value;      /* 0: no clipping of values */
    int64_t bucket;         /* over ranks: gradients leave when so many bytes of
                               them are known, 0: 1 MiB, < 0: when all are; no
                               bit depends on it */
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
LS_API void ls_trainer_defaults_sized(ls_trainer_options *options, size_t size);
static inline ls_trainer_options ls_trainer_defaults(void)
{
    ls_trainer_options o;

    ls_trainer_defaults_sized(&o, sizeof o);
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

/* What a step or an evaluation computed. */
typedef struct ls_result {
    int64_t step;    /* number of this step, from 0 */
    int64_t rows;
    float loss;      /* the mean chosen; NaN when the weight is 0 */
    float accuracy;  /* share of right argmaxes by weight; NaN: no classes */
    float lr;        /* of this step, by the schedule */
    float grad_norm; /* G before clipping; NaN without clip_norm */
    bool updated;    /* false: the weight of the batch was 0 */
    double weight;   /* of all terms */
    float metric[LS_METRICS]; /* sum / weight; NaN where the weight is 0 */
    double gradient_seconds, reduce_seconds, update_seconds;
} ls_result;

/* Train on one batch.  Every input must be set, with equal rows.  Allocates
 * nothing.  LS_ENONFINITE names device, parameter (or the loss) and first row,
 * and LS_EUSER a device whose function failed; the trainer is then as it was
 * before.  A batch whose weights are all 0 updates nothing and is no failure.
 */
LS_API int ls_step_sized(ls_trainer *trainer, const ls_batch *batch,
                         ls_result *result, size_t size);
static inline int ls_step(ls_trainer *trainer, const ls_batch *batch,
                          ls_result *result)
{
    return ls_step_sized(trainer, batch, result, sizeof *result);
}

/* Compute the loss and accuracy of a batch without an update.  With
 * LS_MEAN_OF_SHARDS the loss is the exact mean all the same: a shard may be
 * empty here. */
LS_API int ls_evaluate_sized(ls_trainer *trainer, const ls_batch *batch,
                             ls_result *result, size_t size);
static inline int ls_evaluate(ls_trainer *trainer, const ls_batch *batch,
                              ls_result *result)
{
    return ls_evaluate_sized(trainer, batch, result, sizeof *result);
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

/* Returns the number of parameters, each of which is an array. */
LS_API int ls_trainer_params(const ls_trainer *trainer);
/* Returns the name of parameter i in canonical order (by path, bytewise). */
LS_API const char *ls_trainer_param_name(const ls_trainer *trainer, int i);
/* Stores the shape of parameter i and returns its rank. */
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
/* Set that number, by which schedules, adam's corrections and the keys of
 * dropout go.  LS_EINVAL: it is negative, or above 2^46. */
LS_API int ls_trainer_set_step(ls_trainer *trainer, int64_t step);

/* Stores the loss of each row of the batch in loss[0 .. n-1], n being its rows:
 * the mean over the row's terms, as ls_evaluate has it for a batch of this row
 * alone, NaN where it has none.  Weights of rows do not count, nothing is
 * updated, and a number may be not finite.  A gradient function of your own is
 * called for each row.  Over ranks all of them call it and get all rows.
 * LS_ESHAPE: n is another number. */
LS_API int ls_row_losses(ls_trainer *trainer, const ls_batch *batch, int64_t n,
                         float *loss);

/* From the next step on the learning rate, which the schedule goes by, is lr.
 * Checkpoints remember it.  Over ranks all of them set it alike; where they
 * differ, what comes next fails on all.  LS_EINVAL: it is no finite number from
 * 0 up. */
LS_API int ls_trainer_set_lr(ls_trainer *trainer, double lr);

/* With ls_trainer_options.average = d the trainer keeps with each parameter p
 * its average e = d e + (1 - d) p, taken after each update, from p before the
 * first one (optax.incremental_update).  It is part of the state: of
 * checkpoints, of the hash, and by name "average.<name>".  This call puts it in
 * the place of the parameters, or back: ls_evaluate, ls_predict,
 * ls_trainer_get, what is saved as a model and predictors then have the
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
 * named "mu.<name>" and "nu.<name>" (adam, adamw), these and "nu_max.<name>"
 * (amsgrad), "nu.<name>" (rmsprop), "mu.<name>" (lion),
 * "sum_of_squares.<name>" (adagrad) or "trace.<name>" (momentum, nesterov).
 * Over ranks it is the same hash, and
 * all of them call it; "" with a message: the transport failed. */
LS_API void ls_trainer_hash(ls_trainer *trainer, char hex[65]);

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

/* The same from a file that PyTorch's state_dict was saved to with its
 * safetensors package.  "<layer>.kernel", ".scale" and ".embedding" are
 * "<layer>.weight" there, and module "blocks.0" may be "blocks_0" here.
 * Linear's (n,I) and Conv2d's (n,C,h,w) are rearranged, and so is a Linear
 * behind a flatten, which sees (C,H,W) there and (H,W,C) here.  layers renames
 * those that are called otherwise, and what is in them: "layers.0=0,head=fc"
 * (ours=theirs); or NULL.  Without a pattern every tensor of the file must be a
 * parameter, as with strict=True.  "conv=0&1" folds the statistics, scale and
 * shift of batch norm "1" of eval() into the layer, which must have a bias, in
 * double, rounded once; "conv=0&1:0.001" with another epsilon than 1e-5.  An
 * ls_batch_norm reads its own.  An ls_lstm or ls_gru called "rnn" is layer 0 of
 * nn.LSTM or nn.GRU "rnn", and "rnn_l1" layer 1; two biases are added.
 * LS_ENOTSUP: a trainer around a gradient function of your own, or a bias that
 * only ls_gru_two_biases has. */
LS_API int ls_trainer_load_torch(ls_trainer *trainer, const char *path,
                                 const char *names, const char *layers);

/* ====== Checkpoints ====== */

/* The checkpoints of one run, in a folder: all that is needed to go on bit for
 * bit, with any workers and placement.  One is written by a thread of its own
 * from a copy of the state; it appears whole, and on disk, or not at all.  What
 * is damaged is found by checksums and the state hash, and never half loaded.
 * The folder may come from anybody: nothing is written or deleted through a
 * link in it, nor deleted that was not written here.  A checkpoint that was
 * moved elsewhere and linked back is read, and stays.  Over ranks all of them
 * make each call, and end alike; the first one alone writes and reads, the
 * files of one machine.  examples/state_hash.py reads one in ten lines. */
typedef struct ls_checkpoints ls_checkpoints;

/* A name with a text. */
typedef struct ls_setting {
    const char *name, *value;
} ls_setting;

/* How a run's checkpoints are kept; ls_checkpoints_open copies it. */
typedef struct ls_checkpoints_options {
    size_t size; /* ls_checkpoints_defaults() writes it */
    const char *folder; /* made if it is not there */
    int keep;           /* the newest that stay; 0: all */
    int settings;       /* how many settings there are */
    const ls_setting *setting; /* model, data and so on, which must be the same
                                  to go on, as must the trainer's options */
    const char *may_change; /* which of these need not be, by commas and as
                               patterns of fnmatch: "lr,boundary *", of the
                               graph "node *: rate"; NULL: all must */
} ls_checkpoints_options;

/* Returns options that keep the newest 3.  A folder must be named besides. */
LS_API void ls_checkpoints_defaults_sized(ls_checkpoints_options *options,
                                          size_t size);
static inline ls_checkpoints_options ls_checkpoints_defaults(void)
{
    ls_checkpoints_options o;

    ls_checkpoints_defaults_sized(&o, sizeof o);
    return o;
}

/* Make the folder, the copy's memory and the thread, and lock the folder
 * against other runs.  The trainer is borrowed until it is closed; strings are
 * copied.  LS_EIO; LS_EBUSY: another run writes there; LS_EINVAL: a setting
 * that is NULL or no UTF-8, or has the name of another or of a trainer's
 * option. */
LS_API int ls_checkpoints_open(ls_checkpoints **checkpoints,
                               ls_trainer *trainer,
                               const ls_checkpoints_options *options);

/* Wait for the checkpoint that is being written, and close.  In a child of
 * fork, where saving fails with LS_ETHREAD, it frees the memory and leaves the
 * parent's lock alone. */
LS_API void ls_checkpoints_close(ls_checkpoints *checkpoints);

/* Copy the trainer's state and have it written; notes, where the program is in
 * its data, are kept with it.  Waits only while the one before is being
 * written.  When the new one is on disk, the oldest are deleted.  A save that
 * fails leaves the older ones as they are and is reported once, by the next
 * call of this (which does its own work all the same) or of
 * ls_checkpoints_wait.  LS_ENONFINITE: ls_trainer_check fails, and nothing is
 * saved, so that the newest checkpoint is one to go on from. */
LS_API int ls_checkpoints_save(ls_checkpoints *checkpoints, int notes,
                               const ls_setting *note);

/* Wait until what was saved is on disk. */
LS_API int ls_checkpoints_wait(ls_checkpoints *checkpoints);

/* Returns how many checkpoints the folder holds, damaged ones included, or
 * LS_EIO. */
LS_API int ls_checkpoints_count(const ls_checkpoints *checkpoints);

/* Go on from the newest checkpoint: *step is the updates done then, -1 if
 * there is none.  One that is damaged is passed over for the one before
 * it.  LS_EINVAL names an option or setting that must be what it was and is
 * not, and both values; LS_ESHAPE, LS_ENOTFOUND: another model, which names a
 * parameter, or a node of the graph and its attribute, and both values.  Nodes
 * are compared that the loss needs; an operator of your own is its name and its
 * shape.  LS_EFORMAT: all there are are damaged.  The trainer is then as it was
 * before. */
LS_API int ls_checkpoints_load(ls_checkpoints *checkpoints, int64_t *step);

/* Returns a note of the checkpoint that was loaded, or NULL if it has none of
 * that name.  "not compared" is the library's: what a checkpoint of an older
 * version does not say, by commas ("the graph, dropout_key"). */
LS_API const char *ls_checkpoints_note(const ls_checkpoints *checkpoints,
                                       const char *name);

/* An option or setting that is not what it was in a checkpoint; NULL: it is not
 * there. */
typedef struct ls_change {
    const char *name, *is, *was;
} ls_change;

/* Change i = 0, 1, .. that the last call of ls_checkpoints_load found, whether
 * it went on or was refused for it; false past the last.  Texts live until the
 * next such call.  After a change that was allowed, the bits are those of
 * this run alone. */
LS_API bool ls_checkpoints_change(const ls_checkpoints *checkpoints, int i,
                                  ls_change *change);

/* Returns why the newest was passed over, or NULL if it was not. */
LS_API const char *ls_checkpoints_skipped(const ls_checkpoints *checkpoints);

/* ====== Data ====== */

/* What is done about rows that do not divide by the devices: they are an error,
 * or they are filled up with rows of zeros that a mask marks; or, of a loader's
 * batch, the last devices have fewer rows or none (ls_batch_set). */
typedef enum ls_uneven {
    LS_UNEVEN_ERROR,
    LS_UNEVEN_PAD,
    LS_UNEVEN_CUT
} ls_uneven;

/* ------ Sources: rows by their numbers ------ */

/* A source gives rows in any order.  Fill one in for data of your own, or let
 * one of the functions below do it.  It is a plain value; a source that
 * ls_loader_open or ls_source_weigh took over is not closed by the program. */
typedef struct ls_source {
    int64_t rows;
    int64_t classes; /* labels are below this; 0: not known */
    int arrays;
    const ls_array_spec *array; /* one row of each: LS_F32 or LS_I32 */
    bool weighted;              /* rows have weights */
    /* out[a] = rows index[0..n) of array a, (n, its row shape); and, if
     * weighted, out[arrays] (n) = their weights, floats.  Indices may repeat.
     * What it writes depends on index alone; it is called by one thread at a
     * time, which may be another than the one that opened the source.  A
     * negative return is a failure. */
    int (*fill)(void *user, int64_t n, const int64_t *index,
                void *const *out);
    void (*close)(void *user); /* NULL: nothing is left to do */
    void *user;
} ls_source;

/* Make a source of arrays in memory (LS_F32 or LS_I32), whose leading axes are
 * equally many rows.  The data is borrowed until the source is
 * closed.  LS_ESHAPE names the array at fault. */
LS_API int ls_source_arrays(ls_source *source, int arrays,
                            const ls_array *array);

/* What a row of a source takes from an array whose rows follow each other in
 * time: row i takes rows i + at .. i + at + length - 1 of it, (length, its row
 * shape); with length 0 row i + at alone, of its row shape. */
typedef struct ls_series {
    ls_array array;
    int64_t at, length; /* not negative */
} ls_series;

/* Make a source of windows of arrays in memory (LS_F32 or LS_I32), of which no
 * copy is made: with {x, 0, W} and {y, W - 1 + H, 0} a row has W rows of x and
 * the y that is H rows after the last of them.  It has as many rows as fit into
 * all of the arrays, one at least.  The data is borrowed until the source is
 * closed.  LS_ESHAPE and LS_EINVAL name the array at fault. */
LS_API int ls_source_series(ls_source *source, int arrays,
                            const ls_series *series);

/* Give the rows of a source weights (finite, not negative), borrowed until it
 * is closed; those it has are multiplied.  The source is taken over, and is
 * as it was on a failure. */
LS_API int ls_source_weigh(ls_source *source, const float *weights,
                           int64_t rows);

/* Close a source and clear it.  A cleared source is accepted. */
LS_API void ls_source_close(ls_source *source);

/* ------ Loaders: the batch of every step, made beforehand ------ */

/* A loader makes the batch of each step from a source. */
typedef struct ls_loader ls_loader;

/* The options of a loader; ls_loader_open copies them. */
typedef struct ls_loader_options {
    size_t size; /* ls_loader_defaults() writes it */
    int64_t batch;    /* rows of a step; 0: all */
    bool shuffle;     /* epoch e (0, 1, ..) takes the rows in the order
                         ls_random_permutation(ls_key_fold_in(key, e), rows) */
    ls_key key;
    ls_uneven uneven; /* LS_UNEVEN_PAD: the last, short batch of an epoch and
                         one that does not divide are filled up with rows of
                         weight 0; else the short one is skipped, and a batch
                         that does not divide is LS_ESHAPE or, with
                         LS_UNEVEN_CUT, cut with the same bytes as padded */
    bool no_thread;   /* make a batch when it is asked for, not before */
} ls_loader_options;

/* Returns options by which each step has all rows in their order. */
LS_API void ls_loader_defaults_sized(ls_loader_options *options, size_t size);
static inline ls_loader_options ls_loader_defaults(void)
{
    ls_loader_options o;

    ls_loader_defaults_sized(&o, sizeof o);
    return o;
}

/* Cut a source into batches for a trainer, whose inputs are the source's arrays
 * of the same names (and sizes: shapes may differ).  A thread makes the batch
 * of the next step while this one is computed; it runs on no worker's core
 * where others are allowed, else anywhere on the allowed ones.  Takes the
 * source over, and closes it in the end, unless it fails.  The trainer is
 * borrowed until the last ls_loader_fill.  Over ranks all of them call it, and
 * each reads the rows of its own devices, and a few to be compared: LS_EINVAL
 * names what a rank has otherwise.  LS_ENOTFOUND, LS_ESHAPE, LS_EINVAL name
 * what does not fit the trainer. */
LS_API int ls_loader_open(ls_loader **loader, const ls_trainer *trainer,
                          ls_source *source, const ls_loader_options *options);
/* Close the loader and its source. */
LS_API void ls_loader_close(ls_loader *loader);

/* Returns the number of batches of an epoch. */
LS_API int64_t ls_loader_batches(const ls_loader *loader);

/* Set all inputs and weights of a batch to the rows of a step: batch
 * step % batches of epoch step / batches, so that any step can be had at any
 * time, and steps in order come from the thread.  The batch, which must be the
 * trainer's, is good until the next call with this loader.  rows (may be NULL):
 * how many without padding.  Allocates nothing.  LS_EUSER: the source failed on
 * these rows. */
LS_API int ls_loader_fill(ls_loader *loader, int64_t step, ls_batch *batch,
                          int64_t *rows);

/* Returns the seconds that calls of ls_loader_fill took so far, which is how
 * long steps waited. */
LS_API double ls_loader_seconds(const ls_loader *loader);

/* ====== One call ====== */

/* One data-parallel step of linear regression, y = x w + b, on a mesh and pool
 * of its own.  w (d_in,d_out) and b start as nnx.Linear(d_in, d_out) of Flax
 * does from the seed.  Each device takes rows / devices rows of x (rows,d_in)
 * and y (rows,d_out); its loss is the mean of (x w + b - y)^2 over them.  The
 * gradients are averaged over the devices and applied by sgd with rate lr.
 * *mean_loss is the mean of the devices' losses before the update.  LS_ESHAPE:
 * the rows do not divide by the devices. */
LS_API int ls_data_parallel_step(int64_t seed, const float *x, const float *y,
                                 int64_t rows, int64_t d_in, int64_t d_out,
                                 int devices, double lr, float *mean_loss);

#ifdef __cplusplus
}
#endif

/* ====== The rest ====== */

/* What the sections above leave out has a header of its own, which can also be
 * included alone. */
#include <lockstep/archive.h>
#include <lockstep/arithmetic.h>
#include <lockstep/collective.h>
#include <lockstep/control.h>
#include <lockstep/gradients.h>
#include <lockstep/initial.h>
#include <lockstep/lora.h>
#include <lockstep/machine.h>
#include <lockstep/measure.h>
#include <lockstep/model.h>
#include <lockstep/ops.h>
#include <lockstep/own.h>
#include <lockstep/placement.h>
#include <lockstep/predictor.h>
#include <lockstep/sparse.h>
#include <lockstep/trace.h>
#include <lockstep/transcript.h>
#include <lockstep/transport.h>

#endif
