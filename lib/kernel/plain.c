/* The kernels of a CPU with one level only (arm64: FMA is in the baseline). */
#include "kernel/k_all.h"

extern const ls__kernel_table ls__kernels_plain;

const ls__kernel_table ls__kernels_plain = {.name = "plain", LS__KERNEL_TABLE};
