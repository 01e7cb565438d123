/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of one number, each a fixed sequence of roundings. */
#include "numbers.h"

/* ------ functions ------ */

f32 horner(f32 x, const float *c, int n)
{
    f32 p = F(c[0]);

    for (int i = 1; i < n; i++)
        p = f_fma(p, x, F(c[i]));
    return p;
}

f32 clamp(f32 x, float low, float high)
{
    return f_min(F(high), f_max(F(low), x));
}

/* e^x = (1 + y) 2^n with n = round(x / ln 2): y, and 2^n as *power. */
static f32 exp_parts(f32 x, f32 *power)
{
    static const float c[] = {0x1.a0d2cep-13f, 0x1.6e879cp-10f, 0x1.11121p-7f,
                              0x1.555382p-5f,  0x1.555554p-3f,  0x1p-1f};
    f32 n, r;

    x = clamp(x, -87.8f, 88.8f);
    n = f_floor(f_fma(x, F(0x1.715476p+0f), F(0.5f)));
    n = clamp(n, -127.0f, 127.0f);
    r = f_fma(f_neg(n), F(0x1.63p-1f), x);
    r = f_fma(f_neg(n), F(-0x1.bd0106p-13f), r);
    *power = (uint32_t)(f_trunc(n) + 127) << 23;
    return f_fma(horner(r, c, 6), f_mul(r, r), r);
}

f32 e_exp(f32 x)
{
    f32 power, y = exp_parts(x, &power);

    return f_nan(x) ? NAN32 : f_mul(f_add(y, F(1.0f)), power);
}

f32 e_tanh(f32 x)
{
    static const float num[] = {-0x1.3e4b8p-52f, 0x1.c266fcp-43f,
                                -0x1.7a6ffep-34f, 0x1.b80082p-25f,
                                0x1.f28694p-17f, 0x1.4e1bdap-11f,
                                0x1.40b3b8p-8f};
    static const float den[] = {0x1.41a7bp-20f, 0x1.f12bacp-14f,
                                0x1.29540ap-9f, 0x1.40b3bap-8f};
    f32 v = clamp(x, -0x1.ffec88p+2f, 0x1.ffec88p+2f), z = f_mul(v, v);
    f32 y = f_div(f_mul(v, horner(z, num, 7)), horner(z, den, 4));

    if (f_lt(f_abs(x), F(4e-4f)))
        y = x;
    return f_lt(f_abs(x), F(20.0f)) || f_nan(x) ? y
                                               : F(1.0f) | (x & 0x80000000u);
}

f32 e_log(f32 x) /* of what is positive and finite */
{
    static const float ca[] = {0x1.204376p-4f, -0x1.d7a37p-4f, 0x1.de4a34p-4f};
    static const float cb[] = {-0x1.fcba9ep-4f, 0x1.23d37ep-3f, -0x1.555cap-3f};
    static const float cc[] = {0x1.999d58p-3f, -0x1.fffff8p-3f, 0x1.555554p-2f};
    f32 e = f_int((int)(x >> 23) - 127);
    f32 m = (x & 0x807fffffu) | 0x3f000000u, t, z, c, p, q, r;
    int low = f_lt(m, F(0x1.6a09e6p-1f));

    e = f_sub(f_add(e, F(1.0f)), low ? F(1.0f) : 0);
    t = f_add(f_sub(m, F(1.0f)), low ? m : 0);
    z = f_mul(t, t);
    c = f_mul(z, t);
    p = f_fma(horner(t, ca, 3), c, horner(t, cb, 3));
    p = f_fma(p, c, horner(t, cc, 3));
    q = f_fma(c, p, f_mul(e, F(-0x1.bd0106p-13f)));
    r = f_add(f_fma(F(-0.5f), z, t), q);
    return f_fma(e, F(0x1.63p-1f), r);
}

static f32 gelu_tanh(f32 x)
{
    f32 u = f_mul(f_mul(x, x), x);

    return e_tanh(f_mul(F(0x1.988454p-1f), f_fma(F(0.044715f), u, x)));
}

f32 e_gelu(f32 x)
{
    return f_mul(f_mul(F(0.5f), x), f_add(F(1.0f), gelu_tanh(x)));
}

f32 e_gelu_slope(f32 x)
{
    f32 t = gelu_tanh(x), three = f_mul(F(3.0f), F(0.044715f));
    f32 du = f_mul(F(0x1.988454p-1f), f_fma(three, f_mul(x, x), F(1.0f)));
    f32 dt = f_fma(f_neg(t), t, F(1.0f));

    return f_fma(f_mul(f_mul(F(0.5f), x), dt), du,
                 f_mul(F(0.5f), f_add(F(1.0f), t)));
}

f32 times_slope(f32 d, f32 slope)
{
    return f_zero(slope) ? 0 : f_mul(d, slope);
}

/* ------ functions of one number in double ------ */

typedef struct pair { /* hi + lo, lo at most half of hi's last place */
    f64 hi, lo;
} pair;

static pair fast_sum(f64 a, f64 b) /* exactly, a being the larger */
{
    f64 s = d_add(a, b);
    pair p = {s, d_sub(b, d_sub(s, a))};

    return p;
}

static pair exact_sum(f64 a, f64 b)
{
    f64 s = d_add(a, b), t = d_sub(s, a);
    pair p = {s, d_add(d_sub(a, d_sub(s, t)), d_sub(b, t))};

    return p;
}

static f64 upper_half(f64 a)
{
    f64 c = d_mul(D(134217729.0), a);

    return d_sub(c, d_sub(c, a));
}

static pair exact_product(f64 a, f64 b)
{
    f64 p = d_mul(a, b), ah = upper_half(a), bh = upper_half(b);
    f64 al = d_sub(a, ah), bl = d_sub(b, bh), rest;
    pair out = {p, 0};

    rest = d_add(d_sub(d_mul(ah, bh), p), d_mul(ah, bl));
    out.lo = d_add(d_add(rest, d_mul(al, bh)), d_mul(al, bl));
    return out;
}

static pair pair_add(pair a, pair b)
{
    pair s = exact_sum(a.hi, b.hi);

    return fast_sum(s.hi, d_add(s.lo, d_add(a.lo, b.lo)));
}

static pair pair_mul(pair a, pair b)
{
    pair p = exact_product(a.hi, b.hi);

    return fast_sum(p.hi, d_add(p.lo, d_add(d_mul(a.hi, b.lo),
                                            d_mul(a.lo, b.hi))));
}

static pair pair_div(pair a, pair b)
{
    f64 q = d_div(a.hi, b.hi), rest;
    pair p = exact_product(q, b.hi);

    rest = d_add(d_sub(d_sub(a.hi, p.hi), p.lo), d_sub(a.lo, d_mul(q, b.lo)));
    return fast_sum(q, d_div(rest, b.hi));
}

static pair pair_of(f64 x)
{
    pair p = {x, 0};

    return p;
}

/* log m = 2 atanh(s) = 2 (s + s^3/3 + ..), s = (m - 1) / (m + 1) */
static pair log_near_1(f64 m)
{
    pair s = pair_div(pair_of(d_sub(m, D(1.0))), exact_sum(m, D(1.0)));
    pair s2 = pair_mul(s, s), third = pair_div(s2, pair_of(D(3.0))), y;
    f64 rest = 0;

    for (int k = 23; k >= 5; k -= 2)
        rest = d_add(d_mul(rest, s2.hi), d_div(D(1.0), d_int(k)));
    rest = d_mul(d_mul(s2.hi, s2.hi), rest);
    y = pair_add(s, pair_mul(s, pair_add(third, pair_of(rest))));
    y.hi = d_mul(D(2.0), y.hi);
    y.lo = d_mul(D(2.0), y.lo);
    return y;
}

/* Of what is positive and finite: x = 2^e m, m from sqrt(1/2) to sqrt(2). */
f64 d_log(f64 x)
{
    int64_t up = (int64_t)(x - 0x3fe6a09e667f3bcdu) >> 52;
    pair ln2 = {D(0x1.62e42fefa39efp-1), D(0x1.abc9e3b39803fp-56)}, y;

    y = log_near_1(x - ((uint64_t)up << 52));
    y = pair_add(pair_mul(pair_of(d_int(up)), ln2), y);
    return d_add(y.hi, y.lo);
}

/* e^x: n ln 2 is taken off; a Taylor series. */
static f64 d_exp_of(f64 x)
{
    f64 n = d_add(d_div(x, D(0x1.62e42fefa39efp-1)),
                  D(x >> 63 ? -0.5 : 0.5)), r, y = D(1.0);
    int64_t whole = d_trunc(n);

    r = d_sub(x, d_mul(d_int(whole), D(0x1.62e42fefap-1)));
    r = d_sub(r, d_mul(d_int(whole), D(0x1.cf79abc9e3b39p-40)));
    for (int k = 14; k > 0; k--)
        y = d_add(D(1.0), d_div(d_mul(y, r), d_int(k)));
    return d_mul(y, (uint64_t)(whole + 1023) << 52);
}

f32 f_pow(f32 base, f32 x) /* base above 0 */
{
    f64 y;

    if (f_zero(x) || base == F(1.0f))
        return F(1.0f);
    y = d_mul(d_from(x), d_log(d_from(base)));
    if (d_lt(D(89.0), y) || d_lt(y, D(-104.0)))
        return y >> 63 ? 0 : INF32;
    return f_from(d_exp_of(y));
}

f32 f_pow_n(f32 base, int64_t n) /* n from 0 up */
{
    pair power = pair_of(D(1.0)), square = pair_of(d_from(base));

    for (; n > 0 && !d_zero(power.hi); n /= 2) {
        if (n % 2)
            power = pair_mul(power, square);
        square = pair_mul(square, square);
    }
    return f_from(d_add(power.hi, power.lo));
}

static f64 poly(f64 x, double a, double b, double c) /* (a + x b) + x x c */
{
    return d_add(d_add(D(a), d_mul(x, D(b))), d_mul(d_mul(x, x), D(c)));
}

static f64 sine_near_0(f64 x)
{
    f64 x2 = d_mul(x, x), x3 = d_mul(x, x2);
    f64 high = d_add(D(0x1.1107605230bc4p-7),
                     d_mul(x2, D(-0x1.994eb3774cf24p-13)));

    return d_add(d_add(x, d_mul(x3, D(-0x1.555545995a603p-3))),
                 d_mul(d_mul(x3, x2), high));
}

static f64 cosine_near_0(f64 x)
{
    f64 x2 = d_mul(x, x), x4 = d_mul(x2, x2);
    f64 high = d_add(D(-0x1.6c087e89a359dp-10),
                     d_mul(x2, D(0x1.99343027bf8c3p-16)));
    f64 low = poly(x2, 1.0, -0x1.ffffffd0c621cp-2, 0x1.55553e1068f19p-5);

    return d_add(low, d_mul(d_mul(x4, x2), high));
}

/* x - n pi/2, for x from 120 up: 96 bits of 4/pi times the mantissa. */
f64 turns_far(f32 bits, int *n)
{
    static const uint32_t four_over_pi[24] = {
        0xa2,       0xa2f9,     0xa2f983,   0xa2f9836e, 0xf9836e4e, 0x836e4e44,
        0x6e4e4415, 0x4e441529, 0x441529fc, 0x1529fc27, 0x29fc2757, 0xfc2757d1,
        0x2757d1f5, 0x57d1f534, 0xd1f534dd, 0xf534ddc0, 0x34ddc0db, 0xddc0db62,
        0xc0db6295, 0xdb629599, 0x6295993c, 0x95993c43, 0x993c4390, 0x3c439041};
    const uint32_t *p = four_over_pi + (bits >> 26 & 15);
    uint32_t m = ((bits & 0xffffff) | 0x800000) << (bits >> 23 & 7);
    uint64_t x = (uint64_t)(uint32_t)(m * p[0]) << 32, turns;
    f64 r;

    x |= (uint64_t)m * p[8] >> 32;
    x += (uint64_t)m * p[4];
    turns = (x + (UINT64_C(1) << 61)) >> 62;
    x -= turns << 62;
    *n = bits >> 31 ? -(int)turns : (int)turns;
    r = d_mul(x >> 63 ? d_neg(d_int((int64_t)(0 - x))) : d_int((int64_t)x),
              D(0x1.921fb54442d18p-62));
    return bits >> 31 ? d_neg(r) : r;
}

/* x - n pi/2, below that. */
static f64 reduce_near(f64 x, int *n)
{
    int64_t turns = d_trunc(d_mul(x, D(0x1.45f306dc9c883p+23)));
    f64 by;

    *n = (int)((turns + 0x800000 - (turns + 0x800000 < 0 ? 0xffffff : 0)) /
               0x1000000);
    by = d_int(*n);
    x = d_sub(x, d_mul(by, D(0x1.921fb544p0)));
    return d_sub(x, d_mul(by, D(0x1.0b46p-34)));
}

/* sin(x + quarter pi/2), x finite. */
static f32 f_turned(f32 x, int quarter)
{
    f64 r = d_from(x), y;
    int n = 0;

    if (!f_lt(f_abs(x), F(120.0f)))
        r = turns_far(x, &n);
    else if (!f_lt(f_abs(x), F(0x1.92p-1f)))
        r = reduce_near(r, &n);
    n += quarter;
    y = n & 1 ? cosine_near_0(r) : sine_near_0(r);
    return f_from(n & 2 ? d_neg(y) : y);
}

f32 f_sin(f32 x)
{
    return f_lt(f_abs(x), F(0x1p-12f)) ? x : f_turned(x, 0);
}

f32 f_cos(f32 x)
{
    return f_lt(f_abs(x), F(0x1p-12f)) ? F(1.0f) : f_turned(x, 1);
}

/* 1 / (1 - b^n) */
f32 correction(f32 base, int64_t n)
{
    if (!f_lt(0, base))
        return F(1.0f);
    return f_div(F(1.0f), f_sub(F(1.0f), f_pow_n(base, n)));
}

/* ------ curves ------ */

f32 e_relu(f32 x) { return f_add(f_max(0, x), 0); }

f32 e_sigmoid(f32 x)
{
    return f_div(F(1.0f), f_add(F(1.0f), e_exp(f_neg(x))));
}

f32 e_sigmoid_slope(f32 x)
{
    f32 e = e_exp(f_neg(f_abs(x))), d = f_add(F(1.0f), e);

    return f_div(e, f_mul(d, d));
}

f32 e_log_any(f32 x)
{
    if (f_nan(x) || f_zero(x))
        return f_nan(x) ? NAN32 : f_neg(INF32);
    if (x >> 31)
        return NAN32;
    return f_inf(x) ? x : e_log(x);
}

f32 e_log1p(f32 x)
{
    static const float num[] = {0x1.7bc096p-15f, 0x1.fe818ap-2f,
                                0x1.a509f4p+2f, 0x1.de9738p+4f,
                                0x1.e798ecp+5f, 0x1.c8e75ap+5f,
                                0x1.40a202p+4f};
    static const float den[] = {0x1p+0f, 0x1.e2035ap+3f, 0x1.4c30b6p+6f,
                                0x1.bb865ap+7f, 0x1.351946p+8f,
                                0x1.b0db14p+7f, 0x1.e0f304p+5f};
    f32 x2 = f_mul(x, x), x3 = f_mul(x, x2);
    f32 r = f_div(horner(x, num, 7), horner(x, den, 7));

    if (f_lt(f_abs(x), F(0x1.a8279ap-2f)))
        return f_add(x, f_fma(F(-0.5f), x2, f_mul(x3, r)));
    return e_log_any(f_add(x, F(1.0f)));
}

f32 log_tail(f32 x) { return e_log1p(e_exp(f_neg(f_abs(x)))); }

/* e^x - 1: the parts of e_exp put together otherwise. */
f32 e_expm1(f32 x)
{
    f32 power, y = exp_parts(x, &power);

    return f_fma(y, power, f_sub(power, F(1.0f)));
}
