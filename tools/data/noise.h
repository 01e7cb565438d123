/* SPDX-License-Identifier: BSD-3-Clause */
/* Generated images: batches of random pixels with random labels, a fresh one
 * each step, drawn from one RandomState of NumPy's:
 * x = float32(rs.rand(rows,..)), then y = rs.randint(0, classes, rows). */
#ifndef TOOLS_NOISE_H
#define TOOLS_NOISE_H

#include <lockstep.h>

typedef struct noise {
    uint32_t seed;
    int64_t size;    /* numbers of a row of x; 0: there is no noise */
    int64_t classes; /* labels are below this */
    int64_t rows;    /* drawn each step */
    int64_t total;   /* the same, up to a multiple of the shards */
    int64_t next;    /* the step whose batch the stream gives next */
    ls_numpy rs;
    float *x;        /* the inputs "x" and "y" of a batch */
    int32_t *y;
    float *weights;  /* 0 for rows beyond those drawn */
} noise;

/* Write n numbers of a stream as floats; what draws them, ls_numpy_rand for
 * instance, gives doubles. */
void noise_floats(void (*draw)(ls_numpy *rs, int64_t n, double *out),
                  ls_numpy *rs, int64_t n, float *out);

/* Make room for batches of `rows` rows, padded to a multiple of shards. */
int noise_plan(noise *n, int64_t rows, int64_t shards);

/* The batch of a step; steps in between are drawn and forgotten. */
int noise_fill(noise *n, int64_t step, ls_batch *batch);

void noise_free(noise *n);

#endif
