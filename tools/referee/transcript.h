/* SPDX-License-Identifier: BSD-3-Clause */
/* A transcript (docs/transcript.md), as far as a side is bound to it: its head,
 * and the lines around one step.  A file that is none is refused. */
#ifndef REFEREE_TRANSCRIPT_H
#define REFEREE_TRANSCRIPT_H

#include "record.h"

typedef struct transcript {
    const char *path;
    FILE *file;
    const json *head, *step; /* the line of the step; NULL: it has none */
    const char *option[512][2]; /* as they are at the step: name and value */
    int options;
    const char *before, *after; /* roots of states; NULL: it has none */
    const char *alone; /* the root of a line of steps that has it alone */
    int in_many;  /* the step stands in a line of many */
    int64_t next;     /* batches so far */
    int moved, ended; /* something was set since the last state; the end */
    const char *torn; /* why states do not follow each other */
} transcript;

extern transcript transcripts[2];

/* Read it for the step behind so many batches. */
void transcript_read(transcript *t, const char *path, int64_t before);
void transcript_close(transcript *t);

/* Names what differs between the heads of record and transcript; NULL:
 * nothing. */
const char *head_differs(const transcript *t, const record *r);

/* Names what else differs between record and transcript; NULL: nothing.
 * *missing: what could not be compared, or NULL. */
const char *transcript_differs(const transcript *t, record *r,
                               const char **missing);

/* Has a record controls of its state before, or after?  Only one that nobody
 * told of its batches has none. */
bool has_controls(const record *r, const char *phase);

/* Are two of one training, up to the step? */
int transcripts_match(const transcript *a, const transcript *b);

#endif
