/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of numbers rounded to bf16, for CPUs of x86-64-v4 that also have
 * AVX512-BF16; the Makefile gives the compiler's flags. */
#include "kernel/k_bf16_pairs.h"

extern const ls__backend ls__bf16_pairs;

const ls__backend ls__bf16_pairs = {LS__BF16_PAIRS};
