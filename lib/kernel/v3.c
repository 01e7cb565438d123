/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels of x86-64-v3; the Makefile gives the compiler's flags. */
#include "kernel/k_all.h"

extern const ls__kernel_table ls__kernels_v3;

const ls__kernel_table ls__kernels_v3 = {.name = "x86-64-v3", LS__KERNEL_TABLE};
