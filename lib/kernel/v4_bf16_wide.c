/* SPDX-License-Identifier: BSD-3-Clause */
/* The products of v4_bf16.c, the same bytes, for CPUs that multiply two whole
 * vectors of pairs in a cycle, and read no more than two from memory: AMD's
 * from Zen 5 on. */
#define WIDE
#include "kernel/k_bf16_pairs.h"

extern const ls__backend ls__bf16_pairs_wide;

const ls__backend ls__bf16_pairs_wide = {LS__BF16_PAIRS};
