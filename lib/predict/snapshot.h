/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets of weights (read-copy-update): a reader sees one set or another, never a
 * mixture.
 *
 * One set is the current one.  A reader takes it, and as long as it has it the
 * set does not change; the writer fills a set that nobody has and makes it the
 * current one.  Sets are never freed before all readers are gone, so a reader
 * may count itself in first and then see whether the set is still current. */
#ifndef LS_PREDICT_SNAPSHOT_H
#define LS_PREDICT_SNAPSHOT_H

#include "model/ls_model.h"

#include <stdatomic.h>

typedef struct ls__snapshot {
    struct ls__snapshot *next; /* the writer's list of all */
    atomic_int readers;
    ls__weights weights;
    float *value;              /* in the layout of the model's parameters */
} ls__snapshot;

typedef struct ls__snapshots {
    const ls__model *model;
    ls__arena arena;
    ls__snapshot *first;
    _Atomic(ls__snapshot *) current;
} ls__snapshots;

/* Begin with the model's own values, which must be packed. */
int ls__snapshots_open(ls__snapshots *s, const ls__model *model);
void ls__snapshots_close(ls__snapshots *s);

/* A set that nobody reads, made if there is none; NULL: no memory.  One writer
 * at a time. */
ls__snapshot *ls__snapshots_spare(ls__snapshots *s);
void ls__snapshots_publish(ls__snapshots *s, ls__snapshot *filled);

/* Wait-free unless a set is published at that very moment; then once more. */
ls__snapshot *ls__snapshots_take(ls__snapshots *s);
void ls__snapshots_give(ls__snapshot *taken);

#endif
