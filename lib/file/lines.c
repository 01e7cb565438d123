/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines that are written, or read and compared. */
#define _GNU_SOURCE
#include "file/lines.h"
#include "base/assert.h"
#include "base/json.h"
#include "base/sha.h"
#include "file/changes.h"
#include "file/line.h"
#include "file/file.h"
#include "file/format.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char nothing[LS__HEX] =
    "0000000000000000000000000000000000000000000000000000000000000000";

static int stick(ls__chain *c, int status)
{
    if (status < 0 && c->status == 0) {
        c->status = status;
        snprintf(c->message, sizeof c->message, "%s", ls_errmsg());
    }
    return status;
}

/* A line that failed is told again. */
static int stuck(const ls__chain *c)
{
    return c->status < 0 ? ls__fail(c->status, "%s", c->message) : 0;
}

/* ------ opening and closing ------ */

static int begin(ls__chain *c, const char *path, int flags, const char *mode)
{
    int fd, status = ls__path_check(path);

    *c = (ls__chain){.path = strdup(path), .compares = *mode == 'r'};
    _Static_assert(sizeof c->prev == sizeof nothing, "a hash of a line");
    memcpy(c->prev, nothing, sizeof nothing);
    if (status < 0)
        return status;
    if (!c->path)
        return ls__no_memory("a path", strlen(path));
    fd = open(path, flags | O_CLOEXEC, 0666);
    c->file = ls__file_stream(fd, mode);
    return c->file ? 0 : ls__io_error(path, "open");
}

int ls__chain_create(ls__chain *c, const char *path)
{
    return begin(c, path, O_WRONLY | O_CREAT | O_TRUNC, "w");
}

/* O_NONBLOCK: a pipe that nobody writes is no file, and is not waited for. */
int ls__chain_open(ls__chain *c, const char *path)
{
    struct stat info;
    int status = begin(c, path, O_RDONLY | O_NONBLOCK, "r");

    if (status == 0 && fstat(fileno(c->file), &info) < 0)
        status = ls__io_error(path, "look at");
    if (status == 0 && !S_ISREG(info.st_mode))
        status = ls__fail(LS_EFORMAT, "%s: no regular file", path);
    return status;
}

int ls__chain_close(ls__chain *c)
{
    int status = c->compares ? 0 : stuck(c);

    if (c->file && fclose(c->file) != 0 && !c->compares && status == 0)
        status = ls__io_error(c->path, "write");
    free(c->path);
    free(c->line);
    *c = (ls__chain){0};
    return status;
}

/* ------ reading ------ */

static int grow(ls__chain *c)
{
    size_t room = c->room ? 2 * c->room : 1024;
    char *line;

    if (room > LS__LINE_MOST)
        return ls__fail(LS_EFORMAT, "%s: line %lld is longer than any line may "
                        "be", c->path, (long long)c->lines + 1);
    line = realloc(c->line, room);
    if (!line)
        return ls__no_memory("a line", room);
    c->line = line;
    c->room = room;
    return 0;
}

/* Bytes up to the next newline, which is counted in no length; *end: there were
 * none.  No other thread has the file. */
static int read_bytes(ls__chain *c, bool *end)
{
    int byte = 0, status = 0;

    c->bytes = 0;
    while (status == 0 && (byte = getc_unlocked(c->file)) != EOF &&
           byte != '\n') {
        if (c->bytes == c->room)
            status = grow(c);
        if (status == 0)
            c->line[c->bytes++] = (char)byte;
    }
    if (status == 0 && ferror(c->file))
        status = ls__io_error(c->path, "read");
    *end = status == 0 && byte == EOF && c->bytes == 0;
    if (status == 0 && byte == EOF && c->bytes > 0)
        status = ls__fail(LS_EFORMAT, "%s: line %lld has no end: the file was "
                          "cut off", c->path, (long long)c->lines + 1);
    return status;
}

static void count(ls__chain *c, const char *text, size_t bytes)
{
    ls__sha256 sha;

    ls__sha256_init(&sha);
    ls__sha256_update(&sha, text, bytes);
    ls__sha256_update(&sha, "\n", 1);
    ls__sha256_hex(&sha, c->prev);
    if (++c->lines == 1)
        memcpy(c->head, c->prev, sizeof c->head);
}

int ls__chain_read(ls__chain *c, json_t **line)
{
    char where[LS__MESSAGE / 2];
    bool end;
    int status = read_bytes(c, &end);

    *line = NULL;
    if (status < 0 || end)
        return c->lines ? status : ls__format_tell(status, c->path, LS__LINES);
    snprintf(where, sizeof where, "%.180s: line %lld", c->path,
             (long long)c->lines + 1);
    status = ls__line_read(c->line, c->bytes, where, line);
    if (status < 0)
        return c->lines ? status : ls__format_tell(status, c->path, LS__LINES);
    if (strcmp(ls__json_word(*line, "prev"), c->prev) == 0) {
        count(c, c->line, c->bytes);
        return 0;
    }
    json_decref(*line);
    *line = NULL;
    return ls__fail(LS_EFORMAT, "%s: it does not have the hash of the line "
                    "before it: something there was changed, or is missing",
                    where);
}

/* ------ going on ------ */

static int check_beginning(ls__chain *c, int64_t bytes, int64_t lines,
                           const char *prev, json_t *options)
{
    int status = 0;

    while (status == 0 && c->lines < lines) {
        json_t *line;

        status = ls__chain_read(c, &line);
        if (status == 0 && !line)
            break;
        if (status == 0)
            status = ls__changes_follow(options, line);
        json_decref(line);
    }
    if (status == 0 && (c->lines != lines || ftello(c->file) != bytes ||
                        strcmp(c->prev, prev)))
        status = ls__fail(LS_EFORMAT, "%s: is not the transcript of the "
                          "checkpoint that the run goes on from, or lost its "
                          "end", c->path);
    return status;
}

int ls__chain_go_on(ls__chain *c, const char *path, int64_t bytes,
                    int64_t lines, const char *prev, json_t *options)
{
    ls__chain old;
    int status = ls__chain_open(&old, path);

    *c = (ls__chain){0};
    if (status == 0)
        status = check_beginning(&old, bytes, lines, prev, options);
    if (status == 0)
        status = begin(c, path, O_WRONLY, "w");
    memcpy(c->head, old.head, sizeof c->head);
    ls__chain_close(&old);
    if (status == 0 && (ftruncate(fileno(c->file), bytes) < 0 ||
                        fseeko(c->file, bytes, SEEK_SET) < 0))
        status = ls__io_error(path, "cut");
    if (status == 0) {
        c->lines = lines;
        memcpy(c->prev, prev, LS__HEX);
    }
    return status;
}

int64_t ls__chain_sync(ls__chain *c)
{
    int64_t at;

    if (stuck(c) < 0)
        return c->status;
    if (fflush(c->file) != 0 || fdatasync(fileno(c->file)) < 0 ||
        (at = ftello(c->file)) < 0)
        return stick(c, ls__io_error(c->path, "write"));
    return at;
}

/* ------ a line ------ */

static int write_line(ls__chain *c, const char *text)
{
    size_t bytes = strlen(text);

    if (fwrite(text, 1, bytes, c->file) != bytes || putc('\n', c->file) < 0)
        return ls__io_error(c->path, "write");
    count(c, text, bytes);
    return 0;
}

static int tell_difference(const ls__chain *c, const json_t *file,
                           const char *text, const char *const *passed)
{
    json_t *here = json_loads(text, 0, NULL);
    const json_t *n = json_object_get(file, "n");
    char what[LS__MESSAGE / 2], at[40] = "";

    if (!here)
        return ls__no_memory("a line", strlen(text));
    if (n)
        snprintf(at, sizeof at, " of %lld", (long long)json_integer_value(n));
    if (!ls__line_differs(file, here, passed, what, sizeof what)) {
        json_decref(here);
        return 0;
    }
    json_decref(here);
    return ls__fail(LS_EDIFFERS, "%.120s: line %lld (%.20s%s): %s", c->path,
                    (long long)c->lines, ls__json_word(file, "kind"), at, what);
}

static int compare_line(ls__chain *c, const char *text,
                        const char *const *passed)
{
    size_t bytes = strlen(text);
    json_t *file;
    int status = ls__chain_read(c, &file);

    if (status < 0)
        return status;
    if (!file)
        return ls__fail(LS_EDIFFERS, "%s: ends after line %lld, where the run "
                        "has another line: %.100s", c->path,
                        (long long)c->lines, text);
    if (c->bytes != bytes || memcmp(c->line, text, bytes) != 0)
        status = tell_difference(c, file, text, passed);
    json_decref(file);
    return status;
}

int ls__chain_put(ls__chain *c, const char *text, const char *const *passed)
{
    LS__ASSERT(!strchr(text, '\n'));
    if (stuck(c) < 0)
        return c->status;
    return stick(c, c->compares ? compare_line(c, text, passed)
                                : write_line(c, text));
}
