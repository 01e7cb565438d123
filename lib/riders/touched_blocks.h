/* SPDX-License-Identifier: BSD-3-Clause */
/* Which blocks of the devices' gradients hold anything: from one training step
 * to the next, so that what no row of a batch touched is neither cleared nor
 * reduced nor looked at again.  Nor is the sum of a block needed before the
 * update if no device has a large number there; the devices' gradients are then
 * read once. */
#ifndef LS_RIDERS_TOUCHED_BLOCKS_H
#define LS_RIDERS_TOUCHED_BLOCKS_H

#include "train/rider.h"

extern const ls__rider ls__touched_blocks;

#endif
