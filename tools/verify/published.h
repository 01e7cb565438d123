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
    int64_t evaluations, saved_by; /* so many, of which that one was the last
                                      before "saved"; 0: none */
    json_t *evaluation, *best, *chosen; /* the last line of these, that one, and
                                           that of a search; or NULL */
    int64_t saved;  /* batches at the last event "saved"; -1: there is none */
} published;

/* Read all lines, a hash chain: each has the hash of the one before.
 * OPT_FAILED after a message. */
int published_open(published *p, const char *path);
void published_close(published *p);

/* A text of the head, or of its options; NULL: it has none of that name. */
const char *published_text(const published *p, const char *name);
const char *published_option(const published *p, const char *name);

/* The model of a run of lockstep-train, as its head names both; NULL: it is
 * another program's. */
const char *published_trains(const published *p);

/* The part that batch n is in, or that ends before it. */
int published_part(const published *p, int64_t n);

#endif
