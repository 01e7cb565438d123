/* SPDX-License-Identifier: BSD-3-Clause */
/* See recorded.h.  The rows are those of lockstep-train. */
#define _GNU_SOURCE
#include "verify/recorded.h"
#include "run/run.h"
#include "train/train_settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char recorded_file[] = "file ";

/* A run that is not run has the rows of all options. */
const opt_program *recorded_trainer(void)
{
    static train_settings set;
    static run r;

    if (!r.program.count)
        run_program(&r, "",
                    &(run_own){train_report_options, train_keep_options, &set});
    return &r.program;
}

/* Row i, NULL past the last; rows of lockstep-train alone are left out of this
 * program's. */
static const opt *row_at(int i)
{
    const opt_program *p = recorded_trainer();

    return i < p->count             ? &p->option[i]
           : i < p->count + p->others ? p->other[i - p->count]
                                      : NULL;
}

const opt *recorded_row(const char *name)
{
    const opt *o, *was = NULL;

    if (strncmp(name, "--", 2) != 0)
        return NULL;
    name += 2;
    for (int i = 0; (o = row_at(i)); i++) {
        if (strcmp(o->name, name) == 0)
            return o;
        if (o->was && strcmp(o->was, name) == 0)
            was = o;
    }
    return was;
}

static bool has_parts(const opt *word)
{
    const opt *o;

    for (int i = 0; (o = row_at(i)); i++)
        if (opt_is_part_of(o, word))
            return true;
    return false;
}

/* The part of a word with a name of so many bytes; NULL: there is none. */
static const opt *part_of(const opt *word, const char *name, size_t bytes)
{
    const opt *o;

    for (int i = 0; (o = row_at(i)); i++)
        if (opt_is_part_of(o, word) && strlen(opt_own_name(o)) == bytes &&
            strncmp(opt_own_name(o), name, bytes) == 0)
            return o;
    return NULL;
}

static bool is_written(const opt *o, bool is_file)
{
    return o && opt_is_recorded(o) && o->is_file == is_file;
}

/* Are all parts of a word written, and what stands before them? */
static bool are_written(const opt *word, const char *text)
{
    const char *at = opt_word_end(text), *name;
    bool good = at == text || is_written(word, false);
    size_t bytes;

    while (good && opt_next_part(&at, &name, &bytes))
        good = is_written(part_of(word, name, bytes), false);
    return good;
}

bool recorded_option(const char *name, const char *value)
{
    size_t skipped = strlen(recorded_file);
    bool is_file = strncmp(name, recorded_file, skipped) == 0;
    const opt *o;

    name += is_file ? skipped : 0;
    o = recorded_row(name);
    if (!o || is_file || opt_is_part(o) || !has_parts(o))
        return is_written(o, is_file) &&
               (is_file || !opt_is_part(o) || strcmp(o->name, name + 2) != 0);
    return value && are_written(o, value);
}

/* "--schedule=:warmup=10" of "--warmup". */
static char *part_word(const opt *o, const char *value)
{
    char *twice = opt_doubled(value, ','), *word = NULL;
    bool flag = o->type == OPT_FLAG;

    if (twice && asprintf(&word, "--%.*s=:%s%s%s", opt_word_bytes(o), o->name,
                          opt_own_name(o), flag ? "" : "=",
                          flag ? "" : twice) < 0)
        word = NULL;
    free(twice);
    return word;
}

char *recorded_word(const char *name, const char *value)
{
    size_t skipped = strlen(recorded_file);
    bool is_file = strncmp(name, recorded_file, skipped) == 0;
    const opt *o = recorded_row(name + (is_file ? skipped : 0));
    char *twice, *word = NULL;

    if (opt_is_part(o))
        return part_word(o, value);
    twice = opt_doubled(value, is_file && has_parts(o) ? ':' : '\0');
    if (!twice || asprintf(&word, "--%s%s%s", o->name,
                           o->type == OPT_FLAG ? "" : "=",
                           o->type == OPT_FLAG ? "" : twice) < 0)
        word = NULL;
    free(twice);
    return word;
}
