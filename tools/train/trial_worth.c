/* SPDX-License-Identifier: BSD-3-Clause */
/* How good a trial is: see trials.h. */
#include "data/largest.h"
#include "run/score.h"
#include "train/trials.h"

#include <math.h>
#include <stdlib.h>

enum { AT_ONCE = 256 };

static double accuracy(int64_t rows, int64_t width, const float *out,
                       const int32_t *label)
{
    double right = 0;

    for (int64_t i = 0; i < rows; i++)
        right += largest(width, out + i * width) == label[i];
    return right / (double)rows;
}

static double auc(int64_t rows, const float *out, const int32_t *label)
{
    float *odds = malloc((size_t)rows * sizeof *odds);
    double area = (double)NAN;

    for (int64_t i = 0; odds && i < rows; i++)
        odds[i] = out[2 * i + 1] - out[2 * i];
    if (odds)
        area = score_auc(rows, odds, label);
    free(odds);
    return area;
}

/* Judge outputs (rows, width) by the targets as a model sees them. */
static worth worth_of(int64_t rows, int64_t width, const float *out,
                      const void *y, ls_column target)
{
    if (target.words)
        return (worth){.rows = rows,
                       .good = accuracy(rows, width, out, y),
                       .name = "acc",
                       .rest = width == 2 ? auc(rows, out, y) : (double)NAN,
                       .other = "AUC"};
    return (worth){.rows = rows,
                   .good = score_r2(rows, width, out, y),
                   .name = "R2",
                   .rest = target.scale * score_rmse(rows * width, out, y),
                   .other = "RMSE"};
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

/* Ask the model that was saved about the rows of the fold. */
static int ask_fold(const data *d, ls_predictor *p, worth *w)
{
    const ls_array *x = &d->fold[0], *y = &d->fold[1];
    int64_t rows = x->shape[0];
    ls_context *c = NULL;
    ls_array_spec spec;
    float *out;
    int status = opt_check(ls_context_open(&c, p, NULL));

    if (status != OPT_GO)
        return status;
    ls_predictor_output(p, 0, &spec);
    out = malloc((size_t)(rows * spec.shape[0]) * sizeof *out);
    status = out ? predict(c, spec.name, x, spec.shape[0], out)
                 : opt_fail(OPT_FAILED, "no memory to judge a fold");
    if (status == OPT_GO)
        *w = worth_of(rows, spec.shape[0], out, y->data, data_target(d));
    free(out);
    ls_context_close(c);
    return status;
}

int trial_worth(session *s, worth *w)
{
    const figures *f = &s->eval.figures;
    const data *d = &s->run.data;
    ls_predictor *p = NULL;
    int status;

    if (!d->fold[0].data && f->computed) {
        *w = worth_of(f->rows, f->width, f->out, f->y, data_target(d));
        return OPT_GO;
    }
    if (!d->fold[0].data)
        return opt_fail(OPT_WRONG, "--tune: nothing is held back to compare "
                        "by; --valid or --cv");
    status = opt_check(ls_predictor_load(&p, s->set.save));
    if (status == OPT_GO)
        status = ask_fold(d, p, w);
    ls_predictor_close(p);
    return status;
}
