/* SPDX-License-Identifier: BSD-3-Clause */
/* Ownership for the reduce-scatter, where several processes share a layout: who
 * completes the sum of which floats, updates them and keeps their moments
 * (ZeRO).
 *
 * The layout is cut into sections, and each section over all processes: each
 * has work as soon as any section is known.  Borders are those of the
 * reduction's blocks.  All follows from the numbers of floats and processes. */
#ifndef LS_REDUCE_OWNED_H
#define LS_REDUCE_OWNED_H

#include "base/range.h"

/* The floats that one process owns: a part of each section. */
typedef struct ls__owned {
    int64_t floats; /* of the layout */
    int rank, ranks;
} ls__owned;

/* The ownership of a process that is alone: all. */
static inline ls__owned ls__owned_all(int64_t floats)
{
    return (ls__owned){floats, 0, 1};
}

/* The number of a layout's sections, and one of them, all in order. */
int ls__sections(int64_t floats, int ranks);
ls__range ls__section(int64_t floats, int ranks, int section);

/* The part of a section that is owned; may be empty. */
ls__range ls__owned_part(const ls__owned *o, int section);

/* The number of owned floats. */
int64_t ls__owned_floats(const ls__owned *o);

/* A stretch of what is owned, which lies in one piece: begin with {0}. */
typedef struct ls__stretch {
    int section;     /* the next stretch's */
    ls__range range; /* of the layout */
    int64_t at;      /* the number of floats owned before it */
} ls__stretch;

/* Go to the next stretch, in rising order; false: there is none. */
bool ls__owned_next(const ls__owned *o, ls__stretch *s);

/* The common part of a stretch and of `mine`, a part of all that is owned,
 * which counts owned floats; maybe empty. */
ls__range ls__stretch_common(const ls__stretch *s, ls__range mine);

/* Copy what is owned from a copy of the layout to a compact one, and back. */
void ls__owned_take(const ls__owned *o, const float *layout, float *compact);
void ls__owned_put(const ls__owned *o, const float *compact, float *layout);

#endif
