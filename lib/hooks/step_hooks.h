/* SPDX-License-Identifier: BSD-3-Clause */
/* The hooks of this room; statistics.h has more than one. */
#ifndef LS_HOOKS_STEP_HOOKS_H
#define LS_HOOKS_STEP_HOOKS_H

#include "train/hook.h"

/* Parameters that are trained otherwise than the rest: a rule for each. */
extern const ls__hook ls__ways;

/* The exponential moving average (EMA) of the weights, kept with each parameter
 * as its moments are. */
extern const ls__hook ls__average;

/* Lazy (sparse) updates, ls_optimizer.lazy: rows of tables with a gradient of
 * zero are left as they are. */
extern const ls__hook ls__lazy;

/* Touched blocks of the devices' gradients, from one training step to the next:
 * a block that no row of a batch touched is neither cleared nor reduced nor
 * looked at again.  Nor is a block's sum needed before the update if no device
 * has a large number there; the devices' gradients are then read once. */
extern const ls__hook ls__touched_blocks;

/* LS_CHECK_DIVERGENCE: what a gradient function can get wrong in shared memory,
 * found by calling it more often than a step needs.  For debugging: a step with
 * it takes several times as long, and parameters twice their memory more.
 *
 * Before a step, on the caller, the function is called twice for each device
 * alone.  LS_EUSER names the device and the array it wrote to but should not
 * have, or did not write, or wrote otherwise the second time; parameters are as
 * they were.  A failure of the function itself is left to the step.  In the
 * step, on its worker, each device's gradient is the one it gave alone. */
extern const ls__hook ls__watch;

#endif
