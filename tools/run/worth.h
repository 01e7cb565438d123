/* SPDX-License-Identifier: BSD-3-Clause */
/* Scores of a table's predictions, by the names people know. */
#ifndef TOOLS_WORTH_H
#define TOOLS_WORTH_H

#include <lockstep.h>
#include <lockstep/columns.h>

#include <stdio.h>

typedef struct worth {
    int64_t rows;
    double good;      /* accuracy, or R2: more is better; it may be NaN */
    const char *name; /* "acc", "R2" */
    double rest;      /* AUC of two classes, or RMSE in the target's unit; else
                         NaN */
    const char *other;
    bool of_size; /* rest is RMSE */
    bool falls;   /* of good, less is better: by --select */
    bool is_one;  /* the rows have one class, or value: no AUC, no R2 */
} worth;

/* Judge outputs (rows, width) by the targets as a model sees them, classes of
 * LS_I32 or numbers of LS_F32. */
worth worth_of(int64_t rows, int64_t width, const float *out, const void *y,
               ls_column target);

/* The figure of --select (model/selection.h), in the target's unit; of
 * SELECT_AUTO, NaN.  And such a worth with it in the place of `good`. */
double worth_figure(int64_t select, int64_t rows, int64_t width,
                    const float *out, const void *y, ls_column target);
worth worth_by(worth w, int64_t select, double figure);

/* Print "  acc 0.9123  AUC 0.9876". */
void worth_print(const worth *w, FILE *file);

/* Check that --top-k looks for the right one among `classes`, 0 where numbers
 * are predicted: OPT_WRONG, and a message, where it cannot. */
int worth_check_top(int64_t top_k, int64_t classes);

/* Print "  top-5 0.9901", of score_top's share. */
void worth_print_top(int64_t top_k, double share, FILE *file);

/* Print "  acc 0.9123", and "  AUC 0.9876" or "  RMSE 53.12", of x, such a
 * number as good or rest is; of an RMSE four digits at least, and no exponent
 * before it must be.  "  R2 - (one value)" where rows do not tell it. */
void worth_print_good(const worth *w, double x, FILE *file);
void worth_print_rest(const worth *w, double x, FILE *file);

/* The first output for rows of x: (rows, *width), to be freed.  OPT_GO, or
 * another status after a message. */
int worth_predict(ls_predictor *p, const ls_array *x, float **out,
                  int64_t *width);

#endif
