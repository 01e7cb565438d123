/* SPDX-License-Identifier: BSD-3-Clause */
/* A batch norm as kernels take it. */
#ifndef LS_KERNEL_BATCH_NORM_H
#define LS_KERNEL_BATCH_NORM_H

#include <stdbool.h>
#include <stdint.h>

/* Rows of `each` vectors of n channels: y = (x - mean) factor + bias (+ more),
 * through a relu. */
typedef struct ls__batch_norm {
    int64_t rows, each, n;
    const float *x, *more; /* NULL: nothing is added */
    const float *mean, *inverse, *factor, *bias; /* of each channel; inverse =
                             1/deviation, factor = that times scale */
    bool relu;
    /* Backward: */
    const float *weights;  /* of the rows; NULL: 1 */
    const float *dy, *y;   /* y: what the relu made; NULL: nothing was added */
    const float *dy_mean, *gain_mean; /* of each channel the means of dy and of
                             dy xh; NULL: statistics are stored */
} ls__batch_norm;

#endif
