/* SPDX-License-Identifier: BSD-3-Clause */
/* Kinds of a table's columns.  A column is of numbers if all that it has are
 * numbers; of dates, if all are; of text, if they are mostly no numbers; and
 * one of numbers or dates with something else here and there is a mistake that
 * nobody should train on. */
#include "base/error.h"
#include "base/memory.h"
#include "table/number.h"
#include "table/learner.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_OF_CLASS = 5 };

static const char *path_of(const ls__learner *l)
{
    return l->t->path;
}

/* ------ Which columns ------ */

/* A target alone is no table, unless it is a series. */
static int check_columns(const ls__learner *l, int others)
{
    const char *name;

    if (others || l->want->window)
        return 0;
    name = ls_table_column(l->t, 0);
    return ls__fail(LS_EFORMAT, "%s: has no column except the target%s",
                    path_of(l),
                    *name == '#' ? "; if the first lines are comments, grep -v "
                                   "'^#' FILE >NEW leaves them out"
                    : strchr(name, ' ')
                        ? "; if blanks part its fields, tr -s ' ' , <FILE >NEW"
                        : "");
}

/* The last one, unless a separator at each line's end makes that one. */
static int find_target(ls__learner *l)
{
    const char *wanted = l->want->target;
    int last = ls_table_columns(l->t) - 1;

    l->target = wanted ? ls_table_find(l->t, wanted)
                       : last - (last > 0 && ls__table_nameless(l->t, last));
    return l->target >= 0 ? 0
                          : ls__fail(LS_EINVAL, "%starget: %s", l->p,
                                     ls_errmsg());
}

static int ignore(ls__learner *l, const char *name)
{
    int i = ls_table_find(l->t, name);

    if (i < 0)
        return ls__fail(LS_EINVAL, "%signore: %s", l->p, ls_errmsg());
    l->s[i].ignored = true;
    return 0;
}

/* The names of a list with commas. */
static int ignore_all(ls__learner *l)
{
    char *list = ls__text_copy(l->want->ignore ? l->want->ignore : "");
    char *name = list, *end;
    int status = list ? 0 : LS_ENOMEM;

    for (; status == 0 && *name; name = end) {
        end = name + strcspn(name, ",");
        if (*end)
            *end++ = 0;
        status = ignore(l, name);
    }
    free(list);
    if (status == 0 && l->s[l->target].ignored)
        return ls__fail(LS_EINVAL, "%signore: \"%s\" is the target", l->p,
                        ls_table_column(l->t, l->target));
    return status;
}

/* ------ Looking at all rows ------ */

static int look_at_all(ls__learner *l, int64_t *rows)
{
    int n = ls_table_columns(l->t), next, status = 0;

    *rows = 0;
    while (status == 0 && (next = ls_table_next(l->t)) != 0) {
        if (next < 0)
            return next;
        if (l->want->drop_no_target && ls_table_missing(l->t, l->target)) {
            l->dropped++;
            continue;
        }
        for (int i = 0; i < n && status == 0; i++) {
            ls__cell cell = ls__table_cell(l->t, i);

            if (!l->s[i].ignored)
                status = ls__survey_look(&l->s[i], &cell);
        }
        ++*rows;
    }
    if (status == 0 && *rows == 0 && l->dropped)
        return ls__fail(LS_EFORMAT, "%s: no row has a target", path_of(l));
    if (status == 0 && *rows == 0)
        return ls__fail(LS_EFORMAT, "%s: the data set is empty", path_of(l));
    return status;
}

/* ------ What they are ------ */

/* "; it may be a number with ..", where a text looks like one. */
static const char *may_be(const ls__learner *l, const char *text,
                          const char *name, char room[LS__MESSAGE])
{
    size_t n = (size_t)snprintf(room, LS__MESSAGE, "; it may be ");

    ls__look_hint(text, name, l->t->csv.separator, LS__MESSAGE - n, room + n);
    return room[n] ? room : "";
}

/* A column of dates or numbers has something else in a row. */
static int mixed(const ls__learner *l, const ls__column_survey *s,
                 const char *name, bool dates)
{
    const char *text = dates ? s->other : s->text;
    char hint[LS__MESSAGE];

    return ls__fail(LS_EFORMAT, "%s: line %lld: \"%s\" is no %s, as %lld of "
                    "the %lld values of \"%s\" are%s", path_of(l),
                    (long long)(dates ? s->other_line : s->text_line),
                    text, dates ? "date" : "number",
                    (long long)(dates ? s->dates : s->numbers),
                    (long long)ls__values(s), name,
                    may_be(l, text, name, hint));
}

/* Values look like numbers or dates, and are none. */
static int marked(const ls__learner *l, const ls__column_survey *s,
                  const char *name)
{
    char hint[LS__MESSAGE];

    ls__look_hint(s->looked, name, l->t->csv.separator, sizeof hint, hint);
    return ls__fail(LS_EFORMAT, "%s: line %lld, column \"%.40s\": \"%s\" (%lld "
                    "such value%s) looks like %s", path_of(l),
                    (long long)s->look_line, name, s->looked,
                    (long long)s->looks, ls__s(s->looks), hint);
}

static int too_many(const ls__learner *l, const ls__column_survey *s,
                    const char *name)
{
    bool most = s->words.count > LS__MOST_WORDS;
    char hint[LS__MESSAGE];

    return ls__fail(LS_EFORMAT, "%s: column \"%s\" has %s%d different words in "
                    "%lld rows, \"%.80s\" in line %lld; %signore leaves the "
                    "column out%s", path_of(l), name, most ? "more than " : "",
                    most ? LS__MOST_WORDS : s->words.count,
                    (long long)ls__values(s), s->text,
                    (long long)s->text_line, l->p,
                    may_be(l, s->looked, name, hint));
}

static int refuse_missing(const ls__learner *l, const ls__column_survey *s,
                          const char *name)
{
    if (!ls__values(s))
        return ls__fail(LS_EFORMAT, "%s: column \"%s\": the value is missing "
                        "in all of %lld rows; %signore leaves the column out",
                        path_of(l), name, (long long)s->missing, l->p);
    return ls__fail(LS_EFORMAT, "%s: line %lld, column \"%s\": the value is "
                    "missing, as in %lld of %lld rows; %smissing mean puts the "
                    "mean in its place, %signore leaves the column out",
                    path_of(l), (long long)s->missing_line, name,
                    (long long)s->missing,
                    (long long)(ls__values(s) + s->missing), l->p, l->p);
}

static int check_input(const ls__learner *l, const ls__column_survey *s,
                       const char *name)
{
    if (s->missing && (!l->c->impute || !ls__values(s)))
        return refuse_missing(l, s, name);
    if (ls__is_of_dates(s))
        return 0;
    if (ls__is_marked(s) && !l->c->window && !ls__may_be_words(s))
        return marked(l, s, name);
    if (s->dates > ls__values(s) / 2 || (s->dates && ls__is_absent(s)))
        return mixed(l, s, name, true);
    if (s->texts && (s->numbers > s->texts || ls__is_absent(s)))
        return mixed(l, s, name, false);
    if (s->texts && l->c->window && s->looks)
        return marked(l, s, name);
    if (s->texts && l->c->window)
        return ls__fail(LS_EFORMAT, "%s: line %lld, column \"%s\": \"%s\" is "
                        "no number, and a series has numbers alone; %signore "
                        "leaves the column out", path_of(l),
                        (long long)s->text_line, name, s->text, l->p);
    return s->texts && ls__has_many(s, 2) ? too_many(l, s, name) : 0;
}

static void take_words(ls__column *column, ls__column_survey *s)
{
    column->words = s->words;
    s->words = (ls__words){0};
    ls__words_sort(&column->words);
}

/* Add a column that becomes a number; NULL: no memory. */
static ls__column *add_column(ls_coding *c, const char *name)
{
    ls__column *column = &c->column[c->columns];

    if (!(column->name = ls__text_copy(name)))
        return NULL;
    column->at = c->width++;
    column->scale = 1;
    c->columns++;
    return column;
}

/* Add those numbers of dates in which they differ, the days in any case. */
static int add_dates(ls_coding *c, const ls__column_survey *s, const char *name)
{
    for (int i = LS__DAYS; i < LS__DATE_PARTS; i++) {
        ls__column *column;

        if (i != LS__DAYS && !s->varies[i])
            continue;
        if (!(column = add_column(c, name)))
            return LS_ENOMEM;
        column->date = (ls__date_part)i;
    }
    return 0;
}

static int settle_input(ls__learner *l, ls__column_survey *s, const char *name)
{
    ls_coding *c = l->c;
    ls__column *column;
    int status;

    if ((status = check_input(l, s, name)) < 0)
        return status;
    ls__tell_looks(l, s, name);
    if (ls__is_of_dates(s))
        return add_dates(c, s, name);
    if (!(column = add_column(c, name)))
        return LS_ENOMEM;
    if (s->texts) {
        take_words(column, s);
        c->width += column->words.count - 1;
    }
    return 0;
}

/* Asked for a regression, or a series. */
static int no_numbers(const ls__learner *l, const ls__column_survey *s,
                      const char *name)
{
    bool series = l->want->window > 0;

    return ls__fail(LS_EINVAL, "%s%s: %s: line %lld, column \"%s\": \"%s\" is "
                    "no number; %s%s", l->p,
                    series ? "target" : "task regression", path_of(l),
                    (long long)s->text_line, name, s->text,
                    series ? "" : l->p,
                    series ? "the target of a series is one"
                           : "task classification makes classes of the words");
}

/* Whole numbers are classes, named by the number; others are measured. */
static int check_classes(const ls__learner *l, const ls__column_survey *s,
                         const char *name)
{
    const char *more = s->words.count > LS__MOST_WORDS ? "more than " : "";
    int count = *more ? LS__MOST_WORDS : s->words.count;
    char hint[LS__MESSAGE];

    if (!s->texts && *s->part)
        return ls__fail(LS_EINVAL, "%stask classification: %s: line %lld, "
                        "column \"%s\": %s is no whole number, as a class is, "
                        "and there are %s%d different values; %stask "
                        "regression predicts them", l->p, path_of(l),
                        (long long)s->part_line, name, s->part, more, count,
                        l->p);
    if (!ls__has_many(s, s->texts ? 2 : ROWS_OF_CLASS))
        return 0;
    return ls__fail(LS_EINVAL, "%starget: %s: column \"%s\" has %s%d "
                    "different %s in %lld rows, too many for classes; %s%s%s",
                    l->p, path_of(l), name, more, count,
                    s->texts ? "words" : "numbers", (long long)ls__values(s),
                    s->texts ? "" : l->p,
                    s->texts ? "name another column"
                             : "task regression predicts them",
                    may_be(l, s->looked, name, hint));
}

static int check_target(const ls__learner *l, const ls__column_survey *s,
                        const char *name, bool classes)
{
    ls_table_task task = l->want->task;

    if (s->missing)
        return ls__fail(LS_EFORMAT, "%s: line %lld, column \"%s\": the value "
                        "is missing, and this is the target (%lld such row%s)"
                        "; %s%s", path_of(l), (long long)s->missing_line, name,
                        (long long)s->missing, ls__s(s->missing),
                        l->c->window ? "" : l->p,
                        l->c->window ? "a series has all, so put numbers there"
                                     : "missing :target=drop leaves them out");
    if (s->texts && task != LS_TABLE_CLASSIFICATION && ls__is_marked(s) &&
        (!ls__may_be_words(s) || l->c->window))
        return marked(l, s, name);
    if (s->texts && task == LS_TABLE_REGRESSION)
        return no_numbers(l, s, name);
    if (s->texts && task == LS_TABLE_AUTO &&
        (s->numbers > s->texts || ls__is_absent(s)))
        return mixed(l, s, name, false);
    return classes ? check_classes(l, s, name) : 0;
}

static int settle_target(ls__learner *l, ls__column_survey *s, const char *name)
{
    ls_table_task task = l->want->task;
    bool classes =
        task == LS_TABLE_CLASSIFICATION ||
        (task == LS_TABLE_AUTO && (s->texts || ls__is_of_two(s)));
    int status = check_target(l, s, name, classes);

    if (status < 0)
        return status;
    if (!(l->c->target.name = ls__text_copy(name)))
        return LS_ENOMEM;
    l->c->target.scale = 1;
    ls__tell_target(l, s, name, classes);
    ls__tell_looks(l, s, name);
    if (classes)
        take_words(&l->c->target, s);
    return 0;
}

/* Room for the columns: a date becomes several. */
static int make_columns(ls__learner *l)
{
    size_t n = 0;

    for (int i = 0; i < ls_table_columns(l->t); i++)
        n += ls__is_of_dates(&l->s[i]) ? LS__DATE_PARTS - LS__DAYS : 1;
    l->c->column = ls__new(n, sizeof *l->c->column, path_of(l));
    return l->c->column ? 0 : LS_ENOMEM;
}

enum { NAMES = 200 };

static void add_name(char names[NAMES], const char *name)
{
    size_t used = strlen(names);

    if (used + strlen(name) + 2 < NAMES)
        snprintf(names + used, NAMES - used, "%s%s", used ? "," : "", name);
}

/* Refuses the rest that is wrong, and the options for all of it. */
static int refuse_all(ls__learner *l, int first)
{
    char said[LS__MESSAGE], names[NAMES] = "", mend[NAMES] = "";
    char options[80];
    bool impute = l->c->impute, mean = false;
    int n = 0;

    snprintf(said, sizeof said, "%s", ls_errmsg());
    l->c->impute = true;
    for (int i = first; i < ls_table_columns(l->t); i++) {
        const char *name = ls_table_column(l->t, i);
        bool gap = l->s[i].missing && !impute, out;

        if (l->s[i].ignored || i == l->target)
            continue;
        out = check_input(l, &l->s[i], name) < 0;
        mean |= gap && !out;
        n += gap || out;
        if (out)
            add_name(ls__is_useless(&l->s[i]) ? names : mend, name);
    }
    if (n < 2)
        return ls__fail(LS_EFORMAT, "%s", said);
    snprintf(options, sizeof options, "%s%s%s%s%s%s", mean ? " " : "",
             mean ? l->p : "", mean ? "missing mean" : "", *names ? " " : "",
             *names ? l->p : "", *names ? "ignore " : "");
    return ls__fail(LS_EFORMAT, "%s; all %d such columns:%s%s%s%s%s%s", said, n,
                    options, *names ? "\"" : "", names, *names ? "\"" : "",
                    *mend ? " write otherwise " : "", mend);
}

/* Is a name of the kind that the column's values are? */
static bool is_like_values(const ls__learner *l, int i)
{
    const ls__column_survey *s = &l->s[i];
    const char *name = ls_table_column(l->t, i);
    double x, part[LS__DATE_PARTS];

    if (ls__is_of_dates(s))
        return ls__date_read(name, part);
    if (s->texts)
        return ls__words_has(&s->words, name);
    return ls__table_missing(name) ||
           ls__number_value(name, ls__table_comma(l->t), &x);
}

/* A first line that is a row: each name is like its column's values. */
static int check_names(const ls__learner *l)
{
    int n = 0;

    for (int i = 0; i < ls_table_columns(l->t); i++) {
        if (l->s[i].ignored)
            continue;
        if (!is_like_values(l, i))
            return 0;
        n++;
    }
    return n < 2 ? 0 : ls__table_no_names(l->t, "all fields are such as those "
                                          "below them");
}

/* A separator at each line's end makes a column of nothing. */
static void drop_nothing(ls__learner *l)
{
    int last = ls_table_columns(l->t) - 1;
    ls__column_survey *s = &l->s[last];

    if (!ls__values(s) && last != l->target && ls__table_nameless(l->t, last))
        s->ignored = true;
}

static int settle(ls__learner *l)
{
    int status = make_columns(l);

    drop_nothing(l);
    ls__drop_ids(l);
    if (status == 0)
        status = check_names(l);

    for (int i = 0; i < ls_table_columns(l->t) && status == 0; i++) {
        const char *name = ls_table_column(l->t, i);

        if (l->s[i].ignored)
            continue;
        status = i == l->target ? settle_target(l, &l->s[i], name)
                                : settle_input(l, &l->s[i], name);
        if (status == LS_EFORMAT && i != l->target)
            status = refuse_all(l, i);
    }
    return status == 0 && !l->c->columns ? check_columns(l, 0) : status;
}

static int learn(ls__learner *l, int64_t *rows)
{
    int status = find_target(l);

    if (status == 0)
        status = check_columns(l, ls_table_columns(l->t) - 1);
    if (status == 0)
        status = ignore_all(l);
    if (status == 0)
        status = look_at_all(l, rows);
    if (status == 0)
        status = settle(l);
    if (status == 0)
        ls__tell_rows(l, *rows);
    return status;
}

int ls__coding_learn(ls_coding *c, ls_table *t,
                     const ls_table_data_options *want, int64_t *rows)
{
    int n = ls_table_columns(t), status = LS_ENOMEM;
    ls__learner l = {.c = c, .t = t, .want = want,
                 .p = want->prefix ? want->prefix : "option "};

    *c = (ls_coding){.robust = want->robust, .impute = want->missing_mean,
                     .window = want->window,
                     .horizon = want->horizon};
    l.s = ls__new((size_t)n, sizeof *l.s, t->path);
    if (l.s)
        status = learn(&l, rows);
    for (int i = 0; l.s && i < n; i++)
        ls__words_free(&l.s[i].words);
    free(l.s);
    return status;
}
