/* SPDX-License-Identifier: BSD-3-Clause */
/* The record of a step of a transcript's run, and the step that is to be looked
 * at. */
#ifndef TOOLS_STEP_RECORD_H
#define TOOLS_STEP_RECORD_H

#include "opt/opt.h"
#include "verify/retrain.h"

/* Train again up to a step, "STEP" or "STEP:DEVICE", and write its record to
 * the second file; of a run on several ranks, too: they have the bytes of one
 * process. */
int step_record_write(const replay *r, const char *step, const opt_line *line);

/* Print what finds the step in which two transcripts part, or what judges it:
 * the one behind the last state that both have. */
void step_record_tell(char *const path[2]);

#endif
