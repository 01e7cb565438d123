/* SPDX-License-Identifier: BSD-3-Clause */
/* The all-reduce in memory: one gradient from the devices' private ones.
 *
 * The tree of base/tree.h is the order of the additions; the schedule is by
 * ranges.  Each worker takes a range of the elements and sums all devices for
 * it, block by block: every element is read once and written once, and tests of
 * the sum (is it finite, what are its squares) are fused in, while the block is
 * in the first-level cache.  Ranges depend on the number of workers and touch
 * no bit; borders of blocks are multiples of a block from element 0 on. */
#ifndef LS_REDUCE_REDUCE_H
#define LS_REDUCE_REDUCE_H

#include "base/tree.h"

/* Elements of a block: of the gradient, 16 KB. */
enum { LS__REDUCE_BLOCK = 4096 };

/* The number of blocks that n elements are. */
int64_t ls__reduce_blocks(int64_t n);

/* Sum each subtree of `devices` into its first buffer, within a range;
 * buffer[0] is that of the span's first device. */
void ls__reduce_partials(float *const *buffer, ls__span devices,
                         ls__range range);

/* Told of a range of the sum while it is in the cache. */
typedef void ls__look_fn(void *user, ls__range block);

/* Is a block known to be zeros in all buffers and in out? */
typedef bool ls__skips_fn(void *user, ls__range block);

/* out[i] = factor * (buffer[0][i] + buffer[1][i] + .. in tree order). */
typedef struct ls__reduction {
    float *const *buffer; /* [count]; partial sums are written over */
    int count;
    const ls__subtree *part; /* [count] the buffers' subtrees, of all that `of`
                                devices consist of; NULL: a device each */
    int of;
    float factor;
    float *out;    /* may be one of the buffers */
    float *square; /* [block] becomes its sum of squares; NULL: not wanted */
    ls__span here; /* parts whose buffers have element i at i; all others, */
    int64_t shift; /* of partial sums, have it at i + shift */
    ls__look_fn *look; /* called with each block; NULL: not called */
    ls__skips_fn *skips; /* called before one; true: it is left as it is, and
                            not looked at; NULL: none is */
    void *user;
} ls__reduction;

/* Reduce a range, which begins at the border of a block if squares, looks or
 * skips are wanted.  Returns the first element that is not finite, or -1. */
int64_t ls__reduce(const ls__reduction *reduction, ls__range range);

#endif
