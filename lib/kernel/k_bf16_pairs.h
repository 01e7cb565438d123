/* SPDX-License-Identifier: BSD-3-Clause */
/* The products of bf16 numbers with AVX512-BF16, compiled by v4_bf16.c and
 * v4_bf16_wide.c; of the included kernels they use only the products. */
#ifndef LS_KERNEL_K_BF16_PAIRS_H
#define LS_KERNEL_K_BF16_PAIRS_H

#pragma GCC diagnostic ignored "-Wunused-function"

#include "kernel/k_bf16_conv.h"
#include "kernel/k_bf16_gemm.h"

#if defined(PAIRS)

enum { CHAINS = 16 }; /* of 32 registers */

/* Each link of a chain is two multiply-adds for a lane. */
static int64_t pairs_loop(int64_t n, float io[16])
{
    v16 chain[CHAINS], x = v16_load(io), sum = v16_zero();

    UNROLL(16)
    for (int c = 0; c < CHAINS; c++)
        chain[c] = v16_set((float)c);
    for (int64_t i = 0; i < n; i++)
        UNROLL(16)
        for (int c = 0; c < CHAINS; c++)
            chain[c] = _mm512_dpbf16_ps(chain[c], (__m512bh)x, (__m512bh)x);
    UNROLL(16)
    for (int c = 0; c < CHAINS; c++)
        sum = v16_add(sum, chain[c]);
    v16_store(io, sum);
    return n * CHAINS * 16 * 4;
}

#define LS__BF16_PAIRS \
    .name = "native", .text = "AVX512-BF16 products", .bf16 = true, \
    .products = &bf16_products, .convs = &bf16_convs, \
    .roof = pairs_loop

#endif

#endif
