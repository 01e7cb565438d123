/* The matrix product of this level in f32, in the way that costs least: by
 * lists of what is not zero, without the rows and columns that are all zeros,
 * or in full. */
#ifndef LS_KERNEL_K_GEMM_H
#define LS_KERNEL_K_GEMM_H

#include "base/least.h"
#include "kernel/k_gemm_full.h"
#include "kernel/k_gemm_live.h"
#include "kernel/k_gemm_sparse.h"

static int64_t scratch_size(int64_t k, int64_t n)
{
    return ls__most(full_scratch(k, n),
                    ls__most(lists_size(k), live_size(k, n)));
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
