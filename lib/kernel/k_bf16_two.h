/* SPDX-License-Identifier: BSD-3-Clause */
/* Two words of A by one load, for CPUs that multiply as many vectors of pairs
 * in a cycle as they read (WIDE).  A word of a narrow tile serves one vector,
 * so that there the tile waits for its words.
 *
 * Words that follow each other in memory come to the even and the odd lanes.
 * Where they are those of two links, even lanes are the one chain and odd lanes
 * the other; where they are those of two rows, so are the lanes.  A lane adds
 * what it would have added alone: the bits are the same. */
#ifndef LS_KERNEL_K_BF16_TWO_H
#define LS_KERNEL_K_BF16_TWO_H

#include "base/assert.h"
#include "kernel/k_bf16_words.h"
#include "kernel/k_tile.h"

/* Words of A that follow each other in memory, where that is of use. */
typedef enum words_near { NONE_NEAR, LINKS_NEAR, ROWS_NEAR } words_near;

#if defined(WIDE)

/* The lanes of two vectors in turn: of each four the first two, in all of the
 * vector, and then the others. */
SIMD void lanes_in_turn(v16 *x, v16 *y)
{
    v16 low = _mm512_unpacklo_ps(*x, *y);

    *y = _mm512_unpackhi_ps(*x, *y);
    *x = low;
}

/* The way back. */
SIMD void lanes_apart(v16 *x, v16 *y)
{
    v16 even = _mm512_shuffle_ps(*x, *y, 0x88);

    *y = _mm512_shuffle_ps(*x, *y, 0xdd);
    *x = even;
}

/* x and y += two words of A at `a` times lines whose lanes are in turn. */
SIMD void two_words_fma(const uint32_t *a, const v16 line[2], v16 *x, v16 *y)
{
    double two;
    v16 words;

    memcpy(&two, a, sizeof two);
    words = (v16)_mm512_set1_pd(two);
    *x = _mm512_dpbf16_ps(*x, (__m512bh)line[0], (__m512bh)words);
    *y = _mm512_dpbf16_ps(*y, (__m512bh)line[1], (__m512bh)words);
}

/* Two links of each row times a vector of each line; the two chains are in turn
 * until all links of a step are done. */
SIMD void two_links(int rows, const uint32_t *a, int64_t row, const uint32_t *b,
                    tile_sums even, tile_sums odd)
{
    v16 line[2] = {v16_of_bits(w16_load(b)),
                   v16_of_bits(w16_load(b + COLUMNS))};

    lanes_in_turn(&line[0], &line[1]);
    UNROLL(14)
    for (int r = 0; r < rows; r++)
        two_words_fma(a + r * row, line, &even[r][0], &odd[r][0]);
}

/* chain_link of rows that are near, an even number: acc is in turn. */
SIMD void rows_link(int rows, int vecs, const uint32_t *a, const uint32_t *b,
                    tile_sums acc)
{
    v16 line[VECS][2];

    LS__ASSERT(rows % 2 == 0);
    UNROLL(2)
    for (int v = 0; v < vecs; v++) {
        line[v][0] = line[v][1] = v16_of_bits(w16_load(b + 16 * v));
        lanes_in_turn(&line[v][0], &line[v][1]);
    }
    UNROLL(7)
    for (int r = 0; r < rows; r += 2)
        UNROLL(2)
        for (int v = 0; v < vecs; v++)
            two_words_fma(a + r, line[v], &acc[r][v], &acc[r + 1][v]);
}

#endif

/* Sums of rows that are near: in turn before the first link, apart after the
 * last. */
SIMD void rows_turn(int rows, int vecs, words_near near, bool apart,
                    tile_sums sum)
{
    if (near != ROWS_NEAR)
        return;
#if defined(WIDE)
    UNROLL(7)
    for (int r = 0; r < rows; r += 2)
        UNROLL(2)
        for (int v = 0; v < vecs; v++)
            if (apart)
                lanes_apart(&sum[r][v], &sum[r + 1][v]);
            else
                lanes_in_turn(&sum[r][v], &sum[r + 1][v]);
#else
    (void)rows, (void)vecs, (void)apart, (void)sum;
#endif
}

#endif
