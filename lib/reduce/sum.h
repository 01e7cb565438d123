/* SPDX-License-Identifier: BSD-3-Clause */
/* The sum of arrays, for those above the engine. */
#ifndef LS_REDUCE_SUM_H
#define LS_REDUCE_SUM_H

#include <stdint.h>

/* sum[i] = scale (array[0][i] + array[1][i] + ..) in the order of base/tree.h,
 * for the first n elements of so many arrays. */
void ls__sum(float *const *array, int arrays, int64_t n, float scale,
             float *sum);

#endif
