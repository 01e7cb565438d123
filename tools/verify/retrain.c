/* SPDX-License-Identifier: BSD-3-Clause */
/* See retrain.h.  lockstep-train is the program beside this one.  Its words on
 * stderr, with the progress, are passed on; of its results only the line that
 * begins with "against" is read. */
#define _GNU_SOURCE
#include "verify/retrain.h"
#include "opt/characters.h"
#include "opt/opt.h"
#include "verify/recorded.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = 256 };

typedef struct command {
    int count;
    bool failed;
    char *word[WORDS];
} command;

__attribute__((format(printf, 2, 3)))
static void add(command *c, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (c->count + 1 == WORDS ||
        vasprintf(&c->word[c->count], format, args) < 0)
        c->failed = true;
    else
        c->count++;
    va_end(args);
}

static void clear(command *c)
{
    for (int i = 0; i < c->count; i++)
        free(c->word[i]);
}

/* ------ the command ------ */

/* "--batch", or "file --data" of what the run read; others are the trainer's
 * own, which follow from these. */
static int add_option(command *c, const replay *r, const char *name,
                      const char *value)
{
    size_t skipped = strlen(recorded_file);
    bool is_file = strncmp(name, recorded_file, skipped) == 0;
    char *path, *word;

    if (!is_file && strncmp(name, "--", 2) != 0)
        return OPT_GO;
    if (!value || !recorded_option(name, value))
        return opt_fail(OPT_FAILED, "%s: names the option \"%s\", which "
                        "lockstep-train does not write there%s: it is not "
                        "trained again", r->of->path, name,
                        value && strchr(value, ':') ? " with such parts" : "");
    if (strcmp(value, "false") == 0)
        return OPT_GO;
    path = is_file ? files_option(r->files, name + skipped, value) : NULL;
    if (is_file && !path)
        return OPT_FAILED;
    word = recorded_word(name, path ? path : value);
    add(c, "%s", word ? word : "");
    c->failed |= !word;
    free(word);
    free(path);
    return OPT_GO;
}

/* The option of a recorded name, "--schedule" of "--warmup", behind a comma. */
static size_t put_name(char *out, size_t size, bool comma, const char *name)
{
    const opt *o = recorded_row(name);

    return (size_t)snprintf(out, size, "%s%.*s", comma ? "," : "",
                            o ? opt_word_bytes(o) : (int)strlen(name + 2),
                            o ? o->name : name + 2);
}

/* Add --change, with the names of what differs between two objects. */
static void add_changes(command *c, const json_t *before, const json_t *now)
{
    char list[1024] = "";
    size_t at = 0;

    for (int side = 0; side < 2; side++) {
        const char *name;
        json_t *value;

        json_object_foreach ((json_t *)(side ? now : before), name, value) {
            const json_t *a = json_object_get(before, name);
            const json_t *b = json_object_get(now, name);

            if (strncmp(name, "--", 2) == 0 && at < sizeof list &&
                !(a && b && (side || json_equal(a, b))))
                at += put_name(list + at, sizeof list - at, at > 0, name);
        }
    }
    add(c, "--change=%s", list);
}

/* Put the command together that trains a part of the run; where it begins with
 * a change there is a checkpoint of the part before. */
static int make_command(command *c, const replay *r, const char *program,
                        int part, bool changes)
{
    const char *model = published_trains(r->of), *name;
    json_t *options = r->of->part[part].options, *value;
    int status = OPT_GO;

    if (!model)
        return opt_fail(OPT_FAILED, "%s: was written by \"%s\", which alone "
                        "can train it again", r->of->path,
                        published_text(r->of, "program"));
    add(c, "%s", program);
    add(c, "%s", model);
    json_object_foreach (options, name, value)
        if (status == OPT_GO)
            status = add_option(c, r, name, json_string_value(value));
    if (!r->more)
        add(c, "--against=%s", r->of->path);
    if (!r->more && r->save)
        add(c, "--save=%s", r->save);
    for (int i = 0; r->more && r->more[i]; i++)
        add(c, "%s", r->more[i]);
    if (r->workers)
        add(c, "--workers=%s", r->workers);
    if (r->checkpoint) {
        char *twice = opt_doubled(r->checkpoint, ':');

        add(c, "--checkpoint=%s:every=0,keep=0", twice ? twice : "");
        free(twice);
        add(c, "--resume");
    }
    if (changes)
        add_changes(c, r->of->part[part - 1].options, options);
    if (r->until >= 0)
        add(c, "--stop-at=%" PRId64, r->until);
    if (status == OPT_GO && c->failed)
        status = opt_fail(OPT_FAILED, "no memory for a command");
    return status;
}

/* ------ running ------ */

/* The program beside this one, or the one that PATH has. */
static void find_program(char path[PATH_MAX])
{
    static const char name[] = "lockstep-train";
    ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - sizeof name);
    char *slash;

    path[n > 0 ? n : 0] = 0;
    slash = strrchr(path, '/');
    strcpy(slash ? slash + 1 : path, name);
    if (slash && access(path, X_OK) != 0)
        strcpy(path, name);
}

static void start(const command *c, int out)
{
    char *word[WORDS] = {NULL};

    memcpy(word, c->word, (size_t)c->count * sizeof *word);
    dup2(out, STDOUT_FILENO);
    execvp(word[0], word);
    fprintf(stderr, "%s: %s: %s\n", opt_program_name,
            characters_shown(word[0]), strerror(errno));
    _exit(OPT_FAILED);
}

static const char between[] = "; "; /* the names of a list */

/* Is the whole name there, not only as a part of another one? */
static bool is_listed(const char *list, const char *name)
{
    size_t length = strlen(name), gap = sizeof between - 1;
    const char *at = list;

    while (strncmp(at, name, length) != 0 ||
           (at[length] && strncmp(at + length, between, gap) != 0)) {
        if (!(at = strstr(at, between)))
            return false;
        at += gap;
    }
    return true;
}

/* Add what follows to the list, unless it is there; where it is full, that
 * there is more. */
static void add_unknown(char *list, char *what)
{
    static const char more[] = "; and more";
    size_t at = list ? strlen(list) : 0;

    what[strcspn(what, "\n")] = 0;
    if (!list || is_listed(list, what) || strstr(list, more))
        return;
    if (at + strlen(what) + 2 + sizeof more > REPLAY_NAMES)
        strcpy(list + at, more);
    else
        sprintf(list + at, "%s%s", at ? between : "", what);
}

/* Takes the text behind a word, up to the line's end. */
static void take_rest(char text[REPLAY_TEXT], const char *rest)
{
    snprintf(text, REPLAY_TEXT, "%.*s", (int)strcspn(rest, "\n"), rest);
}

/* Reads the texts behind "against " and "model " in the last such lines, and
 * all that the referee does not know. */
static void read_words(int in, char text[REPLAY_TEXT], const replay *r)
{
    static const char named[] = "referee does not know ";
    FILE *file = fdopen(in, "r");
    char *line = NULL;
    size_t room = 0;

    while (file && getline(&line, &room, file) > 0)
        if (strncmp(line, "against ", 8) == 0)
            take_rest(text, line + 8);
        else if (strncmp(line, "model ", 6) == 0 && r->model)
            take_rest(r->model, line + 6);
        else if (strncmp(line, named, sizeof named - 1) == 0)
            add_unknown(r->unknown, line + sizeof named - 1);
    free(line);
    if (file)
        fclose(file);
}

static int run(const command *c, int *exit_status, char text[REPLAY_TEXT],
               const replay *r)
{
    int pipes[2], state;
    pid_t child;

    if (pipe2(pipes, O_CLOEXEC) < 0 || (child = fork()) < 0)
        return opt_fail(OPT_FAILED, "no process: %s", strerror(errno));
    if (child == 0)
        start(c, pipes[1]);
    close(pipes[1]);
    read_words(pipes[0], text, r);
    while (waitpid(child, &state, 0) < 0)
        if (errno != EINTR)
            return opt_fail(OPT_FAILED, "no process: %s", strerror(errno));
    *exit_status = WIFEXITED(state) ? WEXITSTATUS(state) : -1;
    return OPT_GO;
}

/* "same 40 batches" or "differs ..", without the first word. */
static void take_words(int64_t batches, bool *same, char text[REPLAY_TEXT])
{
    char *rest = text + strcspn(text, " ");
    int64_t done = strtoll(rest, NULL, 10);

    *same = strncmp(text, "same", 4) == 0;
    if (*same && done != batches)
        snprintf(text, REPLAY_TEXT, "the run came to %" PRId64 " batch%s, not "
                 "%" PRId64, done, opt_es(done), batches);
    else
        memmove(text, rest + 1, strlen(rest));
    *same = *same && done == batches;
}

/* Run the command of part i; text: what it said of the comparison. */
static int run_part(const replay *r, int i, bool changes, int *ended,
                    char text[REPLAY_TEXT])
{
    char program[PATH_MAX];
    command c = {0};
    int status;

    find_program(program);
    *text = 0;
    *ended = -1;
    status = make_command(&c, r, r->trainer ? r->trainer : program, i,
                          changes);
    if (status == OPT_GO)
        status = run(&c, ended, text, r);
    clear(&c);
    return status;
}

static int compare_part(const replay *r, int i, bool changes, int64_t batches,
                        bool *same, char text[REPLAY_TEXT])
{
    enum { DIFFERS = 5, OTHER_MODEL = 6 };
    int ended, status = run_part(r, i, changes, &ended, text);

    if (status == OPT_GO && (!*text || (ended != 0 && ended != DIFFERS &&
                                        ended != OTHER_MODEL)))
        status = opt_fail(OPT_FAILED, "lockstep-train ended with status %d",
                          ended);
    if (status == OPT_GO)
        take_words(batches, same, text);
    return status;
}

/* Refuse what a program did by itself, as nobody else can repeat it. */
static int check_events(const published *p)
{
    if (!*p->own)
        return OPT_GO;
    return opt_fail(OPT_FAILED, "%s: event \"%s\" of %" PRId64 " is its "
                    "program's own act (%s), which alone can train it again",
                    p->path, p->own, p->own_at,
                    published_text(p, "program"));
}

/* Is a state asked for that has a line only behind a change of options? */
static bool is_behind(const replay *r, int i, int64_t batches)
{
    const leg *next = r->of->part + i + 1;

    return i + 1 < r->of->parts && r->first == batches &&
           next->first == batches && !next->stated;
}

int replay_run(const replay *r, int64_t batches, bool *same,
               char text[REPLAY_TEXT])
{
    const published *p = r->of;
    int status = check_events(p), i = published_part(p, r->first);
    bool changes = is_behind(r, i, batches);
    int64_t at = r->first;
    replay part = *r;

    *same = true;
    i += changes;
    while (status == OPT_GO && *same) {
        bool more = i + 1 < p->parts && p->part[i + 1].first < batches;
        int64_t end = more ? p->part[i + 1].first : batches;

        part.until = more ? end : r->until;
        part.save = more ? NULL : r->save;
        if (!more || end > at)
            status = compare_part(&part, i, changes, end, same, text);
        if (!more)
            break;
        at = end;
        changes = true;
        i++;
    }
    return status;
}

int replay_record(const replay *r, int64_t step, int device, const char *path)
{
    char word[64], text[REPLAY_TEXT];
    const char *more[] = {word, path, "--values", NULL};
    replay part = *r;
    int ended, status = check_events(r->of);
    int n = snprintf(word, sizeof word, "--record=%" PRId64, step);

    if (device >= 0)
        snprintf(word + n, sizeof word - (size_t)n, ":%d", device);
    part.more = more;
    part.until = step + 1;
    if (status == OPT_GO && r->of->parts > 1)
        status = opt_fail(OPT_FAILED, "%s: options changed after %" PRId64
                          " batch%s: a run of several parts is compared, and "
                          "not made again whole", r->of->path,
                          r->of->part[1].first,
                          opt_es(r->of->part[1].first));
    if (status == OPT_GO)
        status = run_part(&part, 0, false, &ended, text);
    if (status == OPT_GO && ended != 0)
        status = opt_fail(OPT_FAILED, "lockstep-train ended with status %d",
                          ended);
    return status;
}
