/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables: a record of names, then records of as many fields. */
#include "base/error.h"
#include "base/memory.h"
#include "base/pattern.h"
#include "file/format.h"
#include "table/number.h"
#include "table/csv.h"
#include "table/looks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *text_of(const ls_table *t, int i)
{
    return t->csv.text + t->csv.field[i].at;
}

/* ------ The first line ------ */

enum { NAME = 32 };

static const char *default_name(int i, char room[NAME])
{
    snprintf(room, NAME, "column %d", i + 1);
    return room;
}

static char *name_of(ls_table *t, int i)
{
    char room[NAME];

    return ls__arena_text(&t->names, *text_of(t, i) ? text_of(t, i)
                                                    : default_name(i, room));
}

bool ls__table_nameless(const ls_table *t, int i)
{
    char room[NAME];

    return !strcmp(t->name[i], default_name(i, room));
}

int ls__table_no_names(const ls_table *t, const char *why)
{
    char mark[] = {t->csv.separator, 0};

    return ls__fail(LS_EFORMAT, "%s: line 1: %s; the first line names the "
                    "columns: { seq -s'%s' -f c%%g %d; cat FILE; } >NEW puts "
                    "names there", t->path, why, mark, t->columns);
}

/* Refuses a first row of numbers alone: the header was left out. */
static int check_header(const ls_table *t)
{
    double x;

    for (int i = 0; i < t->columns; i++)
        if (!ls__number_value(text_of(t, i), ls__table_comma(t), &x))
            return 0;
    return ls__table_no_names(t, "all fields are numbers");
}

static const char *const *names_of(const ls_table *t)
{
    return (const char *const *)t->name;
}

static int check_names(ls_table *t)
{
    int same;

    t->sorted = ls__sort_texts(t->columns, names_of(t), &same);
    if (!t->sorted)
        return LS_ENOMEM;
    return same < 0 ? 0
                    : ls__fail(LS_EFORMAT, "%s: line %lld: two columns are "
                               "named \"%.80s\"; does the first line name "
                               "them?", t->path, (long long)t->csv.began,
                               t->name[same]);
}

static int read_names(ls_table *t)
{
    int status = ls__csv_next(&t->csv);

    if (status <= 0)
        return status < 0
                   ? status
                   : ls__fail(LS_EFORMAT, "%s: the table is empty", t->path);
    t->columns = t->csv.fields;
    if ((status = check_header(t)) < 0)
        return status;
    t->name = ls__arena_new(&t->names, (size_t)t->columns, sizeof *t->name);
    for (int i = 0; t->name && i < t->columns; i++)
        if (!(t->name[i] = name_of(t, i)))
            return LS_ENOMEM;
    return t->name ? check_names(t) : LS_ENOMEM;
}

int ls_table_open(ls_table **table, const char *path)
{
    LS__NEED(table);
    LS__NEED(path);

    ls_table *t;
    int status;

    if (!(t = ls__new(1, sizeof *t, path)))
        return LS_ENOMEM;
    t->path = ls__arena_text(&t->names, path);
    status = t->path ? ls__format_check(path, LS__TEXT_TABLE) : LS_ENOMEM;
    if (status == 0)
        status = ls__csv_open(&t->csv, t->path);
    if (status == 0)
        status = read_names(t);
    if (status < 0)
        ls_table_close(t);
    else
        *table = t;
    return status;
}

void ls_table_close(ls_table *table)
{
    if (!table)
        return;
    ls__csv_close(&table->csv);
    ls__arena_free(&table->names);
    free(table->sorted);
    free(table);
}

int ls_table_columns(const ls_table *table)
{
    LS__NEED_OR(table, 0);
    return table->columns;
}

const char *ls_table_column(const ls_table *table, int i)
{
    LS__NEED_OR(table, NULL);
    return i >= 0 && i < table->columns ? table->name[i] : NULL;
}

int ls_table_find(const ls_table *table, const char *name)
{
    LS__NEED(table);
    LS__NEED(name);

    int i = ls__find_text(table->columns, names_of(table), table->sorted, name);

    return i >= 0 ? i : ls__no_text(table->path, ": has", table->columns,
                                    names_of(table), name);
}

/* ------ Rows ------ */

static int wrong_fields(const ls_table *t)
{
    bool comment = *t->name[0] == '#' || *text_of(t, 0) == '#';

    return ls__fail(LS_EFORMAT, "%s: line %lld: %d field%s where the first "
                    "line has %d%s", t->path, (long long)t->csv.began,
                    t->csv.fields, ls__s(t->csv.fields), t->columns,
                    comment ? "; grep -v '^#' FILE >NEW leaves comments out"
                            : "");
}

/* Refuse a table that has "1.050" and "2,5". */
static int two_marks(const ls_table *t, int i)
{
    const char *text = text_of(t, i);
    bool comma = strchr(text, ',') != NULL;
    char hint[LS__MESSAGE];

    ls__look_hint(t->thousands[0] ? "1.234,5" : "1,234.5", "",
                  t->csv.separator, sizeof hint, hint);
    return ls__fail(LS_EFORMAT, "%s: line %lld, column %d \"%.40s\": \"%.40s\" "
                    "has a %s where line %lld has a %s, and one of them parts "
                    "thousands: %s", t->path, (long long)t->csv.began, i + 1,
                    t->name[i], text, comma ? "comma" : "point",
                    (long long)t->marked[!comma], comma ? "point" : "comma",
                    strstr(hint, "python3"));
}

/* Refuses commas that may be the point of numbers. */
static int check_marks(ls_table *t)
{
    for (int i = 0; i < t->columns; i++) {
        const char *text = text_of(t, i), *mark = strpbrk(text, ".,");
        int comma = mark && *mark == ',';
        double x;

        if (!mark || !ls__number_value(text, true, &x))
            continue;
        if (!t->marked[comma])
            t->marked[comma] = t->csv.began;
        if (!t->thousands[comma] && ls__thousands(text))
            t->thousands[comma] = t->csv.began;
        if ((t->thousands[0] && t->marked[1]) ||
            (t->thousands[1] && t->marked[0]))
            return two_marks(t, i);
    }
    return 0;
}

int ls_table_next(ls_table *t)
{
    LS__NEED_AS(t, "table", LS_EINVAL);

    int status;

    t->row = false;
    status = ls__csv_next(&t->csv);
    if (status <= 0)
        return status;
    if (t->csv.fields != t->columns)
        return wrong_fields(t);
    if (ls__table_comma(t) && (status = check_marks(t)) < 0)
        return status;
    t->row = true;
    return 1;
}

int ls_table_rewind(ls_table *t)
{
    LS__NEED_AS(t, "table", LS_EINVAL);

    int status = ls__csv_rewind(&t->csv);

    t->row = false;
    if (status == 0)
        status = ls__csv_next(&t->csv);
    return status < 0 ? status : 0;
}

int64_t ls_table_line(const ls_table *table)
{
    LS__NEED_OR(table, 0);
    return table->csv.began;
}

static bool has(const ls_table *t, int i)
{
    return t->row && i >= 0 && i < t->columns;
}

const char *ls_table_text(const ls_table *table, int i)
{
    LS__NEED_OR(table, NULL);
    return has(table, i) ? text_of(table, i) : NULL;
}

bool ls__table_missing(const char *text)
{
    static const char *const word[] = {"", "na", "n/a", "nan", "null", "?"};

    for (size_t k = 0; k < sizeof word / sizeof *word; k++)
        if (ls__same_letters(text, word[k], SIZE_MAX))
            return true;
    return false;
}

bool ls_table_missing(const ls_table *table, int i)
{
    LS__NEED_OR(table, false);

    const char *text = ls_table_text(table, i);

    return !text || !*text ||
           (!table->csv.field[i].quoted && ls__table_missing(text));
}

int ls_table_number(const ls_table *t, int i, double *out)
{
    LS__NEED_AS(t, "table", LS_EINVAL);
    LS__NEED(out);
    if (!has(t, i))
        return ls__fail(LS_EINVAL, "%s: field %d of %s", t->path, i,
                        t->row ? "the row" : "no row");
    if (ls__number_value(text_of(t, i), ls__table_comma(t), out))
        return 0;
    if (ls_table_missing(t, i))
        return ls__fail(LS_EFORMAT, "%s: line %lld, column %d \"%.80s\": the "
                        "value is missing", t->path, (long long)t->csv.began,
                        i + 1, t->name[i]);
    return ls__fail(LS_EFORMAT, "%s: line %lld, column %d \"%.80s\": \"%.80s\" "
                    "is no number", t->path, (long long)t->csv.began, i + 1,
                    t->name[i], text_of(t, i));
}
