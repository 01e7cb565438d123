/* SPDX-License-Identifier: BSD-3-Clause */
/* LS_CHECK_DIVERGENCE: what a gradient function can get wrong in shared memory,
 * found by calling it more often than a step needs.  For debugging: a step with
 * it takes several times as long, and parameters twice their memory more.
 *
 * Before a step, on the caller, the function is called twice for each device
 * alone.  LS_EUSER names the device and the array it wrote to but should not
 * have, or did not write, or wrote otherwise the second time; parameters are as
 * they were.  A failure of the function itself is left to the step.  In the
 * step, on its worker, each device's gradient is the one it gave alone. */
#ifndef LS_HOOKS_WATCH_H
#define LS_HOOKS_WATCH_H

#include "train/hook.h"

extern const ls__hook ls__watch;

#endif
