/* SPDX-License-Identifier: BSD-3-Clause */
/* --prove: evidence of a word of a batch, for the referee.  Nothing is
 * trained. */
#ifndef TOOLS_PROVE_H
#define TOOLS_PROVE_H

#include "run/run.h"

/* Write it to a file, or say on stdout, as judged_tell does, why the rows are
 * not judged.  `what` is STEP:ELEMENT:A:B:INPUT.  OPT_DONE, or the status after
 * a message. */
int prove_batch(run *r, const char *what, const char *path);

#endif
