/* SPDX-License-Identifier: BSD-3-Clause */
/* A Merkle tree over floats: one hash that commits to all of them, in which
 * each leaf can be opened by itself.
 *
 * A leaf is 4096 floats, the last one maybe fewer: SHA-256 of their bytes,
 * little end first, and a byte 0.  A node is SHA-256 of its two children and a
 * byte 1; a node without a partner rises as it is, so the shape is that of RFC
 * 6962.  (There the tag stands before the bytes.  Here it stands behind them,
 * so that blocks of SHA-256 stay aligned with memory; all lengths are known
 * from the layout, so no leaf passes for a node.)  The root of no leaves is
 * SHA-256 of nothing. */
#ifndef LS_STATE_MERKLE_H
#define LS_STATE_MERKLE_H

#include <stdint.h>

enum { LS__LEAF = 4096 }; /* floats */

typedef struct ls__digest {
    uint8_t byte[32];
} ls__digest;

/* The number of a tree's leaves, for that many floats. */
static inline int64_t ls__merkle_leaves(int64_t floats)
{
    return (floats + LS__LEAF - 1) / LS__LEAF;
}

/* Hash leaves first .. last-1 of an array of `floats` floats into leaf[]. */
void ls__merkle_hash(const float *values, int64_t floats, int64_t first,
                     int64_t last, ls__digest *leaf);

/* The root of `leaves` leaves; node[] is overwritten. */
ls__digest ls__merkle_root(ls__digest *node, int64_t leaves);

/* SHA-256 of two children and a byte 1. */
ls__digest ls__merkle_pair(const ls__digest *children);

/* A digest as 64 hex digits, without a zero behind them. */
void ls__digest_text(const ls__digest *d, char *text);

#endif
