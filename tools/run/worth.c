/* SPDX-License-Identifier: BSD-3-Clause */
/* See worth.h. */
#include "run/worth.h"
#include "model/selection.h"
#include "opt/opt.h"
#include "run/score.h"

#include <lockstep/realmlp.h>
#include <math.h>
#include <stdlib.h>

enum { AT_ONCE = 256 };

static bool is_one_class(int64_t rows, const int32_t *y)
{
    int32_t one = -1; /* a label to be ignored */

    for (int64_t i = 0; i < rows; i++) {
        if (y[i] >= 0 && one >= 0 && y[i] != one)
            return false;
        one = y[i] >= 0 ? y[i] : one;
    }
    return true;
}

worth worth_of(int64_t rows, int64_t width, const float *out, const void *y,
               ls_column target)
{
    worth w;

    if (target.words)
        return (worth){.rows = rows,
                       .good = score_accuracy(rows, width, out, y),
                       .name = "acc",
                       .rest = width == 2 ? score_auc(rows, 2, out, y)
                                          : (double)NAN,
                       .other = width == 2 ? "AUC" : NULL,
                       .is_one = is_one_class(rows, y)};
    w = (worth){.rows = rows,
                .good = score_r2(rows, width, out, y),
                .name = "R2",
                .rest = target.scale * score_rmse(rows * width, out, y),
                .other = "RMSE",
                .of_size = true};
    w.is_one = isnan(w.good) && !isnan(w.rest);
    return w;
}

double worth_figure(int64_t select, int64_t rows, int64_t width,
                    const float *out, const void *y, ls_column target)
{
    int64_t n = rows * width;

    switch (select) {
    case SELECT_ACCURACY:
        return score_accuracy(rows, width, out, y);
    case SELECT_AUC:
        return score_auc(rows, 2, out, y);
    case SELECT_LOGLOSS:
        return ls_log_loss(rows, width, out, y, 1);
    case SELECT_F1:
        return score_f1(rows, out, y);
    case SELECT_AP:
        return score_average_precision(rows, out, y);
    case SELECT_RMSE:
        return target.scale * score_rmse(n, out, y);
    case SELECT_MAE:
        return target.scale * score_mae(n, out, y);
    case SELECT_R2:
        return score_r2(rows, width, out, y);
    default:
        return (double)NAN;
    }
}

worth worth_by(worth w, int64_t select, double figure)
{
    if (select == SELECT_AUTO)
        return w;
    w.good = figure;
    w.name = select_name(select);
    w.falls = select_falls(select);
    return w;
}

void worth_print_good(const worth *w, double x, FILE *file)
{
    if (w->is_one && isnan(x))
        fprintf(file, "  %s - (one value)", w->name);
    else
        fprintf(file, "  %s %.4f", w->name, opt_shown(x));
}

void worth_print_rest(const worth *w, double x, FILE *file)
{
    if (w->is_one && isnan(x))
        fprintf(file, "  %s - (one class)", w->other);
    else
        fprintf(file, !w->of_size ? "  %s %.4f"
                      : fabs(x) < 1000 ? "  %s %.4g" : "  %s %.1f",
                w->other, opt_shown(x));
}

void worth_print(const worth *w, FILE *file)
{
    worth_print_good(w, w->good, file);
    if (w->other)
        worth_print_rest(w, w->rest, file);
}

int worth_check_top(int64_t top_k, int64_t classes)
{
    if (top_k && !classes)
        return opt_fail(OPT_WRONG, "--top-k is for classes, and here numbers "
                        "are predicted");
    if (top_k > classes)
        return opt_fail(OPT_WRONG, "--top-k: %lld is more than the %lld "
                        "classes", (long long)top_k, (long long)classes);
    return OPT_GO;
}

void worth_print_top(int64_t top_k, double share, FILE *file)
{
    fprintf(file, "  top-%lld %.4f", (long long)top_k, opt_shown(share));
}

static int predict(ls_context *c, const char *output, const ls_array *x,
                   int64_t width, float *out)
{
    int status = 0;

    for (int64_t i = 0; i < x->shape[0] && status == 0; i += AT_ONCE) {
        int64_t n = x->shape[0] - i < AT_ONCE ? x->shape[0] - i : AT_ONCE;

        status = ls_context_set(c, "x", LS_F32,
                                (const float *)x->data + i * x->shape[1], n);
        if (status == 0)
            status = ls_context_predict(c, output, n * width, out + i * width);
    }
    return opt_check(status);
}

int worth_predict(ls_predictor *p, const ls_array *x, float **out,
                  int64_t *width)
{
    ls_context *c = NULL;
    ls_array_spec spec;
    int status = opt_check(ls_context_open(&c, p, NULL));

    *out = NULL;
    if (status != OPT_GO)
        return status;
    ls_predictor_output(p, 0, &spec);
    *width = spec.rank ? spec.shape[0] : 1;
    *out = malloc((size_t)(x->shape[0] * *width) * sizeof **out);
    status = *out ? predict(c, spec.name, x, *width, *out)
                  : opt_no_memory("the output");
    ls_context_close(c);
    if (status != OPT_GO) {
        free(*out);
        *out = NULL;
    }
    return status;
}
