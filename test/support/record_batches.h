/* SPDX-License-Identifier: BSD-3-Clause */
/* Batches of the random models of record_models.h: three steps' rows. */
#ifndef TEST_RECORD_BATCHES_H
#define TEST_RECORD_BATCHES_H

#include "record_models.h"

enum { STEPS = 3, ROWS = 24 };

/* The data of a graph's inputs: all steps' rows of each. */
typedef struct data {
    const ls_graph *graph;
    void *of[MOST_INPUTS];
} data;

static inline data data_of(const ls_graph *g, uint32_t seed)
{
    data d = {.graph = g};

    for (int i = 0; i < g->input_count; i++) {
        const ls_node *in = g->inputs[i];
        int64_t n = STEPS * ROWS * in->size;

        d.of[i] = in->dtype == LS_F32
                      ? (void *)normals(seed + (uint32_t)i, n)
                      : integers(seed + (uint32_t)i,
                                 in->limit < 1000 ? (int32_t)in->limit : 4, n);
    }
    return d;
}

static inline void free_data(data *d)
{
    for (int i = 0; i < MOST_INPUTS; i++)
        free(d->of[i]);
}

/* Rows weigh otherwise where the seed says so, some of them nothing. */
static inline void set_batch(const run *r, const data *d, int step,
                             uint32_t seed, int64_t rows)
{
    static float weight[ROWS];

    for (int i = 0; i < ROWS; i++)
        weight[i] = (float[]){0.5f, 1, 0, 2, 1}[(i + step) % 5];
    if (seed % 3 == 0)
        OK(ls_batch_set_weights(r->batch, weight, rows));
    for (int i = 0; i < d->graph->input_count; i++) {
        const ls_node *in = d->graph->inputs[i];

        OK(ls_batch_set(r->batch, in->name, in->dtype,
                        (const char *)d->of[i] + 4 * step * ROWS * in->size,
                        rows));
    }
}

#endif
