/* SPDX-License-Identifier: BSD-3-Clause */
/* Rounding to bfloat16: the upper half of a float, to nearest, ties to even. */
#ifndef LS_KERNEL_K_BF16_H
#define LS_KERNEL_K_BF16_H

#include "kernel/k_simd.h"

/* A carry out of the mantissa is the next power of two, or infinity.  A NaN
 * keeps its sign and upper half and is made quiet, so that it stays one. */
SIMD v16 bf16_of(v16 x)
{
    w16 bits = v16_bits(x), upper = w16_set(0xffff0000u);
    w16 even = w16_and(w16_shr(bits, 16), w16_set(1));
    w16 up = w16_add(bits, w16_add(even, w16_set(0x7fff)));
    v16 nan = v16_of_bits(w16_or(w16_and(bits, upper), w16_set(0x400000)));

    return v16_select(v16_eq(x, x), v16_of_bits(w16_and(up, upper)), nan);
}

/* out = x rounded to bf16 (+ addend, may be NULL) */
static void round_bf16(int64_t n, const float *x, const float *addend,
                       float *out)
{
    for (int64_t i = 0; i < n; i += 16) {
        v16 y = bf16_of(take(x + i, n - i));

        if (addend)
            y = v16_add(take(addend + i, n - i), y);
        put(out + i, y, n - i);
    }
}

#endif
