/* SPDX-License-Identifier: BSD-3-Clause */
/* A model of a table, and the memory of a thread that asks it:
 * table_model.c opens them, table_predict.c has the rows. */
#ifndef LS_TABLE_TABLE_MODEL_H
#define LS_TABLE_TABLE_MODEL_H

#include "table/coding.h"
#include <lockstep/predictor.h>

struct ls_table_model {
    ls_predictor *predictor;
    const ls_coding *coding;
    ls_predictor *own; /* opened here, or NULL */
    ls_coding *read;
    ls_array_spec in, out;
};

/* Rows that are computed at once. */
enum { LS__TABLE_ROWS = 256 };

struct ls_table_context {
    const ls_table_model *model;
    ls_context *context;
    double *raw; /* a row's values: the columns', the target's */
    int *map;    /* their places in the rows to predict */
    float *x;    /* (LS__TABLE_ROWS, inputs) */
    float *y;    /* (LS__TABLE_ROWS, outputs) */
    ls_table *table;
    float *last;  /* of a series: the last rows of the table */
    int64_t seen; /* rows of it so far */
    ls__order order;
};

#endif
