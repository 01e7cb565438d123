/* SPDX-License-Identifier: BSD-3-Clause */
/* Notes about a table whose columns were learned. */
#include "table/learner.h"
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void tell(const ls__learner *l, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void tell(const ls__learner *l, const char *format, ...)
{
    char text[2 * LS__MESSAGE];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (l->want->log)
        l->want->log(l->want->log_user, text);
}

void ls__tell_looks(const ls__learner *l, const ls__column_survey *s,
                    const char *name)
{
    char hint[LS__MESSAGE];

    if (s->quoted_line)
        tell(l, "\"%.80s\": \"%s\" in line %lld has quotes, so it is a word; "
             "sed 's/\"%s\"//g' FILE >NEW makes a missing value of it", name,
             s->quoted, (long long)s->quoted_line, s->quoted);
    if (ls__is_marked(s)) {
        ls__look_hint(s->looked, name, l->t->csv.separator, sizeof hint, hint);
        tell(l, "\"%.80s\" is taken for words, and \"%s\" in line %lld looks "
             "like %s", name, s->looked, (long long)s->look_line, hint);
    } else if (!s->texts && ls__is_of_thousands(s)) {
        ls__look_hint(strchr(s->thousand, ',') ? "1,234.5" : "1.234,5", name,
                      l->t->csv.separator, sizeof hint, hint);
        tell(l, "\"%.80s\": %s is read with decimals; if its mark parts "
             "thousands, %s", name, s->thousand, strstr(hint, "python3"));
    } else if (!s->texts && s->longer_line) {
        tell(l, "\"%.80s\": %s in line %lld has more digits than a number "
             "keeps; if it is a name, %signore \"%.80s\" leaves it out, and a "
             "letter before it makes a word", name, s->longer,
             (long long)s->longer_line, l->p, name);
    }
}

void ls__drop_ids(ls__learner *l)
{
    for (int i = 0; i < ls_table_columns(l->t) && !l->want->window; i++) {
        const char *name = ls_table_column(l->t, i);

        if (i == l->target || l->s[i].ignored || !ls__is_id(&l->s[i], name))
            continue;
        l->s[i].ignored = true;
        tell(l, "\"%.80s\" is left out: each row has one of its own, and the "
             "name says that it is an id; under another name it is learned "
             "from", name);
    }
}

void ls__tell_target(const ls__learner *l, const ls__column_survey *s,
                     const char *name, bool classes)
{
    if (s->words.count == 1)
        tell(l, "\"%.200s\", the target, is \"%.80s\" in all rows, so there is "
             "nothing to learn", name, s->words.word[0]);
    else if (classes && l->want->task == LS_TABLE_AUTO && !s->texts)
        tell(l, "\"%.80s\", the target, is one of two whole numbers, so they "
             "are classes; %stask regression predicts a number", name, l->p);
    else if (!classes && l->want->task == LS_TABLE_AUTO &&
             s->words.count <= LS__FEW_WORDS)
        tell(l, "\"%s\" is a number, so it is the target of a regression; "
             "%stask classification makes classes of its %d values", name,
             l->p, s->words.count);
}

/* A first column that counts the rows from 0 or 1 says nothing of them; pandas
 * writes one, without a name, unless told not to. */
static void tell_index(const ls__learner *l, int64_t rows)
{
    const ls__column_survey *s = &l->s[0];
    const char *name = ls_table_column(l->t, 0);
    bool none = ls__table_nameless(l->t, 0);

    if (!s->ignored && l->target != 0 && rows >= 20 - 18 * none &&
        s->counted == rows && !l->want->window)
        tell(l, "\"%.80s\" %scounts the rows, as an index does; %signore "
             "\"%.80s\" leaves it out", name, none ? "has no name and " : "",
             l->p, name);
}

/* Tells the numbers that dates became. */
static void tell_dates(const ls__learner *l)
{
    const ls_coding *c = l->c;

    for (int i = 0, first; i < c->columns; i++) {
        char parts[80] = "days";

        if (c->column[first = i].date != LS__DAYS)
            continue;
        for (; i + 1 < c->columns && c->column[i + 1].date > LS__DAYS; i++)
            strcat(strcat(parts, ", "), ls__date_name[c->column[i + 1].date]);
        tell(l, "\"%.200s\" is of dates, which become numbers: %s",
             c->column[first].name, parts);
    }
}

/* The windows of a series take rows as equally far apart. */
static void tell_steps(const ls__learner *l)
{
    int i = 0, n = ls_table_columns(l->t);
    const ls__column_survey *s;

    while (i < n && !ls__is_of_dates(&l->s[i]))
        i++;
    if (i == n || !l->want->window || !(s = &l->s[i])->uneven)
        return;
    tell(l, "\"%.80s\": rows are taken as equally far apart, and %lld of %lld "
         "are not, the first in line %lld, %.4g days behind the one above%s",
         ls_table_column(l->t, i), (long long)s->uneven, (long long)s->dates,
         (long long)s->uneven_line, s->odd,
         s->odd && s->step
             ? "" : "; rows of several series belong into a file each");
}

void ls__tell_rows(const ls__learner *l, int64_t rows)
{
    if (l->dropped)
        tell(l, "rows without a target are left out: %lld",
             (long long)l->dropped);
    tell_index(l, rows);
    tell_dates(l);
    tell_steps(l);
}
