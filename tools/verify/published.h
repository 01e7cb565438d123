/* SPDX-License-Identifier: BSD-3-Clause */
/* A transcript that somebody published, as far as its lines say. */
#ifndef TOOLS_PUBLISHED_H
#define TOOLS_PUBLISHED_H

#include <lockstep.h>
#include <lockstep/transcript.h>

#include <jansson.h>

typedef struct published {
    const char *path;
    ls_transcript_facts facts;
    json_t *head; /* its first line */
} published;

/* Read all lines, each of which has the hash of the one before.  OPT_FAILED
 * after a message. */
int published_open(published *p, const char *path);
void published_close(published *p);

/* A text of the head, or of its options; NULL: it has none of that name. */
const char *published_text(const published *p, const char *name);
const char *published_option(const published *p, const char *name);

/* Its batches at the end. */
int64_t published_batches(const published *p);

#endif
