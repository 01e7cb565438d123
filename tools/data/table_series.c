/* A table whose rows follow each other in time: windows of it, each with the
 * target some rows after its last one. */
#include "data/data.h"
#include "opt/opt.h"

#include <math.h>
#include <stdlib.h>

static int no_memory(void)
{
    return opt_fail(OPT_FAILED, "no memory for the series");
}

/* Rows as the model sees them, (rows, seen). */
static float *see_rows(const coding *c, int64_t rows, const double *raw)
{
    int64_t seen = coding_seen(c);
    float *out = calloc((size_t)rows, (size_t)seen * sizeof *out);

    for (int64_t i = 0; out && i < rows; i++)
        coding_inputs(c, raw + i * (c->columns + 1), out + i * seen);
    return out;
}

static int check_finite(const table_file *f, int64_t rows, int64_t seen,
                        const float *x)
{
    for (int64_t i = 0; i < rows * seen; i++)
        if (!isfinite(x[i]))
            return opt_fail(OPT_FAILED, "%s: a value of row %lld is too far "
                            "from the others to be standardised", f->path,
                            (long long)(i / seen));
    return OPT_GO;
}

/* The targets of all rows, (rows, 1), which are seen too. */
static float *targets(const coding *c, int64_t rows, const float *x)
{
    int64_t seen = coding_seen(c);
    float *y = calloc((size_t)rows, sizeof *y);

    for (int64_t i = 0; y && i < rows; i++)
        y[i] = x[i * seen + c->width];
    return y;
}

/* The windows of so many of the series' rows from `first` on. */
static int windows(const data *d, int64_t first, int64_t rows, ls_source *out)
{
    const coding *c = &d->coding;
    ls_series series[DATA_SERIES];

    for (int i = 0; i < DATA_SERIES; i++) {
        ls_array *a = &series[i].array;

        *a = d->series[i];
        a->data = (float *)a->data + first * a->shape[1];
        a->shape[0] = rows;
    }
    series[0].at = 0;
    series[0].length = c->window;
    series[1].at = c->window - 1 + c->horizon;
    series[1].length = 0;
    return opt_check(ls_source_series(out, DATA_SERIES, series));
}

/* How many of the first rows are trained on. */
static int64_t first_rows(const table_file *f, int64_t rows)
{
    return rows - (int64_t)ceil(f->valid * (double)rows);
}

static int too_few(const table_file *f, int64_t rows, int64_t train)
{
    const coding_wants *w = &f->wants;

    return opt_fail(OPT_WRONG,
                    "%s: %lld row%s%s; a window of %lld and a horizon of %lld "
                    "need %lld at least",
                    f->path, (long long)train, opt_s(train),
                    train < rows ? " to train on without those that --valid "
                                   "holds back" : "",
                    (long long)w->window, (long long)w->horizon,
                    (long long)(w->window + w->horizon));
}

/* The rows as the model sees them, and their targets. */
static int see(data *d, const table_file *f, int64_t rows, const double *raw)
{
    int64_t seen = coding_seen(&d->coding);
    float *x = see_rows(&d->coding, rows, raw);
    float *y = x ? targets(&d->coding, rows, x) : NULL;

    d->series[0] = (ls_array){"x", LS_F32, 2, {rows, seen}, x};
    d->series[1] = (ls_array){"y", LS_F32, 2, {rows, 1}, y};
    return x && y ? check_finite(f, rows, seen, x) : no_memory();
}

/* What is measured of the columns is that of the first rows. */
static int fit(coding *c, int64_t first, int64_t rows, const double *raw)
{
    bool *held = calloc((size_t)rows, sizeof *held);

    if (!held)
        return no_memory();
    for (int64_t i = first; i < rows; i++)
        held[i] = true;
    coding_fit(c, rows, raw, held);
    free(held);
    return OPT_GO;
}

int data_series_held(const data *d, ls_source *source)
{
    int64_t rows = d->series[0].shape[0] - d->rows;
    int64_t span = d->coding.window + d->coding.horizon - 1;

    return rows > span ? windows(d, d->rows, rows, source) : OPT_GO;
}

int data_series(data *d, const table_file *f, int64_t rows, const double *raw)
{
    const coding_wants *w = &f->wants;
    int64_t first = first_rows(f, rows), span = w->window + w->horizon - 1;
    int status;

    if (first <= span)
        return too_few(f, rows, first);
    status = fit(&d->coding, first, rows, raw);
    if (status == OPT_GO)
        status = see(d, f, rows, raw);
    if (status == OPT_GO)
        status = windows(d, 0, first, &d->source);
    d->rows = d->source.rows;
    return status == OPT_GO ? data_series_held(d, &d->evaluation) : status;
}
