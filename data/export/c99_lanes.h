/* SPDX-License-Identifier: BSD-3-Clause */
/* The lanes of lib/kernel/k_simd.h in C sources: vectors of the compiler, as
 * wide as the processor's, or arrays of 16 numbers.  What is written in these
 * alone comes from lib/kernel/k_simd_plain.h. */
#ifndef LS_EXPORT_C99_LANES_H
#define LS_EXPORT_C99_LANES_H

#include "export/c99.h"

/* Pieces of 16 lanes: EACH does DO(piece, f) with all of them. */
#if !defined WIDE
typedef float v_piece;
typedef uint32_t w_piece;
#define PIECES(type) type of[16]
#define EACH(DO, f) for (int i = 0; i < 16; i++) { DO(of[i], f) }
#define ALL(x) {x}
#else
#if defined __AVX512F__
#include <immintrin.h>
#define PIECE 64
#define PIECES(type) type a
#define EACH(DO, f) DO(a, f)
#define ALL(x) {x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}
#elif defined __AVX2__ && defined __FMA__
#include <immintrin.h>
#define PIECE 32
#define PIECES(type) type a, b
#define EACH(DO, f) DO(a, f) DO(b, f)
#define ALL(x) {x, x, x, x, x, x, x, x}
#else
#if defined __aarch64__
#include <arm_neon.h>
#endif
#define PIECE 16
#define PIECES(type) type a, b, c, d
#define EACH(DO, f) DO(a, f) DO(b, f) DO(c, f) DO(d, f)
#define ALL(x) {x, x, x, x}
#endif
typedef float v_piece __attribute__((vector_size(PIECE)));
typedef uint32_t w_piece __attribute__((vector_size(PIECE)));
typedef int32_t i_piece __attribute__((vector_size(PIECE)));
#endif

typedef struct v16 {
    PIECES(v_piece);
} v16;

typedef struct w16 {
    PIECES(w_piece);
} w16;

typedef w16 m16;

/* A piece, or a number: sums, products and so on. */
#if defined WIDE
#define P_ADD(x, y) ((x) + (y))
#define P_SUB(x, y) ((x) - (y))
#define P_MUL(x, y) ((x) * (y))
#define P_DIV(x, y) ((x) / (y))
#define P_LT(x, y) ((w_piece)((x) < (y)))
#define P_GE(x, y) ((w_piece)((x) >= (y)))
#define P_EQ(x, y) ((w_piece)((x) == (y)))
#define P_BITS(x) ((w_piece)(x))
#define P_OF_BITS(x) ((v_piece)(x))
#define P_OF_INT(x) __builtin_convertvector((i_piece)(x), v_piece)
#define P_TO_INT(x) ((w_piece)__builtin_convertvector(x, i_piece))
#if defined __AVX512F__
#define P_FMA(x, y, z) ((v_piece)_mm512_fmadd_ps(x, y, z))
#elif defined __AVX2__ && defined __FMA__
#define P_FMA(x, y, z) ((v_piece)_mm256_fmadd_ps(x, y, z))
#elif defined __aarch64__
#define P_FMA(x, y, z) ((v_piece)vfmaq_f32(z, x, y))
#else
__attribute__((noinline)) SCALAR v_piece P_FMA(v_piece x, v_piece y, v_piece z)
{
    for (int i = 0; i < 4; i++)
        x[i] = FMA(x[i], y[i], z[i]);
    return x;
}
#endif
#else
/* x cut to a whole number; what no int32_t is, to 0. */
SCALAR uint32_t whole_part(float x)
{
    return x > -2147483648.0f && x < 2147483648.0f ? (uint32_t)(int32_t)x : 0;
}
#define P_ADD(x, y) sum_of_two(x, y)
#define P_SUB(x, y) sum_of_two(x, -(y))
#define P_MUL(x, y) product_of(x, y)
#define P_DIV(x, y) quotient(x, y)
#define P_LT(x, y) (0u - ((x) < (y)))
#define P_GE(x, y) (0u - ((x) >= (y)))
#define P_EQ(x, y) (0u - ((x) == (y)))
#define P_BITS(x) bits(x)
#define P_OF_BITS(x) number(x)
#define P_OF_INT(x) ((float)(int32_t)(x))
#define P_TO_INT(x) whole_part(x)
#define P_FMA(x, y, z) fused(x, y, z)
#endif
#define P_NEG(x) (-(x))
#define P_NOT(x) (~(x))
#define P_PLUS(x, y) ((x) + (y))
#define P_MINUS(x, y) ((x) - (y))
#define P_AND(x, y) ((x) & (y))
#define P_OR(x, y) ((x) | (y))
#define P_XOR(x, y) ((x) ^ (y))
#define P_SHL(x, n) ((x) << (n))
#define P_SHR(x, n) ((x) >> (n))

/* A function of lanes by one of pieces. */
#define PIECE_1(at, f) r.at = f(x.at);
#define PIECE_2(at, f) r.at = f(x.at, y.at);
#define PIECE_3(at, f) r.at = f(x.at, y.at, z.at);
#define PIECE_N(at, f) r.at = f(x.at, n);
#define PIECE_V(at, f) r.at = (v_piece)ALL(f);
#define PIECE_W(at, f) r.at = (w_piece)ALL(f);
#define LANES_1(name, made, of_x, f) \
    SIMD made name(of_x x) { made r; EACH(PIECE_1, f) return r; }
#define LANES_2(name, made, of_x, f) \
    SIMD made name(of_x x, of_x y) { made r; EACH(PIECE_2, f) return r; }

/* Piece by piece, so that compilers keep them in registers. */
#define PIECE_LOAD(at, p) \
    memcpy(&r.at, p, sizeof r.at); p += sizeof r.at / sizeof *p;
#define PIECE_STORE(at, p) \
    memcpy(p, &x.at, sizeof x.at); p += sizeof x.at / sizeof *p;

SIMD v16 v16_load(const float *p)
{
    v16 r;

    EACH(PIECE_LOAD, p)
    return r;
}

SIMD void v16_store(float *p, v16 x)
{
    EACH(PIECE_STORE, p)
}

LANES_2(v16_add, v16, v16, P_ADD)
LANES_2(v16_sub, v16, v16, P_SUB)
LANES_2(v16_mul, v16, v16, P_MUL)
LANES_2(v16_div, v16, v16, P_DIV)
LANES_2(v16_lt, m16, v16, P_LT)
LANES_2(v16_ge, m16, v16, P_GE)
LANES_2(v16_eq, m16, v16, P_EQ)
LANES_1(v16_neg, v16, v16, P_NEG)
LANES_1(v16_bits, w16, v16, P_BITS)
LANES_1(v16_of_bits, v16, w16, P_OF_BITS)
LANES_1(v16_of_int, v16, w16, P_OF_INT)
LANES_1(v16_to_int, w16, v16, P_TO_INT)
LANES_2(w16_add, w16, w16, P_PLUS)
LANES_2(w16_sub, w16, w16, P_MINUS)
LANES_2(w16_and, w16, w16, P_AND)
LANES_2(w16_or, w16, w16, P_OR)
LANES_2(w16_xor, w16, w16, P_XOR)
LANES_2(w16_lt, m16, w16, P_LT)
LANES_1(m16_not, m16, m16, P_NOT)

SIMD v16 v16_fma(v16 x, v16 y, v16 z)
{
    v16 r;

    EACH(PIECE_3, P_FMA)
    return r;
}

SIMD v16 v16_set(float x)
{
    v16 r;

    EACH(PIECE_V, x)
    return r;
}

SIMD w16 w16_set(uint32_t x)
{
    w16 r;

    EACH(PIECE_W, x)
    return r;
}

SIMD w16 w16_shl(w16 x, int n)
{
    w16 r;

    EACH(PIECE_N, P_SHL)
    return r;
}

SIMD w16 w16_shr(w16 x, int n)
{
    w16 r;

    EACH(PIECE_N, P_SHR)
    return r;
}

SIMD m16 m16_first(int n)
{
    static const uint32_t lane[] = {0, 1, 2,  3,  4,  5,  6,  7,
                                    8, 9, 10, 11, 12, 13, 14, 15};

    return w16_lt(w16_load(lane), w16_set((uint32_t)n));
}

SIMD unsigned m16_word(m16 x)
{
    uint32_t lane[16];
    unsigned word = 0;

    w16_store(lane, x);
    for (int i = 0; i < 16; i++)
        word |= (lane[i] & 1u) << i;
    return word;
}

SIMD v16 v16_sqrt(v16 x)
{
    float lane[16];

    v16_store(lane, x);
    for (int i = 0; i < 16; i++)
        lane[i] = root(lane[i]);
    return v16_load(lane);
}

SIMD float v16_sum(v16 x)
{
    float lane[16];

    v16_store(lane, x);
    for (int half = 8; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            lane[i] = P_ADD(lane[i], lane[i + half]);
    return lane[0];
}

#endif
