/* SPDX-License-Identifier: BSD-3-Clause */
/* Floats as they are hashed to compare two programs.  A denormal is a zero of
 * its sign, as in a step; a NaN is 7fc00000, as its payload is no part of the
 * contract; padding between parameters, which no step reads, is 0. */
#ifndef LS_STATE_CANONICAL_H
#define LS_STATE_CANONICAL_H

#include "model/params.h"

/* Copy n floats; those of the layout from float `first` of it on. */
void ls__canonical(const void *from, int64_t n, uint32_t *to);
void ls__canonical_part(const ls__params *layout, const float *from,
                        int64_t first, int64_t n, uint32_t *to);

#endif
