/* SPDX-License-Identifier: BSD-3-Clause */
/* Generated images; see noise.h. */
#include "data/noise.h"
#include "opt/opt.h"

#include <stdlib.h>
#include <string.h>

/* Draws them in pieces: the doubles are the stream. */
void noise_floats(void (*draw)(ls_numpy *rs, int64_t n, double *out),
                  ls_numpy *rs, int64_t n, float *out)
{
    enum { PIECE = 1024 };
    double piece[PIECE];

    for (int64_t i = 0; i < n; i += PIECE) {
        int64_t part = n - i < PIECE ? n - i : PIECE;

        draw(rs, part, piece);
        for (int64_t j = 0; j < part; j++)
            out[i + j] = (float)piece[j];
    }
}

int noise_plan(noise *n, int64_t rows, int64_t shards)
{
    n->rows = rows;
    n->total = (rows + shards - 1) / shards * shards;
    n->x = calloc((size_t)n->total, (size_t)n->size * sizeof *n->x);
    n->y = calloc((size_t)n->total, sizeof *n->y);
    n->weights = calloc((size_t)n->total, sizeof *n->weights);
    if (!n->x || !n->y || !n->weights)
        return opt_fail(OPT_FAILED, "generated images: out of memory");
    for (int64_t i = 0; i < rows; i++)
        n->weights[i] = 1;
    ls_numpy_seed(&n->rs, n->seed);
    return OPT_GO;
}

static void draw(noise *n)
{
    noise_floats(ls_numpy_rand, &n->rs, n->rows * n->size, n->x);
    ls_numpy_randint32(&n->rs, 0, (int32_t)n->classes, n->rows, n->y);
    n->next++;
}

int noise_fill(noise *n, int64_t step, ls_batch *batch)
{
    int status;

    if (step < n->next) {
        ls_numpy_seed(&n->rs, n->seed);
        n->next = 0;
    }
    while (n->next <= step)
        draw(n);
    status = ls_batch_set(batch, "x", LS_F32, n->x, n->total);
    if (status == 0)
        status = ls_batch_set(batch, "y", LS_I32, n->y, n->total);
    if (status == 0)
        status = ls_batch_set_weights(batch, n->weights, n->total);
    return opt_check(status);
}

void noise_free(noise *n)
{
    free(n->x);
    free(n->y);
    free(n->weights);
    *n = (noise){0};
}
