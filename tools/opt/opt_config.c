/* SPDX-License-Identifier: BSD-3-Clause */
/* A command line as a file of JSON: {"model":"table","lr":0.04,..,"defaults":
 * {..}}, an option a member, with its parts in the one spelling. */
#include "opt/characters.h"
#include "opt/opt.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

/* ------ Writing ------ */

/* Paths may hold any byte, JSON only UTF-8: a byte that is no character is
 * written as if it were Latin-1. */
static void put_text(FILE *file, const char *text)
{
    const unsigned char *p = (const unsigned char *)text;

    fputc('"', file);
    while (*p) {
        int n = character_bytes((const char *)p);

        if (n == 0 || *p < 0x20 || *p == '"' || *p == '\\')
            fprintf(file, "\\u%04x", *p);
        else
            fwrite(p, 1, (size_t)n, file);
        p += n ? n : 1;
    }
    fputc('"', file);
}

/* "model" is the model's name in such a file: an option of that name, which is
 * of a file, has another. */
static const char FILE_OF_MODEL[] = "model file";

static const char *member_name(const opt *o)
{
    return strcmp(o->name, "model") ? o->name : FILE_OF_MODEL;
}

int opt_put_options(FILE *file, const opt_line *line, opt_wanted *wanted,
                    const char *before, const char *between)
{
    for (int i = 0; i < line->program->count; i++) {
        const opt *o = &line->program->option[i];
        char room[OPT_VALUE], *spelt;
        bool quoted;
        const char *value = opt_value(o, room, &quoted);

        if (opt_is_part(o))
            continue;
        if (!(spelt = opt_spelt(line, i, wanted)))
            return opt_no_memory("the options of a file");
        if (*spelt) {
            fprintf(file, "%s\"%s\":", before, member_name(o));
            if (quoted || !value || strcmp(spelt, value) != 0)
                put_text(file, spelt);
            else
                fputs(value, file);
            before = between;
        }
        free(spelt);
    }
    return OPT_GO;
}

/* Options that are about this file are not in it. */
static bool is_kept(const opt_line *line, int i)
{
    const opt *o = &line->program->option[i];

    return opt_takes(o, line->program->models[line->model]) &&
           strcmp(o->name, "config") != 0 &&
           strcmp(o->name, "print-config") != 0;
}

static bool is_given(const opt_line *line, int i)
{
    return line->given[i] && is_kept(line, i);
}

/* A default that is of use beside what was given. */
static bool is_default(const opt_line *line, int i)
{
    const opt *o = &line->program->option[i];

    return !line->given[i] && is_kept(line, i) && opt_is_of_chosen(line, o) &&
           opt_has_needed(line, o) &&
           (!o->not_with || !opt_given(line, o->not_with));
}

int opt_print_config(const opt_line *line)
{
    int status;

    printf("{\"model\":\"%s\"", line->program->models[line->model]->name);
    status = opt_put_options(stdout, line, is_given, ",\n ", ",\n ");
    printf(",\n \"defaults\":{\n  ");
    if (status == OPT_GO)
        status = opt_put_options(stdout, line, is_default, "", ",\n  ");
    puts("}}");
    return opt_end(status == OPT_GO ? OPT_DONE : status);
}

/* ------ Reading ------ */

static int wrong(const char *path, const char *name, const char *what)
{
    return opt_fail(OPT_WRONG, "--config: %s: \"%s\" %s", path, name, what);
}

/* Take a member as the command line would; a text stays in the line's room. */
static int take(opt_line *line, const char *path, const char *name,
                const json_t *value)
{
    const opt_program *p = line->program;
    const char *option = strcmp(name, FILE_OF_MODEL) ? name : "model";
    int i = strchr(name, ':') ? -1 : opt_find(p, option);
    const char *text = json_string_value(value);
    char *number = NULL;

    if (i < 0 || !opt_takes(&p->option[i], p->models[line->model]))
        return wrong(path, name, "is no option of the model");
    if (json_is_false(value) && p->option[i].type == OPT_FLAG)
        return OPT_GO;
    if (json_is_true(value) && p->option[i].type == OPT_FLAG)
        return opt_take_word(line, i, NULL);
    if (p->option[i].type == OPT_FLAG)
        return wrong(path, name, "is neither true nor false");
    if (json_is_number(value))
        text = number = json_dumps(value, JSON_ENCODE_ANY);
    if (!text)
        return wrong(path, name, "is neither a text nor a number");
    text = opt_keep_text(line, text);
    free(number);
    return text ? opt_take_word(line, i, text) : OPT_WRONG;
}

/* Take all members but those with a meaning of their own. */
static int take_all(opt_line *line, const char *path, json_t *all)
{
    const char *name;
    json_t *value;
    int status = OPT_GO;

    json_object_foreach (all, name, value)
        if (status == OPT_GO && strcmp(name, "model") != 0 &&
            strcmp(name, "defaults") != 0)
            status = take(line, path, name, value);
    return status;
}

static json_t *load(const char *path)
{
    json_error_t error;
    json_t *all = json_load_file(path, JSON_REJECT_DUPLICATES, &error);

    if (all && json_is_object(all))
        return all;
    opt_fail(OPT_FAILED, "--config: %s: %s", path,
             all ? "is no object of JSON" : error.text);
    json_decref(all);
    return NULL;
}

int opt_config_model(const char *path, char model[OPT_VALUE])
{
    json_t *all = load(path);
    const char *name = json_string_value(json_object_get(all, "model"));

    if (!all)
        return OPT_FAILED;
    snprintf(model, OPT_VALUE, "%s", name ? name : "");
    json_decref(all);
    return *model ? OPT_GO : wrong(path, "model", "is not there");
}

/* The defaults are stored and count as none that was given. */
int opt_read_config(opt_line *line, const char *path)
{
    const char *is = line->program->models[line->model]->name;
    char named[OPT_VALUE];
    bool given[OPT_MAX];
    json_t *all;
    int status = opt_config_model(path, named);

    if (status != OPT_GO)
        return status;
    if (strcmp(named, is) != 0)
        return wrong(path, named, "is its model, and another one is named");
    if (!(all = load(path)))
        return OPT_FAILED;
    memcpy(given, line->given, sizeof given);
    status = take_all(line, path, json_object_get(all, "defaults"));
    memcpy(line->given, given, sizeof given);
    if (status == OPT_GO)
        status = take_all(line, path, all);
    json_decref(all);
    return status;
}
