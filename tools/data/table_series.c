/* SPDX-License-Identifier: BSD-3-Clause */
/* A time series: a table with rows that follow each other in time; windows of
 * it, each with the target some rows after its last one. */
#include "data/data.h"
#include "opt/opt.h"

#include <math.h>
#include <stdlib.h>

/* The windows of that many of a series' rows from `first` on: what is seen and
 * the targets. */
static int windows(const data *d, const ls_array of[DATA_SERIES],
                   int64_t first, int64_t rows, ls_source *out)
{
    int64_t horizon, window = ls_coding_window(data_coding(d), &horizon);
    ls_series series[DATA_SERIES];

    for (int i = 0; i < DATA_SERIES; i++) {
        ls_array *a = &series[i].array;

        *a = of[i];
        a->data = (float *)a->data + first * a->shape[1];
        a->shape[0] = rows;
    }
    series[0].at = 0;
    series[0].length = window;
    series[1].at = window - 1 + horizon;
    series[1].length = 0;
    return opt_check(ls_source_series(out, DATA_SERIES, series));
}

/* The number of first rows that are trained on. */
static int64_t first_rows(const table_file *f, int64_t rows)
{
    return rows - (int64_t)ceil(f->valid * (double)rows);
}

static int too_few(const table_file *f, int64_t rows, int64_t train)
{
    const ls_table_data_options *w = &f->wants;

    return opt_fail(OPT_WRONG,
                    "%s: %lld row%s%s; a window of %lld and a horizon of %lld "
                    "need %lld at least",
                    f->path, (long long)train, opt_s(train),
                    train < rows ? " to train on without those that --valid "
                                   "holds back" : "",
                    (long long)w->window, (long long)w->horizon,
                    (long long)(w->window + w->horizon));
}

/* The rows as the model sees them, and their targets, which are seen, too.
 * Statistics of the columns are those of the first rows. */
static int see(data *d, int64_t first, int64_t rows)
{
    bool *held = calloc((size_t)rows, sizeof *held);
    ls_array *x = &d->series[0], *y = &d->series[1];
    int status;

    if (!held)
        return opt_no_memory("the series");
    for (int64_t i = first; i < rows; i++)
        held[i] = true;
    status = opt_check(ls_table_data_take(d->table, held, x, y));
    x->name = "x";
    y->name = "y";
    free(held);
    return status;
}

int data_series_held(const data *d, ls_source *source)
{
    bool other = d->held_out[0].data != NULL;
    const ls_array *of = other ? d->held_out : d->series;
    int64_t first = other ? 0 : d->rows, rows = of[0].shape[0] - first;
    int64_t horizon, window = ls_coding_window(data_coding(d), &horizon);

    if (rows > window + horizon - 1)
        return windows(d, of, first, rows, source);
    return other ? opt_fail(OPT_WRONG, "--eval-data: %lld row%s; a window of "
                            "%lld and a horizon of %lld need %lld at least",
                            (long long)rows, opt_s(rows), (long long)window,
                            (long long)horizon, (long long)(window + horizon))
                 : OPT_GO;
}

int data_series(data *d, const table_file *f)
{
    const ls_table_data_options *w = &f->wants;
    int64_t rows = ls_table_data_rows(d->table);
    int64_t first = first_rows(f, rows), span = w->window + w->horizon - 1;
    int status;

    if (first <= span)
        return too_few(f, rows, first);
    if (first < rows && rows - first <= span)
        return opt_fail(OPT_WRONG, "--valid: holds back %lld row%s; a window "
                        "of %lld and a horizon of %lld need %lld at least",
                        (long long)(rows - first), opt_s(rows - first),
                        (long long)w->window, (long long)w->horizon,
                        (long long)span + 1);
    status = see(d, first, rows);
    if (status == OPT_GO)
        status = windows(d, d->series, 0, first, &d->source);
    d->rows = d->source.rows;
    return status == OPT_GO ? data_series_held(d, &d->evaluation) : status;
}
