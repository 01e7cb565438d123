/* SPDX-License-Identifier: BSD-3-Clause */
/* What the columns of a table are.  A column is of numbers if all that it has
 * are numbers; of dates, if all are; of text, if they are mostly no numbers;
 * and one of numbers or dates with something else here and there is a mistake
 * that nobody should train on. */
#include "base/error.h"
#include "base/memory.h"
#include "base/pattern.h"
#include "table/survey.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_OF_CLASS = 5 };

typedef struct learner {
    ls_coding *c;
    ls_table *t;
    const ls_table_data_options *want;
    const char *p; /* before the names of options */
    ls__survey *s; /* [columns of the table] */
    int target;    /* its column */
    int64_t dropped; /* rows without it */
} learner;

static const char *path_of(const learner *l)
{
    return l->t->path;
}

/* ------ Which columns ------ */

/* The column whose name has most letters of this one, half of them at least;
 * else the last. */
static int no_target(const learner *l, const char *wanted)
{
    size_t least = (strlen(wanted) + 1) / 2;
    int near = -1, n = ls_table_columns(l->t);

    for (int i = 0; i < n; i++) {
        size_t same = ls__name_nearness(wanted, ls_table_column(l->t, i));

        if (same >= least) {
            near = i;
            least = same + 1;
        }
    }
    return ls__fail(LS_EINVAL, "%starget: %s has no column \"%s\"; the %s is "
                    "\"%s\"", l->p, path_of(l), wanted,
                    near < 0 ? "last one" : "nearest",
                    ls_table_column(l->t, near < 0 ? n - 1 : near));
}

static int find_target(learner *l)
{
    const char *wanted = l->want->target;

    l->target = wanted ? ls_table_find(l->t, wanted)
                       : ls_table_columns(l->t) - 1;
    return l->target >= 0 ? 0 : no_target(l, wanted);
}

static int ignore(learner *l, const char *name)
{
    int i = ls_table_find(l->t, name);

    if (i < 0)
        return ls__fail(LS_EINVAL, "%signore: %s has no column \"%s\"", l->p,
                        path_of(l), name);
    l->s[i].ignored = true;
    return 0;
}

/* The names of a list with commas. */
static int ignore_all(learner *l)
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

static int look_at_all(learner *l, int64_t *rows)
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

/* A column of dates or numbers has something else in a row. */
static int mixed(const learner *l, const ls__survey *s, const char *name,
                 bool dates)
{
    return ls__fail(LS_EFORMAT, "%s: line %lld: \"%s\" is no %s, as %lld of "
                    "the %lld values of \"%s\" are", path_of(l),
                    (long long)(dates ? s->other_line : s->text_line),
                    dates ? s->other : s->text, dates ? "date" : "number",
                    (long long)(dates ? s->dates : s->numbers),
                    (long long)ls__values(s), name);
}

static int too_many(const learner *l, const ls__survey *s, const char *name)
{
    bool most = s->words.count > LS__MOST_WORDS;

    return ls__fail(LS_EFORMAT, "%s: column \"%s\" has %s%d different words in "
                    "%lld rows, \"%.80s\" in line %lld; %signore leaves the "
                    "column out", path_of(l),
                    name, most ? "more than " : "",
                    most ? LS__MOST_WORDS : s->words.count,
                    (long long)ls__values(s), s->text,
                    (long long)s->text_line, l->p);
}

static int refuse_missing(const learner *l, const ls__survey *s,
                          const char *name)
{
    if (l->c->impute)
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

static int check_input(const learner *l, const ls__survey *s, const char *name)
{
    if (s->missing && (!l->c->impute || !ls__values(s)))
        return refuse_missing(l, s, name);
    if (ls__is_of_dates(s))
        return 0;
    if (s->dates > ls__values(s) / 2)
        return mixed(l, s, name, true);
    if (s->texts && s->numbers > s->texts)
        return mixed(l, s, name, false);
    if (s->texts && l->c->window)
        return ls__fail(LS_EFORMAT, "%s: line %lld, column \"%s\": \"%s\" is "
                        "no number, and a series has numbers alone; %signore "
                        "leaves the column out", path_of(l),
                        (long long)s->text_line, name, s->text, l->p);
    return s->texts && ls__has_many(s, 2) ? too_many(l, s, name) : 0;
}

static void take_words(ls__column *column, ls__survey *s)
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
static int add_dates(ls_coding *c, const ls__survey *s, const char *name)
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

static int settle_input(learner *l, ls__survey *s, const char *name)
{
    ls_coding *c = l->c;
    ls__column *column;
    int status = check_input(l, s, name);

    if (status < 0)
        return status;
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
static int no_numbers(const learner *l, const ls__survey *s, const char *name)
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
static int check_classes(const learner *l, const ls__survey *s,
                         const char *name)
{
    const char *more = s->words.count > LS__MOST_WORDS ? "more than " : "";
    int count = *more ? LS__MOST_WORDS : s->words.count;

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
                    "different %s in %lld rows, too many for classes; %s%s",
                    l->p, path_of(l), name, more, count,
                    s->texts ? "words" : "numbers", (long long)ls__values(s),
                    s->texts ? "" : l->p,
                    s->texts ? "name another column"
                             : "task regression predicts them");
}

static int check_target(const learner *l, const ls__survey *s, const char *name,
                        bool classes)
{
    ls_table_task task = l->want->task;

    if (s->missing)
        return ls__fail(LS_EFORMAT, "%s: line %lld, column \"%s\": the value "
                        "is missing, and this is the target (%lld such row%s)",
                        path_of(l), (long long)s->missing_line, name,
                        (long long)s->missing, s->missing == 1 ? "" : "s");
    if (s->texts && task == LS_TABLE_REGRESSION)
        return no_numbers(l, s, name);
    if (s->texts && task == LS_TABLE_AUTO && s->numbers > s->texts)
        return mixed(l, s, name, false);
    return classes ? check_classes(l, s, name) : 0;
}

static void tell(const learner *l, const char *text)
{
    if (l->want->log)
        l->want->log(l->want->log_user, text);
}

static void tell_dropped(const learner *l)
{
    char text[512];

    if (!l->dropped)
        return;
    snprintf(text, sizeof text, "rows without a target are left out: %lld",
             (long long)l->dropped);
    tell(l, text);
}

/* A first column without a name that counts the rows from 0 says nothing of
 * them; pandas writes one unless told not to. */
static void tell_index(const learner *l, int64_t rows)
{
    const ls__survey *s = &l->s[0];
    char text[512];

    if (s->ignored || l->target == 0 || rows < 2 || s->counted != rows ||
        strcmp(ls_table_column(l->t, 0), "column 1"))
        return;
    snprintf(text, sizeof text, "\"column 1\" has no name and counts the rows, "
             "as an index does; %signore \"column 1\" leaves it out", l->p);
    tell(l, text);
}

/* Which numbers dates became. */
static void tell_dates(const learner *l)
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

/* A few numbers may be meant as classes. */
static void tell_numbers(const learner *l, const ls__survey *s,
                         const char *name)
{
    char text[512];

    if (l->want->task != LS_TABLE_AUTO ||
        s->words.count > LS__FEW_WORDS)
        return;
    snprintf(text, sizeof text, "\"%s\" is a number, so it is the target of a "
             "regression; %stask classification makes classes of its %d values",
             name, l->p, s->words.count);
    tell(l, text);
}

static int settle_target(learner *l, ls__survey *s, const char *name)
{
    ls_table_task task = l->want->task;
    bool classes =
        task == LS_TABLE_CLASSIFICATION || (task == LS_TABLE_AUTO && s->texts);
    int status = check_target(l, s, name, classes);

    if (status < 0)
        return status;
    if (!(l->c->target.name = ls__text_copy(name)))
        return LS_ENOMEM;
    l->c->target.scale = 1;
    if (classes)
        take_words(&l->c->target, s);
    else
        tell_numbers(l, s, name);
    return 0;
}

/* Room for the columns: a date becomes several. */
static int make_columns(learner *l)
{
    size_t n = 0;

    for (int i = 0; i < ls_table_columns(l->t); i++)
        n += ls__is_of_dates(&l->s[i]) ? LS__DATE_PARTS - LS__DAYS : 1;
    l->c->column = ls__new(n, sizeof *l->c->column, path_of(l));
    return l->c->column ? 0 : LS_ENOMEM;
}

static int settle(learner *l)
{
    int status = make_columns(l);

    for (int i = 0; i < ls_table_columns(l->t) && status == 0; i++) {
        const char *name = ls_table_column(l->t, i);

        if (l->s[i].ignored)
            continue;
        status = i == l->target ? settle_target(l, &l->s[i], name)
                                : settle_input(l, &l->s[i], name);
    }
    if (status == 0 && !l->c->columns && !l->c->window)
        return ls__fail(LS_EFORMAT, "%s: has no column except the target",
                        path_of(l));
    return status;
}

static int learn(learner *l, int64_t *rows)
{
    int status = find_target(l);

    if (status == 0)
        status = ignore_all(l);
    if (status == 0)
        status = look_at_all(l, rows);
    if (status == 0)
        status = settle(l);
    if (status == 0) {
        tell_dropped(l);
        tell_index(l, *rows);
        tell_dates(l);
    }
    return status;
}

int ls__coding_learn(ls_coding *c, ls_table *t,
                     const ls_table_data_options *want, int64_t *rows)
{
    int n = ls_table_columns(t), status = LS_ENOMEM;
    learner l = {.c = c, .t = t, .want = want,
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
