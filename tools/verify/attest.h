/* SPDX-License-Identifier: BSD-3-Clause */
/* A statement of what was verified, for others to sign. */
#ifndef TOOLS_ATTEST_H
#define TOOLS_ATTEST_H

#include "verify/published.h"

/* The part that was trained again. */
typedef struct attested {
    int64_t trained; /* batches */
    bool whole;      /* all of them, in one go */
} attested;

/* Write an in-toto Statement v1 (https://in-toto.io/Statement/v1).  Its subject
 * is the model's file by its SHA-256, which was compared; its predicate holds
 * the transcript's digest and last root, the data's digests and roles as
 * materials, and how much was trained again.  OPT_FAILED after a message. */
int attest_write(const char *path, const published *p, const char *model_name,
                 const attested *how);

#endif
