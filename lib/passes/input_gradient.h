/* SPDX-License-Identifier: BSD-3-Clause */
/* The gradient by an input: what a trainer keeps for it once it is asked. */
#ifndef LS_PASSES_INPUT_GRADIENT_H
#define LS_PASSES_INPUT_GRADIENT_H

#include "train/trainer.h"

/* Accepts NULL. */
void ls__by_inputs_close(struct ls__by_inputs *b);

#endif
