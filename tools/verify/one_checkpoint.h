/* SPDX-License-Identifier: BSD-3-Clause */
/* A folder that holds a link to one checkpoint (of 0 batches: none), so that a
 * run can go on from it and change nothing there. */
#ifndef TOOLS_ONE_CHECKPOINT_H
#define TOOLS_ONE_CHECKPOINT_H

#include <stdint.h>

typedef struct one_checkpoint {
    char folder[64];
} one_checkpoint;

/* Link the checkpoint of so many batches, one of those in `all`.  OPT_FAILED
 * after a message. */
int one_checkpoint_open(one_checkpoint *s, const char *all, int64_t batches);

/* Remove the folder and the link, which is not followed. */
void one_checkpoint_close(one_checkpoint *s);

#endif
