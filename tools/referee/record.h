/* SPDX-License-Identifier: BSD-3-Clause */
/* A record of one step (docs/transcript.md, "Records of a step"): its head, its
 * arrays, their leaves.  A file that is no record is refused (verdict.h); of an
 * array only what is asked for is read, and held against its leaf's hash. */
#ifndef REFEREE_RECORD_H
#define REFEREE_RECORD_H

#include "find.h"
#include "json.h"
#include "sha.h"

#include <stdio.h>

typedef struct record {
    const char *path;
    FILE *file;
    int64_t bytes, tail, entries;
    const json *head;
    array *arrays;
    int values; /* words follow the hashes of leaves */
} record;

extern record records[2]; /* of the first side, and of the second */

void record_open(record *r, const char *path);
void record_close(record *r);

static inline int64_t leaves_of(const array *k)
{
    return k->n / LEAF_WORDS + (k->n % LEAF_WORDS != 0);
}

/* The first array of a phase that is so called; NULL: there is none. */
static inline const array *array_in(const record *r, const char *phase,
                                    const char *what)
{
    return first_called(r->arrays, r->entries, phase, what);
}

/* Batches or updates of the state before or after; batches before, and updates
 * of, the step. */
static inline int64_t said_of(const record *r, const char *phase,
                              const char *what)
{
    return json_whole(json_get(json_get(r->head, "state"), phase), what, 0);
}

static inline int64_t batches_of(const record *r)
{
    return said_of(r, "before", "batches");
}

static inline int64_t updates_in(const record *r)
{
    return said_of(r, "after", "updates") - said_of(r, "before", "updates");
}

/* The hashes of leaves first .. first+n-1. */
void record_hashes(record *r, const array *k, int64_t first, int64_t n,
                   uint8_t *hash);

/* The words of a leaf; returns how many. */
int64_t record_leaf(record *r, const array *k, int64_t leaf,
                    uint32_t x[LEAF_WORDS]);

/* The root of the tree of an array's leaves. */
void record_root(record *r, const array *k, uint8_t root[HASH]);

/* Take in the nodes of the first record's head; the parameters of a record's:
 * why they are none, or NULL (graph.c). */
void graph_read(void);
const char *slots_differ(const record *r);

/* Words are read from now on, of that record (find.c). */
void words_begin(record *r);

/* Are the rows of the batch those that the step draws, of data with that root
 * (NULL: of its head's)?  Returns what is not as it should be; NULL: nothing,
 * or the data have no root, or the record no values (batch.c). */
const char *batch_differs(record *r, const char *root);

#endif
