/* SPDX-License-Identifier: BSD-3-Clause */
/* Figures of a model on the rows held out, by names people know: R2 and RMSE of
 * numbers, AUC of two classes, top-k, and a confusion matrix.  For rows in
 * memory, of tables and arrays, and for images. */
#ifndef TOOLS_FIGURES_H
#define TOOLS_FIGURES_H

#include "run/run.h"

#include <stdio.h>

typedef struct figures {
    const run *run;
    int64_t top_k;  /* 0: not asked for */
    ls_source held; /* rows held out, "x" and "y"; rows 0: none */
    bool of_images; /* the data's; figures are made at the end, but top-k */
    int64_t chunk;  /* rows that are read at once */
    float *x;       /* of a chunk of them */
    void *y;        /* of all: floats, or labels */
    ls_predictor *predictor;
    ls_context *context;
    const char *output;
    int64_t rows, width; /* of the outputs */
    bool taken;          /* the predictor has weights of this run */
    bool computed;       /* y and out are written, by these */
    int stopped;         /* the signal that cut it short, on whichever rank */
    float *out;          /* (rows, width), those that are printed */
    float *best;         /* the same of figures_keep; NULL: none were kept */
} figures;

/* Check, once the rows are there, that there are as many classes as those among
 * which --top-k looks for the right one: OPT_WRONG, and a message, where there
 * are not. */
int figures_check(const run *r, int64_t top_k);

/* Are they made with each evaluation, since they are printed, also where the
 * loss tells accuracy? */
bool figures_each(const figures *f);

/* The name of class i of images: their folder's, or its number in room. */
enum { FIGURES_NAME = 32 };
const char *figures_class(const figures *f, int64_t i, char room[FIGURES_NAME]);

/* The class with the largest output in a row. */
int64_t figures_said(const figures *f, int64_t row);

/* Once the trainer is open.  Nothing to do where no rows are in memory. */
int figures_open(figures *f, const run *r, int64_t top_k);

/* Take the weights as they are, and compute the outputs with those taken. */
int figures_take(figures *f);
int figures_compute(figures *f);

/* Print what belongs behind the loss, of the outputs that were computed or
 * taken back last: "  R2 0.4321  RMSE 53.1". */
void figures_print(const figures *f, FILE *file);

/* The figure of --select, of the same; NaN where nothing was. */
double figures_selected(const figures *f, int64_t select);

/* The share of what was computed last that is right; NaN of numbers, or where
 * nothing was. */
double figures_accuracy(const figures *f);

/* Keep what was computed last, and take it back; where nothing was kept, it is
 * computed with the weights that were taken. */
int figures_keep(figures *f);
int figures_take_back(figures *f);

/* Print the confusion matrix, of a table or of images whose classes have names,
 * after `done` updates.  Nothing where nothing was computed: a run that went on
 * from a checkpoint and was ended, or had been at its end. */
void figures_confusion(const figures *f, int64_t done);

void figures_close(figures *f);

#endif
