/* SPDX-License-Identifier: BSD-3-Clause */
/* See ask.h. */
#include "predict/ask.h"
#include "data/standard_input.h"
#include "opt/opt.h"

#include <stdio.h>
#include <stdlib.h>

static int make_room(ask *a)
{
    ls_column target;
    size_t width;

    ls_coding_target(a->coding, &target);
    width = target.words ? (size_t)target.words : 1;
    a->out = malloc(FEED_ROWS * width * sizeof *a->out);
    a->best = malloc(FEED_ROWS * sizeof *a->best);
    a->number = malloc(FEED_ROWS * ((size_t)a->columns + 1) *
                       sizeof *a->number);
    return a->out && a->best && a->number ? OPT_GO : opt_no_memory("the input");
}

/* ------ Arrays ------ */

/* An array has no words. */
static int check_numbers(const ask *a, const char *path)
{
    ls_column column;

    if (ls_coding_window(a->coding, NULL))
        return opt_fail(OPT_WRONG, "%s: the model takes a table, a series",
                        path);
    for (int i = 0; ls_coding_column(a->coding, i, &column); i++)
        if (column.words)
            return opt_fail(OPT_WRONG, "%s: column \"%s\" is of text: the "
                            "model takes a table", path, column.name);
    return OPT_GO;
}

static int open_array(ask *a, const char *path)
{
    ls_array_spec row = {.dtype = LS_F32, .rank = 1};
    int status = check_numbers(a, path);

    row.shape[0] = a->columns;
    return status == OPT_GO ? feed_array(&a->feed, path, &row, true) : status;
}

/* Tells a refusal, with its file and row. */
static int refuse_row(const ask *a, int64_t first)
{
    long long row = 0;
    int at = 0;

    if (sscanf(ls_errmsg(), "row %lld%n", &row, &at) < 1)
        return opt_fail(OPT_FAILED, "%s", ls_errmsg());
    return opt_fail(OPT_FAILED, "%s: row %lld%s", a->feed.path,
                    (long long)first + row, ls_errmsg() + at);
}

static int next_of_array(ask *a, int64_t *n)
{
    int64_t first = a->feed.next;
    const void *x;
    int status = feed_next(&a->feed, &x, n);

    if (status != OPT_GO || *n == 0)
        return status;
    for (int64_t i = 0; i < *n * a->columns; i++)
        a->number[i] = (double)((const float *)x)[i];
    status = ls_table_predict_doubles(a->context, *n, a->number, NULL, a->out,
                                      a->best);
    return status < 0 ? refuse_row(a, first) : OPT_GO;
}

/* ------ */

static int open_table(ask *a, const char *path)
{
    int status;

    if (!(path = standard_input(path)))
        return OPT_FAILED;
    status = opt_check(ls_table_open(&a->table, path));
    return status == OPT_GO ? opt_check_usage(ls_table_predict_from(a->context,
                                                                    a->table))
                            : status;
}

int ask_open(ask *a, const char *path)
{
    ls_column column;
    int status = opt_check(ls_table_context_open(&a->context, a->model, NULL));

    while (ls_coding_column(a->coding, a->columns, &column))
        a->columns++;
    if (status == OPT_GO)
        status = make_room(a);
    if (status != OPT_GO)
        return status;
    return opt_ends_as(path, ".npy") ? open_array(a, path)
                                     : open_table(a, path);
}

int ask_next(ask *a, int64_t *n)
{
    int status = a->table ? opt_check(ls_table_predict_next(
                                a->context, FEED_ROWS, n, a->out, a->best))
                          : next_of_array(a, n);

    for (int64_t i = 0; status == OPT_GO && a->threshold > 0 && i < *n; i++)
        a->best[i] = a->out[2 * i + 1] >= a->threshold;
    return status;
}

void ask_close(ask *a)
{
    ls_table_close(a->table);
    feed_close(&a->feed);
    ls_table_context_close(a->context);
    ls_table_model_close(a->model);
    ls_coding_free(a->coding);
    free(a->number);
    free(a->out);
    free(a->best);
    *a = (ask){0};
}
