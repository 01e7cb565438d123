/* SPDX-License-Identifier: BSD-3-Clause */
/* Gradients that leave while the last micro-batch's backward sweep still runs,
 * where processes train together.
 *
 * The sections of the layout (reduce/owned.h) leave in the order in which the
 * sweep completes them.  After each operator a worker says how many of them are
 * complete for its device, and adds its share of those that are complete for
 * all devices here.  Worker 0, which is the caller, looks between its operators
 * how many are added; when these are a bucket it sends them.
 * Nobody waits.  In a step that is checked nothing leaves before the check.
 * What has not left when the gradients are done leaves then.
 *
 * Sections and their order follow from the graph and the number of processes.
 * So neither the bucket nor what is early shows in a message, let alone in a
 * bit. */
#ifndef LS_TOGETHER_LEAVING_H
#define LS_TOGETHER_LEAVING_H

#include "train/rider.h"

typedef struct ls__leaving ls__leaving;

extern const ls__rider ls__leaving_rider;

/* How many sections left while gradients were computed, in the last pass. */
int ls__leaving_early(const ls__leaving *l);

/* Add up this process's gradients of a range.  Once all devices are done each
 * worker adds its share of what it has not added yet, and then worker 0 lets
 * everything leave.  Returns the status of all that was sent. */
void ls__leaving_add(const ls__step *s, ls__range mine);
void ls__leaving_add_rest(ls__leaving *l, const ls__step *s, int worker);
int ls__leaving_rest(ls__leaving *l, const ls__step *s);

/* Returns who adds the block that begins at a float, in a step that is
 * checked. */
int ls__leaving_adder(const ls__leaving *l, const ls__step *s, int64_t at);

#endif
