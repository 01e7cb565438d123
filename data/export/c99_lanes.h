/* SPDX-License-Identifier: BSD-3-Clause */
/* The lanes of lib/kernel/k_simd.h in C sources: vectors of the compiler, as
 * wide as the processor's, or arrays of 16 numbers.  What is written in these
 * alone comes from lib/kernel/k_lanes.h and k_simd_plain.h. */
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
#define P_BELOW(x, y) ((w_piece)((i_piece)(x) < (i_piece)(y)))
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
#define P_BELOW(x, y) (0u - ((x) < (y)))
#define P_BITS(x) bits(x)
#define P_OF_BITS(x) number(x)
#define P_OF_INT(x) ((float)(int32_t)(x))
#define P_TO_INT(x) whole_part(x)
#define P_FMA(x, y, z) fused(x, y, z)
#endif

#include "kernel/k_lanes.h"

SIMD w16 w16_load(const uint32_t *p) { return w16_at(p); }

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
