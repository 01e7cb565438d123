/* SPDX-License-Identifier: BSD-3-Clause */
/* Dropout: elements are kept where a uniform number, drawn from a JAX stream by
 * the element's index, is below `keep`, and multiplied by 1 / keep; the others
 * become +0.  Threefry is the cost, so forward leaves a bit for each element,
 * 16 to a word, and backward reads those. */
#ifndef LS_KERNEL_K_DROPOUT_H
#define LS_KERNEL_K_DROPOUT_H

#include "kernel/k_random.h"

/* x scaled where it is kept. */
SIMD v16 kept16(m16 keep, v16 x, v16 by)
{
    return v16_select(keep, v16_mul(x, by), v16_zero());
}

/* Is the uniform number in [0,1) of these bits (k_random.h) below keep? */
SIMD m16 keep16(w16 bits, v16 keep)
{
    v16 f = v16_of_bits(w16_or(w16_shr(bits, 9), w16_set(0x3f800000)));

    return v16_lt(v16_sub(f, v16_set(1)), keep);
}

/* Elements first .. first + n of the stream. */
static void dropout(const uint32_t key[2], uint64_t first, int64_t n,
                    float keep, const float *x, float *y, uint16_t *mask)
{
    const uint32_t k[2] = {key[0], key[1]}; /* which y cannot overlap */
    v16 below = v16_set(keep), by = v16_set(1.0f / keep);

    for (int64_t i = 0; i < n; i += 16) {
        m16 m = keep16(random16(k, first + (uint64_t)i), below);

        put(y + i, kept16(m, take(x + i, n - i), by), n - i);
        mask[i / 16] = (uint16_t)m16_word(m);
    }
}

/* dx = mask dy / keep (+ addend, may be NULL) */
static void dropout_grad(int64_t n, float keep, const uint16_t *mask,
                         const float *dy, const float *addend, float *dx)
{
    v16 by = v16_set(1.0f / keep);

    for (int64_t i = 0; i < n; i += 16) {
        v16 d = kept16(m16_of_word(mask[i / 16]), take(dy + i, n - i), by);

        if (addend)
            d = v16_add(take(addend + i, n - i), d);
        put(dx + i, d, n - i);
    }
}

#endif
