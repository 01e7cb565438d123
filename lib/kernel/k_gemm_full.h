/* SPDX-License-Identifier: BSD-3-Clause */
/* The dense GEMM: register tiles of C (k_tile.h), B packed in panels of their
 * width (k_panels.h), the epilogue fused, before a tile is stored
 * (k_epilogue.h).
 *
 * A tile's elements are one fma chain a chunk of K (kernel/product.h, the
 * contract), so neither the tile's size nor the order in which tiles are done
 * shows in a bit.  Sums over several chunks wait in a small array on the stack,
 * never in C, so that C may also be what the epilogue adds. */
#ifndef LS_KERNEL_K_GEMM_FULL_H
#define LS_KERNEL_K_GEMM_FULL_H

#include "base/assert.h"
#include "kernel/k_epilogue.h"
#include "kernel/k_panels.h"
#include "kernel/k_tile.h"

enum {
    BAND = 8 * ROWS, /* rows of A that stay in cache while panels pass */
    ALIAS = 1024,    /* floats: lines that far apart share a set of the cache */
    DEEPEST = 2048,  /* K up to which a band of A may be copied */
    STREAMS = 8,     /* steps of K that are copied side by side */
    NEAR = 1 << 17   /* floats of A that the second cache holds with others */
};

_Static_assert(DEEPEST % LS__CHUNK == 0, "copied bands end with a chunk");

/* Ask for the lines of a tile while its chains run. */
SIMD void fetch(int rows, const float *c, int64_t row)
{
    EACH_SUM(rows)
        __builtin_prefetch(c + r * row + 16 * v, 1);
}

/* Prefetch what a tile at C[at] will write and read in the end. */
SIMD void fetch_all(const ls__product *g, int rows, int64_t at)
{
    if (!g->c_bf16)
        fetch(rows, g->c + at, g->c_row);
    if (g->slope)
        fetch(rows, g->slope + at, g->c_row);
    if (g->times)
        fetch(rows, g->times + at, g->c_row);
}

/* Rows i .. i+rows of C, columns j .. j+16 vecs (constants); B's panel is as
 * wide, and row i of A is at a.  sum is scratch for the sums of earlier chunks
 * of K. */
SIMD void tile(const ls__product *g, int rows, int vecs, const float *a,
               int64_t i, int64_t j, const float *b, float *sum)
{
    tile_sums acc;
    int64_t at = i * g->c_row + j, wide = 16 * vecs;
    float *c = g->c + at;

    fetch_all(g, rows, at);
    for (int64_t p = 0; p < g->k || p == 0; p += LS__CHUNK) {
        int64_t k = g->k - p < LS__CHUNK ? g->k - p : LS__CHUNK;

        tile_clear(rows, acc);
        tile_steps_of(rows, vecs, k, a + p * g->a_col, g->a_row, g->a_col,
                      b + p * wide, wide, acc);
        if (p > 0)
            tile_add(rows, sum, COLUMNS, wide, acc);
        else if (g->accumulate)
            tile_add(rows, c, g->c_row, g->n - j, acc);
        if (p + k < g->k)
            tile_put(rows, sum, COLUMNS, wide, acc);
    }
    tile_end(g, rows, vecs, i, j, acc, sum);
}

/* The heights a tile comes in; each is a function so that its loops unroll. */
static void tile_full(const ls__product *g, const float *a,
                      int64_t i, int64_t j, const float *b, float *sum)
{
    tile(g, ROWS, VECS, a, i, j, b, sum);
}

static void tile_4(const ls__product *g, const float *a,
                   int64_t i, int64_t j, const float *b, float *sum)
{
    tile(g, 4, VECS, a, i, j, b, sum);
}

static void tile_2(const ls__product *g, const float *a,
                   int64_t i, int64_t j, const float *b, float *sum)
{
    tile(g, 2, VECS, a, i, j, b, sum);
}

static void tile_1(const ls__product *g, const float *a,
                   int64_t i, int64_t j, const float *b, float *sum)
{
    tile(g, 1, VECS, a, i, j, b, sum);
}

static const struct {
    int rows;
    void (*fn)(const ls__product *g, const float *a, int64_t i,
               int64_t j, const float *b, float *sum);
} heights[] = {{ROWS, tile_full}, {4, tile_4}, {2, tile_2}, {1, tile_1}};

/* Rows of A as tiles read them: the first one, and the floats from there to the
 * first row of the next whole tile. */
typedef struct a_band {
    const float *a;
    int64_t tile;
} a_band;

/* Rows first .. last of one panel of C. */
static void panel(const ls__product *g, a_band rows,
                  int64_t first, int64_t last, int64_t j, const float *b)
{
    float sum[ROWS * COLUMNS] __attribute__((aligned(64)));
    int64_t i = first;

    for (int h = 0; h < 4; h++)
        for (int n = heights[h].rows; last - i >= n; i += n) {
            heights[h].fn(g, rows.a, i, j, b, sum);
            rows.a += n == ROWS ? rows.tile : n * g->a_row;
        }
    LS__ASSERT(i == last);
}

/* Do lines of A evict each other from the first cache (conflict misses)?  Then
 * a band of it is packed, if enough panels pass to pay for that.  Where rows
 * stand side by side each step of K has a line of its own, or two, which all
 * tiles of the band would share. */
static bool copies(const ls__product *g)
{
    return (g->a_row == 1 || (g->a_col == 1 && g->a_row % ALIAS == 0)) &&
           g->k <= DEEPEST && g->n >= 2 * COLUMNS;
}

/* Floats from row to row of the copy: whole lines, and one more. */
static int64_t copy_stride(int64_t k)
{
    return (k + 15) / 16 * 16 + 16;
}

/* Does the second cache (L2) hold all of A?  Then it is packed once, and each
 * panel of B when its turn comes. */
static bool is_near(const ls__product *g)
{
    return !g->packed && g->m * g->k <= NEAR;
}

/* Scratch of products as deep as k, or less deep: B, and a copy of A or of a
 * band. */
static int64_t full_scratch(int64_t k, int64_t n)
{
    int64_t deep = k < DEEPEST ? k : DEEPEST;
    int64_t some = BAND * copy_stride(deep), all = NEAR + ROWS * deep;

    return packed_size(k, n) + (some > all ? some : all);
}

/* Copy n numbers, which need not be whole vectors. */
SIMD void copy_line(int64_t n, const float *from, float *to)
{
    for (int64_t p = 0; p < n; p += 16)
        put(to + p, take(from + p, n - p), n - p);
}

/* Copy `rows` rows of A from row i on; the product that reads the copy differs
 * from g only in where A is. */
static a_band copy_rows(ls__product *g, int64_t i, int64_t rows, float *copy)
{
    int64_t stride = copy_stride(g->k);

    for (int64_t r = 0; r < rows; r++)
        copy_line(g->k, g->a + (i + r) * g->a_row, copy + r * stride);
    g->a_row = stride;
    return (a_band){copy, ROWS * stride};
}

/* Steps first .. last of K of rows that stand side by side: tile by tile, in
 * each the steps one after the other. */
SIMD void copy_steps(const ls__product *g, int64_t i, int64_t rows,
                     int64_t first, int64_t last, float *copy)
{
    for (int64_t r = 0; r < rows; r += ROWS) {
        int64_t n = rows - r < ROWS ? rows - r : ROWS;
        const float *from = g->a + i + r + first * g->a_col;
        float *to = copy + r * g->k + first * ROWS;

        for (int64_t p = first; p < last; p++, from += g->a_col, to += ROWS)
            copy_line(n, from, to);
    }
}

/* The same of such rows, a few steps of K at a time: what is read and what is
 * written then are a few streams. */
static a_band copy_tiles(ls__product *g, int64_t i, int64_t rows, float *copy)
{
    for (int64_t p = 0; p < g->k; p += STREAMS)
        copy_steps(g, i, rows, p, g->k - p < STREAMS ? g->k : p + STREAMS,
                   copy);
    g->a_col = ROWS;
    return (a_band){copy, ROWS * g->k};
}

/* Column j of B, packed now or before. */
static const float *panel_of(const ls__product *g, const float *packed,
                             int64_t j, float *scratch)
{
    if (packed)
        return packed + j * g->k;
    pack_panel(g->k, g->n - j, g->b + j * g->b_col, g->b_row, g->b_col,
               scratch);
    return scratch;
}

/* Chunks of K are LS__CHUNK, but where some of its steps were left out. */
static void full_product(const ls__product *g, float *scratch)
{
    int64_t height = is_near(g) ? g->m : BAND;
    float *copy = scratch + packed_size(g->k, g->n);
    const float *b = g->packed;

    LS__ASSERT(!g->a_bf16 && !g->c_bf16);
    if (!b && !is_near(g)) {
        pack(g->k, g->n, g->b, g->b_row, g->b_col, scratch);
        b = scratch;
    }
    for (int64_t i = 0; i < g->m; i += height) {
        int64_t last = g->m - i < height ? g->m : i + height;
        ls__product of = *g;
        a_band rows = {g->a + i * g->a_row, ROWS * g->a_row};

        if (copies(g))
            rows = (g->a_row == 1 ? copy_tiles : copy_rows)(&of, i, last - i,
                                                            copy);
        for (int64_t j = 0; j < g->n; j += COLUMNS)
            panel(&of, rows, i, last, j, panel_of(g, b, j, scratch));
    }
}

#endif
