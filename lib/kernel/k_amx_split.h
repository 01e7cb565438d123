/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of f32 numbers as sums of bf16 numbers, two (f32x3) or three (f32x6)
 * each: by AMX, or by the same blocks in vectors of this level. */
#ifndef LS_KERNEL_K_AMX_SPLIT_H
#define LS_KERNEL_K_AMX_SPLIT_H

#include "kernel/k_amx_gemm.h"

AMX_PRODUCTS(2, x3_gemm, x3_scratch, x3_packed_size, x3_pack)
AMX_PRODUCTS(3, x6_gemm, x6_scratch, x6_packed_size, x6_pack)

static const ls__products
    x3_products = {.gemm = x3_gemm, .scratch = x3_scratch,
                   .packed_size = x3_packed_size, .pack = x3_pack},
    x6_products = {.gemm = x6_gemm, .scratch = x6_scratch,
                   .packed_size = x6_packed_size, .pack = x6_pack};

#endif
