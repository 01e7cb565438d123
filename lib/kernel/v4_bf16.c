/* Products of numbers rounded to bf16, for CPUs of x86-64-v4 that also have
 * AVX512-BF16; the Makefile gives the compiler's flags.  Of what is included
 * only the products are used. */
#pragma GCC diagnostic ignored "-Wunused-function"

#include <string.h>

#include "kernel/kernel.h"
#include "kernel/simd.h"
#include "kernel/vmath.h"

#include "kernel/bf16.h"
#include "kernel/tile.h"
#include "kernel/epilogue.h"
#include "kernel/panels.h"
#include "kernel/gemm.h"
#include "kernel/conv.h"
#include "kernel/bf16_products.h"

extern const ls__backend ls__bf16_pairs;

const ls__backend ls__bf16_pairs = LS__BF16_PRODUCTS;
