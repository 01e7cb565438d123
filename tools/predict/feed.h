/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of an array or images that lockstep-predict gives a model, a few at
 * a time. */
#ifndef TOOLS_FEED_H
#define TOOLS_FEED_H

#include "data/normal.h"

#include <lockstep.h>
#include <lockstep/files.h>
#include <lockstep/images.h>

enum { FEED_ROWS = 256 };

typedef struct feed {
    const char *path; /* borrowed, as is */
    ls_source images; /* or */
    ls_array array;
    int64_t rows, next, size; /* of both: rows, and elements of one */
    bool any; /* numbers need not be finite */
    float *x; /* (FEED_ROWS, inputs), where rows are made */
    int32_t label[FEED_ROWS]; /* of images that were opened with labels */
} feed;

/* Rows of this shape, or one such row alone; of any numbers, or of finite
 * ones. */
int feed_array(feed *f, const char *path, const ls_array_spec *in, bool any);

/* Images in any form that training takes, and made the same numbers of; of a
 * folder those of its test set.  With what they are, of the `classes` that were
 * trained on; 0: without. */
int feed_images(feed *f, const char *path, const ls_array_spec *in,
                const normal *n, bool skip, int64_t classes);

/* n pictures in files of their own, PNG or JPEG; files that cannot be read are
 * left out, if `skip`, with a count on stderr. */
int feed_pictures(feed *f, int64_t n, char *const *path,
                  const ls_array_spec *in, const normal *normal, bool skip);

/* OPT_WRONG after a message: images alone have no score. */
int feed_no_labels(const char *path);

/* Has a file rows of numbers, for a model that sees an image as one? */
bool feed_is_flat(const char *path, const ls_array_spec *in);

/* Is a file named as a picture? */
bool feed_is_picture(const char *path);

/* The next n rows, up to FEED_ROWS; 0: that was all.  They are there until the
 * next call. */
int feed_next(feed *f, const void **x, int64_t *n);

void feed_close(feed *f);

#endif
