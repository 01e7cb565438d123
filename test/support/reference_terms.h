/* SPDX-License-Identifier: BSD-3-Clause */
/* Elementwise operators in double, as their formulas stand: see reference.h,
 * which includes this. */
#ifndef LS_TEST_REFERENCE_TERMS_H
#define LS_TEST_REFERENCE_TERMS_H

#include "reference_floats.h"

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
    ROW(LS__DIVERGENCE,     1,  1,    0,    1.5f)
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

/* Terms of one operand in floats, rounding for rounding: the value at x, and
 * the slope's product with d. */
static inline float silu_value(float x)
{
    return x * ref_sigmoid_float(x);
}

static inline float silu_grad(float x, float d)
{
    float s = ref_sigmoid_float(x);

    return d * (s * fmaf(x, 1 - s, 1));
}

__extension__ typedef unsigned __int128 u128;

/* x = n pi/2 + r of a large x, by the 96 bits of 2/pi from the one on that is
 * no whole turn. */
static inline float ref_far_turn(float x, int *n)
{
    static const uint64_t two_by_pi[] = {0xa2f9836e4e441529,
                                         0xfc2757d1f534ddc0,
                                         0xdb6295993c439041,
                                         0xfe5163abdebbc561};
    int e = (int)(bits_of(x) >> 23 & 255) - 152; /* bits before the window */
    u128 window = 0, product;
    uint64_t turn;

    for (int i = e; i < e + 96; i++)
        window = window << 1 |
                 (i >= 0 ? two_by_pi[i / 64] >> (63 - i % 64) & 1 : 0);
    product = window * ((bits_of(x) & 0x7fffff) | 0x800000);
    turn = (uint64_t)(product >> 32);
    *n = (int)(turn >> 62) + (int)(turn >> 61 & 1);
    turn -= (uint64_t)*n << 62;
    *n *= x < 0 ? -1 : 1;
    return copysignf(1, x) *
           (float)((double)(int64_t)turn * ldexp(acos(-1), -63));
}

/* sin(x + more pi/2) */
static inline float ref_sine(float x, int more)
{
    float k = floorf(fmaf(x, 0x1.45f306p-1f, 0.5f)), r, z, y;
    int n = fabsf(x) < 0x1p16f ? (int)k : 0;

    r = fmaf(-k, 0x1.921fb4p+0f, x);
    r = fmaf(-k, 0x1.4442dp-24f, r);
    r = fmaf(-k, 0x1.846988p-48f, r);
    if (fabsf(x) >= 0x1p16f && fabsf(x) < INFINITY)
        r = ref_far_turn(x, &n);
    n += more;
    z = r * r;
    if (n & 1) {
        y = fmaf(fmaf(0x1.998f92p-16f, z, -0x1.6c0af2p-10f), z, 0x1.555548p-5f);
        y = fmaf(z * z, y, fmaf(-0.5f, z, 1));
    } else {
        y = fmaf(fmaf(-0x1.9907fcp-13f, z, 0x1.1106bp-7f), z, -0x1.555544p-3f);
        y = fmaf(r * z, y, r);
    }
    return x == 0 && !more ? x : n & 2 ? -y : y;
}

static inline float sin_value(float x)
{
    return ref_sine(x, 0);
}

static inline float sin_grad(float x, float d)
{
    return d * ref_sine(x, 1);
}

static inline float cos_value(float x)
{
    return ref_sine(x, 1);
}

static inline float cos_grad(float x, float d)
{
    return -d * ref_sine(x, 0);
}

/* (y, 2^n) of e^x = (1 + y) 2^n; then y 2^n + (2^n - 1) */
static inline float ref_expm1(float x)
{
    float power, n, r, y;

    x = x < -87.8f ? -87.8f : x > 88.8f ? 88.8f : x;
    n = floorf(fmaf(x, 0x1.715476p+0f, 0.5f));
    n = n < -127 ? -127 : n > 127 ? 127 : n;
    r = fmaf(-n, 0x1.bd0106p-13f * -1, fmaf(-n, 0x1.63p-1f, x));
    y = fmaf(0x1.a0d2cep-13f, r, 0x1.6e879cp-10f);
    y = fmaf(y, r, 0x1.11121p-7f);
    y = fmaf(y, r, 0x1.555382p-5f);
    y = fmaf(y, r, 0x1.555554p-3f);
    y = fmaf(fmaf(y, r, 0x1p-1f), r * r, r);
    power = of_bits((uint32_t)((int)n + 127) << 23);
    return x != x ? x : fmaf(y, power, power - 1);
}

static inline float selu_value(float x)
{
    return x > 0 ? 0x1.0cfabep+0f * x : 0x1.c212ccp+0f * ref_expm1(x);
}

static inline float selu_grad(float x, float d)
{
    return x > 0 ? d * 0x1.0cfabep+0f : d * (0x1.c212ccp+0f * ref_exp(x));
}

/* e^x, no more than e^20, and n = e^x (e^x + 2) */
static inline float mish_n(float x, float *e)
{
    *e = ref_exp(20 < x ? 20 : x);
    return *e * (*e + 2);
}

static inline float mish_value(float x)
{
    float e, n = mish_n(x, &e);

    return x * (n / (n + 2));
}

static inline float mish_grad(float x, float d)
{
    float e, n = mish_n(x, &e), more = 4 * e * (1 + e);

    return d * ((n + x * (more / (n + 2))) / (n + 2));
}

static inline float hard_swish_value(float x)
{
    float part = fmaf(x, 0x1.555556p-3f, 0.5f);

    return x * (part < 0 ? 0 : part > 1 ? 1 : part);
}

static inline float hard_swish_grad(float x, float d)
{
    return d * (fabsf(x) < 3 ? fmaf(x, 0x1.555556p-2f, 0.5f) : x > 0);
}

/* The chance of a normal number to be below x, and e^(-x^2/2). */
static inline float ref_normal_below(float x, float *density)
{
    static const float c[] = {
        0x1.0fa3f6p-6f, -0x1.013224p-4f, 0x1.a721aap-5f, 0x1.d1e842p-6f,
        0x1.a0832cp-7f, 0x1.62f2fp-4f,   0x1.26e89ep-4f, 0x1.873b8ep-4f,
        0x1.97858p-4f,  0x1.989142p-4f};
    float u = 14 < fabsf(x) ? 14 : fabsf(x), t = 1 / fmaf(0.25f, u, 1);
    float square = u * u, low = fmaf(u, u, -square), e, p = c[0];

    e = ref_exp(-0.5f * square);
    e = fmaf(e, -0.5f * low, e);
    for (int i = 1; i < 10; i++)
        p = fmaf(p, t, c[i]);
    p = e * (p * t);
    *density = e;
    return x < 0 ? p : 1 - p;
}

static inline float gelu_exact_value(float x)
{
    float density;

    return x * ref_normal_below(x, &density);
}

static inline float gelu_exact_grad(float x, float d)
{
    float density, below = ref_normal_below(x, &density);

    return d * fmaf(x, 0x1.988454p-2f * density, below);
}

/* clang-format off */
#define TERM_FLOATS(ROW) \
    ROW(LS__GELU_EXACT, gelu_exact_value, gelu_exact_grad) \
    ROW(LS__MISH, mish_value, mish_grad) \
    ROW(LS__SELU, selu_value, selu_grad) \
    ROW(LS__HARD_SWISH, hard_swish_value, hard_swish_grad) \
    ROW(LS__COS, cos_value, cos_grad) \
    ROW(LS__SIN, sin_value, sin_grad) \
    ROW(LS__SILU, silu_value, silu_grad)
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
