/* SPDX-License-Identifier: BSD-3-Clause */
/* Which parts of a run are trained again where not all of it is. */
#ifndef TOOLS_SEGMENTS_H
#define TOOLS_SEGMENTS_H

#include <stdbool.h>
#include <stdint.h>

/* A stretch of the run, from one checkpoint to the next, or to its end. */
typedef struct segment {
    int64_t first, last; /* batches */
} segment;

typedef struct segments {
    int count;
    segment *of;
} segments;

/* The parts that checkpoints in a folder cut a run of so many batches into; the
 * first one begins with the run.  OPT_FAILED after a message. */
int segments_find(segments *s, const char *folder, int64_t batches);
void segments_free(segments *s);

/* Put k of them, drawn without repeating by SHA-256 of beacon, the file's
 * digest and a counter, in front.  The beacon must be younger than the file:
 * nobody could know then which would be drawn.  OPT_FAILED after a message. */
int segments_draw(segments *s, int k, const char *beacon, const char *digest);

/* The probability that none of the k that were drawn is among `wrong` ones. */
double segments_unseen(const segments *s, int k, int wrong);

#endif
