/* SPDX-License-Identifier: BSD-3-Clause */
/* The fused epilogue, done to a product before it is stored: that of
 * ls__product, in the order written there (kernel/product.h), for register
 * tiles and for vectors of a product that stands in memory. */
#ifndef LS_KERNEL_K_EPILOGUE_H
#define LS_KERNEL_K_EPILOGUE_H

#include "kernel/k_bf16.h"
#include "kernel/k_elementwise.h"
#include "kernel/k_tile.h"
#include "kernel/product.h"

/* Vectors of a tile with long activations that are computed at once: whole
 * rows, as many as the registers hold. */
#if defined(__AVX512F__)
enum { TOGETHER = 4 };
#else
enum { TOGETHER = 2 };
#endif

/* Is the activation too long to be inlined at every store?  Relu is not. */
static bool is_curved(const ls__product *g)
{
    return g->activation && g->activation != LS__RELU;
}

/* bf16_of of sums, none of which is a denormal: the instruction would make a
 * zero of it. */
SIMD v16 sums_to_bf16(v16 x)
{
#if defined(__AVX512BF16__)
    __m512i wide = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(x));

    return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
#else
    return bf16_of(x);
#endif
}

/* Rows that an epilogue will read and write: lines of C, of slopes and of
 * factors.  They are asked for (prefetched) a few at a time, since many at once
 * hold up the loads of whoever asks. */
typedef struct rows_ahead {
    const ls__product *g;
    int64_t at, left; /* the next of them in C, and how many there are */
    int64_t each;     /* so many at a time */
} rows_ahead;

/* Rows from i and column j on, `most` or fewer, asked for in `times` calls. */
static rows_ahead rows_ahead_of(const ls__product *g, int64_t i, int64_t j,
                                int64_t most, int64_t times)
{
    int64_t left = g->m - i < most ? g->m - i : most;

    return (rows_ahead){g, i * g->c_row + j, left > 0 ? left : 0,
                        times > 0 ? (most + times - 1) / times : most};
}

SIMD void ask_line(const float *at)
{
    UNROLL(2)
    for (int v = 0; v < VECS; v++)
        __builtin_prefetch(at + 16 * v, 1);
}

SIMD void ask_rows(rows_ahead *r)
{
    const ls__product *g = r->g;

    for (int64_t l = r->each; l-- && r->left; r->left--, r->at += g->c_row) {
        if (!g->c_bf16)
            ask_line(g->c + r->at);
        if (g->slope)
            ask_line(g->slope + r->at);
        if (g->times)
            ask_line(g->times + r->at);
    }
}

/* The epilogue of 16 elements of row i from column j on. */
SIMD v16 finish(const ls__product *g, v16 x, int64_t i, int64_t j)
{
    int64_t at = i * g->c_row + j, left = g->n - j;

    if (g->scale != 1.0f)
        x = v16_mul(x, v16_set(g->scale));
    if (g->bias)
        x = v16_add(x, take(g->bias + j, left));
    if (g->round)
        x = sums_to_bf16(x);
    if (g->activation) {
        v16 slope;

        x = activation_of(g->activation, x, &slope);
        if (g->slope)
            put(g->slope + at, slope, left);
    }
    if (g->times)
        x = times_slope(x, take(g->times + at, left));
    if (g->add)
        x = v16_add(x, take(g->add + at, left));
    return x;
}

/* 16 sums of row i of C from column j on; finished is a constant. */
SIMD void put_sums(const ls__product *g, bool finished, int64_t i, int64_t j,
                   v16 sum)
{
    float *c = g->c + i * g->c_row + j;
    int64_t left = g->n - j;

    if (g->accumulate)
        sum = v16_add(take(c, left), sum);
    sum = v16_add(sum, v16_zero());
    put(c, finished ? finish(g, sum, i, j) : sum, left);
}

/* Finish a product that stands in C, from adding +0 on. */
static void epilogue(const ls__product *g)
{
    for (int64_t i = 0; i < g->m; i++)
        for (int64_t j = 0; j < g->n; j += 16) {
            float *c = g->c + i * g->c_row + j;

            v16 x = v16_add(take(c, g->n - j), v16_zero());

            put(c, finish(g, x, i, j), g->n - j);
        }
}

/* ------ of a tile, part by part ------ */

/* Add `bias` to the first `vecs` vectors, a constant, of each row. */
SIMD void tile_bias(int rows, int vecs, const float *bias, tile_sums acc)
{
    UNROLL(2)
    for (int v = 0; v < vecs; v++) {
        v16 b = v16_load(bias + 16 * v);

        UNROLL(14)
        for (int r = 0; r < rows; r++)
            acc[r][v] = v16_add(acc[r][v], b);
    }
}

SIMD void tile_slope(int rows, int vecs, float *to, int64_t row, tile_sums acc)
{
    EACH_SUM_OF(rows, vecs)
        v16_store(to + r * row + 16 * v, relu_slope(acc[r][v]));
}

SIMD void tile_times(int rows, int vecs, const float *slope, int64_t row,
                     tile_sums acc)
{
    EACH_SUM_OF(rows, vecs)
        acc[r][v] = times_slope(acc[r][v], v16_load(slope + r * row + 16 * v));
}

SIMD void end_straight(const ls__product *g, int rows, int vecs, int64_t i,
                       int64_t j, tile_sums acc)
{
    int64_t at = i * g->c_row + j;

    if (g->scale != 1.0f) {
        EACH_SUM_OF(rows, vecs)
            acc[r][v] = v16_mul(acc[r][v], v16_set(g->scale));
    }
    if (g->bias)
        tile_bias(rows, vecs, g->bias + j, acc);
    if (g->round) {
        EACH_SUM_OF(rows, vecs)
            acc[r][v] = sums_to_bf16(acc[r][v]);
    }
    if (g->activation && g->slope)
        tile_slope(rows, vecs, g->slope + at, g->c_row, acc);
    if (g->activation) {
        EACH_SUM_OF(rows, vecs)
            acc[r][v] = relu_of(acc[r][v]);
    }
    if (g->times)
        tile_times(rows, vecs, g->times + at, g->c_row, acc);
    if (g->add)
        tile_add(rows, g->add + at, g->c_row, 16 * vecs, acc);
    tile_put(rows, g->c + at, g->c_row, 16 * vecs, acc);
}

/* The epilogue, from adding +0 on, of `count` vectors, `across` to a row, from
 * row i and column j on; the results are in x. */
SIMD void finish_vectors(const ls__product *g, int count, int across, int64_t i,
                         int64_t j, const float *sum, v16 *x)
{
    int64_t at[MOST];
    v16 slope[MOST];

    EACH_OF(count) {
        int64_t column = j + 16 * (q % across);

        at[q] = (i + q / across) * g->c_row + column;
        x[q] = v16_add(v16_load(sum + 16 * q), v16_zero());
        if (g->scale != 1.0f)
            x[q] = v16_mul(x[q], v16_set(g->scale));
        if (g->bias)
            x[q] = v16_add(x[q], v16_load(g->bias + column));
        if (g->round)
            x[q] = sums_to_bf16(x[q]);
    }
    activations(g->activation, count, x, slope);
    EACH_OF(count) {
        if (g->slope)
            v16_store(g->slope + at[q], slope[q]);
        if (g->times)
            x[q] = times_slope(x[q], v16_load(g->times + at[q]));
        if (g->add)
            x[q] = v16_add(x[q], v16_load(g->add + at[q]));
    }
}

/* Finish whole rows of a tile, TOGETHER vectors. */
SIMD void finish_rows(const ls__product *g, int64_t i, int64_t j,
                      const float *sum)
{
    v16 x[TOGETHER];

    finish_vectors(g, TOGETHER, VECS, i, j, sum, x);
    EACH_OF(TOGETHER)
        v16_store(g->c + (i + q / VECS) * g->c_row + j + 16 * (q % VECS), x[q]);
}

/* Finish and store a tile from sums in memory: if the activation is long, or C
 * ends before the tile.  These loops are compiled once, not for each height. */
static void end_in_memory(const ls__product *g, int rows, int64_t i, int64_t j,
                          const float *sum)
{
    float *c = g->c + i * g->c_row + j;
    int r = 0;

    if (g->n - j >= COLUMNS)
        for (; r + TOGETHER / VECS <= rows; r += TOGETHER / VECS)
            finish_rows(g, i + r, j, sum + r * COLUMNS);
    for (c += r * g->c_row; r < rows; r++, c += g->c_row)
        for (int v = 0; v < VECS && g->n - j > 16 * v; v++)
            put(c + 16 * v,
                finish(g, v16_load(sum + r * COLUMNS + 16 * v), i + r,
                       j + 16 * v), g->n - j - 16 * v);
}

/* Finish and store the tile at row i and column j, which is `vecs` vectors wide
 * (a constant); sum is scratch for it. */
SIMD void tile_end(const ls__product *g, int rows, int vecs, int64_t i,
                   int64_t j, tile_sums acc, float *sum)
{
    tile_plus_zero(rows, acc);
    if (is_curved(g) || g->n - j < 16 * vecs) {
        tile_put(rows, sum, COLUMNS, COLUMNS, acc);
        end_in_memory(g, rows, i, j, sum);
    } else {
        end_straight(g, rows, vecs, i, j, acc);
    }
}

#endif
