/* SPDX-License-Identifier: BSD-3-Clause */
/* See keep.h. */
#include "predict/keep.h"
#include "data/standard_input.h"
#include "opt/opt.h"

#include <stdlib.h>
#include <string.h>

static int find(keep *k, char *list)
{
    char *name = list, *end;

    for (; *name; name = end) {
        end = name + strcspn(name, ",");
        if (*end)
            *end++ = 0;
        k->column[k->columns] = ls_table_find(k->table, name);
        if (k->column[k->columns++] < 0)
            return opt_fail(OPT_WRONG, "--keep: %s", ls_errmsg());
    }
    return OPT_GO;
}

static void next(keep *k)
{
    int there = k->at_end ? 0 : ls_table_next(k->table);

    if (there < 0)
        k->status = opt_check(there);
    k->at_end = there <= 0;
    k->row++;
}

int keep_open(keep *k, const ask *a, const char *path, const char *list)
{
    int64_t horizon, window = ls_coding_window(a->coding, &horizon);
    char *copy = strdup(list);

    if (!a->table)
        k->status = opt_fail(OPT_WRONG, "--keep: %s: an array's columns have "
                             "no names; a table's have", path);
    else if ((path = standard_input(path)))
        k->status = opt_check(ls_table_open(&k->table, path));
    else
        k->status = OPT_FAILED;
    k->column = calloc(strlen(list) + 1, sizeof *k->column);
    if (k->status == OPT_GO)
        k->status = copy && k->column
                        ? find(k, copy) : opt_no_memory("--keep");
    free(copy);
    k->of_series = window > 0;
    if (k->of_series && k->status == OPT_GO)
        while (k->row < window + horizon - 1)
            next(k);
    return k->status;
}

void keep_close(keep *k)
{
    ls_table_close(k->table);
    free(k->column);
}

void keep_head(const keep *k, const table *t)
{
    if (k->of_series)
        fputs("row,", t->file);
    for (int i = 0; i < k->columns; i++) {
        table_text(t, "", ls_table_column(k->table, k->column[i]));
        fputc(',', t->file);
    }
}

void keep_row(keep *k, const table *t)
{
    next(k);
    if (k->of_series)
        fprintf(t->file, "%lld,", (long long)k->row);
    for (int i = 0; i < k->columns; i++) {
        table_text(t, "", k->at_end ? ""
                                    : ls_table_text(k->table, k->column[i]));
        fputc(',', t->file);
    }
}
