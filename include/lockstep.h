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
 *     ls_mesh *mesh;  ls_pool *pool;  ls_graph *g;  ls_trainer *t;  ls_batch
 *     *b; ls_result r;
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
 * objects need no care, and there are no others: nothing is global.  What uses
 * workers takes the pool for its time, as the section Pool says.
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

/* What went wrong in the calling thread's last failed call, in full; or what
 * ls_step has to say of a batch whose weights are all 0.  Valid until that
 * thread's next such call. */
LS_API const char *ls_errmsg(void);

/* ====== Mesh: devices, axes, places ====== */

/* A mesh is a plan, without threads: how many devices there are and along
 * which named axes, and on which processing unit (PU) each worker will sit. */
typedef struct ls_mesh ls_mesh;

/* A sentence for the program's log, without a newline, valid for the call. */
typedef void ls_log_fn(void *user, const char *text);

/* What is asked of a mesh; copied. */
typedef struct ls_mesh_options {
    int devices;          /* 0: 8, or the product of axes if given */
    int workers;          /* 0: min(devices, usable cores) */
    const char *axes;     /* "data:4" or "data:2,model:2"; NULL: "data" */
    const char *topology; /* hwloc synthetic text, or a FILE.xml of lstopo's;
                             NULL: this machine */
    bool details;         /* look at all caches too, for ls_mesh_level */
    ls_log_fn *log;       /* is told each ls_mesh_note while the mesh opens;
                             NULL: nobody is */
    void *log_user;
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
/* At any time after the pools are open: they have copies. */
LS_API void ls_mesh_close(ls_mesh *mesh);

/* All devices: the product of the axes' sizes. */
LS_API int ls_mesh_devices(const ls_mesh *mesh);
/* The threads a pool of it will have, the caller included. */
LS_API int ls_mesh_workers(const ls_mesh *mesh);
/* As ls_mesh_open counts them. */
LS_API int ls_mesh_usable_cores(const ls_mesh *mesh);

/* The size of a named axis; 0 when the mesh has no such axis. */
LS_API int ls_mesh_axis_size(const ls_mesh *mesh, const char *axis);

/* The operating system's number of the PU that a worker is planned on; -1: no
 * such worker. */
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
 * more than cores; cores stay idle because devices are fewer; some workers sit
 * on a slower kind; Linux moves pages between NUMA nodes by itself. */
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

/* ------ Shardings: which device holds which shard ------ */

/* Batches are cut along one named axis of the mesh, the data axis; devices that
 * differ only along other axes hold the same shard.  A plain value. */
typedef struct ls_sharding {
    char axis[32]; /* the data axis */
    int shards;    /* its size */
    int stride;    /* devices from one to the next along it */
    int devices;   /* of the mesh */
} ls_sharding;

/* Cut along data_axis (NULL: "data").  LS_ENOTFOUND, when the mesh has no such
 * axis, names those it has. */
LS_API int ls_sharding_data_parallel(ls_sharding *sharding,
                                     const ls_mesh *mesh,
                                     const char *data_axis);

/* The shard that a device holds: device / stride % shards; -1 beyond the
 * mesh.  Devices are numbered with the mesh's last axis running fastest. */
LS_API int ls_sharding_shard(const ls_sharding *sharding, int device);

/* ====== Pool: the pinned workers ====== */

/* The threads of a mesh.  Worker 0 is the caller, whoever makes the call at
 * hand; the others are created, each pinned to its PU from inside and verified.
 *
 * A pool has any number of trainers and does one thing at a time: a step, an
 * evaluation, a prediction, a collective, a pmap, the opening of a trainer or
 * a trace, a measurement.  Such a call may come from any thread.  It fails with
 * LS_EBUSY, having done nothing, while another one is under way: from another
 * thread, or from inside a user's function that the pool calls.  (Other pools
 * may be used there; so may all that only reads.)
 *
 * After fork(2) the child has the memory and no workers: there the same calls
 * fail with LS_ETHREAD, while parameters can be read, saved and closed, and the
 * pool closed.  A child of a fork inside a user's function must exec or _exit.
 * exit(3) needs no care: there is nothing to be ended first. */
typedef struct ls_pool ls_pool;

/* Where workers may run; copied. */
typedef struct ls_pool_options {
    bool no_pin;     /* leave the created workers where Linux puts them */
    bool pin_caller; /* pin the calling thread too, until ls_pool_close */
} ls_pool_options;

/* All false: created workers are pinned, the caller is not. */
LS_API ls_pool_options ls_pool_defaults(void);

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

/* The devices of its mesh. */
LS_API int ls_pool_devices(const ls_pool *pool);
/* Its threads, the caller included. */
LS_API int ls_pool_workers(const ls_pool *pool);

/* ====== Random numbers ====== */

/* The streams of JAX (threefry2x32, partitionable counters) and of NumPy's
 * legacy RandomState, to the bit (one exception: ls_numpy_randn).  Value i of a
 * JAX stream depends on the key and i alone. */
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
/* jax.random.categorical(key, logits / temperature): one of 0 .. n-1 with
 * probability softmax(logits / temperature).  Temperature 0: the largest, the
 * first of equals. */
LS_API int64_t ls_random_categorical(ls_key key, int64_t n,
                                     const float *logits, float temperature);
/* out[0..n) = jax.random.permutation(key, n).  LS_ENOMEM. */
LS_API int ls_random_permutation(ls_key key, int64_t n, int32_t *out);

/* NumPy's RandomState(seed): MT19937 and its legacy distributions. */
typedef struct ls_numpy {
    uint32_t word[624]; /* state */
    int at;             /* next word, 624: twist first */
    bool has_gauss;     /* a normal is kept for the next call */
    double gauss;
} ls_numpy;

/* RandomState(seed). */
LS_API void ls_numpy_seed(ls_numpy *rs, uint32_t seed);
/* rs.randint(low, high, n), dtype int32 or int64; low < high. */
LS_API void ls_numpy_randint(ls_numpy *rs, int64_t low, int64_t high,
                             int64_t n, int64_t *out);
/* The same into int32, for bounds that fit. */
LS_API void ls_numpy_randint32(ls_numpy *rs, int32_t low, int32_t high,
                               int64_t n, int32_t *out);
/* rs.rand(n). */
LS_API void ls_numpy_rand(ls_numpy *rs, int64_t n, double *out);
/* rs.randn(n).  NumPy takes the logarithm of the C library, which the library
 * here does without: about one double in 3000 differs in its last bit; of two
 * million values rounded to float, none. */
LS_API void ls_numpy_randn(ls_numpy *rs, int64_t n, double *out);
/* rs.permutation(n). */
LS_API void ls_numpy_permutation(ls_numpy *rs, int64_t n, int64_t *out);

/* ====== Graph: nodes and parameters ====== */

/* Shapes are per row: the batch axis is not written.  A node of shape (T,D) is
 * an array (rows,T,D) during a step.  Parameters are created by the operators
 * that use them; their names are Flax's paths joined with dots.
 * They are drawn in the order of the calls (nnx keys), so calls that make
 * parameters belong in statements of their own: C does not say which argument
 * of ls_add(ls_dense(..), ls_dense(..)) comes first. */
typedef struct ls_graph ls_graph;
typedef struct ls_node ls_node;

/* Element types: graphs, trainers and readers take the first two; named arrays
 * (see Sets of arrays) take all of them. */
typedef enum ls_dtype {
    LS_F32 = 1, LS_I32 = 2, LS_F64 = 3, LS_I64 = 4, LS_U8 = 5
} ls_dtype;

enum { LS_MAX_RANK = 8 };

/* An empty graph.  LS_ENOMEM. */
LS_API int ls_graph_new(ls_graph **graph);
/* With all its nodes; trainers opened with it have copies. */
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

/* ------ Images: x (H,W,C), channels last ------ */

/* A window that moves over an image.  Padding is JAX's, on each axis of size
 * `in` with window k and stride s:
 *
 *     LS_SAME   out = ceil(in / s); of P = max((out - 1) s + k - in, 0) missing
 *               pixels P / 2 (rounded down) are before the image, the rest
 *               after it
 *     LS_VALID  out = (in - k) / s + 1, rounded down; k > in is LS_ESHAPE */
typedef enum ls_padding { LS_SAME, LS_VALID } ls_padding;

typedef struct ls_window {
    int64_t height, width;
    int64_t stride_y, stride_x; /* 0: 1 */
    ls_padding padding;
} ls_window;

/* y[i,j,o] = bias[o] + sum_{a,b,c} x[i s_y + a - top, j s_x + b - left, c]
 * w[a,b,c,o], pixels outside x being 0 (no flip: a cross-correlation).
 * x (H,W,C) -> (out_y,out_x,n).  Parameters "<name>.kernel" (height,width,C,n)
 * lecun_normal, "<name>.bias" (n) zeros: nnx.Conv. */
LS_API ls_node *ls_conv2d(ls_node *x, int64_t n, ls_window window,
                          const char *name);

/* The same without bias. */
LS_API ls_node *ls_conv2d_no_bias(ls_node *x, int64_t n, ls_window window,
                                  const char *name);

/* y[i,j,c] = the largest x in the window; its gradient goes to the first of
 * equals, by rows.  Pixels outside x count as -infinity; NaN stays NaN. */
LS_API ls_node *ls_max_pool(ls_node *x, ls_window window);

/* y[i,j,c] = sum of x over the window / (height width); pixels outside x count
 * as 0 (nnx.avg_pool). */
LS_API ls_node *ls_avg_pool(ls_node *x, ls_window window);

/* x (..) -> (size of a row), the last axis fastest. */
LS_API ls_node *ls_flatten(ls_node *x);

/* y = (x - mean) / sqrt(var + 1e-6) * scale + bias, mean and variance (in the
 * form of ls_layer_norm) over all pixels and the C / groups channels of a
 * group, of one row.  x (..,C); groups must divide C.  Parameters
 * "<name>.scale" (C) ones, "<name>.bias" (C) zeros: nnx.GroupNorm.
 *
 * There is no batch norm: its statistics are of a batch, so of a shard here,
 * and results would depend on the number of devices by more than rounding (or
 * each layer would have to wait for all devices). */
LS_API ls_node *ls_group_norm(ls_node *x, int groups, const char *name);

/* ------ Activations, sums, outputs ------ */

/* y = x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))). */
LS_API ls_node *ls_gelu(ls_node *x);

/* y = max(0, x), 0 for -0, NaN for NaN; its derivative at 0 is 0. */
LS_API ls_node *ls_relu(ls_node *x);

/* y = tanh(x). */
LS_API ls_node *ls_tanh(ls_node *x);

/* y = 1 / (1 + e^-x). */
LS_API ls_node *ls_sigmoid(ls_node *x);

/* y = a + b, equal shapes. */
LS_API ls_node *ls_add(ls_node *a, ls_node *b);

/* In ls_step, each element is x / (1 - rate) with probability 1 - rate, else 0
 * (Srivastava et al. 2014); ls_evaluate and ls_predict pass x through.  rate in
 * [0,1); 0 is x itself.  Element i of a micro-batch (its rows one after the
 * other) is kept where element i of jax.random.uniform is below 1 - rate, with
 * Flax's key for the layer in this call of the model, call number step x
 * micro-batches + micro-batch: the bits depend on no device or worker, and a
 * resumed run needs no more than its step.  See ls_trainer_options for the
 * keys; with linen's, name is the layer's path, "blocks_0.Dropout_0". */
LS_API ls_node *ls_dropout(ls_node *x, double rate, const char *name);

/* y = x rounded to bfloat16 (8 bits of mantissa, to nearest, ties to even; NaN
 * stays NaN).  Its gradient is rounded likewise, as that of a cast in JAX. */
LS_API ls_node *ls_round_bf16(ls_node *x);

/* Name a node (LS_F32, made by an operator) for ls_predict to read.  Does not
 * change what is trained, nor a bit of it. */
LS_API int ls_output(ls_graph *graph, ls_node *node, const char *name);

enum { LS_METRICS = 8 }; /* the most of a graph or gradient function */

/* Watch the mean of a node (LS_F32, made by an operator) over each batch:
 * sum_i w_i sum_j y[i,j] / sum_i w_i n, rows i of weight w_i and n elements;
 * rows of weight 0 do not count.  Returns k = 0, 1, .., its place in
 * ls_result.metric, or LS_EINVAL.  Does not change what is trained, nor a bit
 * of it. */
LS_API int ls_metric(ls_graph *graph, ls_node *node);

/* ------ Losses: one number a row, and how many terms it sums ------ */

/* sum_j (y[j] - target[j])^2 over all elements of a row, each a term. */
LS_API ls_node *ls_mean_squared_error(ls_node *y, ls_node *target);

/* -log softmax(logits)[label], a term for each label.  logits (..,V), labels
 * (..) of LS_I32 in [0,V).  Also counts the labels that are the argmax, the
 * first of equals: the accuracy. */
LS_API ls_node *ls_cross_entropy(ls_node *logits, ls_node *labels);

/* The same for logits (T,V) at t against tokens (T) at t + 1: T - 1 terms. */
LS_API ls_node *ls_next_token_loss(ls_node *logits, ls_node *tokens);

/* Declare what training minimises: the weighted mean over all terms. */
LS_API int ls_loss(ls_graph *graph, ls_node *loss);

/* ====== Optimizers (optax's definitions, its fused roundings) ====== */

/* An option of an optimizer or a schedule, as ls_optimizer_option and
 * ls_schedule_option tell it: its values are least <= x < below. */
typedef struct ls_option {
    const char *name;    /* "b1", the name of the struct's member */
    const char *about;   /* what it is, for a line of help */
    const char *range;   /* its values in words: "a number from 0 to below 1" */
    double start;        /* the default; NaN: there is none */
    double least, below;
    bool whole;          /* an int64_t in the struct, not a double */
} ls_option;

/* Made by ls_sgd and so on, below; fields may be changed afterwards. */
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

/* The optimizer of a kind with its defaults: what the functions above give, and
 * 0.9 for the momentum of two of them. */
LS_API ls_optimizer ls_optimizer_defaults(ls_optimizer_kind kind, double lr);

/* The name of a kind, "adamw"; NULL for a number that is none.  The kinds are
 * numbered from 0. */
LS_API const char *ls_optimizer_name(ls_optimizer_kind kind);

/* Tell option i = 0, 1, .. of a kind; false past the last. */
LS_API bool ls_optimizer_option(ls_optimizer_kind kind, int i,
                                ls_option *option);

/* Set an option of an optimizer by its name.  LS_ENOTFOUND: its kind has no
 * such option; LS_EINVAL: the value is out of its range. */
LS_API int ls_optimizer_set(ls_optimizer *optimizer, const char *option,
                            double value);

/* ====== Schedules: learning rates over time (optax's definitions) ====== */

/* The formulas stand at ls_schedule. */
typedef enum ls_schedule_kind {
    LS_CONSTANT, LS_LINEAR, LS_COSINE, LS_EXPONENTIAL, LS_PIECEWISE
} ls_schedule_kind;

/* A step of a piecewise schedule. */
typedef struct ls_boundary {
    int64_t update; /* from this one on (0 is the first) .. */
    double factor;  /* .. the learning rate is multiplied by this */
} ls_boundary;

/* The learning rate of an update, where c updates were done before it and peak
 * is the optimizer's lr.  For c below warmup it is c/warmup peak; then, with
 * C = c - warmup, S = decay_steps - warmup, x = min(C, S) / S:
 *
 *     constant      peak
 *     linear        peak + (end_lr - peak) x
 *     cosine        end_lr + (peak - end_lr) (1 + cos(pi x)) / 2
 *     exponential   peak decay_rate^(C / decay_steps), not past end_lr (0: no
 *                   end), a lower bound for a rate below 1, else an upper one
 *     piecewise     peak times the factor of each boundary with update <= c
 *
 * So decay_steps counts the warm-up for linear and cosine, where it is the
 * update at which end_lr is reached, and not for exponential: as in optax's
 * warmup_cosine_decay_schedule and warmup_exponential_decay_schedule from 0.
 * All zero is constant without a warm-up. */
typedef struct ls_schedule {
    ls_schedule_kind kind;
    int64_t warmup;      /* updates from 0 up to the peak */
    int64_t decay_steps; /* updates; linear, cosine: above warmup */
    double decay_rate;   /* exponential; above 0 */
    double end_lr;       /* linear, cosine, exponential */
    int boundaries;      /* piecewise */
    const ls_boundary *boundary; /* rising, none within the warm-up */
} ls_schedule;

/* *lr = the learning rate after c = done updates, in the bits training uses.
 * LS_EINVAL names the value of the schedule that makes no sense. */
LS_API int ls_schedule_lr(const ls_schedule *schedule, double peak,
                          int64_t done, float *lr);

/* The name of a kind, its options, and setting one by its name, as for
 * optimizers.  Boundaries are no such option. */
LS_API const char *ls_schedule_name(ls_schedule_kind kind);
LS_API bool ls_schedule_option(ls_schedule_kind kind, int i,
                               ls_option *option);
LS_API int ls_schedule_set(ls_schedule *schedule, const char *option,
                           double value);

/* lr x rows / 32: the linear scaling rule (Goyal et al. 2017) for a learning
 * rate found with batches of 32 rows. */
LS_API double ls_scale_lr(double lr, int64_t rows);

/* ====== Trainer: one model, one optimizer, one step ====== */

/* A model with its parameters, its optimizer's state and the memory of a step;
 * and the rows of one step. */
typedef struct ls_trainer ls_trainer;
typedef struct ls_batch ls_batch;

/* How device gradients become one.  EXACT: sum over all terms / their weight.
 * OF_SHARDS: each device's own mean, averaged over devices (the form of JAX's
 * pmean); it differs where devices keep different weights.  SUM: the sum.
 * The collectives know LS_SUM and LS_MEAN, the sum / devices. */
typedef enum ls_mean {
    LS_MEAN_EXACT, LS_MEAN_OF_SHARDS, LS_SUM, LS_MEAN = LS_MEAN_OF_SHARDS
} ls_mean;

/* Who updates: the caller all of it (REPLICATE), or each worker the part its
 * devices own (SHARD).  In shared memory parameters exist once either way, and
 * the bits are the same.  ls_state_place says it in more detail. */
typedef enum ls_state { LS_REPLICATE, LS_SHARD } ls_state;

/* Which of Flax's two ways derives the key of each parameter. */
typedef enum ls_keys { LS_KEYS_NNX, LS_KEYS_LINEN } ls_keys;

/* The numbers that layers compute with.  LS_BF16_LAYERS: matrix products and
 * convolutions, forward and backward, round what they multiply (x, weights, dy)
 * to bf16 as ls_round_bf16 does and add in f32; dense layers and convolutions
 * round x w + bias too, before an activation, and the bias of a convolution has
 * the sum of the rounded dy.  All else is f32: parameters, gradients and their
 * sums, moments, norms, softmax, losses, own operators.
 * Bits still do not depend on workers, but on the CPU: see ls_backend_text. */
typedef enum ls_precision { LS_F32_LAYERS, LS_BF16_LAYERS } ls_precision;

/* How a model is trained; copied. */
typedef struct ls_trainer_options {
    int64_t seed;           /* of the initial parameters */
    ls_keys keys;
    ls_optimizer optimizer;
    ls_schedule schedule;   /* its boundaries are copied */
    double clip_norm;       /* 0: no clipping */
    int accumulate;         /* micro-batches of a step; 0: 1 */
    ls_mean mean;
    ls_state state;
    const char *backend;    /* "native", "blis", "onednn" (these two allocate
                               by themselves in every step, and the bits of
                               "onednn" depend on CPU and version; it may not
                               be built in); NULL: the fastest here, which is
                               onednn for bf16 layers on a CPU with AMX */
    const char *data_axis;  /* of the mesh; NULL: "data" */
    bool check_divergence;  /* debug: see Own gradients */
    bool own_dropout_key;   /* dropout_key counts; false: seed does */
    ls_key dropout_key;
    ls_precision precision; /* of a graph's layers; "blis" has f32 alone */
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
 * Infinity clips nothing and reports G. */

/* Accumulation, K = accumulate: micro-batch i of K is rows iB/K .. (i+1)B/K of
 * the batch, each is cut over all devices, and a device adds its K gradients in
 * order before devices are added.  One step, one update, one loss over all of
 * them; B must divide by devices x K. */

/* Seed 0, nnx keys, sgd 0.1, constant schedule, no clipping, no accumulation,
 * exact mean, replicate, axis "data", f32 layers. */
LS_API ls_trainer_options ls_trainer_defaults(void);

/* Compile the graph for the pool's devices and lay out everything a step
 * needs; parameters start from the seed.  The pool is borrowed until the
 * trainer is closed; the graph may be freed at once.  A trainer's devices are
 * those along the mesh's data axis: devices that differ only along another one
 * would compute the same, so each shard is computed once.
 * Fails with the graph's first error if it has one. */
LS_API int ls_trainer_open(ls_trainer **trainer, ls_pool *pool,
                           const ls_graph *graph,
                           const ls_trainer_options *options);
/* Frees parameters and all; its batches are closed before or after. */
LS_API void ls_trainer_close(ls_trainer *trainer);

/* ------ Own gradients ------ */

/* What a device is given of a batch: rows first .. first+rows of each input,
 * and their weights (NULL: all 1). */
typedef struct ls_shard {
    int64_t first;           /* row in the batch */
    int64_t rows;
    const void *const *data; /* per input, at this shard's first row */
    const float *weights;
    bool train;              /* false: ls_evaluate */
    /* Random numbers that depend on these two and no more do not depend on how
     * many devices and workers there are. */
    int64_t call;            /* step x micro-batches + micro-batch */
    int64_t row;             /* of the micro-batch: the shard's first */
} ls_shard;

/* A mean over devices and micro-batches in the making. */
typedef struct ls_ratio {
    double sum, weight; /* sum of weight x value, and of weight */
} ls_ratio;

/* What a device gives back beside its gradient.  A call finds 0, 0, NaN, 0. */
typedef struct ls_sums {
    double loss;    /* sum over rows of weight x loss */
    double weight;  /* sum of weights (of terms, when a row has several) */
    double correct; /* weight of the terms whose argmax was right; NaN: none */
    ls_ratio metric[LS_METRICS]; /* anything else: ls_result.metric */
} ls_sums;

/* The gradient of sum_i w_i loss_i over the shard's rows: written (not added)
 * to grads[p], for each parameter p, in the order they were declared; grads
 * NULL asks for the sums alone.  Called once a step for each micro-batch of
 * each device, in order, on the worker that runs the device, at the same time
 * as other devices (and again, row by row, to name the row when something was
 * not finite).  A negative return
 * stops the step. */
typedef int ls_gradient_fn(void *user, int device, const ls_shard *shard,
                           const float *const *params, float *const *grads,
                           ls_sums *sums);

/* What such a function can get wrong is found with check_divergence, or with
 * LS_CHECK_DIVERGENCE=1 in the environment when the trainer is opened: before
 * each ls_step it is called twice for every device alone, on the caller, with
 * parameters and all gradients watched, and what it then gives among the other
 * devices is compared.  The step fails, changing nothing, with LS_EUSER and a
 * message that names the device and the array, when it writes to a parameter,
 * to another device's gradient or beyond its own; leaves a part of its gradient
 * unwritten (or adds to it); gives other bytes when called again (random
 * numbers, sums that go on from the call before); or other bytes when devices
 * run at the same time (shared scratch memory). */

/* The name, type and shape of an array; copied. */
typedef struct ls_array_spec {
    const char *name;
    ls_dtype dtype;
    int rank;
    int64_t shape[LS_MAX_RANK]; /* of a parameter; of one row of an input */
} ls_array_spec;

/* A model given by its gradient; copied but for user, which is borrowed until
 * the trainer is closed. */
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

/* ------ Own operators and losses ------ */

enum { LS_OWN_INPUTS = 3 }; /* the most an own operator has */

/* What the functions of an own operator are given: some rows of a device's
 * shard.  Each array holds those rows, one after the other; arrays do not
 * overlap. */
typedef struct ls_own_run {
    int64_t rows;
    const int64_t *x_size; /* [input] elements of a row */
    int64_t y_size;        /* likewise; 0 for a loss */
    const void *const *x;  /* [input] float or int32_t, as its node says */
    float *y;              /* forward writes it, backward reads it */
    float *stash;          /* what forward keeps for backward */
    const float *dy;       /* backward: the gradient of y */
    float *const *dx;      /* [input] backward, loss: to be written, all of it,
                              not added to; NULL where it is not wanted */
    const float *weights;  /* loss: of the rows; NULL: all 1 */
    ls_sums *sums;         /* loss: of these rows; finds 0, 0, NaN */
} ls_own_run;

/* Called for the rows of each device in turn, on the worker that runs the
 * device, at the same time as for other devices.  A negative return stops the
 * step or the prediction: LS_EUSER names operator, device and status. */
typedef int ls_own_fn(void *user, const ls_own_run *run);

/* The row shape of y, given those of the inputs: y is as x[0] but LS_F32 when
 * it is called.  A negative return is the graph's error. */
typedef int ls_own_shape_fn(void *user, const ls_array_spec *x,
                            ls_array_spec *y);

/* An operator of one's own; a loss has name, inputs, user and forward alone. */
typedef struct ls_own_op {
    const char *name;       /* for messages */
    int inputs;             /* 1 to LS_OWN_INPUTS */
    void *user;             /* borrowed until the graph's trainers are closed */
    ls_own_shape_fn *shape; /* NULL: that of input 0 */
    int64_t stash;          /* floats a row */
    ls_own_fn *forward;     /* y = f(x), and the stash */
    ls_own_fn *backward;    /* dx[k][j] = sum_i dy[i] df[i]/dx[k][j] */
} ls_own_op;

/* A node of an operator of your own: op is copied, in[k] is its input k.  Rows
 * must not depend on each other, nor a value on anything but x.  Operators run
 * with denormals flushed and rounding to nearest; their bits are as portable as
 * the functions they call (those of libm are not).  Its gradient is best
 * checked by central differences, as examples/05_own_operator.c does.
 * LS_EINVAL, LS_ESHAPE stick to the graph. */
LS_API ls_node *ls_own(const ls_own_op *op, ls_node *const *in);

/* A loss of your own: op has neither shape, stash nor backward.  Its forward
 * sets sums to the sum over the rows of weight x loss, and of weight x terms,
 * and dx[k] to the gradient of the former, where dx[k] is not NULL.  Inputs of
 * LS_I32 are not checked for their range. */
LS_API ls_node *ls_own_loss(const ls_own_op *op, ls_node *const *in);

/* ------ Batches ------ */

/* A batch for one trainer, with nothing set; used again for every step.
 * LS_ENOMEM. */
LS_API int ls_batch_open(ls_batch **batch, const ls_trainer *trainer);
/* The rows are the caller's and stay. */
LS_API void ls_batch_close(ls_batch *batch);

/* Give the batch its rows of one input: data (rows, row shape), borrowed until
 * the batch is set again or closed, unchanged in between.  Checks dtype and
 * that indices (tokens, labels) are in range: LS_ERANGE names the first that
 * is not.  The rows must divide by devices x micro-batches: LS_ESHAPE. */
LS_API int ls_batch_set(ls_batch *batch, const char *input, ls_dtype dtype,
                        const void *data, int64_t rows);

/* A weight for each row, finite and not negative (0: masked), borrowed as the
 * rows are; NULL: all 1, as a batch begins. */
LS_API int ls_batch_set_weights(ls_batch *batch, const float *weights,
                                int64_t rows);

/* ------ A step ------ */

/* What a step or an evaluation found. */
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
 * before.  A batch whose weights are all 0 updates
 * nothing and is no failure. */
LS_API int ls_step(ls_trainer *trainer, const ls_batch *batch,
                   ls_result *result);

/* The loss and accuracy of a batch without an update.  With LS_MEAN_OF_SHARDS
 * the loss is the exact mean all the same: a shard may be empty here. */
LS_API int ls_evaluate(ls_trainer *trainer, const ls_batch *batch,
                       ls_result *result);

/* The value of a node that ls_output named, for every row of a batch: out
 * (rows, the node's row shape), n elements.  Only the inputs it depends on must
 * be set.  Rows of weight 0 are left out: their part of out stays as it is.
 * Allocates nothing.  LS_ENOTFOUND: no such output; LS_ESHAPE: n is not what is
 * needed. */
LS_API int ls_predict(ls_trainer *trainer, const ls_batch *batch,
                      const char *output, int64_t n, float *out);

/* ------ What a step costs ------ */

/* An operator of a step, by the FLOP of its matrix products (two for each
 * multiply-add; elementwise work is not counted) for one row of the batch. */
typedef struct ls_cost {
    const char *op;   /* "dense" */
    const char *name; /* "blocks_0.Dense_0"; may be empty */
    double forward, backward;
} ls_cost;

/* Operator i = 0, 1, .. in the order they run; false past the last, and for a
 * gradient function of your own. */
LS_API bool ls_trainer_cost(const ls_trainer *trainer, int i, ls_cost *cost);

/* What a step does: FLOP by the sum of the above, and the bytes that reduction
 * and update must at least read and write. */
typedef struct ls_work {
    double row_flops;    /* a row; 0: not known */
    double reduce_bytes; /* a step: each device's gradient, and the sum */
    double update_bytes; /* a step: gradient, parameters, moments */
} ls_work;

LS_API void ls_trainer_work(const ls_trainer *trainer, ls_work *work);

/* Seconds of one worker in the last ls_step: at work in each phase, and the
 * rest of the step, at barriers or with nothing to do. */
typedef struct ls_times {
    double gradients, reduce, update, waiting;
} ls_times;

/* Have each worker read the clock as it enters and leaves a phase, from the
 * next step on (some 0.2 microseconds a step).  LS_ENOMEM. */
LS_API int ls_trainer_clock(ls_trainer *trainer);

/* LS_EINVAL: no such worker, or the clock was not on in the last step. */
LS_API int ls_trainer_times(const ls_trainer *trainer, int worker,
                            ls_times *times);

/* The devices that share a batch: those along the data axis of the mesh. */
LS_API int ls_trainer_devices(const ls_trainer *trainer);

/* ------ Parameters ------ */

/* How many parameters there are, an array each. */
LS_API int ls_trainer_params(const ls_trainer *trainer);
/* The name of parameter i in canonical order (by path, bytewise). */
LS_API const char *ls_trainer_param_name(const ls_trainer *trainer, int i);
/* Its shape; returns its rank. */
LS_API int ls_trainer_param_shape(const ls_trainer *trainer, int i,
                                  int64_t shape[LS_MAX_RANK]);
/* Copy a parameter out, or in, wherever it is placed; n must be its number of
 * elements.  Optimizer state goes by the names below: "mu.<name>". */
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
 * leaves the file that was there, whose mode the new one has.  A CRC-32 of the
 * whole file and a SHA-256 of the data stand in its metadata.  LS_EIO; a link
 * and what is no regular file are refused with it. */
LS_API int ls_trainer_save(const ls_trainer *trainer, const char *path);

/* Load parameters from a safetensors file, ours or another program's; F16, BF16
 * and F64 become F32.  Step and optimizer state stay.  names is a pattern as of
 * fnmatch(3), * matching dots too (and with glibc "!(head.*)" all others), NULL
 * or "*" for all: each parameter it matches must be in the file with its shape,
 * and each tensor it matches must be a parameter; other tensors are left alone.
 * All is checked before the first value changes.  LS_ENOTFOUND names what is
 * missing or unknown, and the nearest there is; LS_ESHAPE both shapes;
 * LS_ENOTSUP the type; LS_ERANGE an F64 too large; LS_EFORMAT a malformed or
 * damaged file; LS_EIO. */
LS_API int ls_trainer_load(ls_trainer *trainer, const char *path,
                           const char *names);

/* ------ Placement: who owns, and so updates, which part ------ */

/* What is placed. */
typedef enum ls_state_part {
    LS_STATE_PARAMS = 1, LS_STATE_OPTIMIZER = 2, LS_STATE_ALL = 3
} ls_state_part;

/* Place parameters, optimizer state, or both, from the next step on:
 *     "replicate"       nobody owns a part: the caller updates
 *     "shard"           each array is cut along its biggest axis (the first of
 *                       equals; a single number is not cut), ceil(n / D) of it
 *                       to each of the D devices of the data axis, the last
 *                       ones less or none
 *     "PATTERN=AXIS,.." arrays whose name the pattern matches, as fnmatch(3)
 *                       does (* also matches dots), are cut along that axis,
 *                       counted from 0, which must divide by D; the first
 *                       pattern that matches counts; others are replicated
 * A parameter and its moments are updated together: where the two are placed
 * differently, by the owners of the moments if those are cut.  In shared memory
 * the bytes exist once for every placement, and the bits are the same; on NUMA
 * machines they stay near those who owned them when the trainer was opened.
 * LS_ESHAPE, LS_EINVAL name the parameter, its shape and the axis; LS_ENOTFOUND
 * a pattern that matches nothing; the placement is then as it was. */
LS_API int ls_state_place(ls_trainer *trainer, ls_state_part part,
                          const char *placement);

/* The axis along which a parameter, or its optimizer state, is cut; -1 when
 * it is replicated.  part is one of the two. */
LS_API int ls_state_axis(const ls_trainer *trainer, ls_state_part part,
                         const char *name, int *axis);

/* ====== Sets of arrays: shards ====== */

/* An array in memory.  In a set of arrays its first axis counts rows, or
 * devices, and it has a name; the name and the data are the caller's.  Where a
 * function reads an array from a file, its data are malloc's (ls_array_free)
 * and its name is NULL. */
typedef struct ls_array {
    const char *name;
    ls_dtype dtype;
    int rank; /* up to LS_MAX_RANK; in a set 1 at least */
    int64_t shape[LS_MAX_RANK];
    void *data; /* C order; written only where a comment says so */
} ls_array;

/* Rows that do not divide by the devices: an error, or filled up with rows of
 * zeros that a mask marks. */
typedef enum ls_uneven { LS_UNEVEN_ERROR, LS_UNEVEN_PAD } ls_uneven;

/* A set of arrays, cut. */
typedef struct ls_shards ls_shards;

/* Cut arrays of equally many rows, of any rank and type, along the data axis:
 * device d gets rows s R .. s R + R of each, s being its shard and
 * R = ceil(rows / shards).  Views, not copies (but for the shards that padding
 * fills up): the data is borrowed until ls_shards_free.  LS_ESHAPE names the
 * array that has no rows, or other rows than the first, or rows that do not
 * divide. */
LS_API int ls_batch_shard(ls_shards **shards, const ls_sharding *sharding,
                          int arrays, const ls_array *array,
                          ls_uneven uneven);
/* The arrays stay. */
LS_API void ls_shards_free(ls_shards *shards);

/* R, the rows of every shard. */
LS_API int64_t ls_shards_rows(const ls_shards *shards);

/* What a device holds of an array: the array with R rows, and its data at the
 * first of them.  LS_ENOTFOUND: no such name. */
LS_API int ls_shards_get(const ls_shards *shards, const char *name, int device,
                         ls_array *view);

/* A device's R weights: 1 for rows of the batch, 0 for padding.  NULL without
 * LS_UNEVEN_PAD. */
LS_API const float *ls_shards_mask(const ls_shards *shards, int device);

/* ====== A function on every device ====== */

/* in[i] and out[o] point at this device's part of input i and output o; the
 * outputs' parts are the device's own to write.  A negative return is a
 * failure. */
typedef int ls_pmap_fn(void *user, int device, const void *const *in,
                       void *const *out);

/* Call fn once for each device of the mesh, on the worker that runs it, at the
 * same time as other devices.  The leading axis of every array must divide by
 * the P devices (LS_ESHAPE names the array): device d is given the parts
 * d n/P to d n/P + n/P of an axis of length n, that is x[d] when n is P.
 * Outputs are written in place, so that they come out stacked in one array.
 * Every device is run even if one fails: LS_EUSER names the first.  What
 * devices are to exchange, a collective does afterwards. */
LS_API int ls_pmap(ls_pool *pool, ls_pmap_fn *fn, void *user, int inputs,
                   const ls_array *input, int outputs, const ls_array *output);

/* ====== Collectives ====== */

/* An array on each device of the mesh: where it is read and where the result
 * goes.  A device's own in and out may be the same memory where a comment says
 * so; buffers of different devices, and of different arrays, do not overlap. */
typedef struct ls_buffers {
    const char *name;
    ls_dtype dtype;
    int64_t n;        /* elements of each in */
    void *const *in;  /* [device], each aligned to its elements */
    void *const *out; /* [device]; NULL, where allowed: in place */
} ls_buffers;

/* Four collectives over sets of arrays, each done by all workers at once, by
 * ranges.  axis: devices that differ only along that axis of the mesh work
 * together, each such group for itself; NULL: all devices do.  P is their
 * number, k the place of one among them.  Sums are added in the order of the
 * tree, s = 1, 2, 4, ...: x[k] += x[k+s] for every k that is a multiple of 2s,
 * and the mean then multiplies once by 1 / P: results do not depend on the
 * workers.  On a failure nothing was written.  LS_EINVAL: another kind than
 * LS_MEAN and LS_SUM, a sum of other types than LS_F32 and LS_F64, a buffer
 * that is NULL, misaligned, or overlaps another way than allowed; LS_ESHAPE:
 * sizes that do not divide; LS_ENOTFOUND: no such axis. */

/* out[k][i] = mean or sum over j of in[j][i].  out may be in. */
LS_API int ls_all_reduce(ls_pool *pool, const char *axis, ls_mean kind,
                         int arrays, const ls_buffers *array);

/* out[k][i] = mean or sum over j of in[j][k n/P + i], i < n/P.  out[k] may be
 * in[k] + k n/P. */
LS_API int ls_reduce_scatter(ls_pool *pool, const char *axis, ls_mean kind,
                             int arrays, const ls_buffers *array);

/* out[k][j n + i] = in[j][i]: all of in, one after the other, n P elements.
 * in[k] may be out[k] + k n. */
LS_API int ls_all_gather(ls_pool *pool, const char *axis, int arrays,
                         const ls_buffers *array);

/* out[k][i] = in[root][i].  out may be in. */
LS_API int ls_broadcast(ls_pool *pool, const char *axis, int root, int arrays,
                        const ls_buffers *array);

/* ====== Checkpoints ====== */

/* The checkpoints of one run, in a folder: all that is needed to go on bit for
 * bit, with any workers and placement.  One is written by a thread of its own
 * from a copy of the state; it appears whole, and on disk, or not at all.  What
 * is damaged is found by checksums and the state hash, and never half loaded.
 * The folder may come from anybody: nothing is written or deleted through a
 * link in it, nor deleted that was not written here.  A checkpoint that was
 * moved elsewhere and linked back is read, and stays.
 * examples/state_hash.py reads one in ten lines. */
typedef struct ls_checkpoints ls_checkpoints;

/* A text under a name. */
typedef struct ls_setting {
    const char *name, *value;
} ls_setting;

typedef struct ls_checkpoints_options {
    const char *folder; /* made if it is not there */
    int keep;           /* the newest that stay; 0: all */
    int settings;       /* what must be the same to go on, beside devices and */
    const ls_setting *setting; /* the trainer's options: model, data, .. */
} ls_checkpoints_options;

/* The newest 3 stay; a folder must be named. */
LS_API ls_checkpoints_options ls_checkpoints_defaults(void);

/* Make the folder, the copy's memory and the thread, and lock the folder
 * against other runs.  The trainer is borrowed until it is closed; strings are
 * copied.  LS_EIO; LS_EBUSY: another run writes there. */
LS_API int ls_checkpoints_open(ls_checkpoints **checkpoints,
                               ls_trainer *trainer,
                               const ls_checkpoints_options *options);

/* Waits for the checkpoint on its way.  In a child of fork, where saving fails
 * with LS_ETHREAD, it frees the memory and leaves the parent's lock alone. */
LS_API void ls_checkpoints_close(ls_checkpoints *checkpoints);

/* Copy the trainer's state and have it written; notes, where the program is in
 * its data, are kept with it.  Waits only while the one before is being
 * written.  When the new one is on disk, the oldest are deleted.  A save that
 * fails leaves the older ones as they are and is reported once, by the next
 * call of this (which does its own work all the same) or of
 * ls_checkpoints_wait. */
LS_API int ls_checkpoints_save(ls_checkpoints *checkpoints, int notes,
                               const ls_setting *note);

/* Wait until what was saved is on disk. */
LS_API int ls_checkpoints_wait(ls_checkpoints *checkpoints);

/* How many the folder holds, damaged ones too.  LS_EIO. */
LS_API int ls_checkpoints_count(const ls_checkpoints *checkpoints);

/* Go on from the newest checkpoint: *step is the updates done then, -1 if there
 * is none.  One that is damaged is passed over for the one before it.
 * LS_EINVAL names an option or setting that is not what it was, and both
 * values; LS_ESHAPE, LS_ENOTFOUND: another model; LS_EFORMAT: all there are
 * are damaged.  The trainer is then as it was before. */
LS_API int ls_checkpoints_load(ls_checkpoints *checkpoints, int64_t *step);

/* A note of the checkpoint that was loaded; NULL: there is none. */
LS_API const char *ls_checkpoints_note(const ls_checkpoints *checkpoints,
                                       const char *name);

/* Why the newest was passed over; NULL: it was not. */
LS_API const char *ls_checkpoints_skipped(const ls_checkpoints *checkpoints);

/* ====== Files of arrays ====== */

/* What a safetensors file, or a checkpoint's folder, holds, checked as a whole
 * when it is opened. */
typedef struct ls_archive ls_archive;

typedef struct ls_entry {
    const char *name;
    const char *dtype; /* the format's name: "F32", "BF16", "I64" */
    int rank;
    int64_t shape[LS_MAX_RANK];
    int64_t elements, bytes;
    const void *data; /* little-endian, perhaps not aligned */
} ls_entry;

/* Read a file, or the files of a checkpoint, into memory.  LS_EIO; LS_EFORMAT:
 * malformed, or one of ours whose checksum does not match, or a folder that is
 * no checkpoint (where it holds some, the newest is named); LS_ENOTSUP: an
 * unknown element type, or more axes than LS_MAX_RANK. */
LS_API int ls_archive_open(ls_archive **archive, const char *path);
LS_API void ls_archive_close(ls_archive *archive);

/* How many arrays there are. */
LS_API int ls_archive_entries(const ls_archive *archive);

/* Array i, in the order of the file.  It lives until the archive is closed.
 * LS_EINVAL: there is no such array. */
LS_API int ls_archive_entry(const ls_archive *archive, int i, ls_entry *entry);

/* The elements of array i as floats; n must be their number.  LS_ENOTSUP: a
 * type that is not F32, F16, BF16 or F64; LS_ERANGE: an F64 too large. */
LS_API int ls_archive_read(const ls_archive *archive, int i, int64_t n,
                           float *out);

/* Pair i = 0, 1, .. of what else the file says ("__metadata__"; of a checkpoint
 * step, state hash, options and notes); false past the last.  The texts live
 * until the archive is closed. */
LS_API bool ls_archive_note(const ls_archive *archive, int i,
                            const char **name, const char **value);

/* ====== Data ====== */

/* Read a .npy file (versions 1 to 3; f4 f8 i4 i8 u1 b1, both byte orders, C
 * and Fortran order) as LS_F32 or LS_I32.  LS_EFORMAT names the byte at fault.
 * LS_ERANGE names an element that `as` cannot hold: beyond the range, or with
 * a fraction for LS_I32. */
LS_API int ls_npy_load(ls_array *out, const char *path, ls_dtype as);

/* The shape of the array in a .npy file, whose header alone is read; returns
 * its rank, or the failure of ls_npy_load. */
LS_API int ls_npy_shape(const char *path, int64_t shape[LS_MAX_RANK]);

/* Free the data of an array that was read, and clear it. */
LS_API void ls_array_free(ls_array *array);

/* ------ Sources: rows by their numbers ------ */

/* A set of rows that can be had in any order.  Fill one in for data of your
 * own, or let one of the functions below do it.  A plain value: whoever takes
 * it over by ls_loader_open or ls_source_weigh does not close it. */
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

/* Rows of arrays in memory, their leading axes: LS_F32 or LS_I32, equally many
 * rows of each; the data is borrowed until the source is closed.  LS_ESHAPE
 * names the array at fault. */
LS_API int ls_source_arrays(ls_source *source, int arrays,
                            const ls_array *array);

typedef struct ls_images_options {
    bool test;           /* of a folder: its test set, not its training set */
    const char *labels;  /* their file; NULL: beside the images */
    const char *image;   /* names of the two arrays; NULL: "image" .. */
    const char *label;   /* .. and "label" */
    int channels;        /* of mean and std: the images', or 1 for all; 0: no
                            normalisation */
    const double *mean, *std;
} ls_images_options;

/* All zero. */
LS_API ls_images_options ls_images_defaults(void);

/* Images as LS_F32 (H,W,C) and labels as LS_I32 from a file or a folder:
 *     CIFAR-10   data_batch_1.bin and on, test_batch.bin, or one .bin file
 *     IDX        unsigned bytes (N,H,W) or (N,H,W,C), plain or gzip'd; in a
 *                folder by MNIST's names, train-images-idx3-ubyte and so on;
 *                else the only train*images* or t10k*images*
 *     .npy       (N,H,W) or (N,H,W,C); train-images.npy or x_train.npy
 * and labels in a file of their own, found by putting "labels" in the place of
 * "images" (idx1 for idx3), or y for x, in the name.  A plain file stays open,
 * and rows are read when they are wanted: one that has become shorter is then a
 * failure of the source (LS_EUSER of ls_loader_fill, which names the byte).
 * A byte u becomes u / 255, a number of another type itself; then x becomes
 * (x - mean[c]) / std[c], all in floats.
 * LS_EFORMAT, LS_ESHAPE, LS_ERANGE: the file, and what is wrong where in it;
 * LS_ENOTFOUND: a folder without such a set. */
LS_API int ls_source_images(ls_source *source, const char *path,
                            const ls_images_options *options);

/* Give the rows of a source weights (finite, not negative), borrowed until it
 * is closed; those it has are multiplied.  The source is taken over, and is
 * as it was on a failure. */
LS_API int ls_source_weigh(ls_source *source, const float *weights,
                           int64_t rows);

/* Accepts a cleared source, and clears it. */
LS_API void ls_source_close(ls_source *source);

/* ------ Loaders: the batch of every step, made beforehand ------ */

typedef struct ls_loader ls_loader;

typedef struct ls_loader_options {
    int64_t batch;    /* rows of a step; 0: all */
    bool shuffle;     /* epoch e (0, 1, ..) takes the rows in the order
                         ls_random_permutation(ls_key_fold_in(key, e), rows) */
    ls_key key;
    ls_uneven uneven; /* LS_UNEVEN_PAD: the last, short batch of an epoch and
                         one that does not divide are filled up with rows of
                         weight 0; else the short one is skipped, and a batch
                         that does not divide is LS_ESHAPE */
    bool no_thread;   /* make a batch when it is asked for, not before */
} ls_loader_options;

/* All zero: all rows in their order, each step. */
LS_API ls_loader_options ls_loader_defaults(void);

/* Cut a source into batches for a trainer, whose inputs are the source's arrays
 * of the same names (and sizes: shapes may differ).  A thread makes the batch
 * of the next step while this one is computed; it runs on no worker's core
 * where others are allowed, else anywhere on the allowed ones.  Takes the
 * source over, and closes it in the end, unless it fails.  The trainer is
 * borrowed until the last ls_loader_fill.
 * LS_ENOTFOUND, LS_ESHAPE, LS_EINVAL name what does not fit the trainer. */
LS_API int ls_loader_open(ls_loader **loader, const ls_trainer *trainer,
                          ls_source *source, const ls_loader_options *options);
LS_API void ls_loader_close(ls_loader *loader);

/* Batches of an epoch. */
LS_API int64_t ls_loader_batches(const ls_loader *loader);

/* Set all inputs and weights of a batch to the rows of a step: batch
 * step % batches of epoch step / batches, so that any step can be had at any
 * time, and steps in order come from the thread.  The batch, which must be the
 * trainer's, is good until the next call with this loader.  rows (may be NULL):
 * how many without padding.  Allocates nothing.  LS_EUSER: the source failed on
 * these rows. */
LS_API int ls_loader_fill(ls_loader *loader, int64_t step, ls_batch *batch,
                          int64_t *rows);

/* Seconds that calls of ls_loader_fill took so far: what steps waited. */
LS_API double ls_loader_seconds(const ls_loader *loader);

/* ====== Trace: who did what, and when ====== */

/* The events of a pool's workers, each in a ring of its own: when a ring is
 * full its oldest events are written over.  Neither recording nor a step locks
 * or allocates, and no result changes. */
typedef struct ls_trace ls_trace;

typedef struct ls_trace_options {
    int level;      /* 1: phases, waiting, marks, counters; 2: operators too */
    int64_t events; /* of each worker, 32 bytes each; up to 2^24 */
} ls_trace_options;

/* Level 1, 65536 events. */
LS_API ls_trace_options ls_trace_defaults(void);

/* Record from now on what the pool does; options NULL means the defaults.  Call
 * from the pool's caller; close before the pool.  LS_EINVAL names the option,
 * LS_EBUSY: the pool has a trace. */
LS_API int ls_trace_open(ls_trace **trace, ls_pool *pool,
                         const ls_trace_options *options);
LS_API void ls_trace_close(ls_trace *trace);

/* Write what the rings hold as Chrome's JSON, which Perfetto (ui.perfetto.dev)
 * and chrome://tracing open: a row for each worker, "worker 1 (PU 1)", with
 * slices "gradients" (of each device), "reduce", "update", "barrier" and so on,
 * at level 2 the operators within; the counters "loss" and "rows/s"; how many
 * events were dropped in otherData.  Written aside and renamed: a failure
 * leaves the file that was there, and LS_EIO what is no regular file.  Call
 * from the pool's caller. */
LS_API int ls_trace_write(const ls_trace *trace, const char *path);

/* Events written over so far, of all workers. */
LS_API int64_t ls_trace_dropped(const ls_trace *trace);

/* Something that begins; ends where it began, before what is around it. */
typedef struct ls_mark {
    const char *name, *before;
    int64_t began;
} ls_mark;

/* A slice of your own, by the pool's caller outside of a step, or by a gradient
 * or pmap function on its worker.  Costs a few nanoseconds without a trace.
 * The name (ASCII) must live as long as the pool: a literal. */
LS_API ls_mark ls_mark_begin(ls_pool *pool, const char *name);
LS_API void ls_mark_end(ls_pool *pool, ls_mark mark);

/* A number over time, by the pool's caller.  The name as above; a value that is
 * not finite is left out of the file. */
LS_API void ls_trace_counter(ls_pool *pool, const char *name, double value);

/* What a worker is doing at this moment. */
typedef struct ls_doing {
    const char *phase; /* "gradients", ..; NULL: nothing, but for a mark */
    const char *what;  /* operator or mark it is in, "dense"; NULL: none */
    int device;        /* whose; -1: no device's */
    bool waits;        /* it is done with the phase and waits for others */
} ls_doing;

/* For watchdogs: may be called from any thread at any time while the pool is
 * open.  The parts may be of moments shortly after each other.  LS_EINVAL: no
 * such worker. */
LS_API int ls_pool_doing(const ls_pool *pool, int worker, ls_doing *doing);

/* ====== Tuning ====== */

/* Have BLIS use its fused kernels for AVX-512 or AVX2, whichever the CPU has:
 * sets the environment variable BLIS_ARCH_TYPE unless the user did.  Left to
 * itself BLIS goes by the CPU's name, and the "blis" backend is refused
 * (LS_ENOTSUP) where it takes kernels that round otherwise than native's.  The
 * variable is the process's, and BLIS reads it once: call this first thing in
 * main, if at all.  The library itself never does. */
LS_API void ls_blis_tune(void);

enum { LS_TEXT = 256 }; /* bytes of a text written into the caller's room */

/* "BLIS 0.9.0, kernels skx (BLIS_ARCH_TYPE is set)".  Starts BLIS. */
LS_API void ls_blis_text(char text[LS_TEXT]);

/* An instruction level of the library's own kernels. */
typedef struct ls_isa {
    const char *name; /* "x86-64-v4" */
    bool here;        /* this CPU has it */
    bool used;        /* the best there is, or what LS_ISA names */
    bool portable;    /* the same bits as the other levels; false without a
                         fused multiply-add in matrix products */
} ls_isa;

/* Level i = 0, 1, .. of those compiled in, the best first; false past the
 * last. */
LS_API bool ls_isa_level(int i, ls_isa *isa);

/* LS_EINVAL: the environment variable LS_ISA names a level that is unknown or
 * not of this CPU, whose levels the message names.  (Opening a pool says the
 * same.) */
LS_API int ls_isa_check(void);

/* How a backend (NULL: the fastest here) computes on this CPU: "f32 products";
 * of bf16 layers "AVX512-BF16 products", or "rounding, then f32 products",
 * which saves no time; "oneDNN 2.6.3 with AMX".  LS_EINVAL, LS_ENOTSUP: as
 * opening a trainer with it. */
LS_API int ls_backend_text(char text[LS_TEXT], const char *backend,
                           ls_precision precision);

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

/* ====== Scaling: the same training on 1, 2, 4, .. workers ====== */

/* Open, on a pool, the trainer to be measured and a batch for it, with `fold`
 * times the rows of fold 1.  The measurement closes what was opened.  A
 * negative status ends it and is returned. */
typedef int ls_scaling_open_fn(void *user, ls_pool *pool, int fold,
                               ls_trainer **trainer, ls_batch **batch);

/* Give the batch its rows for a step, 0, 1, ..; the same for the same step. */
typedef int ls_scaling_fill_fn(void *user, int64_t step, ls_batch *batch);

typedef struct ls_scaling_options {
    ls_scaling_open_fn *open;
    ls_scaling_fill_fn *fill; /* NULL: the batch stays as it was opened */
    void *user;               /* of both, and of progress */
    ls_mesh_options mesh;     /* its workers do not count */
    ls_pool_options pool;
    int counts;               /* 0: 1, 2, 4, .. below the usable cores, and */
    const int *count;         /* these; otherwise any order, 1 is added */
    bool weak;                /* fold is the workers instead of 1 */
    int repeats;              /* runs of each count, in turn; 0: 5 */
    int steps;                /* timed, of a run; 0: about half a second */
    double row_flops;         /* of a row; 0: ls_trainer_work says */
    bool no_roofs;            /* half a second less for each count */
    void (*progress)(void *user, int run, int runs, int workers); /* or NULL */
} ls_scaling_options;

/* All zero, the caller pinned. */
LS_API ls_scaling_options ls_scaling_defaults(void);

typedef struct ls_scaling_point {
    int workers;
    bool oversubscribed; /* more workers than usable cores */
    bool verified;       /* the state is the one that 1 worker makes */
    char state[65];      /* of ls_trainer_hash, after the last run */
    int64_t rows;        /* of a step */
    double seconds;      /* a step: median over the runs of each one's median */
    double least, most;  /* of the runs */
    ls_times mean, max;  /* over the workers; of the run that is the median,
                            the fifth of its steps around the median */
    double speedup;      /* in rows a second: median over the repeats of the
                            ratio to 1 worker's; NaN unless verified */
    double speedup_least, speedup_most; /* of the repeats */
    double efficiency;   /* speedup / workers */
    double flops;        /* FLOP/s; 0: not known */
    double reduce_rate, update_rate; /* bytes/s in these phases */
    double flops_roof, copy_roof;    /* measured on so many workers; or 0 */
} ls_scaling_point;

typedef struct ls_scaling ls_scaling;

/* Train the same from the start on each count of workers, all counts in turn,
 * repeats times: three steps, then the timed ones.  Verified is what ends in
 * the same bytes as the first run on 1 worker; with weak, what after the three
 * steps has the bytes of 1 worker given the same rows.  Opens a mesh and a pool
 * for each run.  LS_EINVAL: no open, or counts that make no sense. */
LS_API int ls_scaling_run(ls_scaling **scaling,
                          const ls_scaling_options *options);
LS_API void ls_scaling_free(ls_scaling *scaling);

/* Point i = 0, 1, .., by rising workers, the first with 1; false past the
 * last. */
LS_API bool ls_scaling_get(const ls_scaling *scaling, int i,
                           ls_scaling_point *point);
/* Seconds of a step in one of its runs, the median step; NaN: no such. */
LS_API double ls_scaling_seconds(const ls_scaling *scaling, int i, int repeat);

typedef struct ls_scaling_info {
    int devices, repeats, steps; /* steps: timed, of a run */
    ls_work work;
} ls_scaling_info;

LS_API void ls_scaling_ask(const ls_scaling *scaling, ls_scaling_info *info);

/* What costs most of a perfect speed-up, and what to do about it: a sentence,
 * as "update takes 11 %, all of it on the caller: use --state shard". */
LS_API const char *ls_scaling_advice(const ls_scaling *scaling);

/* Amdahl's serial share s, by least squares of the relative errors of
 * t(W) = t(1) (s + (1 - s) / W), t being the seconds a row, over the verified
 * counts that are not oversubscribed.  LS_EINVAL: fewer than three. */
LS_API int ls_scaling_serial(const ls_scaling *scaling, double *share);

/* A model, not a measurement, of a step on more workers, from the largest count
 * that is verified and not oversubscribed: gradients take as long as the most
 * devices of a worker do; reduction, and the part of the update that workers
 * share, are divided, where they do not fit the caches until they reach the
 * copy roof of that count; the caller's part of the update and the waiting
 * stay. */
typedef struct ls_scaling_guess {
    double seconds, speedup;
    double memory; /* seconds of it in reduction and update */
    bool roof;     /* one of the two is at the copy roof */
} ls_scaling_guess;

/* LS_EINVAL: workers below 1. */
LS_API int ls_scaling_model(const ls_scaling *scaling, int workers,
                            ls_scaling_guess *guess);

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

#endif
