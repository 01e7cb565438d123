/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables as rows to train on. */
#define _GNU_SOURCE
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

/* Read the rows and part them.  fold[rows]: those that no training sees;
 * held[..]: which of the others are held back; either may be NULL; out[rows]
 * becomes both, what is not trained on. */
static int part_all(data *d, const table_file *f, const bool *fold,
                    const bool *held, bool *out)
{
    int64_t rows = ls_table_data_rows(d->table);
    int status;

    for (int64_t i = 0, other = 0; i < rows; i++)
        out[i] = (fold && fold[i]) || (held && held[other++]);
    status = f->weights ? data_table_weights(d, f) : OPT_GO;
    if (status == OPT_GO)
        status = add_arrays(d, f, out);
    if (status == OPT_GO)
        status = part_weights(d, out);
    if (status == OPT_GO && fold)
        status = data_part_rows(d, fold, d->fold);
    return status == OPT_GO && held ? data_hold_rows(d, held) : status;
}

static int take_rows(data *d, const table_file *f)
{
    int64_t rows = ls_table_data_rows(d->table);
    bool *fold = NULL, *held = NULL, *out = calloc((size_t)rows, sizeof *out);
    int status = out ? OPT_GO : opt_fail(OPT_FAILED, "no memory for the rows");

    if (status == OPT_GO && f->folds &&
        !(fold = data_choose_fold(rows, f->seed, f->fold, f->folds)))
        status = OPT_WRONG;
    if (status == OPT_GO && f->valid > 0 &&
        !(held = data_choose(rows - data_count(fold, rows), f->valid,
                             f->seed)))
        status = OPT_WRONG;
    if (status == OPT_GO)
        status = part_all(d, f, fold, held, out);
    free(fold);
    free(held);
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

/* Open the table without the columns of --ignore, and that of weights. */
static int open_table(data *d, const table_file *f, const char *path)
{
    ls_table_data_options o = f->wants;
    char *both = NULL;
    int status;

    o.size = sizeof o;
    o.prefix = "--";
    o.log = d->quiet ? NULL : note;
    if (f->weights && o.ignore) {
        if (asprintf(&both, "%s,%s", o.ignore, f->weights) < 0)
            return opt_fail(OPT_FAILED, "no memory for the columns' names");
        o.ignore = both;
    } else if (f->weights) {
        o.ignore = f->weights;
    }
    status = opt_check_usage(ls_table_data_open(&d->table, path, &o));
    free(both);
    return status;
}

int data_table(data *d, const table_file *f)
{
    const char *path = standard_input(f->path);
    int status = path ? data_check_weights(f, path) : OPT_FAILED;

    if (status == OPT_GO)
        status = open_table(d, f, path);
    if (status != OPT_GO)
        return status;
    return f->wants.window ? data_series(d, f) : take_rows(d, f);
}
