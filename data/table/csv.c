/* SPDX-License-Identifier: BSD-3-Clause */
/* Records and fields.  The file is hostile until checked: what a record may
 * need is bounded, nothing is believed of its length, and every text is UTF-8
 * without a zero byte. */
#include "table/csv.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 16, END = -1 };

static int malformed(const ls__csv *c, const char *what)
{
    return ls__fail(LS_EFORMAT, "%s: line %lld, column %d: %s", c->path,
                    (long long)c->line, c->fields + 1, what);
}

/* ------ Bytes ------ */

/* The next bytes of the file: how many, or a status. */
static int64_t fetch(ls__csv *c)
{
    int64_t left = c->file.size - c->offset;
    int64_t n = left < CHUNK ? left : CHUNK;
    int status = ls__file_read(&c->file, c->chunk, (size_t)n, c->offset);

    return status < 0 ? status : n;
}

/* The same of what a stream of gzip holds, which ends where its file does. */
static int64_t unpack(ls__csv *c)
{
    int64_t n = ls__gunzip_read(&c->gzip, c->chunk, CHUNK);
    int status = n == 0 ? ls__gunzip_end(&c->gzip) : 0;

    return status < 0 ? status : n;
}

static int refill(ls__csv *c)
{
    int64_t n = c->packed ? unpack(c) : fetch(c);

    if (n < 0)
        return (int)n;
    c->offset += n;
    c->next = 0;
    c->filled = (size_t)n;
    return 0;
}

/* *byte = the next one, or END; it stays the next. */
static int peek(ls__csv *c, int *byte)
{
    int status = c->next == c->filled ? refill(c) : 0;

    *byte = c->next < c->filled ? c->chunk[c->next] : END;
    return status;
}

/* ------ The record ------ */

/* Twice the room, within the bound. */
static int grow(ls__csv *c)
{
    size_t room = c->room ? 2 * c->room : 256;
    char *text = room <= LS__CSV_BYTES ? realloc(c->text, room) : NULL;

    if (room > LS__CSV_BYTES)
        return malformed(c, "the row is longer than 64 MB; is a quote left "
                            "open?");
    if (!text)
        return ls__no_memory(c->path, room);
    c->text = text;
    c->room = room;
    return 0;
}

static int put(ls__csv *c, int byte)
{
    int status = c->used == c->room ? grow(c) : 0;

    if (status == 0)
        c->text[c->used++] = (char)byte;
    return status;
}

static int more_fields(ls__csv *c)
{
    int room = c->field_room ? 2 * c->field_room : 16;
    ls__csv_field *field;

    if (room > LS__CSV_FIELDS)
        return malformed(c, "the row has more than a million fields");
    field = realloc(c->field, (size_t)room * sizeof *field);
    if (!field)
        return ls__no_memory(c->path, (size_t)room * sizeof *field);
    c->field = field;
    c->field_room = room;
    return 0;
}

static int end_field(ls__csv *c, size_t at, bool quoted)
{
    int status = c->fields == c->field_room ? more_fields(c) : 0;

    if (status == 0)
        status = put(c, 0);
    if (status == 0 && !ls__utf8_is(c->text + at))
        status = malformed(c, "the text is not UTF-8 (iconv -f cp1252 -t utf-8 "
                              "makes it so of Windows' text)");
    if (status == 0)
        c->field[c->fields++] = (ls__csv_field){at, quoted};
    return status;
}

/* ------ Fields ------ */

static bool ends_line(int byte)
{
    return byte == '\n' || byte == '\r' || byte == END;
}

static int check_zero(const ls__csv *c, int byte)
{
    return byte ? 0
                : malformed(c, "there is a zero byte; is this a text "
                               "table, and in UTF-8? (iconv -f utf-16le -t "
                               "utf-8 makes it so of UTF-16)");
}

/* The next byte becomes part of the record. */
static int take(ls__csv *c, int byte)
{
    int status = check_zero(c, byte);

    c->next++;
    c->line += byte == '\n';
    return status == 0 ? put(c, byte) : status;
}

static int skip_blanks(ls__csv *c, int *byte)
{
    int status = peek(c, byte);

    while (status == 0 && *byte == ' ') {
        c->next++;
        status = peek(c, byte);
    }
    return status;
}

/* Reads on from the opening quote, to the closing one. */
static int read_inside(ls__csv *c, int *byte)
{
    int64_t opened = c->line;
    int status = peek(c, byte);

    while (status == 0 && *byte != END) {
        if (*byte == '"') {
            c->next++;
            status = peek(c, byte);
            if (status < 0 || *byte != '"')
                return status;
        }
        if ((status = take(c, *byte)) == 0)
            status = peek(c, byte);
    }
    if (status < 0)
        return status;
    return ls__fail(LS_EFORMAT, "%s: line %lld, column %d: the quote has no "
                    "end", c->path, (long long)opened, c->fields + 1);
}

static int read_quoted(ls__csv *c, int *byte)
{
    int status;

    c->next++;
    status = read_inside(c, byte);
    if (status == 0)
        status = skip_blanks(c, byte);
    if (status < 0 || ends_line(*byte) || *byte == c->separator)
        return status;
    return malformed(c, "a text follows the closing quote");
}

static int read_plain(ls__csv *c, int *byte)
{
    size_t at = c->used;
    int status = 0;

    while (status == 0 && !ends_line(*byte) && *byte != c->separator) {
        status = take(c, *byte);
        if (status == 0)
            status = peek(c, byte);
    }
    while (c->used > at && c->text[c->used - 1] == ' ')
        c->used--;
    return status;
}

/* *byte: what ended it. */
static int read_field(ls__csv *c, int *byte)
{
    size_t at = c->used;
    int status = skip_blanks(c, byte);
    bool quoted = status == 0 && *byte == '"';

    if (status == 0)
        status = quoted ? read_quoted(c, byte) : read_plain(c, byte);
    return status == 0 ? end_field(c, at, quoted) : status;
}

/* LF, CR LF or CR. */
static int end_line(ls__csv *c, int byte)
{
    int status;

    if (byte == END)
        return 0;
    c->next++;
    c->line++;
    if (byte == '\n' || (status = peek(c, &byte)) < 0)
        return byte == '\n' ? 0 : status;
    c->next += byte == '\n';
    return 0;
}

static int skip_empty(ls__csv *c, int *byte)
{
    int status = skip_blanks(c, byte);

    while (status == 0 && (*byte == '\n' || *byte == '\r')) {
        status = end_line(c, *byte);
        if (status == 0)
            status = skip_blanks(c, byte);
    }
    return status;
}

int ls__csv_next(ls__csv *c)
{
    int byte, status;

    c->used = 0;
    c->fields = 0;
    status = skip_empty(c, &byte);
    if (status < 0 || byte == END)
        return status;
    c->began = c->line;
    while ((status = read_field(c, &byte)) == 0 && byte == c->separator)
        c->next++;
    if (status == 0)
        status = end_line(c, byte);
    return status < 0 ? status : 1;
}

/* ------ The file ------ */

/* Go before the first byte; a stream of gzip begins anew. */
static int begin(ls__csv *c)
{
    uint8_t head[4] = {0};
    size_t n = c->file.size < 4 ? (size_t)c->file.size : sizeof head;
    int status = n ? ls__file_read(&c->file, head, n, 0) : 0;

    if (c->packed)
        ls__inflate_close(&c->gzip);
    c->packed = false;
    c->offset = 0;
    c->line = 1;
    if (status == 0 && ls__gunzip_looks(head)) {
        status = ls__gunzip_open(&c->gzip, &c->file);
        c->packed = status == 0;
    }
    return status;
}

/* A first line "sep=;", by which Excel is told the separator. */
static void take_separator(ls__csv *c)
{
    const char *p = (const char *)c->chunk + c->next;
    size_t n = 5, left = c->filled - c->next;

    if (left < n + 1 || memcmp(p, "sep=", 4) != 0)
        return;
    n += p[n] == '\r';
    if (n == left || p[n] != '\n')
        return;
    c->separator = p[4];
    c->next += n + 1;
    c->line++;
}

/* A byte order mark is no part of the first name. */
int ls__csv_rewind(ls__csv *c)
{
    static const unsigned char mark[] = {0xef, 0xbb, 0xbf};
    int status = begin(c);

    if (status == 0)
        status = refill(c);
    if (status < 0)
        return status;
    if (c->filled >= sizeof mark && !memcmp(c->chunk, mark, sizeof mark))
        c->next = sizeof mark;
    take_separator(c);
    return 0;
}

/* The candidate that the first line has most of; quoted text does not count. */
static int find_separator(ls__csv *c)
{
    static const char candidate[] = ",;\t|";
    int64_t count[sizeof candidate] = {0};
    int byte, best = 0, status = c->separator ? 0 : skip_empty(c, &byte);
    bool quoted = false;

    if (c->separator || status < 0)
        return status; /* it is told */

    while (status == 0 && (quoted ? byte != END : !ends_line(byte))) {
        const char *is = byte ? strchr(candidate, byte) : NULL;

        quoted ^= byte == '"';
        if (is && !quoted)
            count[is - candidate]++;
        c->next++;
        status = peek(c, &byte);
    }
    for (int i = 1; candidate[i]; i++)
        if (count[i] > count[best])
            best = i;
    c->separator = candidate[best];
    return status;
}

int ls__csv_open(ls__csv *c, const char *path)
{
    int status;

    *c = (ls__csv){.path = path};
    status = ls__file_open(&c->file, path);
    if (status < 0)
        return status;
    c->chunk = ls__new(CHUNK, 1, path);
    status = c->chunk ? ls__csv_rewind(c) : LS_ENOMEM;
    if (status == 0)
        status = find_separator(c);
    return status == 0 ? ls__csv_rewind(c) : status;
}

void ls__csv_close(ls__csv *c)
{
    if (c->packed)
        ls__inflate_close(&c->gzip);
    ls__file_close(&c->file);
    free(c->chunk);
    free(c->text);
    free(c->field);
    *c = (ls__csv){0};
}
