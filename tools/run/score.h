/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers that tell how good predictions are, as scikit-learn defines them. */
#ifndef TOOLS_SCORE_H
#define TOOLS_SCORE_H

#include <stdint.h>

/* The share of pairs of a row of class 1 and one of class 0 of which the former
 * has the higher score; equal ones count half.  NaN: a class has no rows. */
double score_auc(int64_t rows, const float *score, const int32_t *label);

/* The same of outputs (rows, 2), whose second less the first is the score.
 * NaN: there is no memory, too. */
double score_auc_of_two(int64_t rows, const float *out, const int32_t *label);

/* The share of rows whose label is the first of their largest outputs. */
double score_accuracy(int64_t rows, int64_t width, const float *out,
                      const int32_t *label);

/* 1 - the residual's / the total sum of squares; of several columns the
 * mean. */
double score_r2(int64_t rows, int64_t width, const float *out, const float *y);

/* The root of the mean square residual of n numbers. */
double score_rmse(int64_t n, const float *out, const float *y);

/* The share of rows whose label is among the k largest of their outputs, of
 * which the first of equals counts as the larger.  Rows of a label below 0 do
 * not count, here and for score_auc. */
double score_top(int64_t rows, int64_t width, const float *out,
                 const int32_t *label, int64_t k);

#endif
