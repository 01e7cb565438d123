/* SPDX-License-Identifier: BSD-3-Clause */
/* See judge.h. */
#include "predict/judge.h"
#include "data/standard_input.h"
#include "opt/opt.h"
#include "run/score.h"

#include <math.h>
#include <stdlib.h>

/* What is known and what was predicted of all rows. */
typedef struct known {
    ls_table_data *data;
    ls_array x, y;
    ls_column target;
    int64_t rows;
    float *out; /* numbers as a model sees them; of two classes log odds */
    double right;
} known;

static int open_known(known *k, const ask *a, const char *path)
{
    int status;

    if (ls_coding_window(a->coding, NULL))
        return opt_fail(OPT_WRONG, "--score is for tables whose rows stand "
                        "alone, not for a series");
    if (!a->table)
        return opt_fail(OPT_WRONG, "--score: %s: has no target; a table has "
                        "one", path);
    if (!(path = standard_input(path)))
        return OPT_FAILED;
    status = ls_table_data_open_as(&k->data, path, a->coding);
    if (status == 0)
        status = ls_table_data_take(k->data, NULL, &k->x, &k->y);
    if (status < 0)
        return opt_check_usage(status);
    ls_coding_target(a->coding, &k->target);
    k->rows = ls_table_data_rows(k->data);
    k->out = malloc((size_t)k->rows * sizeof *k->out);
    return k->out ? OPT_GO : opt_fail(OPT_FAILED, "no memory for the output");
}

static void take(known *k, const ask *a, int64_t first, int64_t n)
{
    const int32_t *label = k->y.data;
    int words = k->target.words;

    for (int64_t i = 0; i < n && first + i < k->rows; i++) {
        const double *out = a->out + i * (words ? words : 1);

        if (words)
            k->right += a->best[i] == label[first + i];
        if (words == 2)
            k->out[first + i] = (float)(log(out[1]) - log(out[0]));
        if (!words)
            k->out[first + i] =
                (float)((out[0] - k->target.mean) / k->target.scale);
    }
}

static int predict_all(known *k, ask *a)
{
    int64_t n = 0, done = 0;
    int status = ask_next(a, &n);

    while (status == OPT_GO && n > 0) {
        take(k, a, done, n);
        done += n;
        status = ask_next(a, &n);
    }
    if (status == OPT_GO && done != k->rows)
        return opt_fail(OPT_FAILED, "the table changed while it was read");
    return status;
}

static void print(const known *k, FILE *file)
{
    const float *y = k->y.data;

    fprintf(file, "rows %lld", (long long)k->rows);
    if (k->target.words)
        fprintf(file, "  acc %.4f", k->right / (double)k->rows);
    if (k->target.words == 2)
        fprintf(file, "  AUC %.4f",
                opt_shown(score_auc(k->rows, k->out, k->y.data)));
    if (!k->target.words)
        fprintf(file, "  R2 %.4f  RMSE %.4g",
                opt_shown(score_r2(k->rows, 1, k->out, y)),
                k->target.scale * score_rmse(k->rows, k->out, y));
    fputc('\n', file);
}

int judge(ask *a, const char *path, FILE *file)
{
    known k = {.rows = 0};
    int status = open_known(&k, a, path);

    if (status == OPT_GO)
        status = predict_all(&k, a);
    if (status == OPT_GO)
        print(&k, file);
    ls_array_free(&k.x);
    ls_array_free(&k.y);
    ls_table_data_close(k.data);
    free(k.out);
    return status;
}
