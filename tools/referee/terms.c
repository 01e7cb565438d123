/* SPDX-License-Identifier: BSD-3-Clause */
/* Elementwise operators: the value, and what its gradient gives. */
#include "operators.h"

#include <string.h>

/* What the lesser of two gets, a being it; of equals each one half. */
static f32 of_lesser(f32 d, f32 a, f32 b)
{
    return f_lt(a, b) ? d : f_equal(a, b) ? f_mul(d, F(0.5f)) : 0;
}

/* 1 for yes, 0 for no. */
static f32 truth(int yes) { return yes ? F(1.0f) : 0; }

/* x to a whole power, by squaring. */
static f32 whole_power(f32 x, int64_t p)
{
    f32 y = F(1.0f);

    for (int64_t n = p < 0 ? -p : p; n; n /= 2) {
        if (n % 2)
            y = f_mul(y, x);
        x = f_mul(x, x);
    }
    return p < 0 ? f_div(F(1.0f), y) : y;
}

static f32 power_of(f32 x, f32 p)
{
    if (f_lt(f_abs(p), F(0x1p20f)) && f_equal(p, f_int(f_trunc(p))))
        return whole_power(x, f_trunc(p));
    return e_exp(f_mul(p, e_log_any(x)));
}

/* x = n pi/2 + r */
static f32 quarter_turns(f32 x, int *n)
{
    f32 k = f_floor(f_fma(x, F(0x1.45f306p-1f), F(0.5f))), r;

    if (!f_lt(f_abs(x), F(0x1p16f)))
        return f_from(turns_far(x, n));
    *n = f_trunc(k);
    r = f_fma(f_neg(k), F(0x1.921fb4p+0f), x);
    r = f_fma(f_neg(k), F(0x1.4442dp-24f), r);
    return f_fma(f_neg(k), F(0x1.846988p-48f), r);
}

/* sin(x + quarter pi/2), a term of its own, not f_sin */
static f32 e_turned(f32 x, int quarter)
{
    static const float of_sine[] = {-0x1.9907fcp-13f, 0x1.1106bp-7f,
                                    -0x1.555544p-3f};
    static const float of_cosine[] = {0x1.998f92p-16f, -0x1.6c0af2p-10f,
                                      0x1.555548p-5f};
    f32 r, z, y;
    int n;

    if (f_exp(x) == 255)
        return NAN32;
    r = quarter_turns(x, &n);
    z = f_mul(r, r);
    n += quarter;
    if (n & 1) {
        y = f_fma(F(-0.5f), z, F(1.0f));
        y = f_fma(f_mul(z, z), horner(z, of_cosine, 3), y);
    } else {
        y = f_fma(f_mul(r, z), horner(z, of_sine, 3), r);
    }
    return n & 2 ? f_neg(y) : y;
}

static f32 e_sin(f32 x) { return f_zero(x) ? x : e_turned(x, 0); }
static f32 e_cos(f32 x) { return e_turned(x, 1); }

/* The chance of a normal number to be below x, and e^(-x^2/2). */
static f32 normal_below(f32 x, f32 *density)
{
    static const float c[] = {
        0x1.0fa3f6p-6f, -0x1.013224p-4f, 0x1.a721aap-5f, 0x1.d1e842p-6f,
        0x1.a0832cp-7f, 0x1.62f2fp-4f,   0x1.26e89ep-4f, 0x1.873b8ep-4f,
        0x1.97858p-4f,  0x1.989142p-4f};
    f32 one = F(1.0f), half = F(-0.5f), u = f_min(F(14.0f), f_abs(x));
    f32 t = f_div(one, f_fma(F(0.25f), u, one)), square = f_mul(u, u);
    f32 low = f_fma(u, u, f_neg(square)), e = e_exp(f_mul(half, square)), p;

    e = f_fma(e, f_mul(half, low), e);
    p = f_mul(e, f_mul(horner(t, c, 10), t));
    *density = e;
    return f_lt(x, 0) ? p : f_sub(one, p);
}

/* e^x (e^x + 2) */
static f32 mish_n(f32 x, f32 *e)
{
    *e = e_exp(f_min(F(20.0f), x));
    return f_mul(*e, f_add(*e, F(2.0f)));
}

static f32 tanh_slope(f32 x)
{
    f32 t = e_tanh(x);

    return f_fma(f_neg(t), t, F(1.0f));
}

static f32 silu_slope(f32 x)
{
    f32 s = e_sigmoid(x);

    return f_mul(s, f_fma(x, f_sub(F(1.0f), s), F(1.0f)));
}

static f32 pow_slope(f32 x, f32 p)
{
    return f_zero(p) ? 0 : f_mul(p, power_of(x, f_sub(p, F(1.0f))));
}

static f32 entropy_slope(f32 x, f32 t)
{
    return f_sub(f_mul(f_sub(F(1.0f), t), e_sigmoid(x)),
                 f_mul(t, e_sigmoid(f_neg(x))));
}

#define SELU_SCALE F(0x1.0cfabep+0f)
#define SELU_BELOW F(0x1.c212ccp+0f)

static f32 mish(f32 x)
{
    f32 e, n = mish_n(x, &e);

    return f_mul(x, f_div(n, f_add(n, F(2.0f))));
}

static f32 mish_slope(f32 x)
{
    f32 e, n = mish_n(x, &e), by = f_add(n, F(2.0f));
    f32 more = f_mul(f_mul(F(4.0f), e), f_add(F(1.0f), e));

    return f_div(f_add(n, f_mul(x, f_div(more, by))), by);
}

static f32 hard_slope(f32 x)
{
    if (f_lt(f_abs(x), F(3.0f)))
        return f_fma(x, F(0x1.555556p-2f), F(0.5f));
    return f_lt(0, x) ? F(1.0f) : 0;
}

static f32 gelu_exact(f32 x)
{
    f32 density;

    return f_mul(x, normal_below(x, &density));
}

static f32 gelu_exact_slope(f32 x)
{
    f32 density, below = normal_below(x, &density);

    return f_fma(x, f_mul(F(0x1.988454p-2f), density), below);
}

/* Operators of one operand a, with constants p and q: the value, and what its
 * gradient d gives; y: the value again.  Then those of a and b. */
/* clang-format off */
#define UNARY(ROW) \
    ROW(gelu, e_gelu(a), times_slope(d, e_gelu_slope(a))) \
    ROW(relu, e_relu(a), times_slope(d, f_lt(0, a) ? F(1.0f) : 0)) \
    ROW(tanh, e_tanh(a), times_slope(d, tanh_slope(a))) \
    ROW(sigmoid, e_sigmoid(a), times_slope(d, e_sigmoid_slope(a))) \
    ROW(scale, f_fma(p, a, q), f_mul(d, p)) \
    ROW(round_bf16, to_bf16(a), to_bf16(d)) \
    ROW(square, f_mul(a, a), f_mul(d, f_add(a, a))) \
    ROW(sqrt, f_sqrt(a), f_div(f_mul(d, F(0.5f)), y)) \
    ROW(exp, e_exp(a), f_mul(d, y)) \
    ROW(log, e_log_any(a), f_div(d, a)) \
    ROW(abs, f_abs(a), f_lt(0, a) ? d : f_lt(a, 0) ? f_neg(d) : 0) \
    ROW(clamp, f_min(q, f_max(p, a)), f_lt(p, a) && f_lt(a, q) ? d : 0) \
    ROW(leaky_relu, f_mul(f_lt(a, 0) ? p : F(1.0f), a), \
        f_mul(f_lt(a, 0) ? p : F(1.0f), d)) \
    ROW(elu, f_lt(0, a) ? a : f_mul(p, e_expm1(a)), \
        f_lt(0, a) ? d : f_mul(d, f_mul(p, e_exp(a)))) \
    ROW(softplus, f_add(f_max(0, a), log_tail(a)), f_mul(d, e_sigmoid(a))) \
    ROW(silu, f_mul(a, e_sigmoid(a)), f_mul(d, silu_slope(a))) \
    ROW(pow, power_of(a, p), f_mul(d, pow_slope(a, p))) \
    ROW(sin, e_sin(a), f_mul(d, e_cos(a))) \
    ROW(cos, e_cos(a), f_mul(f_neg(d), e_sin(a))) \
    ROW(selu, f_lt(0, a) ? f_mul(SELU_SCALE, a) \
                         : f_mul(SELU_BELOW, e_expm1(a)), \
        f_mul(d, f_lt(0, a) ? SELU_SCALE : f_mul(SELU_BELOW, e_exp(a)))) \
    ROW(mish, mish(a), f_mul(d, mish_slope(a))) \
    ROW(hard_swish, \
        f_mul(a, clamp(f_fma(a, F(0x1.555556p-3f), F(0.5f)), 0, 1)), \
        f_mul(d, hard_slope(a))) \
    ROW(gelu_exact, gelu_exact(a), f_mul(d, gelu_exact_slope(a)))

#define BINARY(ROW) \
    ROW(add, f_add(a, b), d, d) \
    ROW(sub, f_sub(a, b), d, f_neg(d)) \
    ROW(mul, f_mul(a, b), f_mul(d, b), f_mul(d, a)) \
    ROW(div, f_div(a, b), f_div(d, b), f_neg(f_div(f_mul(d, y), b))) \
    ROW(min, f_nan(a) ? a : f_min(a, b), of_lesser(d, a, b), \
        of_lesser(d, b, a)) \
    ROW(max, f_nan(a) ? a : f_max(a, b), of_lesser(d, b, a), \
        of_lesser(d, a, b)) \
    ROW(binary_entropy, f_add(f_sub(f_max(0, a), f_mul(a, b)), log_tail(a)), \
        f_mul(d, entropy_slope(a, b)), f_neg(f_mul(d, a))) \
    ROW(divergence, f_zero(b) ? 0 : f_mul(b, f_sub(e_log_any(b), a)), \
        f_neg(f_mul(d, b)), f_zero(b) ? 0 : \
        f_mul(d, f_sub(f_add(e_log_any(b), F(1.0f)), a))) \
    ROW(less, truth(f_lt(a, b)), 0, 0) \
    ROW(less_equal, truth(f_lt(a, b) || f_equal(a, b)), 0, 0) \
    ROW(equal, truth(f_equal(a, b)), 0, 0) \
    ROW(keep, f_zero(b) ? F(-0.0f) : a, f_zero(b) ? 0 : d, 0) \
    ROW(keep_else, f_zero(b) ? a : F(-0.0f), f_zero(b) ? d : 0, 0)

#define VALUES f32 a = g.a, b = g.b, y = g.y, d = g.d, p = g.p, q = g.q; \
    (void)a, (void)b, (void)y, (void)d, (void)p, (void)q
#define FUNCTION(name, is) static f32 name(given g) { VALUES; return is; }
#define OF_ONE(op, y, by_a) FUNCTION(op##_y, y) FUNCTION(op##_a, by_a)
#define OF_TWO(op, y, by_a, by_b) OF_ONE(op, y, by_a) FUNCTION(op##_b, by_b)
#define ROW_OF_ONE(op, y, by_a) {#op, op##_y, op##_a, NULL},
#define ROW_OF_TWO(op, y, by_a, by_b) {#op, op##_y, op##_a, op##_b},

UNARY(OF_ONE)
BINARY(OF_TWO)

static const term terms[] = {UNARY(ROW_OF_ONE) BINARY(ROW_OF_TWO)};
/* clang-format on */
enum { TERMS = sizeof terms / sizeof *terms };

const term *term_of(const char *op)
{
    for (int i = 0; i < TERMS; i++)
        if (strcmp(terms[i].name, op) == 0)
            return &terms[i];
    return NULL;
}

const char *term_name(int i) { return i < TERMS ? terms[i].name : NULL; }
