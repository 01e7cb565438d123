/* A tile of a product: sums held in registers, as many as the level has.
 * k_gemm.h and k_conv.h bring A from different places and in different orders;
 * what is done with a line of B and a column of A is here, once.
 *
 * `rows` is a constant wherever these are inlined, so that every loop over a
 * tile unrolls and the sums never leave their registers. */
#ifndef LS_KERNEL_K_TILE_H
#define LS_KERNEL_K_TILE_H

#if defined(__AVX512F__)
enum { ROWS = 14, VECS = 2 }; /* 28 of 32 registers */
#elif defined(__AVX2__)
enum { ROWS = 6, VECS = 1 }; /* 12 of 16: a v16 is two of them */
#else
enum { ROWS = 4, VECS = 1 };
#endif
enum { COLUMNS = 16 * VECS };

typedef v16 tile_sums[ROWS][VECS];

/* For each row r and vector v of a tile. */
#define EACH_SUM(rows) \
    _Pragma("GCC unroll 14") for (int r = 0; r < (rows); r++) \
        _Pragma("GCC unroll 2") for (int v = 0; v < VECS; v++)

/* CALL(r) for the one of 1 .. ROWS that `rows` is.  (gcc makes tiles 3 % slower
 * if the last is the default.) */
#define CASE(r, CALL) case r: CALL(r); break;
#define CASES_4(CALL) CASE(1, CALL) CASE(2, CALL) CASE(3, CALL) CASE(4, CALL)
#define CASES_6(CALL) CASES_4(CALL) CASE(5, CALL) CASE(6, CALL)
#define CASES_14(CALL) \
    CASES_6(CALL) CASE(7, CALL) CASE(8, CALL) CASE(9, CALL) CASE(10, CALL) \
    CASE(11, CALL) CASE(12, CALL) CASE(13, CALL) CASE(14, CALL)
#if defined(__AVX512F__)
#define CASES CASES_14
#elif defined(__AVX2__)
#define CASES CASES_6
#else
#define CASES CASES_4
#endif
#define WITH_CONSTANT(rows, CALL) \
    switch (rows) { \
    CASES(CALL) \
    default: break; \
    }

/* How many rows the next tile takes of those left: tiles of nearly one
 * height. */
static int tile_height(int64_t left)
{
    int64_t tiles = (left + ROWS - 1) / ROWS;

    return (int)((left + tiles - 1) / tiles);
}

/* In a matrix product only: fused where the level has FMA. */
SIMD v16 mul_add(v16 a, v16 b, v16 c)
{
#if defined(__AVX512BF16__) /* lanes are pairs: see k_bf16_products.h */
    return _mm512_dpbf16_ps(c, (__m512bh)a, (__m512bh)b);
#elif defined(__FMA__) || defined(__aarch64__)
    return v16_fma(a, b, c);
#else
    return v16_add(v16_mul(a, b), c);
#endif
}

/* The 1 of that, in all lanes. */
SIMD v16 one_word(void)
{
#if defined(__AVX512BF16__)
    return v16_of_bits(w16_set(0x3f803f80));
#else
    return v16_set(1);
#endif
}

SIMD void tile_clear(int rows, tile_sums acc)
{
    EACH_SUM(rows)
        acc[r][v] = v16_zero();
}

/* acc += a b over k steps: chains in rising order. */
SIMD void tile_steps(int rows, int64_t k, const float *a, int64_t a_row,
                     int64_t a_col, const float *b, int64_t b_row,
                     tile_sums acc)
{
    for (int64_t p = 0; p < k; p++, a += a_col, b += b_row) {
        v16 line[VECS];

#pragma GCC unroll 2
        for (int v = 0; v < VECS; v++)
            line[v] = v16_load(b + 16 * v);
#pragma GCC unroll 14
        for (int r = 0; r < rows; r++) {
            v16 x = v16_set(a[r * a_row]);

#pragma GCC unroll 2
            for (int v = 0; v < VECS; v++)
                acc[r][v] = mul_add(x, line[v], acc[r][v]);
        }
    }
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
