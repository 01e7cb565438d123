/* SPDX-License-Identifier: BSD-3-Clause */
/* One record of a text with separators, read byte by byte: csv.c finds fields,
 * csv_table.c makes a table of records. */
#ifndef LS_TABLE_CSV_H
#define LS_TABLE_CSV_H

#include "array/inflate.h"
#include "base/memory.h"
#include "file/file.h"

#include <lockstep/table.h>

/* A record of more bytes or more fields is refused. */
enum { LS__CSV_BYTES = 1 << 26, LS__CSV_FIELDS = 1 << 20 };

typedef struct ls__csv_field {
    size_t at;   /* its text in `text`, which a zero byte ends */
    bool quoted; /* it stood in quotes */
} ls__csv_field;

typedef struct ls__csv {
    const char *path; /* borrowed */
    ls__file file;
    bool packed;    /* by gzip, whose stream is open then */
    ls__inflate gzip;
    char separator;
    int64_t line;  /* of the file, that the next byte is on */
    int64_t began; /* line on which the record begins */
    /* The bytes of the file in pieces. */
    unsigned char *chunk;
    int64_t offset; /* of the byte behind the chunk */
    size_t next, filled;
    /* The record. */
    char *text;
    size_t used, room;
    ls__csv_field *field;
    int fields, field_room;
} ls__csv;

/* Open a file, pass over its byte order mark and settle the separator; close it
 * in either case. */
int ls__csv_open(ls__csv *c, const char *path);
void ls__csv_close(ls__csv *c);

/* The next record that is not an empty line: 1, 0 at the end, or a failure that
 * names line and column. */
int ls__csv_next(ls__csv *c);

/* Stand before the first record again. */
int ls__csv_rewind(ls__csv *c);

struct ls_table {
    ls__csv csv;
    ls__arena names;
    char *path;
    char **name; /* [columns] */
    int *sorted; /* [columns], by their names */
    int columns;
    bool row; /* there is one */
    int64_t marked[2];    /* the first line with a point in a number, with a
                             comma; else 0 */
    int64_t thousands[2]; /* and with one that may part thousands, as 1.050 */
};

/* LS_EFORMAT: the first line is a row. */
int ls__table_no_names(const ls_table *t, const char *why);

/* Has a column no name of its own? */
bool ls__table_nameless(const ls_table *t, int i);

/* Is a text one that stands for a missing value, where it is in no quotes? */
bool ls__table_missing(const char *text);

/* A comma may stand for the point of a number where it separates no fields. */
static inline bool ls__table_comma(const ls_table *t)
{
    return t->csv.separator != ',';
}

/* Numbers 0 to below n in the order of their texts; to be freed. *same (-1:
 * none): a text that stands twice.  NULL: no memory. */
int *ls__sort_texts(int n, const char *const *text, int *same);

/* The number of a text among those that were sorted; -1: it is none. */
int ls__find_text(int n, const char *const *text, const int *sorted,
                  const char *wanted);

/* LS_ENOTFOUND and a message with the column that has most letters of the name
 * wanted, half of them at least; else with the last. */
int ls__no_text(const char *whose, const char *have, int n,
                const char *const *text, const char *wanted);

#endif
