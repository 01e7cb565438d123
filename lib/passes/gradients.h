/* SPDX-License-Identifier: BSD-3-Clause */
/* Gradients in hand (lockstep/gradients.h), as ls_step sees them. */
#ifndef LS_PASSES_GRADIENTS_H
#define LS_PASSES_GRADIENTS_H

#include "train/trainer.h"
#include <lockstep/gradients.h>

/* A step with the function that was set by ls_gradients_between: the program's,
 * which no hook can be, since it is called once, on the caller's thread, may
 * change the gradient, and its failure ends the step. */
int ls__gradients_step(ls_gradients *g, const ls_batch *batch,
                       ls_result *result);

#endif
