/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests the temperature of logits, and their log loss: where both are known. */
#include "lockstep.h"
#include "support.h"

#include <lockstep/realmlp.h>

#include <check.h>
#include <math.h>

enum { ROWS = 8 };

/* Six of eight rows are of class 1, which a row more of each makes 7 of 10: at
 * the best temperature that is its probability. */
TEST(known)
{
    float x[2 * ROWS];
    int32_t label[ROWS];
    double t, want = 2 / log(6.5 / 2.5);

    for (int i = 0; i < ROWS; i++) {
        x[2 * i] = 5;
        x[2 * i + 1] = 7;
        label[i] = i > 1;
    }
    t = ls_temperature(ROWS, 2, x, label);
    ck_assert(fabs(t - want) < 1e-6);
    ck_assert(fabs(ls_log_loss(ROWS, 2, x, label, t) + 0.75 * log(6.5 / 9) +
                   0.25 * log(2.5 / 9)) < 1e-7);
    ck_assert(fabs(ls_log_loss(ROWS, 2, x, label, 1) -
                   (log(1 + exp(2)) - 1.5)) < 1e-12);
}

/* Rows that count are those with a label. */
TEST(unlabelled)
{
    const float x[] = {0, 2, 0, 2, 0, 2, 0, 2, 9, -9};
    const int32_t label[] = {1, 1, 1, 0, -1};
    const int32_t none[] = {-1, -1, -1, -1, -1};

    ck_assert(fabs(ls_temperature(5, 2, x, label) - 2 / log(3.5 / 1.5)) < 1e-6);
    ck_assert(ls_temperature(5, 2, x, none) == 1);
    ck_assert(isnan(ls_log_loss(5, 2, x, none, 1)));
}

/* What parts all rows gets no end of certainty; what is wrong, a bound. */
TEST(bounds)
{
    const float x[] = {0, 1, 1, 0}, wrong[] = {1, 0, 0, 1};
    const float nan_[] = {0, NAN, 1, 0};
    const int32_t label[] = {1, 0};

    ck_assert(fabs(ls_temperature(2, 2, x, label) - 1 / log(5)) < 1e-6);
    ck_assert(fabs(ls_temperature(2, 2, wrong, label) - exp(4)) < 1e-4);
    ck_assert(ls_temperature(2, 2, nan_, label) == 1);
    ck_assert(isnan(ls_temperature(2, 2, NULL, label)));
}

MAIN()
