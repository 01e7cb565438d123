/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows that lockstep-predict asks a model of a table about: those of a
 * table of any length, or of an array: the numbers of its columns. */
#ifndef TOOLS_ASK_H
#define TOOLS_ASK_H

#include "predict/feed.h"

#include <lockstep/columns.h>

typedef struct ask {
    ls_table_model *model; /* NULL: it is none of a table */
    ls_coding *coding;     /* the file's, for a table */
    ls_table_context *context;
    ls_table *table; /* or */
    feed feed;
    int columns;    /* of the model */
    double *number; /* rows of the feed, (FEED_ROWS, columns) */
    double *out;    /* (FEED_ROWS, classes) */
    int *best;      /* (FEED_ROWS) */
    double threshold; /* of two classes it is the second where its probability
                         is at least that; 0: the likelier */
} ask;

/* Rows of a table, by the names of its columns; others are passed over.  Of a
 * series each is the window that ends with a row of it: the first are passed
 * over.  A .npy file has the numbers of the columns, in their order. */
int ask_open(ask *a, const char *path);

/* Predict the next n rows, up to FEED_ROWS, into out and best; 0: that was
 * all. */
int ask_next(ask *a, int64_t *n);

void ask_close(ask *a);

#endif
