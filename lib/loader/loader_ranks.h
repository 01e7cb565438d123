/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts of a loader's rows that must be equal on all ranks. */
#ifndef LS_LOADER_LOADER_RANKS_H
#define LS_LOADER_LOADER_RANKS_H

#include "state/trainer_state.h"
#include <lockstep/loader.h>

/* A source and how it is cut, with room to look at rows of it. */
typedef struct ls__rows {
    const ls_source *source;
    const ls_loader_options *options;
    int64_t batch;     /* rows of a full one, and at least of the room */
    int64_t batches;   /* of an epoch */
    int64_t *index;    /* [batch] */
    void *const *out;  /* [arrays + 1][batch rows] */
} ls__rows;

/* Compare numbers of rows, shapes, order, and what is in rows that lie evenly
 * over all of the source, on all ranks of a trainer that has some; or, where
 * each rank has rows of its own, shapes and how many batches an epoch has.
 * LS_EINVAL, on all alike, names the first difference. */
int ls__loader_compare(const ls_trainer *t, const ls__rows *rows);

#endif
