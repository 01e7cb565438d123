/* SPDX-License-Identifier: BSD-3-Clause */
/* Everything here is plain double arithmetic in a written order, so it gives
 * the same bits everywhere.  Where a double is too short, numbers are pairs
 * (double-double): hi + lo, |lo| at most half an ulp of hi (Dekker 1971). */
#include "base/scalar.h"
#include "base/assert.h"

#include <math.h>
#include <string.h>

/* ------ sinf, cosf ------ */

/* The algorithm and the coefficients of Arm's optimized routines, which glibc
 * has used since 2.28: reduce by multiples of pi/2 in double, then a polynomial
 * of degree 7 (sine) or 8 (cosine). */
static const double sin_c[3] = {-0x1.555545995a603p-3, 0x1.1107605230bc4p-7,
                                -0x1.994eb3774cf24p-13};
static const double cos_c[5] = {0x1p0, -0x1.ffffffd0c621cp-2,
                                0x1.55553e1068f19p-5, -0x1.6c087e89a359dp-10,
                                0x1.99343027bf8c3p-16};

/* 4/pi: word i holds 32 of its bits, 8 further right than word i - 1. */
static const uint32_t four_over_pi[24] = {
    0xa2,       0xa2f9,     0xa2f983,   0xa2f9836e, 0xf9836e4e, 0x836e4e44,
    0x6e4e4415, 0x4e441529, 0x441529fc, 0x1529fc27, 0x29fc2757, 0xfc2757d1,
    0x2757d1f5, 0x57d1f534, 0xd1f534dd, 0xf534ddc0, 0x34ddc0db, 0xddc0db62,
    0xc0db6295, 0xdb629599, 0x6295993c, 0x95993c43, 0x993c4390, 0x3c439041,
};

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static double sin_poly(double x)
{
    double x2 = x * x, x3 = x * x2;
    double high = sin_c[1] + x2 * sin_c[2];
    return (x + x3 * sin_c[0]) + (x3 * x2) * high;
}

static double cos_poly(double x)
{
    double x2 = x * x, x4 = x2 * x2;
    double high = cos_c[3] + x2 * cos_c[4];
    double low = (cos_c[0] + x2 * cos_c[1]) + x4 * cos_c[2];
    return low + (x4 * x2) * high;
}

/* x - n pi/2 for |x| < 120.  Both products and the first difference are exact,
 * so this rounds once, as glibc does where there is an FMA. */
static double reduce(double x, int *n)
{
    int32_t turns = (int32_t)(x * 0x1.45f306dc9c883p+23);
    *n = (turns + 0x800000) >> 24;
    return (x - *n * 0x1.921fb544p0) - *n * 0x1.0b46p-34;
}

/* The same beyond: 96 bits of 4/pi at the right place times the mantissa. */
static double reduce_far(uint32_t bits, int *n)
{
    const uint32_t *p = four_over_pi + (bits >> 26 & 15);
    uint32_t m = ((bits & 0xffffff) | 0x800000) << (bits >> 23 & 7);
    uint64_t x = (uint64_t)(m * p[0]) << 32;
    x |= (uint64_t)m * p[8] >> 32;
    x += (uint64_t)m * p[4];
    uint64_t turns = (x + (UINT64_C(1) << 61)) >> 62;
    x -= turns << 62;
    *n = bits >> 31 ? -(int)turns : (int)turns;
    double r = (double)(int64_t)x * 0x1.921fb54442d18p-62;
    return bits >> 31 ? -r : r;
}

/* sin(x + quarter pi/2), x finite. */
static float turned(float x, int quarter)
{
    int n = 0;
    double r = (double)x;
    float size = __builtin_fabsf(x);
    if (size >= 120.0f)
        r = reduce_far(bits_of(x), &n);
    else if (size >= 0x1.92p-1f)
        r = reduce(r, &n);
    n += quarter;
    double y = n & 1 ? cos_poly(r) : sin_poly(r);
    return (float)(n & 2 ? -y : y);
}

float ls__sinf(float x)
{
    if (!(__builtin_fabsf(x) <= 0x1.fffffep+127f))
        return NAN;
    return __builtin_fabsf(x) < 0x1p-12f ? x : turned(x, 0);
}

float ls__cosf(float x)
{
    if (!(__builtin_fabsf(x) <= 0x1.fffffep+127f))
        return NAN;
    return __builtin_fabsf(x) < 0x1p-12f ? 1.0f : turned(x, 1);
}

/* ------ pairs of doubles ------ */

typedef struct dd {
    double hi, lo;
} dd;

static const double ln2_hi = 0x1.62e42fefa39efp-1;
static const double ln2_lo = 0x1.abc9e3b39803fp-56;

/* a + b exactly, |a| >= |b|. */
static dd fast_sum(double a, double b)
{
    double s = a + b;
    return (dd){s, b - (s - a)};
}

/* a + b exactly. */
static dd sum(double a, double b)
{
    double s = a + b, t = s - a;
    return (dd){s, (a - (s - t)) + (b - t)};
}

/* The upper 26 bits of a; what is left fits in 26 too. */
static double upper(double a)
{
    double c = 0x1.0000002p+27 * a;
    return c - (c - a);
}

/* a * b exactly, for products between 2^-960 and 2^990. */
static dd product(double a, double b)
{
    double p = a * b, ah = upper(a), bh = upper(b), al = a - ah, bl = b - bh;
    return (dd){p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}

static dd dd_add(dd a, dd b)
{
    dd s = sum(a.hi, b.hi);
    return fast_sum(s.hi, s.lo + (a.lo + b.lo));
}

static dd dd_mul(dd a, dd b)
{
    dd p = product(a.hi, b.hi);
    return fast_sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

static dd dd_div(dd a, dd b)
{
    double q = a.hi / b.hi;
    dd p = product(q, b.hi);
    double rest = ((a.hi - p.hi) - p.lo) + (a.lo - q * b.lo);
    return fast_sum(q, rest / b.hi);
}

/* ------ log, powers, cos ------ */

/* x = 2^e m, m in [sqrt(1/2), sqrt(2)), for x above 0 and finite. */
static double split(double x, int *e)
{
    int64_t bits, one = INT64_C(1) << 52, half_root = 0x3fe6a09e667f3bcd;
    *e = 0;
    if (x < 0x1p-1022) {
        x *= 0x1p54;
        *e = -54;
    }
    memcpy(&bits, &x, sizeof bits);
    int64_t up = (bits - half_root) >> 52;
    *e += (int)up;
    bits -= up * one;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* log m = 2 atanh(s) = 2 (s + s^3/3 + s^5/5 + ...), s = (m-1) / (m+1), where
 * |s| < 0.172; s and s^2/3 are pairs, the rest is below 2^-12 of s. */
static dd log_near_1(double m)
{
    dd s = dd_div((dd){m - 1.0, 0.0}, sum(m, 1.0));
    dd s2 = dd_mul(s, s);
    double rest = 0.0;
    for (int k = 23; k >= 5; k -= 2)
        rest = rest * s2.hi + 1.0 / k;
    dd third = dd_div(s2, (dd){3.0, 0.0});
    dd factor = dd_add(third, (dd){s2.hi * s2.hi * rest, 0.0});
    dd y = dd_add(s, dd_mul(s, factor));
    return (dd){2.0 * y.hi, 2.0 * y.lo};
}

double ls__log(double x)
{
    int e;
    if (x == 0.0)
        return -(double)INFINITY;
    if (!(x > 0.0))
        return (double)NAN;
    if (x == (double)INFINITY)
        return x;
    dd y = log_near_1(split(x, &e));
    y = dd_add(dd_mul((dd){e, 0.0}, (dd){ln2_hi, ln2_lo}), y);
    return y.hi + y.lo;
}

float ls__pow_n(float base, int64_t n)
{
    dd power = {1.0, 0.0}, square = {(double)base, 0.0};

    LS__ASSERT(n >= 0);
    for (; n > 0 && power.hi != 0.0; n /= 2) {
        if (n % 2)
            power = dd_mul(power, square);
        square = dd_mul(square, square);
    }
    return (float)(power.hi + power.lo);
}

/* e^x, |x| < 700: n ln 2 is taken off; a Taylor series on [-0.35, 0.35]. */
double ls__exp(double x)
{
    int64_t n = (int64_t)(x / ln2_hi + (x < 0.0 ? -0.5 : 0.5));
    double r = x - (double)n * 0x1.62e42fefap-1;
    r -= (double)n * 0x1.cf79abc9e3b39p-40;
    double y = 1.0;
    for (int k = 14; k > 0; k--)
        y = 1.0 + y * r / k;
    int64_t bits = (n + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return y * power;
}

float ls__powf(float base, float x)
{
    double y = (double)x * ls__log((double)base);
    if (x == 0.0f || base == 1.0f)
        return 1.0f;
    if (y > 89.0 || y < -104.0)
        return y > 0.0 ? INFINITY : 0.0f;
    return (float)ls__exp(y);
}

void ls__angles(float *out, int64_t steps, int64_t d, float base)
{
    int64_t half = d / 2;

    LS__ASSERT(d % 2 == 0 && steps >= 0);
    for (int64_t i = 0; i < half; i++) {
        float by = 1.0f / ls__powf(base, (float)(2 * i) / (float)d);

        for (int64_t t = 0; t < steps; t++) {
            out[t * d + i] = ls__cosf((float)t * by);
            out[t * d + half + i] = ls__sinf((float)t * by);
        }
    }
}
