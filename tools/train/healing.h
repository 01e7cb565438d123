/* SPDX-License-Identifier: BSD-3-Clause */
/* --check: what the checks of a run found, told when it happens and summed at
 * the end, with what they cannot have seen. */
#ifndef TOOLS_HEALING_H
#define TOOLS_HEALING_H

#include "run/run.h"
#include "train/metrics.h"

typedef struct healing {
    ls_checks found; /* until the last step */
} healing;

/* Did another step find a fault?  Then it is told. */
bool healing_step(healing *h, const ls_trainer *trainer);
void healing_tell(const healing *h, metrics *m);

/* The last line of a run that is checked; nothing without --check. */
void healing_end(const healing *h, const run *r);

#endif
