/* SPDX-License-Identifier: BSD-3-Clause */
/* Notes about a table whose columns were learned. */
#include "table/learner.h"
#include "base/error.h"

#include <stdio.h>
#include <string.h>

static void tell(const ls__learner *l, const char *text)
{
    if (l->want->log)
        l->want->log(l->want->log_user, text);
}

void ls__tell_looks(const ls__learner *l, const ls__column_survey *s,
                    const char *name)
{
    char hint[LS__MESSAGE], text[2 * LS__MESSAGE];

    if (ls__is_marked(s)) {
        ls__look_hint(s->look, name, l->t->csv.separator, sizeof hint, hint);
        snprintf(text, sizeof text, "\"%.80s\" is taken for words, and \"%s\" "
                 "in line %lld looks like %s", name, s->look,
                 (long long)s->look_line, hint);
    } else if (!s->texts && ls__is_of_thousands(s)) {
        ls__look_hint(strchr(s->thousand, ',') ? "1,234.5" : "1.234,5", name,
                      l->t->csv.separator, sizeof hint, hint);
        snprintf(text, sizeof text, "\"%.80s\": %s is read with decimals; if "
                 "its mark parts thousands, %s", name, s->thousand,
                 strstr(hint, "python3"));
    } else {
        return;
    }
    tell(l, text);
}

void ls__tell_target(const ls__learner *l, const ls__column_survey *s,
                     const char *name, bool classes)
{
    char text[512];

    if (s->words.count == 1) {
        snprintf(text, sizeof text, "\"%.200s\", the target, is \"%.80s\" in "
                 "all rows, so there is nothing to learn", name,
                 s->words.word[0]);
        tell(l, text);
        return;
    }
    if (classes || l->want->task != LS_TABLE_AUTO ||
        s->words.count > LS__FEW_WORDS)
        return;
    snprintf(text, sizeof text, "\"%s\" is a number, so it is the target of a "
             "regression; %stask classification makes classes of its %d values",
             name, l->p, s->words.count);
    tell(l, text);
}

static void tell_dropped(const ls__learner *l)
{
    char text[512];

    if (!l->dropped)
        return;
    snprintf(text, sizeof text, "rows without a target are left out: %lld",
             (long long)l->dropped);
    tell(l, text);
}

/* A first column that counts the rows from 0 or 1 says nothing of them; pandas
 * writes one, without a name, unless told not to. */
static void tell_index(const ls__learner *l, int64_t rows)
{
    const ls__column_survey *s = &l->s[0];
    const char *name = ls_table_column(l->t, 0);
    bool none = ls__table_nameless(l->t, 0);
    char text[512];

    if (s->ignored || l->target == 0 || rows < 20 - 18 * none ||
        s->counted != rows || l->want->window)
        return;
    snprintf(text, sizeof text, "\"%.80s\" %scounts the rows, as an index "
             "does; %signore \"%.80s\" leaves it out", name,
             none ? "has no name and " : "", l->p, name);
    tell(l, text);
}

/* Tells the numbers that dates became. */
static void tell_dates(const ls__learner *l)
{
    const ls_coding *c = l->c;
    char text[512];

    for (int i = 0; i < c->columns; i++) {
        int used;

        if (c->column[i].date != LS__DAYS)
            continue;
        used = snprintf(text, sizeof text, "\"%.200s\" is of dates, which "
                        "become numbers: days", c->column[i].name);
        for (; i + 1 < c->columns && c->column[i + 1].date > LS__DAYS; i++)
            used += snprintf(text + used, sizeof text - (size_t)used, ", %s",
                             ls__date_name[c->column[i + 1].date]);
        tell(l, text);
    }
}

void ls__tell_rows(const ls__learner *l, int64_t rows)
{
    tell_dropped(l);
    tell_index(l, rows);
    tell_dates(l);
}
