/* SPDX-License-Identifier: BSD-3-Clause */
/* The hash chain of a transcript: lines one after the other, each with the hash
 * of the one before, written to a file or compared with a file's.  The first
 * failure sticks. */
#ifndef LS_FILE_LINES_H
#define LS_FILE_LINES_H

#include "base/error.h"
#include "file/line.h"

#include <jansson.h>
#include <stdio.h>

enum { LS__HEX = 65 };

typedef struct ls__chain {
    FILE *file;       /* NULL: not open */
    char *path;
    bool compares;
    int64_t lines;
    char prev[LS__HEX]; /* SHA-256 of the last line and its newline */
    char head[LS__HEX]; /* the same of the first line; "": none was yet */
    int status;         /* of the first failure */
    char message[LS__MESSAGE];
    char *line;         /* the last one read, without its newline */
    size_t bytes, room;
} ls__chain;

/* Make a new file, or open one to read.  LS_EIO, LS_ENOMEM. */
int ls__chain_create(ls__chain *c, const char *path);
int ls__chain_open(ls__chain *c, const char *path);

/* Open a file to write on behind its first `bytes`, which must hold `lines`
 * whole lines, the hash of the last being `prev`; what follows is cut off.
 * *options become those that the run had there (changes.h). */
int ls__chain_go_on(ls__chain *c, const char *path, int64_t bytes,
                    int64_t lines, const char *prev, json_t *options);

/* Accepts a cleared one.  What was written is not there: LS_EIO, or the status
 * of the line that failed first. */
int ls__chain_close(ls__chain *c);

/* Write a line, which holds c->prev, or read the next line and compare, but for
 * the fields in `passed`.  LS_EDIFFERS, LS_EFORMAT, LS_EIO, LS_ENOMEM; or the
 * status of an earlier failure. */
int ls__chain_put(ls__chain *c, const char *text, const char *const *passed);

/* Read the next line into c->line and check its form and the hash it has of the
 * line before; *line is to be released, NULL at the end of the file. */
int ls__chain_read(ls__chain *c, json_t **line);

/* Returns where the next line will begin, once all before is on disk: negative
 * after a failure. */
int64_t ls__chain_sync(ls__chain *c);

#endif
