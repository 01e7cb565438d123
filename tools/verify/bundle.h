/* SPDX-License-Identifier: BSD-3-Clause */
/* The form of a publication: a transcript alone, or a folder of lockstep-train
 * --publish, or a tar of one. */
#ifndef TOOLS_BUNDLE_H
#define TOOLS_BUNDLE_H

#include "run/scratch.h"

typedef struct bundle {
    char *transcript;
    char *model; /* in the folder; NULL: there is none */
    char *sums;  /* SHA256SUMS in the folder; NULL: it is no folder */
    scratch unpacked;
} bundle;

/* OPT_FAILED after a message. */
int bundle_open(bundle *b, const char *path);
void bundle_close(bundle *b);

#endif
