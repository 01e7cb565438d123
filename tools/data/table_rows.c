/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables as rows to train on. */
#include "data/data.h"
#include "data/standard_input.h"
#include "opt/opt.h"

#include <stdlib.h>

const ls_coding *data_coding(const data *d)
{
    return d->table ? ls_table_data_coding(d->table) : NULL;
}

ls_column data_target(const data *d)
{
    ls_column target = {0};

    if (d->table)
        ls_coding_target(data_coding(d), &target);
    return target;
}

static int add_arrays(data *d, const table_file *f, const bool *held)
{
    ls_array x, y;
    int status = opt_check(ls_table_data_take(d->table, held, &x, &y));

    if (status != OPT_GO)
        return status;
    status = data_add(d, f->x ? f->x : "x", x, f->path);
    if (status == OPT_GO)
        return data_add(d, f->y ? f->y : "y", y, f->path);
    ls_array_free(&y);
    return status;
}

/* Leave the weights of rows that are trained on. */
static int part_weights(data *d, const bool *out)
{
    ls_array gone = {0};
    int status = d->mask.data ? data_part(&d->mask, out, &gone) : OPT_GO;

    ls_array_free(&gone);
    return status;
}

/* Take the rows of a part, of those that no part before has taken. */
static int take_part(data *d, const char *part, int64_t rows, int which,
                     ls_array to[DATA_INPUTS])
{
    bool *is = calloc((size_t)rows, sizeof *is);
    int64_t n = 0, found = 0;
    int status = is ? OPT_GO : opt_no_memory("the rows");

    for (int64_t i = 0; is && i < rows; i++)
        if (part[i] <= which) {
            is[n++] = part[i] == which;
            found += part[i] == which;
        }
    if (status == OPT_GO && found)
        status = data_part_rows(d, is, to);
    free(is);
    return status;
}

/* Read the rows and part them. */
static int part_all(data *d, const table_file *f, const char *part, bool *out)
{
    ls_array gone[DATA_INPUTS] = {0};
    int64_t rows = ls_table_data_rows(d->table);
    ls_array *to[DATA_PARTS] = {
        [DATA_HELD] = d->held_out, [DATA_FOLD] = d->fold,
        [DATA_LEFT_OUT] = gone};
    int status = f->weights ? data_table_weights(d, f) : OPT_GO;

    for (int64_t i = 0; i < rows; i++)
        out[i] = part[i] != DATA_TRAINED;
    if (status == OPT_GO)
        status = add_arrays(d, f, out);
    if (status == OPT_GO)
        status = part_weights(d, out);
    for (int i = DATA_LEFT_OUT; i > DATA_TRAINED && status == OPT_GO; i--)
        status = take_part(d, part, rows, i, to[i]);
    for (int i = 0; i < DATA_INPUTS; i++)
        ls_array_free(&gone[i]);
    return status == OPT_GO ? data_held_source(d, &d->evaluation) : status;
}

static int take_rows(data *d, const table_file *f)
{
    bool *out = calloc((size_t)ls_table_data_rows(d->table), sizeof *out);
    char *part = NULL;
    int status = out ? OPT_GO : opt_no_memory("the rows");

    if (status == OPT_GO)
        status = data_split(d, f, &part);
    if (status == OPT_GO)
        status = part_all(d, f, part, out);
    free(part);
    free(out);
    return status;
}

static void note(void *user, const char *text)
{
    (void)user;
    opt_note("%s", text);
}

int data_table_held(data *d, const char *path)
{
    ls_table_data *t = NULL;
    ls_array *x = &d->held_out[0], *y = &d->held_out[1];
    int status;

    if (!(path = standard_input(path)))
        return OPT_FAILED;
    status = ls_table_data_open_as(&t, path, data_coding(d));
    if (status == 0)
        status = ls_table_data_take(t, NULL, x, y);
    ls_table_data_close(t);
    x->name = "x";
    y->name = "y";
    status = opt_check_usage(status);
    return status == OPT_GO ? data_held_source(d, &d->evaluation) : status;
}

/* Open the table without the columns that are no inputs. */
static int open_table(data *d, const table_file *f, const char *path)
{
    ls_table_data_options o = f->wants;
    char *out = data_left_out(f);
    int status;

    if (!out)
        return opt_no_memory("the columns' names");
    o.size = sizeof o;
    o.prefix = "--";
    o.log = d->quiet ? NULL : note;
    o.ignore = out;
    status = opt_check_usage(ls_table_data_open(&d->table, path, &o));
    free(out);
    return status;
}

int data_table(data *d, const table_file *f)
{
    const char *path = standard_input(f->path);
    int status = path ? data_check_columns(f, path) : OPT_FAILED;

    if (status == OPT_GO)
        status = open_table(d, f, path);
    if (status != OPT_GO)
        return status;
    return f->wants.window ? data_series(d, f) : take_rows(d, f);
}
