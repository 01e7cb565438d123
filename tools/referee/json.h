/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON of records and transcripts, as a tree.  Hostile texts are refused. */
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
    const char *from, *to; /* where it stands */
    struct json *first, *next; /* of a list or an object; the one behind it */
} json;

/* All values of one text, the first of them the text's own. */
typedef struct json_doc {
    json *root;
    char *texts;
} json_doc;

/* Read a text of n bytes, which must live on; NULL: it is no JSON of sorted
 * keys without blanks, and doc is empty. */
json *json_read(const char *text, size_t n, json_doc *doc);
void json_free(json_doc *doc);

/* A member; NULL: there is none, or `of` is NULL or no object. */
const json *json_get(const json *of, const char *key);

/* Member `key` as a text (NULL: it is none) and as a whole number (`usual`). */
const char *json_text(const json *of, const char *key);
int64_t json_whole(const json *of, const char *key, int64_t usual);
int64_t json_as_whole(const json *j, int64_t usual);

/* Are two values the same? */
int json_same(const json *a, const json *b);

#endif
