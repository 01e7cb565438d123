/* SPDX-License-Identifier: BSD-3-Clause */
/* Lots: batched bag updates.  Bags of a wide table work on many chunks at once.
 *
 * A chunk alone reads rows from all over the table, and writes to as many rows
 * of its gradient; the next one reads and writes them again, and each time they
 * come from memory.  So the first chunk of a lot computes the bags of all its
 * chunks, those beside each other that read what lies together, and the last
 * one adds up the gradient of all, row by row of the table.  Between them a row
 * of y waits for its chunk, and then dy lies in its place.
 *
 * This is only a schedule and changes no bit: a bag depends on no other, and
 * what is added to a row of the gradient is added in the order of chunks,
 * within a chunk of members, within a member of bags.
 *
 * Where few rows of the table occur, and each of them often, it is dy that
 * would come from memory again and again: then the gradient is added up more
 * often, after fewer chunks. */
#ifndef LS_OP_BAG_UPDATE_H
#define LS_OP_BAG_UPDATE_H

#include "graph/op.h"

enum { LS__LOT_MEMBERS = 4 };

/* The bags that share a table, in the order of their backward. */
typedef struct ls__bag_update {
    int members;
    const ls_node *member[LS__LOT_MEMBERS];
    int64_t chunk_rows;
    int64_t chunks;                 /* most of a lot */
    int64_t bags[LS__LOT_MEMBERS];  /* of a chunk: places for rows of y, a
                                       multiple of LS__CHUNK */
    int64_t rows[LS__LOT_MEMBERS];  /* offsets: y, then dy */
    int64_t lists[LS__LOT_MEMBERS]; /* of its lists */
    int64_t places;                 /* most entries of all lists */
    int64_t entries;                /* twice these, and counts */
    int64_t seen;                   /* a byte a row of the table: it occurs */
    int64_t group;                  /* an integer: chunks after which the
                                       gradient is added up */
    int64_t floats;                 /* of all of it */
} ls__bag_update;

/* The memory of `chunks` chunks, members and chunk_rows given. */
void ls__lot_lay_out(ls__bag_update *lot, int64_t chunks);

/* Decide whether a bag works in a lot, and says which blocks it touches. */
int ls__lot_plan(ls__bench *b, ls__instr *in);

/* The work of a member in a chunk: forward, and backward for the table. */
void ls__lot_forward(const ls__run *r);
void ls__lot_backward(const ls__run *r);

#endif
