/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON that is made part by part: what cannot be had, for want of memory or
 * because a text is no UTF-8, makes all of it NULL, so that only the end must
 * be looked at. */
#ifndef TOOLS_JSON_PARTS_H
#define TOOLS_JSON_PARTS_H

#include <jansson.h>

/* The object with a value, the list with one more; either may be NULL, and the
 * result is then, and nothing else is left. */
json_t *json_with(json_t *object, const char *name, json_t *value);
json_t *json_and(json_t *list, json_t *value);

/* Print it as a line of ASCII, with jansson's flags; it is released.  OPT_GO,
 * or OPT_FAILED after a message. */
int json_print(json_t *value, size_t flags);

#endif
