/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of a run that are trained again where not all of it is. */
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

/* The parts that checkpoints in a folder cut a run of `batches` batches into;
 * the first one begins with the run.  OPT_FAILED after a message. */
int segments_find(segments *s, const char *folder, int64_t batches);
void segments_free(segments *s);

/* Put k of them, drawn without repeating by SHA-256 of beacon, the file's
 * digest and a counter, in front: each batch that is left is as likely to be
 * hit as any other, so that nobody gains by where checkpoints are.  The beacon
 * must be younger than the file: nobody could know then which would be drawn.
 * OPT_FAILED after a message. */
int segments_draw(segments *s, int k, const char *beacon, const char *digest);

/* Keep those of the first k that end before batch `from`, and add one from the
 * last beginning before it to the end, in their order; returns how many. */
int segments_with_end(segments *s, int k, int64_t from);

/* The batches of the first k. */
int64_t segments_batches(const segments *s, int k);

/* The probability that none of `wrong` batches, wherever they are, is among the
 * `trained` ones of all. */
double segments_unseen(int64_t batches, int64_t trained, int wrong);

#endif
