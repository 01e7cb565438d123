/* SPDX-License-Identifier: BSD-3-Clause */
/* Joint devices exchange statistics on the way (synchronised batch norm): a
 * plan with a survey of all devices' rows (graph/op.h) runs part by part.
 * After each part every worker waits for the others and adds what all devices
 * found, in the order of the tree; each worker does so for itself and gets the
 * same numbers.  So each device has memory of its own for all rows of its
 * shard, and where gradients are added, for one more.
 *
 * No function of the program's may run meanwhile: one that fails, or ends its
 * thread, would leave the others waiting. */
#ifndef LS_TRAIN_JOINT_H
#define LS_TRAIN_JOINT_H

#include "train/trainer.h"

typedef struct ls__joint ls__joint;

/* Make what such a plan needs, t->joint; nothing for others.  LS_ENOMEM,
 * LS_ENOTSUP. */
int ls__joint_open(ls_trainer *t);

/* Let the contexts, once they are there, share it. */
void ls__joint_share(const ls_trainer *t);

/* Make records of all devices of the experiment known in all processes: `bytes`
 * of each, one after the other.  A status. */
typedef int ls__tell_fn(const ls__step *s, void *records, int64_t bytes);

/* Add what all devices found in a survey, once all are through with it; the
 * instruction may be of another plan of the same graph. */
void ls__joint_join(const ls_trainer *t, const ls__instr *in, bool back);

/* A worker's phase of gradients; tell: NULL where this process runs all
 * devices. */
bool ls__joint_gradients(ls__step *s, int worker, ls__tell_fn *tell);

/* The same without others. */
bool ls__phase_joint(ls__step *s, int worker);

#endif
