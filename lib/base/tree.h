/* SPDX-License-Identifier: BSD-3-Clause */
/* Pairwise summation: the order in which numbers are added, no threads and no
 * data.
 *
 *     for s = 1, 2, 4, ...: g[i] += g[i+s]
 *         for every i that is a multiple of 2s and i+s < n
 *
 * A sum over n in rising order follows this tree with a stack of partial sums,
 * like the digits of a binary counter: push item i, then add the topmost
 * partial sum to the one below it, ls__tree_merges(i) times; after the last
 * item, do so until one is left.  For n = 6:
 *
 *     push 0             0
 *     push 1, merge 1    01
 *     push 2             01 2
 *     push 3, merge 2    0123
 *     push 4             0123 4
 *     push 5, merge 1    0123 45
 *     the rest, 1        012345
 *
 * Complete subtrees of 2^k items may be added anywhere beforehand and pushed
 * as one item each; the order is the same.  So a process with some of the items
 * adds them to a few partial sums, one for each subtree that it has all of; all
 * partial sums together complete the tree. */
#ifndef LS_BASE_TREE_H
#define LS_BASE_TREE_H

#include "base/assert.h"
#include "base/range.h"

/* The partial sums of 2^32 items and more never exceed these. */
enum { LS__TREE_STACK = 64 };

/* The number of merges after item i, counted from 0: as many as i ends in ones.
 * Not for the last item, after which everything is merged. */
static inline int ls__tree_merges(int64_t i)
{
    LS__ASSERT(i >= 0);
    return __builtin_ctzll((uint64_t)i + 1);
}

/* The most partial sums that n items need: floor(log2(n)) + 1, n >= 1. */
static inline int ls__tree_depth(int64_t n)
{
    LS__ASSERT(n >= 1);
    return 64 - __builtin_clzll((uint64_t)n);
}

/* The sum of v[0], v[stride], .. v[(n-1) stride] in tree order; 0 for n 0. */
double ls__tree_sum_double(const double *v, int n, int stride);

/* ------ Partial sums, and the tree completed from them ------ */

/* The items first .. first+size-1, or as many of them as there are: size is a
 * power of two that divides first.  There are at most 2^30 items. */
typedef struct ls__subtree {
    int first, size;
} ls__subtree;

/* No span consists of more subtrees than this. */
enum { LS__TREE_PARTS = 64 };

/* The number of items, out of `of`, in a subtree. */
int ls__subtree_items(ls__subtree part, int of);

/* The fewest subtrees that make up a span of the items, in order; returns their
 * number. */
int ls__tree_parts(ls__span items, ls__subtree part[LS__TREE_PARTS]);

/* The stack while a tree over `of` items is completed from subtrees of any
 * size, pushed in order. */
typedef struct ls__tree {
    int of, top;
    ls__subtree item[LS__TREE_STACK];
} ls__tree;

/* Push a subtree; returns the number of merges after it.  After the last one,
 * one item is left. */
int ls__tree_push(ls__tree *tree, ls__subtree part);

#endif
