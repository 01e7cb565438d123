/* SPDX-License-Identifier: BSD-3-Clause */
/* The file of a recorded step (docs/transcript.md, "Records of a step"): JSON
 * lines, each with the hash of the one before.  Of every array that the step
 * makes, in the order in which it is made, a line has the hashes of its leaves
 * (hash/merkle.h) and their root, and, where values are wanted, a line for each
 * leaf has its numbers. */
#ifndef LS_RECORD_RECORD_FILE_H
#define LS_RECORD_RECORD_FILE_H

#include "chain/lines.h"
#include "hash/merkle.h"
#include "record/where.h"

typedef struct ls__record_file {
    ls__chain chain;
    char *path, *part; /* the file is called `part` until it is whole */
    bool values;
    ls__digest *leaf;  /* room for the leaves of an array, */
    ls__digest *piece; /* and for the roots of their pieces */
    int64_t room;
    char *text;        /* and for their digits */
} ls__record_file;

/* The first failure sticks, and all that follow return it.  LS_EIO,
 * LS_ENOMEM. */
int ls__record_create(ls__record_file *f, const char *path, bool values);

/* Write an object as the next line; it is released. */
int ls__record_line(ls__record_file *f, json_t *line);

/* Integers are written as they are.  Of floats each NaN is 7fc00000 and a
 * denormal a zero of its sign: where those may differ, nothing that counts
 * does. */
int ls__record_array(ls__record_file *f, const ls__where *place,
                     const void *values, int64_t floats, bool integers);

/* A number as the hex digits of its bits: 8 or 16. */
int ls__record_float(ls__record_file *f, const ls__where *place, float x);
int ls__record_double(ls__record_file *f, const ls__where *place, double x);

/* Close it: it has its name only if all went well and `whole`.  Accepts a
 * cleared one. */
int ls__record_close(ls__record_file *f, bool whole);

#endif
