/* SPDX-License-Identifier: BSD-3-Clause */
/* Do pieces of memory overlap?  Found by sorting them, so that a collective
 * over many arrays and devices is not held up. */
#ifndef LS_PARALLEL_OVERLAP_H
#define LS_PARALLEL_OVERLAP_H

#include <stdint.h>

/* Bytes [first, last) of memory, and their owner. */
typedef struct ls__byte_range {
    uintptr_t first, last;
    int array, device;
} ls__byte_range;

/* Sort n pieces, none of them empty, by where they begin; returns the first
 * that reaches into the one behind it, or -1. */
int ls__pieces_sort(ls__byte_range *piece, int n);

#endif
