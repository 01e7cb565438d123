/* Tables as rows to train on.  The file is read twice: to learn what its
 * columns are, and to take their values. */
#include "data/data.h"
#include "opt/opt.h"

#include <math.h>
#include <stdlib.h>

static int no_memory(void)
{
    return opt_fail(OPT_FAILED, "no memory for the table");
}

/* The values of all rows, (rows, columns + 1). */
static int read_rows(const coding *c, ls_table *t, const table_file *f,
                     int64_t rows, double *raw)
{
    int *map = malloc(((size_t)c->columns + 1) * sizeof *map);
    int status = map ? coding_map(c, t, f->path, true, map) : no_memory();
    int64_t n = 0;
    int next = 0;

    while (status == OPT_GO && n < rows && (next = ls_table_next(t)) > 0)
        status =
            coding_read(c, t, f->path, map, true, raw + n++ * (c->columns + 1));
    free(map);
    if (next < 0)
        return opt_check(next);
    return status == OPT_GO && n < rows
               ? opt_fail(OPT_FAILED, "%s: changed while it was read", f->path)
               : status;
}

static ls_array new_array(ls_dtype dtype, int64_t rows, int64_t width)
{
    ls_array t = {.dtype = dtype, .rank = width ? 2 : 1};

    t.shape[0] = rows;
    t.shape[1] = width;
    t.data = calloc((size_t)rows, 4 * (size_t)(width ? width : 1));
    return t;
}

static void fill_target(const coding *c, const double *raw, int64_t i, void *y)
{
    if (c->target.words.count)
        ((int32_t *)y)[i] = (int32_t)raw[c->columns];
    else
        ((float *)y)[i] =
            (float)((raw[c->columns] - c->target.mean) / c->target.scale);
}

static int add_arrays(data *d, const table_file *f, int64_t rows,
                      const double *raw)
{
    const coding *c = &d->coding;
    bool classes = c->target.words.count > 0;
    ls_array x = new_array(LS_F32, rows, c->width);
    ls_array y = new_array(classes ? LS_I32 : LS_F32, rows, !classes);
    int status = OPT_GO;

    for (int64_t i = 0; x.data && y.data && i < rows; i++) {
        const double *row = raw + i * (c->columns + 1);

        coding_inputs(c, row, (float *)x.data + i * c->width);
        fill_target(c, row, i, y.data);
    }
    if (!x.data || !y.data)
        status = no_memory();
    if (status == OPT_GO)
        status = data_add(d, "x", x, f->path);
    else
        ls_array_free(&x);
    if (status == OPT_GO)
        return data_add(d, "y", y, f->path);
    ls_array_free(&y);
    return status;
}

/* Values that no float can hold become infinite, which a step would blame on
 * the training. */
static int check_finite(const data *d, const table_file *f)
{
    const ls_array *x = &d->input[0].all;
    const float *p = x->data;

    for (int64_t i = 0; i < x->shape[0] * x->shape[1]; i++)
        if (!isfinite(p[i]))
            return opt_fail(OPT_FAILED, "%s: a value of row %lld is too far "
                            "from the others to be standardised", f->path,
                            (long long)(i / x->shape[1]));
    return OPT_GO;
}

static int take_rows(data *d, ls_table *t, const table_file *f, int64_t rows)
{
    double *raw =
        calloc((size_t)rows, ((size_t)d->coding.columns + 1) * sizeof *raw);
    bool *held = NULL;
    int status = raw ? read_rows(&d->coding, t, f, rows, raw) : no_memory();

    if (status == OPT_GO && f->wants.window) {
        status = data_series(d, f, rows, raw);
        free(raw);
        return status;
    }
    if (status == OPT_GO && f->valid > 0 &&
        !(held = data_choose(rows, f->valid, f->seed)))
        status = OPT_WRONG;
    if (status == OPT_GO) {
        coding_fit(&d->coding, rows, raw, held);
        status = add_arrays(d, f, rows, raw);
    }
    if (status == OPT_GO)
        status = check_finite(d, f);
    if (status == OPT_GO && held)
        status = data_hold_rows(d, held);
    free(held);
    free(raw);
    return status;
}

int data_table(data *d, const table_file *f)
{
    ls_table *t;
    int64_t rows = 0;
    int status = opt_check(ls_table_open(&t, f->path));

    if (status != OPT_GO)
        return status;
    status = coding_learn(&d->coding, t, &f->wants, f->path, &rows);
    if (status == OPT_GO)
        status = opt_check(ls_table_rewind(t));
    if (status == OPT_GO)
        status = take_rows(d, t, f, rows);
    ls_table_close(t);
    return status;
}
