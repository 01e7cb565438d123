/* The one loop over the command line, and --help, from one table.
 * An unknown name is answered with the nearest known one. */
#define _GNU_SOURCE
#include "opt.h"

#include <lockstep.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int opt_fail(int status, const char *format, ...)
{
    va_list args;

    if (isatty(STDERR_FILENO)) /* a progress bar may be on the line */
        fprintf(stderr, "\r%79s\r", "");
    fprintf(stderr, "%s: ", opt_program_name);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    return status;
}

int opt_check(int status)
{
    return status < 0 ? opt_fail(OPT_FAILED, "%s", ls_errmsg()) : OPT_GO;
}

int opt_end(int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    return opt_fail(OPT_FAILED, "standard output: %s", strerror(errno));
}

/* ------ The table: a program's own, or another one's and more ------ */

static int count(const opt_program *p)
{
    return p->option_count + p->more_count;
}

static bool left_out(const opt_program *p, const char *name)
{
    const char *at = p->without;
    size_t n = strlen(name);

    while (at && (at = strstr(at, name)) &&
           !(at > p->without && at[-1] == ' ' && at[n] == ' '))
        at++;
    return at;
}

/* Option i; NULL where the program leaves it out. */
static const opt *option_at(const opt_program *p, int i)
{
    const opt *o = &p->options[i];

    if (i >= p->option_count)
        return &p->more[i - p->option_count];
    return left_out(p, o->name) ? NULL : o;
}

bool opt_takes(const opt *o, int model)
{
    return o->models >> model & 1;
}

/* The default of option i, which is not left out.  What a program adds to
 * another one's table is not the models'. */
static const char *start_of(const opt_program *p, int i, int model)
{
    const opt *o = option_at(p, i);
    const opt_start *own =
        i < p->option_count ? p->models[model].own : NULL;

    for (; own && own->name; own++)
        if (strcmp(own->name, o->name) == 0)
            return own->start;
    return o->start;
}

/* ------ Hints ------ */

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

/* Keep name if it is nearer to text than what was found so far. */
static void nearer(const char *text, const char *name, const char **found,
                   int *best)
{
    int d = distance(text, name);

    if (d < *best) {
        *best = d;
        *found = name;
    }
}

/* Beyond a third of its letters a word is another word. */
static int farthest(const char *text)
{
    return 2 + (int)strlen(text) / 3;
}

/* A program without a MODEL word: its only model has no name. */
static bool bare(const opt_program *p)
{
    return !p->models[0].name[0];
}

static int unknown_option(const opt_program *p, const char *name, int model)
{
    const char *found = NULL;
    int best = farthest(name);

    nearer(name, "help", &found, &best);
    nearer(name, "version", &found, &best);
    for (int i = 0; i < count(p); i++) {
        const opt *o = option_at(p, i);

        if (o && opt_takes(o, model))
            nearer(name, o->name, &found, &best);
    }
    if (found)
        return opt_fail(OPT_WRONG, "unknown option --%s; did you mean --%s?",
                        name, found);
    return opt_fail(OPT_WRONG, "unknown option --%s; see %s%s%s --help", name,
                    opt_program_name, bare(p) ? "" : " ",
                    p->models[model].name);
}

static int unknown_model(const opt_program *p, const char *name)
{
    const char *found = NULL;
    int best = farthest(name);

    if (*name == '-')
        return opt_fail(OPT_WRONG,
                        "the model comes first: %s MODEL [options]; "
                        "see %s --help",
                        opt_program_name, opt_program_name);
    for (int i = 0; i < p->model_count; i++)
        nearer(name, p->models[i].name, &found, &best);
    if (found)
        return opt_fail(OPT_WRONG, "unknown model \"%s\"; did you mean %s?",
                        name, found);
    return opt_fail(OPT_WRONG, "unknown model \"%s\"; see %s --help", name,
                    opt_program_name);
}

/* ------ Help ------ */

static void help_models(const opt_program *p)
{
    puts("\nModels:");
    for (int i = 0; i < p->model_count; i++)
        printf("  %-10s %s\n", p->models[i].name, p->models[i].about);
}

/* "  --steps N          text (default)", the text on a line of its own when
 * the left side is long. */
static void help_line(const char *name, const char *arg, const char *help,
                      const char *start)
{
    enum { LEFT = 26 };
    int n = printf("  --%s%s%s", name, arg ? " " : "", arg ? arg : "");

    if (n >= LEFT)
        printf("\n%*s", LEFT, "");
    else
        printf("%*s", LEFT - n, "");
    printf("%s", help);
    if (start && *start)
        printf(" (%s)", start);
    putchar('\n');
}

/* The models that take an option, when not all do: " [lm]". */
static void takers(const opt_program *p, const opt *o, char *out, size_t size)
{
    size_t at = 0;
    int n = 0;

    *out = 0;
    for (int i = 0; i < p->model_count; i++)
        if (opt_takes(o, i) && at < size)
            at += (size_t)snprintf(out + at, size - at, "%s%s", n++ ? ", " : "",
                                   p->models[i].name);
    if (n == p->model_count)
        *out = 0;
}

static void help_options(const opt_program *p, int model)
{
    puts(model < 0 ? "\nOptions, in parentheses the models that take them:"
                   : "\nOptions, defaults in parentheses:");
    for (int i = 0; i < count(p); i++) {
        const opt *o = option_at(p, i);
        char names[128];

        if (!o)
            continue;
        takers(p, o, names, sizeof names);
        if (model < 0)
            help_line(o->name, o->arg, o->help, names);
        else if (opt_takes(o, model))
            help_line(o->name, o->arg, o->help, start_of(p, i, model));
    }
    help_line("help", NULL, "this text", NULL);
    help_line("version", NULL, "the version", NULL);
}

/* model -1: all of them. */
static int help(const opt_program *p, int model)
{
    const char *name = model < 0 ? "MODEL" : p->models[model].name;

    printf("Usage: %s%s%s%s%s [options]\n%s\n", opt_program_name,
           bare(p) ? "" : " ", name, p->args ? " " : "", p->args ? p->args : "",
           model < 0 ? p->about : p->models[model].about);
    if (model < 0)
        help_models(p);
    else if (p->models[model].note)
        printf("\n%s\n", p->models[model].note);
    help_options(p, model);
    if (model < 0)
        printf("\n%s MODEL --help shows a model's defaults.\n",
               opt_program_name);
    return opt_end(OPT_DONE);
}

static int version(void)
{
    printf("%s %s\n", opt_program_name, ls_version());
    return opt_end(OPT_DONE);
}

/* ------ The loop ------ */

static int find_option(const opt_program *p, const char *name)
{
    for (int i = 0; i < count(p); i++) {
        const opt *o = option_at(p, i);

        if (o && strcmp(o->name, name) == 0)
            return i;
    }
    return -1;
}

bool opt_given(const opt_program *p, const opt_line *line, const char *name)
{
    int i = find_option(p, name);

    return i >= 0 && line->given[i];
}

static int foreign_option(const opt_program *p, const opt *o, int model)
{
    char names[128];

    takers(p, o, names, sizeof names);
    return opt_fail(OPT_WRONG, "--%s is not an option of %s (it is for %s)",
                    o->name, p->models[model].name, names);
}

/* Take the option name; value is what follows its "=", or NULL.  *next: the
 * argument after it, set to NULL when it is used as the value. */
static int take(const opt_program *p, const char *name, const char *value,
                const char **next, void *settings, opt_line *line)
{
    int i = find_option(p, name);
    const opt *o = i < 0 ? NULL : option_at(p, i);

    if (!o)
        return unknown_option(p, name, line->model);
    if (!opt_takes(o, line->model))
        return foreign_option(p, o, line->model);
    if (o->type == OPT_FLAG && value)
        return opt_fail(OPT_WRONG, "--%s takes no value", name);
    if (o->type != OPT_FLAG && !value) {
        value = *next;
        *next = NULL;
        if (!value)
            return opt_fail(OPT_WRONG, "--%s needs a value: %s", name, o->arg);
    }
    line->given[i] = true;
    return opt_store(o, value, settings);
}

/* One argument, "--name" or "--name=value". */
static int take_argument(const opt_program *p, const char *arg,
                         const char **next, void *settings, opt_line *line)
{
    char name[64];
    size_t n;

    if (strncmp(arg, "--", 2) != 0 && line->paths < p->paths) {
        line->path[line->paths++] = arg;
        return OPT_GO;
    }
    if (strncmp(arg, "--", 2) != 0 || !arg[2])
        return opt_fail(OPT_WRONG, "unexpected argument \"%s\"", arg);
    if (strcmp(arg, "--help") == 0)
        return help(p, line->model);
    if (strcmp(arg, "--version") == 0)
        return version();
    arg += 2;
    n = strcspn(arg, "=");
    snprintf(name, sizeof name, "%.*s", (int)n, arg);
    return take(p, name, arg[n] ? arg + n + 1 : NULL, next, settings, line);
}

static int find_model(const opt_program *p, const char *name)
{
    for (int i = 0; i < p->model_count; i++)
        if (strcmp(p->models[i].name, name) == 0)
            return i;
    return -1;
}

static int store_defaults(const opt_program *p, int model, void *settings)
{
    int status = OPT_GO;

    for (int i = 0; i < count(p) && status == OPT_GO; i++) {
        const opt *o = option_at(p, i);

        if (o && opt_takes(o, model) && *start_of(p, i, model))
            status = opt_store(o, start_of(p, i, model), settings);
    }
    return status;
}

/* The first word, where the program wants one. */
static int take_model(const opt_program *p, int argc, char **argv,
                      opt_line *line)
{
    if (argc < 2)
        return opt_fail(OPT_WRONG,
                        "which model? %s MODEL [options]; see %s "
                        "--help",
                        opt_program_name, opt_program_name);
    if (strcmp(argv[1], "--help") == 0)
        return help(p, -1);
    if (strcmp(argv[1], "--version") == 0)
        return version();
    line->model = find_model(p, argv[1]);
    return line->model < 0 ? unknown_model(p, argv[1]) : OPT_GO;
}

int opt_parse(const opt_program *p, int argc, char **argv, void *settings,
              opt_line *line)
{
    int status;

    *line = (opt_line){0};
    status = bare(p) ? OPT_GO : take_model(p, argc, argv, line);
    if (status == OPT_GO)
        status = store_defaults(p, line->model, settings);
    for (int i = bare(p) ? 1 : 2; i < argc && status == OPT_GO; i++) {
        const char *next = i + 1 < argc ? argv[i + 1] : NULL;
        const char *was = next;

        status = take_argument(p, argv[i], &next, settings, line);
        i += next != was;
    }
    return status;
}
