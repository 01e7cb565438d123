/* SPDX-License-Identifier: BSD-3-Clause */
/* A line of a transcript: canonical JSON (keys sorted, no blanks, whole numbers
 * only; floats and doubles are the hex digits of their bits, big end first),
 * and the table of fields of each kind of line. */
#ifndef LS_FILE_LINE_H
#define LS_FILE_LINE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LS__CANONICAL = JSON_COMPACT | JSON_SORT_KEYS,
    LS__LINE_STEP = 512,      /* bytes that a line of numbers has at the most */
    LS__LINE_MOST = 1 << 24   /* bytes that any line may have */
};

/* The type of a field. */
typedef enum ls__field_type {
    LS__COUNT_FIELD, /* a whole number from 0 to 2^53 */
    LS__HEX8, LS__HEX16, LS__HEX64, /* so many lower-case hex digits */
    LS__ONE_OR_NONE, LS__HEX64_OR_NONE, /* a line may be without */
    LS__HEX64_OR_EMPTY, /* or the empty text */
    LS__TEXT_FIELD,
    LS__TEXTS_FIELD, /* an object of texts */
    LS__FILES_FIELD  /* an array of objects: bytes, name, role, sha256; no role
                        twice */
} ls__field_type;

/* Parse a line, without its newline, and check that it is canonical and has
 * exactly the fields of its kind.  *line is the caller's to be released, NULL
 * after a failure.  LS_EFORMAT, with a message that begins with `where`;
 * LS_ENOMEM. */
int ls__line_read(const char *text, size_t bytes, const char *where,
                  json_t **line);

/* Write an object canonically; to be freed.  NULL: no memory. */
char *ls__line_write(const json_t *object);

/* Is a line of that kind?  False where it has none. */
bool ls__line_is(const json_t *line, const char *what);

/* Has a line files whose names and roles are names in a folder, no paths, and
 * each role once? */
bool ls__line_has_files(const json_t *line);

/* The names of two sides, and where their difference is written. */
typedef struct ls__sides {
    char *text;
    size_t size;
    const char *name[2]; /* "in the first", "in the second" */
} ls__sides;

/* Find the first field, by name, in which two lines differ, and write it with
 * both values as texts: "loss is 40c86a77 in the first, 40c86a78 in the
 * second".  Fields in `passed` (ended by NULL) and those that may always differ
 * (differ.c) are passed over; files are compared by role and digest.  False:
 * none differs. */
bool ls__sides_differ(const json_t *a, const json_t *b,
                      const char *const *passed, const ls__sides *sides);

/* The same of a file's line and the line of this run, "in the file" and
 * "here". */
bool ls__line_differs(const json_t *file, const json_t *here,
                      const char *const *passed, char *out, size_t size);

#endif
