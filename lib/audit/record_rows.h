/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of a recorded batch in their data: their numbers, and for each leaf
 * that they lie in its words and the way to the root of all. */
#ifndef LS_AUDIT_RECORD_ROWS_H
#define LS_AUDIT_RECORD_ROWS_H

#include "audit/row_tree.h"
#include <lockstep/record.h>

#include <jansson.h>

typedef struct ls__record_rows {
    ls__row_tree tree;
    int64_t real;      /* rows of the batch that the data has; 0: no data */
    int64_t *row;      /* [real] their numbers */
    ls__digest *level; /* the tree: leaves, pairs and so on, to the root */
    const ls__digest *root;
} ls__record_rows;

enum { LS__WAY = 64 }; /* digests at most */

/* Find the rows of a record's batch.  Does nothing without a source; closed
 * after a failure, too.  LS_EINVAL; as ls_source_root. */
int ls__record_rows_open(ls__record_rows *rows, const ls_record_options *o);
void ls__record_rows_close(ls__record_rows *rows);

/* The rows' entry in the record's head: a new object; NULL: no memory. */
json_t *ls__record_rows_said(const ls__record_rows *rows,
                             const ls_record_options *o);

/* The digests beside the way of a leaf to the root, from the leaf up; returns
 * how many. */
int ls__record_rows_way(const ls__record_rows *rows, int64_t leaf,
                        ls__digest way[LS__WAY]);

#endif
