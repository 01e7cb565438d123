/* SPDX-License-Identifier: BSD-3-Clause */
/* Updated parameters that go to the other processes while others are still
 * updated, where processes train together.
 *
 * Every worker updates its part of what the process owns section by section
 * (reduce/owned.h), in rising order, and says how many it has done.  Worker 0,
 * which is the caller, sends those that all have done between its
 * own.  Nobody waits.  What has not gone when the update is done goes then. */
#ifndef LS_TOGETHER_GIVING_H
#define LS_TOGETHER_GIVING_H

#include "train/rider.h"

typedef struct ls__giving ls__giving;

extern const ls__rider ls__giving_rider;

/* How many sections went while others were updated, in the last update. */
int ls__giving_early(const ls__giving *g);

/* How many weights are packed since their parameter arrived. */
int64_t ls__giving_packed(const ls__giving *g);

/* Parameters are about to change: nothing has gone. */
void ls__giving_begin(ls__giving *g);

/* Once they have: what has not gone goes, and all of the others' is awaited.
 * Returns the status of all that was sent. */
int ls__giving_rest(ls__giving *g);

#endif
