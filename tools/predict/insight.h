/* SPDX-License-Identifier: BSD-3-Clause */
/* --explain: what the predictions of a table come from, and how far their
 * numbers can be believed. */
#ifndef TOOLS_INSIGHT_H
#define TOOLS_INSIGHT_H

#include "predict/judge.h"

enum { INSIGHT_BINS = 10 };

/* Permutation importance: the score lost (worth.good) when the column is
 * shuffled. */
typedef struct importance {
    const char *name;
    double mean, deviation;
} importance;

/* A bin of the calibration curve: rows with predictions near each other.  The
 * mean prediction (the probability of the true class, or of the second of two;
 * or the number), and the mean of what is the case (the share of rows of that
 * class; or the number). */
typedef struct calibration {
    int64_t rows;
    double said, is;
} calibration;

typedef struct insight {
    const judged *of;
    importance *column; /* [columns], the most important first */
    int columns;
    calibration bin[INSIGHT_BINS];
} insight;

/* Compute it: each column is shuffled five times, by the same permutations
 * whatever runs; bins are of the same number of rows for numbers, of the same
 * width for probabilities. */
int insight_open(insight *i, judged *of);
void insight_close(insight *i);

/* Print it as text, and draw it (insight_plot.c). */
void insight_print(const insight *i, FILE *file);
int insight_draw(const insight *i, const char *path);

#endif
