/* SPDX-License-Identifier: BSD-3-Clause */
/* --help and --version, from the rows. */
#include "opt/opt.h"

#include <lockstep.h>

#include <stdio.h>
#include <string.h>

enum { LEFT = 26, WIDTH = 80 };

static void help_models(const opt_program *p)
{
    puts("\nModels:");
    for (int i = 0; i < p->model_count; i++)
        printf("  %-10s %s\n", p->models[i]->name, p->models[i]->about);
}

/* A text from a column on, its lines within WIDTH. */
static void wrap(int left, const char *text)
{
    int column = left;

    while (*text) {
        int n = (int)strcspn(text, " ");

        if (column > left && column + 1 + n > WIDTH)
            column = printf("\n%*s", left, "") - 1;
        else if (column > left)
            column += printf(" ");
        column += printf("%.*s", n, text);
        text += n + (text[n] == ' ');
    }
    putchar('\n');
}

/* "sgd|adam", on another line from a word on that does not fit; gives the
 * column after it. */
static int put_arg(int column, const char *arg)
{
    int begin = column;

    while (*arg) {
        int n = (int)strcspn(arg, "|");

        n += arg[n] == '|';
        if (column > begin && column + n > WIDTH)
            column = printf("\n%*s", begin, "") - 1;
        column += printf("%.*s", n, arg);
        arg += n;
    }
    return column;
}

/* "  --steps N          text", the text on lines of its own when the left side
 * is long; "    :warmup=N        text" of a part. */
static void help_line(const char *name, const char *arg, const char *text)
{
    const char *part = strchr(name, ':');
    int n = part ? printf("    %s%s", part, arg ? "=" : "")
                 : printf("  --%s%s", name, arg ? " " : "");

    if (arg)
        n = put_arg(n, arg);
    if (n >= LEFT)
        printf("\n%*s", LEFT, "");
    else
        printf("%*s", LEFT - n, "");
    wrap(LEFT, text);
}

/* "cosine, linear" where an option is for some words of another one. */
static void put_words(const opt_program *p, const opt *o, size_t size,
                      char *out)
{
    const opt *of = o->of ? &p->option[opt_find(p, o->of)] : NULL;
    opt_word word;

    *out = 0;
    for (int i = 0; of && opt_word_at(of, i, &word); i++)
        if (o->fits(word.value, o->name))
            opt_append(out, size, ", ", "%s", word.word);
}

/* Print an option; behind the text, in parentheses, stands its default for a
 * model, else the models that take it. */
static void option_line(const opt_program *p, const opt *o,
                        const opt_model *model)
{
    char text[512], room[OPT_ARG], names[128];
    const char *end = model ? opt_default(o, model) : names;

    if (!model)
        opt_takers(p, o, sizeof names, names);
    put_words(p, o, sizeof text, text);
    opt_append(text, sizeof text, ": ", *end ? "%s (%s)" : "%s", o->help, end);
    help_line(o->name, opt_arg(o, room), text);
}

/* Is a row that of an option which the model, or any, takes? */
static bool is_option(const opt *o, const opt_model *model)
{
    return !opt_is_part(o) && (!model || opt_takes(o, model));
}

static bool is_of(const opt *o, const char *group)
{
    return o->group && strcmp(o->group, group) == 0;
}

/* Options of a group, NULL: all, of a word its parts behind it. */
static void option_lines(const opt_program *p, const opt_model *model,
                         const char *group)
{
    for (int i = 0; i < p->count; i++) {
        const opt *word = &p->option[i];

        if (!is_option(word, model) || (group && !is_of(word, group)))
            continue;
        option_line(p, word, model);
        for (int k = 0; k < p->count; k++)
            if (opt_is_part_of(&p->option[k], word) &&
                (!model || opt_takes(&p->option[k], model)))
                option_line(p, &p->option[k], model);
    }
}

/* ------ What most people need ------ */

/* The i-th group, in the order of the rows; NULL past the last. */
static const char *group_at(const opt_program *p, int i)
{
    for (int k = 0; k < p->count; k++) {
        const char *group = p->option[k].group;
        int before = 0;

        while (group && before < k && !is_of(&p->option[before], group))
            before++;
        if (group && before == k && i-- == 0)
            return group;
    }
    return NULL;
}

bool opt_is_topic(const opt_program *p, const char *word)
{
    bool found = strcmp(word, "all") == 0;
    const char *group;

    for (int i = 0; !found && (group = group_at(p, i)); i++)
        found = strcmp(word, group) == 0;
    return found;
}

static bool is_first(const opt *o, const opt_model *model)
{
    return is_option(o, model) &&
           (!o->group || o->first == 1 || (model && o->first == 2));
}

static void first_lines(const opt_program *p, const opt_model *model)
{
    char text[512], room[OPT_ARG];

    puts("\nWhat is needed most:");
    for (int i = 0; i < p->count; i++) {
        const opt *o = &p->option[i];
        const char *start = model ? opt_default(o, model) : "";

        if (!is_first(o, model))
            continue;
        snprintf(text, sizeof text, *start ? "%s (%s)" : "%s", o->help, start);
        help_line(o->name, opt_arg(o, room), text);
    }
}

/* "  data       --x --y ..": a group's other options, by name. */
static void group_line(const opt_program *p, const opt_model *model,
                       const char *group)
{
    enum { NAMES = 13 };
    char text[1024] = "";

    for (int i = 0; i < p->count; i++) {
        const opt *o = &p->option[i];

        if (is_option(o, model) && !is_first(o, model) &&
            strcmp(o->group, group) == 0)
            opt_append(text, sizeof text, " ", "--%s", o->name);
    }
    if (!*text)
        return;
    printf("  %-*s", NAMES - 2, group);
    wrap(NAMES, text);
}

static void group_lines(const opt_program *p, const opt_model *model)
{
    const char *group;

    if (model) {
        printf("\nMore; %s %s --help GROUP, or --help all:\n",
               opt_program_name, model->name);
        for (int i = 0; (group = group_at(p, i)); i++)
            group_line(p, model, group);
        return;
    }
    printf("\n%s MODEL --help, and --help GROUP of", opt_program_name);
    for (int i = 0; (group = group_at(p, i)); i++)
        printf("%s%s", i ? ", " : "\n", group);
    puts(", all");
}

int opt_help(const opt_program *p, int i, const char *topic)
{
    const opt_model *model = i < 0 ? NULL : p->models[i];
    bool brief = !topic && group_at(p, 0);
    const char *group = topic && strcmp(topic, "all") ? topic : NULL;

    printf("Usage: %s%s%s%s%s [options]\n%s\n", opt_program_name,
           opt_is_bare(p) ? "" : " ", model ? model->name : "MODEL",
           p->args ? " " : "", p->args ? p->args : "",
           model ? model->about : p->about);
    if (!model && !group)
        help_models(p);
    else if (model && model->note && !group)
        printf("\n%s\n", model->note);
    if (brief) {
        first_lines(p, model);
        group_lines(p, model);
        return opt_end(OPT_DONE);
    }
    puts(model ? "\nOptions, defaults in parentheses:"
               : "\nOptions, in parentheses the models that take them:");
    option_lines(p, model, group);
    if (!opt_is_bare(p) && !group)
        help_line("model", "MODEL", "the same as the word MODEL");
    if (!group) {
        help_line("help", "GROUP", "this text, or that of a group");
        help_line("version", NULL, "the version");
    }
    return opt_end(OPT_DONE);
}

int opt_version(void)
{
    printf("%s %s\n", opt_program_name, ls_version());
    return opt_end(OPT_DONE);
}
