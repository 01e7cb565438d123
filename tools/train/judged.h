/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of a run that the referee could not judge. */
#ifndef TOOLS_JUDGED_H
#define TOOLS_JUDGED_H

#include "run/run.h"

/* Print "referee does not know .." for each operator, update, schedule and
 * first value that it does not judge, and last for rows. */
void judged_tell(const run *r);

/* Print the line of rows alone; false: they are judged, and there is none. */
bool judged_tell_rows(const run *r);

#endif
