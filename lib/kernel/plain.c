/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels of a processor that has no level of its own: plain C. */
#include "kernel/k_all.h"

extern const ls__kernel_table ls__kernels_plain;

const ls__kernel_table ls__kernels_plain = {.name = "plain", LS__KERNEL_TABLE};
