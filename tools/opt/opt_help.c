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

/* A text from column LEFT on, its lines within WIDTH. */
static void wrap(const char *text)
{
    int column = LEFT;

    while (*text) {
        int n = (int)strcspn(text, " ");

        if (column > LEFT && column + 1 + n > WIDTH)
            column = printf("\n%*s", LEFT, "") - 1;
        else if (column > LEFT)
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
    wrap(text);
}

/* "cosine, linear: " where an option is for some words of another one. */
static size_t put_words(const opt_program *p, const opt *o, size_t size,
                        char *out)
{
    const opt *of = o->of ? &p->option[opt_find(p, o->of)] : NULL;
    size_t at = 0;
    opt_word word;

    *out = 0;
    for (int i = 0; of && opt_word_at(of, i, &word); i++)
        if (o->fits(word.value, o->name) && at < size)
            at += (size_t)snprintf(out + at, size - at, "%s%s",
                                   at ? ", " : "", word.word);
    if (at && at < size)
        at += (size_t)snprintf(out + at, size - at, ": ");
    return at < size ? at : size - 1;
}

/* Print an option; behind the text, in parentheses, stands its default for a
 * model, else the models that take it. */
static void option_line(const opt_program *p, const opt *o,
                        const opt_model *model)
{
    char text[512], room[OPT_ARG], names[128];
    size_t at = put_words(p, o, sizeof text, text);
    const char *end = model ? opt_default(o, model) : names;

    if (!model)
        opt_takers(p, o, sizeof names, names);
    snprintf(text + at, sizeof text - at, *end ? "%s (%s)" : "%s", o->help,
             end);
    help_line(o->name, opt_arg(o, room), text);
}

/* Those that the model takes, of a word its parts behind it. */
static void option_lines(const opt_program *p, const opt_model *model)
{
    for (int i = 0; i < p->count; i++) {
        const opt *word = &p->option[i];

        if (opt_is_part(word) || (model && !opt_takes(word, model)))
            continue;
        option_line(p, word, model);
        for (int k = 0; k < p->count; k++)
            if (opt_is_part_of(&p->option[k], word) &&
                (!model || opt_takes(&p->option[k], model)))
                option_line(p, &p->option[k], model);
    }
}

int opt_help(const opt_program *p, int i)
{
    const opt_model *model = i < 0 ? NULL : p->models[i];

    printf("Usage: %s%s%s%s%s [options]\n%s\n", opt_program_name,
           opt_is_bare(p) ? "" : " ", model ? model->name : "MODEL",
           p->args ? " " : "", p->args ? p->args : "",
           model ? model->about : p->about);
    if (!model)
        help_models(p);
    else if (model->note)
        printf("\n%s\n", model->note);
    puts(model ? "\nOptions, defaults in parentheses:"
               : "\nOptions, in parentheses the models that take them:");
    option_lines(p, model);
    if (!opt_is_bare(p))
        help_line("model", "MODEL", "the same as the word MODEL");
    help_line("help", NULL, "this text");
    help_line("version", NULL, "the version");
    if (!model)
        printf("\n%s MODEL --help shows a model's defaults.\n",
               opt_program_name);
    return opt_end(OPT_DONE);
}

int opt_version(void)
{
    printf("%s %s\n", opt_program_name, ls_version());
    return opt_end(OPT_DONE);
}
