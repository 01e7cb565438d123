/* SPDX-License-Identifier: BSD-3-Clause */
/* A file of results that is JSON. */
#ifndef TOOLS_OUTPUT_JSON_H
#define TOOLS_OUTPUT_JSON_H

#include <jansson.h>

/* Write it, with jansson's flags, as output.h says.  The JSON is gone
 * afterwards; NULL: it could not be made.  OPT_GO, or OPT_FAILED after a
 * message. */
int output_json(const char *path, json_t *json, size_t flags);

#endif
