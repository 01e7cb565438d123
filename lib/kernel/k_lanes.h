/* SPDX-License-Identifier: BSD-3-Clause */
/* The lanes of k_simd.h piece by piece, as most levels have them.  A level
 * includes this behind what it says of a piece, a register or, where there are
 * no vectors, a number:
 *
 *   v_piece, w_piece, i_piece   floats, words, signed words
 *   PIECES(type)                the members that are 16 lanes
 *   EACH(DO, f)                 DO(member, f) for each of them
 *   ALL(x)                      a piece of x alone, in braces
 *   P_FMA, P_OF_INT, P_TO_INT, and P_ADD and the like where they are not the
 *       compiler's own
 *
 * It has the rest itself: what differs in more than a piece. */
#ifndef LS_KERNEL_K_LANES_H
#define LS_KERNEL_K_LANES_H

#include <stdint.h>
#include <string.h>

#include "kernel/k_inline.h"

/* Named members and no array, so that a compiler keeps them in registers from
 * the start, sanitizers or not. */
typedef struct v16 {
    PIECES(v_piece);
} v16;

typedef struct w16 {
    PIECES(w_piece);
} w16;

/* All bits of a lane are set, or none. */
typedef w16 m16;

/* Vectors of GCC and Clang. */
#ifndef P_ADD
#define P_ADD(x, y) ((x) + (y))
#define P_SUB(x, y) ((x) - (y))
#define P_MUL(x, y) ((x) * (y))
#define P_DIV(x, y) ((x) / (y))
#define P_LT(x, y) ((w_piece)((x) < (y)))
#define P_GE(x, y) ((w_piece)((x) >= (y)))
#define P_EQ(x, y) ((w_piece)((x) == (y)))
#endif
#ifndef P_BITS
#define P_BITS(x) ((w_piece)(x))
#define P_OF_BITS(x) ((v_piece)(x))
#define P_BELOW(x, y) ((w_piece)((i_piece)(x) < (i_piece)(y)))
#endif
#define P_NEG(x) (-(x))
#define P_NOT(x) (~(x))
#define P_PLUS(x, y) ((x) + (y))
#define P_MINUS(x, y) ((x) - (y))
#define P_TIMES(x, y) ((x) * (y))
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
#define LANES_N(name, made, of_x, f) \
    SIMD made name(of_x x, int n) { made r; EACH(PIECE_N, f) return r; }

/* Piece by piece, so that compilers keep them in registers. */
#define PIECE_LOAD(at, p) \
    memcpy(&r.at, p, sizeof r.at); p += sizeof r.at / sizeof *p;
#define PIECE_STORE(at, p) \
    memcpy(p, &x.at, sizeof x.at); p += sizeof x.at / sizeof *p;

/* ------ words ------ */

SIMD w16 w16_set(uint32_t x)
{
    w16 r;

    EACH(PIECE_W, x)
    return r;
}

SIMD w16 w16_at(const uint32_t *p)
{
    w16 r;

    EACH(PIECE_LOAD, p)
    return r;
}

SIMD void w16_store(uint32_t *p, w16 x)
{
    EACH(PIECE_STORE, p)
}

SIMD w16 w16_iota(void)
{
    static const uint32_t lane[] = {0, 1, 2,  3,  4,  5,  6,  7,
                                    8, 9, 10, 11, 12, 13, 14, 15};

    return w16_at(lane);
}

LANES_2(w16_add, w16, w16, P_PLUS)
LANES_2(w16_sub, w16, w16, P_MINUS)
LANES_2(w16_mul, w16, w16, P_TIMES)
LANES_2(w16_and, w16, w16, P_AND)
LANES_2(w16_or, w16, w16, P_OR)
LANES_2(w16_xor, w16, w16, P_XOR)
LANES_N(w16_shl, w16, w16, P_SHL)
LANES_N(w16_shr, w16, w16, P_SHR)

SIMD w16 w16_rotl(w16 x, int n)
{
    return w16_or(w16_shl(x, n), w16_shr(x, 32 - n));
}

/* ------ masks ------ */

LANES_2(w16_below, m16, w16, P_BELOW)
LANES_2(m16_and, m16, m16, P_AND)
LANES_2(m16_or, m16, m16, P_OR)
LANES_1(m16_not, m16, m16, P_NOT)

SIMD m16 m16_first(int n)
{
    return w16_below(w16_iota(), w16_set((uint32_t)n));
}

/* ------ floats ------ */

SIMD v16 v16_set(float x)
{
    v16 r;

    EACH(PIECE_V, x)
    return r;
}

SIMD v16 v16_zero(void) { return v16_set(0.0f); }

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

SIMD v16 v16_fma(v16 x, v16 y, v16 z)
{
    v16 r;

    EACH(PIECE_3, P_FMA)
    return r;
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

#endif
