/* SPDX-License-Identifier: BSD-3-Clause */
/* GEMM of numbers rounded to bf16 (mixed precision), sums in f32.  Operands are
 * rounded while they are packed, B in panels and A band by band; then register
 * tiles of k_bf16_tile.h run over the copies. */
#ifndef LS_KERNEL_K_BF16_GEMM_H
#define LS_KERNEL_K_BF16_GEMM_H

#include "base/assert.h"
#include "kernel/k_bf16_tile.h"
#include "kernel/k_gemm_full.h"

/* ------ B in panels ------ */

static int64_t bf16_packed_size(int64_t k, int64_t n)
{
    return packed_size(words(k), n);
}

static void bf16_pack(int64_t k, int64_t n, const float *b, int64_t b_row,
                      int64_t b_col, void *packed)
{
    source l = source_of(k, n, b, b_row, b_col);
    uint32_t *to = packed;

    for (int64_t j = 0; j < n; j += COLUMNS, to += words(k) * COLUMNS)
        pack_lines(&l, j, COLUMNS, to, COLUMNS);
}

/* ------ A in bands ------ */

enum { BLOCK_SIDE = LS__BF16_STEP }; /* rows, and columns where c_bf16 is */

/* Rows of A, words in place, that stay in the second cache while panels
 * pass. */
static int64_t rows_in_place(int64_t k)
{
    return words(k) < DEEPEST ? DEEPEST / words(k) * BLOCK_SIDE : BLOCK_SIDE;
}

/* The same of rows that are copied; fewer where K is long. */
static int64_t band_rows(int64_t k)
{
    return words(k) <= DEEPEST ? 16 * CHAIN_ROWS : 4 * CHAIN_ROWS;
}

/* Words of a band of a product as deep as k, or less deep. */
static int64_t band_size(int64_t k)
{
    int64_t less = words(k) < DEEPEST ? words(k) : DEEPEST;
    int64_t deep = whole_vectors(band_rows(k)) * copy_stride(words(k));

    less = 16 * CHAIN_ROWS * copy_stride(less);
    return deep > less ? deep : less;
}

static int64_t bf16_scratch(int64_t k, int64_t n)
{
    return whole_vectors(bf16_packed_size(k, n)) + band_size(k);
}

/* Rows from i on, in blocks of BLOCK_SIDE. */
typedef struct band {
    const uint32_t *a;
    word_places at;
    int64_t i, block;
} band;

static const uint32_t *band_row(const band *of, int64_t i)
{
    int64_t r = i - of->i;

    return of->a + r / BLOCK_SIDE * of->block + r % BLOCK_SIDE * of->at.row;
}

static void band_places(band *of, int64_t row, int64_t col)
{
    of->at.row = row;
    of->block = BLOCK_SIDE * row;
    of->at.step = STEP_WORDS * col;
    for (int64_t q = 0; q < STEP_WORDS; q++)
        of->at.word[q] = q * col;
}

/* Rows i .. i+rows of A, in rows of words if what follows along K follows in
 * memory, else in lines.  Vectors are stored whole: after a row come up to 15
 * zeros. */
static void band_copy(const ls__product *g, int64_t i, int64_t rows,
                      uint32_t *copy, band *of)
{
    int64_t along = copy_stride(words(g->k));
    int64_t across = whole_vectors(band_rows(g->k));
    const float *a = g->a + i * g->a_row;
    source l = source_of(g->k, rows, a, g->a_col, g->a_row);

    of->a = copy;
    of->i = i;
    if (g->a_col != 1) {
        pack_lines(&l, 0, whole_vectors(rows), copy, across);
        band_places(of, 1, across);
        return;
    }
    for (int64_t r = 0; r < rows; r++, a += g->a_row, copy += along)
        for (int64_t p = 0; p < g->k; p += WORD_BLOCK)
            w16_store(copy + p / PER_WORD, words_along(a + p, g->k - p));
    band_places(of, along, 1);
}

/* ------ A, and C, as words ------ */

#if defined(PAIRS)

/* Blocks of 32 rows and columns (c_bf16 in kernel/product.h): each row is the
 * words of one step. */
enum { WORD_BLOCK_WORDS = BLOCK_SIDE * STEP_WORDS };

/* The block at row i and column j of a matrix of such blocks, `row` columns
 * wide. */
static int64_t block_at(int64_t i, int64_t j, int64_t row)
{
    return (i / BLOCK_SIDE * (row / BLOCK_SIDE) + j / BLOCK_SIDE) *
           WORD_BLOCK_WORDS;
}

static void bf16_words(int64_t m, int64_t n, const float *x, void *words)
{
    LS__ASSERT(n % BLOCK_SIDE == 0);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j += BLOCK_SIDE)
            w16_store((uint32_t *)words + block_at(i, j, n) +
                          i % BLOCK_SIDE * STEP_WORDS,
                      words_along(x + i * n + j, BLOCK_SIDE));
}

/* Words across two rows of a block: 16 numbers of each, from j on. */
SIMD w16 block_across(const uint32_t *first, const uint32_t *second, int64_t j)
{
    /* Number c is in word c / 4 * 2 + c % 2, numbers 0 and 1 of each four in
     * the upper half. */
    const w16 c = w16_add(w16_iota(), w16_set((uint32_t)j));
    const w16 word = w16_add(w16_shl(w16_shr(c, 2), 1), w16_and(c, w16_set(1)));
    const w16 half = w16_xor(w16_and(w16_shr(c, 1), w16_set(1)), w16_set(1));
    const w16 at = w16_add(w16_shl(word, 1), half);

    return _mm512_permutex2var_epi16(
        w16_load(first), w16_or(w16_add(at, w16_set(32)), w16_shl(at, 16)),
        w16_load(second));
}

/* Pack rows i .. i+rows of A, whole blocks, from its transpose: so in weight
 * gradients, where K is at most LS__DEEP. */
static void band_transposed(const ls__product *g, int64_t i, int64_t rows,
                      uint32_t *copy, int64_t across)
{
    const uint32_t *words = (const uint32_t *)(const void *)g->a;

    LS__ASSERT(rows % BLOCK_SIDE == 0 && g->k % BLOCK_SIDE == 0);
    for (int64_t p = 0; p < g->k; p += BLOCK_SIDE, copy += STEP_WORDS * across)
        for (int64_t j = i; j < i + rows; j += BLOCK_SIDE) {
            const uint32_t *block = words + block_at(p, j, g->m);

            for (int64_t q = 0; q < STEP_WORDS; q++) {
                const uint32_t *first = block + first_of(q) * STEP_WORDS;
                uint32_t *to = copy + q * across + j - i;

                w16_store(to, block_across(first, first + 2 * STEP_WORDS, 0));
                w16_store(to + 16,
                          block_across(first, first + 2 * STEP_WORDS, 16));
            }
        }
}

/* Pack rows i .. i+rows of A from blocks, its own or its transpose's. */
static void band_of_words(const ls__product *g, int64_t i, int64_t rows,
                          uint32_t *copy, band *of)
{
    int64_t across = whole_vectors(band_rows(g->k));

    of->i = i;
    if (g->a_col != 1) {
        band_transposed(g, i, rows, copy, across);
        of->a = copy;
        band_places(of, 1, across);
        return;
    }
    of->a = (const uint32_t *)(const void *)g->a + block_at(i, 0, g->k);
    band_places(of, STEP_WORDS, 1);
    of->at.step = WORD_BLOCK_WORDS;
    of->block = block_at(BLOCK_SIDE, 0, g->k);
}

/* The epilogue of a tile, an even number of rows that are left as words. */
SIMD void tile_words(const ls__product *g, int rows, int64_t i, int64_t j,
                     const float *sum)
{
    uint32_t *out = (uint32_t *)(void *)g->c + block_at(i, j, g->c_row) +
                    i % BLOCK_SIDE * STEP_WORDS;

    LS__ASSERT(rows % 2 == 0);
    for (int r = 0; r + 2 <= rows; r += 2, out += 2 * STEP_WORDS) {
        v16 x[4];

        finish_vectors(g, 4, VECS, i + r, j, sum + r * COLUMNS, x);
        w16_store(out, words_of(x[0], x[1]));
        w16_store(out + STEP_WORDS, words_of(x[2], x[3]));
    }
}

#endif

/* ------ the product ------ */

/* Rows i .. i+rows of C, columns j .. j+COLUMNS. */
SIMD void bf16_tile(const ls__product *g, int rows, const band *of, int64_t i,
                    int64_t j, const uint32_t *b)
{
    float room[CHAIN_ROWS * COLUMNS] __attribute__((aligned(64)));
    int64_t at = i * g->c_row + j;
    rows_ahead end = rows_ahead_of(g, i, j, rows, 1);
    tile_sums sum;

    ask_rows(&end);
    sums_begin(rows, g->accumulate ? g->c + at : NULL, g->c_row, g->n - j, sum);
    chain_steps(rows, VECS, NONE_NEAR, filled_words(g->k), band_row(of, i),
                &of->at, b, sum);
#if defined(PAIRS)
    if (g->c_bf16) {
        tile_put(rows, room, COLUMNS, COLUMNS, sum);
        tile_words(g, rows, i, j, room);
        return;
    }
#endif
    tile_end(g, rows, VECS, i, j, sum, room);
}

static void bf16_tile_of(const ls__product *g, int rows, const band *of,
                         int64_t i, int64_t j, const uint32_t *b)
{
#define CALL(rows) bf16_tile(g, rows, of, i, j, b)
    WITH_CONSTANT(rows, CHAIN_CASES, CALL)
#undef CALL
}

/* Rows i .. i+rows of A, as words that may be those in room. */
static void band_take(const ls__product *g, int64_t i, int64_t rows,
                      uint32_t *room, band *of)
{
#if defined(PAIRS)
    if (g->a_bf16) {
        band_of_words(g, i, rows, room, of);
        return;
    }
#endif
    band_copy(g, i, rows, room, of);
}

static void bf16_gemm(const ls__product *g, float *scratch)
{
    uint32_t *room = (uint32_t *)(void *)scratch;
    const uint32_t *b = g->packed;
    bool in_place = g->a_bf16 && g->a_col == 1;
    int64_t height = in_place ? rows_in_place(g->k) : band_rows(g->k), rows;
    band of;

    LS__ASSERT(ls__product_is_valid(g));
    if (!b) {
        bf16_pack(g->k, g->n, g->b, g->b_row, g->b_col, room);
        b = room;
        room += whole_vectors(bf16_packed_size(g->k, g->n));
    }
    for (int64_t i = 0; i < g->m; i += height) {
        int64_t last = g->m - i < height ? g->m : i + height;

        band_take(g, i, last - i, room, &of);
        for (int64_t j = 0; j < g->n; j += COLUMNS)
            for (int64_t l = i; l < last; l += rows) {
                rows = tile_height(last - l, CHAIN_ROWS);
                bf16_tile_of(g, (int)rows, &of, l, j, b + j * words(g->k));
            }
    }
}

static const ls__products bf16_products = {
    .gemm = bf16_gemm, .scratch = bf16_scratch,
#if defined(PAIRS)
    .to_bf16 = bf16_words,
#endif
    .packed_size = bf16_packed_size, .pack = bf16_pack};

#endif
