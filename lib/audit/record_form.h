/* SPDX-License-Identifier: BSD-3-Clause */
/* The form of a record's file (docs/transcript.md, "Records of a step"): a
 * header; arrays, each its leaves' hashes and, with values, its words; and the
 * tail: the head, a line of JSON, the index, the names and the seal.  Numbers
 * are little end first. */
#ifndef LS_AUDIT_RECORD_FORM_H
#define LS_AUDIT_RECORD_FORM_H

#include "base/little.h"
#include "base/sha.h"
#include "state/merkle.h"

#include <stdint.h>

enum { LS__RECORD_VERSION = 3, LS__RECORD_ALIGNED = 64 };

#define LS__RECORD_MAGIC "lockstep record\n"

/* The words of an array: floats, which are canonical; integers as they are;
 * doubles, two words each, the high one first. */
typedef enum ls__word_kind {
    LS__FLOATS, LS__INTEGERS, LS__DOUBLES, LS__WORD_KINDS
} ls__word_kind;

typedef struct ls__record_header {
    char magic[16];
    uint64_t version;
    uint64_t tail_at;     /* bytes before the head */
    uint64_t head_bytes;
    uint64_t entries;
    uint64_t names_bytes;
    uint64_t zero;
} ls__record_header;

/* An array in the index; texts are offsets into the names. */
typedef struct ls__record_entry {
    uint32_t phase, kind, what, name, op, shape;
    int32_t device, micro, node, index;
    int64_t first, rows, words;
    uint64_t at; /* of its leaves' hashes; the words follow them */
    uint64_t zero[3];
} ls__record_entry;

_Static_assert(sizeof(ls__record_header) == 64 &&
               sizeof(ls__record_entry) == 96, "as files have them");

/* The seal of a file: of its header, as the file has it, and of its tail up to
 * there. */
static inline ls__digest ls__record_seal(const ls__record_header *h,
                                         const void *tail, size_t bytes)
{
    ls__digest seal;
    ls__sha256 sha;

    ls__sha256_init(&sha);
    ls__sha256_update(&sha, h, sizeof *h);
    ls__sha256_update(&sha, tail, bytes);
    ls__sha256_final(&sha, seal.byte);
    return seal;
}

/* Turn the machine's order to a file's, or back. */
static inline void ls__record_header_turn(ls__record_header *h)
{
    ls__little(&h->version, 6, sizeof h->version);
}

static inline void ls__record_entry_turn(ls__record_entry *e)
{
    ls__little(&e->phase, 10, sizeof e->phase);
    ls__little(&e->first, 7, sizeof e->first);
}

#endif
