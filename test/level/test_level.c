/* SPDX-License-Identifier: BSD-3-Clause */
/* The level "test": fused multiply-adds, and plain C in place of vectors of
 * eight or sixteen or of NEON's.  Only a library configured --enable-test-level
 * has it: it shows what a level takes, and tests k_simd_plain.h on machines
 * that have more. */
#define LS_PLAIN_LANES
#include "kernel/k_all.h"

extern const ls__kernel_table ls__kernels_test;

const ls__kernel_table ls__kernels_test = {.name = "test", LS__KERNEL_TABLE};
