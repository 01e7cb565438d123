/* SPDX-License-Identifier: BSD-3-Clause */
/* Combinations of options, as their rows allow them.  Silently ignored,
 * "--optimizer sgd --momentum 0.9" would be another experiment than its author
 * thinks. */
#include "opt/opt.h"

#include <stdio.h>
#include <string.h>

/* "linear, cosine and exponential": the words that an option is for. */
static void list_words(const opt *o, const opt *of, size_t size, char *out)
{
    const char *last = NULL;
    opt_word word;

    *out = 0;
    for (int i = 0; opt_word_at(of, i, &word); i++) {
        if (!o->fits(word.value, o->name))
            continue;
        if (last)
            opt_append(out, size, ", ", "%s", last);
        last = word.word;
    }
    if (last)
        opt_append(out, size, " and ", "%s", last);
}

bool opt_is_of_chosen(const opt_line *line, const opt *o)
{
    const opt *of = o->of ? &line->program->option[opt_find(line->program,
                                                            o->of)] : NULL;
    int64_t chosen;

    if (!of)
        return true;
    memcpy(&chosen, (const char *)of->settings + of->at, sizeof chosen);
    return o->fits(chosen, o->name);
}

/* An option that is for some words of another one. */
static int check_of(const opt_line *line, const opt *o, bool given)
{
    const opt *of = &line->program->option[opt_find(line->program, o->of)];
    char words[128], room[OPT_VALUE];
    bool quoted, fits = opt_is_of_chosen(line, o);

    list_words(o, of, sizeof words, words);
    if (given && !fits)
        return opt_fail(OPT_WRONG, "--%s is for --%s %s", o->name, of->name,
                        words);
    if (fits && o->required && !given)
        return opt_fail(OPT_WRONG, "--%s %s needs --%s", of->name,
                        opt_value(of, room, &quoted), o->name);
    return OPT_GO;
}

/* Has the line one of the options that an option needs? names: "--a or --b", of
 * those that the chosen model and words have. */
static bool has_needed(const opt_line *line, const opt *o, size_t size,
                       char *names)
{
    const opt_program *p = line->program;
    bool has = false;

    *names = 0;
    for (const char *one = o->needs; one; one = strchr(one, '|')) {
        char name[OPT_VALUE];
        int i;

        one += *one == '|';
        snprintf(name, sizeof name, "%.*s", (int)strcspn(one, "|"), one);
        i = opt_find(p, name);
        if (i < 0 || !opt_takes(&p->option[i], p->models[line->model]) ||
            !opt_is_of_chosen(line, &p->option[i]))
            continue;
        has |= o->needs_value ? opt_is_on(&p->option[i]) : line->given[i];
        opt_append(names, size, " or ", "--%s", name);
    }
    return has;
}

bool opt_has_needed(const opt_line *line, const opt *o)
{
    char names[128];

    return !o->needs || has_needed(line, o, sizeof names, names);
}

/* One of its model and its words, or else --help shows what there is. */
static int check_needs(const opt_line *line, const opt *o)
{
    char names[128];

    if (has_needed(line, o, sizeof names, names))
        return OPT_GO;
    if (!*names)
        return opt_fail(OPT_WRONG, "--%s has no effect on %s", o->name,
                        line->program->models[line->model]->name);
    if (line->paths && !strcmp(names, "--data"))
        return opt_fail(OPT_WRONG, "unexpected argument \"%s\": type --data %s",
                        line->path[0], line->path[0]);
    return opt_fail(OPT_WRONG, "--%s needs %s%s", o->name, names,
                    o->needs_value ? " above 0" : "");
}

static int check_one(const opt_line *line, int i)
{
    const opt *o = &line->program->option[i];
    bool given = line->given[i];

    if (given && o->needs && !o->needs_value && check_needs(line, o) != OPT_GO)
        return OPT_WRONG;
    if (given && o->not_with && opt_given(line, o->not_with))
        return opt_fail(OPT_WRONG, "--%s and --%s exclude each other",
                        o->name, o->not_with);
    return o->of ? check_of(line, o, given) : OPT_GO;
}

int opt_check_together(const opt_line *line)
{
    const opt_program *p = line->program;
    int status = OPT_GO;

    for (int i = 0; i < p->count && status == OPT_GO; i++)
        if (opt_takes(&p->option[i], p->models[line->model]))
            status = check_one(line, i);
    return status;
}

int opt_check_values(const opt_line *line)
{
    const opt_program *p = line->program;
    int status = OPT_GO;

    for (int i = 0; i < p->count && status == OPT_GO && !line->repeats; i++)
        if (line->given[i] && p->option[i].needs_value)
            status = check_needs(line, &p->option[i]);
    return status;
}

int opt_refuse(const opt_line *line, unsigned marks, const char *why)
{
    const opt_program *p = line->program;

    for (int i = 0; i < p->count; i++)
        if (line->given[i] && (p->option[i].marks & marks) &&
            opt_is_on(&p->option[i]))
            return opt_fail(OPT_WRONG, "--%s%s", p->option[i].name, why);
    return OPT_GO;
}

int opt_refuse_idle(const opt_line *line, unsigned marks, const char *why)
{
    return line->repeats ? OPT_GO : opt_refuse(line, marks, why);
}

int opt_refuse_others(const opt_line *line, unsigned marks, const char *what)
{
    const opt_program *p = line->program;

    for (int i = 0; i < p->count; i++)
        if (line->given[i] && !(p->option[i].marks & marks))
            return opt_fail(OPT_WRONG, "--%s has no part in %s",
                            p->option[i].name, what);
    return OPT_GO;
}
