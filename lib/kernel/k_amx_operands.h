/* SPDX-License-Identifier: BSD-3-Clause */
/* Packed operands of a matrix unit, from the outside in: 32 rows of A, or
 * columns of B; steps of 32 numbers along K; one or two parts; two tiles.  A
 * tile is 16 lines of 16 words (k_amx.h), side by side.
 *
 * The first part of a number is the number rounded to bf16; the second is the
 * remainder, rounded.  Zeros fill up rows, columns and steps.
 * Where denormals are, there are zeros, as operand_of has it. */
#ifndef LS_KERNEL_K_AMX_OPERANDS_H
#define LS_KERNEL_K_AMX_OPERANDS_H

#include "kernel/k_bf16_words.h"
#include "kernel/k_amx.h"

#if defined(__AVX512BF16__)
#include <immintrin.h>
#endif

enum { MOST_PARTS = 2 };

static int64_t up_to_side(int64_t n)
{
    return (n + AMX_SIDE - 1) / AMX_SIDE * AMX_SIDE;
}

static int64_t amx_size(int parts, int64_t outer, int64_t k)
{
    return up_to_side(outer) * up_to_side(k) / 2 * parts;
}

/* The next part of x and y as 16 words, and in x and y what is left of them.
 * along: 32 numbers that follow each other along K; else each number of x is
 * followed by that of y. */
#if defined(__AVX512BF16__)

SIMD w16 next_part(bool along, v16 *x, v16 *y)
{
    const w16 turns =
        w16_or(w16_iota(), w16_shl(w16_add(w16_iota(), w16_set(16)), 16));
    __m512i n = (__m512i)_mm512_cvtne2ps_pbh(*y, *x);
    __m256i low = _mm512_castsi512_si256(n);
    __m256i high = _mm512_extracti64x4_epi64(n, 1);

    *x = v16_sub(*x, v16_of_bits(w16_shl(_mm512_cvtepu16_epi32(low), 16)));
    *y = v16_sub(*y, v16_of_bits(w16_shl(_mm512_cvtepu16_epi32(high), 16)));
    return along ? n : _mm512_permutexvar_epi16(turns, n);
}

#else

SIMD w16 next_part(bool along, v16 *x, v16 *y)
{
    v16 a = operand_of(*x), b = operand_of(*y);
    uint32_t of[32], to[16];

    *x = v16_sub(*x, a);
    *y = v16_sub(*y, b);
    if (!along)
        return w16_or(w16_shr(v16_bits(a), 16), v16_bits(b));
    w16_store(of, v16_bits(a));
    w16_store(of + 16, v16_bits(b));
    for (int i = 0; i < 16; i++)
        to[i] = of[2 * i] >> 16 | of[2 * i + 1];
    return w16_load(to);
}

#endif

/* 16 words of 32 numbers that follow each other along K. */
SIMD w16 words_following(v16 first, v16 second)
{
    return next_part(true, &first, &second);
}

/* 16 words, each of a number of the first and one of the second. */
SIMD w16 words_beside(v16 first, v16 second)
{
    return next_part(false, &first, &second);
}

/* 32 steps along K of 16 rows or columns.  along: each line of x has K along
 * it; else the lines follow each other along K.  turn: the tile has the words
 * of a line in a column. */
AMX void amx_pack_tile(int parts, bool along, bool turn, const float *x,
                         int64_t row, int64_t rows, int64_t cols, uint32_t *out)
{
    v16 w[MOST_PARTS][16];

    AMX_UNROLL
    for (int l = 0; l < 16; l++) {
        int64_t r = along ? l : 2 * l, left = r < rows ? cols : 0;
        int64_t more = along ? left - 16 : r + 1 < rows ? cols : 0;
        v16 a = take_any(x + r * row, left);
        v16 b = take_any(x + r * row + (along ? 16 : row), more);

        AMX_UNROLL
        for (int p = 0; p < parts; p++) {
            w[p][l] = v16_of_bits(next_part(along, &a, &b));
            if (!turn)
                w16_store(out + 2 * p * AMX_TILE + 16 * l, v16_bits(w[p][l]));
        }
    }
    AMX_UNROLL
    for (int p = 0; p < parts && turn; p++) {
        v16_transpose(w[p]);
        for (int l = 0; l < 16; l++)
            w16_store(out + 2 * p * AMX_TILE + 16 * l, v16_bits(w[p][l]));
    }
}

/* A matrix whose rows, or columns, are to be packed: number (o,p), p along K,
 * is x[o outer + p col]. */
typedef struct amx_source {
    int64_t rows, k;
    const float *x;
    int64_t outer, col;
} amx_source;

/* Both tiles of each part of the block from (o,p) on. */
AMX void amx_pack_block(int parts, bool along, bool turn,
                          const amx_source *s, int64_t o, int64_t p,
                          uint32_t *out)
{
    int64_t row = along ? s->outer : s->col;

    for (int h = 0; h < 2; h++, o += 16, out += AMX_TILE) {
        int64_t rows = along ? s->rows - o : s->k - p;
        int64_t cols = along ? s->k - p : s->rows - o;
        const float *x = s->x + o * s->outer + p * s->col;

        if (rows >= (along ? 16 : AMX_SIDE) &&
            cols >= (along ? AMX_SIDE : 16))
            amx_pack_tile(parts, along, turn, x, row, AMX_SIDE, AMX_SIDE,
                           out);
        else
            amx_pack_tile(parts, along, turn, x, row, rows, cols, out);
    }
}

/* The same of a matrix in which nothing follows. */
AMX void amx_pack_any(int parts, bool turn, const amx_source *s, int64_t o,
                        int64_t p, uint32_t *out)
{
    float x[AMX_SIDE * AMX_SIDE];
    amx_source copy = {s->rows - o, s->k - p, x, AMX_SIDE, 1};

    for (int64_t i = 0; i < AMX_SIDE; i++)
        for (int64_t q = 0; q < AMX_SIDE; q++)
            x[i * AMX_SIDE + q] =
                i < copy.rows && q < copy.k
                    ? s->x[(o + i) * s->outer + (p + q) * s->col]
                    : 0;
    amx_pack_block(parts, true, turn, &copy, 0, 0, out);
}

/* A block of 32 rows of words, transposed: 32 columns of words, each of two
 * numbers of rows that follow each other. */
AMX void amx_transpose_block(const uint32_t *x, uint32_t *out)
{
    const w16 upper = w16_set(0xffff0000u);
    v16 even[16], odd[16];

    AMX_UNROLL
    for (int q = 0; q < 16; q++) {
        w16 a = w16_load(x + 32 * q), b = w16_load(x + 32 * q + 16);

        even[q] = v16_of_bits(w16_or(w16_shr(w16_shl(a, 16), 16),
                                     w16_shl(b, 16)));
        odd[q] = v16_of_bits(w16_or(w16_shr(a, 16), w16_and(b, upper)));
    }
    v16_transpose(even);
    v16_transpose(odd);
    AMX_UNROLL
    for (int q = 0; q < 16; q++) {
        w16_store(out + 32 * q, v16_bits(even[q]));
        w16_store(out + 32 * q + 16, v16_bits(odd[q]));
    }
}

/* Pack an operand.  The words of a line of A are along K, and a line of B is a
 * step along it: what is not so already is transposed. */
AMX void amx_pack_as(int parts, bool is_b, const amx_source *s,
                       uint32_t *out)
{
    const int64_t size = 2 * AMX_TILE * parts;

    for (int64_t o = 0; o < s->rows; o += AMX_SIDE)
        for (int64_t p = 0; p < s->k; p += AMX_SIDE, out += size)
            if (s->col == 1)
                amx_pack_block(parts, true, is_b, s, o, p, out);
            else if (s->outer == 1)
                amx_pack_block(parts, false, !is_b, s, o, p, out);
            else
                amx_pack_any(parts, is_b, s, o, p, out);
}

#endif
