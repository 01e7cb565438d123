/* SPDX-License-Identifier: BSD-3-Clause */
/* Elements first .. first + n of a JAX stream (a counter-based generator).
 * Element i is made of the threefry2x32 block of key and i alone, so that any
 * range can be drawn by anyone and long arrays need no state. */
#ifndef LS_KERNEL_K_RANDOM_H
#define LS_KERNEL_K_RANDOM_H

#include "kernel/k_vmath.h"

/* One round: x0 += x1, x1 = rotl(x1, r) ^ x0. */
SIMD void threefry_round(w16 x[2], int r)
{
    x[0] = w16_add(x[0], x[1]);
    x[1] = w16_xor(w16_rotl(x[1], r), x[0]);
}

/* Salmon et al. 2011, 20 rounds, on 16 counters. */
SIMD void threefry16(const uint32_t key[2], w16 x[2])
{
    static const int turn[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    const uint32_t k[3] = {key[0], key[1], key[0] ^ key[1] ^ 0x1bd11bda};

    x[0] = w16_add(x[0], w16_set(k[0]));
    x[1] = w16_add(x[1], w16_set(k[1]));
    UNROLL(5)
    for (int i = 0; i < 5; i++) {
        UNROLL(4)
        for (int j = 0; j < 4; j++)
            threefry_round(x, turn[i % 2][j]);
        x[0] = w16_add(x[0], w16_set(k[(i + 1) % 3]));
        x[1] = w16_add(x[1], w16_set(k[(i + 2) % 3] + (uint32_t)i + 1));
    }
}

/* The 32 random bits of elements i .. i + 15.  The counter has 64 bits: lanes
 * past a multiple of 2^32 take the next high word. */
SIMD w16 random16(const uint32_t key[2], uint64_t i)
{
    uint64_t left = (UINT64_C(1) << 32) - (uint32_t)i;
    v16 high = v16_of_bits(w16_set((uint32_t)(i >> 32)));
    v16 next = v16_of_bits(w16_set((uint32_t)(i >> 32) + 1));
    m16 before = m16_first(left < 16 ? (int)left : 16);
    w16 x[2] = {v16_bits(v16_select(before, high, next)),
                w16_add(w16_set((uint32_t)i), w16_iota())};
    threefry16(key, x);
    return w16_xor(x[0], x[1]);
}

/* Bits as floats in [low, low + span]: 23 of them fill the mantissa of a
 * number in [1,2). */
SIMD v16 uniform16(w16 bits, v16 low, v16 span)
{
    v16 f = v16_of_bits(w16_or(w16_shr(bits, 9), w16_set(0x3f800000)));
    f = v16_sub(f, v16_set(1.0f));
    return v16_max(low, v16_fma(f, span, low));
}

/* sqrt(2) erf_inv(u): u uniform in (-1,1) becomes normal. */
SIMD v16 normal16(v16 u)
{
    return v16_mul(v16_set(0x1.6a09e6p+0f), v16_erf_inv(u));
}

/* Store the lanes of x that are left of n. */
SIMD void put16(float *out, v16 x, int64_t n)
{
    if (n >= 16)
        v16_store(out, x);
    else
        v16_store_n(out, x, (int)n);
}

static void fill_bits(const uint32_t key[2], uint64_t first, int64_t n,
                      uint32_t *out)
{
    for (int64_t i = 0; i < n; i += 16) {
        w16 x = random16(key, first + (uint64_t)i);
        if (n - i >= 16)
            w16_store(out + i, x);
        else
            w16_store_n(out + i, x, (int)(n - i));
    }
}

/* Fill with numbers in [low, high); high itself only where rounding up to it is
 * JAX's too. */
static void fill_uniform(const uint32_t key[2], uint64_t first, int64_t n,
                         float low, float high, float *out)
{
    v16 from = v16_set(low), span = v16_set(high - low);
    for (int64_t i = 0; i < n; i += 16) {
        w16 x = random16(key, first + (uint64_t)i);
        put16(out + i, uniform16(x, from, span), n - i);
    }
}

static void fill_normal(const uint32_t key[2], uint64_t first, int64_t n,
                        float *out)
{
    v16 low = v16_set(-0x1.fffffep-1f), span = v16_set(2.0f);
    for (int64_t i = 0; i < n; i += 16) {
        w16 x = random16(key, first + (uint64_t)i);
        put16(out + i, normal16(uniform16(x, low, span)), n - i);
    }
}

/* A normal between -2 and 2: u between erf(-sqrt 2) and erf(sqrt 2), the result
 * clamped to the floats just inside. */
static void fill_truncated_normal(const uint32_t key[2], uint64_t first,
                                  int64_t n, float *out)
{
    const float edge = 0x1.e8b43p-1f, end = 0x1.fffffep+0f;
    v16 low = v16_set(-edge), span = v16_set(2.0f * edge);
    for (int64_t i = 0; i < n; i += 16) {
        w16 x = random16(key, first + (uint64_t)i);
        v16 r = normal16(uniform16(x, low, span));
        put16(out + i, v16_clamp(r, -end, end), n - i);
    }
}

#endif
