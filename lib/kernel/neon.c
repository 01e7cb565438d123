/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels of arm64, where NEON and FMA are in the baseline. */
#include "kernel/k_all.h"

extern const ls__kernel_table ls__kernels_neon;

const ls__kernel_table ls__kernels_neon = {.name = "neon", LS__KERNEL_TABLE};
