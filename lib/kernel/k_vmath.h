/* SPDX-License-Identifier: BSD-3-Clause */
/* exp, tanh, log, log1p and the inverse of erf on 16 lanes, rounding for
 * rounding as XLA's CPU code evaluates them on a processor with FMA (jax
 * 0.10.2), so that initial parameters and losses meet JAX's; and sine and
 * cosine, which are our own.  What is written as one fma is one; every other
 * product and sum rounds by itself.
 *
 * NaN in gives NaN out: clamps are written so that NaN passes. */
#ifndef LS_KERNEL_K_VMATH_H
#define LS_KERNEL_K_VMATH_H

#include "kernel/k_simd.h"

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))
#define HORNER(x, c) v16_horner(x, c, COUNT(c))

/* Loop over n vectors that a function takes at once; n is a constant.  A long
 * chain, 30 instructions that wait for each other, is done for several vectors
 * stage by stage (instruction-level parallelism), so that there is always one
 * that need not wait: a CPU looks ahead no further than one or two chains. */
enum { MOST = 8 };
#define EACH_OF(n) UNROLL(8) for (int q = 0; q < (n); q++)

/* ln 2 in two parts; n * LN2_HI is exact for |n| < 2^14. */
#define LN2_HI 0x1.63p-1f
#define LN2_LO -0x1.bd0106p-13f

/* c[0] x^(n-1) + ... + c[n-1] */
SIMD v16 v16_horner(v16 x, const float *c, int n)
{
    v16 p = v16_set(c[0]);

    UNROLL(16)
    for (int i = 1; i < n; i++)
        p = v16_fma(p, x, v16_set(c[i]));
    return p;
}

SIMD void v16_horners(int n, const v16 *x, const float *c, int count, v16 *p)
{
    EACH_OF(n)
        p[q] = v16_set(c[0]);
    UNROLL(8)
    for (int i = 1; i < count; i++)
        EACH_OF(n)
            p[q] = v16_fma(p[q], x[q], v16_set(c[i]));
}

/* x within [low, high]; NaN stays. */
SIMD v16 v16_clamp(v16 x, float low, float high)
{
    return v16_min(v16_set(high), v16_max(v16_set(low), x));
}

/* |size| with the sign of x */
SIMD v16 v16_signed(v16 size, v16 x)
{
    w16 sign = w16_and(v16_bits(x), w16_set(0x80000000u));
    return v16_of_bits(w16_or(v16_bits(size), sign));
}

/* e^x = (1 + y) 2^n with n = round(x / ln 2): gives y, and 2^n as *power. */
SIMD v16 v16_exp_parts(v16 x, v16 *power)
{
    static const float c[] = {0x1.a0d2cep-13f, 0x1.6e879cp-10f, 0x1.11121p-7f,
                              0x1.555382p-5f,  0x1.555554p-3f,  0x1p-1f};
    x = v16_clamp(x, -87.8f, 88.8f);
    v16 n = v16_floor(v16_fma(x, v16_set(0x1.715476p+0f), v16_set(0.5f)));
    n = v16_clamp(n, -127.0f, 127.0f);
    v16 r = v16_fma(v16_neg(n), v16_set(LN2_HI), x);
    r = v16_fma(v16_neg(n), v16_set(LN2_LO), r);
    v16 y = v16_fma(HORNER(r, c), v16_mul(r, r), r);
    w16 bits = w16_shl(w16_add(v16_to_int(n), w16_set(127)), 23);
    *power = v16_of_bits(bits);
    return y;
}

/* Below about -87.3 the result is 0, from 88.73 on inf. */
SIMD v16 v16_exp(v16 x)
{
    v16 power, y = v16_exp_parts(x, &power);
    return v16_mul(v16_add(y, v16_set(1.0f)), power);
}

/* e^x - 1, small x included. */
SIMD v16 v16_expm1(v16 x)
{
    v16 power, y = v16_exp_parts(x, &power);
    return v16_fma(y, power, v16_sub(power, v16_set(1.0f)));
}

/* A rational function of x; x itself near 0, +-1 from 20 on. */
SIMD void v16_tanhs(int n, const v16 *x, v16 *y)
{
    static const float num[] = {-0x1.3e4b8p-52f, 0x1.c266fcp-43f,
                                -0x1.7a6ffep-34f, 0x1.b80082p-25f,
                                0x1.f28694p-17f, 0x1.4e1bdap-11f,
                                0x1.40b3b8p-8f};
    static const float den[] = {0x1.41a7bp-20f, 0x1.f12bacp-14f,
                                0x1.29540ap-9f, 0x1.40b3bap-8f};
    v16 v[MOST], z[MOST], over[MOST], under[MOST];

    EACH_OF(n)
        v[q] = v16_clamp(x[q], -0x1.ffec88p+2f, 0x1.ffec88p+2f);
    EACH_OF(n)
        z[q] = v16_mul(v[q], v[q]);
    v16_horners(n, z, den, COUNT(den), under);
    v16_horners(n, z, num, COUNT(num), over);
    EACH_OF(n)
        y[q] = v16_div(v16_mul(v[q], over[q]), under[q]);
    EACH_OF(n)
        y[q] = v16_select(v16_lt(v16_abs(x[q]), v16_set(4e-4f)), x[q], y[q]);
    EACH_OF(n)
        y[q] = v16_select(v16_ge(v16_abs(x[q]), v16_set(20.0f)),
                          v16_signed(v16_set(1.0f), x[q]), y[q]);
}

SIMD v16 v16_tanh(v16 x)
{
    v16 y;

    v16_tanhs(1, &x, &y);
    return y;
}

/* log of what is above 0 and finite: x = 2^e m with m in [sqrt(1/2), sqrt(2)),
 * and t = m - 1. */
SIMD v16 v16_log_positive(v16 x)
{
    static const float ca[] = {0x1.204376p-4f, -0x1.d7a37p-4f, 0x1.de4a34p-4f};
    static const float cb[] = {-0x1.fcba9ep-4f, 0x1.23d37ep-3f, -0x1.555cap-3f};
    static const float cc[] = {0x1.999d58p-3f, -0x1.fffff8p-3f, 0x1.555554p-2f};
    v16 one = v16_set(1.0f), zero = v16_zero();
    w16 bits = v16_bits(v16_max(x, v16_set(0x1p-126f)));
    v16 e = v16_of_int(w16_sub(w16_shr(bits, 23), w16_set(127)));
    w16 half = w16_or(w16_and(bits, w16_set(0x807fffffu)), w16_set(0x3f000000));
    v16 m = v16_of_bits(half);
    m16 low = v16_lt(m, v16_set(0x1.6a09e6p-1f));
    e = v16_sub(v16_add(e, one), v16_select(low, one, zero));
    v16 t = v16_add(v16_sub(m, one), v16_select(low, m, zero));
    v16 z = v16_mul(t, t), c = v16_mul(z, t);
    v16 p = v16_fma(HORNER(t, ca), c, HORNER(t, cb));
    p = v16_fma(p, c, HORNER(t, cc));
    v16 q = v16_fma(c, p, v16_mul(e, v16_set(LN2_LO)));
    v16 r = v16_add(v16_fma(v16_set(-0.5f), z, t), q);
    return v16_fma(e, v16_set(LN2_HI), r);
}

SIMD v16 v16_log(v16 x)
{
    v16 inf = v16_set(__builtin_inff()), zero = v16_zero();
    v16 other = v16_select(v16_lt(x, zero), v16_set(__builtin_nanf("")), x);
    other = v16_select(v16_eq(x, zero), v16_neg(inf), other);
    m16 usual = m16_and(v16_lt(zero, x), v16_lt(x, inf));
    return v16_select(usual, v16_log_positive(x), other);
}

/* log(1 + x), by a rational function for |x| < sqrt(2) - 1. */
SIMD v16 v16_log1p(v16 x)
{
    static const float num[] = {0x1.7bc096p-15f, 0x1.fe818ap-2f,
                                0x1.a509f4p+2f, 0x1.de9738p+4f,
                                0x1.e798ecp+5f, 0x1.c8e75ap+5f,
                                0x1.40a202p+4f};
    static const float den[] = {0x1p+0f, 0x1.e2035ap+3f,
                                0x1.4c30b6p+6f, 0x1.bb865ap+7f,
                                0x1.351946p+8f, 0x1.b0db14p+7f,
                                0x1.e0f304p+5f};
    v16 x2 = v16_mul(x, x), x3 = v16_mul(x, x2);
    v16 r = v16_div(HORNER(x, num), HORNER(x, den));
    v16 small = v16_fma(v16_set(-0.5f), x2, v16_mul(x3, r));
    return v16_select(v16_lt(v16_abs(x), v16_set(0x1.a8279ap-2f)),
                      v16_add(x, small), v16_log(v16_add(x, v16_set(1.0f))));
}

/* Giles 2010: x times a polynomial in w = -log(1 - x^2), one for the centre
 * and one for the tails. */
SIMD v16 v16_erf_inv(v16 x)
{
    static const float centre[] = {
        0x1.e2cb1p-26f, 0x1.70966cp-22f, -0x1.d8e6aep-19f,
        -0x1.26b582p-18f, 0x1.ca65b6p-13f, -0x1.48a81p-10f,
        -0x1.11c9dep-8f, 0x1.f91ec6p-3f, 0x1.805c5ep+0f};
    static const float tail[] = {
        -0x1.a3e136p-13f, 0x1.a76ad6p-14f, 0x1.61b8e4p-10f,
        -0x1.e17bcep-9f, 0x1.7824f6p-8f, -0x1.f38baep-8f,
        0x1.354afcp-7f, 0x1.006db6p+0f, 0x1.6a9efcp+1f};
    v16 w = v16_neg(v16_log1p(v16_mul(x, v16_neg(x))));
    m16 near = v16_lt(w, v16_set(5.0f));
    v16 s = v16_select(near, v16_sub(w, v16_set(2.5f)),
                       v16_sub(v16_sqrt(w), v16_set(3.0f)));
    v16 p = v16_select(near, v16_set(centre[0]), v16_set(tail[0]));
    for (int i = 1; i < COUNT(centre); i++)
        p = v16_fma(p, s, v16_select(near, v16_set(centre[i]),
                                     v16_set(tail[i])));
    m16 end = v16_eq(v16_abs(x), v16_set(1.0f));
    return v16_mul(v16_select(end, v16_set(__builtin_inff()), p), x);
}

/* ------ sine and cosine ------ */

/* a b, rounded to double; C source has another where registers are wider. */
static inline double double_mul(double a, double b)
{
    return a * b;
}

/* x = n pi/2 + r for |x| of 2^16 or more, |r| up to pi/4 and n modulo 4: the
 * mantissa times those 96 bits of 2/pi that say the turn and 62 bits or more of
 * what is left.  Infinities and NaN have r NaN. */
static inline void far_turn(float x, float *r, float *n)
{
    static const uint32_t two_by_pi[] = {0,          0xa2f9836e, 0x4e441529,
                                         0xfc2757d1, 0xf534ddc0, 0xdb629599,
                                         0x3c439041, 0xfe5163ab};
    uint32_t bits;
    uint64_t w[3], turn, mantissa;
    int exponent, at;
    float sign;

    memcpy(&bits, &x, sizeof bits);
    sign = bits >> 31 ? -1.0f : 1.0f;
    exponent = (int)(bits >> 23 & 255) - 150;
    mantissa = (bits & 0x7fffff) | 0x800000;
    *r = __builtin_nanf("");
    *n = 0;
    if (exponent == 255 - 150)
        return;
    at = exponent + 30; /* from here on no bit is a whole turn */
    for (int k = 0; k < 3; k++) {
        const uint32_t *from = two_by_pi + at / 32 + k;

        w[k] = ((uint64_t)from[0] << 32 | from[1]) >> (32 - at % 32) &
               0xffffffff;
    }
    turn = (mantissa * w[0] << 32) + mantissa * w[1] + (mantissa * w[2] >> 32);
    bits = (uint32_t)((turn + (1ull << 61)) >> 62);
    turn -= (uint64_t)bits << 62;
    *n = sign * (float)bits;
    *r = sign * (float)double_mul((double)(int64_t)turn, 0x1.921fb54442d18p-62);
}

/* x = n pi/2 + r with |r| up to pi/4, or a rounding more; n modulo 4.  pi/2 is
 * in three parts (Cody and Waite): the first times n is subtracted exactly. */
SIMD v16 quarter_turns(v16 x, w16 *n)
{
    v16 k = v16_floor(v16_fma(x, v16_set(0x1.45f306p-1f), v16_set(0.5f)));
    v16 minus = v16_neg(k);
    v16 r = v16_fma(minus, v16_set(0x1.921fb4p+0f), x);
    unsigned far = m16_word(v16_ge(v16_abs(x), v16_set(0x1p16f)));

    r = v16_fma(minus, v16_set(0x1.4442dp-24f), r);
    r = v16_fma(minus, v16_set(0x1.846988p-48f), r);
    if (far) {
        float all[16], rest[16], turns[16];

        v16_store(all, x);
        v16_store(rest, r);
        v16_store(turns, k);
        for (int i = 0; i < 16; i++)
            if (far >> i & 1)
                far_turn(all[i], &rest[i], &turns[i]);
        r = v16_load(rest);
        k = v16_load(turns);
    }
    *n = v16_to_int(k);
    return r;
}

/* sin(r + n pi/2) */
SIMD v16 v16_sine(v16 r, w16 n)
{
    static const float of_sine[] = {-0x1.9907fcp-13f, 0x1.1106bp-7f,
                                    -0x1.555544p-3f};
    static const float of_cosine[] = {0x1.998f92p-16f, -0x1.6c0af2p-10f,
                                      0x1.555548p-5f};
    v16 z = v16_mul(r, r), even, odd, y;
    w16 sign = w16_shl(w16_and(n, w16_set(2)), 30);

    even = v16_fma(v16_mul(r, z), HORNER(z, of_sine), r);
    odd = v16_fma(v16_set(-0.5f), z, v16_set(1.0f));
    odd = v16_fma(v16_mul(z, z), HORNER(z, of_cosine), odd);
    y = v16_select(v16_eq(v16_of_int(w16_and(n, w16_set(1))), v16_zero()),
                   even, odd);
    return v16_of_bits(w16_xor(v16_bits(y), sign));
}

/* The sine, within 1.5 units in the last place of any float. */
SIMD v16 v16_sin(v16 x)
{
    w16 n;
    v16 r = quarter_turns(x, &n);

    return v16_select(v16_eq(x, v16_zero()), x, v16_sine(r, n));
}

SIMD v16 v16_cos(v16 x)
{
    w16 n;
    v16 r = quarter_turns(x, &n);

    return v16_sine(r, w16_add(n, w16_set(1)));
}

#undef COUNT
#undef HORNER
#undef LN2_HI
#undef LN2_LO

#endif
