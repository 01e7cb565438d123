/* SPDX-License-Identifier: BSD-3-Clause */
/* Learning a table's columns: coding_learn.c finds their kinds (with imputation
 * of missing values), coding_notes.c tells what one may want to know of that.
 */
#ifndef LS_TABLE_LEARNER_H
#define LS_TABLE_LEARNER_H

#include "table/survey.h"

typedef struct ls__learner {
    ls_coding *c;
    ls_table *t;
    const ls_table_data_options *want;
    const char *p; /* before the names of options */
    ls__column_survey *s; /* [columns of the table] */
    int target;    /* its column */
    int64_t dropped; /* rows without it */
} ls__learner;

/* Numbers that are taken for words, or for other numbers, to all appearance. */
void ls__tell_looks(const ls__learner *l, const ls__column_survey *s,
                    const char *name);

/* Leave out columns of ids, and tell of them. */
void ls__drop_ids(ls__learner *l);

/* A target that is the same in all rows; a few numbers may be meant as
 * classes. */
void ls__tell_target(const ls__learner *l, const ls__column_survey *s,
                     const char *name, bool classes);

/* Rows that are left out, a column that counts them, dates; at the end. */
void ls__tell_rows(const ls__learner *l, int64_t rows);

#endif
