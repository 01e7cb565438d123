/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of f32 numbers as sums of two bf16 numbers each (f32x3): by AMX, or
 * by the same blocks in vectors of this level. */
#ifndef LS_KERNEL_K_AMX_SPLIT_H
#define LS_KERNEL_K_AMX_SPLIT_H

#include "kernel/k_amx_gemm.h"

AMX_PRODUCTS(2, x3_gemm, x3_scratch, x3_packed_size, x3_pack)

static const ls__products x3_products = {
    .gemm = x3_gemm, .scratch = x3_scratch, .packed_size = x3_packed_size,
    .pack = x3_pack};

#endif
