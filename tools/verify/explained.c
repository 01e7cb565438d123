/* SPDX-License-Identifier: BSD-3-Clause */
/* See explained.h.  All words of the file go through `say`, as it may be
 * anybody's; only the end of a format ends a line. */
#define _GNU_SOURCE
#include "verify/explained.h"
#include "opt/characters.h"
#include "opt/opt.h"
#include "verify/recorded.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((format(printf, 1, 2)))
static void say(const char *format, ...)
{
    bool ends = format[strlen(format) - 1] == '\n';
    char *text = NULL;
    va_list args;

    va_start(args, format);
    if (vasprintf(&text, format, args) >= 0) {
        text[strlen(text) - ends] = 0;
        characters_print(stdout, text);
    }
    va_end(args);
    if (ends)
        putchar('\n');
    free(text);
}

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text ? text : "";
}

static int64_t count_of(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

static double double_of(const json_t *line, const char *name)
{
    uint64_t bits = strtoull(text_of(line, name), NULL, 16);
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* ------ */

static void tell_run(const published *p)
{
    const ls_transcript_facts *f = &p->facts;
    int64_t devices = count_of(p->head, "devices");

    say("%s commits a training by %s to its bits: lockstep %s, version %" PRId64
        " of the contract, %" PRId64 " device%s, %" PRId64 " batch%s.",
        p->path, text_of(p->head, "program"), f->lockstep,
        count_of(p->head, "bits"), devices, opt_s(devices), f->batches,
        opt_es(f->batches));
    puts(f->is_whole ? "" : "\nIt is incomplete: it has no end.");
    if (*p->own)
        say("Its program did something by itself (event %s), so that nobody "
            "else can train it again.\n", p->own);
}

static void tell_data(const published *p)
{
    const json_t *all = json_object_get(p->head, "data");
    json_t *one;
    size_t i;

    if (json_array_size(all) == 0) {
        const char *seed = published_option(p, "--data-seed");

        say("It read no file: its data is generated from %s%s.\n",
            seed ? "--data-seed " : "the seed that is the model's default",
            seed ? seed : "");
        return;
    }
    puts("It read these files; their digests are those that whoever wrote the "
         "transcript put there:");
    json_array_foreach (all, i, one)
        say("    %-12s %s, %" PRId64 " bytes, SHA-256 %s\n",
            text_of(one, "role"), text_of(one, "name"), count_of(one, "bytes"),
            text_of(one, "sha256"));
}

static void tell_options(const json_t *options, const char *what)
{
    const char *name;
    json_t *value;

    say("%s", what);
    json_object_foreach ((json_t *)options, name, value)
        if (strncmp(name, "--", 2) == 0)
            say(" %s %s", name, json_string_value(value));
    putchar('\n');
}

/* Does a word have a part of that name? */
static bool has_part(const char *text, const char *part)
{
    const char *name;
    size_t bytes;

    text = opt_word_end(text);
    while (opt_next_part(&text, &name, &bytes))
        if (strlen(part) == bytes && strncmp(part, name, bytes) == 0)
            return true;
    return false;
}

/* Transcripts of old have parts as options. */
static bool is_given(const published *p, const opt *o)
{
    char name[OPT_VALUE], was[OPT_VALUE];
    const char *word;

    snprintf(name, sizeof name, "--%.*s", opt_word_bytes(o), o->name);
    snprintf(was, sizeof was, "--%s", o->was ? o->was : "");
    word = published_option(p, name);
    return published_option(p, was) ||
           (word && (!opt_is_part(o) || has_part(word, opt_own_name(o))));
}

/* Tells the options that were not given, as they decide as much. */
static void tell_defaults(const published *p)
{
    const opt_program *trainer = recorded_trainer();
    const char *name = published_trains(p);
    const opt_model *model = NULL;

    for (int i = 0; name && i < trainer->model_count; i++)
        if (strcmp(trainer->models[i]->name, name) == 0)
            model = trainer->models[i];
    if (!model)
        return;
    printf("Options with their defaults (of lockstep %s):", ls_version());
    for (int i = 0; i < trainer->count; i++) {
        const opt *o = &trainer->option[i];
        const char *start = opt_default(o, model);

        if (opt_takes(o, model) && opt_is_recorded(o) && !o->is_file &&
            *start && !is_given(p, o))
            printf(" --%s %s", o->name, start);
    }
    putchar('\n');
}

static void tell_parts(const published *p)
{
    for (int i = 1; i < p->parts; i++) {
        char what[80];

        snprintf(what, sizeof what, "After %" PRId64 " batch%s it went on "
                 "with:", p->part[i].first, opt_es(p->part[i].first));
        tell_options(p->part[i].options, what);
    }
}

static void tell_beginning(const published *p)
{
    const char *seed = published_option(p, "--seed");

    if (published_option(p, "file --init"))
        puts("It began with the parameters of --init.");
    else
        say("It began with the first values of --seed %s.\n",
            seed ? seed : "(its default)");
    if (p->chosen)
        say("Its options were chosen by a search: %s tried, seed %s. What else "
            "was tried by hand no transcript can show.\n",
            text_of(p->chosen, "tried"), text_of(p->chosen, "seed"));
}

static void tell_evaluation(const published *p)
{
    const char *valid = published_option(p, "--valid");

    if (!p->evaluations) {
        puts("It was not evaluated.");
        return;
    }
    say("It was evaluated %" PRId64 " time%s on ", p->evaluations,
        opt_s(p->evaluations));
    if (published_option(p, "file --eval-data") ||
        published_option(p, "file --eval-x"))
        say("files of its own.\n");
    else if (valid)
        say("a share of %s of the rows, which was held back.\n", valid);
    else
        say("what its model holds back.\n");
}

static void tell_model(const published *p)
{
    const ls_transcript_facts *f = &p->facts;

    if (!*f->model) {
        puts("It names no model.");
        return;
    }
    printf("The model is what the weights were after %" PRId64 " batch%s",
           p->saved, opt_es(p->saved));
    if (p->best && p->saved_by < p->evaluations)
        printf(", the best of the evaluations: %" PRId64 " of %" PRId64,
               p->saved_by, p->evaluations);
    else if (p->best)
        printf(", evaluation %" PRId64 " of %" PRId64, p->saved_by,
               p->evaluations);
    if (p->best)
        printf(" (loss %.6g", double_of(p->best, "loss"));
    if (p->best && double_of(p->best, "accuracy") >= 0)
        printf(", accuracy %.6g", double_of(p->best, "accuracy"));
    if (p->best)
        putchar(')');
    say(". SHA-256 of its file: %s; of what it holds: %s.\n", f->model,
        f->contents);
}

/* Tell of a signature; only with a key that somebody trusts is it good. */
static void tell_signature(const published *p)
{
    static const char *const ends[] = {".sig", ".sigstore"};
    bool any = false;

    for (int i = 0; i < 2; i++) {
        char *path = NULL;

        if (asprintf(&path, "%s%s", p->path, ends[i]) >= 0 &&
            access(path, F_OK) == 0) {
            any = true;
            say("%s lies beside it: %s says whose it is.\n", path,
                i ? "cosign verify-blob" : "ssh-keygen -Y verify -n lockstep");
        }
        free(path);
    }
    if (!any)
        puts("It is unsigned: who wrote it, and when, nothing here says.");
}

void explained_print(const published *p)
{
    tell_run(p);
    tell_data(p);
    tell_options(p->part[0].options, "Options that were given:");
    tell_defaults(p);
    tell_parts(p);
    tell_beginning(p);
    tell_evaluation(p);
    tell_model(p);
    tell_signature(p);
    puts("Nothing was compared: lockstep-verify without --explain does.");
}
