/* SPDX-License-Identifier: BSD-3-Clause */
/* Who looks at steps while they are made, on the workers that make them, which
 * have the numbers in their caches. */
#ifndef LS_STATE_LOOKER_H
#define LS_STATE_LOOKER_H

#include "base/range.h"
#include <lockstep/own.h>
#include <lockstep/trainer.h>

typedef struct ls__looker {
    void *user;
    /* A step begins, to which so many micro-batches were added. */
    void (*begin)(void *user, int calls);
    /* A device's rows of a micro-batch, with number device x micro-batches +
     * micro-batch.  NULL: nobody asks.  Steps of several batches show none. */
    void (*rows)(void *user, int64_t number, const ls_shard *shard);
    /* A whole block of the mean gradient of all floats, before it is clipped;
     * gradient NULL: of zeros.  NULL: nobody asks. */
    void (*block)(void *user, ls__range block, const float *gradient);
} ls__looker;

/* The looker is borrowed until it is dropped.  LS_EINVAL: the trainer has too
 * many riders. */
int ls__looker_add(ls_trainer *t, ls__looker *looker);
void ls__looker_drop(ls_trainer *t, const ls__looker *looker);

#endif
