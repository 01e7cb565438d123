/* SPDX-License-Identifier: BSD-3-Clause */
/* Failures of jansson, above all where memory is short. */
#ifndef LS_BASE_JSON_H
#define LS_BASE_JSON_H

#include <jansson.h>

/* The reason why json_loadb gave nothing: LS_ENOMEM, or LS_EFORMAT with a
 * message that begins with path and `what` ("the header is no JSON") and names
 * the byte, counted from `first`. */
int ls__json_fail(const char *path, const char *what, size_t first,
                  const json_error_t *error);

/* A text as a value, or its bytes, "0x66ff", where it is not UTF-8. */
json_t *ls__json_string(const char *text);

/* The text of a value, to be freed; NULL: no memory.
 * (json_dumps of jansson 2.14 gives a text without a key for which its buffer
 * could not grow; json_dumpb has no buffer.) */
char *ls__json_text(const json_t *value, size_t flags);

#endif
