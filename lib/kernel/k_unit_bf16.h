/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of numbers rounded to bf16 by a matrix unit. */
#ifndef LS_KERNEL_K_UNIT_BF16_H
#define LS_KERNEL_K_UNIT_BF16_H

#include "kernel/k_unit_gemm.h"

static int64_t unit_bf16_scratch(int64_t k, int64_t n)
{
    return unit_scratch(1, k, n);
}

static int64_t unit_bf16_packed_size(int64_t k, int64_t n)
{
    return unit_words(1, n, k);
}

static void unit_bf16_pack(int64_t k, int64_t n, const float *b, int64_t b_row,
                           int64_t b_col, void *packed)
{
    unit_pack(1, k, n, b, b_row, b_col, packed);
}

static void unit_bf16_gemm(const ls__product *g, float *scratch)
{
    unit_gemm(1, g, scratch);
}

static void unit_bf16_words(int64_t m, int64_t n, const float *x, void *words)
{
    unit_source s = {m, n, x, n, 1};

    unit_pack_as(1, false, &s, words);
}

static const ls__products unit_bf16_products = {.gemm = unit_bf16_gemm,
                                                .scratch = unit_bf16_scratch,
                                                .packed_size =
                                                    unit_bf16_packed_size,
                                                .pack = unit_bf16_pack,
                                                .words = unit_bf16_words};

#endif
