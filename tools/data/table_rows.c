/* Tables as rows to train on. */
#include "data/data.h"
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

int data_table(data *d, const table_file *f)
{
    ls_table_data_options o = f->wants;
    int status;

    o.size = sizeof o;
    o.prefix = "--";
    o.log = note;
    status = opt_check_usage(ls_table_data_open(&d->table, f->path, &o));
    if (status != OPT_GO)
        return status;
    return f->wants.window ? data_series(d, f) : take_rows(d, f);
}
