/* What the columns of a table are.  A column is of numbers if all that it has
 * are numbers; of text, if they are mostly none; and one of numbers with a text
 * here and there is a mistake that nobody should train on. */
#include "data/coding.h"
#include "opt/opt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WORDS = 1000, FEW_WORDS = 20, ROWS_OF_CLASS = 5 };

/* What a column of the table was seen to hold. */
typedef struct survey {
    int64_t numbers, texts, missing;
    int64_t text_line, missing_line, part_line; /* the first of them */
    char text[48];
    char part[CODING_WORD]; /* the first number that is not whole; or empty */
    word_set words; /* of all that is not missing, up to one too many */
} survey;

static int no_memory(void)
{
    return opt_fail(OPT_FAILED, "no memory for the table");
}

/* ------ Which columns ------ */

/* Is a name in a list with commas? */
static bool in_list(const char *list, const char *name)
{
    size_t n = strlen(name);

    while (list && *list) {
        size_t part = strcspn(list, ",");

        if (part == n && !strncmp(list, name, n))
            return true;
        list += part + (list[part] == ',');
    }
    return false;
}

static bool has_column(const ls_table *t, const char *name, size_t n)
{
    for (int i = 0; ls_table_column(t, i); i++)
        if (strlen(ls_table_column(t, i)) == n &&
            !strncmp(ls_table_column(t, i), name, n))
            return true;
    return false;
}

static int check_names(const ls_table *t, const coding_wants *want,
                       const char *path)
{
    const char *list = want->ignore;

    if (!has_column(t, want->target, strlen(want->target)))
        return opt_fail(OPT_WRONG, "--target: %s has no column \"%s\"; the "
                        "last one is \"%s\"", path, want->target,
                        ls_table_column(t, ls_table_columns(t) - 1));
    while (list && *list) {
        size_t n = strcspn(list, ",");

        if (!has_column(t, list, n))
            return opt_fail(OPT_WRONG, "--ignore: %s has no column \"%.*s\"",
                            path, (int)n, list);
        list += n + (list[n] == ',');
    }
    if (in_list(want->ignore, want->target))
        return opt_fail(OPT_WRONG, "--ignore: \"%s\" is the target",
                        want->target);
    return OPT_GO;
}

/* ------ Looking at all rows ------ */

/* A number that is not whole is no class. */
static void look_at_number(survey *s, const ls_table *t, int i,
                           const char *text)
{
    double x = 0;

    s->numbers++;
    if (*s->part || ls_table_number(t, i, &x) < 0 || x == floor(x))
        return;
    snprintf(s->part, sizeof s->part, "%s", text);
    s->part_line = ls_table_line(t);
}

static int look(survey *s, ls_table *t, int i)
{
    char room[CODING_WORD];
    const char *text;

    if (ls_table_missing(t, i)) {
        if (!s->missing++)
            s->missing_line = ls_table_line(t);
        return OPT_GO;
    }
    text = coding_word(t, i, room);
    if (text == room) {
        look_at_number(s, t, i, text);
    } else if (!s->texts++) {
        s->text_line = ls_table_line(t);
        snprintf(s->text, sizeof s->text, "%s", text);
    }
    if (s->words.count > MOST_WORDS || words_add(&s->words, text))
        return OPT_GO;
    return no_memory();
}

static int look_at_all(survey *s, ls_table *t, const coding_wants *want,
                       int64_t *rows)
{
    int n = ls_table_columns(t), next, status = OPT_GO;

    *rows = 0;
    while (status == OPT_GO && (next = ls_table_next(t)) != 0) {
        if (next < 0)
            return opt_check(next);
        for (int i = 0; i < n && status == OPT_GO; i++)
            if (!in_list(want->ignore, ls_table_column(t, i)))
                status = look(&s[i], t, i);
        ++*rows;
    }
    return status;
}

/* ------ What they are ------ */

static int mixed(const survey *s, const char *path, const char *name)
{
    return opt_fail(OPT_FAILED, "%s: line %lld: \"%s\" is no number, as %lld "
                    "of the %lld values of \"%s\" are", path,
                    (long long)s->text_line, s->text, (long long)s->numbers,
                    (long long)(s->numbers + s->texts), name);
}

static int too_many(const survey *s, const char *path, const char *name)
{
    bool most = s->words.count > MOST_WORDS;

    return opt_fail(OPT_FAILED, "%s: column \"%s\" has %s%d different words in "
                    "%lld rows; --ignore leaves the column out", path, name,
                    most ? "more than " : "",
                    most ? MOST_WORDS : s->words.count,
                    (long long)(s->numbers + s->texts));
}

/* Has a word less than so many rows?  Then they are names, of which each row
 * has its own, or numbers that were measured. */
static bool has_many(const survey *s, int rows)
{
    int64_t all = s->numbers + s->texts;

    return s->words.count > MOST_WORDS ||
           (s->words.count > FEW_WORDS && s->words.count > all / rows);
}

static void take_words(coding_column *column, survey *s)
{
    column->words = s->words;
    s->words = (word_set){0};
    words_sort(&column->words);
}

static int settle_input(coding *c, survey *s, const char *path,
                        const char *name)
{
    coding_column *column = &c->column[c->columns];
    int64_t all = s->numbers + s->texts;

    if (s->missing && !c->impute)
        return opt_fail(OPT_FAILED, "%s: line %lld, column \"%s\": the value "
                        "is missing, as in %lld of %lld rows; --missing mean "
                        "puts the mean in its place, --ignore leaves the "
                        "column out", path, (long long)s->missing_line, name,
                        (long long)s->missing, (long long)(all + s->missing));
    if (s->texts && s->numbers > s->texts)
        return mixed(s, path, name);
    if (s->texts && c->window)
        return opt_fail(OPT_FAILED, "%s: line %lld, column \"%s\": \"%s\" is "
                        "no number, and a series has numbers alone; --ignore "
                        "leaves the column out", path, (long long)s->text_line,
                        name, s->text);
    if (s->texts && has_many(s, 2))
        return too_many(s, path, name);
    if (!(column->name = strdup(name)))
        return no_memory();
    column->at = c->width;
    column->scale = 1;
    if (s->texts)
        take_words(column, s);
    c->width += s->texts ? column->words.count : 1;
    c->columns++;
    return OPT_GO;
}

/* --task regression, or a series. */
static int no_numbers(const survey *s, const coding_wants *want,
                      const char *path)
{
    return opt_fail(OPT_WRONG, "--%s: %s: line %lld, column \"%s\": \"%s\" is "
                    "no number; %s",
                    want->window ? "target" : "task regression", path,
                    (long long)s->text_line, want->target, s->text,
                    want->window ? "the target of a series is one"
                                 : "--task classification makes classes of "
                                   "the words");
}

/* Whole numbers are classes, named by the number; others are measured. */
static int check_classes(const survey *s, const coding_wants *want,
                         const char *path)
{
    const char *more = s->words.count > MOST_WORDS ? "more than " : "";
    int count = *more ? MOST_WORDS : s->words.count;

    if (!s->texts && *s->part)
        return opt_fail(OPT_WRONG, "--task classification: %s: line %lld, "
                        "column \"%s\": %s is no whole number, as a class is, "
                        "and there are %s%d different values; --task "
                        "regression predicts them", path,
                        (long long)s->part_line, want->target, s->part, more,
                        count);
    if (!has_many(s, s->texts ? 2 : ROWS_OF_CLASS))
        return OPT_GO;
    return opt_fail(OPT_WRONG, "--target: %s: column \"%s\" has %s%d "
                    "different %s in %lld rows, too many for classes; %s", path,
                    want->target, more, count, s->texts ? "words" : "numbers",
                    (long long)(s->numbers + s->texts),
                    s->texts ? "name another column"
                             : "--task regression predicts them");
}

static int settle_target(coding *c, survey *s, const coding_wants *want,
                         const char *path)
{
    bool classes =
        want->task == CODING_CLASSES || (want->task == CODING_AUTO && s->texts);
    int status = OPT_GO;

    if (s->missing)
        return opt_fail(OPT_FAILED, "%s: line %lld, column \"%s\": the value "
                        "is missing, and this is the target (%lld such row%s)",
                        path, (long long)s->missing_line, want->target,
                        (long long)s->missing, opt_s(s->missing));
    if (s->texts && want->task == CODING_REGRESSION)
        return no_numbers(s, want, path);
    if (s->texts && want->task == CODING_AUTO && s->numbers > s->texts)
        return mixed(s, path, want->target);
    if (classes && (status = check_classes(s, want, path)) != OPT_GO)
        return status;
    if (!(c->target.name = strdup(want->target)))
        return no_memory();
    c->target.scale = 1;
    if (classes)
        take_words(&c->target, s);
    else if (want->task == CODING_AUTO && s->words.count <= FEW_WORDS)
        fprintf(stderr,
                "note: \"%s\" is a number, so it is the target of a "
                "regression; --task classification makes classes of its %d "
                "values\n",
                want->target, s->words.count);
    return OPT_GO;
}

static int settle(coding *c, survey *s, const ls_table *t,
                  const coding_wants *want, const char *path)
{
    int status = OPT_GO;

    for (int i = 0; i < ls_table_columns(t) && status == OPT_GO; i++) {
        const char *name = ls_table_column(t, i);

        if (in_list(want->ignore, name))
            continue;
        status = strcmp(name, want->target)
                     ? settle_input(c, &s[i], path, name)
                     : settle_target(c, &s[i], want, path);
    }
    if (status == OPT_GO && !c->columns && !c->window)
        return opt_fail(OPT_FAILED, "%s: has no column except the target",
                        path);
    return status;
}

int coding_learn(coding *c, ls_table *t, const coding_wants *want,
                 const char *path, int64_t *rows)
{
    int n = ls_table_columns(t), status = check_names(t, want, path);
    survey *s = status == OPT_GO ? calloc((size_t)n, sizeof *s) : NULL;

    *c = (coding){.impute = want->impute, .window = want->window,
                  .horizon = want->horizon};
    if (status != OPT_GO)
        return status;
    c->column = calloc((size_t)n, sizeof *c->column);
    if (!s || !c->column)
        status = no_memory();
    if (status == OPT_GO)
        status = look_at_all(s, t, want, rows);
    if (status == OPT_GO && *rows == 0)
        status = opt_fail(OPT_FAILED, "%s: the data set is empty", path);
    if (status == OPT_GO)
        status = settle(c, s, t, want, path);
    for (int i = 0; s && i < n; i++)
        words_free(&s[i].words);
    free(s);
    return status;
}
