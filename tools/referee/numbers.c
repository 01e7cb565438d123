/* SPDX-License-Identifier: BSD-3-Clause */
/* See numbers.h. */
#include "numbers.h"

#include <string.h>

int soft_tiny = TINY_AFTER;
long soft_corner;

f32 f_of(float x) /* a constant, or a number of a file */
{
    f32 b;

    memcpy(&b, &x, 4);
    return b;
}

int f_exp(f32 a) { return (int)(a >> 23 & 255); }
int f_nan(f32 a) { return f_exp(a) == 255 && (a & 0x7fffff); }
int f_inf(f32 a) { return (a & 0x7fffffff) == INF32; }
int f_zero(f32 a) { return f_exp(a) == 0; }

static int top_bit(uint64_t m)
{
    int n = 0;

    for (int s = 32; s; s /= 2)
        if (m >> s) {
            m >>= s;
            n += s;
        }
    return n;
}

/* m, not 0, to `digits` bits without the first one, to nearest, ties to even;
 * *e: of m's first bit, and then of the result's. */
static uint64_t to_digits(uint64_t m, int digits, int *e)
{
    int drop = top_bit(m) - digits;
    uint64_t q;

    *e += drop + digits;
    if (drop > 0) {
        uint64_t half = UINT64_C(1) << (drop - 1), rest = m & (2 * half - 1);

        q = m >> drop;
        q += rest > half || (rest == half && (q & 1));
    } else {
        q = m << -drop;
    }
    *e += (int)(q >> (digits + 1));
    return (q >> (q >> (digits + 1))) & ((UINT64_C(1) << digits) - 1);
}

/* m 2^e, m not 0, bit 0 of m standing for all that was shifted out. */
f32 f_round(uint32_t sign, uint64_t m, int e)
{
    int below = top_bit(m) + e + 127 <= 0;
    uint64_t q = to_digits(m, 23, &e);

    e += 127;
    if (below && e > 0) {
        soft_corner++;
        if (soft_tiny == TINY_BEFORE)
            return sign;
    }
    if (e <= 0)
        return sign;
    if (e >= 255)
        return sign | INF32;
    return sign | (uint32_t)e << 23 | (uint32_t)q;
}

static uint64_t jam(uint64_t m, int n) /* m >> n, its last bit sticky */
{
    if (n <= 0)
        return m;
    return n > 63 ? m != 0 : m >> n | ((m << (64 - n)) != 0);
}

/* A double has more than twice the digits: a product of two floats is exact, a
 * sum that is rounded to odd is then rounded as if once, and so are quotients
 * and roots, none of which comes so near to 2^-126 that this would show. */
f32 f_fma(f32 a, f32 b, f32 c)
{
    return f_from(d_sum(d_mul(d_from(a), d_from(b)), d_from(c), 1));
}

f32 f_neg(f32 a) { return a ^ 0x80000000u; }
f32 f_abs(f32 a) { return a & 0x7fffffffu; }
f32 f_add(f32 a, f32 b) { return f_from(d_sum(d_from(a), d_from(b), 1)); }
f32 f_sub(f32 a, f32 b) { return f_add(a, f_neg(b)); }

f32 f_mul(f32 a, f32 b) { return f_from(d_mul(d_from(a), d_from(b))); }
f32 f_div(f32 a, f32 b) { return f_from(d_div(d_from(a), d_from(b))); }
f32 f_sqrt(f32 a) { return f_from(d_sqrt(d_from(a))); }

int f_lt(f32 a, f32 b) { return d_lt(d_from(a), d_from(b)); }

int f_equal(f32 a, f32 b)
{
    return !f_lt(a, b) && !f_lt(b, a) && !f_nan(a) && !f_nan(b);
}

f32 f_min(f32 a, f32 b) { return f_lt(a, b) ? a : b; }
f32 f_max(f32 a, f32 b) { return f_lt(b, a) ? a : b; }

f32 f_int(int64_t n) { return f_from(d_int(n)); }
int32_t f_trunc(f32 a) { return (int32_t)d_trunc(d_from(a)); }

f32 f_floor(f32 a)
{
    f32 t;

    if (f_exp(a) >= 150)
        return a;
    t = f_int(f_trunc(a));
    if (f_lt(a, t))
        t = f_sub(t, 0x3f800000u);
    return t | (a & 0x80000000u);
}

f32 f_recorded(f32 a)
{
    return f_nan(a) ? NAN32 : f_zero(a) ? a & 0x80000000u : a;
}

f64 d_of(double x) /* a constant, or a number of a file */
{
    f64 b;

    memcpy(&b, &x, 8);
    return b;
}

static int d_exp(f64 a) { return (int)(a >> 52 & 2047); }
static int d_nan(f64 a) { return d_exp(a) == 2047 && a << 12; }
static int d_inf(f64 a) { return (a & ~SIGN64) == INF64; }
int d_zero(f64 a) { return d_exp(a) == 0; } /* denormals too */
static uint64_t d_man(f64 a)
{
    return (a & 0xfffffffffffffu) | 0x10000000000000u;
}

static f64 d_round(uint64_t sign, uint64_t m, int e)
{
    uint64_t q = to_digits(m, 52, &e);

    e += 1023;
    if (e <= 0)
        return sign;
    return e >= 2047 ? sign | INF64 : sign | (uint64_t)e << 52 | q;
}

f64 d_neg(f64 a) { return a ^ SIGN64; }

f64 d_sum(f64 a, f64 b, int to_odd)
{
    uint64_t sa = a & SIGN64, sb = b & SIGN64, x, y;
    int e = d_exp(a) > d_exp(b) ? d_exp(a) : d_exp(b), drop;

    if (d_nan(a) || d_nan(b) || (d_inf(a) && d_inf(b) && sa != sb))
        return NAN64;
    if (d_inf(a) || d_inf(b))
        return d_inf(a) ? a : b;
    if (d_zero(a) || d_zero(b))
        return !d_zero(a) ? a : !d_zero(b) ? b : sa == sb ? sa : 0;
    x = jam(d_man(a) << 10, e - d_exp(a));
    y = jam(d_man(b) << 10, e - d_exp(b));
    if (sa != sb && x == y)
        return 0;
    sa = x < y ? sb : sa;
    x = (a ^ b) >> 63 == 0 ? x + y : x < y ? y - x : x - y;
    drop = to_odd && top_bit(x) > 52 ? top_bit(x) - 52 : 0;
    return d_round(sa, jam(x, drop), e - 1085 + drop);
}

f64 d_add(f64 a, f64 b) { return d_sum(a, b, 0); }
f64 d_sub(f64 a, f64 b) { return d_add(a, d_neg(b)); }

f64 d_mul(f64 a, f64 b)
{
    uint64_t s = (a ^ b) & SIGN64, ah, al, bh, bl, low, mid, high;

    if (d_nan(a) || d_nan(b) || (d_inf(a) && d_zero(b)) ||
        (d_zero(a) && d_inf(b)))
        return NAN64;
    if (d_inf(a) || d_inf(b))
        return s | INF64;
    if (d_zero(a) || d_zero(b))
        return s;
    ah = d_man(a) >> 32;
    al = d_man(a) & 0xffffffffu;
    bh = d_man(b) >> 32;
    bl = d_man(b) & 0xffffffffu;
    mid = ah * bl + al * bh;
    low = al * bl + (mid << 32);
    high = ah * bh + (mid >> 32) + (low < mid << 32);
    return d_round(s, high << 21 | jam(low, 43),
                   d_exp(a) + d_exp(b) - 2150 + 43);
}

f64 d_div(f64 a, f64 b)
{
    uint64_t s = (a ^ b) & SIGN64, rest, q = 0;

    if (d_nan(a) || d_nan(b) || (d_inf(a) && d_inf(b)) ||
        (d_zero(a) && d_zero(b)))
        return NAN64;
    if (d_inf(a) || d_zero(b))
        return s | INF64;
    if (d_zero(a) || d_inf(b))
        return s;
    rest = d_man(a);
    for (int i = 0; i < 57; i++, rest <<= 1) {
        q <<= 1;
        if (rest >= d_man(b)) {
            rest -= d_man(b);
            q |= 1;
        }
    }
    return d_round(s, q << 1 | (rest != 0), d_exp(a) - d_exp(b) - 57);
}

/* Digit by digit, two bits of the number for one of the root, and one more that
 * says which way to round. */
f64 d_sqrt(f64 a)
{
    uint64_t m = d_man(a), root = 0, rest = 0;
    int e = d_exp(a) - 1075;

    if (d_zero(a) || d_nan(a) || a == INF64)
        return d_zero(a) ? a & SIGN64 : a;
    if (a >> 63)
        return NAN64;
    if (e & 1) {
        m <<= 1;
        e--;
    }
    for (int i = 53; i >= -54; i -= 2) { /* m 2^54 has 108 bits */
        uint64_t two = i > 0 ? m >> (i - 1) & 3 : i == 0 ? (m & 1) << 1 : 0;

        rest = rest << 2 | two;
        root <<= 1;
        if (rest >= 2 * root + 1) {
            rest -= 2 * root + 1;
            root++;
        }
    }
    return d_round(0, root << 1 | (rest != 0), e / 2 - 28);
}

int d_lt(f64 a, f64 b)
{
    int64_t x = d_zero(a) ? 0 : (int64_t)(a & ~SIGN64);
    int64_t y = d_zero(b) ? 0 : (int64_t)(b & ~SIGN64);

    if (d_nan(a) || d_nan(b))
        return 0;
    return (a >> 63 ? -x : x) < (b >> 63 ? -y : y);
}

f64 d_int(int64_t n)
{
    return n ? d_round(n < 0 ? SIGN64 : 0,
                       n < 0 ? 0 - (uint64_t)n : (uint64_t)n, 0)
             : 0;
}

/* Toward zero; of what is below 2^62 in size. */
int64_t d_trunc(f64 a)
{
    int e = d_exp(a) - 1075;
    uint64_t m = d_exp(a) < 1023 ? 0
                 : e >= 0        ? d_man(a) << (e < 10 ? e : 10)
                                 : d_man(a) >> -e;

    return a >> 63 ? -(int64_t)m : (int64_t)m;
}

f64 d_from(f32 a)
{
    if (f_nan(a))
        return NAN64;
    if (f_inf(a) || f_zero(a))
        return (f64)(a >> 31) << 63 | (f_inf(a) ? INF64 : 0);
    return (f64)(a >> 31) << 63 | (f64)(f_exp(a) + 896) << 52 |
           (f64)(a & 0x7fffff) << 29;
}

f32 f_from(f64 a)
{
    uint32_t s = (uint32_t)(a >> 63) << 31;

    if (d_nan(a))
        return NAN32;
    if (d_inf(a) || d_zero(a))
        return s | (d_inf(a) ? INF32 : 0);
    return f_round(s, d_man(a), d_exp(a) - 1075);
}
