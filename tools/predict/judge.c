/* SPDX-License-Identifier: BSD-3-Clause */
/* See judge.h. */
#include "predict/judge.h"
#include "data/largest.h"
#include "data/standard_input.h"
#include "model/selection.h"
#include "opt/opt.h"
#include "run/score.h"

#include <math.h>
#include <stdlib.h>

/* Predictions of a series: those whose row is in the table.  They are put as
 * the model's outputs are. */
static int take_series(judged *j, ask *a, int64_t window, int64_t horizon)
{
    int64_t rows = j->rows - window - horizon + 1, at = 0, n = 1;
    int status = OPT_GO;

    if (rows < 1)
        return opt_fail(OPT_FAILED, "--score: %lld rows are too few: a window "
                        "of %lld predicts the row %lld after it",
                        (long long)j->rows, (long long)window,
                        (long long)horizon);
    j->truth = (const float *)j->y.data + window + horizon - 1;
    j->rows = rows;
    j->width = 1;
    if (!(j->out = malloc((size_t)rows * sizeof *j->out)))
        return opt_no_memory("the output");
    while (status == OPT_GO && n && (status = ask_next(a, &n)) == OPT_GO)
        for (int64_t i = 0; i < n && at < rows; i++)
            j->out[at++] = (float)((a->out[i] - j->target.mean) /
                                   j->target.scale);
    return status;
}

/* The rows, and what becomes of them. */
static int take_rows(judged *j, ask *a, const char *path)
{
    int64_t horizon, window = ls_coding_window(j->coding, &horizon);
    int status = ls_table_data_open_as(&j->data, path, j->coding);

    if (status == 0)
        status = ls_table_data_take(j->data, NULL, &j->x, &j->y);
    if (status < 0)
        return opt_check_usage(status);
    ls_coding_target(j->coding, &j->target);
    j->rows = ls_table_data_rows(j->data);
    j->truth = j->y.data;
    if (window)
        return take_series(j, a, window, horizon);
    return worth_predict(j->predictor, &j->x, &j->out, &j->width);
}

double judge_probability(const judged *j, int64_t row, int64_t class_number)
{
    const float *out = j->out + row * j->width;
    double top = (double)out[largest(j->width, out)], sum = 0;

    for (int64_t k = 0; k < j->width; k++)
        sum += exp((double)out[k] - top);
    return exp((double)out[class_number] - top) / sum;
}

int64_t judge_class(const judged *j, int64_t row)
{
    return j->threshold > 0 ? judge_probability(j, row, 1) >= j->threshold
                            : largest(j->width, j->out + row * j->width);
}

/* Accuracy by the threshold. */
static double accuracy(const judged *j)
{
    double right = 0;

    for (int64_t i = 0; i < j->rows; i++)
        right += judge_class(j, i) == ((const int32_t *)j->truth)[i];
    return right / (double)j->rows;
}

int judge_open(judged *j, ask *a, const char *path, bool explain, int64_t top_k)
{
    const char *option = explain ? "explain" : "score";
    int status;

    *j = (judged){.predictor = ls_table_model_predictor(a->model),
                  .coding = a->coding,
                  .top_k = top_k,
                  .threshold = a->threshold};
    if (explain && ls_coding_window(a->coding, NULL))
        return opt_fail(OPT_WRONG, "--explain is for tables whose rows stand "
                        "alone, not for a series");
    if (!a->table)
        return opt_fail(OPT_WRONG, "--%s: %s: has no target; a table has one",
                        option, path);
    if (!(path = standard_input(path)))
        return OPT_FAILED;
    status = take_rows(j, a, path);
    if (status == OPT_GO)
        status = worth_check_top(top_k, j->target.words ? j->width : 0);
    if (status == OPT_GO)
        j->worth = worth_of(j->rows, j->width, j->out, j->truth, j->target);
    if (status == OPT_GO && j->threshold > 0)
        j->worth.good = accuracy(j);
    return status;
}

void judge_close(judged *j)
{
    ls_array_free(&j->x);
    ls_array_free(&j->y);
    ls_table_data_close(j->data);
    free(j->out);
}

/* Scores that training does not print. */
static void print_more(const judged *j, FILE *file)
{
    static const struct {
        const char *name;
        int64_t select;
        bool of_classes, of_two;
    } more[] = {{"log loss", SELECT_LOGLOSS, true, false},
                {"AP", SELECT_AP, true, true},
                {"MAE", SELECT_MAE, false, false}};

    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        worth w = {.other = more[i].name, .of_size = !more[i].of_classes,
                   .is_one = j->worth.is_one};

        if (more[i].of_classes == (j->target.words > 0) &&
            (j->width == 2 || !more[i].of_two))
            worth_print_rest(&w, worth_figure(more[i].select, j->rows, j->width,
                                              j->out, j->truth, j->target),
                             file);
    }
}

void judge_print(const judged *j, FILE *file)
{
    int64_t k = j->top_k;

    fprintf(file, "rows %lld", (long long)j->rows);
    worth_print(&j->worth, file);
    print_more(j, file);
    if (k)
        worth_print_top(k, score_top(j->rows, j->width, j->out, j->truth, k),
                        file);
    fputc('\n', file);
}

/* ------ Images ------ */

static int check_labels(const feed *f, int64_t n, int64_t classes)
{
    for (int64_t i = 0; i < n; i++)
        if (f->label[i] < 0 || f->label[i] >= classes)
            return opt_fail(OPT_FAILED, "%s: the label of row %lld is %ld; the "
                            "model has %lld classes", f->path,
                            (long long)(f->next - n + i), (long)f->label[i],
                            (long long)classes);
    return OPT_GO;
}

int tally_add(tally *t, const feed *f, int64_t n, int64_t classes,
              const float *out, int64_t top_k)
{
    int status = check_labels(f, n, classes);

    if (status != OPT_GO)
        return status;
    t->rows += n;
    t->right += (double)n * score_accuracy(n, classes, out, f->label);
    t->among += (double)n * score_top(n, classes, out, f->label, top_k);
    return OPT_GO;
}

void tally_print(const tally *t, int64_t top_k, FILE *file)
{
    double n = (double)t->rows;

    fprintf(file, "rows %lld  acc %.4f", (long long)t->rows,
            opt_shown(t->right / n));
    if (top_k)
        worth_print_top(top_k, t->among / n, file);
    fputc('\n', file);
}
