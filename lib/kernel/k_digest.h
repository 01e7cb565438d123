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

SIMD void digest_64(w16 h[4], const uint32_t *x)
{
    for (int k = 0; k < 4; k++) {
        w16 v = w16_xor(h[k], w16_load(x + 16 * k));

        h[k] = w16_mul(w16_rotl(v, 5), w16_set(0x9e3779b1u));
    }
}

static uint64_t digest(int64_t n, const void *x, uint64_t before)
{
    w16 h[4] = {w16_set(0), w16_set(0), w16_set(0), w16_set(0)};
    uint32_t lane[DIGEST_LANES] = {0};
    const uint32_t *at = x;
    uint64_t all = (before ^ (uint64_t)n) * UINT64_C(0x9e3779b97f4a7c15);

    for (; n >= DIGEST_LANES; n -= DIGEST_LANES, at += DIGEST_LANES)
        digest_64(h, at);
    memcpy(lane, at, (size_t)n * sizeof *lane);
    digest_64(h, lane);
    for (int k = 0; k < 4; k++)
        w16_store(lane + 16 * k, h[k]);
    for (int k = 0; k < DIGEST_LANES; k++) {
        all = (all ^ lane[k]) * UINT64_C(0x9e3779b97f4a7c15);
        all ^= all >> 29;
    }
    return all;
}

#endif
