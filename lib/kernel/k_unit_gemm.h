/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrix products by a matrix unit: of numbers rounded to bf16, or of f32
 * numbers as the sums of two or three such (kernel/product.h has all orders).
 *
 * B is packed first, or was before; then come 32 rows of A at a time, and past
 * them all columns of B, 32 at a time.  The sums of a block are stored, and the
 * epilogue is done on them at once, while the unit begins the next. */
#ifndef LS_KERNEL_K_UNIT_GEMM_H
#define LS_KERNEL_K_UNIT_GEMM_H

#include "kernel/k_epilogue.h"
#include "kernel/k_unit_operands.h"

enum { UNIT_BLOCK = UNIT_SIDE * UNIT_SIDE };

/* ------ steps along K ------ */

/* The small products of a step, by (part of A, part of B): for two parts (1,0)
 * (0,1), for three (0,2) (1,1) (2,0) (1,0) (0,1).  What the last product has
 * loaded is not loaded again. */
UNIT void unit_small_step(int parts, unit *u, const uint32_t *a,
                          const uint32_t *b)
{
    const int64_t part = 2 * UNIT_TILE;

    if (parts == 2) {
        unit_rows(u, a + part);
        unit_columns(u, b);
    } else {
        unit_rows(u, a);
        unit_columns(u, b + 2 * part);
        unit_multiply_block(u);
        unit_rows(u, a + part);
        unit_columns(u, b + part);
        unit_multiply_block(u);
        unit_rows(u, a + 2 * part);
        unit_columns(u, b);
        unit_multiply_block(u);
        unit_rows(u, a + part);
    }
    unit_multiply_block(u);
    unit_rows(u, a);
    unit_columns(u, b + part);
    unit_multiply_block(u);
}

/* n steps onto the sums: those of the small products, then the large ones. */
UNIT void unit_steps(int parts, unit *u, int64_t n, const uint32_t *a,
                     const uint32_t *b)
{
    const int64_t size = 2 * UNIT_TILE * parts;

    for (int64_t s = 0; s < n && parts > 1; s++)
        unit_small_step(parts, u, a + s * size, b + s * size);
    for (int64_t s = 0; s < n; s++) {
        unit_columns(u, b + s * size);
        unit_rows(u, a + s * size);
        unit_multiply_block(u);
    }
}

/* ------ a block of C ------ */

/* What C has of a block, zeros around it. */
static void unit_block_of_c(const ls__product *g, int64_t i, int64_t j,
                            float *sums)
{
    for (int64_t r = 0; r < UNIT_SIDE; r++)
        for (int64_t v = 0; v < UNIT_SIDE; v += 16) {
            const float *c = g->c + (i + r) * g->c_row + j + v;

            v16_store(sums + r * UNIT_SIDE + v,
                      take_any(c, i + r < g->m ? g->n - j - v : 0));
        }
}

/* One sum over all of K, on top of what C has. */
UNIT void unit_whole_sum(const ls__product *g, unit *u, int64_t i, int64_t j,
                         const uint32_t *a, const uint32_t *b, float *sums)
{
    if (!g->accumulate) {
        unit_clear_block(u);
    } else if (i + UNIT_SIDE <= g->m && j + UNIT_SIDE <= g->n) {
        unit_load_block(u, g->c + i * g->c_row + j, g->c_row);
    } else {
        unit_block_of_c(g, i, j, sums);
        unit_load_block(u, sums, UNIT_SIDE);
    }
    unit_steps(1, u, up_to_side(g->k) / UNIT_SIDE, a, b);
    unit_store_block(u, sums, UNIT_SIDE);
}

/* A sum for each chunk of K, added to those before. */
UNIT void unit_chunk_sums(int parts, const ls__product *g, unit *u, int64_t i,
                          int64_t j, const uint32_t *a, const uint32_t *b,
                          float *sums)
{
    const int64_t size = 2 * UNIT_TILE * parts, chunk = LS__CHUNK / UNIT_SIDE;
    float part[UNIT_BLOCK] __attribute__((aligned(64)));
    int64_t all = up_to_side(g->k) / UNIT_SIDE;
    bool more = g->accumulate;

    if (more)
        unit_block_of_c(g, i, j, sums);
    for (int64_t s = 0; s < all; s += chunk, more = true) {
        int64_t n = all - s < chunk ? all - s : chunk;

        unit_clear_block(u);
        unit_steps(parts, u, n, a + s * size, b + s * size);
        unit_store_block(u, more ? part : sums, UNIT_SIDE);
        for (int64_t e = 0; e < UNIT_BLOCK && more; e += 16)
            v16_store(sums + e,
                      v16_add(v16_load(sums + e), v16_load(part + e)));
    }
}

/* The epilogue of a block, in tiles of registers. */
SIMD void unit_block_rows(const ls__product *g, int rows, int64_t i, int64_t j,
                     int64_t n, const float *sums)
{
    float room[ROWS * COLUMNS] __attribute__((aligned(64)));

    for (int64_t c = 0; c < n; c += COLUMNS) {
        tile_sums acc;

        EACH_SUM(rows)
        acc[r][v] = v16_load(sums + r * UNIT_SIDE + c + 16 * v);
        tile_end(g, rows, i, j + c, acc, room);
    }
}

/* Of rows i .. i+rows of a block. */
static void unit_rows_end(const ls__product *g, int64_t rows, int64_t i,
                          int64_t j, const float *sums)
{
    enum { MANY = 4 };
    int64_t n = g->n - j < UNIT_SIDE ? g->n - j : UNIT_SIDE, end = i + rows;

    for (; end - i >= MANY; i += MANY, sums += MANY * UNIT_SIDE)
        unit_block_rows(g, MANY, i, j, n, sums);
    for (; i < end; i++, sums += UNIT_SIDE)
        unit_block_rows(g, 1, i, j, n, sums);
}

static void unit_block_end(const ls__product *g, int64_t i, int64_t j,
                           const float *sums)
{
    unit_rows_end(g, g->m - i < UNIT_SIDE ? g->m - i : UNIT_SIDE, i, j, sums);
}

/* The epilogue of a whole block, whose numbers are left as words: what the band
 * of A of another product has of them. */
static void unit_words_end(const ls__product *g, int64_t i, int64_t j,
                           const float *sums)
{
    enum { VECTORS = 4 };
    uint32_t *out = (uint32_t *)(void *)g->c +
                    (i * g->c_row / UNIT_SIDE + j) / UNIT_SIDE * UNIT_BLOCK / 2;

    for (int64_t r = 0; r < UNIT_SIDE; r += 2, sums += 2 * UNIT_SIDE) {
        v16 x[VECTORS];

        finish_vectors(g, VECTORS, 2, i + r, j, sums, x);
        for (int q = 0; q < VECTORS; q += 2, out += UNIT_LINES)
            w16_store(out, next_part(true, &x[q], &x[q + 1]));
    }
}

/* ------ the product ------ */

UNIT void unit_pack(int parts, int64_t k, int64_t n, const float *b,
                    int64_t b_row, int64_t b_col, void *packed)
{
    unit_source s = {n, k, b, b_col, b_row};

    unit_pack_as(parts, true, &s, packed);
}

/* B, and 32 rows of A. */
SIMD int64_t unit_scratch(int parts, int64_t k, int64_t n)
{
    return unit_words(parts, n, k) + unit_words(parts, UNIT_SIDE, k);
}

/* 32 rows of A from row i on, as words, which may be those in room. */
UNIT const uint32_t *unit_band(int parts, const ls__product *g, int64_t i,
                               uint32_t *room)
{
    const uint32_t *words = (const uint32_t *)(const void *)g->a;
    unit_source s = {g->m - i < UNIT_SIDE ? g->m - i : UNIT_SIDE, g->k,
                     g->a + i * g->a_row, g->a_row, g->a_col};

    if (parts > 1 || !g->a_words) {
        unit_pack_as(parts, false, &s, room);
        return room;
    }
    if (g->a_row != 1)
        return words + i * g->k / 2;
    words += i * UNIT_SIDE / 2;
    for (int64_t p = 0; p < g->k; p += UNIT_SIDE)
        unit_turn_block(words + p * g->m / 2, room + p * UNIT_SIDE / 2);
    return room;
}

UNIT void unit_gemm(int parts, const ls__product *g, float *scratch)
{
    float sums[UNIT_BLOCK] __attribute__((aligned(64)));
    uint32_t *room = (uint32_t *)(void *)scratch;
    const uint32_t *b = g->packed;
    int64_t panel = unit_words(parts, UNIT_SIDE, g->k);
    unit u;

    if (!b) {
        unit_pack(parts, g->k, g->n, g->b, g->b_row, g->b_col, room);
        b = room;
        room += unit_words(parts, g->n, g->k);
    }
    unit_take(&u);
    for (int64_t i = 0; i < g->m; i += UNIT_SIDE) {
        const uint32_t *a = unit_band(parts, g, i, room);

        UNIT_READS;
        for (int64_t j = 0; j < g->n; j += UNIT_SIDE) {
            const uint32_t *of = b + j / UNIT_SIDE * panel;

            if (parts == 1)
                unit_whole_sum(g, &u, i, j, a, of, sums);
            else
                unit_chunk_sums(parts, g, &u, i, j, a, of, sums);
            if (parts == 1 && g->c_words)
                unit_words_end(g, i, j, sums);
            else
                unit_block_end(g, i, j, sums);
        }
    }
    unit_give(&u);
}

#endif
