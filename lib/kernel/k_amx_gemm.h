/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrix products by a matrix unit: of numbers rounded to bf16, or of f32
 * numbers as the sums of two or three such (kernel/product.h has all orders).
 *
 * B is packed first, or was before; then come 32 rows of A at a time, and past
 * them all columns of B, 32 at a time.  The sums of a block are stored, and the
 * epilogue is done on them at once, while the unit begins the next. */
#ifndef LS_KERNEL_K_AMX_GEMM_H
#define LS_KERNEL_K_AMX_GEMM_H

#include "base/assert.h"
#include "kernel/k_epilogue.h"
#include "kernel/k_amx_operands.h"

enum { AMX_BLOCK = AMX_SIDE * AMX_SIDE };

/* ------ steps along K ------ */

/* The small products of a step of two parts, by (part of A, part of B): (1,0)
 * (0,1). */
AMX void amx_small_step(amx_tiles *u, const uint32_t *a, const uint32_t *b)
{
    const int64_t part = 2 * AMX_TILE;

    amx_rows(u, a + part);
    amx_columns(u, b);
    amx_multiply_block(u);
    amx_rows(u, a);
    amx_columns(u, b + part);
    amx_multiply_block(u);
}

/* The block of C after this one, which is asked for while the unit computes. */
static rows_ahead amx_next_block(const ls__product *g, int64_t i, int64_t j)
{
    bool wraps = g->n - j <= AMX_SIDE;

    return rows_ahead_of(g, wraps ? i + AMX_SIDE : i, wraps ? 0 : j + AMX_SIDE,
                         AMX_SIDE, up_to_side(g->k) / AMX_SIDE);
}

/* n steps onto the sums: those of the small products, then the large ones. */
AMX void amx_steps(int parts, amx_tiles *u, int64_t n, const uint32_t *a,
                   const uint32_t *b, rows_ahead *next)
{
    const int64_t size = 2 * AMX_TILE * parts;

    for (int64_t s = 0; s < n && parts > 1; s++)
        amx_small_step(u, a + s * size, b + s * size);
    for (int64_t s = 0; s < n; s++) {
        ask_rows(next);
        amx_columns(u, b + s * size);
        amx_rows(u, a + s * size);
        amx_multiply_block(u);
    }
}

/* ------ a block of C ------ */

/* Load a block of C, zeros around it. */
static void amx_block_of_c(const ls__product *g, int64_t i, int64_t j,
                            float *sums)
{
    for (int64_t r = 0; r < AMX_SIDE; r++)
        for (int64_t v = 0; v < AMX_SIDE; v += 16) {
            const float *c = g->c + (i + r) * g->c_row + j + v;

            v16_store(sums + r * AMX_SIDE + v,
                      take_any(c, i + r < g->m ? g->n - j - v : 0));
        }
}

/* One sum over all of K, on top of what C has. */
AMX void amx_whole_sum(const ls__product *g, amx_tiles *u, int64_t i, int64_t j,
                       const uint32_t *a, const uint32_t *b, float *sums)
{
    rows_ahead next = amx_next_block(g, i, j);

    if (!g->accumulate) {
        amx_clear_block(u);
    } else if (i + AMX_SIDE <= g->m && j + AMX_SIDE <= g->n) {
        amx_load_block(u, g->c + i * g->c_row + j, g->c_row);
    } else {
        amx_block_of_c(g, i, j, sums);
        amx_load_block(u, sums, AMX_SIDE);
    }
    amx_steps(1, u, up_to_side(g->k) / AMX_SIDE, a, b, &next);
    amx_store_block(u, sums, AMX_SIDE);
}

/* A sum for each chunk of K, added to those before. */
AMX void amx_chunk_sums(int parts, const ls__product *g, amx_tiles *u,
                        int64_t i, int64_t j, const uint32_t *a,
                        const uint32_t *b, float *sums)
{
    const int64_t size = 2 * AMX_TILE * parts, chunk = LS__CHUNK / AMX_SIDE;
    float part[AMX_BLOCK] __attribute__((aligned(64)));
    int64_t all = up_to_side(g->k) / AMX_SIDE;
    bool more = g->accumulate;
    rows_ahead next = amx_next_block(g, i, j);

    if (more)
        amx_block_of_c(g, i, j, sums);
    for (int64_t s = 0; s < all; s += chunk, more = true) {
        int64_t n = all - s < chunk ? all - s : chunk;

        amx_clear_block(u);
        amx_steps(parts, u, n, a + s * size, b + s * size, &next);
        amx_store_block(u, more ? part : sums, AMX_SIDE);
        for (int64_t e = 0; e < AMX_BLOCK && more; e += 16)
            v16_store(sums + e,
                      v16_add(v16_load(sums + e), v16_load(part + e)));
    }
}

/* The epilogue of rows of sums, `row` apart, of `vecs` vectors: a tile of
 * registers. */
SIMD void amx_tile_end(const ls__product *g, int rows, int vecs, int64_t i,
                       int64_t j, int64_t row, const float *sums)
{
    float room[ROWS * COLUMNS] __attribute__((aligned(64)));
    tile_sums acc;

    tile_clear(rows, acc);
    EACH_SUM_OF(rows, vecs)
        acc[r][v] = v16_load(sums + r * row + 16 * v);
    tile_end(g, rows, vecs, i, j, acc, room);
}

SIMD void amx_columns_end(const ls__product *g, int vecs, int64_t rows,
                          int64_t i, int64_t j, int64_t row, const float *sums)
{
    enum { MANY = 4 };
    int64_t end = i + rows;

    for (; end - i >= MANY; i += MANY, sums += MANY * row)
        amx_tile_end(g, MANY, vecs, i, j, row, sums);
    for (; i < end; i++, sums += row)
        amx_tile_end(g, 1, vecs, i, j, row, sums);
}

/* End rows i .. i+rows of sums, `row` apart, from column j on: of a block. */
static void amx_rows_end(const ls__product *g, int64_t rows, int64_t i,
                         int64_t j, int64_t row, const float *sums)
{
    int64_t end = g->n - j < AMX_SIDE ? g->n : j + AMX_SIDE;

    for (; end - j > 16; j += COLUMNS, sums += COLUMNS)
        amx_columns_end(g, VECS, rows, i, j, row, sums);
    if (end > j)
        amx_columns_end(g, 1, rows, i, j, row, sums);
}

static void amx_block_end(const ls__product *g, int64_t i, int64_t j,
                          const float *sums)
{
    amx_rows_end(g, g->m - i < AMX_SIDE ? g->m - i : AMX_SIDE, i, j, AMX_SIDE,
                 sums);
}

/* The epilogue of a whole block, which leaves its numbers as words for the band
 * of A of another product. */
static void amx_words_end(const ls__product *g, int64_t i, int64_t j,
                           const float *sums)
{
    enum { VECTORS = 4 };
    uint32_t *out = (uint32_t *)(void *)g->c +
                    (i * g->c_row / AMX_SIDE + j) / AMX_SIDE * AMX_BLOCK / 2;

    for (int64_t r = 0; r < AMX_SIDE; r += 2, sums += 2 * AMX_SIDE) {
        v16 x[VECTORS];

        finish_vectors(g, VECTORS, 2, i + r, j, sums, x);
        for (int q = 0; q < VECTORS; q += 2, out += AMX_LINES)
            w16_store(out, next_part(true, &x[q], &x[q + 1]));
    }
}

/* ------ the product ------ */

AMX void amx_pack(int parts, int64_t k, int64_t n, const float *b,
                    int64_t b_row, int64_t b_col, void *packed)
{
    amx_source s = {n, k, b, b_col, b_row};

    amx_pack_as(parts, true, &s, packed);
}

/* B, and 32 rows of A. */
SIMD int64_t amx_scratch(int parts, int64_t k, int64_t n)
{
    return amx_size(parts, n, k) + amx_size(parts, AMX_SIDE, k);
}

/* 32 rows of A from row i on, as words, which may be those in room. */
AMX const uint32_t *amx_band(int parts, const ls__product *g, int64_t i,
                               uint32_t *room)
{
    const uint32_t *words = (const uint32_t *)(const void *)g->a;
    amx_source s = {g->m - i < AMX_SIDE ? g->m - i : AMX_SIDE, g->k,
                     g->a + i * g->a_row, g->a_row, g->a_col};

    if (parts > 1 || !g->a_bf16) {
        amx_pack_as(parts, false, &s, room);
        return room;
    }
    if (g->a_row != 1)
        return words + i * g->k / 2;
    words += i * AMX_SIDE / 2;
    for (int64_t p = 0; p < g->k; p += AMX_SIDE)
        amx_transpose_block(words + p * g->m / 2, room + p * AMX_SIDE / 2);
    return room;
}

AMX void amx_gemm(int parts, const ls__product *g, float *scratch)
{
    float sums[AMX_BLOCK] __attribute__((aligned(64)));
    uint32_t *room = (uint32_t *)(void *)scratch;
    const uint32_t *b = g->packed;
    int64_t panel = amx_size(parts, AMX_SIDE, g->k);
    amx_tiles u;

    LS__ASSERT(ls__product_is_valid(g) && (parts == 1 || !g->c_bf16));
    if (!b) {
        amx_pack(parts, g->k, g->n, g->b, g->b_row, g->b_col, room);
        b = room;
        room += amx_size(parts, g->n, g->k);
    }
    amx_take(&u);
    for (int64_t i = 0; i < g->m; i += AMX_SIDE) {
        const uint32_t *a = amx_band(parts, g, i, room);

        AMX_READS;
        for (int64_t j = 0; j < g->n; j += AMX_SIDE) {
            const uint32_t *of = b + j / AMX_SIDE * panel;

            if (parts == 1)
                amx_whole_sum(g, &u, i, j, a, of, sums);
            else
                amx_chunk_sums(parts, g, &u, i, j, a, of, sums);
            if (parts == 1 && g->c_bf16)
                amx_words_end(g, i, j, sums);
            else
                amx_block_end(g, i, j, sums);
        }
    }
    amx_give(&u);
}

/* Define the functions of an ls__products for `parts` parts. */
#define AMX_PRODUCTS(parts, gemm_of, scratch_of, packed_size_of, pack_of) \
    static void gemm_of(const ls__product *g, float *scratch) \
    { \
        amx_gemm(parts, g, scratch); \
    } \
    static int64_t scratch_of(int64_t k, int64_t n) \
    { \
        return amx_scratch(parts, k, n); \
    } \
    static int64_t packed_size_of(int64_t k, int64_t n) \
    { \
        return amx_size(parts, n, k); \
    } \
    static void pack_of(int64_t k, int64_t n, const float *b, int64_t b_row, \
                        int64_t b_col, void *packed) \
    { \
        amx_pack(parts, k, n, b, b_row, b_col, packed); \
    }

#endif
