/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrix products and convolutions by AMX, for CPUs of x86-64-v4 that also have
 * AVX512-BF16; the Makefile gives the compiler's flags.  Of what is included
 * only this much is used. */
#define SLOW_PAIRS
#pragma GCC diagnostic ignored "-Wunused-function"

#include "kernel/k_unit_bf16.h"
#include "kernel/k_unit_conv_grad.h"
#include "kernel/k_unit_split.h"

extern const ls__backend ls__bf16_amx, ls__x3_amx, ls__x6_amx;

/* Four tiles of sums hide each other's latency; a product of tiles is 16 by 16
 * sums of 32 products. */
static int64_t unit_loop(int64_t n, float io[16])
{
    static const uint32_t zeros[UNIT_TILE];
    float sums[UNIT_SIDE * UNIT_SIDE];
    unit u;

    unit_take(&u);
    unit_clear_block(&u);
    unit_rows(&u, zeros);
    unit_columns(&u, zeros);
    n = (n + 7) / 8; /* as long as n links of twelve chains, about */
    for (int64_t i = 0; i < n; i++)
        unit_multiply_block(&u);
    unit_store_block(&u, sums, UNIT_SIDE);
    unit_give(&u);
    UNIT_READS;
    io[0] += sums[0];
    return n * 4 * 16 * 16 * 32 * 2;
}

const ls__backend ls__bf16_amx = {
    .name = "native", .text = "AMX products", .portable = true, .bf16 = true,
    .products = &unit_bf16_products, .convs = &unit_convs, .roof = unit_loop};

const ls__backend ls__x3_amx = {
    .name = "native", .text = "AMX products, three for one of f32",
    .portable = true, .products = &x3_products, .roof = unit_loop};

const ls__backend ls__x6_amx = {
    .name = "native", .text = "AMX products, six for one of f32",
    .portable = true, .products = &x6_products, .roof = unit_loop};
