/* SPDX-License-Identifier: BSD-3-Clause */
/* See judge.h. */
#include "predict/judge.h"
#include "data/standard_input.h"
#include "opt/opt.h"
#include "run/score.h"

#include <stdlib.h>

/* The rows, and what becomes of them. */
static int take_rows(judged *j, const char *path)
{
    int status = ls_table_data_open_as(&j->data, path, j->coding);

    if (status == 0)
        status = ls_table_data_take(j->data, NULL, &j->x, &j->y);
    if (status < 0)
        return opt_check_usage(status);
    ls_coding_target(j->coding, &j->target);
    j->rows = ls_table_data_rows(j->data);
    return worth_predict(j->predictor, &j->x, &j->out, &j->width);
}

int judge_open(judged *j, const ask *a, const char *path, const char *option,
               int64_t top_k)
{
    int status;

    *j = (judged){.predictor = ls_table_model_predictor(a->model),
                  .coding = a->coding,
                  .top_k = top_k};
    if (ls_coding_window(a->coding, NULL))
        return opt_fail(OPT_WRONG, "--%s is for tables whose rows stand alone, "
                        "not for a series", option);
    if (!a->table)
        return opt_fail(OPT_WRONG, "--%s: %s: has no target; a table has one",
                        option, path);
    if (!(path = standard_input(path)))
        return OPT_FAILED;
    status = take_rows(j, path);
    if (status == OPT_GO)
        status = worth_check_top(top_k, j->target.words ? j->width : 0);
    if (status == OPT_GO)
        j->worth = worth_of(j->rows, j->width, j->out, j->y.data, j->target);
    return status;
}

void judge_close(judged *j)
{
    ls_array_free(&j->x);
    ls_array_free(&j->y);
    ls_table_data_close(j->data);
    free(j->out);
}

void judge_print(const judged *j, FILE *file)
{
    int64_t k = j->top_k;

    fprintf(file, "rows %lld", (long long)j->rows);
    worth_print(&j->worth, file);
    if (k)
        worth_print_top(k, score_top(j->rows, j->width, j->out, j->y.data, k),
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
