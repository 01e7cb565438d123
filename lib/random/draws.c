/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams of JAX's that are made of others: coins and integers. */
#include "base/assert.h"
#include "base/error.h"
#include <lockstep/random.h>

enum { CHUNK = 256 }; /* numbers drawn at once on the stack */

void ls_random_bernoulli(ls_key key, uint64_t first, int64_t n, float p,
                         uint8_t *out)
{
    LS__NEED_OR(out, );

    float u[CHUNK];
    for (int64_t i = 0; i < n; i += CHUNK) {
        int64_t part = n - i < CHUNK ? n - i : CHUNK;
        ls_random_uniform(key, first + (uint64_t)i, part, 0.0f, 1.0f, u);
        for (int64_t j = 0; j < part; j++)
            out[i + j] = u[j] < p;
    }
}

/* Two words make one number: (high 2^32 + low) mod span, except that JAX takes
 * 2^32 mod span as a 32-bit square.  Slightly biased, as there. */
void ls_random_randint(ls_key key, uint64_t first, int64_t n, int32_t low,
                       int32_t high, int32_t *out)
{
    LS__NEED_OR(out, );

    ls_key a = ls_key_split(key, 0), b = ls_key_split(key, 1);
    uint32_t span = high > low ? (uint32_t)high - (uint32_t)low : 1;
    uint32_t half = 65536 % span, whole = half * half % span;
    uint32_t h[CHUNK], l[CHUNK];

    LS__ASSERT(span > 0);
    for (int64_t i = 0; i < n; i += CHUNK) {
        int64_t part = n - i < CHUNK ? n - i : CHUNK;
        ls_random_bits(a, first + (uint64_t)i, part, h);
        ls_random_bits(b, first + (uint64_t)i, part, l);
        for (int64_t j = 0; j < part; j++) {
            uint32_t x = h[j] % span * whole + l[j] % span;
            out[i + j] = (int32_t)((uint32_t)low + x % span);
        }
    }
}
