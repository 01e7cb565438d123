/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers that tell how good predictions are, as scikit-learn defines them. */
#ifndef TOOLS_SCORE_H
#define TOOLS_SCORE_H

#include <stdint.h>

/* Area under the ROC curve (AUC) of scores (rows, 1), or of outputs (rows, 2),
 * where the score is the second less the first; ties count half.  NaN: a class
 * has no rows, or there is no memory. */
double score_auc(int64_t rows, int64_t width, const float *out,
                 const int32_t *label);

/* Accuracy: the share of rows with the label's output the largest (the first of
 * equals). */
double score_accuracy(int64_t rows, int64_t width, const float *out,
                      const int32_t *label);

/* F1 of the second of two classes: the harmonic mean of precision and recall;
 * 0 where no row of it is found. */
double score_f1(int64_t rows, const float *out, const int32_t *label);

/* Average precision of it, by the same score as score_auc: the sum over
 * falling thresholds of precision times the gain in recall.  NaN: no row is of
 * it, or there is no memory. */
double score_average_precision(int64_t rows, const float *out,
                               const int32_t *label);

/* The probability from which on rows taken as class 1 have the best F1, and
 * that F1: the highest of equals.  NaN: no row is of class 1, or one is no
 * number, or there is no memory. */
double score_best_f1(int64_t rows, const float *probability,
                     const int32_t *label, double *f1);

/* Precision, recall and F1 of a class: `right` of the `taken` rows are of the
 * class, which has `rows`.  Where nothing is divided they are 0. */
typedef struct class_score {
    double precision, recall, f1;
} class_score;
class_score score_class(double right, double taken, double rows);

/* MAE: the mean absolute residual of n numbers. */
double score_mae(int64_t n, const float *out, const float *y);

/* R2: 1 - the residual's / the total sum of squares; of several columns the
 * mean. */
double score_r2(int64_t rows, int64_t width, const float *out, const float *y);

/* RMSE: the root of the mean square residual of n numbers. */
double score_rmse(int64_t n, const float *out, const float *y);

/* Top-k accuracy: the share of rows with the label's output among the k
 * largest; of equals the first counts as larger.  Rows of a label below 0 do
 * not count, here and for score_auc. */
double score_top(int64_t rows, int64_t width, const float *out,
                 const int32_t *label, int64_t k);

#endif
