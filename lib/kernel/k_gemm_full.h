/* The matrix product, zeros and all: tiles of C held in registers (k_tile.h), B
 * in panels of their width (k_panels.h), the epilogue done before a tile is
 * stored (k_epilogue.h).
 *
 * A tile's elements are one fma chain a chunk of K (kernel/product.h, the
 * contract), so neither the tile's size nor the order in which tiles are done
 * shows in a bit.  Sums over several chunks wait in a small array on the stack,
 * never in C, so that C may also be what the epilogue adds. */
#ifndef LS_KERNEL_K_GEMM_FULL_H
#define LS_KERNEL_K_GEMM_FULL_H

#include "kernel/k_epilogue.h"
#include "kernel/k_panels.h"
#include "kernel/k_tile.h"

enum {
    BAND = 8 * ROWS, /* rows of A that stay in cache while panels pass */
    ALIAS = 1024,    /* floats: lines that far apart share a set of the cache */
    DEEPEST = 2048   /* K up to which a band of A may be copied */
};

/* Ask for the lines of a tile while its chains run. */
SIMD void fetch(int rows, const float *c, int64_t row)
{
    EACH_SUM(rows)
        __builtin_prefetch(c + r * row + 16 * v, 1);
}

/* What a tile at C[at] will write and read in the end. */
SIMD void fetch_all(const ls__product *g, int rows, int64_t at)
{
    fetch(rows, g->c + at, g->c_row);
    if (g->slope)
        fetch(rows, g->slope + at, g->c_row);
    if (g->times)
        fetch(rows, g->times + at, g->c_row);
}

/* Rows i .. i+rows of C, columns j .. j+COLUMNS.  sum is scratch for the sums
 * of earlier chunks. */
SIMD void tile(const ls__product *g, int rows, int64_t i, int64_t j,
               const float *b, float *sum)
{
    tile_sums acc;
    const float *a = g->a + i * g->a_row;
    int64_t at = i * g->c_row + j;
    float *c = g->c + at;

    fetch_all(g, rows, at);
    for (int64_t p = 0; p < g->k || p == 0; p += LS__CHUNK) {
        int64_t k = g->k - p < LS__CHUNK ? g->k - p : LS__CHUNK;

        tile_clear(rows, acc);
        tile_steps(rows, k, a + p * g->a_col, g->a_row, g->a_col,
                   b + p * COLUMNS, COLUMNS, acc);
        if (p > 0)
            tile_add(rows, sum, COLUMNS, COLUMNS, acc);
        else if (g->accumulate)
            tile_add(rows, c, g->c_row, g->n - j, acc);
        if (p + k < g->k)
            tile_put(rows, sum, COLUMNS, COLUMNS, acc);
    }
    tile_end(g, rows, i, j, acc, sum);
}

/* The heights a tile comes in; each is a function so that its loops unroll. */
static void tile_full(const ls__product *g, int64_t i, int64_t j,
                      const float *b, float *sum)
{
    tile(g, ROWS, i, j, b, sum);
}

static void tile_4(const ls__product *g, int64_t i, int64_t j, const float *b,
                   float *sum)
{
    tile(g, 4, i, j, b, sum);
}

static void tile_2(const ls__product *g, int64_t i, int64_t j, const float *b,
                   float *sum)
{
    tile(g, 2, i, j, b, sum);
}

static void tile_1(const ls__product *g, int64_t i, int64_t j, const float *b,
                   float *sum)
{
    tile(g, 1, i, j, b, sum);
}

static const struct {
    int rows;
    void (*fn)(const ls__product *g, int64_t i, int64_t j, const float *b,
               float *sum);
} heights[] = {{ROWS, tile_full}, {4, tile_4}, {2, tile_2}, {1, tile_1}};

/* Rows first .. last of one panel of C. */
static void panel(const ls__product *g, int64_t first, int64_t last, int64_t j,
                  const float *b)
{
    float sum[ROWS * COLUMNS] __attribute__((aligned(64)));
    int64_t i = first;

    for (int h = 0; h < 4; h++)
        for (; last - i >= heights[h].rows; i += heights[h].rows)
            heights[h].fn(g, i, j, b, sum);
}

/* Lines of A would push each other out of the first cache: then a band of it
 * is copied to where they do not, if enough panels pass to pay for that. */
static bool aliases(const ls__product *g)
{
    int64_t stride = g->a_col == 1 ? g->a_row : g->a_col;

    return stride % ALIAS == 0 && g->k <= DEEPEST && g->n >= 2 * COLUMNS &&
           (g->a_col == 1 || g->a_row == 1);
}

/* Floats from row to row of the copy: whole lines, and one more. */
static int64_t copy_stride(int64_t k)
{
    return (k + 15) / 16 * 16 + 16;
}

/* Of products as deep as k, or less deep. */
static int64_t full_scratch(int64_t k, int64_t n)
{
    return packed_size(k, n) +
           BAND * copy_stride(k < DEEPEST ? k : DEEPEST);
}

/* The product of `rows` rows of A from row i on, as a product of its own that
 * reads the copy. */
static ls__product band_of(const ls__product *g, int64_t i, int64_t rows,
                           float *copy)
{
    ls__product band = *g;
    const float *a = g->a + i * g->a_row;
    bool by_rows = g->a_col == 1;
    int64_t lines = by_rows ? rows : g->k, n = by_rows ? g->k : rows;
    int64_t stride = by_rows ? copy_stride(g->k) : BAND;

    for (int64_t l = 0; l < lines; l++) {
        const float *from = a + l * (by_rows ? g->a_row : g->a_col);

        for (int64_t p = 0; p < n; p += 16)
            put(copy + l * stride + p, take(from + p, n - p), n - p);
    }
    band.a_row = by_rows ? stride : 1;
    band.a_col = by_rows ? 1 : stride;
    band.a = copy - i * band.a_row; /* row i is where the copy starts */
    return band;
}

static void full_product(const ls__product *g, float *scratch)
{
    const float *b = g->packed;
    bool copies = aliases(g);

    if (!b) {
        pack(g->k, g->n, g->b, g->b_row, g->b_col, scratch);
        b = scratch;
        scratch += packed_size(g->k, g->n);
    }
    for (int64_t i = 0; i < g->m; i += BAND) {
        int64_t last = g->m - i < BAND ? g->m : i + BAND;
        const ls__product *of = g;
        ls__product band;

        if (copies) {
            band = band_of(g, i, last - i, scratch);
            of = &band;
        }
        for (int64_t j = 0; j < g->n; j += COLUMNS)
            panel(of, i, last, j, b + j * g->k);
    }
}

#endif
