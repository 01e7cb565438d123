/* The matrix product of this level in f32: by lists of what is not zero where
 * one operand has many zeros, in full where none has. */
#ifndef LS_KERNEL_K_GEMM_H
#define LS_KERNEL_K_GEMM_H

#include "kernel/k_gemm_full.h"
#include "kernel/k_gemm_sparse.h"

static int64_t scratch_size(int64_t k, int64_t n)
{
    int64_t full = full_scratch(k, n), lists = lists_size(k);

    return full > lists ? full : lists;
}

static void gemm(const ls__product *g, float *scratch)
{
    listed s;

    if (lists_of(g, &s))
        lists_product(&s, scratch);
    else
        full_product(g, scratch);
}

static const ls__products products = {
    .gemm = gemm, .scratch = scratch_size, .packed_size = packed_size,
    .pack = pack};

#endif
