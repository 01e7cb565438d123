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
