/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading the file of a recorded step (record_form.h).  Its tail is read and
 * checked at once; of arrays only what is asked for. */
#ifndef LS_AUDIT_RECORD_READ_H
#define LS_AUDIT_RECORD_READ_H

#include "audit/record_form.h"
#include "audit/where.h"
#include "file/file.h"
#include "state/merkle.h"

#include <jansson.h>

typedef struct ls__record {
    ls__file file;
    json_t *head;
    bool values; /* it has those of all arrays */
    int64_t entries;
    ls__record_entry *entry;
    char *tail;        /* as it is in the file, up to the seal */
    const char *names; /* in it */
    int64_t names_bytes;
} ls__record;

/* LS_EFORMAT says what is wrong, LS_ENOTSUP: another version; LS_EIO,
 * LS_ENOMEM.  Shut after a failure, too. */
int ls__record_open(ls__record *r, const char *path);
void ls__record_shut(ls__record *r);

/* The place of an array; its texts are the record's. */
ls__where ls__record_where(const ls__record *r, const ls__record_entry *e);

/* Read n hashes of an array's leaves, from `first` on.  LS_EIO. */
int ls__record_hashes(const ls__record *r, const ls__record_entry *e,
                      int64_t first, int64_t n, ls__digest *leaf);

/* Read the words of a leaf, which must have its hash, of a record with values.
 * Returns how many; LS_EFORMAT, LS_EIO. */
int64_t ls__record_words_of(const ls__record *r, const ls__record_entry *e,
                            int64_t leaf, uint32_t word[LS__LEAF]);

#endif
