/* SPDX-License-Identifier: BSD-3-Clause */
/* A transcript that somebody published, as far as its lines say. */
#ifndef TOOLS_PUBLISHED_H
#define TOOLS_PUBLISHED_H

#include <lockstep.h>
#include <lockstep/transcript.h>

#include <jansson.h>

/* A part of a run under the same options. */
typedef struct leg {
    int64_t first;   /* batches before it */
    json_t *options;
    bool stated;     /* the state before has a line besides that of after */
} leg;

typedef struct published {
    const char *path;
    ls_transcript_facts facts;
    json_t *head; /* its first line */
    int parts;    /* one, and one more for each event "change" */
    leg *part;
    char own[40]; /* an event that only its program can repeat; "": none */
    int64_t own_at;
} published;

/* Read all lines, each of which has the hash of the one before.  OPT_FAILED
 * after a message. */
int published_open(published *p, const char *path);
void published_close(published *p);

/* A text of the head, or of its options; NULL: it has none of that name. */
const char *published_text(const published *p, const char *name);
const char *published_option(const published *p, const char *name);

/* The part that batch n is in, or that ends before it. */
int published_part(const published *p, int64_t n);

/* Its batches at the end. */
int64_t published_batches(const published *p);

#endif
