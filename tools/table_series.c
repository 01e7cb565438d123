/* A table whose rows follow each other in time: windows of it, each with the
 * target some rows after its last one. */
#include "data.h"
#include "opt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int no_memory(void)
{
    return opt_fail(OPT_FAILED, "no memory for the windows");
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

static int add_windows(data *d, const table_file *f, int64_t windows,
                       const float *rows)
{
    const coding *c = &d->coding;
    int64_t seen = coding_seen(c), size = c->window * seen;
    ls_array x = {.dtype = LS_F32, .rank = 3}, y = {.dtype = LS_F32, .rank = 2};
    int status;

    memcpy(x.shape, (int64_t[]){windows, c->window, seen}, 3 * sizeof *x.shape);
    memcpy(y.shape, (int64_t[]){windows, 1}, 2 * sizeof *y.shape);
    x.data = size < INT32_MAX ? calloc((size_t)windows,
                                       (size_t)size * sizeof(float)) : NULL;
    y.data = calloc((size_t)windows, sizeof(float));
    for (int64_t i = 0; x.data && y.data && i < windows; i++) {
        int64_t at = i + c->window - 1 + c->horizon; /* of the target */

        memcpy((float *)x.data + i * size, rows + i * seen,
               (size_t)size * sizeof(float));
        ((float *)y.data)[i] = rows[at * seen + c->width];
    }
    status = x.data && y.data ? data_add(d, "x", x, f->path) : no_memory();
    if (status != OPT_GO) {
        if (!d->inputs)
            ls_array_free(&x);
        ls_array_free(&y);
        return status;
    }
    return data_add(d, "y", y, f->path);
}

/* The last windows are held back: `train` of them are not. */
static int hold(data *d, int64_t windows, int64_t train)
{
    bool *held = calloc((size_t)windows, sizeof *held);
    int status;

    for (int64_t i = train; held && i < windows; i++)
        held[i] = true;
    status = held ? data_hold_rows(d, held) : no_memory();
    free(held);
    return status;
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

int data_series(data *d, const table_file *f, int64_t rows, const double *raw)
{
    const coding_wants *w = &f->wants;
    int64_t first = first_rows(f, rows), span = w->window + w->horizon - 1;
    bool *held;
    float *seen;
    int status = OPT_GO;

    if (first <= span)
        return too_few(f, rows, first);
    if (!(held = calloc((size_t)rows, sizeof *held)))
        return no_memory();
    for (int64_t i = first; i < rows; i++)
        held[i] = true;
    coding_fit(&d->coding, rows, raw, held);
    free(held);
    if (!(seen = see_rows(&d->coding, rows, raw)))
        return no_memory();
    status = check_finite(f, rows, coding_seen(&d->coding), seen);
    if (status == OPT_GO)
        status = add_windows(d, f, rows - span, seen);
    free(seen);
    return status == OPT_GO && first < rows ? hold(d, rows - span, first - span)
                                            : status;
}
