/* lockstep: data-parallel training of neural networks on the cores of one
 * machine, from C.
 *
 * Build a graph, compile it, step it.  A step cuts the batch into one shard
 * per device, computes each shard's gradient into that device's own buffer,
 * adds the buffers in the order of a fixed binary tree, multiplies once by
 * 1 / (sum of row weights), and updates the parameters once.  The number of
 * devices belongs to the experiment: results depend on it.  The number of
 * workers (threads) belongs to the machine: results never depend on it.
 *
 * A complete program (examples/02_mlp.c is this one with its data):
 *
 *     ls_mesh *mesh;  ls_pool *pool;  ls_graph *g;  ls_trainer *t;  ls_batch *b;
 *     ls_result r;
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
 * sticks to the graph and is returned when it is compiled, so that calls nest.
 * The library never prints, exits or aborts on bad input.
 *
 * Ownership.  What is opened (or new) is closed (or freed) by the caller,
 * children before parents; the ending half accepts NULL.  Strings passed in
 * are copied, strings handed out live as long as their owner.  Data passed in
 * as const is borrowed for the call unless a comment says until when.
 *
 * Threads.  An object is used by one thread at a time, any thread; different
 * objects need no care.  A pool's caller is the thread that opened it.
 */
#ifndef LOCKSTEP_H
#define LOCKSTEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(LS_BUILDING) && defined(__GNUC__)
#define LS_API __attribute__((visibility("default")))
#else
#define LS_API
#endif

/* ====== Version ====== */

#define LS_VERSION_MAJOR 0
#define LS_VERSION_MINOR 1
#define LS_VERSION_PATCH 0

/* The version of the library that runs, "0.1.0"; the macros above are those of
 * the header that was compiled. */
LS_API const char *ls_version(void);

/* ====== Errors ====== */

/* One list for the numbers, the names and the texts. */
#define LS_ERRORS(X) \
    X(LS_ENOMEM, -1, "out of memory") \
    X(LS_EINVAL, -2, "invalid argument") \
    X(LS_ESHAPE, -3, "shapes do not fit") \
    X(LS_ERANGE, -4, "value out of range") \
    X(LS_ENONFINITE, -5, "a value is not finite") \
    X(LS_EIO, -6, "input or output failed") \
    X(LS_EFORMAT, -7, "malformed file") \
    X(LS_ETHREAD, -8, "a thread could not be made or placed") \
    X(LS_ENOTFOUND, -9, "no such name") \
    X(LS_EUSER, -10, "a user's function failed") \
    X(LS_ENOTSUP, -11, "not supported here") \
    X(LS_EBUSY, -12, "in use")

#define LS_ENUM(name, value, text) name = value,
enum ls_status { LS_OK = 0, LS_ERRORS(LS_ENUM) };
#undef LS_ENUM

/* The general text of a status: "shapes do not fit". */
LS_API const char *ls_strerror(int status);

/* What went wrong in the calling thread's last failed call, in full.  Valid
 * until that thread's next failed call. */
LS_API const char *ls_errmsg(void);

/* ====== Mesh: devices, axes, places ====== */

/* A mesh is a plan, without threads: how many devices there are and along
 * which named axes, and on which processing unit (PU) each worker will sit. */
typedef struct ls_mesh ls_mesh;

typedef struct ls_mesh_options {
    int devices;          /* 0: 8, or the product of axes if given */
    int workers;          /* 0: min(devices, usable cores) */
    const char *axes;     /* "data:4" or "data:2,model:2"; NULL: "data" */
    const char *topology; /* hwloc synthetic text, or a FILE.xml of lstopo's;
                             NULL: this machine */
    bool details;         /* look at all caches too, for ls_mesh_level */
} ls_mesh_options;

/* All zero: 8 devices along "data" on this machine's usable cores. */
LS_API ls_mesh_options ls_mesh_defaults(void);

/* Plan a mesh; options NULL means the defaults.  Usable cores are those the
 * calling thread may run on (cpuset and affinity), but no more than its CPU
 * quota, rounded up (cgroup v1 and v2, the least of its group's and of all
 * groups' above).  A core takes one worker; workers are placed on the fastest
 * kind of cores first, and neighbours share caches and NUMA nodes.
 * More workers than usable cores is allowed and is oversubscription; the second
 * PUs of the cores come first then.
 * LS_EINVAL: a count that is negative or beyond 65536, or malformed axes or
 * topology.  LS_EIO, LS_EFORMAT: a topology file. */
LS_API int ls_mesh_open(ls_mesh **mesh, const ls_mesh_options *options);
LS_API void ls_mesh_close(ls_mesh *mesh);

LS_API int ls_mesh_devices(const ls_mesh *mesh);
LS_API int ls_mesh_workers(const ls_mesh *mesh);
LS_API int ls_mesh_usable_cores(const ls_mesh *mesh);

/* The size of a named axis; 0 when the mesh has no such axis. */
LS_API int ls_mesh_axis_size(const ls_mesh *mesh, const char *axis);

/* The operating system's number of the PU that worker w is planned on. */
LS_API int ls_mesh_worker_pu(const ls_mesh *mesh, int worker);

/* "8 devices on 2 workers (PU 0, 1)"; says "oversubscribed" when it is so. */
LS_API const char *ls_mesh_text(const ls_mesh *mesh);

/* Why there are so many usable cores, one number of cores for each limit in
 * turn: "2 usable cores: machine 64, cpuset 32, affinity 4, quota 1.5 CPUs
 * (/sys/fs/cgroup/job/cpu.max)". */
LS_API const char *ls_mesh_cores_text(const ls_mesh *mesh);

/* The CPU's name, "AMD EPYC"; empty when nobody says. */
LS_API const char *ls_mesh_cpu(const ls_mesh *mesh);

/* What the user should hear about the plan, a sentence each, i = 0, 1, ..;
 * NULL past the last.  Said where it is so: a cpuset, a binding (mpirun's
 * default) or a quota leaves fewer cores than workers were wanted; workers are
 * more than cores; some sit on a slower kind; Linux moves pages between NUMA
 * nodes by itself. */
LS_API const char *ls_mesh_note(const ls_mesh *mesh, int i);

/* Where a worker is planned.  Numbers below are hwloc's logical ones, -1 where
 * the machine tells none. */
typedef struct ls_place {
    int pu;      /* the operating system's number */
    int core, l3, numa, package;
    int kind;    /* of ls_mesh_kind: 0 is the fastest */
    int device, devices; /* its first one, and how many it runs */
} ls_place;

/* LS_EINVAL: no such worker. */
LS_API int ls_mesh_place(const ls_mesh *mesh, int worker, ls_place *place);

/* A level of the machine: how many it has, allowed here or not, and for caches
 * and NUMA memory the bytes of the smallest and of the largest. */
typedef struct ls_level {
    const char *name; /* package die numa L3 L2 L1d core PU */
    int count;
    int64_t least, most; /* 0 where there is nothing to measure */
} ls_level;

/* Level i = 0, 1, ..; false past the last.  L2 and L1d, and levels that group
 * nothing, are known only if the mesh was opened with details. */
LS_API bool ls_mesh_level(const ls_mesh *mesh, int i, ls_level *level);

/* A kind of cores, as hybrid CPUs have several. */
typedef struct ls_core_kind {
    char name[32]; /* "IntelCore"; empty when nobody says */
    int cores;     /* the machine's */
    int allowed;   /* of them, by cpuset and affinity */
} ls_core_kind;

/* Kind i = 0, 1, .., the fastest first; false past the last. */
LS_API bool ls_mesh_kind(const ls_mesh *mesh, int i, ls_core_kind *kind);

/* ====== Pool: the pinned workers ====== */

/* The threads of a mesh.  The thread that opens a pool is worker 0; the others
 * are created, each pinned to its PU from inside and verified. */
typedef struct ls_pool ls_pool;

typedef struct ls_pool_options {
    bool no_pin;     /* leave the created workers where the kernel puts them */
    bool pin_caller; /* pin the caller too, until ls_pool_close */
} ls_pool_options;

/* All false: created workers are pinned, the caller is not. */
LS_API ls_pool_options ls_pool_defaults(void);

/* Start the workers; options NULL means the defaults.  The mesh is copied.
 * LS_ETHREAD names the worker that could not be made or placed. */
LS_API int ls_pool_open(ls_pool **pool, const ls_mesh *mesh,
                        const ls_pool_options *options);

/* End the workers and give the caller its affinity back. */
LS_API void ls_pool_close(ls_pool *pool);

LS_API int ls_pool_devices(const ls_pool *pool);
LS_API int ls_pool_workers(const ls_pool *pool);

/* ====== Random numbers ====== */

/* The streams of JAX (threefry2x32, partitionable counters) and of NumPy's
 * legacy RandomState, to the bit.  Value i of a JAX stream depends on the key
 * and i alone. */
typedef struct ls_key {
    uint32_t word[2];
} ls_key;

/* jax.random.key(seed) in 32-bit mode: word 0 is 0, word 1 the low 32 bits. */
LS_API ls_key ls_key_new(int64_t seed);
/* jax.random.fold_in(key, data). */
LS_API ls_key ls_key_fold_in(ls_key key, uint32_t data);
/* jax.random.split(key, n)[i], any n > i. */
LS_API ls_key ls_key_split(ls_key key, uint64_t i);

/* out[i] = element first + i of jax.random.bits(key, ..., uint32). */
LS_API void ls_random_bits(ls_key key, uint64_t first, int64_t n,
                           uint32_t *out);
/* The same of jax.random.uniform(key, ..., low, high). */
LS_API void ls_random_uniform(ls_key key, uint64_t first, int64_t n, float low,
                              float high, float *out);
/* The same of jax.random.normal(key). */
LS_API void ls_random_normal(ls_key key, uint64_t first, int64_t n, float *out);
/* The same of jax.random.truncated_normal(key, -2, 2). */
LS_API void ls_random_truncated_normal(ls_key key, uint64_t first, int64_t n,
                                       float *out);
/* The same of jax.random.bernoulli(key, p): 1 or 0. */
LS_API void ls_random_bernoulli(ls_key key, uint64_t first, int64_t n, float p,
                                uint8_t *out);
/* The same of jax.random.randint(key, ..., low, high) for int32. */
LS_API void ls_random_randint(ls_key key, uint64_t first, int64_t n,
                              int32_t low, int32_t high, int32_t *out);
/* out[0..n) = jax.random.permutation(key, n).  LS_ENOMEM. */
LS_API int ls_random_permutation(ls_key key, int64_t n, int32_t *out);

/* NumPy's RandomState(seed): MT19937 and its legacy distributions. */
typedef struct ls_numpy {
    uint32_t word[624]; /* state */
    int at;             /* next word, 624: twist first */
    bool has_gauss;     /* a normal is kept for the next call */
    double gauss;
} ls_numpy;

LS_API void ls_numpy_seed(ls_numpy *rs, uint32_t seed);
/* rs.randint(low, high, n), dtype int32 or int64; low < high. */
LS_API void ls_numpy_randint(ls_numpy *rs, int64_t low, int64_t high,
                             int64_t n, int64_t *out);
/* The same into int32, for bounds that fit. */
LS_API void ls_numpy_randint32(ls_numpy *rs, int32_t low, int32_t high,
                               int64_t n, int32_t *out);
/* rs.rand(n). */
LS_API void ls_numpy_rand(ls_numpy *rs, int64_t n, double *out);
/* rs.randn(n). */
LS_API void ls_numpy_randn(ls_numpy *rs, int64_t n, double *out);
/* rs.permutation(n). */
LS_API void ls_numpy_permutation(ls_numpy *rs, int64_t n, int64_t *out);

/* ====== Graph: nodes and parameters ====== */

/* Shapes are per row: the batch axis is not written.  A node of shape (T,D) is
 * an array (rows,T,D) during a step.  Parameters are created by the operators
 * that use them; their names are Flax's paths joined with dots. */
typedef struct ls_graph ls_graph;
typedef struct ls_node ls_node;

typedef enum ls_dtype { LS_F32 = 1, LS_I32 = 2 } ls_dtype;

enum { LS_MAX_RANK = 8 };

LS_API int ls_graph_new(ls_graph **graph);
LS_API void ls_graph_free(ls_graph *graph);

/* An array of each batch, row shape given; (rank 0: one number a row). */
LS_API ls_node *ls_input(ls_graph *graph, const char *name, ls_dtype dtype,
                         int rank, const int64_t *shape);

/* The row shape of a node; returns its rank (0 for NULL). */
LS_API int ls_node_shape(const ls_node *node, int64_t shape[LS_MAX_RANK]);

/* ------ Operators and layers ------ */

/* y[..,j] = sum_i x[..,i] w[i,j] + bias[j].  x (..,I) -> (..,n).
 * Parameters "<name>.kernel" (I,n) lecun_normal, "<name>.bias" (n) zeros. */
LS_API ls_node *ls_dense(ls_node *x, int64_t n, const char *name);

/* The same without bias. */
LS_API ls_node *ls_dense_no_bias(ls_node *x, int64_t n, const char *name);

/* y[..,:] = table[x[..],:].  x (..) of LS_I32 in [0,count) -> (..,width).
 * Parameter "<name>.embedding" (count,width), normal / sqrt(width). */
LS_API ls_node *ls_embed(ls_node *x, int64_t count, int64_t width,
                         const char *name);

/* y[t,:] = x[t,:] + table[t,:].  x (T,D).  Parameter "<name>" (T,D), started
 * from sinusoids (Vaswani et al. 2017, section 3.5) and trained. */
LS_API ls_node *ls_position(ls_node *x, const char *name);

/* y = (x - mean) / sqrt(var + 1e-6) * scale + bias over the last axis, with
 * var = max(0, E[x^2] - mean^2) as Flax has it.  Parameters "<name>.scale"
 * ones, "<name>.bias" zeros. */
LS_API ls_node *ls_layer_norm(ls_node *x, const char *name);

/* Multi-head attention of x (T,D) to itself, every position to every other (no
 * mask) or, with causal, to itself and earlier ones; no biases.
 * Parameters "<name>.query|key|value.kernel" (D,heads,D/heads) and
 * "<name>.out.kernel" (heads,D/heads,D). */
LS_API ls_node *ls_self_attention(ls_node *x, int heads, bool causal,
                                  const char *name);

/* y = x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))). */
LS_API ls_node *ls_gelu(ls_node *x);

/* y = a + b, equal shapes. */
LS_API ls_node *ls_add(ls_node *a, ls_node *b);

/* ------ Losses: one number a row, and how many terms it sums ------ */

/* sum_j (y[j] - target[j])^2 over all elements of a row, each a term. */
LS_API ls_node *ls_mean_squared_error(ls_node *y, ls_node *target);

/* -log softmax(logits)[label], a term for each label.  logits (..,V), labels
 * (..) of LS_I32 in [0,V). */
LS_API ls_node *ls_cross_entropy(ls_node *logits, ls_node *labels);

/* The same for logits (T,V) at t against tokens (T) at t + 1: T - 1 terms. */
LS_API ls_node *ls_next_token_loss(ls_node *logits, ls_node *tokens);

/* Declare what training minimises: the weighted mean over all terms. */
LS_API int ls_loss(ls_graph *graph, ls_node *loss);

/* ====== Optimizers (optax's definitions, its fused roundings) ====== */

typedef enum ls_optimizer_kind {
    LS_SGD, LS_MOMENTUM, LS_NESTEROV, LS_ADAM, LS_ADAMW
} ls_optimizer_kind;

typedef struct ls_optimizer {
    ls_optimizer_kind kind;
    double lr;           /* learning rate */
    double momentum;     /* momentum, nesterov: decay of the trace */
    double b1, b2, eps;  /* adam, adamw */
    double weight_decay; /* adamw: on every parameter, times lr */
} ls_optimizer;

/* p -= lr g */
LS_API ls_optimizer ls_sgd(double lr);
/* t = g + momentum t; p -= lr t */
LS_API ls_optimizer ls_momentum(double lr, double momentum);
/* t = g + momentum t; p -= lr (g + momentum t) */
LS_API ls_optimizer ls_nesterov(double lr, double momentum);
/* m = b1 m + (1-b1) g; v = b2 v + (1-b2) g^2;
 * p -= lr (m / (1-b1^n)) / (sqrt(v / (1-b2^n)) + eps), at update n = 1, 2, ..
 * b1 0.9, b2 0.999, eps 1e-8. */
LS_API ls_optimizer ls_adam(double lr);
/* The same with weight_decay p added to the fraction; weight_decay 1e-4. */
LS_API ls_optimizer ls_adamw(double lr);

/* ====== Trainer: one model, one optimizer, one step ====== */

typedef struct ls_trainer ls_trainer;
typedef struct ls_batch ls_batch;

/* How device gradients become one.  EXACT: sum over all terms / their weight.
 * OF_SHARDS: each device's own mean, averaged over devices (the form of JAX's
 * pmean); it differs where devices keep different weights.  SUM: the sum. */
typedef enum ls_mean { LS_MEAN_EXACT, LS_MEAN_OF_SHARDS, LS_SUM } ls_mean;

/* Who updates: the caller all of it (REPLICATE), or each worker the part its
 * devices own, fused with the reduction (SHARD).  In shared memory parameters
 * exist once either way, and the bits are the same. */
typedef enum ls_state { LS_REPLICATE, LS_SHARD } ls_state;

/* Which of Flax's two ways derives the key of each parameter. */
typedef enum ls_keys { LS_KEYS_NNX, LS_KEYS_LINEN } ls_keys;

typedef struct ls_trainer_options {
    int64_t seed;           /* of the initial parameters */
    ls_keys keys;
    ls_optimizer optimizer;
    ls_mean mean;
    ls_state state;
    const char *backend;    /* "native", "blis"; NULL: the fastest here */
} ls_trainer_options;

/* Seed 0, nnx keys, sgd 0.1, exact mean, replicate. */
LS_API ls_trainer_options ls_trainer_defaults(void);

/* Compile the graph for the pool's devices and lay out everything a step
 * needs; parameters start from the seed.  The pool is borrowed until the
 * trainer is closed; the graph may be freed at once.
 * Fails with the graph's first error if it has one. */
LS_API int ls_trainer_open(ls_trainer **trainer, ls_pool *pool,
                           const ls_graph *graph,
                           const ls_trainer_options *options);
LS_API void ls_trainer_close(ls_trainer *trainer);

/* ------ Own gradients ------ */

/* What a device is given of a batch: rows first .. first+rows of each input,
 * and their weights (NULL: all 1). */
typedef struct ls_shard {
    int64_t first;           /* row in the batch */
    int64_t rows;
    const void *const *data; /* per input, at this shard's first row */
    const float *weights;
} ls_shard;

/* What a device gives back beside its gradient.  A call finds 0, 0, NaN. */
typedef struct ls_sums {
    double loss;    /* sum over rows of weight x loss */
    double weight;  /* sum of weights (of terms, when a row has several) */
    double correct; /* weight of the terms whose argmax was right; NaN: none */
} ls_sums;

/* The gradient of sum_i w_i loss_i over the shard's rows: written (not added)
 * to grads[p], for each parameter p, in the order they were declared; grads
 * NULL asks for the sums alone.  Called once a step for each device, on the
 * worker that runs it, at the same time as other devices (and again, row by
 * row, to name the row when something was not finite).  A negative return
 * stops the step. */
typedef int ls_gradient_fn(void *user, int device, const ls_shard *shard,
                           const float *const *params, float *const *grads,
                           ls_sums *sums);

typedef struct ls_array_spec {
    const char *name;
    ls_dtype dtype;
    int rank;
    int64_t shape[LS_MAX_RANK]; /* of a parameter; of one row of an input */
} ls_array_spec;

typedef struct ls_gradient {
    ls_gradient_fn *fn;
    void *user;
    int inputs, params;
    const ls_array_spec *input, *param; /* parameters start as zeros */
} ls_gradient;

/* The same trainer around a gradient function of your own. */
LS_API int ls_trainer_open_gradient(ls_trainer **trainer, ls_pool *pool,
                                    const ls_gradient *gradient,
                                    const ls_trainer_options *options);

/* ------ Batches ------ */

LS_API int ls_batch_open(ls_batch **batch, const ls_trainer *trainer);
LS_API void ls_batch_close(ls_batch *batch);

/* Give the batch its rows of one input: data (rows, row shape), borrowed until
 * the batch is set again or closed, unchanged in between.  Checks dtype and
 * that indices (tokens, labels) are in range: LS_ERANGE names the first that
 * is not.  The rows must divide by the devices: LS_ESHAPE. */
LS_API int ls_batch_set(ls_batch *batch, const char *input, ls_dtype dtype,
                        const void *data, int64_t rows);

/* A weight for each row, finite and not negative (0: masked), borrowed as the
 * rows are; NULL: all 1, as a batch begins. */
LS_API int ls_batch_set_weights(ls_batch *batch, const float *weights,
                                int64_t rows);

/* ------ A step ------ */

typedef struct ls_result {
    int64_t step;    /* number of this step, from 0 */
    int64_t rows;
    float loss;      /* the mean chosen; NaN when the weight is 0 */
    float accuracy;  /* share of right argmaxes; NaN where there is none */
    float lr;
    bool updated;    /* false: the weight of the batch was 0 */
    double weight;   /* of all terms */
    double gradient_seconds, reduce_seconds, update_seconds;
} ls_result;

/* Train on one batch.  Every input must be set, with equal rows.  Allocates
 * nothing.  Call from the pool's caller.  LS_ENONFINITE names device, parameter
 * (or the loss) and first row, and LS_EUSER a device whose function failed; the
 * trainer is then as it was before.  A batch whose weights are all 0 updates
 * nothing and is no failure. */
LS_API int ls_step(ls_trainer *trainer, const ls_batch *batch,
                   ls_result *result);

/* The loss and accuracy of a batch without an update. */
LS_API int ls_evaluate(ls_trainer *trainer, const ls_batch *batch,
                       ls_result *result);

/* ------ Parameters ------ */

LS_API int ls_trainer_params(const ls_trainer *trainer);
/* The name of parameter i in canonical order (by path, bytewise). */
LS_API const char *ls_trainer_param_name(const ls_trainer *trainer, int i);
/* Its shape; returns its rank. */
LS_API int ls_trainer_param_shape(const ls_trainer *trainer, int i,
                                  int64_t shape[LS_MAX_RANK]);
/* Copy a parameter out, or in; n must be its number of elements. */
LS_API int ls_trainer_get(const ls_trainer *trainer, const char *name,
                          int64_t n, float *out);
LS_API int ls_trainer_set(ls_trainer *trainer, const char *name, int64_t n,
                          const float *values);
/* Updates done. */
LS_API int64_t ls_trainer_step(const ls_trainer *trainer);

/* SHA-256, as 64 hex digits, over every parameter in canonical order, then
 * every moment (its arrays in the same order), each as: the name and a zero
 * byte, rank and extents as little-endian int64, the elements as little-endian
 * floats; then the step as little-endian int64.  Moments are named "mu.<name>"
 * and "nu.<name>" (adam, adamw) or "trace.<name>" (momentum, nesterov). */
LS_API void ls_trainer_hash(const ls_trainer *trainer, char hex[65]);

/* Write all parameters as safetensors (F32), aside and renamed: a failure
 * leaves the file that was there.  A SHA-256 of the data stands in the
 * file's metadata. */
LS_API int ls_trainer_save(const ls_trainer *trainer, const char *path);

/* ====== Data ====== */

/* An array in memory, rows first.  data is malloc's, or NULL. */
typedef struct ls_tensor {
    ls_dtype dtype;
    int rank;
    int64_t shape[LS_MAX_RANK];
    void *data; /* C order */
} ls_tensor;

/* Read a .npy file (versions 1 to 3; f4 f8 i4 i8 u1 b1, both byte orders, C
 * and Fortran order) as LS_F32 or LS_I32.  LS_EFORMAT names the byte at fault.
 * LS_ERANGE names an element that `as` cannot hold: beyond the range, or with
 * a fraction for LS_I32. */
LS_API int ls_npy_load(ls_tensor *out, const char *path, ls_dtype as);

/* Free the data and clear the tensor. */
LS_API void ls_tensor_free(ls_tensor *tensor);

/* ====== Tuning ====== */

/* Have the "blis" backend use AVX-512 where the CPU has it: sets the
 * environment variable BLIS_ARCH_TYPE unless the user did.  That is the
 * process's, and BLIS reads it once: call it first thing in main, if at all.
 * The library itself never does. */
LS_API void ls_blis_tune(void);

enum { LS_TEXT = 256 }; /* bytes of a text written into the caller's room */

/* "BLIS 0.9.0, kernels skx (BLIS_ARCH_TYPE is set)".  Starts BLIS. */
LS_API void ls_blis_text(char text[LS_TEXT]);

/* An instruction level of the library's own kernels. */
typedef struct ls_isa {
    const char *name; /* "x86-64-v4" */
    bool here;        /* this CPU has it */
    bool used;        /* the best there is, or what LS_ISA names */
} ls_isa;

/* Level i = 0, 1, .. of those compiled in, the best first; false past the
 * last. */
LS_API bool ls_isa_level(int i, ls_isa *isa);

/* LS_EINVAL: the environment variable LS_ISA names a level that is unknown or
 * not of this CPU.  (Opening a pool says the same.) */
LS_API int ls_isa_check(void);

/* The most multiply-adds a second, in FLOP/s (two each), of the pool's first
 * workers with an instruction level (NULL: the one in use): the best of five
 * runs of about 10 ms.  LS_EINVAL: more workers than the pool has, or a level
 * that is not of this CPU. */
LS_API int ls_measure_flops(ls_pool *pool, int workers, const char *isa,
                            double *flops);

/* The most bytes a second, read and written together, of memcpy between arrays
 * that no cache holds: four times all L3 (known if the mesh was opened with
 * details), 64 MB to 1 GB each.  LS_ENOMEM. */
LS_API int ls_measure_copy(ls_pool *pool, int workers,
                           double *bytes_per_second);

/* ====== One call ====== */

/* Seed 000's exercise: nnx.Linear(d_in, d_out) from seed, mean squared error of
 * each device's rows / devices chunk of x (rows,d_in) against y (rows,d_out),
 * gradients averaged over devices, one sgd update.  *mean_loss is the mean of
 * the chunks' losses before it.  LS_ESHAPE when rows do not divide. */
LS_API int ls_data_parallel_step(int64_t seed, const float *x, const float *y,
                                 int64_t rows, int64_t d_in, int64_t d_out,
                                 int devices, double lr, float *mean_loss);

#ifdef __cplusplus
}
#endif

#endif
