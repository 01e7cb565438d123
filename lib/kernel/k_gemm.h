/* SPDX-License-Identifier: BSD-3-Clause */
/* The matrix product (GEMM) of this level in f32, sparse or dense, whichever
 * costs less. */
#ifndef LS_KERNEL_K_GEMM_H
#define LS_KERNEL_K_GEMM_H

#include "base/least.h"
#include "kernel/k_gemm_full.h"
#include "kernel/k_gemm_sparse.h"

static int64_t scratch_size(int64_t k, int64_t n)
{
    return ls__most(full_scratch(k, n), lists_size(k));
}

static void gemm(const ls__product *g, float *scratch)
{
    listed l;

    if (lists_cost(g, &l) < 100)
        lists_product(&l, scratch);
    else
        full_product(g, scratch);
}

static const ls__products products = {
    .gemm = gemm, .scratch = scratch_size, .packed_size = packed_size,
    .pack = pack};

#endif
