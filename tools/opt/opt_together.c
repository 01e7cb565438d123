/* SPDX-License-Identifier: BSD-3-Clause */
/* Which options go together, as their rows say.  Silently ignored,
 * "--optimizer sgd --momentum 0.9" would be another experiment than its author
 * thinks. */
#include "opt/opt.h"

#include <stdio.h>
#include <string.h>

/* "linear, cosine and exponential": the words that an option is for. */
static void list_words(const opt *o, const opt *of, size_t size, char *out)
{
    const char *last = NULL;
    size_t at = 0;
    opt_word word;

    *out = 0;
    for (int i = 0; opt_word_at(of, i, &word) && at < size; i++) {
        if (!o->fits(word.value, o->name))
            continue;
        if (last)
            at += (size_t)snprintf(out + at, size - at, "%s%s",
                                   at ? ", " : "", last);
        last = word.word;
    }
    if (last && at < size)
        snprintf(out + at, size - at, "%s%s", at ? " and " : "", last);
}

/* An option that is for some words of another one. */
static int check_of(const opt_line *line, const opt *o, bool given)
{
    const opt *of = &line->program->option[opt_find(line->program, o->of)];
    char words[128], room[OPT_VALUE];
    bool quoted, fits;
    int64_t chosen;

    memcpy(&chosen, (const char *)of->settings + of->at, sizeof chosen);
    fits = o->fits(chosen, o->name);
    list_words(o, of, sizeof words, words);
    if (given && !fits)
        return opt_fail(OPT_WRONG, "--%s is for --%s %s", o->name, of->name,
                        words);
    if (fits && o->required && !given)
        return opt_fail(OPT_WRONG, "--%s %s needs --%s", of->name,
                        opt_value(of, room, &quoted), o->name);
    return OPT_GO;
}

static int check_one(const opt_line *line, int i)
{
    const opt *o = &line->program->option[i];
    bool given = line->given[i];

    if (given && o->needs && !opt_given(line, o->needs))
        return opt_fail(OPT_WRONG, "--%s needs --%s", o->name, o->needs);
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
