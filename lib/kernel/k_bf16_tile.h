/* SPDX-License-Identifier: BSD-3-Clause */
/* The register tile of a product of bf16 numbers (the contract of bits for bf16
 * in kernel/product.h).
 *
 * A step is two chains of fused multiply-adds.  They and the sums of the steps
 * are held in registers where there are enough of them: AMD's CPUs pay for a
 * vector that is stored with one and a half multiply-adds.  Products of all
 * kinds come here: a table tells where the words of A stand, so that a row of a
 * matrix, a window of an image and the pixels of a weight gradient are the same
 * loop. */
#ifndef LS_KERNEL_K_BF16_TILE_H
#define LS_KERNEL_K_BF16_TILE_H

#include "base/assert.h"
#include "kernel/k_bf16_two.h"
#include "kernel/k_bf16_words.h"
#include "kernel/k_epilogue.h"
#include "kernel/k_tile.h"

#if defined(__AVX512F__)
/* 8 sums and two chains of 8 in 32 registers: of 4 rows, or of 8 where one
 * vector is all that is left of the columns. */
enum { CHAIN_ROWS = 4, NARROW_ROWS = 8 };
#define CHAIN_CASES CASES_4
#define NARROW_CASES CASES_8
#else
/* The chains alone; sums wait in memory. */
enum { CHAIN_ROWS = 3, NARROW_ROWS = 3 };
#define CHAIN_CASES CASES_3
#define NARROW_CASES CASES_3
#endif

/* Unrolling of a step over its words, and the most words of the last step; each
 * form is 2 % faster on the CPUs that it is for. */
#if defined(WIDE)
#define EACH_LINK UNROLL_BY(2)
enum { LAST_WORDS = STEP_WORDS - 1 };
#else
#define EACH_LINK
enum { LAST_WORDS = STEP_WORDS };
#endif

/* Places of a tile's words of A: rows are `row` apart, the words of a step at
 * word[q], and the steps `step` apart. */
typedef struct word_places {
    int64_t row, step;
    int64_t word[STEP_WORDS];
} word_places;

/* acc + the word of A at `a` times a line of B, link by link: vdpbf16ps does
 * the upper half first, rounds, and flushes, as the fused multiply-add does
 * here.
 *
 * It can take the word from memory by itself, which compilers do not think of.
 * Zen 4 multiplies one vector of pairs in a cycle; there this saves the time of
 * a broadcast, 3 to 5 % of a tile.  Zen 5 (WIDE) multiplies two and reads two;
 * there it takes longest to read each word once for each vector, and one
 * broadcast for both saves a quarter of the time. */
SIMD v16 word_fma(const uint32_t *a, v16 b, v16 acc)
{
#if defined(PAIRS) && !defined(WIDE)
    __asm__("vdpbf16ps %2%{1to16%}, %1, %0" : "+v"(acc) : "v"(b), "m"(*a));
    return acc;
#else
    float x;

    memcpy(&x, a, sizeof x);
#if defined(PAIRS)
    return _mm512_dpbf16_ps(acc, (__m512bh)b, (__m512bh)v16_set(x));
#else
    return bf16_fma(v16_set(x), b, acc);
#endif
#endif
}

/* acc += one word of each row times `vecs` vectors of a line of B */
SIMD void chain_link(int rows, int vecs, words_near near, const uint32_t *a,
                     int64_t row, const uint32_t *b, tile_sums acc)
{
    v16 line[VECS];

#if defined(WIDE)
    if (near == ROWS_NEAR) {
        rows_link(rows, vecs, a, b, acc);
        return;
    }
#endif
    (void)near;
    UNROLL(2)
    for (int v = 0; v < vecs; v++)
        line[v] = v16_of_bits(w16_load(b + 16 * v));
    EACH_SUM_OF(rows, vecs)
        acc[r][v] = word_fma(a + r * row, line[v], acc[r][v]);
}

/* All pairs of links of a step of n words. */
SIMD void chain_links(int rows, int vecs, words_near near, int64_t n,
                      const uint32_t *a, const word_places *at,
                      const uint32_t *b, tile_sums even, tile_sums odd)
{
    EACH_LINK
    for (int64_t q = 0; q < n - 1; q += 2, b += 2 * COLUMNS) {
        const uint32_t *first = a + at->word[q];

#if defined(WIDE)
        if (near == LINKS_NEAR) {
            two_links(rows, first, at->row, b, even, odd);
            continue;
        }
#endif
        chain_link(rows, vecs, near, first, at->row, b, even);
        chain_link(rows, vecs, near, a + at->word[q + 1], at->row, b + COLUMNS,
                   odd);
    }
#if defined(WIDE)
    UNROLL(8)
    for (int r = 0; r < rows && near == LINKS_NEAR; r++)
        lanes_apart(&even[r][0], &odd[r][0]);
#endif
}

/* One step of n words onto the sums; K may end with an even one. */
SIMD void chain_step(int rows, int vecs, words_near near, int64_t n,
                     const uint32_t *a, const word_places *at,
                     const uint32_t *b, tile_sums sum)
{
    tile_sums even, odd;

    tile_clear(rows, even);
    tile_clear(rows, odd);
    chain_links(rows, vecs, near, n, a, at, b, even, odd);
    if (n % 2)
        chain_link(rows, vecs, near, a + at->word[n - 1], at->row,
                   b + (n - 1) * COLUMNS, even);
    EACH_SUM_OF(rows, vecs)
        sum[r][v] = v16_add(sum[r][v], v16_add(even[r][v], odd[r][v]));
}

/* All steps of n words, of `vecs` vectors of lines: the rest of the sums stays
 * as it is, and those of rows that are near are in turn (rows_turn). */
SIMD void chain_steps(int rows, int vecs, words_near near, int64_t n,
                      const uint32_t *a, const word_places *at,
                      const uint32_t *b, tile_sums sum)
{
    LS__ASSERT(n >= 0);
    LS__ASSERT(near != LINKS_NEAR ||
               (vecs < VECS && at->word[1] == at->word[0] + 1));
    LS__ASSERT(near != ROWS_NEAR || (at->row == 1 && rows % 2 == 0));
    for (; n > LAST_WORDS; n -= STEP_WORDS, a += at->step) {
        chain_step(rows, vecs, near, STEP_WORDS, a, at, b, sum);
        b += STEP_WORDS * COLUMNS;
    }
    if (n)
        chain_step(rows, vecs, near, n, a, at, b, sum);
}

/* Sums begin with what C has, or with nothing. */
SIMD void sums_begin(int rows, const float *c, int64_t row, int64_t left,
                     tile_sums sum)
{
    EACH_SUM(rows)
        sum[r][v] = c ? take_any(c + r * row + 16 * v, left - 16 * v)
                      : v16_zero();
}

#endif
