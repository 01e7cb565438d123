/* SPDX-License-Identifier: BSD-3-Clause */
/* Proves that the tools' figures are scikit-learn's, ties and several columns
 * included, and are no number where there is none. */
#include "run/score.h"
#include "calls.h"
#include "golden/scores.h"

#include <check.h>
#include <lockstep/realmlp.h>
#include <math.h>

enum { ROWS = 24, CLASSES = 5 };

TEST(scores_of_numbers)
{
    float first[ROWS], want[ROWS];

    for (int i = 0; i < ROWS; i++) {
        first[i] = golden_out[2 * i];
        want[i] = golden_y[2 * i];
    }
    ck_assert_double_eq_tol(score_r2(ROWS, 2, golden_out, golden_y), golden_r2,
                            1e-12);
    ck_assert_double_eq_tol(score_r2(ROWS, 1, first, want), golden_r2_first,
                            1e-12);
    ck_assert_double_eq_tol(score_rmse((int64_t)2 * ROWS, golden_out, golden_y),
                            golden_rmse, 1e-12);
    ck_assert_double_eq_tol(score_mae((int64_t)2 * ROWS, golden_out, golden_y),
                            golden_mae, 1e-12);
    ck_assert_double_eq(score_r2(ROWS, 2, golden_y, golden_y), 1);
    ck_assert(isnan(score_r2(1, 1, golden_out, golden_y)));
}

TEST(scores_of_classes)
{
    static const int32_t ones[] = {1, 1, 1};
    static const int32_t ignored[] = {-1, 1, 0, 0};
    static const float score[] = {5, 1, 0, 2};
    static const float bad[] = {1, NAN, 2}, equal[6] = {0};
    static const int32_t each[] = {0, 1, 2};

    ck_assert_double_eq_tol(score_auc(ROWS, 1, golden_score, golden_label),
                            golden_auc, 1e-12);
    ck_assert_double_eq_tol(
        score_top(ROWS, CLASSES, golden_logits, golden_many, 2), golden_top2,
        1e-12);
    ck_assert_double_eq(
        score_top(ROWS, CLASSES, golden_logits, golden_many, CLASSES), 1);
    ck_assert(score_auc(4, 1, score, ignored) == 0.5);
    ck_assert(score_top(2, 2, score, ignored, 1) == 1);
    ck_assert(score_top(2, 3, equal, each, 1) == 0.5);
    ck_assert(score_accuracy(2, 3, equal, each) == 0.5);
    ck_assert(score_top(2, 3, equal, each + 1, 2) == 0.5);
    ck_assert(isnan(score_auc(3, 1, golden_score, ones)));
    ck_assert(isnan(score_auc(3, 1, bad, golden_label)));
}

/* Precision, recall and F1 as macro averages. */
TEST(scores_by_class)
{
    class_score sum = {0};

    for (int k = 0; k < CLASSES; k++) {
        double right = 0, taken = 0, rows = 0;
        class_score s;

        for (int i = 0; i < ROWS; i++) {
            bool is = golden_many[i] == k, said = true;

            for (int c = 0; c < CLASSES; c++)
                said &= golden_logits[i * CLASSES + c] <=
                        golden_logits[i * CLASSES + k];
            right += is && said;
            taken += said;
            rows += is;
        }
        s = score_class(right, taken, rows);
        sum.precision += s.precision / CLASSES;
        sum.recall += s.recall / CLASSES;
        sum.f1 += s.f1 / CLASSES;
    }
    ck_assert_double_eq_tol(sum.precision, golden_precision, 1e-12);
    ck_assert_double_eq_tol(sum.recall, golden_recall, 1e-12);
    ck_assert_double_eq_tol(sum.f1, golden_f1, 1e-12);
    ck_assert_double_eq(score_class(0, 0, 0).f1, 0);
}

TEST(scores_of_probabilities)
{
    static const int32_t zeros[] = {0, 0, 0};
    static const float bad[] = {1, NAN, 2};
    float logits[2 * ROWS] = {0};
    double f1, from = score_best_f1(ROWS, golden_score, golden_label, &f1);

    for (int i = 0; i < ROWS; i++)
        logits[2 * i + 1] = golden_score[i];
    ck_assert_double_eq_tol(f1, golden_best_f1, 1e-12);
    ck_assert_double_eq_tol(from, golden_best_from, 1e-7);
    ck_assert_double_eq_tol(
        score_average_precision(ROWS, logits, golden_label), golden_ap, 1e-12);
    ck_assert_double_eq_tol(
        ls_log_loss(ROWS, CLASSES, golden_logits, golden_many, 1),
        golden_log_loss, 1e-12);
    ck_assert(isnan(score_best_f1(3, golden_score, zeros, &f1)));
    ck_assert(isnan(score_best_f1(3, bad, golden_label, &f1)));
}

/* Scikit-learn's values of its own examples. */
TEST(scores_of_two)
{
    static const float out[] = {0, .1f, 0, .4f, 0, .35f, 0, .8f, 9, 0};
    static const float equal[8] = {0}, bad[] = {0, NAN, 0, 1};
    static const float sign[] = {0, 1, 0, 1, 1, 0, 0, 1};
    static const int32_t label[] = {0, 0, 1, 1, -1};

    ck_assert_double_eq_tol(score_average_precision(5, out, label), 5. / 6,
                            1e-12);
    ck_assert(score_average_precision(4, equal, label) == 0.5);
    ck_assert(isnan(score_average_precision(2, out, label)));
    ck_assert(isnan(score_average_precision(2, bad, label + 1)));
    ck_assert_double_eq_tol(score_f1(4, sign, label), 2. / 5, 1e-12);
    ck_assert_double_eq_tol(score_f1(5, out, label), 2. / 3, 1e-12);
    ck_assert(score_f1(4, equal, label) == 0);
    ck_assert_double_eq_tol(score_mae(3, (float[]){1, 2, 3},
                                      (float[]){2, 2, 1}), 1, 1e-12);
}

MAIN()
