/* SPDX-License-Identifier: BSD-3-Clause */
/* The register tile of a product (micro-kernel): as many sums as registers.
 * k_gemm.h and k_conv.h bring A from different places and in different orders;
 * what is done with a line of B and a column of A is here, once.
 *
 * `rows` is a constant wherever these are inlined, so that every loop over a
 * tile unrolls and the sums never leave their registers. */
#ifndef LS_KERNEL_K_TILE_H
#define LS_KERNEL_K_TILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/assert.h"
#include "kernel/k_simd.h"
#include "kernel/product.h"

#if defined(__AVX512F__)
enum { ROWS = 14, VECS = 2 }; /* 28 of 32 registers */
#elif defined(__AVX2__)
enum { ROWS = 6, VECS = 1 }; /* 12 of 16: a v16 is two of them */
#elif defined(LS_NEON)
enum { ROWS = 5, VECS = 1 }; /* 20 of 32: a v16 is four, as a line is, and a row
                                of A keeps a number in one */
#else
enum { ROWS = 4, VECS = 1 };
#endif
enum { COLUMNS = 16 * VECS, HALF = (ROWS + 1) / 2 };

_Static_assert(LS__PACK_CUT % COLUMNS == 0, "panels begin where packs are cut");
_Static_assert(2 * HALF >= ROWS, "two places reach all rows of a tile");

typedef v16 tile_sums[ROWS][VECS];

/* Loop over the rows r and vectors v of a tile, or over the first `vecs` of
 * these. */
#define EACH_SUM_OF(rows, vecs) \
    UNROLL(14) for (int r = 0; r < (rows); r++) \
        UNROLL(2) for (int v = 0; v < (vecs); v++)
#define EACH_SUM(rows) EACH_SUM_OF(rows, VECS)

/* CALL(r) for the one of CASES that `rows` is.  (gcc makes tiles 3 % slower if
 * the last is the default.) */
#define CASE(r, CALL) case r: CALL(r); break;
#define CASES_3(CALL) CASE(1, CALL) CASE(2, CALL) CASE(3, CALL)
#define CASES_4(CALL) CASES_3(CALL) CASE(4, CALL)
#define CASES_5(CALL) CASES_4(CALL) CASE(5, CALL)
#define CASES_6(CALL) CASES_5(CALL) CASE(6, CALL)
#define CASES_8(CALL) CASES_6(CALL) CASE(7, CALL) CASE(8, CALL)
#define CASES_14(CALL) \
    CASES_8(CALL) CASE(9, CALL) CASE(10, CALL) CASE(11, CALL) CASE(12, CALL) \
    CASE(13, CALL) CASE(14, CALL)
#if defined(__AVX512F__)
#define TILE_CASES CASES_14
#elif defined(__AVX2__)
#define TILE_CASES CASES_6
#elif defined(LS_NEON)
#define TILE_CASES CASES_5
#else
#define TILE_CASES CASES_4
#endif
#define WITH_CONSTANT(rows, CASES, CALL) \
    switch (rows) { \
    CASES(CALL) \
    default: LS__ASSERT(!"a case of these"); break; \
    }

/* TILE(rows, vecs), both constants: vecs is 1 where the tile is narrow. */
#define TILE_NARROW(rows) TILE(rows, 1)
#define TILE_WIDE(rows) TILE(rows, VECS)
#define WITH_TILE(rows, CASES, narrow, NARROW_CASES) \
    if (VECS > 1 && (narrow)) { \
        WITH_CONSTANT(rows, NARROW_CASES, TILE_NARROW) \
    } else { \
        WITH_CONSTANT(rows, CASES, TILE_WIDE) \
    }

/* The height of the next tile, for so many rows left: tiles of nearly one
 * height, at most `most`. */
static int64_t tile_height(int64_t left, int64_t most)
{
    int64_t tiles = (left + most - 1) / most;

    LS__ASSERT(left > 0 && most > 0);
    return (left + tiles - 1) / tiles;
}

/* a b + c rounded once, of numbers of bf16: without overflow or underflow their
 * product is a float, exactly, so that a level without the instruction seldom
 * needs more than two others. */
SIMD v16 bf16_fma(v16 a, v16 b, v16 c)
{
    v16 p, size;
    m16 exact;

#if defined(__FMA__) || defined(__aarch64__) || defined(LS__KEEPS_DENORMALS)
    return v16_fma(a, b, c);
#endif
    p = v16_mul(a, b);
    size = v16_abs(p);
    exact = m16_and(v16_ge(size, v16_set(0x1p-126f)),
                    v16_lt(size, v16_set(__builtin_inff())));
    if (m16_any(m16_not(exact)))
        exact = m16_or(exact, m16_or(v16_eq(a, v16_zero()),
                                     v16_eq(b, v16_zero())));
    return m16_any(m16_not(exact)) ? v16_fma(a, b, c) : v16_add(p, c);
}

SIMD void tile_clear(int rows, tile_sums acc)
{
    EACH_SUM(rows)
        acc[r][v] = v16_zero();
}

/* acc += a b over k steps: chains in rising order, of `vecs` vectors of a line
 * (a constant, too): where there are no more columns, the rest of a tile stays
 * 0.  Two places in A, and the distances of half the rows to either: more would
 * not stay in registers.  Lines of B are asked for (prefetched) `early` steps
 * before they are read, a constant; 0: not. */
SIMD void tile_steps(int rows, int vecs, int64_t k, const float *a,
                     int64_t a_row, int64_t a_col, const float *b,
                     int64_t b_row, int early, tile_sums acc)
{
    const float *half = a + HALF * a_row;

    for (int64_t p = 0; p < k; p++, a += a_col, half += a_col, b += b_row) {
        v16 line[VECS];

        UNROLL(2)
        for (int v = 0; v < vecs; v++) {
            line[v] = v16_load(b + 16 * v);
            if (early)
                __builtin_prefetch(b + early * b_row + 16 * v);
        }
        UNROLL(14)
        for (int r = 0; r < rows; r++) {
            v16 x = v16_set(r < HALF ? a[r * a_row] : half[(r - HALF) * a_row]);

            UNROLL(2)
            for (int v = 0; v < vecs; v++)
                acc[r][v] = v16_fma(x, line[v], acc[r][v]);
        }
    }
}

/* Is one vector all that a tile of wide lines has of its columns? */
SIMD bool is_narrow(int64_t left)
{
    return VECS > 1 && left <= 16;
}

/* acc += +0, which makes -0 of an underflow +0: zeros that were left out of a
 * chain would have done so. */
SIMD void tile_plus_zero(int rows, tile_sums acc)
{
    EACH_SUM(rows)
        acc[r][v] = v16_add(acc[r][v], v16_zero());
}

/* acc = from + acc for the columns there are. */
SIMD void tile_add(int rows, const float *from, int64_t row, int64_t left,
                   tile_sums acc)
{
    EACH_SUM(rows)
        if (left > 16 * v)
            acc[r][v] = v16_add(take(from + r * row + 16 * v, left - 16 * v),
                                acc[r][v]);
}

SIMD void tile_put(int rows, float *to, int64_t row, int64_t left,
                   tile_sums acc)
{
    EACH_SUM(rows)
        if (left > 16 * v)
            put(to + r * row + 16 * v, acc[r][v], left - 16 * v);
}

#endif
