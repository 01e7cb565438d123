/* SPDX-License-Identifier: BSD-3-Clause */
/* Who completes the sum of which floats, updates them and keeps their moments,
 * where several processes share a layout.
 *
 * The layout is cut into sections, and each section over all processes: in
 * whichever order sections are known, every process has its part of the work
 * at once.  Borders are those of the reduction's blocks.  All of it follows
 * from the number of floats and of processes. */
#ifndef LS_REDUCE_OWNED_H
#define LS_REDUCE_OWNED_H

#include "base/range.h"

/* What one process owns: a part of each section. */
typedef struct ls__owned {
    int64_t floats; /* of the layout */
    int rank, ranks;
} ls__owned;

/* What a process that is alone owns. */
static inline ls__owned ls__owned_all(int64_t floats)
{
    return (ls__owned){floats, 0, 1};
}

/* How many sections a layout has, and one of them.  They follow each other. */
int ls__sections(int64_t floats, int ranks);
ls__range ls__section(int64_t floats, int ranks, int section);

/* The part of a section that is owned; may be empty. */
ls__range ls__owned_part(const ls__owned *o, int section);

/* How many floats are owned. */
int64_t ls__owned_floats(const ls__owned *o);

/* A stretch of what is owned, which lies in one piece: begin with {0}. */
typedef struct ls__stretch {
    int section;     /* the next stretch's */
    ls__range range; /* of the layout */
    int64_t at;      /* how many floats are owned before it */
} ls__stretch;

/* Go to the next stretch, in rising order; false: there is none. */
bool ls__owned_next(const ls__owned *o, ls__stretch *s);

/* What of a stretch is in a part of all that is owned, which counts owned
 * floats; maybe nothing. */
ls__range ls__stretch_common(const ls__stretch *s, ls__range mine);

/* Copy what is owned from a copy of the layout to a compact one, and back. */
void ls__owned_take(const ls__owned *o, const float *layout, float *compact);
void ls__owned_put(const ls__owned *o, const float *compact, float *layout);

#endif
