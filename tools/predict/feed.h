/* The rows that lockstep-predict gives a model, a few at a time: of a table,
 * which may be of any length, of an array, or images. */
#ifndef TOOLS_FEED_H
#define TOOLS_FEED_H

#include "data/coding.h"
#include "data/normal.h"

#include <lockstep.h>
#include <lockstep/files.h>
#include <lockstep/images.h>

enum { FEED_ROWS = 256 };

typedef struct feed {
    const char *path; /* borrowed, as is */
    const coding *coding;
    ls_table *table; /* or */
    ls_source images; /* or */
    ls_array array;
    int64_t rows, next, size; /* of these two: rows, and elements of one */
    int *map;                 /* columns of the table */
    double *raw;              /* a row's values */
    float *x;                 /* (FEED_ROWS, inputs), where rows are made */
    float *last;              /* of a series: the last rows of the table */
    int64_t seen;             /* rows of it so far */
} feed;

/* Rows of a table, by the names of its columns; others are passed over.  Of a
 * series each is the window that ends with a row of it: the first are passed
 * over. */
int feed_table(feed *f, const char *path, const coding *c);

/* Rows of the input's shape, or one such row alone.  With a coding they are the
 * raw numbers of its columns, in their order. */
int feed_array(feed *f, const char *path, const ls_array_spec *in,
               const coding *c);

/* Images in any form that training takes, and made the same numbers of; of a
 * folder those of its test set. */
int feed_images(feed *f, const char *path, const ls_array_spec *in,
                const normal *n);

/* The next n rows, up to FEED_ROWS; 0: that was all.  They are there until the
 * next call. */
int feed_next(feed *f, const void **x, int64_t *n);

void feed_close(feed *f);

#endif
