/* Dropout: elements are kept where a uniform number, drawn from a JAX stream by
 * the element's index, is below `keep`, and multiplied by 1 / keep; the others
 * become +0.  Threefry is the cost, so forward leaves a bit for each element,
 * 16 to a word, and backward reads those. */
#ifndef LS_KERNEL_DROPOUT_H
#define LS_KERNEL_DROPOUT_H

#include "kernel/elementwise.h"
#include "kernel/random.h"

/* x scaled where it is kept. */
SIMD v16 kept16(m16 keep, v16 x, v16 by)
{
    return v16_select(keep, v16_mul(x, by), v16_zero());
}

/* Elements first .. first + n of the stream. */
static void dropout(const uint32_t key[2], uint64_t first, int64_t n,
                    float keep, const float *x, float *y, uint16_t *mask)
{
    v16 zero = v16_zero(), one = v16_set(1), below = v16_set(keep);
    v16 by = v16_set(1.0f / keep);

    for (int64_t i = 0; i < n; i += 16) {
        w16 bits = random16(key, first + (uint64_t)i);
        m16 m = v16_lt(uniform16(bits, zero, one), below);

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
