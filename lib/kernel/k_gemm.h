/* The matrix product of this level in f32, in the way that costs least: by
 * lists of what is not zero, without the rows and columns that are all zeros,
 * or in full. */
#ifndef LS_KERNEL_K_GEMM_H
#define LS_KERNEL_K_GEMM_H

#include "kernel/k_gemm_full.h"
#include "kernel/k_gemm_live.h"
#include "kernel/k_gemm_sparse.h"

static int64_t scratch_size(int64_t k, int64_t n)
{
    int64_t full = full_scratch(k, n), lists = lists_size(k);
    int64_t some = live_size(k, n);

    full = full > lists ? full : lists;
    return full > some ? full : some;
}

static void gemm(const ls__product *g, float *scratch)
{
    listed l;
    shrunk s;
    int lists = lists_cost(g, &l), some = live_cost(g, &s);

    if (some < 100 && some < lists)
        live_product(&s, scratch);
    else if (lists < 100)
        lists_product(&l, scratch);
    else
        full_product(g, LS__CHUNK, scratch);
}

static const ls__products products = {
    .gemm = gemm, .scratch = scratch_size, .packed_size = packed_size,
    .pack = pack};

#endif
