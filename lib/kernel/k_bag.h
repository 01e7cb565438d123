/* SPDX-License-Identifier: BSD-3-Clause */
/* Sparse products of dense layers: x is lists of its nonzeros.
 *
 * The chains are those of product.h without their zeros, so the bits are those
 * of the dense layer: K is cut into chunks at the multiples of 256 of what K
 * counts, indices in y and rows in dw, whether or not anything of a chunk is in
 * the list.  Left out are chunks whose chain is +0: that shows in no sum, and
 * +0 is added in the end. */
#ifndef LS_KERNEL_K_BAG_H
#define LS_KERNEL_K_BAG_H

#include "base/assert.h"
#include "kernel/bag.h"
#include "kernel/k_tile.h"
#include "kernel/product.h"

#if defined(__AVX512F__)
enum { BAG_VECS = 8 }; /* a total and a chain each: 16 of 32 registers */
#elif defined(LS_NEON)
enum { BAG_VECS = 2 };
#elif defined(__AVX2__)
enum { BAG_VECS = 2 }; /* 8 of 16 */
#else
enum { BAG_VECS = 1 };
#endif

typedef v16 bag_sums[BAG_VECS];

/* Loop over the vectors of a strip. */
#define EACH_BAG(vecs) UNROLL(8) for (int v = 0; v < (vecs); v++)

SIMD void bag_clear(int vecs, bag_sums x)
{
    EACH_BAG(vecs)
        x[v] = v16_zero();
}

/* chain += value row, a row of `left` numbers. */
SIMD void bag_step(int vecs, float value, const float *row, int64_t left,
                   bag_sums chain)
{
    v16 x = v16_set(value);

    EACH_BAG(vecs)
        chain[v] = v16_fma(x, take(row + 16 * v, left - 16 * v), chain[v]);
}

/* A chunk ends: total += chain. */
SIMD void bag_end(int vecs, bag_sums total, bag_sums chain)
{
    EACH_BAG(vecs) {
        total[v] = v16_add(total[v], chain[v]);
        chain[v] = v16_zero();
    }
}

/* Columns j.. of y: `vecs` is a constant, and so is a `left` that suffices. */
SIMD void bag_strip(int vecs, const ls__bag *b, int64_t j, int64_t left,
                    float *y)
{
    bag_sums total, chain;
    uint32_t chunk = 0;

    bag_clear(vecs, total);
    bag_clear(vecs, chain);
    for (int64_t e = 0; e < b->count; e++) {
        if (b->index[e] / LS__CHUNK != chunk) {
            bag_end(vecs, total, chain);
            chunk = b->index[e] / LS__CHUNK;
        }
        bag_step(vecs, b->value[e], b->table + b->index[e] * b->n + j, left,
                 chain);
    }
    bag_end(vecs, total, chain);
    EACH_BAG(vecs) {
        v16 sum = v16_add(total[v], v16_zero());

        if (b->bias)
            sum = v16_add(sum, take(b->bias + j + 16 * v, left - 16 * v));
        put(y + j + 16 * v, sum, left - 16 * v);
    }
}

/* y (n) = the row written out times the table, + bias. */
static void bag_sum(const ls__bag *b, float *y)
{
    int64_t j = 0;

    for (; b->n - j >= 16 * BAG_VECS; j += 16 * BAG_VECS)
        bag_strip(BAG_VECS, b, j, 16 * BAG_VECS, y);
    for (; j < b->n; j += 16)
        bag_strip(1, b, j, b->n - j, y);
}

/* Columns j.. of the gradient of a row of the table: which lanes are small in
 * all vectors. */
SIMD m16 bag_grad_strip(int vecs, int64_t n, int64_t count,
                         const ls__bag_entry *e, const float *d, bool add,
                         int64_t j, int64_t left, float *row)
{
    bag_sums total, chain;
    uint32_t chunk = e[0].bag / LS__CHUNK;
    m16 small = m16_first(16);

    EACH_BAG(vecs)
        total[v] = add ? take(row + j + 16 * v, left - 16 * v) : v16_zero();
    bag_clear(vecs, chain);
    for (int64_t i = 0; i < count; i++) {
        if (e[i].bag / LS__CHUNK != chunk) {
            bag_end(vecs, total, chain);
            chunk = e[i].bag / LS__CHUNK;
        }
        bag_step(vecs, e[i].value, d + e[i].bag * n + j, left, chain);
    }
    bag_end(vecs, total, chain);
    EACH_BAG(vecs) {
        v16 sum = v16_add(total[v], v16_zero());

        put(row + j + 16 * v, sum, left - 16 * v);
        small = m16_and(small, v16_lt(v16_abs(sum), v16_set(0x1p64f)));
    }
    return small;
}

/* row (n) (+)= the sum of value d[bag] over entries of one index, `count` of
 * them and at least one; d (bags,n).  A chain ends where bag / 256 changes.  Is
 * all of the row below 2^64 in size? */
static bool bag_grad(int64_t n, int64_t count, const ls__bag_entry *e,
                     const float *d, bool add, float *row)
{
    m16 small = m16_first(16);
    int64_t j = 0;

    LS__ASSERT(count > 0);
    for (; n - j >= 16 * BAG_VECS; j += 16 * BAG_VECS)
        small = m16_and(small, bag_grad_strip(BAG_VECS, n, count, e, d, add, j,
                                              16 * BAG_VECS, row));
    for (; j < n; j += 16)
        small = m16_and(small,
                        bag_grad_strip(1, n, count, e, d, add, j, n - j, row));
    return !m16_any(m16_not(small));
}

/* 16 numbers from column j on of up to 16 rows, as 16 lanes a column. */
SIMD void bag_columns(int count, const float *const row[16], int64_t j,
                      int64_t left, v16 x[16])
{
    for (int l = 0; l < 16; l++)
        x[l] = l < count ? take(row[l] + j, left) : v16_zero();
    v16_transpose(x);
}

/* out[l] = the chains of row[l] d over n, chunk by chunk, of `count` rows. */
static void bag_dots(int64_t n, int count, const float *const row[16],
                     const float *d, float *out)
{
    v16 total = v16_zero(), chain = v16_zero(), x[16];

    LS__ASSERT(count > 0 && count <= 16);
    for (int64_t j = 0; j < n; j += 16) {
        int64_t left = n - j < 16 ? n - j : 16;

        if (j > 0 && j % LS__CHUNK == 0) {
            total = v16_add(total, chain);
            chain = v16_zero();
        }
        bag_columns(count, row, j, left, x);
        for (int64_t l = 0; l < left; l++)
            chain = v16_fma(v16_set(d[j + l]), x[l], chain);
    }
    total = v16_add(v16_add(total, chain), v16_zero());
    put(out, total, count);
}

#endif
