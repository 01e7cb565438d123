/* SPDX-License-Identifier: BSD-3-Clause */
/* The manifest: the files that a run reads, with their digests, in an order
 * that their names give. */
#ifndef TOOLS_MANIFEST_H
#define TOOLS_MANIFEST_H

#include "run/run.h"

#include <lockstep/transcript.h>

typedef struct manifest {
    int count, room;
    ls_data_file *file;
} manifest;

/* Digest what the options of a run name: a file has the option for its role
 * ("--data"), the labels beside images "--data labels", each file of a folder
 * of images and labels "--data NAME"; of a folder of pictures it is the list of
 * all files (run/listing.h), under the folder's name.  Parts have the names
 * that they had before if of_old.  OPT_FAILED after a message. */
int manifest_read(manifest *m, const run *r, bool of_old);

/* Accepts a cleared one. */
void manifest_free(manifest *m);

#endif
