/* SPDX-License-Identifier: BSD-3-Clause */
/* The files that a run reads, with their digests, in an order that their names
 * give. */
#ifndef TOOLS_MANIFEST_H
#define TOOLS_MANIFEST_H

#include "run/run.h"

#include <lockstep/transcript.h>

typedef struct manifest {
    int count, room;
    ls_data_file *file;
} manifest;

enum { MANIFEST_NAME = 256 };

/* Write the name of a file or folder without those it is in; returns it.  The
 * path may be there. */
const char *manifest_name(const char *path, char name[MANIFEST_NAME]);

/* Digest what the options of a run name: files, the labels beside images, and
 * of a folder its images and labels, or of pictures the list of all files
 * (run/listing.h), under the folder's name.  OPT_FAILED after a message. */
int manifest_read(manifest *m, const run *r);

/* Accepts a cleared one. */
void manifest_free(manifest *m);

#endif
