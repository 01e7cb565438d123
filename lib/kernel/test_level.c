/* The level "test": fused multiply-adds, and plain C in place of vectors of
 * eight or sixteen.  Only a library configured --enable-test-level has it: it
 * shows what a level takes, and tests k_simd_plain.h where AVX2 is too. */
#include "kernel/k_all.h"

extern const ls__kernel_table ls__kernels_test;

const ls__kernel_table ls__kernels_test = {.name = "test", LS__KERNEL_TABLE};
