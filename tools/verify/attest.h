/* SPDX-License-Identifier: BSD-3-Clause */
/* A statement of what was verified, for others to sign. */
#ifndef TOOLS_ATTEST_H
#define TOOLS_ATTEST_H

#include "verify/published.h"

/* Write an in-toto Statement v1 (https://in-toto.io/Statement/v1): its subject
 * is the model's file by its SHA-256, its predicate holds the transcript's
 * digest and last root, the data's digests as materials, and how much was
 * trained again.  OPT_FAILED after a message. */
int attest_write(const char *path, const published *p, const char *model_name,
                 int replayed, int segments);

#endif
