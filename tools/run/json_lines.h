/* SPDX-License-Identifier: BSD-3-Clause */
/* The lines of a transcript, which the library has checked, once more.  What
 * cannot be read is a failure and never the end: who compares would take it for
 * a difference. */
#ifndef TOOLS_JSON_LINES_H
#define TOOLS_JSON_LINES_H

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

typedef struct json_lines {
    const char *path; /* borrowed */
    FILE *file;
    char *text;
    size_t room;
} json_lines;

/* OPT_FAILED after a message. */
int json_lines_open(json_lines *l, const char *path);

/* The next line, to be released; NULL: there is none.  OPT_FAILED after a
 * message. */
int json_lines_next(json_lines *l, json_t **line);

/* Accepts one that was not opened. */
void json_lines_close(json_lines *l);

#endif
