/* SPDX-License-Identifier: BSD-3-Clause */
/* --score, --explain: how good the predictions of a table are that has its
 * target, or of images with labels, and what they come from. */
#ifndef TOOLS_JUDGE_H
#define TOOLS_JUDGE_H

#include "predict/ask.h"
#include "predict/feed.h"
#include "run/worth.h"

#include <stdio.h>

/* All rows with what is known of them, as the model sees them, and what it
 * says. */
typedef struct judged {
    ls_predictor *predictor; /* borrowed, as is */
    const ls_coding *coding;
    ls_table_data *data;
    ls_array x, y;
    const void *truth; /* in y: that of each row */
    ls_column target;
    int64_t rows, width; /* of the outputs */
    float *out;
    worth worth;
    int64_t top_k;    /* 0: not asked for */
    double threshold; /* so, too */
} judged;

/* Read the table and predict its rows; explain: for --explain, which of a
 * series there is none. */
int judge_open(judged *j, ask *a, const char *path, bool explain,
               int64_t top_k);

void judge_close(judged *j);

/* The probability of a class in a row, and the class that it is taken for. */
double judge_probability(const judged *j, int64_t row, int64_t class_number);
int64_t judge_class(const judged *j, int64_t row);

/* Print a line of figures: those that lockstep-train prints of rows held out,
 * and log loss and average precision, or MAE. */
void judge_print(const judged *j, FILE *file);

/* Images that were judged, and how many of them were right, or had their class
 * among the likeliest; all 0 at first. */
typedef struct tally {
    int64_t rows;
    double right, among;
} tally;

/* Add n rows of outputs (n, classes), for images that f gave last. */
int tally_add(tally *t, const feed *f, int64_t n, int64_t classes,
              const float *out, int64_t top_k);

void tally_print(const tally *t, int64_t top_k, FILE *file);

#endif
