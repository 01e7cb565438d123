/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of f32 numbers as sums of bf16 numbers, two (f32x3) or three (f32x6)
 * each: by AMX, or by the same blocks in vectors of this level. */
#ifndef LS_KERNEL_K_AMX_SPLIT_H
#define LS_KERNEL_K_AMX_SPLIT_H

#include "kernel/k_amx_gemm.h"

/* ------ f32x3 ------ */

static int64_t x3_scratch(int64_t k, int64_t n)
{
    return amx_scratch(2, k, n);
}

static int64_t x3_packed_size(int64_t k, int64_t n)
{
    return amx_words(2, n, k);
}

static void x3_pack(int64_t k, int64_t n, const float *b, int64_t b_row,
                    int64_t b_col, void *packed)
{
    amx_pack(2, k, n, b, b_row, b_col, packed);
}

static void x3_gemm(const ls__product *g, float *scratch)
{
    amx_gemm(2, g, scratch);
}

static const ls__products x3_products = {.gemm = x3_gemm,
                                         .scratch = x3_scratch,
                                         .packed_size = x3_packed_size,
                                         .pack = x3_pack};

/* ------ f32x6 ------ */

static int64_t x6_scratch(int64_t k, int64_t n)
{
    return amx_scratch(3, k, n);
}

static int64_t x6_packed_size(int64_t k, int64_t n)
{
    return amx_words(3, n, k);
}

static void x6_pack(int64_t k, int64_t n, const float *b, int64_t b_row,
                    int64_t b_col, void *packed)
{
    amx_pack(3, k, n, b, b_row, b_col, packed);
}

static void x6_gemm(const ls__product *g, float *scratch)
{
    amx_gemm(3, g, scratch);
}

static const ls__products x6_products = {.gemm = x6_gemm,
                                         .scratch = x6_scratch,
                                         .packed_size = x6_packed_size,
                                         .pack = x6_pack};

#endif
