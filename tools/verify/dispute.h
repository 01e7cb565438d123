/* SPDX-License-Identifier: BSD-3-Clause */
/* A dispute between two sides, each with a transcript of what should be one
 * training: which step, which operator, which number; and who is right. */
#ifndef TOOLS_DISPUTE_H
#define TOOLS_DISPUTE_H

#include "verify/retrain.h"

typedef struct dispute {
    replay of;           /* this side's transcript, and how it is replayed */
    const char *folder;
    const char *referee; /* the program; NULL: evidence is left to it */
    double seconds;      /* that an answer may take */
} dispute;

/* Take part; print what is found and write FOLDER/verdict.  *same: the two have
 * the same states.  OPT_FAILED after a message: this side could not answer. */
int dispute_run(const dispute *d, bool *same);

#endif
