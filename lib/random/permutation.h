/* SPDX-License-Identifier: BSD-3-Clause */
/* Permutations without an allocation, for those who draw one in a step. */
#ifndef LS_RANDOM_PERMUTATION_H
#define LS_RANDOM_PERMUTATION_H

#include <lockstep/random.h>

/* The bytes of scratch memory that ls__permutation needs. */
size_t ls__permutation_scratch(int64_t n);

/* ls_random_permutation, with memory of the caller's. */
void ls__permutation(ls_key key, int64_t n, int32_t *out, void *scratch);

#endif
