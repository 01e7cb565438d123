/* SPDX-License-Identifier: BSD-3-Clause */
/* The file of a recorded step (docs/transcript.md, "Records of a step"): JSON
 * lines, each with the hash of the one before.  Of every array that the step
 * makes, in the order in which it is made, a line has the hashes of its leaves
 * (base/merkle.h) and their root, and, where values are wanted, a line for each
 * leaf has its numbers. */
#ifndef LS_RECORD_RECORD_FILE_H
#define LS_RECORD_RECORD_FILE_H

#include "base/merkle.h"
#include "base/range.h"
#include "chain/lines.h"

enum { LS__RECORD_VERSION = 2, LS__BITS_TEXT = 17 };

/* Where an array or a number belongs.  What does not apply is 0 or "". */
typedef struct ls__where {
    const char *phase;    /* "before", "rows", "forward", "backward",
                             "gradient", "mean", "rule", "after" */
    const char *op, *name;
    const char *what;
    const char *shape;    /* "4x16"; of a row, where there are rows */
    int64_t device, micro;
    int64_t first, rows;  /* of the shard */
    int64_t node, index;
} ls__where;

/* ------ writing ------ */

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

/* ------ reading ------ */

/* A line that was read and checked; texts are the line's. */
typedef enum ls__entry_kind {
    LS__HEAD_ENTRY, LS__SLOT_ENTRY, LS__NODE_ENTRY, LS__ARRAY_ENTRY,
    LS__NUMBER_ENTRY, LS__CLOSE_ENTRY
} ls__entry_kind;

typedef struct ls__entry {
    ls__entry_kind kind;
    json_t *line;
    ls__where place;
    const char *root, *bits; /* of an array; of a number */
    int64_t floats, at;      /* of an array or a slot; where a slot begins */
    const ls__digest *leaf;  /* of an array, until the next entry is read */
} ls__entry;

typedef struct ls__record_reader {
    ls__chain chain;
    json_t *ahead;     /* a line that was read, of the next entry */
    bool values;       /* it has those of all arrays */
    bool is_over;
    int64_t floats;    /* of the last array, */
    ls__digest *leaf;  /* its leaves, */
    ls__digest *piece; /* the roots of those read, of their pieces, */
    ls__digest pieces; /* what all of them make, */
    int64_t next_leaf; /* and the one to come */
} ls__record_reader;

int ls__record_open(ls__record_reader *r, const char *path);
void ls__record_shut(ls__record_reader *r);

/* The next entry but leaves, to be released.  After the last line, kind
 * LS__CLOSE_ENTRY, none may be read.  LS_EFORMAT, LS_ENOMEM. */
int ls__record_next(ls__record_reader *r, ls__entry *e);
void ls__entry_release(ls__entry *e);

/* Read the numbers of the next leaf, which have its hash, into value[], after
 * an array if there are values.  Returns how many; 0: there are no more;
 * negative: LS_EFORMAT, LS_ENOMEM.  Leaves that nobody asks for are checked,
 * too, by the next ls__record_next. */
int64_t ls__record_leaf(ls__record_reader *r, uint32_t value[LS__LEAF]);

/* ------ both ------ */

/* A digest from 64 hex digits; false: there are none. */
bool ls__digest_read(ls__digest *d, const char *text);

/* Bits of so many hex digits. */
bool ls__bits_read(const char *text, int digits, uint64_t *bits);

#endif
