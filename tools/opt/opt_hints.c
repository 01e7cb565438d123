/* SPDX-License-Identifier: BSD-3-Clause */
/* Suggestions for an unknown name: names that begin with it, else the nearest
 * one by edit distance. */
#include "opt/opt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------ The nearest ------ */

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Levenshtein's edit distance, one row at a time. */
static int distance(const char *a, const char *b)
{
    enum { LONG = 32 };
    int row[LONG + 1], n = (int)strlen(b);

    if (strlen(a) > LONG || n > LONG)
        return LONG;
    for (int j = 0; j <= n; j++)
        row[j] = j;
    for (int i = 1; a[i - 1]; i++) {
        int corner = row[0];

        row[0] = i;
        for (int j = 1; j <= n; j++) {
            int put = corner + (a[i - 1] != b[j - 1]);

            corner = row[j];
            row[j] = least(put, least(row[j], row[j - 1]) + 1);
        }
    }
    return row[n];
}

/* The best of the names that were shown to it. */
typedef struct hint {
    const char *text; /* that is no name */
    const char *found;
    int best;
    int begun;      /* names that begin with the text, */
    char list[128]; /* the first few of them */
} hint;

/* Beyond a third of its letters a word is another word. */
static hint hint_for(const char *text)
{
    return (hint){.text = text, .best = 2 + (int)strlen(text) / 3};
}

static void show(hint *h, const char *dashes, const char *name)
{
    enum { FEW = 4 };
    size_t n = strlen(h->text);
    int d = distance(h->text, name);

    if (n >= 2 && strncmp(name, h->text, n) == 0 && h->begun++ < FEW)
        opt_append(h->list, sizeof h->list, " or ", "%s%s", dashes, name);
    if (d < h->best) {
        h->best = d;
        h->found = name;
    }
}

/* ------ The messages ------ */

void opt_takers(const opt_program *p, const opt *o, size_t size, char *out)
{
    int n = 0;

    *out = 0;
    for (int i = 0; i < p->model_count; i++)
        if (opt_takes(o, p->models[i]) && ++n)
            opt_append(out, size, ", ", "%s", p->models[i]->name);
    if (n == p->model_count)
        *out = 0;
}

int opt_foreign(const opt_line *line, const opt *o)
{
    char names[128];

    opt_takers(line->program, o, sizeof names, names);
    return opt_fail(OPT_WRONG, "--%s is not an option of %s (it is for %s)",
                    o->name, line->program->models[line->model]->name, names);
}

/* The program that has this option, as this one has not; NULL: none. */
static const char *whose(const opt_program *p, const char *name)
{
    for (int i = 0; i < p->others; i++)
        if (strcmp(p->other[i]->name, name) == 0)
            return p->other[i]->only;
    return NULL;
}

/* Does a help have the words of a name, "learning rate", or begin with its only
 * one, "threads"? */
static bool is_told(const char *help, const char *words)
{
    size_t n = strlen(words);

    return strchr(words, ' ') ? strstr(help, words) != NULL
                              : !strncmp(help, words, n) &&
                                    strcspn(help, " ,;:") == n && n > 2;
}

/* An option that begins a name, as --batch does "batch-size", or has it in its
 * help; NULL: none. */
static const char *related(const opt_program *p, const opt_model *model,
                           const char *name)
{
    char words[OPT_VALUE];

    snprintf(words, sizeof words, "%s", name);
    for (char *at = words; (at = strchr(at, '-'));)
        *at = ' ';
    for (int i = 0; i < p->count; i++) {
        const opt *o = &p->option[i];
        size_t n = strlen(o->name);

        if (opt_takes(o, model) && !opt_is_part(o) &&
            ((strncmp(name, o->name, n) == 0 && name[n] == '-') ||
             is_told(o->help, words)))
            return o->name;
    }
    return NULL;
}

/* What was an option once, and is a part of a word. */
static int tell_part(const opt *o, const char *name, const char *value)
{
    bool flag = o->type == OPT_FLAG;
    char *twice = opt_doubled(value ? value : o->arg ? o->arg : "VALUE", ',');
    int status = opt_fail(OPT_WRONG, "--%s is a part of --%.*s: type --%.*s "
                          ":%s%s%s", name, opt_word_bytes(o), o->name,
                          opt_word_bytes(o), o->name, opt_own_name(o),
                          flag ? "" : "=", flag || !twice ? "" : twice);

    free(twice);
    return status;
}

/* What a word of an option, or its part of that name, became; 0: nothing. */
static int tell_gone(const opt *o, const char *name)
{
    for (const opt_gone *g = o->type == OPT_TEXT ? o->gone : NULL; g && g->word;
         g++)
        if (strcmp(g->word, name) == 0)
            return opt_fail(OPT_WRONG, "--%s:%s is no more: %s", o->name, name,
                            g->instead);
    return 0;
}

/* "schedule:warmup", as messages have it, or an old name. */
static int part_named(const opt_program *p, const char *name)
{
    return strchr(name, ':') ? opt_find(p, name) : opt_find_old(p, name);
}

int opt_unknown_part(const opt_line *line, const opt *word, const char *name)
{
    const opt_program *p = line->program;
    char list[512] = "";
    int status = tell_gone(word, name);

    if (status)
        return status;
    for (int i = 0; i < p->count; i++)
        if (opt_is_part_of(&p->option[i], word) &&
            opt_takes(&p->option[i], p->models[line->model]))
            opt_append(list, sizeof list, ", ", "%s",
                       opt_own_name(&p->option[i]));
    return opt_fail(OPT_WRONG, "--%s: \"%s\" is none of its parts: %s%s",
                    word->name, name, list,
                    word->type == OPT_TEXT ? "; a ':' in a name stands twice"
                                           : "");
}

/* An extra or missing letter is likelier than half a word that was left out. */
int opt_unknown_option(const opt_line *line, const char *name,
                       const char *value)
{
    const opt_program *p = line->program;
    const opt_model *model = p->models[line->model];
    hint h = hint_for(name);
    int part = part_named(p, name);
    const char *near;

    for (int i = 0; i < p->count; i++) { /* --init-layout, of old */
        size_t n = strlen(p->option[i].name);
        int status = strncmp(name, p->option[i].name, n) == 0 && name[n] == '-'
                         ? tell_gone(&p->option[i], name + n + 1) : 0;

        if (status)
            return status;
    }
    if (part >= 0)
        return tell_part(&p->option[part], name, value);
    if (whose(p, name))
        return opt_fail(OPT_WRONG, "unknown option --%s; it is one of %s",
                        name, whose(p, name));
    show(&h, "--", "help");
    show(&h, "--", "version");
    for (int i = 0; i < p->count; i++)
        if (opt_takes(&p->option[i], model) && !opt_is_part(&p->option[i]))
            show(&h, "--", p->option[i].name);
    near = related(p, model, name);
    if (near && h.best > 1 && !h.begun)
        h.found = near;
    if (h.found && (h.best <= 1 || !h.begun))
        return opt_fail(OPT_WRONG, "unknown option --%s; did you mean --%s?",
                        name, h.found);
    if (h.begun)
        return opt_fail(OPT_WRONG, "unknown option --%s; did you mean %s?",
                        name, h.list);
    return opt_fail(OPT_WRONG, "unknown option --%s; see %s%s%s --help", name,
                    opt_program_name, opt_is_bare(p) ? "" : " ", model->name);
}

int opt_unknown_model(const opt_program *p, const char *name)
{
    hint h = hint_for(name);

    if (*name == '-')
        return opt_fail(OPT_WRONG, "the model comes first: %s MODEL [options]; "
                        "see %s --help", opt_program_name, opt_program_name);
    for (int i = 0; i < p->model_count; i++)
        show(&h, "", p->models[i]->name);
    if (h.found)
        return opt_fail(OPT_WRONG, "unknown model \"%s\"; did you mean %s?",
                        name, h.found);
    return opt_fail(OPT_WRONG, "unknown model \"%s\"; see %s --help", name,
                    opt_program_name);
}
