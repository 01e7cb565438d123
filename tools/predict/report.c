/* SPDX-License-Identifier: BSD-3-Clause */
/* See report.h. */
#include "predict/report.h"
#include "opt/characters.h"
#include "opt/opt.h"
#include "run/output.h"
#include "run/plot.h"
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
        return opt_no_memory("the classes");
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

/* ------ Residuals ------ */

enum { LEFT = 90, TOP = 60, WIDTH = 560, HEIGHT = 340, BELOW = 60,
       MOST = 2000 }; /* dots */

static double predicted(const judged *j, int64_t i)
{
    return j->target.mean + j->target.scale * (double)j->out[i];
}

static double residual(const judged *j, int64_t i)
{
    return j->target.scale *
           ((double)((const float *)j->truth)[i] - (double)j->out[i]);
}

/* Find the least and the greatest, in units of the axis. */
static void range(const judged *j, double (*of)(const judged *, int64_t),
                  double *low, double *high)
{
    double unit;

    *low = HUGE_VAL;
    *high = -HUGE_VAL;
    for (int64_t i = 0; i < j->rows; i++)
        if (isfinite(of(j, i))) {
            *low = fmin(*low, of(j, i));
            *high = fmax(*high, of(j, i));
        }
    if (*low > *high)
        *low = *high = 0;
    if (!(*high > *low))
        *high = *low + fmax(fabs(*low) / 8, 1);
    unit = plot_unit(*high - *low);
    *low = floor(*low / unit) * unit;
    *high = ceil(*high / unit) * unit;
}

static void put_dots(const judged *j, FILE *f)
{
    plot p = {.f = f, .left = LEFT, .right = LEFT + WIDTH, .top = TOP,
              .bottom = TOP + HEIGHT};
    int64_t step = (j->rows + MOST - 1) / MOST;
    char name[200];

    range(j, predicted, &p.x_low, &p.x_high);
    range(j, residual, &p.y_low, &p.y_high);
    snprintf(name, sizeof name, "%s, predicted",
             characters_shown(j->target.name));
    plot_frame(&p, NULL, name, NULL);
    plot_numbers(&p, plot_unit(p.x_high - p.x_low));
    plot_line(f, "zero", p.left, plot_y(&p, 0), p.right, plot_y(&p, 0));
    for (int64_t i = 0; i < j->rows; i += step)
        if (isfinite(predicted(j, i)) && isfinite(residual(j, i)))
            fprintf(f, "<circle class=\"dot\" cx=\"%.1f\" cy=\"%.1f\" "
                    "r=\"2.5\"/>\n", plot_x(&p, predicted(j, i)),
                    plot_y(&p, residual(j, i)));
}

int report_draw(const judged *j, const char *path)
{
    output o;
    int status = output_open(&o, path);

    if (status == OPT_GO) {
        plot_begin(o.file, LEFT + WIDTH + 30, TOP + HEIGHT + BELOW,
                   ".dot{fill:#4a7ebb;fill-opacity:.5}"
                   ".zero{stroke:#808080;stroke-width:1.5}",
                   "residuals: what is, less what is predicted");
        put_dots(j, o.file);
        plot_end(o.file);
    }
    return output_close(&o, status);
}
