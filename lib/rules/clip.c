/* SPDX-License-Identifier: BSD-3-Clause */
/* optax.clip_by_global_norm, with the roundings XLA gives it: a division of an
 * array by a number is a product with its reciprocal; and optax.clip. */
#include "rules/clip.h"
#include "base/assert.h"
#include "base/error.h"
#include "kernel/kernel.h"

/* Below 2^-126 the reciprocal of a norm might overflow. */
int ls__clip_check(const char *what, double most)
{
    if (most == 0 || most >= 0x1p-126)
        return 0;
    return ls__fail(LS_EINVAL, "clip %s %g: it must be 0 (no clipping) or at "
                    "least 2^-126", what, most);
}

/* Sum in double: a model of 10^9 parameters has 250000 blocks. */
float ls__clip_norm(int64_t blocks, const float *square)
{
    double sum = 0;

    for (int64_t i = 0; i < blocks; i++)
        LS__ASSERT(!(square[i] < 0));
    for (int64_t i = 0; i < blocks; i++)
        sum += (double)square[i];
    return (float)__builtin_sqrt(sum);
}

void ls__clip(float norm, float most, int64_t n, float *g)
{
    if (!(norm >= most))
        return;
    ls__kernels()->scale(n, 1.0f / norm, g);
    ls__kernels()->scale(n, most, g);
}

void ls__clip_value(float most, int64_t n, float *g)
{
    if (most > 0)
        ls__kernels()->clip_value(n, most, g);
}
