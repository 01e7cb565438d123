/* SPDX-License-Identifier: BSD-3-Clause */
/* See mail.h.  A file is written aside and renamed, so that nobody reads
 * half an answer.  No answer makes a reader take more memory than the answer
 * that is expected has bytes. */
#define _GNU_SOURCE
#include "verify/mail.h"
#include "opt/opt.h"

#include <lockstep/transcript.h>

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { FORM = 512 }; /* bytes of an answer's file besides its digits */

char mail_other(const mail *x)
{
    return x->side == 'a' ? 'b' : 'a';
}

void mail_lose(mail *x, char side, const char *format, ...)
{
    va_list args;

    if (x->lost)
        return;
    x->lost = side;
    va_start(args, format);
    vsnprintf(x->why, sizeof x->why, format, args);
    va_end(args);
}

char *mail_path(const mail *x, int number, char side,
                    const char *ending)
{
    char *path = NULL;

    return asprintf(&path, "%s/%04d-%c.%s", x->folder, number, side,
                    ending) < 0 ? NULL : path;
}

static bool take_side(mail *x, char side)
{
    char *path = NULL;
    int fd = -1;

    if (asprintf(&path, "%s/side-%c", x->folder, side) >= 0)
        fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    free(path);
    if (fd < 0)
        return false;
    close(fd);
    x->side = side;
    return true;
}

int mail_open(mail *x, const char *folder, double seconds)
{
    struct stat info;

    *x = (mail){.folder = folder, .seconds = seconds};
    memset(x->prev, '0', MAIL_HEX - 1);
    (void)mkdir(folder, 0777);
    if (stat(folder, &info) < 0 || !S_ISDIR(info.st_mode))
        return opt_fail(OPT_FAILED, "%s: no folder", folder);
    if (!take_side(x, 'a') && !take_side(x, 'b'))
        return opt_fail(OPT_FAILED, "%s: two sides have been here: each "
                        "dispute needs a folder of its own", folder);
    return OPT_GO;
}

/* ------ writing ------ */

static char *line_of(const mail *x, int level, const char *what,
                     const char *answer)
{
    json_t *all = json_pack(
        "{s:s,s:i,s:i,s:s,s:s#,s:s}", "answer", answer, "level", level,
        "number", x->number, "prev", x->prev, "side", &x->side, (size_t)1,
        "what", what);
    char *text = all ? json_dumps(all, JSON_COMPACT | JSON_SORT_KEYS) : NULL;

    json_decref(all);
    return text;
}

static int put(const mail *x, const char *text)
{
    char *path = mail_path(x, x->number, x->side, "json");
    char *aside = mail_path(x, x->number, x->side, "part");
    FILE *f = aside && path && text ? fopen(aside, "w") : NULL;
    bool good = f && fputs(text, f) >= 0 && fputc('\n', f) >= 0;

    if (f && fclose(f) != 0)
        good = false;
    if (good && rename(aside, path) < 0)
        good = false;
    if (!good)
        opt_fail(OPT_FAILED, "%s: %s", path ? path : x->folder,
                 strerror(errno));
    free(path);
    free(aside);
    return good ? OPT_GO : OPT_FAILED;
}

/* ------ reading ------ */

static bool is_hex(const char *text)
{
    return strspn(text, "0123456789abcdef") == strlen(text);
}

static bool is_form(const mail *x, const json_t *all, int level,
                    const char *what)
{
    const json_t *side = json_object_get(all, "side");
    const json_t *word = json_object_get(all, "what");
    const json_t *prev = json_object_get(all, "prev");
    char other[2] = {mail_other(x), 0};

    return json_object_size(all) == 6 && json_is_string(side) &&
           json_is_string(word) && json_is_string(prev) &&
           strcmp(json_string_value(side), other) == 0 &&
           strcmp(json_string_value(word), what) == 0 &&
           strcmp(json_string_value(prev), x->prev) == 0 &&
           json_is_integer(json_object_get(all, "level")) &&
           json_integer_value(json_object_get(all, "level")) == level &&
           json_is_integer(json_object_get(all, "number")) &&
           json_integer_value(json_object_get(all, "number")) == x->number &&
           json_is_string(json_object_get(all, "answer"));
}

static bool is_canonical(const json_t *all, const char *text, size_t bytes)
{
    char *again = json_dumps(all, JSON_COMPACT | JSON_SORT_KEYS);
    bool same = again && bytes == strlen(again) + 1 &&
                memcmp(again, text, bytes - 1) == 0 && text[bytes - 1] == '\n';

    free(again);
    return same;
}

char *mail_read(const char *text, size_t bytes, const mail *x,
                    int level, const char *what, size_t least, size_t most,
                    char why[MAIL_TEXT])
{
    json_t *all = bytes ? json_loadb(text, bytes - 1, JSON_REJECT_DUPLICATES,
                                     NULL) : NULL;
    const char *answer = json_string_value(json_object_get(all, "answer"));
    size_t n = answer ? strlen(answer) : 0;
    char *copy = NULL;

    if (!is_form(x, all, level, what) || !is_canonical(all, text, bytes))
        snprintf(why, MAIL_TEXT, "its answer %d is not of the form that "
                 "was asked for", x->number);
    else if (n < least || n > most || !is_hex(answer))
        snprintf(why, MAIL_TEXT, "its answer %d has %zu digits, where %zu "
                 "to %zu hex digits are due", x->number, n, least, most);
    else if (!(copy = strdup(answer)))
        snprintf(why, MAIL_TEXT, "no memory");
    json_decref(all);
    return copy;
}

/* The bytes of a file of at most `most`; NULL: there is none, or a larger one:
 * *bytes is then more. */
static char *load(const char *path, size_t most, size_t *bytes)
{
    FILE *f = fopen(path, "r");
    struct stat info;
    char *text = NULL;

    *bytes = 0;
    if (f && fstat(fileno(f), &info) == 0 && S_ISREG(info.st_mode)) {
        *bytes = (size_t)info.st_size;
        if (*bytes <= most && (text = malloc(*bytes + 1)))
            *bytes = fread(text, 1, *bytes, f);
    }
    if (f)
        fclose(f);
    return text;
}

/* Wait for a file; false: it did not come in time. */
static bool wait_for(const mail *x, const char *path)
{
    double began = opt_seconds();

    while (access(path, R_OK) != 0) {
        if (opt_seconds() - began > x->seconds)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    return true;
}

/* What both said becomes part of all that follows. */
static void chain(mail *x, const char *mine, const char *theirs)
{
    const char *a = x->side == 'a' ? mine : theirs;
    const char *b = x->side == 'a' ? theirs : mine;
    char *all = NULL;

    if (asprintf(&all, "%s\n%s\n%s\n", x->prev, a, b) < 0)
        return;
    ls_digest(all, strlen(all), x->prev);
    free(all);
}

static char *get(mail *x, int level, const char *what, size_t least,
                 size_t most)
{
    char *path = mail_path(x, x->number, mail_other(x), "json");
    char *text = NULL, *answer = NULL, why[MAIL_TEXT] = "";
    size_t bytes = 0;

    if (!path || !wait_for(x, path)) {
        mail_lose(x, mail_other(x), "it gave no answer %d within %.0f "
                      "seconds", x->number, x->seconds);
        free(path);
        return NULL;
    }
    text = load(path, most + FORM, &bytes);
    if (text)
        answer = mail_read(text, bytes, x, level, what, least, most, why);
    else
        snprintf(why, sizeof why, "its answer %d is longer than any may be",
                 x->number);
    if (!answer)
        mail_lose(x, mail_other(x), "%s", why);
    free(path);
    free(text);
    return answer;
}

int mail_answer(mail *x, int level, const char *what,
                    const char *answer, size_t least, size_t most,
                    char **other)
{
    char *line;
    int status;

    x->number++;
    line = line_of(x, level, what, answer);
    status = put(x, line);
    free(line);
    *other = status == OPT_GO ? get(x, level, what, least, most) : NULL;
    if (*other)
        chain(x, answer, *other);
    return status;
}
