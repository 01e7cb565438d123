/* SPDX-License-Identifier: BSD-3-Clause */
/* Columns of a table that say something of its rows and are no inputs:
 * --weight-column, --group, --time. */
#include "data/data.h"
#include "data/standard_input.h"
#include "opt/opt.h"

#include <stdlib.h>
#include <string.h>

/* The columns that options name: the option, and the name or NULL. */
enum { ROLES = 3 };

static const char *const role[ROLES] = {"weight-column", "group", "time"};

static const char *named(const table_file *f, int i)
{
    return i == 0 ? f->weights : i == 1 ? f->group : f->time;
}

static int check_column(const table_file *f, const ls_table *t, int i)
{
    const char *name = named(f, i), *target = f->wants.target;

    if (!target)
        target = ls_table_column(t, ls_table_columns(t) - 1);
    if (ls_table_find(t, name) < 0)
        return opt_fail(OPT_WRONG, "--%s: %s", role[i], ls_errmsg());
    return strcmp(name, target) == 0
               ? opt_fail(OPT_WRONG, "--%s: \"%s\" is the target; --target "
                          "names another", role[i], target)
               : OPT_GO;
}

int data_check_columns(const table_file *f, const char *path)
{
    ls_table *t = NULL;
    int status = OPT_GO;

    if (!f->weights && !f->group && !f->time)
        return OPT_GO;
    status = opt_check(ls_table_open(&t, path));
    for (int i = 0; i < ROLES && status == OPT_GO; i++)
        if (named(f, i))
            status = check_column(f, t, i);
    ls_table_close(t);
    return status;
}

char *data_left_out(const table_file *f)
{
    const char *name[] = {f->wants.ignore, f->weights, f->group, f->time};
    size_t size = 1;
    char *list;

    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        size += name[i] ? strlen(name[i]) + 1 : 0;
    if (!(list = calloc(size, 1)))
        return NULL;
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        if (name[i])
            strcat(strcat(list, *list ? "," : ""), name[i]);
    return list;
}

/* Rows with a target, or all where none may be without. */
static int read_rows(const data *d, const table_file *f, ls_table *t,
                     int column, data_row_fn *take, void *user)
{
    int target = ls_table_find(t, data_target(d).name), next = 0;
    int64_t n = 0, rows = ls_table_data_rows(d->table);
    int status = OPT_GO;

    while (status == OPT_GO && n < rows && (next = ls_table_next(t)) > 0)
        if (!f->wants.drop_no_target || !ls_table_missing(t, target))
            status = take(user, t, column, n++);
    if (status != OPT_GO || next < 0)
        return status == OPT_GO ? opt_check(next) : status;
    return n < rows ? opt_fail(OPT_FAILED, "%s: changed while it was read",
                               f->path)
                    : OPT_GO;
}

int data_read_column(const data *d, const table_file *f, const char *name,
                     data_row_fn *take, void *user)
{
    const char *path = standard_input(f->path);
    ls_table *t = NULL;
    int status = path ? opt_check(ls_table_open(&t, path)) : OPT_FAILED;

    if (status == OPT_GO)
        status = read_rows(d, f, t, ls_table_find(t, name), take, user);
    ls_table_close(t);
    return status;
}

/* ------ --weight-column ------ */

typedef struct weights {
    const char *path;
    float *w;
    double sum;
} weights;

static int take_weight(void *user, ls_table *t, int column, int64_t row)
{
    weights *all = user;
    double x = 0;

    if (ls_table_number(t, column, &x) < 0)
        return opt_fail(OPT_FAILED, "%s", ls_errmsg());
    all->w[row] = (float)x;
    all->sum += x;
    return x >= 0 && x < 1e30
               ? OPT_GO
               : opt_fail(OPT_FAILED, "%s: line %lld: a row cannot weigh %g",
                          all->path, (long long)ls_table_line(t), x);
}

int data_table_weights(data *d, const table_file *f)
{
    int64_t rows = ls_table_data_rows(d->table);
    weights all = {.path = f->path,
                   .w = malloc((size_t)rows * sizeof *all.w)};
    int status = all.w ? data_read_column(d, f, f->weights, take_weight, &all)
                       : opt_no_memory("the weights");

    if (status == OPT_GO && !((float)all.sum > 0))
        status = opt_fail(OPT_FAILED, "%s: all rows weigh 0 by \"%s\"",
                          f->path, f->weights);
    d->mask = (ls_array){.dtype = LS_F32, .rank = 1, .data = all.w};
    d->mask.shape[0] = rows;
    return status;
}
