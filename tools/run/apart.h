/* SPDX-License-Identifier: BSD-3-Clause */
/* Is each file that is written none that is read, nor written twice?  Better
 * found before the training than by what is gone after it. */
#ifndef TOOLS_APART_H
#define TOOLS_APART_H

#include <stdbool.h>

typedef enum apart_use {
    APART_READ,    /* of a folder its images and labels */
    APART_IMAGES,  /* read, with the labels beside */
    APART_WRITTEN,
    APART_ASIDE,   /* written beside and renamed, as the library does it: no
                      device and no link survives that */
    APART_BEGUN,   /* read, and a model that may be replaced by .. */
    APART_REPLACED /* .. what is made of it, aside */
} apart_use;

typedef struct apart_file {
    const char *option; /* that names it: "--save" */
    const char *path;   /* NULL: it was not given */
    apart_use use;
} apart_file;

/* Is it one of those that are written? */
bool apart_is_written(const apart_file *file);

/* OPT_GO, or after a message OPT_WRONG for one file under two options. Other
 * than regular files may be written by several: /dev/null, /dev/stdout. */
int apart_check(int count, const apart_file *file);

/* Has a file of a folder's sets of images and labels such a name? */
bool apart_is_of_set(const char *name);

/* Where the labels of images are, by the name alone; to be freed.  NULL: the
 * name says nothing. */
char *apart_labels(const char *images);

#endif
