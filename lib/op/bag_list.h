/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of bags: what stands in a bag, its indices rising, and the sums over
 * bags that the gradient of a table is made of. */
#ifndef LS_OP_BAG_LIST_H
#define LS_OP_BAG_LIST_H

#include "graph/op.h"

#include <string.h>

/* The attributes of a bag; a sum of rows has no bias, a dense layer no mean. */
typedef struct ls__bag_of {
    int64_t count; /* inputs: rows of the table */
    int64_t features;
    bool bias, mean;
} ls__bag_of;

static inline const ls__bag_of *ls__bag_of_node(const ls_node *n)
{
    return n->of;
}

/* A bag's decisions: the lot that it is in, if any, and where that lies; and
 * whether only bags write the gradient of its table, so that they know which of
 * its rows are zeros. */
typedef struct ls__bag_made {
    const struct ls__bag_update *lot;
    int64_t lot_at;
    bool touched;
} ls__bag_made;

/* Does an instruction know that? */
bool ls__bag_touches(const ls__instr *in);

/* Entries and counts are three and one of four bytes, as floats are. */
enum {
    LS__BAG_ENTRY = sizeof(ls__bag_entry) / sizeof(float),
    LS__BAG_COUNTS = 256
};

/* The places of a bag: most that its list can have. */
int64_t ls__bag_places(const ls_node *node);

/* The floats of a list: how many there are, their indices, their values. */
int64_t ls__bag_list_floats(const ls_node *node);

/* Write the list of bag number `bag` of r->x.  Where an index stands twice, its
 * values are added in the order of their places.  e has room for all places. */
void ls__bag_list_make(const ls__run *r, int64_t bag, ls__bag_entry *e,
                       float *list);

static inline int64_t ls__bag_list_count(const float *list)
{
    int32_t count;

    memcpy(&count, list, sizeof count);
    return count;
}

/* A list as kernels read it. */
ls__bag ls__bag_list(const ls__run *r, const float *list);

/* The bits of an index of its table. */
int ls__bag_bits(const ls_node *node);

/* Sort n entries (stable radix sort) by the lower `bits` bits of their indices,
 * the other bits being equal.  Returns the sorted array, e or `other`. */
const ls__bag_entry *ls__bag_sort(int bits, int64_t n, ls__bag_entry *e,
                                  ls__bag_entry *other);

/* Rows first .. last of the table's gradient become 0. */
void ls__bag_clear(const ls__run *r, int64_t first, int64_t last);

/* Rows of the table's gradient (+)= sum over sorted entries of value d[bag],
 * for each index that occurs; add false: rows from `next` on that do not occur,
 * before one that does, become 0.  Returns the row after the last. */
int64_t ls__bag_table_grad(const ls__run *r, int64_t next, int64_t n,
                           const ls__bag_entry *e, const float *d, bool add);

#endif
