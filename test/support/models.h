/* SPDX-License-Identifier: BSD-3-Clause */
/* Models that tests train, their data, and a trainer with its batch.
 * Everything here asserts with Check: call it on the test's main thread. */
#ifndef TEST_MODELS_H
#define TEST_MODELS_H

#include "layers.h"
#include "support.h"

#include <stdio.h>
#include <stdlib.h>

/* ------ Data ------ */

/* n normal numbers, as float32(RandomState(seed).randn(n)). */
static inline float *normals(uint32_t seed, int64_t n)
{
    double *wide = malloc((size_t)n * sizeof *wide);
    float *x = malloc((size_t)n * sizeof *x);
    ls_numpy rs;

    ck_assert(wide && x);
    ls_numpy_seed(&rs, seed);
    ls_numpy_randn(&rs, n, wide);
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)wide[i];
    free(wide);
    return x;
}

/* n integers in [0,limit), as RandomState(seed).randint(0, limit, n). */
static inline int32_t *integers(uint32_t seed, int32_t limit, int64_t n)
{
    int32_t *x = malloc((size_t)n * sizeof *x);
    ls_numpy rs;

    ck_assert_ptr_nonnull(x);
    ls_numpy_seed(&rs, seed);
    ls_numpy_randint32(&rs, 0, limit, n, x);
    return x;
}

/* Numbers of many sizes, the same everywhere. */
static inline void fill_sizes(float *x, int64_t n, uint32_t seed)
{
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)(int32_t)seed * 0x1p-31f *
               (float)(1 << (seed >> 8 & 7));
    }
}

/* ------ Graphs ------ */

/* Linear regression: parameters "kernel" (d_in,d_out) and "bias" (d_out). */
static inline ls_graph *linear_graph(int64_t d_in, int64_t d_out)
{
    ls_graph *g = empty_graph();
    ls_node *x = ls_input(g, "x", LS_F32, 1, &d_in);
    ls_node *y = ls_input(g, "y", LS_F32, 1, &d_out);

    OK(ls_loss(g, ls_mean_squared_error(ls_dense(x, d_out, ""), y)));
    return g;
}

/* A classifier of x (9) with a normalised hidden layer of 33. */
static inline ls_graph *mlp_graph(void)
{
    ls_graph *g = empty_graph();
    ls_node *x = ls_input(g, "x", LS_F32, 1, (int64_t[]){9});
    ls_node *label = ls_input(g, "label", LS_I32, 0, NULL);

    x = ls_layer_norm(ls_gelu(ls_dense(x, 33, "hidden")), "norm");
    OK(ls_loss(g, ls_cross_entropy(ls_dense(x, 5, "out"), label)));
    return g;
}

typedef struct lm_sizes {
    int64_t vocab, length, width, heads, layers, ff;
} lm_sizes;

static inline ls_node *lm_block(ls_node *x, int64_t i, const lm_sizes *s)
{
    const char *const part[] = {"LayerNorm_0", "SelfAttention_0",
                                "LayerNorm_1", "Dense_0", "Dense_1"};
    char name[5][64];
    ls_node *h;

    for (int k = 0; k < 5; k++)
        snprintf(name[k], sizeof name[k], "blocks_%lld.%s", (long long)i,
                 part[k]);
    h = ls_layer_norm(x, name[0]);
    x = ls_add(x, ls_self_attention(h, (int)s->heads, false, name[1]));
    h = ls_dense(ls_layer_norm(x, name[2]), s->ff, name[3]);
    return ls_add(x, ls_dense(ls_gelu(h), s->width, name[4]));
}

/* The transformer of `lockstep-train lm` under Flax's names. */
static inline ls_graph *lm_graph(const lm_sizes *s)
{
    ls_graph *g = empty_graph();
    ls_node *tokens = ls_input(g, "tokens", LS_I32, 1, &s->length);
    ls_node *x = ls_position(ls_embed(tokens, s->vocab, s->width, "tok_emb"),
                             "pos_emb");

    for (int64_t i = 0; i < s->layers; i++)
        x = lm_block(x, i, s);
    x = dense_no_bias(ls_layer_norm(x, "ln_f"), s->vocab, "head");
    OK(ls_loss(g, ls_next_token_loss(x, tokens)));
    return g;
}

/* ------ Trainers ------ */

/* A trainer with its batch; the data are the test's. */
typedef struct run {
    ls_pool *pool; /* if the run opened it */
    ls_trainer *trainer;
    ls_batch *batch;
} run;

/* Frees the graph: a trainer does not need it. */
static inline run open_run(ls_pool *pool, ls_graph *graph,
                           const ls_trainer_options *options)
{
    run r = {0};

    OK(ls_trainer_open(&r.trainer, pool, graph, options));
    ls_graph_free(graph);
    OK(ls_batch_open(&r.batch, r.trainer));
    return r;
}

/* The same of a gradient function. */
static inline run open_gradient(ls_pool *pool, const ls_gradient *gradient,
                                const ls_trainer_options *options)
{
    run r = {0};

    OK(ls_trainer_open_gradient(&r.trainer, pool, gradient, options));
    OK(ls_batch_open(&r.batch, r.trainer));
    return r;
}

/* The same on a pool of their own. */
static inline run open_gradient_on(int devices, int workers,
                                   const ls_gradient *gradient,
                                   const ls_trainer_options *options)
{
    ls_pool *pool = open_pool(devices, workers);
    run r = open_gradient(pool, gradient, options);

    r.pool = pool;
    return r;
}

static inline run open_run_on(int devices, int workers, ls_graph *graph,
                              const ls_trainer_options *options)
{
    ls_pool *pool = open_pool(devices, workers);
    run r = open_run(pool, graph, options);

    r.pool = pool;
    return r;
}

static inline void close_run(run *r)
{
    ls_batch_close(r->batch);
    ls_trainer_close(r->trainer);
    ls_pool_close(r->pool);
}

static inline ls_result step(const run *r)
{
    ls_result result;

    OK(ls_step(r->trainer, r->batch, &result));
    return result;
}

/* The state's hash after three steps of 20 images of n numbers, which the graph
 * sorts into 4 classes; frees the graph. */
static inline void train_images(ls_graph *graph, int64_t n, int workers,
                                const ls_trainer_options *o, char hash[65])
{
    enum { STEPS = 3, ROWS = 20 };
    float *x = normals(5, STEPS * ROWS * n);
    int32_t *labels = integers(6, 4, STEPS * ROWS);
    run r = open_run_on(2, workers, graph, o);

    for (int i = 0; i < STEPS; i++) {
        OK(ls_batch_set(r.batch, "x", LS_F32, x + i * ROWS * n, ROWS));
        OK(ls_batch_set(r.batch, "label", LS_I32, labels + i * ROWS, ROWS));
        step(&r);
    }
    ls_trainer_hash(r.trainer, hash);
    close_run(&r);
    free(x);
    free(labels);
}

#endif
