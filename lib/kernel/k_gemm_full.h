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
    NEAR = 1 << 17,  /* floats of A that the second cache holds with others */
    EARLY = 16,      /* steps of K from asking for a line of B to reading it */
    APART = 16       /* steps of K between two requests for other lines */
};

_Static_assert(DEEPEST % LS__CHUNK == 0, "copied bands end with a chunk");

/* The panel of B that will be packed next: its lines are asked for while the
 * tiles of this one run. */
typedef struct next_panel {
    const float *line;
    int64_t row, left; /* floats to the next line, and lines left */
    int64_t share;     /* lines for each APART steps of a tile */
} next_panel;

static void ask_next(next_panel *next)
{
    for (int64_t l = next->share; l-- && next->left; next->left--) {
        UNROLL(2)
        for (int v = 0; v < VECS; v++)
            __builtin_prefetch(next->line + 16 * v, 0, 2);
        next->line += next->row;
    }
}

/* A tile of C to be made: rows from i on, columns from j on, no more than B's
 * panel has. */
typedef struct c_tile {
    const ls__product *g;
    int64_t i, j;
    const float *a;   /* row i of A */
    const float *b;   /* the panel, packed */
    float *sum;       /* (ROWS,COLUMNS): the sums of earlier chunks of K */
    next_panel *next;
} c_tile;

/* acc += its steps p .. p+k.  What it and others need later is asked for
 * meanwhile. */
SIMD void tile_chunk(const c_tile *t, int rows, int vecs, int64_t p, int64_t k,
                     tile_sums acc)
{
    const ls__product *g = t->g;
    const float *a = t->a + p * g->a_col, *b = t->b + p * 16 * vecs;
    rows_ahead end = rows_ahead_of(g, t->i, t->j, p + k < g->k ? 0 : rows,
                                   (k + APART - 1) / APART);

    for (int64_t q = 0; q < k; q += APART) {
        ask_rows(&end);
        ask_next(t->next);
        tile_steps(rows, vecs, k - q < APART ? k - q : APART, a, g->a_row,
                   g->a_col, b, 16 * vecs, EARLY, acc);
        a += APART * g->a_col;
        b += APART * 16 * vecs;
    }
}

/* Make a tile of so many rows and vectors, both constants. */
SIMD void tile(const c_tile *t, int rows, int vecs)
{
    const ls__product *g = t->g;
    const float *c = g->c + t->i * g->c_row + t->j;
    tile_sums acc;

    for (int64_t p = 0; p < g->k || p == 0; p += LS__CHUNK) {
        int64_t k = g->k - p < LS__CHUNK ? g->k - p : LS__CHUNK;

        tile_clear(rows, acc);
        tile_chunk(t, rows, vecs, p, k, acc);
        if (p > 0)
            tile_add(rows, t->sum, COLUMNS, 16 * vecs, acc);
        else if (g->accumulate)
            tile_add(rows, c, g->c_row, g->n - t->j, acc);
        if (p + k < g->k)
            tile_put(rows, t->sum, COLUMNS, 16 * vecs, acc);
    }
    tile_end(g, rows, vecs, t->i, t->j, acc, t->sum);
}

/* The heights a tile comes in; each is a function so that its loops unroll. */
static void tile_full(const c_tile *t)
{
    tile(t, ROWS, VECS);
}

static void tile_4(const c_tile *t)
{
    tile(t, 4, VECS);
}

static void tile_2(const c_tile *t)
{
    tile(t, 2, VECS);
}

static void tile_1(const c_tile *t)
{
    tile(t, 1, VECS);
}

static const struct {
    int rows;
    void (*fn)(const c_tile *t);
} heights[] = {{ROWS, tile_full}, {4, tile_4}, {2, tile_2}, {1, tile_1}};

/* Rows of A as tiles read them: the first one, and the floats from there to the
 * first row of the next whole tile. */
typedef struct a_band {
    const float *a;
    int64_t tile;
} a_band;

/* Rows first .. last of one panel of C. */
static void panel(const ls__product *g, a_band rows, int64_t first,
                  int64_t last, int64_t j, const float *b, next_panel next)
{
    float sum[ROWS * COLUMNS] __attribute__((aligned(64)));
    c_tile t = {.g = g, .i = first, .j = j, .a = rows.a, .b = b, .sum = sum,
                .next = &next};

    for (int h = 0; h < 4; h++)
        for (int n = heights[h].rows; last - t.i >= n; t.i += n) {
            heights[h].fn(&t);
            t.a += n == ROWS ? rows.tile : n * g->a_row;
        }
    LS__ASSERT(t.i == last);
}

/* Do rows of A, so far apart, evict each other from the first cache (conflict
 * misses)?  Where they are, Intel's cores with AVX-512 read those of a tile at
 * 0.86 of their roof, and copied ones at 0.83; no other core was asked. */
static bool evicts(int64_t row)
{
#if defined(__AVX512F__)
    if (__builtin_cpu_is("intel"))
        return false;
#endif
    return row % ALIAS == 0;
}

/* Is a band of A packed, if enough panels pass to pay for that?  Where rows
 * stand side by side each step of K has a line of its own, or two, which all
 * tiles of the band would share. */
static bool copies(const ls__product *g)
{
    return (g->a_row == 1 || (g->a_col == 1 && evicts(g->a_row))) &&
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

/* The panel after column j's, while so many rows of C are computed; nothing, if
 * it is packed or its columns are lines in memory. */
static next_panel panel_after(const ls__product *g, const float *packed,
                              int64_t j, int64_t rows)
{
    int64_t times = rows / ROWS * ((g->k + APART - 1) / APART);

    j += COLUMNS;
    if (packed || j >= g->n || times == 0 || g->b_col != 1)
        return (next_panel){.left = 0};
    return (next_panel){.line = g->b + j, .row = g->b_row, .left = g->k,
                        .share = (g->k + times - 1) / times};
}

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
            panel(&of, rows, i, last, j, panel_of(g, b, j, scratch),
                  panel_after(g, b, j, last - i));
    }
}

#endif
