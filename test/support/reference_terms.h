/* SPDX-License-Identifier: BSD-3-Clause */
/* Elementwise operators in double, as their formulas stand: see reference.h,
 * which includes this. */
#ifndef LS_TEST_REFERENCE_TERMS_H
#define LS_TEST_REFERENCE_TERMS_H

#include <math.h>

/* Operands that terms are tested with: so many kinds of constants, and x =
 * scale random + shift +- apart, sign in turn, and the other way round in every
 * second input, which keeps away from corners and from the ends of domains. */
/* clang-format off */
#define TERM_RANGES(ROW) \
    /*  kind              kinds scale apart shift */ \
    ROW(LS__SUB,            1,  1,    0,    0) \
    ROW(LS__MUL,            1,  1,    0,    0) \
    ROW(LS__DIV,            1,  1,    1.5f, 0) \
    ROW(LS__MIN,            1,  0.9f, 1,    0) \
    ROW(LS__MAX,            1,  0.9f, 1,    0) \
    ROW(LS__SCALE,          2,  1,    0,    0) \
    ROW(LS__SQUARE,         1,  1,    0,    0) \
    ROW(LS__SQRT,           1,  1,    0,    1.5f) \
    ROW(LS__EXP,            1,  3,    0,    0) \
    ROW(LS__LOG,            1,  1,    0,    1.5f) \
    ROW(LS__SIN,            1,  3,    0,    0) \
    ROW(LS__COS,            1,  3,    0,    0) \
    ROW(LS__ABS,            1,  0.9f, 1,    0) \
    ROW(LS__CLAMP,          2,  0.4f, 1,    0) \
    ROW(LS__POW,            2,  1,    0,    1.5f) \
    ROW(LS__LEAKY_RELU,     2,  0.9f, 1,    0) \
    ROW(LS__ELU,            2,  0.9f, 1,    0) \
    ROW(LS__SOFTPLUS,       1,  6,    0,    0) \
    ROW(LS__SILU,           1,  6,    0,    0) \
    ROW(LS__GELU_EXACT,     1,  6,    0,    0) \
    ROW(LS__MISH,           1,  6,    0,    0) \
    ROW(LS__SELU,           1,  0.9f, 1,    0) \
    ROW(LS__HARD_SWISH,     1,  6,    0,    0) \
    ROW(LS__BINARY_ENTROPY, 1,  3,    0,    0) \
    ROW(LS__DIVERGENCE,     1,  1,    0,    1.5f) \
    ROW(LS__LESS,           1,  0.9f, 1,    0) \
    ROW(LS__LESS_EQUAL,     1,  0.9f, 1,    0) \
    ROW(LS__EQUAL,          1,  0.9f, 1,    0) \
    ROW(LS__KEEP,           1,  0.9f, 1,    0) \
    ROW(LS__KEEP_ELSE,      1,  0.9f, 1,    0)
/* clang-format on */

/* Accuracy of values and slopes of terms of one operand on [low,high], in units
 * in the last place: of the value, and of the slope or of 1/4 where that is
 * more, since slopes cross zero. */
/* clang-format off */
#define TERM_ACCURACY(ROW) \
    /*  kind              low     high  value slope */ \
    ROW(LS__EXP,         -86,     88,    1.5, 1.5) \
    ROW(LS__SIN,         -1e30f,  1e7f,  1.6, 1.6) \
    ROW(LS__COS,         -1e7f,   1e30f, 1.6, 1.6) \
    ROW(LS__SOFTPLUS,    -80,     90,    3,   2.5) \
    ROW(LS__SILU,        -80,     90,    2.5, 9) \
    ROW(LS__SELU,        -80,     90,    3,   2) \
    ROW(LS__MISH,        -80,     90,    4,   4) \
    ROW(LS__GELU_EXACT,  -12.5f,  90,    6,   7)
/* clang-format on */

/* The constants p and q of a term. */
typedef struct constants {
    double p, q;
} constants;

static inline double ref_softplus(double x)
{
    return fmax(x, 0) + log1p(exp(-fabs(x)));
}

static inline double ref_sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static inline double term_value(int kind, double a, double b, constants c)
{
    switch (kind) {
    case LS__SUB: return a - b;
    case LS__MUL: return a * b;
    case LS__DIV: return a / b;
    case LS__MIN: return a < b ? a : b;
    case LS__MAX: return a > b ? a : b;
    case LS__SCALE: return c.p * a + c.q;
    case LS__SQUARE: return a * a;
    case LS__SQRT: return sqrt(a);
    case LS__EXP: return exp(a);
    case LS__LOG: return log(a);
    case LS__SIN: return sin(a);
    case LS__COS: return cos(a);
    case LS__ABS: return fabs(a);
    case LS__CLAMP: return fmin(fmax(a, c.p), c.q);
    case LS__POW: return pow(a, c.p);
    case LS__LEAKY_RELU: return a < 0 ? c.p * a : a;
    case LS__ELU: return a > 0 ? a : c.p * expm1(a);
    case LS__SOFTPLUS: return ref_softplus(a);
    case LS__SILU: return a * ref_sigmoid(a);
    case LS__GELU_EXACT: return a * erfc(-a / sqrt(2)) / 2;
    case LS__MISH: return a * tanh(ref_softplus(a));
    case LS__HARD_SWISH: return a * fmin(fmax(a / 6 + 0.5, 0), 1);
    case LS__SELU: return a > 0 ? 1.0507009873554805 * a
                                : 1.7580993408473768 * expm1(a);
    case LS__BINARY_ENTROPY: return ref_softplus(a) - a * b;
    case LS__DIVERGENCE: return b == 0 ? 0 : b * (log(b) - a);
    case LS__LESS: return a < b;
    case LS__LESS_EQUAL: return a <= b;
    case LS__EQUAL: return a == b;
    case LS__KEEP: return b != 0 ? a : 0;
    case LS__KEEP_ELSE: return b != 0 ? 0 : a;
    default: abort();
    }
}

/* The derivative by the first operand, and by the second. */
static inline double term_by_a(int kind, double a, double b, constants c)
{
    switch (kind) {
    case LS__SUB: return 1;
    case LS__MUL: return b;
    case LS__DIV: return 1 / b;
    case LS__MIN: return a < b;
    case LS__MAX: return a > b;
    case LS__SCALE: return c.p;
    case LS__SQUARE: return 2 * a;
    case LS__SQRT: return 0.5 / sqrt(a);
    case LS__EXP: return exp(a);
    case LS__LOG: return 1 / a;
    case LS__SIN: return cos(a);
    case LS__COS: return -sin(a);
    case LS__ABS: return a > 0 ? 1 : -1;
    case LS__CLAMP: return a > c.p && a < c.q;
    case LS__POW: return c.p * pow(a, c.p - 1);
    case LS__LEAKY_RELU: return a < 0 ? c.p : 1;
    case LS__ELU: return a > 0 ? 1 : c.p * exp(a);
    case LS__SOFTPLUS: return ref_sigmoid(a);
    case LS__SILU: return ref_sigmoid(a) * (1 + a * ref_sigmoid(-a));
    case LS__GELU_EXACT: return erfc(-a / sqrt(2)) / 2 +
                                a * exp(-a * a / 2) / sqrt(2 * acos(-1));
    case LS__MISH: return tanh(ref_softplus(a)) +
                          a * ref_sigmoid(a) / pow(cosh(ref_softplus(a)), 2);
    case LS__HARD_SWISH: return fabs(a) < 3 ? a / 3 + 0.5 : a > 0;
    case LS__SELU: return a > 0 ? 1.0507009873554805
                                : 1.7580993408473768 * exp(a);
    case LS__BINARY_ENTROPY: return ref_sigmoid(a) - b;
    case LS__DIVERGENCE: return -b;
    case LS__LESS: case LS__LESS_EQUAL: case LS__EQUAL: return 0;
    case LS__KEEP: return b != 0;
    case LS__KEEP_ELSE: return b == 0;
    default: abort();
    }
}

static inline double term_by_b(int kind, double a, double b)
{
    switch (kind) {
    case LS__SUB: return -1;
    case LS__MUL: return a;
    case LS__DIV: return -a / (b * b);
    case LS__MIN: return b < a;
    case LS__MAX: return b > a;
    case LS__BINARY_ENTROPY: return -a;
    case LS__DIVERGENCE: return log(b) + 1 - a;
    case LS__LESS: case LS__LESS_EQUAL: case LS__EQUAL: case LS__KEEP:
    case LS__KEEP_ELSE: return 0;
    default: abort();
    }
}

static inline constants constants_of(const ref *r)
{
    const ls__attribute *a = r->node->op->file.attributes;
    double by[2] = {0};

    for (int i = 0; a && i < 2 && a[i].name; i++)
        by[i] = *(const double *)ls__attribute_in(r->node, &a[i]);
    return (constants){by[0], by[1]};
}

static inline void ref_term(const ref *r)
{
    int second = r->node->op->inputs - 1;

    for (int64_t i = 0; i < r->rows * r->node->size; i++)
        r->y[i] = term_value(r->node->op->term, r->x[0][i], r->x[second][i],
                             constants_of(r));
}

static inline void ref_term_grad(const ref *r)
{
    int second = r->node->op->inputs - 1, kind = r->node->op->term;

    for (int64_t i = 0; i < r->rows * r->node->size; i++) {
        double a = r->x[0][i], b = r->x[second][i];

        r->dx[0][i] += r->dy[i] * term_by_a(kind, a, b, constants_of(r));
        if (second)
            r->dx[1][i] += r->dy[i] * term_by_b(kind, a, b);
    }
}

#endif
