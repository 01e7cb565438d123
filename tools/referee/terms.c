/* SPDX-License-Identifier: BSD-3-Clause */
/* Elementwise operators: the value, and what its gradient gives. */
#include "operators.h"

#include <string.h>

static f32 half_if_equal(f32 d, f32 a, f32 b)
{
    return f_lt(a, b) || f_lt(b, a) || f_nan(a) || f_nan(b)
               ? 0 : f_mul(d, F(0.5f));
}

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
    if (f_lt(f_abs(p), F(0x1p20f)) && !f_lt(p, f_int(f_trunc(p))) &&
        !f_lt(f_int(f_trunc(p)), p))
        return whole_power(x, f_trunc(p));
    return e_exp(f_mul(p, e_log_any(x)));
}

/* x = n pi/2 + r for |x| of 2^16 or more, n modulo 4, by 96 bits of 2/pi. */
static f32 far_turn(f32 x, long *n)
{
    static const uint32_t two_by_pi[] = {0,          0xa2f9836e, 0x4e441529,
                                         0xfc2757d1, 0xf534ddc0, 0xdb629599,
                                         0x3c439041, 0xfe5163ab};
    uint64_t w[3], turn, turns;
    int at = f_exp(x) - 120;
    f32 r;

    for (int k = 0; k < 3; k++) {
        const uint32_t *from = two_by_pi + at / 32 + k;

        w[k] = ((uint64_t)from[0] << 32 | from[1]) >> (32 - at % 32) &
               0xffffffff;
    }
    turn = (f_man(x) * w[0] << 32) + f_man(x) * w[1] + (f_man(x) * w[2] >> 32);
    turns = (turn + (UINT64_C(1) << 61)) >> 62;
    turn -= turns << 62;
    *n = x >> 31 ? -(long)turns : (long)turns;
    r = f_from(d_mul(turn >> 63 ? d_neg(d_int((int64_t)(0 - turn)))
                                : d_int((int64_t)turn),
                     D(0x1.921fb54442d18p-62)));
    return x >> 31 ? f_neg(r) : r;
}

/* x = n pi/2 + r */
static f32 quarter_turns(f32 x, long *n)
{
    f32 k = f_floor(f_fma(x, F(0x1.45f306p-1f), F(0.5f))), r;

    if (!f_lt(f_abs(x), F(0x1p16f)))
        return far_turn(x, n);
    *n = f_trunc(k);
    r = f_fma(f_neg(k), F(0x1.921fb4p+0f), x);
    r = f_fma(f_neg(k), F(0x1.4442dp-24f), r);
    return f_fma(f_neg(k), F(0x1.846988p-48f), r);
}

/* sin(x + quarter pi/2), a term of its own, not f_sin */
static f32 e_turned(f32 x, long quarter)
{
    static const float of_sine[] = {-0x1.9907fcp-13f, 0x1.1106bp-7f,
                                    -0x1.555544p-3f};
    static const float of_cosine[] = {0x1.998f92p-16f, -0x1.6c0af2p-10f,
                                      0x1.555548p-5f};
    f32 r, z, y;
    long n;

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

static f32 gelu_y(given g) { return e_gelu(g.a); }
static f32 gelu_a(given g) { return times_slope(g.d, e_gelu_slope(g.a)); }
static f32 relu_y(given g) { return e_relu(g.a); }
static f32 relu_a(given g)
{
    return times_slope(g.d, f_lt(0, g.a) ? F(1.0f) : 0);
}
static f32 tanh_y(given g) { return e_tanh(g.a); }
static f32 tanh_a(given g)
{
    f32 t = e_tanh(g.a);

    return times_slope(g.d, f_fma(f_neg(t), t, F(1.0f)));
}
static f32 sigmoid_y(given g) { return e_sigmoid(g.a); }
static f32 sigmoid_a(given g) { return times_slope(g.d, e_sigmoid_slope(g.a)); }
static f32 add_y(given g) { return f_add(g.a, g.b); }
static f32 same_d(given g) { return g.d; }
static f32 minus_d(given g) { return f_neg(g.d); }
static f32 sub_y(given g) { return f_sub(g.a, g.b); }
static f32 mul_y(given g) { return f_mul(g.a, g.b); }
static f32 mul_a(given g) { return f_mul(g.d, g.b); }
static f32 mul_b(given g) { return f_mul(g.d, g.a); }
static f32 div_y(given g) { return f_div(g.a, g.b); }
static f32 div_a(given g) { return f_div(g.d, g.b); }
static f32 div_b(given g) { return f_neg(f_div(f_mul(g.d, g.y), g.b)); }
static f32 min_y(given g) { return f_nan(g.a) ? g.a : f_min(g.a, g.b); }
static f32 max_y(given g) { return f_nan(g.a) ? g.a : f_max(g.a, g.b); }
static f32 lesser_is_a(given g)
{
    return f_lt(g.a, g.b) ? g.d : half_if_equal(g.d, g.a, g.b);
}
static f32 lesser_is_b(given g)
{
    return f_lt(g.b, g.a) ? g.d : half_if_equal(g.d, g.a, g.b);
}
static f32 scale_y(given g) { return f_fma(g.p, g.a, g.q); }
static f32 scale_a(given g) { return f_mul(g.d, g.p); }
static f32 square_y(given g) { return f_mul(g.a, g.a); }
static f32 square_a(given g) { return f_mul(g.d, f_add(g.a, g.a)); }
static f32 sqrt_y(given g) { return f_sqrt(g.a); }
static f32 sqrt_a(given g) { return f_div(f_mul(g.d, F(0.5f)), g.y); }
static f32 exp_y(given g) { return e_exp(g.a); }
static f32 exp_a(given g) { return f_mul(g.d, g.y); }
static f32 log_y(given g) { return e_log_any(g.a); }
static f32 log_a(given g) { return f_div(g.d, g.a); }
static f32 abs_y(given g) { return f_abs(g.a); }
static f32 abs_a(given g)
{
    return f_lt(0, g.a) ? g.d : f_lt(g.a, 0) ? f_neg(g.d) : 0;
}
static f32 clamp_y(given g) { return f_min(g.q, f_max(g.p, g.a)); }
static f32 clamp_a(given g)
{
    return f_lt(g.p, g.a) && f_lt(g.a, g.q) ? g.d : 0;
}
static f32 leaky_slope(given g) { return f_lt(g.a, 0) ? g.p : F(1.0f); }
static f32 leaky_y(given g) { return f_mul(leaky_slope(g), g.a); }
static f32 leaky_a(given g) { return f_mul(leaky_slope(g), g.d); }
static f32 elu_y(given g)
{
    return f_lt(0, g.a) ? g.a : f_mul(g.p, e_expm1(g.a));
}
static f32 elu_a(given g)
{
    return f_lt(0, g.a) ? g.d : f_mul(g.d, f_mul(g.p, e_exp(g.a)));
}
static f32 softplus_y(given g) { return f_add(f_max(0, g.a), log_tail(g.a)); }
static f32 softplus_a(given g) { return f_mul(g.d, e_sigmoid(g.a)); }
static f32 silu_y(given g) { return f_mul(g.a, e_sigmoid(g.a)); }
static f32 silu_a(given g)
{
    f32 s = e_sigmoid(g.a);

    return f_mul(g.d, f_mul(s, f_fma(g.a, f_sub(F(1.0f), s), F(1.0f))));
}

static f32 pow_y(given g) { return power_of(g.a, g.p); }
static f32 pow_a(given g)
{
    f32 slope = f_mul(g.p, power_of(g.a, f_sub(g.p, F(1.0f))));

    return f_mul(g.d, f_zero(g.p) ? 0 : slope);
}
static f32 entropy_y(given g)
{
    return f_add(f_sub(f_max(0, g.a), f_mul(g.a, g.b)), log_tail(g.a));
}
static f32 entropy_a(given g)
{
    f32 no = f_mul(f_sub(F(1.0f), g.b), e_sigmoid(g.a));

    return f_mul(g.d, f_sub(no, f_mul(g.b, e_sigmoid(f_neg(g.a)))));
}
static f32 entropy_b(given g) { return f_neg(f_mul(g.d, g.a)); }
static f32 divergence_y(given g)
{
    return f_zero(g.b) ? 0 : f_mul(g.b, f_sub(e_log_any(g.b), g.a));
}
static f32 divergence_a(given g) { return f_neg(f_mul(g.d, g.b)); }
static f32 divergence_b(given g)
{
    f32 by = f_sub(f_add(e_log_any(g.b), F(1.0f)), g.a);

    return f_zero(g.b) ? 0 : f_mul(g.d, by);
}

static f32 sin_y(given g) { return e_sin(g.a); }
static f32 sin_a(given g) { return f_mul(g.d, e_cos(g.a)); }
static f32 cos_y(given g) { return e_cos(g.a); }
static f32 cos_a(given g) { return f_mul(f_neg(g.d), e_sin(g.a)); }

#define SELU_SCALE F(0x1.0cfabep+0f)
#define SELU_BELOW F(0x1.c212ccp+0f)

static f32 selu_y(given g)
{
    return f_lt(0, g.a) ? f_mul(SELU_SCALE, g.a)
                        : f_mul(SELU_BELOW, e_expm1(g.a));
}
static f32 selu_a(given g)
{
    return f_mul(g.d, f_lt(0, g.a) ? SELU_SCALE
                                   : f_mul(SELU_BELOW, e_exp(g.a)));
}
static f32 mish_y(given g)
{
    f32 e, n = mish_n(g.a, &e);

    return f_mul(g.a, f_div(n, f_add(n, F(2.0f))));
}
static f32 mish_a(given g)
{
    f32 e, n = mish_n(g.a, &e), by = f_add(n, F(2.0f));
    f32 more = f_mul(f_mul(F(4.0f), e), f_add(F(1.0f), e));

    return f_mul(g.d, f_div(f_add(n, f_mul(g.a, f_div(more, by))), by));
}
static f32 hard_swish_y(given g)
{
    return f_mul(g.a, clamp(f_fma(g.a, F(0x1.555556p-3f), F(0.5f)), 0, 1));
}
static f32 hard_swish_a(given g)
{
    f32 out = f_lt(0, g.a) ? F(1.0f) : 0;

    return f_mul(g.d, f_lt(f_abs(g.a), F(3.0f))
                          ? f_fma(g.a, F(0x1.555556p-2f), F(0.5f)) : out);
}
static f32 gelu_exact_y(given g)
{
    f32 density;

    return f_mul(g.a, normal_below(g.a, &density));
}
static f32 gelu_exact_a(given g)
{
    f32 density, below = normal_below(g.a, &density);

    return f_mul(g.d, f_fma(g.a, f_mul(F(0x1.988454p-2f), density), below));
}

static const term terms[] = {
    {"gelu", gelu_y, gelu_a, NULL}, {"relu", relu_y, relu_a, NULL},
    {"tanh", tanh_y, tanh_a, NULL}, {"sigmoid", sigmoid_y, sigmoid_a, NULL},
    {"add", add_y, same_d, same_d}, {"sub", sub_y, same_d, minus_d},
    {"mul", mul_y, mul_a, mul_b}, {"div", div_y, div_a, div_b},
    {"min", min_y, lesser_is_a, lesser_is_b},
    {"max", max_y, lesser_is_b, lesser_is_a},
    {"scale", scale_y, scale_a, NULL},
    {"square", square_y, square_a, NULL}, {"sqrt", sqrt_y, sqrt_a, NULL},
    {"exp", exp_y, exp_a, NULL}, {"log", log_y, log_a, NULL},
    {"abs", abs_y, abs_a, NULL}, {"clamp", clamp_y, clamp_a, NULL},
    {"leaky_relu", leaky_y, leaky_a, NULL}, {"elu", elu_y, elu_a, NULL},
    {"softplus", softplus_y, softplus_a, NULL},
    {"silu", silu_y, silu_a, NULL}, {"pow", pow_y, pow_a, NULL},
    {"binary_entropy", entropy_y, entropy_a, entropy_b},
    {"divergence", divergence_y, divergence_a, divergence_b},
    {"sin", sin_y, sin_a, NULL}, {"cos", cos_y, cos_a, NULL},
    {"selu", selu_y, selu_a, NULL}, {"mish", mish_y, mish_a, NULL},
    {"gelu_exact", gelu_exact_y, gelu_exact_a, NULL},
    {"hard_swish", hard_swish_y, hard_swish_a, NULL}};

enum { TERMS = sizeof terms / sizeof *terms };

const term *term_of(const char *op)
{
    for (int i = 0; i < TERMS; i++)
        if (strcmp(terms[i].name, op) == 0)
            return &terms[i];
    return NULL;
}

const char *term_name(int i) { return i < TERMS ? terms[i].name : NULL; }
