/* SPDX-License-Identifier: BSD-3-Clause */
/* Running a step's pass. */
#ifndef LS_TRAIN_RUN_STEP_H
#define LS_TRAIN_RUN_STEP_H

#include "train/step.h"

/* LS_EINVAL while the average stands in the parameters' place. */
int ls__trainer_check_weights(const ls_trainer *t);

/* Run the step's pass, in our floating-point mode, and judge it: the status of
 * the verdict.  The pool is taken; trainer, pass and batch are set, all else
 * that a pass of that kind needs, too, or `ready` is why not: then that is the
 * status, once other processes have heard of it. */
int ls__step_run(ls__step *s, int ready);

/* Note after a training pass what the step and the trainer know of it. */
void ls__step_conclude(ls__step *s, ls_result *result);

#endif
