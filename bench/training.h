/* SPDX-License-Identifier: BSD-3-Clause */
/* What the programs share that time steps of a graph of their own: data that
 * any program draws alike, initial parameters, and a line a step in the
 * metrics form of lockstep-train. */
#ifndef BENCH_TRAINING_H
#define BENCH_TRAINING_H

#include "bench.h"

#include <lockstep/model.h>

typedef struct training {
    ls_mesh *mesh;
    ls_pool *pool;
    ls_graph *graph;
    ls_trainer *trainer;
    ls_batch *batch;
} training;

/* The graph is closed with the rest. */
static inline training training_open(ls_graph *graph, int devices, int workers,
                                     const ls_trainer_options *o)
{
    training r = {.graph = graph};
    ls_mesh_options m = ls_mesh_defaults();

    m.devices = devices;
    m.workers = workers;
    must(ls_mesh_open(&r.mesh, &m));
    must(ls_pool_open(&r.pool, r.mesh, NULL));
    must(ls_trainer_open(&r.trainer, r.pool, graph, o));
    must(ls_batch_open(&r.batch, r.trainer));
    return r;
}

static inline void training_close(training *r)
{
    ls_batch_close(r->batch);
    ls_trainer_close(r->trainer);
    ls_graph_free(r->graph);
    ls_pool_close(r->pool);
    ls_mesh_close(r->mesh);
}

/* An input that one of lockstep-train's models may have. */
static const struct {
    const char *name;
    ls_dtype dtype;
    int64_t size;
    int most; /* of whole numbers */
} training_inputs[] = {{"tokens", LS_I32, 64, 512},
                       {"tokens", LS_I32, 8, 512},
                       {"x", LS_F32, 3072, 0},
                       {"x", LS_F32, 784, 0},
                       {"x", LS_F32, 64, 0},
                       {"x", LS_F32, 8, 0},
                       {"y", LS_F32, 4, 0},
                       {"y", LS_I32, 1, 10}};
enum { TRAINING_INPUTS = sizeof training_inputs / sizeof *training_inputs };

/* Set those inputs that the model has.  One that it has otherwise is refused,
 * and tried in the next way; the batch borrows all arrays. */
static inline void fill(ls_batch *b, int64_t rows)
{
    for (int i = 0; i < TRAINING_INPUTS; i++) {
        int64_t n = rows * training_inputs[i].size;
        float *x = calloc((size_t)n, sizeof *x);
        int32_t *k = calloc((size_t)n, sizeof *k);
        int most = training_inputs[i].most;

        if (!x || !k)
            exit(EXIT_FAILURE);
        ls_random_normal(ls_key_new(1), 0, n, x);
        if (most)
            ls_random_randint(ls_key_new(2), 0, n, 0, most, k);
        (void)ls_batch_set_view(b, training_inputs[i].name,
                                training_inputs[i].dtype, n,
                                most ? (void *)k : x, rows);
    }
}

/* The model of a file and its parameters, with so many rows. */
static inline training training_load(const char *path, int devices, int workers,
                                     int64_t rows, const ls_trainer_options *o)
{
    ls_graph *graph;
    training r;

    must(ls_graph_load(&graph, path));
    r = training_open(graph, devices, workers, o);
    fill(r.batch, rows);
    return r;
}

/* Numbers in [-scale, scale). */
static inline void draw(int64_t seed, float scale, int64_t n, float *x)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)((i * 7919 + seed * 104729) % 20011 - 10005) *
               (scale / 10006);
}

/* Parameter i by name is drawn from seed 10 + i. */
static inline void draw_params(ls_trainer *t, float scale)
{
    for (int i = 0; i < ls_trainer_params(t); i++) {
        int64_t shape[LS_MAX_RANK], n = 1;
        int rank = ls_trainer_param_shape(t, i, shape);
        float *w;

        for (int k = 0; k < rank; k++)
            n *= shape[k];
        if (!(w = malloc((size_t)n * sizeof *w)))
            exit(EXIT_FAILURE);
        draw(10 + i, scale, n, w);
        must(ls_trainer_set(t, ls_trainer_param_name(t, i), n, w));
        free(w);
    }
}

/* "ms" is a step's time, "cpu_ms" the processor time of the process. */
static inline void time_steps(training *r, int steps, FILE *out)
{
    fprintf(out, "{\"versions\":{\"lockstep\":\"%s\"}}\n", ls_version());
    for (int i = 0; i < steps; i++) {
        double wall = now_ms(), used = processor_ms();
        ls_result result;

        must(ls_step(r->trainer, r->batch, &result));
        fprintf(out,
                "{\"step\":%d,\"loss\":%.9g,\"ms\":%.9g,\"cpu_ms\":%.9g}\n",
                i, (double)result.loss, now_ms() - wall,
                processor_ms() - used);
    }
}

#endif
