/* SPDX-License-Identifier: BSD-3-Clause */
/* What of a run the referee could not judge in a dispute. */
#ifndef TOOLS_JUDGED_H
#define TOOLS_JUDGED_H

#include "run/run.h"

/* Print a line for each operator, update and schedule that it has no rule for,
 * "referee does not know ..", or one that it knows all. */
void judged_tell(const run *r);

#endif
