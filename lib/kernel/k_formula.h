/* SPDX-License-Identifier: BSD-3-Clause */
/* The terms of formulas: the value of each, and its gradient.  A term is a row
 * of terms.h; the two loops at the end are made from each row, so that nothing
 * is decided within a loop. */
#ifndef LS_KERNEL_K_FORMULA_H
#define LS_KERNEL_K_FORMULA_H

#include "kernel/formula.h"
#include "kernel/k_elementwise.h"
#include "kernel/k_vmath.h"

/* ------ parts of rows ------ */

SIMD v16 activation_value(ls__activation kind, v16 x)
{
    v16 slope;

    return activation_of(kind, x, &slope);
}

/* d times the activation's slope at x */
SIMD v16 through_activation(ls__activation kind, v16 x, v16 d)
{
    v16 slope;

    activation_of(kind, x, &slope);
    return times_slope(d, slope);
}

/* x, a denormal being a zero of its sign: what a minimum makes of one is not
 * the same on every level (k_simd.h), and clang may turn a choice of x or c x
 * into x times a choice of 1 or c, which is 0 on some levels alone. */
SIMD v16 flushed(v16 x)
{
    w16 sign = w16_and(v16_bits(x), w16_set(0x80000000u));

    return v16_select(v16_eq(x, v16_zero()), v16_of_bits(sign), x);
}

/* The lesser and the greater of two; NaN where either is. */
SIMD v16 lesser(v16 a, v16 b)
{
    return flushed(v16_select(v16_eq(a, a), v16_min(a, b), a));
}

SIMD v16 greater(v16 a, v16 b)
{
    return flushed(v16_select(v16_eq(a, a), v16_max(a, b), a));
}

/* d for the one that was chosen; of two that are equal each gets half. */
SIMD v16 share(v16 d, m16 chosen, v16 a, v16 b)
{
    v16 half = v16_mul(d, v16_set(0.5f));

    return v16_select(chosen, d,
                      v16_select(v16_eq(a, b), half, v16_zero()));
}

/* d where x is above 0, -d below, 0 at 0. */
SIMD v16 signed_by(v16 d, v16 x)
{
    v16 zero = v16_zero();

    return v16_select(v16_lt(zero, x), d,
                      v16_select(v16_lt(x, zero), v16_neg(d), zero));
}

/* x to a whole power, by squaring. */
SIMD v16 whole_power(v16 x, int p)
{
    v16 y = v16_set(1.0f);

    for (int n = p < 0 ? -p : p; n; n >>= 1) {
        if (n & 1)
            y = v16_mul(y, x);
        x = v16_mul(x, x);
    }
    return p < 0 ? v16_div(v16_set(1.0f), y) : y;
}

/* x^p; where p is not a whole number, NaN for a negative x. */
SIMD v16 power(v16 x, float p)
{
    if (p > -0x1p20f && p < 0x1p20f && p == (float)(int)p)
        return whole_power(x, (int)p);
    return v16_exp(v16_mul(v16_set(p), v16_log(x)));
}

/* p x^(p-1), 0 for the constant x^0. */
SIMD v16 power_slope(v16 x, float p)
{
    return p == 0 ? v16_zero() : v16_mul(v16_set(p), power(x, p - 1.0f));
}

/* s(x) (1 + x (1 - s(x))), with s the sigmoid. */
SIMD v16 silu_slope(v16 x)
{
    v16 one = v16_set(1.0f), s = sigmoid_of(x);

    return v16_mul(s, v16_fma(x, v16_sub(one, s), one));
}

/* log(1 + e^-|x|) */
SIMD v16 log_tail(v16 x)
{
    return v16_log1p(v16_exp(v16_neg(v16_abs(x))));
}

/* max(0,x) - x t + log(1 + e^-|x|), which is exact to the ends for t of 0,
 * 1. */
SIMD v16 binary_entropy(v16 x, v16 t)
{
    v16 line = v16_sub(v16_max(v16_zero(), x), v16_mul(x, t));

    return v16_add(line, log_tail(x));
}

/* (1 - t) s(x) - t s(-x), which is s(x) - t without its cancellation. */
SIMD v16 binary_entropy_slope(v16 x, v16 t)
{
    v16 no = v16_mul(v16_sub(v16_set(1.0f), t), sigmoid_of(x));

    return v16_sub(no, v16_mul(t, sigmoid_of(v16_neg(x))));
}

/* v, but 0 where t is. */
SIMD v16 unless_zero(v16 t, v16 v)
{
    return v16_select(v16_eq(t, v16_zero()), v16_zero(), v);
}

/* 1 for yes, 0 for no. */
SIMD v16 truth(m16 yes)
{
    return v16_select(yes, v16_set(1.0f), v16_zero());
}

/* The chance of a normal number to be below x, and *density = e^(-x^2/2).
 * Below 0 it is that times t p(t) with t = 1 / (1 + |x|/4), above 0 it is 1
 * less that; what x^2 loses in rounding is put back.  From 14 on it is 0 or 1.
 */
SIMD v16 normal_below(v16 x, v16 *density)
{
    static const float c[] = {
        0x1.0fa3f6p-6f, -0x1.013224p-4f, 0x1.a721aap-5f, 0x1.d1e842p-6f,
        0x1.a0832cp-7f, 0x1.62f2fp-4f,   0x1.26e89ep-4f, 0x1.873b8ep-4f,
        0x1.97858p-4f,  0x1.989142p-4f};
    v16 one = v16_set(1.0f), minus_half = v16_set(-0.5f);
    v16 u = v16_min(v16_set(14.0f), v16_abs(x));
    v16 t = v16_div(one, v16_fma(v16_set(0.25f), u, one));
    v16 square = v16_mul(u, u), low = v16_fma(u, u, v16_neg(square));
    v16 e = v16_exp(v16_mul(minus_half, square)), p;

    e = v16_fma(e, v16_mul(minus_half, low), e);
    p = v16_horner(t, c, sizeof c / sizeof *c);
    p = v16_mul(e, v16_mul(p, t));
    *density = e;
    return v16_select(v16_lt(x, v16_zero()), p, v16_sub(one, p));
}

SIMD v16 gelu_exact(v16 x)
{
    v16 density;

    return v16_mul(x, normal_below(x, &density));
}

/* P(x) + x density / sqrt(2 pi) */
SIMD v16 gelu_exact_slope(v16 x)
{
    v16 density, below = normal_below(x, &density);

    return v16_fma(x, v16_mul(v16_set(0x1.988454p-2f), density), below);
}

/* n = e^x (e^x + 2), with tanh(log(1 + e^x)) = n / (n + 2); e^x is no more than
 * e^20, from which on that is 1. */
SIMD v16 mish_n(v16 x, v16 *e)
{
    *e = v16_exp(v16_min(v16_set(20.0f), x));
    return v16_mul(*e, v16_add(*e, v16_set(2.0f)));
}

SIMD v16 mish_part(v16 x)
{
    v16 e, n = mish_n(x, &e);

    return v16_div(n, v16_add(n, v16_set(2.0f)));
}

/* (n + x 4 e^x (1 + e^x) / (n + 2)) / (n + 2) */
SIMD v16 mish_slope(v16 x)
{
    v16 e, n = mish_n(x, &e), by = v16_add(n, v16_set(2.0f));
    v16 more = v16_mul(v16_mul(v16_set(4.0f), e),
                       v16_add(v16_set(1.0f), e));

    return v16_div(v16_add(n, v16_mul(x, v16_div(more, by))), by);
}

/* The scale of selu, and that times its alpha. */
#define SELU_SCALE 0x1.0cfabep+0f
#define SELU_BELOW 0x1.c212ccp+0f

/* ------ the table ------ */

/* Rows of three formulas each: of the table, and of what has operators of its
 * own. */
#define NONE v16_zero()
#define SET(x) v16_set(x)
#define ACTIVATION(kind) \
    ROW(kind, activation_value(kind, a), through_activation(kind, a, d), NONE)
#define OF_UNARY(kind, function, name, reads, onnx, value, by_a) \
    ROW(kind, value, by_a, NONE)
#define OF_BINARY(kind, function, name, reads, onnx, value, by_a, by_b) \
    ROW(kind, value, by_a, by_b)
#define OF_OTHER(kind, name, inputs, reads, constants, shape, onnx, value, \
                 by_a, by_b) \
    ROW(kind, value, by_a, by_b)
#define TERMS \
    ACTIVATION(LS__GELU) \
    ACTIVATION(LS__RELU) \
    ACTIVATION(LS__TANH) \
    ACTIVATION(LS__SIGMOID) \
    ROW(LS__ADD, v16_add(a, b), d, d) \
    LS__TERM_ROWS(OF_UNARY, OF_BINARY, OF_OTHER)

/* ------ loops ------ */

/* Each has a copy of the run, because anything that a store might alias is read
 * again for every vector.  A run begins at `at`, or at 0 if it is the only
 * one. */
#define EACH_VECTOR \
    for (int64_t k = 0, at = 0; k == 0 || k < r->runs; k++, at += r->n) \
        for (int64_t i = 0, left = r->n; left > 0; i += 16, left -= 16)

/* x, if that is not NULL, plus v. */
SIMD v16 onto(const float *x, int64_t i, int64_t left, v16 v)
{
    return x ? v16_add(take(x + i, left), v) : v;
}

#define OPERANDS \
    v16 a = take(r->a + u * at + i, left), b = take(r->b + v * at + i, left)

/* A sum is made of one vector of all runs after the other. */
#define ROW(kind, value, by_a, by_b) \
    case kind: \
        if (!r->sums) \
            EACH_VECTOR { \
                OPERANDS; \
\
                (void)b; \
                put(r->y + at + i, value, left); \
            } \
        for (int64_t i = 0; r->sums && i < r->n; i += 16) { \
            int64_t left = r->n - i; \
            v16 sum = take(r->y + i, left); \
\
            for (int64_t k = 0, at = 0; k < r->runs; k++, at += r->n) { \
                OPERANDS; \
\
                (void)b; \
                sum = v16_add(sum, value); \
            } \
            put(r->y + i, sum, left); \
        } \
        break;

static void term_value(const ls__term *t, const ls__term_run *run)
{
    const ls__term_run own = *run, *r = &own;
    const int64_t u = !r->same_a, v = !r->same_b;
    float p = t->by[0], q = t->by[1];

    switch (t->kind) {
        TERMS
    }
}

#undef ROW
#define ROW(kind, value, by_a, by_b) \
    case kind: \
        EACH_VECTOR { \
            OPERANDS; \
            v16 y = take(r->y + at + i, left); \
            v16 d = take(r->dy + w * at + i, left); \
\
            (void)a, (void)b, (void)y, (void)d; \
            if (r->da) \
                put(r->da + u * at + i, \
                    onto(r->onto_a, u * at + i, left, by_a), left); \
            if (r->db) \
                put(r->db + v * at + i, \
                    onto(r->onto_b, v * at + i, left, by_b), left); \
        } \
        break;

static void term_grad(const ls__term *t, const ls__term_run *run)
{
    const ls__term_run own = *run, *r = &own;
    const int64_t u = !r->same_a, v = !r->same_b, w = !r->sums;
    float p = t->by[0], q = t->by[1];

    switch (t->kind) {
        TERMS
    }
}

#undef EACH_VECTOR
#undef OPERANDS
#undef SELU_SCALE
#undef SELU_BELOW
#undef NONE
#undef SET
#undef ACTIVATION
#undef OF_UNARY
#undef OF_BINARY
#undef OF_OTHER
#undef TERMS
#undef ROW

#endif
