/* SPDX-License-Identifier: BSD-3-Clause */
/* Words with parts, "cosine:warmup=100,end=1e-5": from text and back. */
#define _GNU_SOURCE
#include "opt/opt.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

bool opt_has_parts(const opt_program *p, const opt *word)
{
    for (int i = 0; i < p->count; i++)
        if (opt_is_part_of(&p->option[i], word))
            return true;
    return false;
}

const char *opt_keep(opt_program *p, const char *text)
{
    size_t n = strlen(text) + 1;
    char *copy = p->room + p->used;

    assert(n <= sizeof p->room - p->used);
    p->used += n;
    return memcpy(copy, text, n);
}

int opt_find_old(const opt_program *p, const char *name)
{
    for (int i = 0; i < p->count; i++)
        if (p->option[i].was && strcmp(p->option[i].was, name) == 0)
            return i;
    return -1;
}

/* ------ From text ------ */

/* Where a text ends: at `end`, unless it stands twice. */
static const char *end_of(const char *text, char end)
{
    while (*text && (*text != end || text[1] == end))
        text += *text == end ? 2 : 1;
    return text;
}

const char *opt_word_end(const char *text)
{
    return end_of(text, ':');
}

bool opt_next_part(const char **text, const char **name, size_t *bytes)
{
    if (!**text)
        return false;
    *name = *text + 1;
    *bytes = strcspn(*name, "=,");
    *text = (*name)[*bytes] == '=' ? end_of(*name + *bytes + 1, ',')
                                   : *name + *bytes;
    return true;
}

/* Keep a text up to `end` with what stands twice in it once; NULL after a
 * message. */
static const char *keep(opt_line *line, const opt *o, const char *text,
                        const char *end, char twice)
{
    char *kept = line->room + line->used, *to = kept;

    if ((size_t)(end - text) >= sizeof line->room - line->used) {
        opt_fail(OPT_WRONG, "--%s: the options are longer than %zu bytes",
                 o->name, sizeof line->room);
        return NULL;
    }
    for (; text < end; text++) {
        *to++ = *text;
        text += *text == twice;
    }
    *to++ = 0;
    line->used += (size_t)(to - kept);
    return kept;
}

const char *opt_keep_text(opt_line *line, const char *text)
{
    static const opt whole = {.name = "config"};

    return keep(line, &whole, text, text + strlen(text), '\0');
}

static int find_part(const opt_program *p, const opt *word, const char *name,
                     size_t bytes)
{
    for (int i = 0; i < p->count; i++) {
        const opt *o = &p->option[i];

        if (opt_is_part_of(o, word) && strlen(opt_own_name(o)) == bytes &&
            strncmp(opt_own_name(o), name, bytes) == 0)
            return i;
    }
    return -1;
}

/* Store a part whose name's end has "=value", up to where the next begins. */
static int take_value(opt_line *line, int i, const char *at, const char *end)
{
    const opt *o = &line->program->option[i];
    char room[OPT_ARG];

    if (!opt_takes(o, line->program->models[line->model]))
        return opt_foreign(line, o);
    if (o->type == OPT_FLAG && *at == '=')
        return opt_fail(OPT_WRONG, "--%s takes no value", o->name);
    if (o->type != OPT_FLAG && *at != '=')
        return opt_fail(OPT_WRONG, "--%s needs a value: %s=%s", o->name,
                        opt_own_name(o), opt_arg(o, room));
    line->given[i] = true;
    if (o->type == OPT_FLAG)
        return opt_store(o, NULL);
    at = keep(line, o, at + 1, end, ',');
    return at ? opt_store(o, at) : OPT_WRONG;
}

static int take_parts(opt_line *line, const opt *word, const char *text)
{
    const char *name;
    bool seen[OPT_MAX] = {false};
    int status = OPT_GO;
    size_t bytes;

    while (status == OPT_GO && opt_next_part(&text, &name, &bytes)) {
        int i = find_part(line->program, word, name, bytes);
        char shown[OPT_VALUE];

        snprintf(shown, sizeof shown, "%.*s", (int)bytes, name);
        if (i < 0)
            return opt_unknown_part(line, word, shown);
        if (seen[i])
            return opt_fail(OPT_WRONG, "--%s is there twice",
                            line->program->option[i].name);
        seen[i] = true;
        status = take_value(line, i, name + bytes, text);
    }
    return status;
}

int opt_take_word(opt_line *line, int i, const char *text)
{
    const opt *o = &line->program->option[i];
    const char *end, *word;
    int status = OPT_GO;

    if (o->type == OPT_FLAG || !opt_has_parts(line->program, o)) {
        line->given[i] = true;
        return opt_store(o, text);
    }
    end = opt_word_end(text);
    if (end > text || !*end) {
        word = keep(line, o, text, end, ':');
        line->given[i] = true;
        status = word ? opt_store(o, word) : OPT_WRONG;
    }
    return status == OPT_GO ? take_parts(line, o, end) : status;
}

/* ------ To text ------ */

static void put_doubled(FILE *f, const char *text, char twice)
{
    for (; *text; text++) {
        if (*text == twice)
            putc(twice, f);
        putc(*text, f);
    }
}

char *opt_doubled(const char *text, char twice)
{
    char *out = NULL;
    size_t bytes;
    FILE *f = open_memstream(&out, &bytes);

    if (!f)
        return NULL;
    put_doubled(f, text, twice);
    if (fclose(f) == 0)
        return out;
    free(out);
    return NULL;
}

static void put_part(FILE *f, const opt *o, const char *before)
{
    char room[OPT_VALUE];
    bool quoted;
    const char *value = opt_value(o, room, &quoted);

    if (!value || (o->type == OPT_FLAG && !opt_is_on(o)))
        return;
    fprintf(f, "%s%s", before, opt_own_name(o));
    if (o->type == OPT_FLAG)
        return;
    putc('=', f);
    put_doubled(f, value, ',');
}

char *opt_spelt(const opt_line *line, int i, opt_wanted *wanted)
{
    const opt_program *p = line->program;
    const opt *word = &p->option[i];
    char room[OPT_VALUE], *out = NULL;
    bool quoted, parts = opt_has_parts(p, word);
    const char *value = wanted(line, i) ? opt_value(word, room, &quoted) : NULL;
    size_t bytes;
    FILE *f = open_memstream(&out, &bytes);
    long head;

    if (!f)
        return NULL;
    if (value)
        put_doubled(f, value, parts ? ':' : '\0');
    head = ftell(f);
    for (int k = 0; parts && k < p->count; k++)
        if (opt_is_part_of(&p->option[k], word) && wanted(line, k))
            put_part(f, &p->option[k], ftell(f) == head ? ":" : ",");
    if (fclose(f) == 0)
        return out;
    free(out);
    return NULL;
}
