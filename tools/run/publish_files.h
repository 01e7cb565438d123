/* SPDX-License-Identifier: BSD-3-Clause */
/* Files in a folder of lockstep-train --publish, besides README.md and a
 * signature of the transcript. */
#ifndef TOOLS_PUBLISH_FILES_H
#define TOOLS_PUBLISH_FILES_H

#include "run/output.h"

#include <jansson.h>

#define PUBLISH_TRANSCRIPT "run.lst"
#define PUBLISH_MODEL "model.safetensors"
#define PUBLISH_SUMS "SHA256SUMS"

/* The text of SHA256SUMS for the files in a head's "data", as sha256sum -c
 * reads it; to be freed, NULL: no memory. */
char *publish_sums(const json_t *data);

#endif
