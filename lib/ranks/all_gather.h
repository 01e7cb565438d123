/* SPDX-License-Identifier: BSD-3-Clause */
/* The all-gather of updated parameters, while others are still updated, where
 * processes train together.
 *
 * Every worker updates its part of what the process owns section by section
 * (reduce/owned.h), in rising order, and says how many it has done.  Worker 0,
 * which is the caller, sends those that all have done between its own.  Nobody
 * waits.  What has not gone when the update is done goes then. */
#ifndef LS_RANKS_ALL_GATHER_H
#define LS_RANKS_ALL_GATHER_H

#include "train/hook.h"

typedef struct ls__all_gather ls__all_gather;

extern const ls__hook ls__all_gather_hook;

/* Sections that were sent while others were updated, in the last update. */
int ls__all_gather_early(const ls__all_gather *g);

/* Weights packed since their parameter arrived. */
int64_t ls__all_gather_packed(const ls__all_gather *g);

/* Parameters are about to change: nothing has gone. */
void ls__all_gather_begin(ls__all_gather *g);

/* Once they have: what has not gone goes, and all of the others' is awaited.
 * Returns the status of all that was sent. */
int ls__all_gather_rest(ls__all_gather *g);

#endif
