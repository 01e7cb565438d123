/* SPDX-License-Identifier: BSD-3-Clause */
/* A digest that notices other bytes, for results that are computed twice.  It
 * resists nobody: 64 lanes of 32 bits, each h = rotl(h ^ x, 5) * odd, so that
 * one word that differs changes its lane for certain; then the lanes are folded
 * into 64 bits.  No float is computed with, so denormals and NaN count as they
 * are. */
#ifndef LS_KERNEL_K_DIGEST_H
#define LS_KERNEL_K_DIGEST_H

#include "kernel/k_simd.h"

enum { DIGEST_LANES = 64 };

_Static_assert(DIGEST_LANES % 16 == 0, "lanes are whole vectors");

SIMD w16 digest_16(w16 h, const uint32_t *x)
{
    w16 v = w16_rotl(w16_xor(h, w16_load(x)), 5);

    return w16_mul(v, w16_set(0x9e3779b1u));
}

/* Groups of 64 words.  The lanes are four variables of a function that calls
 * none: otherwise they lie in memory, which halves the speed. */
static __attribute__((noinline)) void digest_all(int64_t groups,
                                                 const uint32_t *x,
                                                 uint32_t lane[DIGEST_LANES])
{
    w16 a = w16_load(lane), b = w16_load(lane + 16);
    w16 c = w16_load(lane + 32), d = w16_load(lane + 48);

    for (; groups > 0; groups--, x += DIGEST_LANES) {
        a = digest_16(a, x);
        b = digest_16(b, x + 16);
        c = digest_16(c, x + 32);
        d = digest_16(d, x + 48);
    }
    w16_store(lane, a);
    w16_store(lane + 16, b);
    w16_store(lane + 32, c);
    w16_store(lane + 48, d);
}

static uint64_t digest(int64_t n, const void *x, uint64_t before)
{
    uint32_t lane[DIGEST_LANES] = {0}, rest[DIGEST_LANES] = {0};
    int64_t whole = n / DIGEST_LANES * DIGEST_LANES;
    uint64_t all = (before ^ (uint64_t)n) * UINT64_C(0x9e3779b97f4a7c15);

    digest_all(whole / DIGEST_LANES, x, lane);
    memcpy(rest, (const uint32_t *)x + whole, (size_t)(n - whole) * 4);
    digest_all(1, rest, lane);
    for (int k = 0; k < DIGEST_LANES; k++) {
        all = (all ^ lane[k]) * UINT64_C(0x9e3779b97f4a7c15);
        all ^= all >> 29;
    }
    return all;
}

#endif
