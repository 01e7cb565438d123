/* SPDX-License-Identifier: BSD-3-Clause */
/* See report.h. */
#include "predict/report.h"
#include "opt/characters.h"
#include "opt/opt.h"
#include "run/score.h"

#include <math.h>
#include <stdlib.h>

/* ------ By class ------ */

typedef struct count {
    double right, taken, rows;
} count;

static void put_scores(FILE *f, class_score s)
{
    fprintf(f, "%9.4f %9.4f %9.4f", opt_shown(s.precision),
            opt_shown(s.recall), opt_shown(s.f1));
}

static void put_classes(const judged *j, const count *of, FILE *f)
{
    class_score all = {0};

    fprintf(f, "\nclasses: of %s\n%9s %9s %9s %9s\n",
            characters_shown(j->target.name), "precision", "recall", "F1",
            "rows");
    for (int64_t k = 0; k < j->width; k++) {
        class_score s = score_class(of[k].right, of[k].taken, of[k].rows);

        all.precision += s.precision / (double)j->width;
        all.recall += s.recall / (double)j->width;
        all.f1 += s.f1 / (double)j->width;
        put_scores(f, s);
        fprintf(f, " %9.0f  %s\n", of[k].rows,
                characters_shown(j->target.word[k]));
    }
    put_scores(f, all);
    fprintf(f, " %9lld  (macro average)\n", (long long)j->rows);
}

static int by_class(const judged *j, FILE *f)
{
    count *of = calloc((size_t)j->width, sizeof *of);
    const int32_t *y = j->truth;

    if (!of)
        return opt_fail(OPT_FAILED, "no memory for the classes");
    for (int64_t i = 0; i < j->rows; i++) {
        int64_t said = judge_class(j, i);

        of[y[i]].rows++;
        of[said].taken++;
        of[said].right += said == y[i];
    }
    put_classes(j, of, f);
    free(of);
    return OPT_GO;
}

/* ------ By threshold ------ */

static void put_threshold(const judged *j, double from, const char *what,
                          FILE *f)
{
    const int32_t *y = j->truth;
    count one = {0};
    double right = 0;

    for (int64_t i = 0; i < j->rows; i++) {
        bool said = judge_probability(j, i, 1) >= from;

        one.rows += y[i];
        one.taken += said;
        one.right += said && y[i];
        right += said == y[i];
    }
    fprintf(f, "%9.4g ", from);
    put_scores(f, score_class(one.right, one.taken, one.rows));
    fprintf(f, " %9.4f %9.0f%s\n", opt_shown(right / (double)j->rows),
            one.taken, what);
}

/* The threshold of the best F1 as it is shown, so that it is no other; 0: there
 * is none. */
static double best_threshold(const judged *j)
{
    float *score = malloc((size_t)j->rows * sizeof *score);
    double f1, from = (double)NAN;
    char text[32];

    for (int64_t i = 0; score && i < j->rows; i++)
        score[i] = (float)judge_probability(j, i, 1);
    if (score)
        from = score_best_f1(j->rows, score, j->truth, &f1);
    free(score);
    if (isnan(from))
        return 0;
    snprintf(text, sizeof text, "%.4g", from);
    return strtod(text, NULL);
}

static void by_threshold(const judged *j, FILE *f)
{
    double best = best_threshold(j);

    fprintf(f, "\nthreshold: %s from that probability on\n"
            "%9s %9s %9s %9s %9s %9s\n", characters_shown(j->target.word[1]),
            "threshold", "precision", "recall", "F1", "acc", "rows");
    for (int i = 1; i < 10; i++)
        put_threshold(j, i / 10., "", f);
    if (best > 0 && best < 1)
        put_threshold(j, best, "  the best F1", f);
}

int report_print(const judged *j, FILE *file)
{
    int status = j->target.words ? by_class(j, file) : OPT_GO;

    if (status == OPT_GO && j->target.words == 2)
        by_threshold(j, file);
    return status;
}
