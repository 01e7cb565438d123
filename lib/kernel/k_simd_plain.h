/* SPDX-License-Identifier: BSD-3-Clause */
/* The lanes of k_simd.h in four vectors of four, in the vector extension of GCC
 * and Clang: SSE on x86-64 without AVX2, and plain C on processors that have no
 * level of their own.  The other levels are tested against this one. */
#ifndef LS_KERNEL_K_SIMD_PLAIN_H
#define LS_KERNEL_K_SIMD_PLAIN_H

#include <stdint.h>
#include <string.h>

#include "base/fma.h"
#include "kernel/k_inline.h"

typedef float v4 __attribute__((vector_size(16)));
typedef uint32_t w4 __attribute__((vector_size(16)));
typedef int32_t i4 __attribute__((vector_size(16)));

/* ------ arithmetic of four lanes ------ */

/* ls__flushed of base/fpmode.h on four lanes. */
SIMD v4 v4_flushed(v4 x)
{
#ifdef LS__KEEPS_DENORMALS
    w4 bits = (w4)x, normal = (w4)((bits & 0x7f800000) != 0);

    return (v4)(bits & (normal | 0x80000000));
#endif
    return x;
}

typedef double d2 __attribute__((vector_size(16)));
typedef int64_t q2 __attribute__((vector_size(16)));

SIMD d2 d2_of(float a, float b) { return (d2){(double)a, (double)b}; }

/* p + c rounded to odd: ls__fmaf_soft of base/fma.h on two lanes, where true is
 * -1 and what is away from zero counts down. */
SIMD d2 d2_add_to_odd(d2 p, d2 c)
{
    d2 s = p + c, t = s - p;
    d2 lost = (p - (s - t)) + (c - t);
    q2 bits = (q2)s, negative = bits < 0;
    q2 away = (lost < 0) - (lost > 0);

    away = (away ^ negative) - negative;
    return (d2)(bits + (away & ((bits & 1) - 1)));
}

/* Never inlined: the long way round, at every fma of every kernel, would take
 * a compiler minutes. */
__attribute__((noinline, unused)) static v4 v4_fma(v4 x, v4 y, v4 z)
{
    d2 p, q;

    x = v4_flushed(x);
    y = v4_flushed(y);
    z = v4_flushed(z);
    p = d2_of(x[0], x[1]) * d2_of(y[0], y[1]);
    q = d2_of(x[2], x[3]) * d2_of(y[2], y[3]);
    p = d2_add_to_odd(p, d2_of(z[0], z[1]));
    q = d2_add_to_odd(q, d2_of(z[2], z[3]));
    return (v4){ls__rounded(p[0]), ls__rounded(p[1]), ls__rounded(q[0]),
                ls__rounded(q[1])};
}

SIMD v4 v4_sqrt(v4 x)
{
    x = v4_flushed(x);
    return (v4){__builtin_sqrtf(x[0]), __builtin_sqrtf(x[1]),
                __builtin_sqrtf(x[2]), __builtin_sqrtf(x[3])};
}

/* ------ sixteen lanes ------ */

typedef v4 v_piece;
typedef w4 w_piece;
typedef i4 i_piece;

#define PIECES(type) type a, b, c, d
#define EACH(DO, f) DO(a, f) DO(b, f) DO(c, f) DO(d, f)
#define ALL(x) {x, x, x, x}
#define P_FMA(x, y, z) v4_fma(x, y, z)
#define P_OF_INT(x) __builtin_convertvector((i_piece)(x), v_piece)
#define P_TO_INT(x) ((w_piece)__builtin_convertvector(x, i_piece))
#define MADE(x, op, y) v4_flushed(v4_flushed(x) op v4_flushed(y))
#ifdef LS__KEEPS_DENORMALS
#define ASK(x, op, y) ((w4)(v4_flushed(x) op v4_flushed(y)))
#define P_ADD(x, y) MADE(x, +, y)
#define P_SUB(x, y) MADE(x, -, y)
/* x y - 0 is x y: its flushing too wants to see it before it is rounded. */
#define P_MUL(x, y) v4_fma(x, y, (v4)ALL(-0.0f))
#define P_DIV(x, y) MADE(x, /, y)
#define P_LT(x, y) ASK(x, <, y)
#define P_GE(x, y) ASK(x, >=, y)
#define P_EQ(x, y) ASK(x, ==, y)
#endif
#include "kernel/k_lanes.h"

// clang-format off

/* ------ lanes in and out ------ */

SIMD w16 w16_load(const uint32_t *p) { return w16_at(p); }
SIMD w16 w16_load_n(const uint32_t *p, int n)
{
    uint32_t lane[16] = {0};
    for (int i = 0; i < n; i++) lane[i] = p[i];
    return w16_load(lane);
}
SIMD void w16_store_n(uint32_t *p, w16 a, int n)
{
    uint32_t lane[16];
    w16_store(lane, a);
    for (int i = 0; i < n; i++) p[i] = lane[i];
}
SIMD v16 v16_load_n(const float *p, int n)
{
    float lane[16] = {0};
    for (int i = 0; i < n; i++) lane[i] = p[i];
    return v16_load(lane);
}
SIMD void v16_store_n(float *p, v16 a, int n)
{
    float lane[16];
    v16_store(lane, a);
    for (int i = 0; i < n; i++) p[i] = lane[i];
}
SIMD v16 v16_gather(const float *p, w16 k)
{
    uint32_t at[16];
    float lane[16];
    w16_store(at, k);
    for (int i = 0; i < 16; i++) lane[i] = p[(int32_t)at[i]];
    return v16_load(lane);
}

/* ------ masks ------ */

SIMD int m16_any(m16 x)
{
    w4 any = (x.a | x.b) | (x.c | x.d);
    return (any[0] | any[1] | any[2] | any[3]) != 0;
}
SIMD w16 m16_lanes(void)
{
    return (w16){{1, 2, 4, 8}, {16, 32, 64, 128}, {256, 512, 1024, 2048},
                 {4096, 8192, 16384, 32768}};
}
SIMD unsigned m16_word(m16 x)
{
    w16 on = w16_and(x, m16_lanes());
    w4 all = (on.a | on.b) | (on.c | on.d);
    return all[0] | all[1] | all[2] | all[3];
}
SIMD m16 m16_of_word(unsigned a)
{
    w16 lane = m16_lanes(), on = w16_and(w16_set(a), lane);
    return (m16){(w4)(on.a == lane.a), (w4)(on.b == lane.b),
                 (w4)(on.c == lane.c), (w4)(on.d == lane.d)};
}

/* ------ floats ------ */

LANES_1(v16_sqrt, v16, v16, v4_sqrt)
SIMD v16 v16_select(m16 m, v16 a, v16 b)
{
    w16 yes = w16_and(m, v16_bits(a)), no = w16_and(m16_not(m), v16_bits(b));
    return v16_of_bits(w16_or(yes, no));
}
SIMD v16 v16_min(v16 a, v16 b) { return v16_select(v16_lt(a, b), a, b); }
SIMD v16 v16_max(v16 a, v16 b) { return v16_select(v16_lt(b, a), a, b); }
SIMD v16 v16_abs(v16 a)
{
    return v16_of_bits(w16_and(v16_bits(a), w16_set(0x7fffffffu)));
}

// clang-format on

/* Floats from 2^23 on (and NaN) are their own floor; below, truncate and step
 * down where that went up.  The sign is put back for -0. */
SIMD v16 v16_floor(v16 a)
{
    m16 small = v16_lt(v16_abs(a), v16_set(0x1p23f));
    v16 t = v16_of_int(v16_to_int(v16_select(small, a, v16_zero())));
    t = v16_sub(t, v16_select(v16_lt(a, t), v16_set(1.0f), v16_zero()));
    w16 sign = w16_and(v16_bits(a), w16_set(0x80000000u));
    return v16_select(small, v16_of_bits(w16_or(v16_bits(t), sign)), a);
}

/* ------ trees over the lanes ------ */

SIMD float v16_sum(v16 x)
{
    v4 even = MADE(x.a, +, x.c), odd = MADE(x.b, +, x.d);
    v4 q = MADE(even, +, odd);

    return ls__flushed(ls__flushed(q[0] + q[2]) + ls__flushed(q[1] + q[3]));
}

SIMD float v16_top(v16 a)
{
    float lane[16];
    v16_store(lane, a);
    for (int half = 8; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            if (!(lane[i] > lane[i + half]))
                lane[i] = lane[i + half];
    return lane[0];
}

#undef MADE
#undef ASK

/* ------ the matrix of 16 x 16 lanes ------ */

SIMD void v16_transpose(v16 x[16])
{
    float lane[16][16], transposed[16];

    for (int i = 0; i < 16; i++)
        v16_store(lane[i], x[i]);
    for (int i = 0; i < 16; i++) {
        for (int j = 0; j < 16; j++)
            transposed[j] = lane[j][i];
        x[i] = v16_load(transposed);
    }
}

#endif
