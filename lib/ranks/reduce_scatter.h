/* SPDX-License-Identifier: BSD-3-Clause */
/* The reduce-scatter of gradients, overlapped with the last micro-batch's
 * backward sweep, where processes train together.
 *
 * The sections of the layout (reduce/owned.h) leave in the order in which the
 * sweep completes them.  After each operator a worker says how many of them are
 * complete for its device, and adds its share of those that are complete for
 * all devices here.  Worker 0, which is the caller, looks between its operators
 * how many are added; when these are a bucket it sends them.  Nobody waits.  In
 * a checked step nothing leaves before the check.  The rest leaves when the
 * gradients are done.
 *
 * Sections and their order follow from the graph and the number of processes.
 * So neither the bucket nor what is early shows in a message, let alone in a
 * bit. */
#ifndef LS_RANKS_REDUCE_SCATTER_H
#define LS_RANKS_REDUCE_SCATTER_H

#include "train/hook.h"

typedef struct ls__reduce_scatter ls__reduce_scatter;

extern const ls__hook ls__reduce_scatter_hook;

/* Sections that were sent while gradients were computed, in the last pass. */
int ls__reduce_scatter_early(const ls__reduce_scatter *l);

/* Add up this process's gradients of a range.  Once all devices are done each
 * worker adds its share of what it has not added yet, and then worker 0 lets
 * everything leave.  Returns the status of all that was sent. */
void ls__reduce_scatter_add(const ls__step *s, ls__range mine);
void ls__reduce_scatter_add_rest(ls__reduce_scatter *l, const ls__step *s,
                                 int worker);
int ls__reduce_scatter_rest(ls__reduce_scatter *l, const ls__step *s);

/* Returns who adds the block that begins at a float, in a step that is
 * checked. */
int ls__reduce_scatter_adder(const ls__reduce_scatter *l, const ls__step *s,
                             int64_t at);

#endif
