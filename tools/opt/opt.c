/* SPDX-License-Identifier: BSD-3-Clause */
/* The one loop over the command line, and the table it reads. */
#define _GNU_SOURCE
#include "opt/opt.h"
#include "opt/characters.h"

#include <lockstep.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

double opt_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ------ Messages ------ */

static _Thread_local char said[4096];

const char *opt_said(void)
{
    return said;
}

static bool held, kept; /* messages are held back; there is one */

/* The message is written at once, for other ranks may write to the same
 * place. */
static void print(const char *who, const char *text)
{
    if (isatty(STDERR_FILENO)) /* a progress bar may be on the line */
        fprintf(stderr, "\r%*s\r", opt_columns() - 1, "");
    fprintf(stderr, "%s: %s%s\n", opt_program_name, who, text);
}

void opt_hold(void)
{
    held = true;
}

void opt_show(bool show, const char *who)
{
    if (kept && show)
        print(who, said);
    held = kept = false;
}

static struct {
    const char *path, *name;
} called;

void opt_call(const char *path, const char *name)
{
    called.path = path;
    called.name = name;
}

/* The first place of the path in a message becomes its name. */
static void rename_file(char *text, size_t size)
{
    char *at = called.path ? strstr(text, called.path) : NULL;
    size_t old = at ? strlen(called.path) : 0;
    size_t new = at ? strlen(called.name) : 0;

    if (!at || strlen(text) + new - old >= size)
        return;
    memmove(at + new, at + old, strlen(at + old) + 1);
    memcpy(at, called.name, new);
}

/* A message may quote a file.  It may come from any thread, once none is held
 * back. */
int opt_fail(int status, const char *format, ...)
{
    char text[4096];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    rename_file(text, sizeof text);
    characters_clean(text);
    strcpy(said, text);
    if (held)
        kept = true;
    else
        print("", text);
    return status;
}

int opt_no_memory(const char *what)
{
    return opt_fail(OPT_FAILED, "no memory for %s", what);
}

int opt_no_file(const char *path)
{
    return opt_fail(OPT_FAILED, "%s: %s", path, strerror(errno));
}

static bool notes_are_others;

void opt_first_notes(void)
{
    notes_are_others = true;
}

void opt_note(const char *format, ...)
{
    char text[4096];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    characters_clean(text);
    if (!notes_are_others)
        fprintf(stderr, "note: %s\n", text);
}

int opt_columns(void)
{
    struct winsize size;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col < 2)
        return 80;
    return size.ws_col;
}

int opt_check(int status)
{
    return status < 0 ? opt_fail(OPT_FAILED, "%s", ls_errmsg()) : OPT_GO;
}

int opt_check_usage(int status)
{
    bool wrong = status == LS_EINVAL || status == LS_ESHAPE ||
                 status == LS_ERANGE || status == LS_ENOTFOUND;

    return wrong ? opt_fail(OPT_WRONG, "%s", ls_errmsg()) : opt_check(status);
}

int opt_end(int status)
{
    static bool told;

    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    if (!told)
        opt_fail(OPT_FAILED, "standard output: %s", strerror(errno));
    told = true;
    return OPT_FAILED;
}

const char *opt_s(int64_t n)
{
    return n == 1 ? "" : "s";
}

const char *opt_es(int64_t n)
{
    return n == 1 ? "" : "es";
}

/* ------ The table ------ */

void opt_add(opt_program *p, opt_rows rows, void *settings)
{
    for (int i = 0; i < rows.count; i++) {
        const opt *o = &rows.row[i];

        assert(p->count < OPT_MAX && p->others < OPT_MAX);
        if (o->only && strcmp(o->only, opt_program_name)) {
            p->other[p->others++] = o;
            continue;
        }
        p->option[p->count] = *o;
        p->option[p->count].group = o->group ? o->group : rows.group;
        p->option[p->count++].settings = settings;
    }
}

int opt_find(const opt_program *p, const char *name)
{
    for (int i = 0; i < p->count; i++)
        if (strcmp(p->option[i].name, name) == 0)
            return i;
    return -1;
}

bool opt_given(const opt_line *line, const char *name)
{
    int i = opt_find(line->program, name);

    return i >= 0 && line->given[i];
}

bool opt_takes(const opt *o, const opt_model *model)
{
    const char *const *name = o->models;

    while (name && *name && strcmp(*name, model->name))
        name++;
    return !name || *name;
}

const char *opt_default(const opt *o, const opt_model *model)
{
    const opt_start *own = model->own;

    for (; own && own->name; own++)
        if (strcmp(own->name, o->name) == 0)
            return own->start;
    return o->start;
}

bool opt_is_bare(const opt_program *p)
{
    return !p->models[0]->name[0];
}

/* ------ The loop ------ */

/* Is an argument a value of the option before it? */
static bool follows(const char *next)
{
    return next && strncmp(next, "--", 2) != 0;
}

/* Take the option name; value is what follows its "=", or NULL.  *next: the
 * argument after it, set to NULL when it is used as the value. */
static int take(opt_line *line, const char *name, const char *value,
                const char **next)
{
    int i = strchr(name, ':') ? -1 : opt_find(line->program, name);
    const opt *o = i < 0 ? NULL : &line->program->option[i];
    char room[OPT_ARG];

    if (!o)
        return opt_unknown_option(line, name, value || !follows(*next) ? value
                                                                       : *next);
    if (!opt_takes(o, line->program->models[line->model]))
        return opt_foreign(line, o);
    if (o->type == OPT_FLAG && value)
        return opt_fail(OPT_WRONG, "--%s takes no value", name);
    if (o->type != OPT_FLAG && !value && o->alone && !follows(*next))
        value = o->alone;
    if (o->type != OPT_FLAG && !value) {
        value = *next;
        *next = NULL;
        if (!value)
            return opt_fail(OPT_WRONG, "--%s needs a value: %s", name,
                            opt_arg(o, room));
    }
    if (line->typed[i] && o->type != OPT_FLAG && *value != ':')
        opt_note("--%s is given more than once, and the last one counts, %s",
                 name, value);
    line->typed[i] |= !value || *value != ':';
    return opt_take_word(line, i, value);
}

static bool is_help(const char *arg)
{
    return !strcmp(arg, "--help") || !strcmp(arg, "-h");
}

/* Is --model an option of the model's own, and not its name again? */
static bool has_file(const opt_line *line, const char *value)
{
    const opt_model *of = line->program->models[line->model];
    int i = opt_find(line->program, "model");

    return i >= 0 && opt_takes(&line->program->option[i], of) &&
           (!value || strcmp(value, of->name) != 0);
}

/* "--model MODEL" is the word MODEL, and was taken as such. */
static int take_same_model(const opt_line *line, const char *value,
                           const char **next)
{
    const char *is = line->program->models[line->model]->name;

    if (!value) {
        value = *next ? *next : "";
        *next = NULL;
    }
    if (strcmp(value, is) == 0)
        return OPT_GO;
    return opt_fail(OPT_WRONG, "--model \"%s\": the model is %s already", value,
                    is);
}

/* One argument, "--name" or "--name=value". */
static int take_argument(opt_line *line, char *arg, const char **next)
{
    char name[64];
    const char *value;
    size_t n;

    if (is_help(arg))
        return opt_help(line->program, line->model,
                        *next && opt_is_topic(line->program, *next) ? *next
                                                                    : NULL);
    if (arg[0] == '-' && arg[1] && arg[1] != '-')
        return opt_fail(OPT_WRONG, "unexpected argument \"%s\"; options begin "
                        "with two dashes, as -%s", arg, arg);
    if (strncmp(arg, "--", 2) != 0 && line->paths < line->program->paths) {
        line->path[line->paths++] = arg;
        return OPT_GO;
    }
    if (strncmp(arg, "--", 2) != 0 || !arg[2])
        return opt_fail(OPT_WRONG, "unexpected argument \"%s\"", arg);
    if (strcmp(arg, "--version") == 0)
        return opt_version();
    arg += 2;
    n = strcspn(arg, "=");
    snprintf(name, sizeof name, "%.*s", (int)n, arg);
    value = arg[n] ? arg + n + 1 : NULL;
    if (strcmp(name, "model") == 0 && !opt_is_bare(line->program) &&
        !has_file(line, value ? value : *next))
        return take_same_model(line, value, next);
    return take(line, name, value, next);
}

static int find_model(const opt_program *p, const char *name)
{
    for (int i = 0; i < p->model_count; i++)
        if (strcmp(p->models[i]->name, name) == 0)
            return i;
    return -1;
}

/* "help MODEL" and "--help MODEL" are "MODEL --help"; "--help GROUP". */
static int help_of(const opt_program *p, const char *word)
{
    int i = word ? find_model(p, word) : -1;

    if (word && opt_is_topic(p, word))
        return opt_help(p, -1, word);
    return word && i < 0 ? opt_unknown_model(p, word) : opt_help(p, i, NULL);
}

static int store_defaults(const opt_program *p, const opt_model *model)
{
    int status = OPT_GO;

    for (int i = 0; i < p->count && status == OPT_GO; i++) {
        const opt *o = &p->option[i];

        if (opt_takes(o, model) && *opt_default(o, model))
            status = opt_store(o, opt_default(o, model));
    }
    return status;
}

bool opt_ends_as(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n > m && strcmp(text + n - m, end) == 0;
}

/* The value of an option wherever it is given, before there is a model; "": it
 * is not. */
static const char *value_of(const char *option, int argc, char **argv)
{
    const char *value = "";
    size_t n = strlen(option);

    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], option) == 0 && i + 1 < argc)
            value = argv[i + 1];
        else if (strncmp(argv[i], option, n) == 0 && argv[i][n] == '=')
            value = argv[i] + n + 1;
    return value;
}

/* The file of --config, where the program has the option; or "". */
static const char *config_of(const opt_program *p, int argc, char **argv)
{
    return opt_find(p, "config") < 0 ? "" : value_of("--config", argc, argv);
}

/* The model with files of such a name; -1: none. */
static int model_of_file(const opt_program *p, const char *path)
{
    for (int m = 0; m < p->model_count; m++)
        for (const char *const *end = p->models[m]->files; end && *end; end++)
            if (opt_ends_as(path, *end))
                return m;
    return -1;
}

/* The first word, where the program wants one; *words: how many it takes. */
static int take_model(opt_line *line, int argc, char **argv, int *words)
{
    const opt_program *p = line->program;
    const char *name = value_of("--model", argc, argv);
    const char *file = *name ? name : value_of("--data", argc, argv);
    const char *config = config_of(p, argc, argv);
    char said_there[OPT_VALUE];
    int status = OPT_GO;

    if (argc < 2)
        return opt_fail(OPT_WRONG, "which model? %s MODEL [options]; see %s "
                        "--help", opt_program_name, opt_program_name);
    if (is_help(argv[1]) || strcmp(argv[1], "help") == 0)
        return help_of(p, argc > 2 ? argv[2] : NULL);
    if (strcmp(argv[1], "--version") == 0)
        return opt_version();
    line->model = *argv[1] == '-' && !*config ? model_of_file(p, file) : -1;
    if (line->model >= 0)
        return OPT_GO;
    *words = *argv[1] != '-' || (!*name && !*config);
    if (!*words && !*name)
        status = opt_config_model(config, said_there);
    if (status != OPT_GO)
        return status;
    name = *words ? argv[1] : *name ? name : said_there;
    line->model = find_model(p, name);
    return line->model < 0 ? opt_unknown_model(p, name) : OPT_GO;
}

/* A program that runs out of stack ends without a word. */
static int check_stack(void)
{
    enum { KIB = 128 };
    struct rlimit is;

    if (getrlimit(RLIMIT_STACK, &is) < 0 || is.rlim_cur >= KIB * 1024)
        return OPT_GO;
    return opt_fail(OPT_FAILED, "the stack may have %d KiB (ulimit -s); %d are "
                    "needed", (int)(is.rlim_cur / 1024), KIB);
}

/* Keeps files and the program apart.  A file that may not grow is no reason to
 * die (SIGXFSZ).  One opened while a standard stream is closed must not get its
 * number, and what is printed: so a number that is free gets what can only be
 * used the other way round, and the use fails as before. */
static void keep_files_apart(void)
{
    signal(SIGXFSZ, SIG_IGN);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int opt_parse(const opt_program *p, int argc, char **argv, opt_line *line)
{
    bool bare = opt_is_bare(p);
    int words = 0, status;

    keep_files_apart();
    *line = (opt_line){.program = p};
    status = check_stack();
    if (status == OPT_GO && !bare)
        status = take_model(line, argc, argv, &words);
    line->path = argv + 1 + words;
    if (status == OPT_GO)
        status = store_defaults(p, p->models[line->model]);
    if (status == OPT_GO && *config_of(p, argc, argv))
        status = opt_read_config(line, config_of(p, argc, argv));
    if (bare && argc == 2 && !strcmp(argv[1], "help"))
        return opt_help(p, line->model, NULL);
    for (int i = 1 + words; i < argc && status == OPT_GO; i++) {
        const char *next = i + 1 < argc ? argv[i + 1] : NULL;
        const char *was = next;

        status = take_argument(line, argv[i], &next);
        i += next != was;
    }
    return status;
}
