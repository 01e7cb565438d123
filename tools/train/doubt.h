/* SPDX-License-Identifier: BSD-3-Clause */
/* A mark in the folder of checkpoints: a run is going back to the oldest, and
 * what is younger may be wrong.  It is there before the first of them is
 * deleted, and until the oldest is all there is, so that a run that is killed
 * meanwhile does not go on from one of the others. */
#ifndef TOOLS_DOUBT_H
#define TOOLS_DOUBT_H

#include <stdbool.h>

/* Put the mark, on disk when this returns; OPT_FAILED, and a message. */
int doubt_put(const char *folder);

bool doubt_is(const char *folder);

/* Take it away, if there is one; OPT_FAILED, and a message. */
int doubt_end(const char *folder);

#endif
