/* One record of a text with separators, read byte by byte: csv.c finds fields,
 * csv_table.c knows what a table is. */
#ifndef LS_TABLE_CSV_H
#define LS_TABLE_CSV_H

#include "base/file.h"
#include "lockstep.h"

/* A record of more bytes or more fields is refused. */
enum { LS__CSV_BYTES = 1 << 26, LS__CSV_FIELDS = 1 << 20 };

typedef struct ls__csv_field {
    size_t at;   /* its text in `text`, which a zero byte ends */
    bool quoted; /* it stood in quotes */
} ls__csv_field;

typedef struct ls__csv {
    const char *path; /* borrowed */
    ls__file file;
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

/* Before the first record again. */
int ls__csv_rewind(ls__csv *c);

#endif
