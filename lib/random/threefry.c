/* SPDX-License-Identifier: BSD-3-Clause */
/* JAX's keys and streams.  Long fills are kernels (kernel/k_random.h); here is
 * the single block that keys are made of.  Fills run in the library's
 * floating-point mode, whatever the caller's is. */
#include "base/error.h"
#include "base/fpmode.h"
#include "kernel/kernel.h"
#include <lockstep/random.h>

static uint32_t rotl(uint32_t x, int n)
{
    return x << n | x >> (32 - n);
}

/* The threefry2x32 block of a key and a counter, 20 rounds. */
static ls_key block(ls_key key, uint64_t counter)
{
    static const int turn[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    const uint32_t *w = key.word;
    const uint32_t k[3] = {w[0], w[1], w[0] ^ w[1] ^ 0x1bd11bda};
    uint32_t x0 = (uint32_t)(counter >> 32) + k[0];
    uint32_t x1 = (uint32_t)counter + k[1];

    for (int i = 0; i < 5; i++) {
        for (int j = 0; j < 4; j++) {
            x0 += x1;
            x1 = rotl(x1, turn[i % 2][j]) ^ x0;
        }
        x0 += k[(i + 1) % 3];
        x1 += k[(i + 2) % 3] + (uint32_t)i + 1;
    }
    return (ls_key){{x0, x1}};
}

ls_key ls_key_new(int64_t seed)
{
    return (ls_key){{0, (uint32_t)seed}};
}

ls_key ls_key_fold_in(ls_key key, uint32_t data)
{
    return block(key, data);
}

ls_key ls_key_split(ls_key key, uint64_t i)
{
    return block(key, i);
}

void ls_random_bits(ls_key key, uint64_t first, int64_t n, uint32_t *out)
{
    LS__NEED_OR(out, );
    ls__kernels()->random_bits(key.word, first, n, out);
}

void ls_random_uniform(ls_key key, uint64_t first, int64_t n, float low,
                       float high, float *out)
{
    LS__NEED_OR(out, );

    ls__fpmode old = ls__fpmode_set();
    ls__kernels()->random_uniform(key.word, first, n, low, high, out);
    ls__fpmode_restore(old);
}

void ls_random_normal(ls_key key, uint64_t first, int64_t n, float *out)
{
    LS__NEED_OR(out, );

    ls__fpmode old = ls__fpmode_set();
    ls__kernels()->random_normal(key.word, first, n, out);
    ls__fpmode_restore(old);
}

void ls_random_truncated_normal(ls_key key, uint64_t first, int64_t n,
                                float *out)
{
    LS__NEED_OR(out, );

    ls__fpmode old = ls__fpmode_set();
    ls__kernels()->random_truncated_normal(key.word, first, n, out);
    ls__fpmode_restore(old);
}
