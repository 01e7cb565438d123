/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables as rows to train on. */
#include "data/data.h"
#include "data/standard_input.h"
#include "opt/opt.h"

#include <stdio.h>
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
    status = data_add(d, "x", x, f->path);
    if (status == OPT_GO)
        return data_add(d, "y", y, f->path);
    ls_array_free(&y);
    return status;
}

static int take_rows(data *d, const table_file *f)
{
    int64_t rows = ls_table_data_rows(d->table);
    bool *held = NULL;
    int status = OPT_GO;

    if (f->valid > 0 && !(held = data_choose(rows, f->valid, f->seed)))
        return OPT_WRONG;
    status = add_arrays(d, f, held);
    if (status == OPT_GO && held)
        status = data_hold_rows(d, held);
    free(held);
    return status;
}

static void note(void *user, const char *text)
{
    (void)user;
    fprintf(stderr, "note: %s\n", text);
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

int data_table(data *d, const table_file *f)
{
    ls_table_data_options o = f->wants;
    const char *path = standard_input(f->path);
    int status;

    if (!path)
        return OPT_FAILED;
    o.size = sizeof o;
    o.prefix = "--";
    o.log = note;
    status = opt_check_usage(ls_table_data_open(&d->table, path, &o));
    if (status != OPT_GO)
        return status;
    return f->wants.window ? data_series(d, f) : take_rows(d, f);
}
