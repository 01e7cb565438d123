/* SPDX-License-Identifier: BSD-3-Clause */
/* A table as rows to train on.  The file is read twice: to learn what its
 * columns are, and to take their values. */
#include "base/error.h"
#include "base/memory.h"
#include "base/sized.h"
#include "table/coding.h"

#include <math.h>
#include <stdlib.h>

struct ls_table_data {
    ls_coding own;
    const ls_coding *coding; /* its own, or another table's */
    bool drop; /* rows without a target */
    ls_table *table; /* while it is read */
    char *path;
    int64_t rows;
    double *raw; /* (rows, columns + 1), until they are taken */
};

LS__DEFAULTS(ls_table_data_options, ls_table_data_defaults_bytes)

/* ------ Reading ------ */

static int read_rows(ls_table_data *d, int *map)
{
    const ls_coding *c = d->coding;
    int status = ls__coding_map(c, d->table, true, map), next = 0;
    ls__order order = {0};
    int64_t n = 0;

    while (status == 0 && n < d->rows &&
           (next = ls_table_next(d->table)) > 0) {
        if (c->window && (status = ls__order_check(&order, d->table)) < 0)
            break;
        if (!d->drop || !ls_table_missing(d->table, map[c->columns]))
            status = ls__coding_row(c, d->table, map, true,
                                    d->raw + n++ * (c->columns + 1));
    }
    if (next < 0)
        return next;
    return status == 0 && n < d->rows
               ? ls__fail(LS_EFORMAT, "%s: changed while it was read", d->path)
               : status;
}

static int count_rows(ls_table_data *d)
{
    int next;

    while ((next = ls_table_next(d->table)) > 0)
        d->rows++;
    if (next == 0 && d->rows == 0)
        return ls__fail(LS_EFORMAT, "%s: the data set is empty", d->path);
    return next;
}

/* o NULL: the coding is there. */
static int read_table(ls_table_data *d, const ls_table_data_options *o)
{
    int status = o ? ls__coding_learn(&d->own, d->table, o, &d->rows)
                   : count_rows(d);
    size_t columns = (size_t)d->coding->columns + 1;
    int *map;

    if (status == 0)
        status = ls_table_rewind(d->table);
    if (status < 0)
        return status;
    map = ls__new(columns, sizeof *map, d->path);
    d->raw = ls__new((size_t)d->rows, columns * sizeof *d->raw, d->path);
    status = map && d->raw ? read_rows(d, map) : LS_ENOMEM;
    free(map);
    return status;
}

static int check_options(const ls_table_data_options *o)
{
    if (o->task < LS_TABLE_AUTO || o->task > LS_TABLE_REGRESSION)
        return ls__fail(LS_EINVAL, "ls_table_data_open: task %d is none",
                        (int)o->task);
    if (o->window < 0 || o->window > INT32_MAX || o->horizon > INT32_MAX ||
        o->horizon < 0 || (o->horizon && !o->window) ||
        (o->window && o->task == LS_TABLE_CLASSIFICATION) ||
        (o->window && o->drop_no_target))
        return ls__fail(LS_EINVAL, "ls_table_data_open: a window of %lld and a "
                        "horizon of %lld; a series has a window, predicts a "
                        "number, and has all its rows", (long long)o->window,
                        (long long)o->horizon);
    return 0;
}

static int read_file(ls_table_data *d, const char *path,
                     const ls_table_data_options *o)
{
    int status;

    if (!(d->path = ls__text_copy(path)))
        return LS_ENOMEM;
    status = ls_table_open(&d->table, path);
    if (status == 0)
        status = read_table(d, o);
    ls_table_close(d->table);
    d->table = NULL;
    return status;
}

/* Either the options or a coding are there. */
static int open_data(ls_table_data **data, const char *path,
                     const ls_table_data_options *o, const ls_coding *as)
{
    ls_table_data *d = ls__new(1, sizeof *d, path);
    int status;

    if (!d)
        return LS_ENOMEM;
    d->coding = as ? as : &d->own;
    d->drop = o && o->drop_no_target;
    if ((status = read_file(d, path, o)) < 0)
        ls_table_data_close(d);
    else
        *data = d;
    return status;
}

int ls_table_data_open(ls_table_data **data, const char *path,
                       const ls_table_data_options *options)
{
    LS__NEED(data);
    LS__NEED(path);

    ls_table_data_options o = ls_table_data_defaults();
    int status = ls__sized_take("table_data", &o, sizeof o, options);

    if (status == 0)
        status = check_options(&o);
    if (o.window)
        o.task = LS_TABLE_REGRESSION;
    if (o.window && !o.horizon)
        o.horizon = 1;
    return status < 0 ? status : open_data(data, path, &o, NULL);
}

int ls_table_data_open_as(ls_table_data **data, const char *path,
                          const ls_coding *coding)
{
    LS__NEED(data);
    LS__NEED(path);
    LS__NEED(coding);
    return open_data(data, path, NULL, coding);
}

void ls_table_data_close(ls_table_data *data)
{
    if (!data)
        return;
    ls__coding_clear(&data->own);
    free(data->path);
    free(data->raw);
    free(data);
}

int64_t ls_table_data_rows(const ls_table_data *data)
{
    LS__NEED_OR(data, 0);
    return data->rows;
}

const ls_coding *ls_table_data_coding(const ls_table_data *data)
{
    LS__NEED_OR(data, NULL);
    return data->coding;
}

/* ------ As a model sees it ------ */

static ls_array new_array(ls_dtype dtype, int64_t rows, int64_t width)
{
    ls_array t = {.dtype = dtype, .rank = width ? 2 : 1};

    t.shape[0] = rows;
    t.shape[1] = width;
    t.data = ls__new((size_t)rows, 4 * (size_t)(width ? width : 1),
                     "rows of a table");
    return t;
}

/* Values that no float can hold become infinite, which a step would blame on
 * the training. */
static int fill(const ls_table_data *d, ls_array *x, ls_array *y)
{
    const ls_coding *c = d->coding;
    const ls__column *target = &c->target;
    int64_t width = ls_coding_width(c);

    for (int64_t i = 0; i < d->rows; i++) {
        const double *raw = d->raw + i * (c->columns + 1);

        if (!ls__coding_inputs(c, raw, (float *)x->data + i * width))
            return ls__fail(LS_ERANGE, "%s: a value of row %lld is too far "
                            "from the others to be standardised", d->path,
                            (long long)i);
        if (target->words.count)
            ((int32_t *)y->data)[i] = (int32_t)raw[c->columns];
        else
            ((float *)y->data)[i] =
                (float)((raw[c->columns] - target->mean) / target->scale);
    }
    return 0;
}

int ls_table_data_take(ls_table_data *data, const bool *held, ls_array *x,
                       ls_array *y)
{
    LS__NEED(data);
    LS__NEED(x);
    LS__NEED(y);

    const ls_coding *c = data->coding;
    bool own = c == &data->own;
    bool classes = c->target.words.count > 0;
    ls_array in, out;
    int status = LS_ENOMEM;

    if (!data->raw)
        return ls__fail(LS_EINVAL, "%s: its rows were taken", data->path);
    if (own &&
        ls__coding_fit(&data->own, data->rows, data->raw, held) < 0)
        return LS_ENOMEM;
    in = new_array(LS_F32, data->rows, ls_coding_width(c));
    out = new_array(classes ? LS_I32 : LS_F32, data->rows, !classes);
    if (in.data && out.data)
        status = fill(data, &in, &out);
    if (status == 0 && own)
        status = ls__coding_write(&data->own);
    if (status < 0) {
        ls_array_free(&in);
        ls_array_free(&out);
        return status;
    }
    free(data->raw);
    data->raw = NULL;
    *x = in;
    *y = out;
    return 0;
}
