/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of numbers rounded to bf16 by a matrix unit. */
#ifndef LS_KERNEL_K_AMX_BF16_H
#define LS_KERNEL_K_AMX_BF16_H

#include "kernel/k_amx_gemm.h"

AMX_PRODUCTS(1, amx_bf16_gemm, amx_bf16_scratch, amx_bf16_packed_size,
             amx_bf16_pack)

static void amx_bf16_words(int64_t m, int64_t n, const float *x, void *words)
{
    amx_source s = {m, n, x, n, 1};

    amx_pack_as(1, false, &s, words);
}

static const ls__products amx_bf16_products = {
    .gemm = amx_bf16_gemm, .scratch = amx_bf16_scratch,
    .packed_size = amx_bf16_packed_size, .pack = amx_bf16_pack,
    .to_bf16 = amx_bf16_words};

#endif
