/* SPDX-License-Identifier: BSD-3-Clause */
/* The recording executor: the gradients of a shard by a plain plan
 * (LS__TO_RECORD), with a call of the observer for every array that an
 * instruction wrote or keeps to itself.  It has the bytes of ls__exec_gradient,
 * and a context of its own. */
#ifndef LS_PLAN_RECORD_H
#define LS_PLAN_RECORD_H

#include "plan/exec.h"

/* Run a part as ls__exec_part does (without surveys part 0 is all), with at
 * least one row, and show whole arrays; LS_ENOMEM too. */
int ls__exec_recorded(ls__context *c, const ls__weights *w,
                      const ls_shard *shard, float *const *grads,
                      ls_sums *sums, int part, const ls__observer *to);

#endif
