/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums over devices, in the order of base/tree.h, in registers.
 *
 * Sixteen devices are a complete subtree, whose sum of 16 elements is sixteen
 * loads and fifteen additions.  More devices are taken sixteen at a time over
 * a block of elements, and the partial sums, a block each, are merged as
 * base/tree.h counts: that many streams the prefetchers still follow, and a
 * block stays in the first-level cache until it is merged.  What remains of
 * the devices is taken as subtrees of 8, 4, 2 and 1. */
#ifndef LS_KERNEL_K_REDUCE_H
#define LS_KERNEL_K_REDUCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/assert.h"
#include "base/tree.h"
#include "kernel/k_simd.h"

enum {
    REDUCE_SUBTREE = 16, /* devices */
    REDUCE_BLOCK = 512,  /* elements: 2 kB of each device */
    REDUCE_DEPTH = 32    /* partial sums */
};

_Static_assert(REDUCE_DEPTH >= 8 * sizeof(int), "more than any int needs");
_Static_assert((REDUCE_SUBTREE & (REDUCE_SUBTREE - 1)) == 0, "whole subtrees");
_Static_assert(REDUCE_BLOCK % 16 == 0, "blocks of whole vectors");

/* Elements i .. i+n of b[0] + .. in tree order, n <= 16. */
SIMD v16 sum_1(float *const *b, int64_t i, int n)
{
    return take_on(b[0] + i, n);
}

SIMD v16 sum_2(float *const *b, int64_t i, int n)
{
    return v16_add(sum_1(b, i, n), sum_1(b + 1, i, n));
}

SIMD v16 sum_4(float *const *b, int64_t i, int n)
{
    return v16_add(sum_2(b, i, n), sum_2(b + 2, i, n));
}

SIMD v16 sum_8(float *const *b, int64_t i, int n)
{
    return v16_add(sum_4(b, i, n), sum_4(b + 4, i, n));
}

SIMD v16 sum_16(float *const *b, int64_t i, int n)
{
    return v16_add(sum_8(b, i, n), sum_8(b + 8, i, n));
}

/* `size` is a constant where this is inlined, so one case is left of it. */
SIMD v16 sum_lanes(float *const *b, int size, int64_t i, int n)
{
    switch (size) {
    case 1: return sum_1(b, i, n);
    case 2: return sum_2(b, i, n);
    case 4: return sum_4(b, i, n);
    case 8: return sum_8(b, i, n);
    default: return sum_16(b, i, n);
    }
}

SIMD void sum_loop(float *const *b, int size, int64_t first, int n,
                   float scale, float *out)
{
    v16 by = v16_set(scale);
    int i = 0;

    for (; i + 16 <= n; i += 16)
        v16_store(out + i, v16_mul(sum_lanes(b, size, first + i, 16), by));
    if (i < n)
        v16_store_n(out + i,
                    v16_mul(sum_lanes(b, size, first + i, n - i), by), n - i);
}

/* out[0..n) = scale * sum of b[0..size)[first ..]; size 1, 2, 4, 8 or 16. */
static void sum_subtree(float *const *b, int size, int64_t first, int n,
                        float scale, float *out)
{
    LS__ASSERT(n > 0 && n <= REDUCE_BLOCK);
    LS__ASSERT(LS__IS_POWER(size) && size <= REDUCE_SUBTREE);
    switch (size) {
    case 1: sum_loop(b, 1, first, n, scale, out); break;
    case 2: sum_loop(b, 2, first, n, scale, out); break;
    case 4: sum_loop(b, 4, first, n, scale, out); break;
    case 8: sum_loop(b, 8, first, n, scale, out); break;
    default: sum_loop(b, 16, first, n, scale, out);
    }
}

/* The size of the largest complete subtree at the front of the devices. */
static int subtree_size(int devices)
{
    int size = REDUCE_SUBTREE;

    while (size > devices)
        size /= 2;
    return size;
}

/* The number of merges after the subtree that begins at device d, when it has
 * made `top` partial sums.  Those below 16 devices are the tree's ragged end,
 * where nothing is complete before the last. */
static int merges_after(int d, int size, int devices, int top)
{
    if (d + size == devices)
        return top - 1;
    return size == REDUCE_SUBTREE ? ls__tree_merges(d / size) : 0;
}

/* out[0..n) = scale * (b[0][first ..] + .. in tree order), a block at most. */
static void sum_block(float *const *b, int devices, int64_t first, int n,
                      float scale, float *out)
{
    float part[REDUCE_DEPTH][REDUCE_BLOCK] __attribute__((aligned(64)));
    int top = 0, size = subtree_size(devices);

    if (size == devices) {
        sum_subtree(b, size, first, n, scale, out);
        return;
    }
    for (int d = 0; d < devices; d += size) {
        size = subtree_size(devices - d);
        LS__ASSERT(top < REDUCE_DEPTH);
        sum_subtree(b + d, size, first, n, 1.0f, part[top++]);
        for (int m = merges_after(d, size, devices, top); m > 0; m--, top--) {
            float *pair[] = {part[top - 2], part[top - 1]};
            bool last = d + size == devices && m == 1;

            sum_subtree(pair, 2, 0, n, last ? scale : 1.0f,
                        last ? out : pair[0]);
        }
    }
    LS__ASSERT(top == 1);
}

/* out[i - first] = scale * (buffers[0][i] + ... in tree order), first <= i <
 * last.  out may be buffers[0] + first. */
static void tree_sum(float *const *buffers, int devices, int64_t first,
                     int64_t last, float scale, float *out)
{
    for (int64_t i = first; i < last; i += REDUCE_BLOCK) {
        int n = (int)(last - i < REDUCE_BLOCK ? last - i : REDUCE_BLOCK);

        sum_block(buffers, devices, i, n, scale, out + i - first);
    }
}

#endif
