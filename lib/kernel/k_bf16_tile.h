/* A tile of a product of bf16 numbers (the contract of bits for bf16 in
 * kernel/product.h).
 *
 * A step is two chains of fused multiply-adds, held in registers; the sums of
 * the steps wait in a small array, which costs a load and a store for each
 * step.  Products of all kinds come here: a table tells where the words of A
 * stand, so that a row of a matrix, a window of an image and the pixels of a
 * weight gradient are the same loop. */
#ifndef LS_KERNEL_K_BF16_TILE_H
#define LS_KERNEL_K_BF16_TILE_H

#include "kernel/k_bf16_words.h"
#include "kernel/k_epilogue.h"
#include "kernel/k_tile.h"

#if defined(__AVX512F__)
enum { CHAIN_ROWS = 6 }; /* two chains of 12 vectors in 32 registers */
#define CHAIN_CASES CASES_6
#else
enum { CHAIN_ROWS = 3 };
#define CHAIN_CASES CASES_3
#endif

/* Where a tile finds its words of A: its rows are `row` apart, the words of a
 * step at word[q], and the steps `step` apart. */
typedef struct word_places {
    int64_t row, step;
    int64_t word[STEP_WORDS];
} word_places;

/* acc + the product of two words, link by link: vdpbf16ps does the upper half
 * first, rounds, and flushes, as the fused multiply-add does here. */
SIMD v16 word_fma(v16 a, v16 b, v16 acc)
{
#if defined(PAIRS)
    return _mm512_dpbf16_ps(acc, (__m512bh)a, (__m512bh)b);
#else
    return bf16_fma(a, b, acc);
#endif
}

SIMD v16 word_set(const uint32_t *w)
{
    float x;

    memcpy(&x, w, sizeof x);
    return v16_set(x);
}

/* acc += one word of each row times a line of B */
SIMD void chain_link(int rows, const uint32_t *a, int64_t row,
                     const uint32_t *b, tile_sums acc)
{
    v16 line[VECS];

#pragma GCC unroll 2
    for (int v = 0; v < VECS; v++)
        line[v] = v16_of_bits(w16_load(b + 16 * v));
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++) {
        v16 x = word_set(a + r * row);

#pragma GCC unroll 2
        for (int v = 0; v < VECS; v++)
            acc[r][v] = word_fma(x, line[v], acc[r][v]);
    }
}

/* One step onto the sums (rows,COLUMNS). */
SIMD void chain_step(int rows, int64_t n, const uint32_t *a,
                     const word_places *at, const uint32_t *b, float *sum)
{
    tile_sums even, odd;

    tile_clear(rows, even);
    tile_clear(rows, odd);
    for (int64_t q = 0; q < n; q += 2, b += 2 * COLUMNS) {
        chain_link(rows, a + at->word[q], at->row, b, even);
        chain_link(rows, a + at->word[q + 1], at->row, b + COLUMNS, odd);
    }
    EACH_SUM(rows)
    {
        float *to = sum + r * COLUMNS + 16 * v;

        v16_store(to, v16_add(v16_load(to), v16_add(even[r][v], odd[r][v])));
    }
}

/* All steps of n words. */
SIMD void chain_steps(int rows, int64_t n, const uint32_t *a,
                      const word_places *at, const uint32_t *b, float *sum)
{
    for (; n > STEP_WORDS; n -= STEP_WORDS, a += at->step) {
        chain_step(rows, STEP_WORDS, a, at, b, sum);
        b += STEP_WORDS * COLUMNS;
    }
    chain_step(rows, n, a, at, b, sum);
}

/* Sums begin with what C has, or with nothing. */
SIMD void sums_begin(int rows, const float *c, int64_t row, int64_t left,
                     float *sum)
{
    EACH_SUM(rows)
        v16_store(sum + r * COLUMNS + 16 * v,
                  c ? take_any(c + r * row + 16 * v, left - 16 * v)
                    : v16_zero());
}

SIMD void sums_take(int rows, const float *sum, tile_sums acc)
{
    EACH_SUM(rows)
        acc[r][v] = v16_load(sum + r * COLUMNS + 16 * v);
}

#endif
