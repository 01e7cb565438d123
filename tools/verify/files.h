/* SPDX-License-Identifier: BSD-3-Clause */
/* Are these the bytes that the run read, and the model that it wrote?
 *
 * A file is known by its bytes, not by its name.  What is found is linked to in
 * a private folder under the names that it had, one folder an option, so that
 * whoever trains again is given the names that the run had. */
#ifndef TOOLS_FILES_H
#define TOOLS_FILES_H

#include "run/scratch.h"
#include "verify/published.h"

enum { FILES_TEXT = 640 };

typedef struct files {
    const published *of;
    scratch links;
    int count;             /* found so far */
    bool same;             /* all of them */
    char text[FILES_TEXT]; /* of how many, or which is not */
} files;

/* Find every file of the manifest: of its name beside the transcript, or, where
 * data is not NULL, data itself, or in that folder by its name or else
 * anywhere in it by its bytes.  OPT_FAILED, after a message: one is not there,
 * or could not be read. */
int files_open(files *f, const published *of, const char *data);
void files_close(files *f);

/* The path for an option of the run, "--data", where `behind` follows it; to be
 * freed.  NULL after a message. */
char *files_option(const files *f, const char *option, const char *behind);

/* The path of an option's folder of links, or of a name in it, to be freed;
 * NULL: no memory. */
char *files_path(const files *f, const char *option, const char *name);

/* Compare a model with the one that the transcript names, too. */
int files_compare_model(files *f, const char *weights);

/* Compare the list of a folder of --publish with the manifest; a folder may be
 * without. */
int files_compare_sums(files *f, const char *path);

#endif
