/* SPDX-License-Identifier: BSD-3-Clause */
/* --weight-column: a column of a table says what its rows weigh. */
#include "data/data.h"
#include "data/standard_input.h"
#include "opt/opt.h"

#include <stdlib.h>
#include <string.h>

/* The weight of the table's row; false, after a message: it is none. */
static bool weight_of(const ls_table *t, const char *path, int column, float *w)
{
    double x = 0;

    if (ls_table_number(t, column, &x) < 0) {
        opt_fail(OPT_FAILED, "%s", ls_errmsg());
        return false;
    }
    *w = (float)x;
    if (x >= 0 && x < 1e30)
        return true;
    opt_fail(OPT_FAILED, "%s: line %lld: a row cannot weigh %g", path,
             (long long)ls_table_line(t), x);
    return false;
}

/* The weights of rows with a target, or of all where none may be without. */
static int read_weights(const table_file *f, ls_table *t, int column,
                        int target, int64_t rows, float *w)
{
    int64_t n = 0;
    double sum = 0;
    int next = 0;

    while (n < rows && (next = ls_table_next(t)) > 0) {
        if (f->wants.drop_no_target && ls_table_missing(t, target))
            continue;
        if (!weight_of(t, f->path, column, &w[n]))
            return OPT_FAILED;
        sum += (double)w[n++];
    }
    if (next < 0)
        return opt_check(next);
    if (n < rows)
        return opt_fail(OPT_FAILED, "%s: changed while it was read", f->path);
    return sum > 0 ? OPT_GO
                   : opt_fail(OPT_FAILED, "%s: all rows weigh 0 by \"%s\"",
                              f->path, f->weights);
}

int data_check_weights(const table_file *f, const char *path)
{
    const char *target = f->wants.target;
    ls_table *t = NULL;
    int status = f->weights ? opt_check(ls_table_open(&t, path)) : OPT_GO;

    if (!f->weights || status != OPT_GO)
        return status;
    if (!target)
        target = ls_table_column(t, ls_table_columns(t) - 1);
    if (ls_table_find(t, f->weights) < 0)
        status = opt_fail(OPT_WRONG, "--weight-column: %s has no column \"%s\"",
                          f->path, f->weights);
    else if (!strcmp(f->weights, target))
        status = opt_fail(OPT_WRONG, "--weight-column: \"%s\" is the target; "
                          "--target names another", target);
    ls_table_close(t);
    return status;
}

int data_table_weights(data *d, const table_file *f)
{
    int64_t rows = ls_table_data_rows(d->table);
    const char *path = standard_input(f->path);
    float *w = malloc((size_t)rows * sizeof *w);
    ls_table *t = NULL;
    int status = OPT_FAILED;

    if (w && path)
        status = opt_check(ls_table_open(&t, path));
    else if (path)
        opt_fail(OPT_FAILED, "no memory for the weights");
    if (status == OPT_GO)
        status = read_weights(f, t, ls_table_find(t, f->weights),
                              ls_table_find(t, data_target(d).name), rows, w);
    ls_table_close(t);
    d->mask = (ls_array){.dtype = LS_F32, .rank = 1, .data = w};
    d->mask.shape[0] = rows;
    return status;
}
