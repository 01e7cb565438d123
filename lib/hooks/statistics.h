/* SPDX-License-Identifier: BSD-3-Clause */
/* Running statistics of batch norms: averages of what surveys find
 * (graph/op.h).  Every device goes on with its own, from what is stored,
 * micro-batch after micro-batch of an update; when that is done, the mean of
 * all devices is stored, added in the tree's order. */
#ifndef LS_HOOKS_STATISTICS_H
#define LS_HOOKS_STATISTICS_H

#include "train/hook.h"

/* A stored parameter: a survey finds its statistics. */
typedef struct ls__stored {
    int survey; /* the plan's */
    int next;   /* of its node's parameters */
    const ls__slot *slot;
} ls__stored;

/* Go on to the next one, survey by survey, or from zeros to the first.  False:
 * there is none. */
bool ls__stored_next(const ls__model *m, ls__stored *s);

extern const ls__hook ls__statistics;

#endif
