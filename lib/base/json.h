/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON that is made part by part, and failures of jansson, above all where
 * memory is short. */
#ifndef LS_BASE_JSON_H
#define LS_BASE_JSON_H

#include <lockstep/base.h>

#include <jansson.h>

/* The reason why json_loadb gave nothing: LS_ENOMEM, or LS_EFORMAT with a
 * message that begins with path and `what` ("the header is no JSON") and names
 * the byte, counted from `first`. */
int ls__json_fail(const char *path, const char *what, size_t first,
                  const json_error_t *error);

/* A text as a value, or its bytes, "0x66ff", where it is not UTF-8. */
json_t *ls__json_string(const char *text);

/* The object with a value, with n texts, the list with one more.  Each may be
 * NULL, as what could not be made is; the result is then, and nothing else is
 * left: so that only the end of all must be looked at. */
json_t *ls__json_with(json_t *object, const char *name, json_t *value);
json_t *ls__json_with_texts(json_t *object, int n, const ls_setting *text);
json_t *ls__json_and(json_t *list, json_t *value);

/* The text or the whole number that an object has under a name; NULL or 0 where
 * there is none. */
static inline const char *ls__json_word(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

static inline int64_t ls__json_count(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

/* Is it an object of texts? */
bool ls__json_are_texts(const json_t *object);

/* The text of a value, to be freed; NULL: no memory.
 * (json_dumps of jansson 2.14 gives a text without a key for which its buffer
 * could not grow; json_dumpb has no buffer.) */
char *ls__json_text(const json_t *value, size_t flags);

#endif
