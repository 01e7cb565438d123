/* Products of numbers rounded to bf16, for CPUs of x86-64-v4 that also have
 * AVX512-BF16; the Makefile gives the compiler's flags.  Of what is included
 * only the products are used. */
#pragma GCC diagnostic ignored "-Wunused-function"

#include <string.h>

#include "kernel/kernel.h"
#include "kernel/k_simd.h"
#include "kernel/k_vmath.h"

#include "kernel/k_bf16.h"
#include "kernel/k_tile.h"
#include "kernel/k_epilogue.h"
#include "kernel/k_panels.h"
#include "kernel/k_gemm.h"
#include "kernel/k_conv.h"
#include "kernel/k_bf16_products.h"

extern const ls__backend ls__bf16_pairs;

const ls__backend ls__bf16_pairs = LS__BF16_PRODUCTS;
