/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of numbers rounded to bf16 by a matrix unit. */
#ifndef LS_KERNEL_K_AMX_BF16_H
#define LS_KERNEL_K_AMX_BF16_H

#include "kernel/k_amx_gemm.h"

static int64_t amx_bf16_scratch(int64_t k, int64_t n)
{
    return amx_scratch(1, k, n);
}

static int64_t amx_bf16_packed_size(int64_t k, int64_t n)
{
    return amx_words(1, n, k);
}

static void amx_bf16_pack(int64_t k, int64_t n, const float *b, int64_t b_row,
                           int64_t b_col, void *packed)
{
    amx_pack(1, k, n, b, b_row, b_col, packed);
}

static void amx_bf16_gemm(const ls__product *g, float *scratch)
{
    amx_gemm(1, g, scratch);
}

static void amx_bf16_words(int64_t m, int64_t n, const float *x, void *words)
{
    amx_source s = {m, n, x, n, 1};

    amx_pack_as(1, false, &s, words);
}

static const ls__products amx_bf16_products = {.gemm = amx_bf16_gemm,
                                                .scratch = amx_bf16_scratch,
                                                .packed_size =
                                                    amx_bf16_packed_size,
                                                .pack = amx_bf16_pack,
                                                .to_bf16 = amx_bf16_words};

#endif
