/* SPDX-License-Identifier: BSD-3-Clause */
/* Predictions as lines of text, a header first: what a model's task makes of
 * its output. */
#ifndef TOOLS_TABLE_H
#define TOOLS_TABLE_H

#include <lockstep.h>
#include <lockstep/columns.h>
#include <lockstep/images.h>

#include <stdbool.h>
#include <stdio.h>

/* Columns of the input that lines begin with (keep.h). */
typedef struct keep keep;
typedef struct table table;

void keep_head(const keep *k, const table *t);
void keep_row(keep *k, const table *t);

/* A column for each class, or for each number of the output. */
struct table {
    FILE *file;
    keep *keep; /* NULL: none */
    const char *label; /* "class", "token": probabilities follow it; NULL: the
                          numbers themselves do */
    const char *name;  /* of the output */
    int64_t size;      /* elements of a row of the output */
    int64_t columns;   /* shown: the last ones of the row */
    ls_column target; /* of the table that was trained on; no name: there is
                         none */
    char *const *class_name; /* borrowed; NULL: classes are numbers */
    const ls_source *files; /* the rows' pictures; NULL: none */
    int64_t row;            /* the next */
    bool is_terminal;       /* for the lines */
};

/* Print a text as CSV has it: in quotes, with `before` in them, where it must
 * be; on a terminal as one line that does nothing to it. */
void table_text(const table *t, const char *before, const char *text);

/* The table of output i, as the graph's loss means it: classes of labels, the
 * next token after the last position, or numbers.  All is borrowed. */
table table_new(FILE *file, const ls_graph *graph, int i, ls_column target);

void table_head(const table *t);

/* Lines for rows of the output. */
void table_rows(table *t, int64_t rows, const float *y);

/* Lines for predictions of the target: ls_table_predict_next's. */
void table_lines(const table *t, int64_t rows, const double *out,
                 const int *best);

#endif
