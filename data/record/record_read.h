/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading the file of a recorded step (docs/transcript.md, "Records of a
 * step"). */
#ifndef LS_RECORD_RECORD_READ_H
#define LS_RECORD_RECORD_READ_H

#include "chain/lines.h"
#include "hash/merkle.h"
#include "record/where.h"

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

/* Bits of so many hex digits. */
bool ls__bits_read(const char *text, int digits, uint64_t *bits);

/* The place that a line names; its texts are the line's, and NULL where the
 * line has none. */
ls__where ls__record_place(const json_t *line);

#endif
