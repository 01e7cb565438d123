/* SPDX-License-Identifier: BSD-3-Clause */
/* The executor that shows what it makes: the gradients of a shard by a plain
 * plan (LS__TO_RECORD), with a call for every array that an instruction wrote,
 * and for what it keeps to itself (ls__probe).  It has the bytes of
 * ls__exec_gradient, and its context is of its own. */
#ifndef LS_PLAN_RECORD_H
#define LS_PLAN_RECORD_H

#include "plan/exec.h"

/* An array, right after it was written. */
typedef struct ls__seen {
    const ls_node *node; /* whose instruction wrote it */
    bool backward;
    const char *what;    /* "y", "kept", "dx", "dparam", or a probe's name */
    int index;           /* of the input or the parameter; or 0 */
    int64_t first, rows; /* of the shard: the chunk */
    const float *values;
    int64_t floats;
} ls__seen;

typedef void ls__saw_fn(void *user, const ls__seen *seen);

/* Run a part as ls__exec_part does (without surveys part 0 is all), with at
 * least one row; LS_ENOMEM too. */
int ls__exec_recorded(ls__context *c, const ls__weights *w,
                      const ls_shard *shard, float *const *grads,
                      ls_sums *sums, int part, ls__saw_fn *saw, void *user);

#endif
