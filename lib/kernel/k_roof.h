/* SPDX-License-Identifier: BSD-3-Clause */
/* The roof of the roofline model, multiply-adds a second at this level: chains
 * of products that never leave the registers, enough to hide latency. */
#ifndef LS_KERNEL_K_ROOF_H
#define LS_KERNEL_K_ROOF_H

#include "kernel/k_tile.h"

#if defined(__AVX512F__)
enum { CHAINS = 12 }; /* of 32 registers */
#elif defined(__AVX2__) || defined(LS_NEON)
enum { CHAINS = 6 }; /* 12 of 16 registers; arm64: 24 of 32 */
#else
enum { CHAINS = 3 }; /* 12 of 16 */
#endif

/* Repeat n times.  Values come from io and go there, so that the compiler
 * neither computes a chain beforehand nor leaves it out; they stay near 1.
 * Returns the floating-point operations done. */
static int64_t fma_loop(int64_t n, float io[16])
{
    v16 chain[CHAINS], x = v16_set(0.999f), y = v16_set(0.001f);
    v16 sum = v16_zero(), start = v16_load(io);

    UNROLL(16)
    for (int c = 0; c < CHAINS; c++)
        chain[c] = v16_add(start, v16_set(1.0f + 0.01f * (float)c));
    for (int64_t i = 0; i < n; i++)
        UNROLL(16)
        for (int c = 0; c < CHAINS; c++)
            chain[c] = v16_fma(chain[c], x, y);
    UNROLL(16)
    for (int c = 0; c < CHAINS; c++)
        sum = v16_add(sum, chain[c]);
    v16_store(io, sum);
    return n * CHAINS * 16 * 2;
}

#endif
