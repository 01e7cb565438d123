/* SPDX-License-Identifier: BSD-3-Clause */
/* A folder that holds a link to one checkpoint (of 0 batches: none), so that a
 * run can go on from it and change nothing there. */
#ifndef TOOLS_ONE_CHECKPOINT_H
#define TOOLS_ONE_CHECKPOINT_H

#include "run/scratch.h"

#include <stdint.h>

/* Link the checkpoint after `batches` batches, one of those in `all`.
 * OPT_FAILED after a message, and nothing is open. */
int one_checkpoint_open(scratch *s, const char *all, int64_t batches);

#endif
