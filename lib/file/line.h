/* SPDX-License-Identifier: BSD-3-Clause */
/* A line of a transcript: canonical JSON (keys sorted, no blanks, whole numbers
 * only; floats and doubles are the hex digits of their bits, big end first),
 * and the table of which fields each kind of line has. */
#ifndef LS_CHAIN_LINE_H
#define LS_CHAIN_LINE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LS__LINE_STEP = 512,      /* bytes that a line of numbers has at the most */
    LS__LINE_MOST = 1 << 24   /* bytes that any line may have */
};

/* What a field holds. */
typedef enum ls__field_type {
    LS__COUNT_FIELD, /* a whole number from 0 to 2^53 */
    LS__HEX8, LS__HEX16, LS__HEX64, /* so many lower-case hex digits */
    LS__ONE_OR_NONE, LS__HEX64_OR_NONE, /* a line may be without */
    LS__TEXT_FIELD,
    LS__TEXTS_FIELD, /* an object of texts */
    LS__FILES_FIELD  /* an array of objects: bytes, name, sha256 */
} ls__field_type;

/* Whose lines: each has kinds of its own. */
typedef enum ls__line_form {
    LS__TRANSCRIPT, /* docs/transcript.md */
    LS__RECORD,     /* the same, "Records of a step" */
    LS__FORMS
} ls__line_form;

/* Parse a line, without its newline, and check that it is canonical and has
 * exactly the fields of its kind, which is one of that form.  *line is the
 * caller's to be released, NULL after a failure.  LS_EFORMAT, with a message
 * that begins with `where`; LS_ENOMEM. */
int ls__line_read(ls__line_form form, const char *text, size_t bytes,
                  const char *where, json_t **line);

/* Write an object canonically; to be freed.  NULL: no memory. */
char *ls__line_write(const json_t *object);

/* What two sides are called, and where their difference is written. */
typedef struct ls__sides {
    char *text;
    size_t size;
    const char *name[2]; /* "in the first", "in the second" */
} ls__sides;

/* Find the first field, by name, in which two lines differ, and write it with
 * both values as texts: "loss is 40c86a77 in the first, 40c86a78 in the
 * second".  Fields that `passed` names (ended by NULL) are passed over.  False:
 * none differs. */
bool ls__sides_differ(const json_t *a, const json_t *b,
                      const char *const *passed, const ls__sides *sides);

/* The same of a file's line and the line of this run, "in the file" and
 * "here". */
bool ls__line_differs(const json_t *file, const json_t *here,
                      const char *const *passed, char *out, size_t size);

#endif
