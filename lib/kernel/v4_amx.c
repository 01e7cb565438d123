/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrix products and convolutions by AMX, for CPUs of x86-64-v4 that also have
 * AVX512-BF16; the Makefile gives the compiler's flags.  It uses only this much
 * of the included kernels. */
#define SLOW_PAIRS
#pragma GCC diagnostic ignored "-Wunused-function"

#include "kernel/k_amx_bf16.h"
#include "kernel/k_amx_conv_grad.h"
#include "kernel/k_amx_split.h"

extern const ls__backend ls__bf16_amx, ls__x3_amx;

/* Four tiles of sums hide each other's latency; a product of tiles is 16 by 16
 * sums of 32 products. */
static int64_t amx_loop(int64_t n, float io[16])
{
    static const uint32_t zeros[AMX_TILE];
    float sums[AMX_SIDE * AMX_SIDE];
    amx_tiles u;

    amx_take(&u);
    amx_clear_block(&u);
    amx_rows(&u, zeros);
    amx_columns(&u, zeros);
    n = (n + 7) / 8; /* as long as n links of twelve chains, about */
    for (int64_t i = 0; i < n; i++)
        amx_multiply_block(&u);
    amx_store_block(&u, sums, AMX_SIDE);
    amx_give(&u);
    AMX_READS;
    io[0] += sums[0];
    return n * 4 * 16 * 16 * 32 * 2;
}

const ls__backend ls__bf16_amx = {
    .name = "native", .text = "AMX products", .bf16 = true,
    .products = &amx_bf16_products, .convs = &amx_convs, .roof = amx_loop};

const ls__backend ls__x3_amx = {
    .name = "native", .text = "AMX products, three for one of f32",
    .products = &x3_products, .roof = amx_loop};
