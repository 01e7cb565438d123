/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON of records and transcripts, as a tree in rooms (verdict.h).  Hostile
 * texts are refused. */
#ifndef REFEREE_JSON_H
#define REFEREE_JSON_H

#include <stddef.h>
#include <stdint.h>

enum { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_TEXT, JSON_LIST,
       JSON_OBJECT };

typedef struct json {
    int type;
    const char *key;  /* of a member; else NULL */
    const char *text; /* of a text, without escapes, or a number as it stands */
    const char *from, *to; /* where it stands in what was read */
    struct json *first, *next; /* of a list or an object; the one behind it */
} json;

/* Read a text of n bytes; NULL: it is no JSON of sorted keys without blanks. */
const json *json_read(const char *text, size_t n);

/* A member; NULL: there is none, or `of` is NULL or no object. */
const json *json_get(const json *of, const char *key);

/* Member `key` as a text (NULL: it is none) and as a whole number (`usual`). */
const char *json_text(const json *of, const char *key);
int64_t json_whole(const json *of, const char *key, int64_t usual);
int64_t json_as_whole(const json *j, int64_t usual);

/* Are two values the same? */
int json_same(const json *a, const json *b);

#endif
