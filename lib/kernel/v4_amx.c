/* Matrix products by AMX, for CPUs of x86-64-v4 that also have AVX512-BF16; the
 * Makefile gives the compiler's flags.  Convolutions are fused multiply-adds,
 * to the same bytes: on these CPUs the instruction for pairs is slower.  Of what
 * is included only this much is used. */
#define SLOW_PAIRS
#pragma GCC diagnostic ignored "-Wunused-function"

#include "kernel/k_bf16_conv.h"
#include "kernel/k_unit_bf16.h"
#include "kernel/k_unit_split.h"

extern const ls__backend ls__bf16_amx, ls__x3_amx, ls__x6_amx;

const ls__backend ls__bf16_amx = {
    .name = "native", .text = "AMX products", .portable = true, .bf16 = true,
    .products = &unit_bf16_products, .convs = &bf16_convs};

const ls__backend ls__x3_amx = {
    .name = "native", .text = "AMX products, three for one of f32",
    .portable = true, .products = &x3_products};

const ls__backend ls__x6_amx = {
    .name = "native", .text = "AMX products, six for one of f32",
    .portable = true, .products = &x6_products};
