/* Matrix products of numbers rounded to bf16, sums in f32.  Operands are
 * rounded where they are copied anyway, B in panels and A band by band; then
 * tiles of k_bf16_tile.h run over the copies. */
#ifndef LS_KERNEL_K_BF16_GEMM_H
#define LS_KERNEL_K_BF16_GEMM_H

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

/* Rows of A that stay in cache while panels pass; fewer where K is long. */
static int64_t band_rows(int64_t k)
{
    return words(k) <= DEEPEST ? 16 * CHAIN_ROWS : CHAIN_ROWS;
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

/* Row i is where the copy begins. */
typedef struct band {
    const uint32_t *a;
    word_places at;
    int64_t i;
} band;

static void band_places(band *of, int64_t row, int64_t col)
{
    of->at.row = row;
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

/* ------ the product ------ */

/* Rows i .. i+rows of C, columns j .. j+COLUMNS. */
SIMD void bf16_tile(const ls__product *g, int rows, const band *of, int64_t i,
                    int64_t j, const uint32_t *b)
{
    float room[CHAIN_ROWS * COLUMNS] __attribute__((aligned(64)));
    int64_t at = i * g->c_row + j;
    tile_sums sum;

    fetch_all(g, rows, at);
    sums_begin(rows, g->accumulate ? g->c + at : NULL, g->c_row, g->n - j, sum);
    chain_steps(rows, filled_words(g->k), of->a + (i - of->i) * of->at.row,
                &of->at, b, sum);
    tile_end(g, rows, i, j, sum, room);
}

static void bf16_tile_of(const ls__product *g, int rows, const band *of,
                         int64_t i, int64_t j, const uint32_t *b)
{
#define CALL(rows) bf16_tile(g, rows, of, i, j, b)
    WITH_CONSTANT(rows, CHAIN_CASES, CALL)
#undef CALL
}

static void bf16_gemm(const ls__product *g, float *scratch)
{
    uint32_t *room = (uint32_t *)(void *)scratch;
    const uint32_t *b = g->packed;
    int64_t height = band_rows(g->k), rows;
    band of;

    if (!b) {
        bf16_pack(g->k, g->n, g->b, g->b_row, g->b_col, room);
        b = room;
        room += whole_vectors(bf16_packed_size(g->k, g->n));
    }
    for (int64_t i = 0; i < g->m; i += height) {
        int64_t last = g->m - i < height ? g->m : i + height;

        band_copy(g, i, last - i, room, &of);
        for (int64_t j = 0; j < g->n; j += COLUMNS)
            for (int64_t l = i; l < last; l += rows) {
                rows = tile_height(last - l, CHAIN_ROWS);
                bf16_tile_of(g, (int)rows, &of, l, j, b + j * words(g->k));
            }
    }
}

static const ls__products bf16_products = {
    .gemm = bf16_gemm, .scratch = bf16_scratch,
    .packed_size = bf16_packed_size, .pack = bf16_pack};

#endif
