/* What the columns of a table are.  A column is of numbers if all that it has
 * are numbers; of text, if they are mostly none; and one of numbers with a text
 * here and there is a mistake that nobody should train on. */
#include "coding.h"
#include "opt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WORDS = 1000, FEW_WORDS = 20 };

/* What a column of the table was seen to hold. */
typedef struct survey {
    int64_t numbers, texts, missing;
    int64_t text_line, missing_line; /* the first of them */
    char text[48];
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
        s->numbers++;
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
    if (!s->numbers)
        return opt_fail(OPT_FAILED, "%s: line %lld: \"%s\" is no number, nor "
                        "is any value of \"%s\"", path,
                        (long long)s->text_line, s->text, name);
    return opt_fail(OPT_FAILED, "%s: line %lld: \"%s\" is no number, as %lld "
                    "of the %lld values of \"%s\" are", path,
                    (long long)s->text_line, s->text, (long long)s->numbers,
                    (long long)(s->numbers + s->texts), name);
}

static int too_many(const survey *s, const char *path, const char *name,
                    const char *then)
{
    bool most = s->words.count > MOST_WORDS;

    return opt_fail(OPT_FAILED, "%s: column \"%s\" has %s%d different words in "
                    "%lld rows; %s", path, name, most ? "more than " : "",
                    most ? MOST_WORDS : s->words.count,
                    (long long)(s->numbers + s->texts), then);
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
    if (s->texts && (s->words.count > MOST_WORDS ||
                     (s->words.count > FEW_WORDS && s->words.count > all / 2)))
        return too_many(s, path, name, "--ignore leaves the column out");
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

static int settle_target(coding *c, survey *s, const coding_wants *want,
                         const char *path)
{
    bool classes =
        want->task == CODING_CLASSES || (want->task == CODING_AUTO && s->texts);

    if (s->missing)
        return opt_fail(OPT_FAILED, "%s: line %lld, column \"%s\": the value "
                        "is missing, and this is the target (%lld such row%s)",
                        path, (long long)s->missing_line, want->target,
                        (long long)s->missing, opt_s(s->missing));
    if (s->texts &&
        (!classes || (want->task == CODING_AUTO && s->numbers > s->texts)))
        return mixed(s, path, want->target);
    if (classes && s->words.count > MOST_WORDS)
        return too_many(s, path, want->target, "no more classes are taken");
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
