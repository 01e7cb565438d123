/* SPDX-License-Identifier: BSD-3-Clause */
/* See sum.h. */
#include "reduce/sum.h"
#include "kernel/kernel.h"

void ls__sum(float *const *array, int arrays, int64_t n, float scale,
             float *sum)
{
    ls__kernels()->tree_sum(array, arrays, 0, n, scale, sum);
}

int64_t ls__first_nonfinite(int64_t n, const float *x)
{
    return ls__kernels()->first_nonfinite(n, x);
}
