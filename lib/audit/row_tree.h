/* SPDX-License-Identifier: BSD-3-Clause */
/* A source's rows as one array of words, row after row, each its arrays and
 * then its weight, under a Merkle tree. */
#ifndef LS_AUDIT_ROW_TREE_H
#define LS_AUDIT_ROW_TREE_H

#include "state/merkle.h"
#include <lockstep/source.h>

typedef struct ls__row_tree {
    const ls_source *source;
    int arrays;       /* with the weight */
    int64_t width, words; /* of a row, of all rows */
    int64_t *size;    /* [arrays] */
    int64_t each;     /* rows that are read at once */
    int64_t *index;   /* [each] */
    uint32_t **out;   /* [arrays] */
    uint32_t *room;   /* leaves that are not full yet */
    int64_t at, done; /* words in it; leaves hashed */
    ls__digest *leaf;
    bool *wanted;   /* [leaves] those whose words are kept; NULL: none */
    int64_t taken;  /* of them */
    uint32_t *kept; /* [taken][LS__LEAF] */
} ls__row_tree;

/* LS_ENOTSUP: the rows have no root; LS_EINVAL, LS_ENOMEM. */
int ls__row_tree_open(ls__row_tree *t, const ls_source *source);

/* Read all rows, and hash all leaves.  LS_EUSER. */
int ls__row_tree_hash(ls__row_tree *t);

void ls__row_tree_free(ls__row_tree *t);

#endif
