/* SPDX-License-Identifier: BSD-3-Clause */
/* Two transcripts of what should be one training. */
#ifndef TOOLS_PAIR_H
#define TOOLS_PAIR_H

#include <stdbool.h>

enum { PAIR_TEXT = 512 };

/* Find the first line, and in it the first field, in which two transcripts that
 * were checked differ.  What says who wrote a file, or that something before it
 * differs, does not count: "lockstep", the names of data files, "prev".
 * OPT_FAILED after a message. */
int pair_compare(const char *a, const char *b, bool *same,
                 char text[PAIR_TEXT]);

#endif
