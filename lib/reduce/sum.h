/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums of whole arrays, for those above the engine. */
#ifndef LS_REDUCE_SUM_H
#define LS_REDUCE_SUM_H

#include <stdint.h>

/* sum[i] = scale (array[0][i] + array[1][i] + ..) in the order of base/tree.h,
 * for the first n elements of each array. */
void ls__sum(float *const *array, int arrays, int64_t n, float scale,
             float *sum);

/* The first of n elements that is not finite; n: all are. */
int64_t ls__first_nonfinite(int64_t n, const float *x);

#endif
