/* Products of numbers rounded to bf16, for CPUs of x86-64-v4 that also have
 * AVX512-BF16; the Makefile gives the compiler's flags.  Of what is included
 * only the products are used. */
#pragma GCC diagnostic ignored "-Wunused-function"

#include "kernel/k_bf16_conv.h"
#include "kernel/k_bf16_gemm.h"

extern const ls__backend ls__bf16_pairs;

const ls__backend ls__bf16_pairs = {
    .name = "native", .text = "AVX512-BF16 products", .portable = true,
    .bf16 = true, .products = &bf16_products, .convs = &bf16_convs};
