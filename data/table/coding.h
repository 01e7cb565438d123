/* SPDX-License-Identifier: BSD-3-Clause */
/* Coding of a table's columns as a model's numbers, and of its outputs as the
 * target's values.  Numbers are standardised (z-score), text is one-hot, one
 * place for each word; a date is several columns, one for each number that it
 * becomes.  Learned from the training table, kept in the model file
 * (docs/model-file.md), used again by whoever predicts. */
#ifndef LS_TABLE_CODING_H
#define LS_TABLE_CODING_H

#include "table/csv.h"
#include "table/date.h"
#include "table/words.h"

#include <lockstep/columns.h>

typedef struct ls__column {
    char *name;
    ls__words words;    /* none: a column of numbers, */
    ls__date_part date; /* or of dates: which of their numbers it is */
    double mean, scale; /* z-score: x becomes (x - mean) / scale */
    int64_t at;         /* its first input */
} ls__column;

struct ls_coding {
    int columns;
    ls__column *column; /* the inputs */
    ls__column target;  /* with words: classes */
    bool robust;        /* ls_table_data_options; while it is learnt */
    bool impute;        /* a missing value becomes the mean, or no word */
    int64_t width;      /* numbers that a row becomes; of a series one more,
                           the target */
    int64_t window;     /* a series: rows of what the model sees; else 0 */
    int64_t horizon;    /* and how many rows after the last of them the
                           target stands that it predicts */
    char *note;         /* as JSON, once it is whole */
};

/* Columns of a row, which of a series has its target among them, as the last;
 * and column i, behind all others the target. */
static inline int ls__coding_columns(const ls_coding *c)
{
    return c->columns + (c->window > 0);
}

static inline const ls__column *ls__coding_input(const ls_coding *c, int i)
{
    return i < c->columns ? &c->column[i] : &c->target;
}

/* Outputs of its model. */
static inline int64_t ls__coding_outputs(const ls_coding *c)
{
    return c->target.words.count ? c->target.words.count : 1;
}

/* Learn what the columns are from all rows; *rows: how many.  The statistics
 * are not there yet. */
int ls__coding_learn(ls_coding *c, ls_table *t,
                     const ls_table_data_options *want, int64_t *rows);

/* Take mean and scale from the rows of raw values (rows, columns + 1), the
 * target last, that are not held out (NULL: none is). */
int ls__coding_fit(ls_coding *c, int64_t rows, const double *raw,
                   const bool *held);

/* Frees what it owns. */
void ls__coding_clear(ls_coding *c);

/* Make the note. */
int ls__coding_write(ls_coding *c);

/* The coding of a model file, for ls_coding_free; LS_ENOTFOUND: it has none. */
int ls__coding_of_file(ls_coding **coding, const char *path);

/* ------ Rows ------ */

/* A cell: a row's value in a column, and its place: in a table, or else in row
 * `row` of a program. */
typedef struct ls__cell {
    const char *text;
    bool missing;
    bool comma; /* may stand for the point of a number */
    const ls_table *table;
    int at; /* the column, or */
    int64_t row;
} ls__cell;

/* Field i of a table's row. */
ls__cell ls__table_cell(const ls_table *t, int i);

/* The word of a cell: of a number the shortest text that reads back, 10 for a
 * whole one, so that 1 and 1.0 are one class; of one with more digits than a
 * double keeps, as ids have them, its own.  In room or the cell's own. */
enum { LS__WORD = 32 };
const char *ls__cell_word(const ls__cell *cell, char room[LS__WORD]);

/* The raw value of a cell: a number, the place of a word, NaN where there is
 * none. */
int ls__cell_value(const ls_coding *c, const ls__column *column,
                   const ls__cell *cell, double *raw);

/* LS_EFORMAT: "houses.csv: line 3, column 2 "size": the value is missing". */
int ls__cell_missing(const ls_coding *c, const ls__column *column,
                     const ls__cell *cell);

/* The places of the columns in a table: map[columns], the target's behind them
 * where it is wanted.  LS_ENOTFOUND names one that is not there. */
int ls__coding_map(const ls_coding *c, const ls_table *t, bool target,
                   int *map);

/* The rows of a series follow each other by the first column that has a date in
 * the first of them, all zeros before: LS_EFORMAT names one that does not. */
typedef struct ls__order {
    int64_t rows;
    int column; /* its number, from 1; 0: there is none */
    double last;
} ls__order;

int ls__order_check(ls__order *o, const ls_table *t);

/* The raw values of a table's row: numbers, places of words, NaN where there is
 * none. */
int ls__coding_row(const ls_coding *c, const ls_table *t, const int *map,
                   bool target, double *raw);

/* The row as the model sees it, x[ls_coding_width]: the inputs of raw values,
 * and of a series the target, standardised too.  False: one is not finite. */
bool ls__coding_inputs(const ls_coding *c, const double *raw, float *x);

#endif
