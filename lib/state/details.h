/* SPDX-License-Identifier: BSD-3-Clause */
/* A step's Merkle roots besides its numbers: of its rows, and of its mean
 * gradient before clipping.  A hook hashes both while they are in the cache, on
 * the worker that has them: rows on their device's, a block of the gradient on
 * who sums it.  So a step has no barrier more, and allocates nothing. */
#ifndef LS_STATE_DETAILS_H
#define LS_STATE_DETAILS_H

#include "state/merkle.h"
#include <lockstep/trainer.h>

#include <stdbool.h>

typedef struct ls__details {
    ls_trainer *trainer; /* NULL: nothing is asked for */
    int micro;           /* the trainer's micro-batches */
    int64_t floats;      /* of the gradient */
    bool rows, gradient;
    int calls;           /* micro-batches of the last step */
    int64_t shards;      /* of all devices */
    int64_t leaves;      /* of the gradient */
    ls__digest *row;     /* [device of the experiment * micro + micro-batch] */
    ls__digest *block;   /* [leaf] */
    ls__digest *room;    /* for trees, and for what comes from other ranks */
    int64_t *border;     /* [ranks + 1] */
} ls__details;

/* Ride along, if anything is asked for, until it is closed.  LS_ENOMEM;
 * LS_EINVAL: the trainer has too many hooks. */
int ls__details_open(ls__details *d, ls_trainer *t, bool rows, bool gradient);
void ls__details_close(ls__details *d);

/* All ranks: the roots for the step that was just made, as 64 hex digits; ""
 * where one was not asked for.  A step that updated nothing has a gradient of
 * zeros.  LS_ENOTSUP: it took several batches; LS_EIO of ranks. */
int ls__details_roots(ls__details *d, bool updated, char rows[65],
                      char gradient[65]);

#endif
