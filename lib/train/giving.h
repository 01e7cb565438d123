/* Updated parameters that go to the other processes while others are still
 * updated, where processes train together.
 *
 * Every worker updates its part of what the process owns section by section
 * (reduce/owned.h), in rising order, and says how many it has done.  Worker 0,
 * which is the caller, hands those that all have done to the seam between its
 * own.  Nobody waits.  What has not gone when the update is done goes then. */
#ifndef LS_TRAIN_GIVING_H
#define LS_TRAIN_GIVING_H

#include "train/step.h"

typedef struct ls__giving ls__giving;

/* Of a trainer that has a seam and its workers.  LS_ENOMEM.  Closed after a
 * failure too. */
int ls__giving_open(ls_trainer *t);
void ls__giving_close(ls__giving *g);

/* How many sections went while others were updated, in the last update. */
int ls__giving_early(const ls_trainer *t);

/* How many weights are packed since their parameter arrived. */
int64_t ls__giving_packed(const ls_trainer *t);

/* A pass that updates begins, on the caller's thread. */
void ls__giving_begin(const ls_trainer *t);

/* A worker has updated its part of so many sections. */
void ls__giving_count(const ls_trainer *t, int worker, int sections);

/* Once all are updated, or for parameters that changed otherwise since
 * ls__giving_begin: what has not gone goes, and all of the others' is awaited.
 * Returns the seam's status. */
int ls__giving_rest(ls_trainer *t);

#endif
