/* SPDX-License-Identifier: BSD-3-Clause */
/* Touched blocks of the devices' gradients, from one training step to the next:
 * a block that no row of a batch touched is neither cleared nor reduced nor
 * looked at again.  Nor is a block's sum needed before the update if no device
 * has a large number there; the devices' gradients are then read once. */
#ifndef LS_HOOKS_TOUCHED_BLOCKS_H
#define LS_HOOKS_TOUCHED_BLOCKS_H

#include "train/hook.h"

extern const ls__hook ls__touched_blocks;

#endif
