/* SPDX-License-Identifier: BSD-3-Clause */
/* The referee: two sides claim different bits for one number of a training
 * step, and agree on what it was made of.  This program makes the number once
 * more and says who is right.
 *
 * It shares no line with the library: C99, the C library, and whole numbers
 * (doubles only where the contract has sums in double), so that any compiler,
 * any flags and any machine give the same verdict.  docs/contract.md says in
 * words what the functions here compute, and names them.
 *
 * Evidence is a text:
 *
 *     lockstep evidence 1
 *     op product                      the rule, see `rules` below
 *     claim 3dc1a0b2 3dc1a0b3         of the first side, of the second
 *     a 3f800000 ...                  what the rule reads, by name: numbers as
 *     a@ 00000000 00000010 ...        eight hexadecimal digits of their bits,
 *     b ...                           and where they stand in which array
 *     @ 00001000 ...                  the arrays: floats and root of each
 *     @proof ...                      that those numbers are theirs
 *
 * Evidence without "@" opens nothing: whose numbers these are is then for
 * others to say, but of a row of the data, which stands under a root in the
 * place of "@".  With records, the arrays must be in each of them; with a
 * transcript, the root.
 *
 * Exit status: 0 the first side is right, 1 the second, 2 neither, 3 the
 * evidence is not as the rule wants it, or does not open.  `referee --rules`
 * lists the rules.
 *
 *     cc -O2 -std=c99 referee.c -o referee && ./referee FILE [RECORD..] */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ====== Single precision by whole numbers ====== */

/* What the contract means by +, x, fused multiply-add, / and the square root.
 * Round to nearest, ties to even; denormals are zeros where they are read, and
 * a result is a zero of its sign if it is below 2^-126 after rounding as if
 * exponents had no end (x86-64) or, with TINY_BEFORE, before rounding (arm64).
 * soft_corner counts the results on which the two differ, so that the verdict
 * can say that this is what happened.  A number is its 32 bits; NaN is always
 * 7fc00000. */
typedef uint32_t f32;

enum { TINY_AFTER, TINY_BEFORE };

static int soft_tiny = TINY_AFTER;
static long soft_corner;

static f32 f_of(float x) /* a constant, or a number of a file */
{
    f32 b;

    memcpy(&b, &x, 4);
    return b;
}

#define NAN32 0x7fc00000u
#define INF32 0x7f800000u

static int f_exp(f32 a) { return (int)(a >> 23 & 255); }
static int f_nan(f32 a) { return f_exp(a) == 255 && (a & 0x7fffff); }
static int f_inf(f32 a) { return (a & 0x7fffffff) == INF32; }
static int f_zero(f32 a) { return f_exp(a) == 0; } /* denormals too */
static uint64_t f_man(f32 a) { return (a & 0x7fffff) | 0x800000; }

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

/* m 2^e, m not 0, bit 0 of m standing for all that was shifted out. */
static f32 f_round(uint32_t sign, uint64_t m, int e)
{
    int top = top_bit(m), drop = top - 23, exp = top + e + 127;
    int below = exp <= 0;
    uint64_t q;

    if (drop > 0) {
        uint64_t half = UINT64_C(1) << (drop - 1), rest = m & (2 * half - 1);

        q = m >> drop;
        q += rest > half || (rest == half && (q & 1));
    } else {
        q = m << -drop;
    }
    if (q >> 24) {
        q >>= 1;
        exp++;
    }
    if (below && exp > 0) {
        soft_corner++;
        if (soft_tiny == TINY_BEFORE)
            return sign;
    }
    if (exp <= 0)
        return sign;
    if (exp >= 255)
        return sign | INF32;
    return sign | (uint32_t)exp << 23 | (uint32_t)(q & 0x7fffff);
}

static uint64_t jam(uint64_t m, int n) /* m >> n, its last bit sticky */
{
    if (n <= 0)
        return m;
    return n > 63 ? m != 0 : m >> n | ((m << (64 - n)) != 0);
}

static f32 f_fma(f32 a, f32 b, f32 c)
{
    uint32_t sp = (a ^ b) & 0x80000000u, sc = c & 0x80000000u;
    uint64_t p, m;
    int ep, ec;

    if (f_nan(a) || f_nan(b) || f_nan(c))
        return NAN32;
    if (f_inf(a) || f_inf(b)) {
        if (f_zero(a) || f_zero(b) || (f_inf(c) && sc != sp))
            return NAN32;
        return sp | INF32;
    }
    if (f_inf(c))
        return c;
    if (f_zero(a) || f_zero(b))
        return !f_zero(c) ? c : sp == sc ? sp : 0;
    p = f_man(a) * f_man(b) << 14;
    ep = f_exp(a) + f_exp(b) - 314;
    if (f_zero(c))
        return f_round(sp, p, ep);
    m = f_man(c) << 37;
    ec = f_exp(c) - 187;
    if (ep < ec) {
        p = jam(p, ec - ep);
        ep = ec;
    } else {
        m = jam(m, ep - ec);
    }
    if (sp == sc)
        return f_round(sp, p + m, ep);
    if (p == m)
        return 0;
    return p > m ? f_round(sp, p - m, ep) : f_round(sc, m - p, ep);
}

static f32 f_neg(f32 a) { return a ^ 0x80000000u; }
static f32 f_abs(f32 a) { return a & 0x7fffffffu; }
static f32 f_add(f32 a, f32 b) { return f_fma(a, 0x3f800000u, b); }
static f32 f_sub(f32 a, f32 b) { return f_add(a, f_neg(b)); }

static f32 f_mul(f32 a, f32 b)
{
    return f_fma(a, b, (a ^ b) & 0x80000000u);
}

static f32 f_div(f32 a, f32 b)
{
    uint32_t s = (a ^ b) & 0x80000000u;
    uint64_t n, q;

    if (f_nan(a) || f_nan(b) || (f_inf(a) && f_inf(b)) ||
        (f_zero(a) && f_zero(b)))
        return NAN32;
    if (f_inf(a) || f_zero(b))
        return s | INF32;
    if (f_zero(a) || f_inf(b))
        return s;
    n = f_man(a) << 38;
    q = n / f_man(b);
    return f_round(s, q << 1 | (n % f_man(b) != 0),
                   f_exp(a) - f_exp(b) - 39);
}

static f32 f_sqrt(f32 a)
{
    uint64_t m, r = 0;
    int e;

    if (f_nan(a))
        return NAN32;
    if (f_zero(a))
        return a & 0x80000000u;
    if (a >> 31)
        return NAN32;
    if (f_inf(a))
        return a;
    m = f_man(a) << 37;
    e = f_exp(a) - 150 - 37;
    if (e % 2) {
        m >>= 1;
        e++;
    }
    for (int bit = 31; bit >= 0; bit--) {
        uint64_t t = r | UINT64_C(1) << bit;

        if (t * t <= m)
            r = t;
    }
    return f_round(0, r << 1 | (r * r != m), e / 2 - 1);
}

/* a < b; with NaN never. */
static int f_lt(f32 a, f32 b)
{
    int64_t x, y;

    if (f_nan(a) || f_nan(b))
        return 0;
    x = f_zero(a) ? 0 : (int64_t)(a & 0x7fffffff);
    y = f_zero(b) ? 0 : (int64_t)(b & 0x7fffffff);
    return (a >> 31 ? -x : x) < (b >> 31 ? -y : y);
}

static f32 f_min(f32 a, f32 b) { return f_lt(a, b) ? a : b; }
static f32 f_max(f32 a, f32 b) { return f_lt(b, a) ? a : b; }

static f32 f_int(int64_t n) /* below 2^62 in size */
{
    return n ? f_round(n < 0 ? 0x80000000u : 0, (uint64_t)(n < 0 ? -n : n), 0)
             : 0;
}

/* Toward zero; of what is below 2^31 in size. */
static int32_t f_trunc(f32 a)
{
    int e = f_exp(a) - 150;
    int64_t m = f_exp(a) < 127 ? 0
                : e >= 0 ? (int64_t)f_man(a) << (e < 32 ? e : 32)
                         : (int64_t)(f_man(a) >> -e);

    return (int32_t)(a >> 31 ? -m : m);
}

static f32 f_floor(f32 a)
{
    f32 t;

    if (f_exp(a) >= 150)
        return a;
    t = f_int(f_trunc(a));
    if (f_lt(a, t))
        t = f_sub(t, 0x3f800000u);
    return t | (a & 0x80000000u);
}

/* ====== Double precision by whole numbers ====== */

/* The same for the few sums and functions of one number that the contract has
 * in double: + - x / and the square root, rounded to nearest, ties to even,
 * what is denormal being zero. */
typedef uint64_t f64;

static f64 d_of(double x) /* a constant, or a number of a file */
{
    f64 b;

    memcpy(&b, &x, 8);
    return b;
}

#define D(x) d_of(x)
#define SIGN64 0x8000000000000000u
#define INF64 0x7ff0000000000000u
#define NAN64 0x7ff8000000000000u

static int d_exp(f64 a) { return (int)(a >> 52 & 2047); }
static int d_nan(f64 a) { return d_exp(a) == 2047 && a << 12; }
static int d_inf(f64 a) { return (a & ~SIGN64) == INF64; }
static int d_zero(f64 a) { return d_exp(a) == 0; } /* denormals too */
static uint64_t d_man(f64 a)
{
    return (a & 0xfffffffffffffu) | 0x10000000000000u;
}

/* m 2^e, m not 0, bit 0 of m standing for all that was shifted out. */
static f64 d_round(uint64_t sign, uint64_t m, int e)
{
    int top = top_bit(m), drop = top - 52, exp = top + e + 1023;
    uint64_t q;

    if (drop > 0) {
        uint64_t half = UINT64_C(1) << (drop - 1), rest = m & (2 * half - 1);

        q = m >> drop;
        q += rest > half || (rest == half && (q & 1));
    } else {
        q = m << -drop;
    }
    if (q >> 53) {
        q >>= 1;
        exp++;
    }
    if (exp <= 0)
        return sign;
    if (exp >= 2047)
        return sign | INF64;
    return sign | (uint64_t)exp << 52 | (q & 0xfffffffffffffu);
}

static f64 d_neg(f64 a) { return a ^ SIGN64; }

static f64 d_add(f64 a, f64 b)
{
    uint64_t sa = a & SIGN64, sb = b & SIGN64, x, y;
    int e = d_exp(a) > d_exp(b) ? d_exp(a) : d_exp(b);

    if (d_nan(a) || d_nan(b) || (d_inf(a) && d_inf(b) && sa != sb))
        return NAN64;
    if (d_inf(a) || d_inf(b))
        return d_inf(a) ? a : b;
    if (d_zero(a) || d_zero(b))
        return !d_zero(a) ? a : !d_zero(b) ? b : sa == sb ? sa : 0;
    x = jam(d_man(a) << 10, e - d_exp(a));
    y = jam(d_man(b) << 10, e - d_exp(b));
    if (sa == sb)
        return d_round(sa, x + y, e - 1085);
    if (x == y)
        return 0;
    return x > y ? d_round(sa, x - y, e - 1085) : d_round(sb, y - x, e - 1085);
}

static f64 d_sub(f64 a, f64 b) { return d_add(a, d_neg(b)); }

static f64 d_mul(f64 a, f64 b)
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

static f64 d_div(f64 a, f64 b)
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

/* Of a positive number: digit by digit, two bits of it for one of the root,
 * and one more that says which way to round. */
static f64 d_sqrt(f64 a)
{
    uint64_t m = d_man(a), root = 0, rest = 0;
    int e = d_exp(a) - 1075;

    if (d_zero(a))
        return 0;
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

static int d_lt(f64 a, f64 b)
{
    int64_t x = d_zero(a) ? 0 : (int64_t)(a & ~SIGN64);
    int64_t y = d_zero(b) ? 0 : (int64_t)(b & ~SIGN64);

    if (d_nan(a) || d_nan(b))
        return 0;
    return (a >> 63 ? -x : x) < (b >> 63 ? -y : y);
}

static f64 d_int(int64_t n)
{
    return n ? d_round(n < 0 ? SIGN64 : 0,
                       n < 0 ? 0 - (uint64_t)n : (uint64_t)n, 0)
             : 0;
}

/* Toward zero; of what is below 2^62 in size. */
static int64_t d_trunc(f64 a)
{
    int e = d_exp(a) - 1075;
    uint64_t m = d_exp(a) < 1023 ? 0
                 : e >= 0        ? d_man(a) << (e < 10 ? e : 10)
                                 : d_man(a) >> -e;

    return a >> 63 ? -(int64_t)m : (int64_t)m;
}

static f64 d_from(f32 a)
{
    if (f_nan(a))
        return NAN64;
    if (f_inf(a) || f_zero(a))
        return (f64)(a >> 31) << 63 | (f_inf(a) ? INF64 : 0);
    return d_round((f64)(a >> 31) << 63, f_man(a), f_exp(a) - 150);
}

static f32 f_from(f64 a)
{
    uint32_t s = (uint32_t)(a >> 63) << 31;

    if (d_nan(a))
        return NAN32;
    if (d_inf(a) || d_zero(a))
        return s | (d_inf(a) ? INF32 : 0);
    return f_round(s, d_man(a), d_exp(a) - 1075);
}

/* ====== How one number of each operator comes about ====== */

/* Arrays are read through strides, so a column of a matrix is as good as a row.
 * The order of every sum is the contract's. */

#define F(x) f_of(x)

/* ------ sums ------ */

/* What a chunk of rows, or K, adds: chains of 256 links from +0. */
static f32 chain(const f32 *a, long da, const f32 *b, long db, long n)
{
    f32 sum = 0;

    for (long i = 0; i < n; i++)
        sum = f_fma(a[i * da], b[i * db], sum);
    return sum;
}

/* c (or nothing) + the chunks of K, in order, +0 added. */
static f32 product(const f32 *c, const f32 *a, long da, const f32 *b, long db,
                   long k)
{
    f32 sum = c ? *c : 0;

    for (long i = 0; i < k; i += 256) {
        f32 one = chain(a + i * da, da, b + i * db, db,
                        k - i < 256 ? k - i : 256);

        sum = i || c ? f_add(sum, one) : one;
    }
    return f_add(sum, 0);
}

/* A column over rows, 256 at a time, added to c if there is one. */
static f32 column(const f32 *c, const f32 *a, long da, long rows)
{
    f32 sum = 0;

    for (long r = 0; r < rows; r += 256) {
        f32 one = 0;

        for (long i = r; i < rows && i < r + 256; i++)
            one = f_add(one, a[i * da]);
        sum = r ? f_add(sum, one) : c ? f_add(*c, one) : one;
    }
    return sum;
}

static f32 lanes(const f32 lane[16])
{
    f32 x[16];

    memcpy(x, lane, sizeof x);
    for (int s = 8; s; s /= 2)
        for (int i = 0; i < s; i++)
            x[i] = f_add(x[i], x[i + s]);
    return x[0];
}

/* Along a row: 16 lanes in order, the tree over them, blocks of 4096 added.
 * b NULL: the sum of a; else of a b. */
static f32 row_sum(const f32 *a, const f32 *b, long n)
{
    f32 total = 0;

    for (long i = 0; i < n; i += 4096) {
        f32 lane[16] = {0};

        for (long j = i; j < n && j < i + 4096; j++)
            lane[(j - i) % 16] = b ? f_fma(a[j], b[j], lane[(j - i) % 16])
                                   : f_add(lane[(j - i) % 16], a[j]);
        total = f_add(total, lanes(lane));
    }
    return total;
}

/* ------ functions ------ */

static f32 horner(f32 x, const float *c, int n)
{
    f32 p = F(c[0]);

    for (int i = 1; i < n; i++)
        p = f_fma(p, x, F(c[i]));
    return p;
}

static f32 clamp(f32 x, float low, float high)
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

static f32 e_exp(f32 x)
{
    f32 power, y = exp_parts(x, &power);

    return f_nan(x) ? NAN32 : f_mul(f_add(y, F(1.0f)), power);
}

static f32 e_tanh(f32 x)
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
    return f_lt(f_abs(x), F(20.0f)) ? y : F(1.0f) | (x & 0x80000000u);
}

static f32 e_log(f32 x) /* of what is positive and finite */
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

static f32 e_gelu(f32 x)
{
    return f_mul(f_mul(F(0.5f), x), f_add(F(1.0f), gelu_tanh(x)));
}

static f32 e_gelu_slope(f32 x)
{
    f32 t = gelu_tanh(x), three = f_mul(F(3.0f), F(0.044715f));
    f32 du = f_mul(F(0x1.988454p-1f), f_fma(three, f_mul(x, x), F(1.0f)));
    f32 dt = f_fma(f_neg(t), t, F(1.0f));

    return f_fma(f_mul(f_mul(F(0.5f), x), dt), du,
                 f_mul(F(0.5f), f_add(F(1.0f), t)));
}

static f32 times_slope(f32 d, f32 slope)
{
    return f_zero(slope) ? 0 : f_mul(d, slope);
}

/* ------ layer norm of a row ------ */

static void norm_stats(const f32 *x, long n, f32 eps, f32 *mean, f32 *r)
{
    f32 by = f_div(F(1.0f), f_int(n)), square, var;

    *mean = f_mul(row_sum(x, NULL, n), by);
    square = f_mul(row_sum(x, x, n), by);
    var = f_sub(square, f_mul(*mean, *mean));
    var = f_lt(0, var) ? var : 0;
    *r = f_div(F(1.0f), f_sqrt(f_add(var, eps)));
}

static f32 norm_y(f32 x, f32 mean, f32 r, f32 scale, f32 bias)
{
    return f_fma(f_sub(x, mean), f_mul(r, scale), bias);
}

static f32 norm_xh(f32 x, f32 mean, f32 r)
{
    return f_mul(f_sub(x, mean), r);
}

/* room: 2 n */
static void norm_dx(const f32 *x, const f32 *dy, const f32 *scale, long n,
                    f32 eps, f32 *dx, f32 *room)
{
    f32 by = f_div(F(1.0f), f_int(n)), mean, r, md, mdx;
    f32 *d = room, *xh = room + n;

    norm_stats(x, n, eps, &mean, &r);
    for (long j = 0; j < n; j++) {
        d[j] = f_mul(dy[j], scale[j]);
        xh[j] = norm_xh(x[j], mean, r);
    }
    md = f_mul(row_sum(d, NULL, n), by);
    mdx = f_neg(f_mul(row_sum(d, xh, n), by));
    for (long j = 0; j < n; j++)
        dx[j] = f_mul(r, f_fma(mdx, xh[j], f_sub(d[j], md)));
}

/* ------ softmax, cross entropy of a row ------ */

static f32 row_top(const f32 *x, long n)
{
    f32 top = f_neg(INF32);

    for (long j = 0; j < n; j++)
        top = f_max(x[j], top);
    return top;
}

/* e: the exponentials */
static f32 row_exp(const f32 *x, long n, f32 top, f32 *e)
{
    for (long j = 0; j < n; j++)
        e[j] = e_exp(f_sub(x[j], top));
    return row_sum(e, NULL, n);
}

/* The loss, and dx of weight w. */
static f32 cross_entropy(const f32 *x, long n, int label, f32 w, f32 *dx)
{
    f32 top = row_top(x, n), sum = row_exp(x, n, top, dx);
    f32 by = f_div(F(1.0f), sum);

    for (long j = 0; j < n; j++) {
        dx[j] = f_mul(dx[j], by);
        if (j == label)
            dx[j] = f_sub(dx[j], F(1.0f));
        dx[j] = f_mul(dx[j], w);
    }
    return f_sub(e_log(sum), f_sub(x[label], top));
}

/* ------ after the gradients ------ */

static f32 tree(f32 *x, long n) /* over devices; x is used up */
{
    for (long s = 1; s < n; s *= 2)
        for (long i = 0; i + s < n; i += 2 * s)
            x[i] = f_add(x[i], x[i + s]);
    return x[0];
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
static f64 d_log(f64 x)
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

static f32 f_pow(f32 base, f32 x) /* base above 0 */
{
    f64 y;

    if (f_zero(x) || base == F(1.0f))
        return F(1.0f);
    y = d_mul(d_from(x), d_log(d_from(base)));
    if (d_lt(D(89.0), y) || d_lt(y, D(-104.0)))
        return y >> 63 ? 0 : INF32;
    return f_from(d_exp_of(y));
}

static f32 f_pow_n(f32 base, int64_t n) /* n from 0 up */
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
static f64 reduce_far(f32 bits, int *n)
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
        r = reduce_far(x, &n);
    else if (!f_lt(f_abs(x), F(0x1.92p-1f)))
        r = reduce_near(r, &n);
    n += quarter;
    y = n & 1 ? cosine_near_0(r) : sine_near_0(r);
    return f_from(n & 2 ? d_neg(y) : y);
}

static f32 f_sin(f32 x)
{
    return f_lt(f_abs(x), F(0x1p-12f)) ? x : f_turned(x, 0);
}

static f32 f_cos(f32 x)
{
    return f_lt(f_abs(x), F(0x1p-12f)) ? F(1.0f) : f_turned(x, 1);
}

/* 1 / (1 - b^n) */
static f32 correction(f32 base, int64_t n)
{
    if (!f_lt(0, base))
        return F(1.0f);
    return f_div(F(1.0f), f_sub(F(1.0f), f_pow_n(base, n)));
}

/* ------ elementwise terms: the value, and what its gradient gives ------ */

static f32 e_relu(f32 x) { return f_add(f_max(0, x), 0); }

static f32 e_sigmoid(f32 x)
{
    return f_div(F(1.0f), f_add(F(1.0f), e_exp(f_neg(x))));
}

static f32 e_sigmoid_slope(f32 x)
{
    f32 e = e_exp(f_neg(f_abs(x))), d = f_add(F(1.0f), e);

    return f_div(e, f_mul(d, d));
}

static f32 e_log_any(f32 x)
{
    if (f_nan(x) || f_zero(x))
        return f_nan(x) ? NAN32 : f_neg(INF32);
    if (x >> 31)
        return NAN32;
    return f_inf(x) ? x : e_log(x);
}

static f32 e_log1p(f32 x)
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

static f32 log_tail(f32 x) { return e_log1p(e_exp(f_neg(f_abs(x)))); }

/* e^x - 1: the parts of e_exp put together otherwise. */
static f32 e_expm1(f32 x)
{
    f32 power, y = exp_parts(x, &power);

    return f_fma(y, power, f_sub(power, F(1.0f)));
}

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

/* What a term is given: operands, its value, that one's gradient, constants. */
typedef struct given {
    f32 a, b, y, d, p, q;
} given;

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

static const struct term {
    const char *name;
    f32 (*y)(given g), (*a)(given g), (*b)(given g);
} terms[] = {
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
    {"gelu_exact", gelu_exact_y, gelu_exact_a, NULL}};
enum { TERMS = sizeof terms / sizeof *terms };

/* ------ more of products ------ */

/* To the upper half of a float, to nearest, ties to even. */
static f32 to_bf16(f32 x)
{
    if (f_nan(x))
        return NAN32;
    return f_zero(x) ? x & 0x80000000u
                     : (x + 0x7fff + (x >> 16 & 1)) & 0xffff0000u;
}

/* What rounding takes of what the parts before leave. */
static f32 bf16_part(f32 x, int part)
{
    for (; part > 0; part--)
        x = f_sub(x, to_bf16(x));
    return to_bf16(x);
}

/* c + (a chain over even places + one over odd ones), of at most 32. */
static f32 bf16_step(f32 c, const f32 *a, const f32 *b, long n, int pa, int pb)
{
    f32 sum[2] = {0, 0};

    for (long i = 0; i < n; i++)
        sum[i % 2] = f_fma(bf16_part(a[i], pa), bf16_part(b[i], pb),
                           sum[i % 2]);
    return f_add(c, f_add(sum[0], sum[1]));
}

static long least(long a, long b) { return a < b ? a : b; }

static f32 bf16_product(const f32 *c, const f32 *a, const f32 *b, long k)
{
    f32 sum = c ? *c : 0;

    for (long i = 0; i < k; i += 32)
        sum = bf16_step(sum, a + i, b + i, least(k - i, 32), 0, 0);
    return f_add(sum, 0);
}

/* A chunk of 256: the small products of all its steps, then the large ones. */
static f32 split_chunk(const f32 *a, const f32 *b, long n, int first)
{
    static const int pa[] = {0, 1, 2, 1, 0, 0}, pb[] = {2, 1, 0, 0, 1, 0};
    f32 sum = 0;

    for (int large = 0; large < 2; large++)
        for (long s = 0; s < n; s += 32)
            for (int q = large ? 5 : first; q < 5 + large; q++)
                sum = bf16_step(sum, a + s, b + s, least(n - s, 32), pa[q],
                                pb[q]);
    return sum;
}

static f32 split_product(const f32 *c, const f32 *a, const f32 *b, long k,
                         int first)
{
    f32 sum = c ? *c : 0;

    for (long i = 0; i < k; i += 256) {
        f32 one = split_chunk(a + i, b + i, least(k - i, 256), first);

        sum = i || c ? f_add(sum, one) : one;
    }
    return f_add(sum, 0);
}

static f32 f32x3_product(const f32 *c, const f32 *a, const f32 *b, long k)
{
    return split_product(c, a, b, k, 3);
}

static f32 f32x6_product(const f32 *c, const f32 *a, const f32 *b, long k)
{
    return split_product(c, a, b, k, 0);
}

static f32 f32_product(const f32 *c, const f32 *a, const f32 *b, long k)
{
    return product(c, a, 1, b, 1, k);
}

/* A list of what is not zero times rows of a table: chains end where the
 * index, of K or of rows, passes a multiple of 256. */
static f32 bag_sum(f32 c, const f32 *value, const f32 *w, const f32 *index,
                   long n)
{
    f32 part = 0;

    for (long i = 0; i < n; i++) {
        if (i && index[i] / 256 != index[i - 1] / 256) {
            c = f_add(c, part);
            part = 0;
        }
        part = f_fma(value[i], w[i], part);
    }
    return f_add(f_add(c, part), 0);
}

/* ------ rms norm, batch norm, rotary positions ------ */

static f32 rms_r(const f32 *x, long n, f32 eps)
{
    f32 square = f_mul(row_sum(x, x, n), f_div(F(1.0f), f_int(n)));

    return f_div(F(1.0f), f_sqrt(f_add(square, eps)));
}

/* room: 2 n */
static f32 rms_dx(const f32 *x, const f32 *dy, const f32 *scale, f32 eps,
                  long n, long at, f32 *room)
{
    f32 r = rms_r(x, n, eps), mean;
    f32 *d = room, *xh = room + n;

    for (long j = 0; j < n; j++) {
        d[j] = f_mul(dy[j], scale[j]);
        xh[j] = f_mul(x[j], r);
    }
    mean = f_neg(f_mul(row_sum(d, xh, n), f_div(F(1.0f), f_int(n))));
    return f_mul(r, f_fma(mean, xh[at], d[at]));
}

/* The angle of pair i of a head of width d at position t. */
static f32 rotary_angle(long t, long i, long d, f32 base)
{
    f32 power = f_div(f_int(2 * i), f_int(d));

    return f_mul(f_int(t), f_div(F(1.0f), f_pow(base, power)));
}

/* ------ poolings and maxima ------ */

/* The number of the largest: the first of equals, the last NaN. */
static long top_at(const f32 *x, long n)
{
    long at = 0;

    for (long i = 1; i < n; i++)
        if (f_lt(x[at], x[i]) || f_nan(x[i]))
            at = i;
    return at;
}

/* Of n that stand in a window: the largest; NaN where one is. */
static f32 greatest(const f32 *x, long n)
{
    return x[top_at(x, n)];
}

/* ------ recurrent cells ------ */

static f32 through_sigmoid(f32 s, f32 d)
{
    return f_mul(d, f_mul(s, f_sub(F(1.0f), s)));
}

static f32 through_tanh(f32 t, f32 d)
{
    return f_mul(d, f_fma(f_neg(t), t, F(1.0f)));
}

/* x, u: the shares of input and state of the gates i, f, g, o; c: the cell
 * before.  out: i, f, g, o, c', h'. */
static void lstm(const f32 *x, const f32 *u, f32 c, f32 out[6])
{
    for (int k = 0; k < 4; k++) {
        f32 gate = f_add(x[k], u[k]);

        out[k] = k == 2 ? e_tanh(gate) : e_sigmoid(gate);
    }
    out[4] = f_fma(out[1], c, f_mul(out[0], out[2]));
    out[5] = f_mul(out[3], e_tanh(out[4]));
}

/* k: the gates; out: the gradients by them, and by the cell before. */
static void lstm_back(const f32 *k, f32 c, f32 next, f32 dh, f32 dy, f32 dc,
                      f32 out[5])
{
    f32 t = e_tanh(next), e;

    dh = f_add(dh, dy);
    e = f_add(dc, through_tanh(t, f_mul(dh, k[3])));
    out[0] = through_sigmoid(k[0], f_mul(e, k[2]));
    out[1] = through_sigmoid(k[1], f_mul(e, c));
    out[2] = through_tanh(k[2], f_mul(e, k[0]));
    out[3] = through_sigmoid(k[3], f_mul(dh, t));
    out[4] = f_mul(e, k[1]);
}

/* Gates r, z, n; out: those, and h'. */
static void gru(const f32 *x, const f32 *u, f32 h, f32 out[4])
{
    out[0] = e_sigmoid(f_add(x[0], u[0]));
    out[1] = e_sigmoid(f_add(x[1], u[1]));
    out[2] = e_tanh(f_fma(out[0], u[2], x[2]));
    out[3] = f_fma(out[1], h, f_mul(f_sub(F(1.0f), out[1]), out[2]));
}

/* out: the gradients by x (3), by the state's share of n, and what of dh passes
 * the gates by. */
static void gru_back(const f32 *k, f32 hn, f32 h, f32 dh, f32 dy, f32 out[5])
{
    dh = f_add(dh, dy);
    out[2] = through_tanh(k[2], f_mul(dh, f_sub(F(1.0f), k[1])));
    out[0] = through_sigmoid(k[0], f_mul(out[2], hn));
    out[1] = through_sigmoid(k[1], f_mul(dh, f_sub(h, k[2])));
    out[3] = f_mul(out[2], k[0]);
    out[4] = f_mul(dh, k[1]);
}

/* ------ random numbers ------ */

/* The threefry2x32 block of a key and a counter, 20 rounds. */
static void threefry(const f32 key[2], uint64_t counter, uint32_t x[2])
{
    static const int turn[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    const uint32_t k[3] = {key[0], key[1], key[0] ^ key[1] ^ 0x1bd11bdau};

    x[0] = (uint32_t)(counter >> 32) + k[0];
    x[1] = (uint32_t)counter + k[1];
    for (int i = 0; i < 5; i++) {
        for (int j = 0; j < 4; j++) {
            int r = turn[i % 2][j];

            x[0] += x[1];
            x[1] = (x[1] << r | x[1] >> (32 - r)) ^ x[0];
        }
        x[0] += k[(i + 1) % 3];
        x[1] += k[(i + 2) % 3] + (uint32_t)i + 1;
    }
}

static uint32_t random_bits(const f32 key[2], uint64_t place)
{
    uint32_t x[2];

    threefry(key, place, x);
    return x[0] ^ x[1];
}

static f32 from_0_to_1(uint32_t bits)
{
    return f_sub(bits >> 9 | 0x3f800000u, F(1.0f));
}

static f32 uniform_of(uint32_t bits, f32 low, f32 high)
{
    f32 x = f_fma(from_0_to_1(bits), f_sub(high, low), low);

    return f_max(low, x);
}

static f32 erf_inverse(f32 x)
{
    static const float centre[] = {
        0x1.e2cb1p-26f, 0x1.70966cp-22f, -0x1.d8e6aep-19f, -0x1.26b582p-18f,
        0x1.ca65b6p-13f, -0x1.48a81p-10f, -0x1.11c9dep-8f, 0x1.f91ec6p-3f,
        0x1.805c5ep+0f};
    static const float tail[] = {
        -0x1.a3e136p-13f, 0x1.a76ad6p-14f, 0x1.61b8e4p-10f, -0x1.e17bcep-9f,
        0x1.7824f6p-8f, -0x1.f38baep-8f, 0x1.354afcp-7f, 0x1.006db6p+0f,
        0x1.6a9efcp+1f};
    f32 w = f_neg(e_log1p(f_mul(x, f_neg(x))));

    if (f_abs(x) == F(1.0f))
        return f_mul(INF32, x);
    if (f_lt(w, F(5.0f)))
        return f_mul(horner(f_sub(w, F(2.5f)), centre, 9), x);
    return f_mul(horner(f_sub(f_sqrt(w), F(3.0f)), tail, 9), x);
}

static f32 normal_of(f32 u) { return f_mul(F(0x1.6a09e6p+0f), erf_inverse(u)); }

static f32 truncated_of(uint32_t bits)
{
    const float edge = 0x1.e8b43p-1f, end = 0x1.fffffep+0f;

    return clamp(normal_of(uniform_of(bits, F(-edge), F(edge))), -end, end);
}

static f32 normal_of_bits(uint32_t bits)
{
    f32 x = f_fma(from_0_to_1(bits), F(2.0f), F(-0x1.fffffep-1f));

    return normal_of(f_max(F(-0x1.fffffep-1f), x));
}

/* ------ updates ------ */

/* What an update is given, and leaves: options are doubles, which kernels round
 * once, as they round 1 - x. */
typedef struct update {
    f32 g, lr, p, m0, m1, m2; /* m0: mu, nu, trace or the sum of squares */
    f32 r1, r2;               /* 1 / (1 - b^n) */
    f64 b1, b2, eps, decay, momentum;
    f32 weight_decay; /* times its schedule's share */
} update;

static f32 option(f64 x) { return f_from(x); }
static f32 complement(f64 x) { return f_from(d_sub(D(1.0), x)); }
static f32 less(const update *u, f32 by)
{
    return f_fma(f_neg(u->lr), by, u->p);
}

static void sgd(update *u) { u->p = less(u, u->g); }

static void momentum(update *u)
{
    u->m0 = f_fma(option(u->momentum), u->m0, u->g);
    u->p = less(u, u->m0);
}

static void nesterov(update *u)
{
    u->m0 = f_fma(option(u->momentum), u->m0, u->g);
    u->p = less(u, f_fma(option(u->momentum), u->m0, u->g));
}

static f32 by_moments(update *u, f32 (*top)(update *u, f32 v))
{
    u->m0 = f_fma(complement(u->b1), u->g, f_mul(option(u->b1), u->m0));
    u->m1 = f_fma(complement(u->b2), f_mul(u->g, u->g),
                  f_mul(option(u->b2), u->m1));
    return f_div(f_mul(u->m0, u->r1),
                 f_add(f_sqrt(top(u, f_mul(u->m1, u->r2))), option(u->eps)));
}

static f32 as_it_is(update *u, f32 v) { return (void)u, v; }
static f32 greatest_yet(update *u, f32 v) { return u->m2 = f_max(u->m2, v); }
static f32 moments(update *u) { return by_moments(u, as_it_is); }

static void amsgrad(update *u) { u->p = less(u, by_moments(u, greatest_yet)); }

static void adam(update *u) { u->p = less(u, moments(u)); }

static void adamw_update(update *u)
{
    u->p = less(u, f_fma(u->weight_decay, u->p, moments(u)));
}

static void rmsprop(update *u)
{
    u->m0 = f_fma(complement(u->decay), f_mul(u->g, u->g),
                  f_mul(option(u->decay), u->m0));
    u->p = less(u, f_mul(f_div(F(1.0f),
                               f_sqrt(f_add(u->m0, option(u->eps)))), u->g));
}

static void adagrad(update *u)
{
    f32 by;

    u->m0 = f_fma(u->g, u->g, u->m0);
    by = f_mul(f_div(F(1.0f), f_sqrt(f_add(u->m0, option(u->eps)))), u->g);
    u->p = less(u, f_zero(u->m0) ? 0 : by);
}

static void lion(update *u)
{
    f32 x = f_fma(complement(u->b1), u->g, f_mul(option(u->b1), u->m0));
    f32 sign = f_lt(x, 0) ? F(-1.0f) : f_lt(0, x) ? F(1.0f) : 0;

    u->m0 = f_fma(complement(u->b2), u->g, f_mul(option(u->b2), u->m0));
    u->p = less(u, f_fma(u->weight_decay, u->p, sign));
}

static const struct rule_of_update {
    const char *name;
    void (*make)(update *u);
} updates[] = {{"sgd", sgd}, {"momentum", momentum}, {"nesterov", nesterov},
               {"adam", adam}, {"adamw", adamw_update}, {"rmsprop", rmsprop},
               {"adagrad", adagrad}, {"lion", lion},
               {"amsgrad", amsgrad}};
enum { UPDATES = sizeof updates / sizeof *updates };

/* ====== Evidence, and the rules that read it ====== */

enum { MOST = 1 << 22, LISTS = 64 };

typedef struct list {
    char name[16];
    long n;
    f32 *x;
    int is_read;
} list;

static list lists[LISTS];
static int count;
static f32 *rooms[LISTS]; /* what the rules took, until the next evidence */
static int taken;

static int refuse(const char *what)
{
    fprintf(stderr, "evidence refused: %s\n", what);
    exit(3);
}

/* A list of n numbers, or any number for n -1. */
static const list *want(const char *name, long n)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(lists[i].name, name)) {
            if (n >= 0 && lists[i].n != n)
                refuse(name);
            lists[i].is_read = 1;
            return &lists[i];
        }
    refuse(name);
    return NULL;
}

static const list *find(const char *name)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(lists[i].name, name))
            return &lists[i];
    return NULL;
}

static int has(const char *name)
{
    return find(name) != NULL;
}

static f32 one(const char *name)
{
    return want(name, 1)->x[0];
}

static uint64_t words_of(const char *name) /* the high one first */
{
    const list *l = want(name, 2);

    return (uint64_t)l->x[0] << 32 | l->x[1];
}

static f32 or_zero(const char *name) { return has(name) ? one(name) : 0; }

static long place(long n) /* "at": below n */
{
    f32 at = one("at");

    if (at >= (uint32_t)n)
        refuse("at");
    return (long)at;
}

/* ------ hashes ------ */

enum { LEAF = 4096, ROOT = 8 }; /* words: at most, and always */

/* SHA-256 of at most 16,385 bytes: a leaf of 4096 words and a byte. */
static void sha256(const uint8_t *bytes, int n, uint32_t h[8])
{
    static const uint32_t k[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
        0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
        0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
        0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
        0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
        0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
        0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
        0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
        0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
        0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
        0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
    static const uint32_t begin[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372,
                                      0xa54ff53a, 0x510e527f, 0x9b05688c,
                                      0x1f83d9ab, 0x5be0cd19};
    static uint8_t all[4 * LEAF + 128];
    int blocks = (n + 9 + 63) / 64;

#define TURN(x, by) ((x) >> (by) | (x) << (32 - (by)))
    memset(all, 0, sizeof all);
    memcpy(all, bytes, (size_t)n);
    memcpy(h, begin, sizeof begin);
    all[n] = 0x80;
    for (int i = 0; i < 4; i++)
        all[64 * blocks - 1 - i] = (uint8_t)(8 * n >> 8 * i);
    for (int block = 0; block < blocks; block++) {
        uint32_t w[64], v[8];

        for (int i = 0; i < 16; i++) {
            const uint8_t *p = all + 64 * block + 4 * i;

            w[i] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
                   (uint32_t)p[2] << 8 | p[3];
        }
        for (int i = 16; i < 64; i++) {
            uint32_t a = w[i - 15], b = w[i - 2];

            w[i] = w[i - 16] + w[i - 7] +
                   (TURN(a, 7) ^ TURN(a, 18) ^ a >> 3) +
                   (TURN(b, 17) ^ TURN(b, 19) ^ b >> 10);
        }
        memcpy(v, h, sizeof v);
        for (int i = 0; i < 64; i++) {
            uint32_t a = v[0], e = v[4], x, y;

            x = v[7] + (TURN(e, 6) ^ TURN(e, 11) ^ TURN(e, 25)) +
                ((e & v[5]) ^ (~e & v[6])) + k[i] + w[i];
            y = (TURN(a, 2) ^ TURN(a, 13) ^ TURN(a, 22)) +
                ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
            memmove(v + 1, v, 7 * sizeof *v);
            v[4] += x;
            v[0] = x + y;
        }
        for (int i = 0; i < 8; i++)
            h[i] += v[i];
    }
}

/* Of two children, and a byte 1. */
static void hash_pair(const uint32_t both[16], uint32_t hash[8])
{
    uint8_t bytes[65];

    for (int i = 0; i < 64; i++)
        bytes[i] = (uint8_t)(both[i / 4] >> (24 - 8 * (i % 4)));
    bytes[64] = 1;
    sha256(bytes, 65, hash);
}

/* Of n words, little end first, and a byte 0. */
static void hash_words(const uint32_t *x, long n, uint32_t hash[8])
{
    static uint8_t bytes[4 * LEAF + 1];

    for (long i = 0; i < 4 * n; i++)
        bytes[i] = (uint8_t)(x[i / 4] >> 8 * (i % 4));
    bytes[4 * n] = 0;
    sha256(bytes, (int)(4 * n + 1), hash);
}

/* ------ rules: products and sums ------ */

/* Room for n numbers, zeros; it lives until the next evidence. */
static f32 *room_for(long n)
{
    f32 *x = calloc((size_t)n + 1, sizeof *x);

    if (!x || taken == LISTS)
        refuse("no memory");
    return rooms[taken++] = x;
}

/* Signs and payloads of NaN are no part of the contract. */
static f32 one_nan(f32 x) { return f_nan(x) ? NAN32 : x; }

static f32 plus_add(f32 x) { return has("add") ? f_add(x, one("add")) : x; }

/* Part i of n numbers, `at` of which were before: its length. */
static long part_at(long i, long at, long n)
{
    long m = has("parts") ? (long)want("parts", -1)->x[i] : n;

    if (m < 1 || m > n - at || (!has("parts") && i))
        refuse("parts");
    return m;
}

static long part_count(void)
{
    return has("parts") ? want("parts", -1)->n : 1;
}

/* Scale, bias, rounding to bf16, a slope, what is added: in this order. */
static f32 after_product(f32 x)
{
    if (has("scale"))
        x = f_mul(x, one("scale"));
    if (has("bias"))
        x = f_add(x, one("bias"));
    if (has("round") && one("round"))
        x = to_bf16(x);
    if (has("slope"))
        x = times_slope(x, one("slope"));
    return plus_add(x);
}

static f32 dropped(f32 x, uint64_t place); /* by "key", "keep" */

/* With a "step" numbers of a weight are dropped, from "place" on so far
 * apart. */
static const f32 *with_drops(const list *a)
{
    uint64_t at, step;
    f32 *x;

    if (!has("step"))
        return a->x;
    at = words_of("place");
    step = one("step");
    x = room_for(a->n);
    for (long i = 0; i < a->n; i++)
        x[i] = dropped(a->x[i], at + (uint64_t)i * step);
    return x;
}

static const f32 *rounded(const f32 *of, long n)
{
    f32 *x = room_for(n);

    for (long i = 0; i < n; i++)
        x[i] = to_bf16(of[i]);
    return x;
}

typedef f32 product_of(const f32 *c, const f32 *a, const f32 *b, long k);

/* Of heads that share a key or value each product by itself, times the scale,
 * one added to the other. */
static f32 product_of_heads(product_of *make, const f32 *a, const f32 *b,
                            long k)
{
    long heads = (long)one("heads"), n;
    f32 sum = 0;

    if (heads < 1 || k % heads)
        refuse("heads");
    n = k / heads;
    for (long i = 0; i < heads; i++) {
        f32 x = make(NULL, a + i * n, b + i * n, n);

        if (has("scale"))
            x = f_mul(x, one("scale"));
        sum = i ? f_add(sum, x) : x;
    }
    return plus_add(sum);
}

/* "product", "product.bf16", ..: chunks of K that were separate calls (chunks
 * of rows) are lengths in "parts", in order; without it all is one.
 * ".rounded": as "product", of numbers that are rounded to bf16.  A "key"
 * without a "step": the sum itself may be dropped. */
static f32 product_rule(const char *kind)
{
    product_of *make = !strcmp(kind, ".bf16")    ? bf16_product
                       : !strcmp(kind, ".f32x3") ? f32x3_product
                       : !strcmp(kind, ".f32x6") ? f32x6_product
                                                 : f32_product;
    const list *l = want("a", -1);
    const f32 *a = with_drops(l), *b = want("b", l->n)->x;
    f32 sum = has("c") ? one("c") : 0;
    long at = 0;

    if (!strcmp(kind, ".rounded")) {
        a = rounded(a, l->n);
        b = rounded(b, l->n);
    }
    if (has("heads"))
        return product_of_heads(make, a, b, l->n);
    for (long i = 0, n; i < part_count(); i++, at += n) {
        n = part_at(i, at, l->n);
        sum = make(i || has("c") ? &sum : NULL, a + at, b + at, n);
    }
    if (at != l->n)
        refuse("parts");
    if (has("key") && !has("step"))
        sum = dropped(sum, words_of("place"));
    return after_product(sum);
}

static f32 bag_rule(const char *kind)
{
    const list *value = want("value", -1), *w = want("w", value->n);
    const list *index = want("index", value->n);
    f32 sum = bag_sum(or_zero("c"), value->x, w->x, index->x, value->n);

    (void)kind;
    return has("bias") ? f_add(sum, one("bias")) : sum;
}

static f32 column_rule(const char *kind)
{
    const list *a = want("a", -1);
    f32 sum = has("c") ? one("c") : 0;
    long at = 0;

    (void)kind;
    for (long i = 0, n; i < part_count(); i++, at += n) {
        n = part_at(i, at, a->n);
        sum = column(i || has("c") ? &sum : NULL, a->x + at, 1, n);
    }
    if (at != a->n)
        refuse("parts");
    return sum;
}

/* One after the other, from c or +0; "add" comes last. */
static f32 adds_rule(const char *kind)
{
    const list *a = want("a", -1);
    f32 sum = or_zero("c");

    (void)kind;
    for (long i = 0; i < a->n; i++)
        sum = f_add(sum, a->x[i]);
    return plus_add(sum);
}

static f32 row_sum_rule(const char *kind)
{
    const list *a = want("a", -1);

    (void)kind;
    return row_sum(a->x, NULL, a->n);
}

static f32 move_rule(const char *kind)
{
    (void)kind;
    return one("x");
}

static f32 one_hot_rule(const char *kind)
{
    (void)kind;
    return one("index") == one("at") ? F(1.0f) : 0;
}

static f32 round_rule(const char *kind)
{
    (void)kind;
    return plus_add(to_bf16(one("x")));
}

/* "term.NAME" the value, "term.NAME.a" and ".b" what the gradient gives. */
static f32 term_rule(const char *kind)
{
    const char *op = kind + 1;
    given g = {0};
    f32 *const to[] = {&g.a, &g.b, &g.y, &g.d, &g.p, &g.q};
    static const char *const names[] = {"a", "b", "y", "dy", "p", "q"};

    for (int i = 0; i < 6; i++)
        if (has(names[i]))
            *to[i] = one(names[i]);
    for (int i = 0; i < TERMS; i++) {
        size_t n = strlen(terms[i].name);
        const char *rest = op + n;

        if (strncmp(op, terms[i].name, n) || (*rest && *rest != '.'))
            continue;
        if (!*rest)
            return terms[i].y(g);
        if (!strcmp(rest, ".a"))
            return plus_add(terms[i].a(g));
        if (!strcmp(rest, ".b") && terms[i].b)
            return plus_add(terms[i].b(g));
    }
    refuse("no such term");
    return 0;
}

/* ------ rules: windows ------ */

/* "max": of a window, or over axes. */
static f32 max_rule(const char *kind)
{
    const list *x = want("x", -1);

    (void)kind;
    return greatest(x->x, x->n);
}

static int f_equal(f32 a, f32 b)
{
    return !f_lt(a, b) && !f_lt(b, a) && !f_nan(a) && !f_nan(b);
}

/* Over axes: shared by all that reach it. */
static f32 max_back_rule(const char *kind)
{
    const list *x = want("x", -1);
    f32 top = greatest(x->x, x->n), dy = one("dy");
    long at = place(x->n), reach = 0;

    (void)kind;
    for (long i = 0; i < x->n; i++)
        reach += f_equal(x->x[i], top);
    return plus_add(f_equal(x->x[at], top)
                        ? f_div(dy, f_int(reach)) : 0);
}

/* The windows that a pixel is in, in order: their lengths, its place in each,
 * and its gradients from there; "cut": those of a relu before the pooling. */
static f32 max_pool_back_rule(const char *kind)
{
    const list *x = want("x", -1), *parts = want("parts", -1);
    const list *in = want("in", parts->n), *dy = want("dy", parts->n);
    int cut = has("cut") && one("cut");
    f32 sum = 0;
    long at = 0;

    (void)kind;
    for (long i = 0, n; i < parts->n; i++, at += n) {
        const f32 *w = x->x + at;
        long top;

        n = part_at(i, at, x->n);
        top = top_at(w, n);
        if (top == (long)in->x[i] && !(cut && !f_lt(0, w[top])))
            sum = f_add(sum, dy->x[i]);
        else
            sum = f_add(sum, 0);
    }
    return plus_add(sum);
}

/* 1 / the pixels that a window's mean divides by. */
static f32 window_share(uint32_t size)
{
    return f_div(F(1.0f), f_int((int32_t)size));
}

static f32 avg_pool_rule(const char *kind)
{
    const list *x = want("x", -1);
    f32 sum = 0;

    (void)kind;
    for (long i = 0; i < x->n; i++)
        sum = f_add(sum, x->x[i]);
    return f_mul(sum, window_share((uint32_t)one("size")));
}

static f32 avg_pool_back_rule(const char *kind)
{
    const list *dy = want("dy", -1), *size = want("size", -1);
    f32 sum = 0;

    (void)kind;
    if (size->n != 1 && size->n != dy->n)
        refuse("size");
    for (long i = 0; i < dy->n; i++)
        sum = f_add(sum, f_mul(dy->x[i],
                               window_share(size->x[size->n == 1 ? 0 : i])));
    return plus_add(sum);
}

/* ------ rules: norms ------ */

static f32 norm_eps(void) { return has("eps") ? one("eps") : F(1e-6f); }

static f32 norm_stats_rule(const char *kind) /* at 0: the mean, 1: 1 / dev. */
{
    const list *x = want("x", -1);
    f32 s[2];

    (void)kind;
    norm_stats(x->x, x->n, norm_eps(), &s[0], &s[1]);
    return s[place(2)];
}

static f32 norm_rule(const char *kind)
{
    (void)kind;
    return norm_y(one("x"), one("mean"), one("r"), one("scale"), one("bias"));
}

static f32 norm_back_rule(const char *kind)
{
    const list *x = want("x", -1), *dy = want("dy", x->n);
    const list *scale = want("scale", x->n);
    f32 *dx = room_for(3 * x->n);

    (void)kind;
    norm_dx(x->x, dy->x, scale->x, x->n, norm_eps(), dx, dx + x->n);
    return plus_add(dx[place(x->n)]);
}

/* d of a column and xh, which is made of x and the statistics of its rows (rms:
 * without a mean); ".pixels": a row's pixels are added, each by itself. */
static f32 norm_scale_rule(const char *kind)
{
    int pixels = !strcmp(kind, ".pixels");
    const list *d = want("dy", -1), *x = want("x", d->n);
    const list *mean = has("mean") ? want("mean", d->n) : NULL;
    const list *r = want("r", d->n);
    f32 sum = or_zero("c");
    long at = 0;

    for (long i = 0, n; i < part_count(); i++) {
        f32 chain = 0;

        n = part_at(i, at, d->n);
        for (long k = 0; k < n; k++, at++) {
            f32 xh = mean ? norm_xh(x->x[at], mean->x[at], r->x[at])
                          : f_mul(x->x[at], r->x[at]);

            if (k && k % 256 == 0) {
                sum = i || k > 256 || has("c") ? f_add(sum, chain) : chain;
                chain = 0;
            }
            chain = pixels ? f_add(chain, f_fma(d->x[at], xh, 0))
                           : f_fma(d->x[at], xh, chain);
        }
        sum = i || n > 256 || has("c") ? f_add(sum, chain) : chain;
    }
    if (at != d->n)
        refuse("parts");
    return sum;
}

static f32 rms_stats_rule(const char *kind)
{
    const list *x = want("x", -1);

    (void)kind;
    return rms_r(x->x, x->n, one("eps"));
}

static f32 rms_rule(const char *kind)
{
    (void)kind;
    return f_mul(one("x"), f_mul(one("r"), one("scale")));
}

static f32 rms_back_rule(const char *kind)
{
    const list *x = want("x", -1), *dy = want("dy", x->n);
    const list *scale = want("scale", x->n);

    (void)kind;
    return plus_add(rms_dx(x->x, dy->x, scale->x, one("eps"), x->n,
                           place(x->n), room_for(2 * x->n)));
}

/* Double i of a list: two words, the high one first. */
static f64 double_at(const list *l, long i)
{
    return (f64)l->x[2 * i] << 32 | l->x[2 * i + 1];
}

/* What rows have of a channel: the sum of their weights, the mean, and the sum
 * of w (x - mean)^2. */
typedef struct channel {
    f64 weight, mean, square;
} channel;

static channel channel_at(const list *l, long i)
{
    channel s = {double_at(l, 3 * i), double_at(l, 3 * i + 1),
                 double_at(l, 3 * i + 2)};

    return s;
}

static f32 word_of(f64 x, long half)
{
    return (f32)(x >> (half ? 0 : 32));
}

static f32 channel_word(channel s, long at)
{
    return word_of(at < 2 ? s.weight : at < 4 ? s.mean : s.square, at % 2);
}

/* Chan et al. 1979 */
static channel channels_joined(channel a, channel b)
{
    f64 all = d_add(a.weight, b.weight), part, d;

    if (d_lt(0, b.weight)) {
        part = d_div(b.weight, all);
        d = d_sub(b.mean, a.mean);
        a.mean = d_add(a.mean, d_mul(d, part));
        a.square = d_add(d_add(a.square, b.square),
                         d_mul(d_mul(d, d), d_mul(a.weight, part)));
    }
    a.weight = all;
    return a;
}

static f64 channel_variance(channel s) { return d_div(s.square, s.weight); }

/* What all rows that count have of the channel. */
static channel all_rows(void) { return channel_at(want("all", 6), 0); }

/* The channel's, of all rows that count or as it is stored. */
static f32 batch_mean(void)
{
    return has("all") ? f_from(all_rows().mean) : one("mean");
}

static f32 batch_r(void)
{
    f32 var = has("all") ? f_from(channel_variance(all_rows())) : one("var");

    return f_div(F(1.0f), f_sqrt(f_add(var, one("eps"))));
}

static f32 batch_factor(void) { return f_mul(batch_r(), one("scale")); }

static f32 batch_norm_rule(const char *kind)
{
    (void)kind;
    return f_fma(f_sub(one("x"), batch_mean()), batch_factor(), one("bias"));
}

/* By rows: dy less its weight times its share of the means of dy and of
 * dy xh. */
static f32 batch_back_rule(const char *kind)
{
    f32 d = one("dy"), w = has("w") ? one("w") : F(1.0f), by[2];

    (void)kind;
    if (has("all")) {
        f64 weight = all_rows().weight;
        f32 xh = norm_xh(one("x"), batch_mean(), batch_r());

        for (int i = 0; i < 2; i++)
            by[i] = f_from(d_div(double_at(want("sums", 4), i), weight));
        if (!f_zero(w))
            d = f_fma(f_neg(w), f_fma(xh, by[1], by[0]), d);
    }
    return plus_add(f_mul(d, batch_factor()));
}

static f32 weight_at(const list *w, long i) { return w ? w->x[i] : F(1.0f); }

/* Those of at most 256 vectors, in floats. */
static channel block_of_channel(const f32 *x, const list *w, long first, long n)
{
    channel s = {0, 0, 0};
    f32 sum = 0, square = 0, mean;

    for (long i = first; i < first + n; i++) {
        s.weight = d_add(s.weight, d_from(weight_at(w, i)));
        if (!f_zero(weight_at(w, i)))
            sum = f_fma(weight_at(w, i), x[i], sum);
    }
    mean = f_mul(sum, f_from(d_div(D(1.0), s.weight)));
    for (long i = first; i < first + n; i++) {
        f32 d = f_sub(x[i], mean);

        if (!f_zero(weight_at(w, i)))
            square = f_fma(f_mul(weight_at(w, i), d), d, square);
    }
    s.mean = d_from(mean);
    s.square = d_from(square);
    return s;
}

/* A chunk's vectors of a channel, 256 at a time, after those before: c. */
static f32 batch_moments_rule(const char *kind)
{
    const list *x = want("x", -1), *w = has("w") ? want("w", x->n) : NULL;
    channel all = {0, 0, 0};

    (void)kind;
    if (has("c"))
        all = channel_at(want("c", 6), 0);
    for (long i = 0; i < x->n; i += 256)
        all = channels_joined(all, block_of_channel(x->x, w, i,
                                                    least(x->n - i, 256)));
    return channel_word(all, place(6));
}

/* The sums of dy (at 0 and 1) and of dy xh, likewise. */
static f32 batch_sums_rule(const char *kind)
{
    const list *x = want("x", -1), *dy = want("dy", x->n);
    const list *w = has("w") ? want("w", x->n) : NULL;
    f32 mean = batch_mean(), r = batch_r();
    f64 sum = has("c") ? double_at(want("c", 2), 0) : 0;
    long at = place(4);

    (void)kind;
    for (long i = 0; i < x->n; i += 256) {
        f32 part = 0;

        for (long k = i; k < x->n && k < i + 256; k++) {
            if (f_zero(weight_at(w, k)))
                continue;
            part = at < 2 ? f_add(part, dy->x[k])
                          : f_fma(dy->x[k], norm_xh(x->x[k], mean, r), part);
        }
        sum = d_add(sum, d_from(part));
    }
    return word_of(sum, at % 2);
}

static f64 double_tree(const char *name);

/* What devices found, by the tree; ".back": the sums. */
static f32 batch_join_rule(const char *kind)
{
    const list *l = want("of", -1);
    long n = l->n / 6;
    channel *s;

    if (*kind)
        return word_of(double_tree("of"), place(2));
    if (n < 1 || l->n % 6)
        refuse("of");
    s = (channel *)(void *)room_for(l->n);
    for (long i = 0; i < n; i++)
        s[i] = channel_at(l, i);
    for (long by = 1; by < n; by *= 2)
        for (long i = 0; i + by < n; i += 2 * by)
            s[i] = channels_joined(s[i], s[i + by]);
    return channel_word(s[0], place(6));
}

/* What scale and bias get of the device's sums. */
static f32 batch_given_rule(const char *kind)
{
    f32 by = f_from(double_at(want("sum", 2), 0));

    (void)kind;
    return has("c") ? f_add(one("c"), by) : by;
}

/* The running mean (at 0) or variance: each device goes on with it from one
 * micro-batch to the next, and their mean is stored. */
static f32 batch_stored_rule(const char *kind)
{
    const list *l = want("of", -1);
    f64 keep = double_at(want("momentum", 2), 0), more = d_sub(D(1.0), keep);
    long micro = (long)one("micro"), at = place(2), n;
    f64 *next;

    (void)kind;
    if (micro < 1 || l->n < 6 * micro || l->n % (6 * micro))
        refuse("of");
    n = l->n / (6 * micro);
    next = (f64 *)(void *)room_for(2 * n);
    for (long i = 0; i < n * micro; i++) {
        channel s = channel_at(l, i);
        f64 *x = &next[i / micro];

        if (i % micro == 0)
            *x = d_from(one("p"));
        if (d_lt(0, s.weight))
            *x = d_add(d_mul(keep, *x),
                       d_mul(more, at ? channel_variance(s) : s.mean));
    }
    for (long by = 1; by < n; by *= 2)
        for (long i = 0; i + by < n; i += 2 * by)
            next[i] = d_add(next[i], next[i + by]);
    return f_from(d_div(next[0], d_int(n)));
}

/* What a channel's columns give to scale and bias. */
static void batch_sums(f32 by[2])
{
    const list *d = want("dy", -1), *x = want("x", d->n);
    f32 r = batch_r(), mean = one("mean");

    by[0] = 0;
    for (long i = 0; i < d->n; i += 256) {
        f32 chain = 0;

        for (long k = i; k < d->n && k < i + 256; k++)
            chain = f_fma(d->x[k], norm_xh(x->x[k], mean, r), chain);
        by[0] = i ? f_add(by[0], chain) : chain;
    }
    by[1] = column(NULL, d->x, 1, d->n);
}

/* What the sums of a chunk give to scale, bias, mean and variance, at 0 to
 * 3. */
static f32 batch_params_rule(const char *kind)
{
    f32 factor = batch_factor(), by[4];

    (void)kind;
    if (has("dy")) {
        batch_sums(by);
    } else {
        by[0] = one("dscale");
        by[1] = one("dbias");
    }
    by[2] = f_neg(f_mul(factor, by[1]));
    by[3] = f_mul(f_mul(f_mul(F(-0.5f), factor), batch_r()), by[0]);
    return has("c") ? f_add(one("c"), by[place(4)]) : by[place(4)];
}

/* ------ rules: along rows ------ */

static f32 softmax_rule(const char *kind)
{
    const list *x = want("x", -1);
    f32 *e = room_for(x->n), y;

    (void)kind;
    y = f_div(F(1.0f), row_exp(x->x, x->n, row_top(x->x, x->n), e));
    return f_mul(e[place(x->n)], y);
}

static f32 softmax_back_rule(const char *kind)
{
    const list *p = want("p", -1), *dp = want("dp", p->n);
    long at = place(p->n);

    (void)kind;
    return plus_add(f_mul(p->x[at], f_sub(dp->x[at],
                                          row_sum(p->x, dp->x, p->n))));
}

static f32 log_softmax_rule(const char *kind)
{
    const list *x = want("x", -1);
    f32 top = row_top(x->x, x->n);
    f32 sum = row_exp(x->x, x->n, top, room_for(x->n));

    (void)kind;
    return f_sub(f_sub(x->x[place(x->n)], top), e_log_any(sum));
}

static f32 log_softmax_back_rule(const char *kind)
{
    const list *y = want("y", -1), *dy = want("dy", y->n);
    long at = place(y->n);

    (void)kind;
    return plus_add(f_fma(e_exp(y->x[at]), f_neg(row_sum(dy->x, NULL, y->n)),
                          dy->x[at]));
}

/* ".back": the gradient, at a place; without it the loss of the row. */
static f32 cross_entropy_rule(const char *kind)
{
    const list *x = want("x", -1);
    int32_t label = (int32_t)one("label");
    f32 *dx = room_for(x->n), loss = 0, w = *kind ? one("weight") : F(1.0f);

    if (label >= x->n)
        refuse("label");
    if (label >= 0)
        loss = cross_entropy(x->x, x->n, label, w, dx);
    return *kind ? dx[place(x->n)] : loss;
}

/* ".back": by y; with y and t in each other's place that by the target. */
static f32 squared_error_rule(const char *kind)
{
    const list *y, *t;
    f32 *d;

    if (*kind)
        return plus_add(f_mul(f_mul(F(2.0f), one("weight")),
                              f_sub(one("y"), one("t"))));
    y = want("y", -1);
    t = want("t", y->n);
    d = room_for(y->n);
    for (long i = 0; i < y->n; i++)
        d[i] = f_sub(y->x[i], t->x[i]);
    return row_sum(d, d, y->n);
}

/* Of a row, in double, at 0 and 1 the two words of the sum, at 2 and 3 those of
 * the weights; ".back": what a term gets. */
static f32 mean_loss_rule(const char *kind)
{
    f64 out[2] = {0, 0};
    const list *y;
    long at;

    if (*kind)
        return one_nan(plus_add(has("v") ? f_mul(one("weight"), one("v"))
                                         : one("weight")));
    y = want("y", -1);
    for (long i = 0; i < y->n; i++) {
        f64 v = has("v") ? d_from(want("v", y->n)->x[i]) : D(1.0);

        out[0] = d_add(out[0], d_mul(v, d_from(y->x[i])));
        out[1] = d_add(out[1], v);
    }
    at = place(4);
    return (f32)(out[at / 2] >> (at % 2 ? 0 : 32));
}

/* ------ rules: sequences ------ */

/* The turned pair at 0 and 1; ".back": turned back. */
static f32 rotary_rule(const char *kind)
{
    f32 angle = rotary_angle((long)one("t"), (long)one("i"), (long)one("d"),
                             one("base"));
    f32 a = one("a"), b = one("b"), c = f_cos(angle);
    f32 s = f_mul(*kind ? F(-1.0f) : F(1.0f), f_sin(angle));

    return plus_add(place(2) ? f_add(f_mul(b, c), f_mul(a, s))
                             : f_sub(f_mul(a, c), f_mul(b, s)));
}

static f32 lstm_rule(const char *kind)
{
    f32 out[6];

    if (*kind) {
        lstm_back(want("k", 4)->x, one("c"), one("next"), one("dh"), one("dy"),
                  one("dc"), out);
        return out[place(5)];
    }
    lstm(want("x", 4)->x, want("u", 4)->x, one("c"), out);
    return out[place(6)];
}

static f32 gru_rule(const char *kind)
{
    f32 out[5];

    if (*kind) {
        gru_back(want("k", 3)->x, one("hn"), one("h"), one("dh"), one("dy"),
                 out);
        return out[place(5)];
    }
    gru(want("x", 3)->x, want("u", 3)->x, one("h"), out);
    return out[place(4)];
}

/* ------ rules: random numbers ------ */

/* ".key": the words of a key folded with a number, at 0 and 1. */
static f32 random_rule(const char *kind)
{
    const f32 *key = want("key", 2)->x;
    uint64_t at = words_of("place");
    uint32_t bits = random_bits(key, at), word[2];

    if (!strcmp(kind, ".key")) {
        threefry(key, at, word);
        return word[place(2)];
    }
    if (!strcmp(kind, ".uniform"))
        return uniform_of(bits, one("low"), one("high"));
    if (!strcmp(kind, ".normal"))
        return normal_of_bits(bits);
    return !strcmp(kind, ".truncated") ? truncated_of(bits) : bits;
}

/* An option as the two words of its double. */
static f64 real(const char *name) { return words_of(name); }

static f64 real_or(const char *name, double x)
{
    return has(name) ? real(name) : D(x);
}

/* "share": what a schedule leaves of the rate. */
static f32 kept_share(void)
{
    if (!has("rate"))
        return one("keep");
    return f_from(d_sub(D(1.0), d_mul(real("rate"), d_from(one("share")))));
}

static f32 dropped(f32 x, uint64_t place)
{
    uint32_t bits = random_bits(want("key", 2)->x, place);
    f32 keep = kept_share();

    return f_lt(from_0_to_1(bits), keep) ? f_mul(x, f_div(F(1.0f), keep)) : 0;
}

/* x: a value, or in backward its gradient. */
static f32 dropout_rule(const char *kind)
{
    (void)kind;
    return plus_add(dropped(one("x"), words_of("place")));
}

/* Lane i % 8 adds element i; lanes are added 4, 2, 1 apart. */
static f64 d_dot(long n, const f64 *x, const f64 *y)
{
    f64 lane[8] = {0};

    for (long i = 0; i < n; i++)
        lane[i % 8] = d_add(lane[i % 8], d_mul(x[i], y[i]));
    for (int s = 4; s; s /= 2)
        for (int k = 0; k < s; k++)
            lane[k] = d_add(lane[k], lane[k + s]);
    return lane[0];
}

/* x - beta (v . x) v */
static void reflect(long n, const f64 *v, f64 beta, f64 *x)
{
    f64 by = d_mul(beta, d_dot(n, v, x));

    for (long i = 0; i < n; i++)
        x[i] = d_sub(x[i], d_mul(by, v[i]));
}

/* The reflection of a column, which becomes its v; *sign: of R's diagonal. */
static f64 reflection_of(long n, f64 *x, int *sign)
{
    f64 norm = d_sqrt(d_dot(n, x, x));
    f64 end = d_lt(0, x[0]) ? d_neg(norm) : norm;

    *sign = 1;
    if (d_zero(norm))
        return 0;
    *sign = end >> 63 ? -1 : 1;
    x[0] = d_sub(x[0], end);
    return d_div(D(2.0), d_dot(n, x, x));
}

/* Column j of Q, of A = Q R with m rows of normal numbers of that key, which
 * has `width` columns: Householder's reflections, and e_j by the last of them
 * first.  Only columns up to j count. */
static const f64 *orthogonal_column(const f32 key[2], long m, long width,
                                    long j, int *sign)
{
    f64 *a = (f64 *)(void *)room_for(2 * m * (j + 1)), *q = a + j * m;
    f64 *beta = (f64 *)(void *)room_for(2 * (j + 1)), by;

    for (long c = 0; c <= j; c++)
        for (long i = 0; i < m; i++)
            a[c * m + i] = d_from(normal_of_bits(
                random_bits(key, (uint64_t)(i * width + c))));
    for (long k = 0; k <= j; k++) {
        beta[k] = reflection_of(m - k, a + k * m + k, sign);
        for (long c = k + 1; c <= j; c++)
            reflect(m - k, a + k * m + k, beta[k], a + c * m + k);
    }
    by = d_mul(beta[j], q[j]);
    for (long i = 0; i < m; i++)
        q[i] = i < j    ? 0
               : i == j ? d_sub(D(1.0), d_mul(by, q[i]))
                        : d_mul(q[i], d_neg(by));
    for (long k = j - 1; k >= 0; k--)
        reflect(m - k, a + k * m + k, beta[k], q + k);
    return q;
}

enum { MATRIX = 1 << 20 }; /* numbers, which take a minute */

/* Element `place` of such a matrix of "shape" rows and columns: as high as the
 * larger of them, else turned. */
static f32 orthogonal_rule(void)
{
    long rows = (long)want("shape", 2)->x[0], columns;
    long place = (long)words_of("place"), m, n, i, j;
    const f64 *q;
    int sign = 1;

    columns = (long)want("shape", 2)->x[1];
    if (rows < 1 || columns < 1 || rows > MATRIX / columns ||
        words_of("place") >= (uint64_t)(rows * columns))
        refuse("shape");
    m = columns > rows ? columns : rows;
    n = columns > rows ? rows : columns;
    i = columns > rows ? place % m : place / n;
    j = columns > rows ? place / m : place % n;
    q = orthogonal_column(want("key", 2)->x, m, n, j, &sign);
    return f_mul(f_from(real("scale")),
                 f_from(sign < 0 ? d_neg(q[i]) : q[i]));
}

/* ".uniform", ".normal", ".truncated": scaled by "scale" itself, or where there
 * is a "fan" so that the variance is scale / fan. */
static f32 initial_rule(const char *kind)
{
    uint32_t bits = random_bits(want("key", 2)->x, words_of("place"));
    int uniform = !strcmp(kind, ".uniform");
    f32 low = has("fan") ? F(-1.0f) : 0, variance, by, x;

    if (!strcmp(kind, ".orthogonal"))
        return orthogonal_rule();
    x = uniform                       ? uniform_of(bits, low, F(1.0f))
        : !strcmp(kind, ".truncated") ? truncated_of(bits)
                                      : normal_of_bits(bits);
    if (!has("fan"))
        return f_mul(x, f_from(real("scale")));
    variance = f_from(d_div(real("scale"), real("fan")));
    by = f_sqrt(uniform ? f_mul(F(3.0f), variance) : variance);
    if (!strcmp(kind, ".truncated"))
        by = f_div(by, F(0x1.c25e4cp-1f));
    return f_mul(x, by);
}

/* Position t, channel j of a table `width` wide. */
static f32 sinusoid_rule(const char *kind)
{
    long j = (long)one("j"), t = (long)one("t");
    f32 c = f_neg(f_div(F(0x1.26bb1cp+3f), f_int((long)one("width"))));
    f32 a = f_mul(f_int(t), e_exp(f_mul(c, f_int(j - j % 2))));

    (void)kind;
    return j % 2 ? f_cos(a) : f_sin(a);
}

/* ------ rules: rows of the data ------ */

static uint32_t count_of(const char *name) /* from 1 to 2^31 - 1 */
{
    uint32_t n = one(name);

    if (n < 1 || n > 0x7fffffff)
        refuse(name);
    return n;
}

static void key_of(const f32 key[2], uint32_t number, f32 of[2])
{
    threefry(key, number, of);
}

/* Number i of those from 0 below `span` that JAX draws. */
static uint32_t drawn_below(const f32 key[2], uint32_t i, uint32_t span)
{
    uint32_t half = 65536 % span, whole = half * half % span;
    f32 high[2], low[2];

    key_of(key, 0, high);
    key_of(key, 1, low);
    return (random_bits(high, i) % span * whole +
            random_bits(low, i) % span) % span;
}

/* A row and the word by which it is sorted. */
typedef struct card {
    uint32_t word, at, row;
} card;

static int by_word(const void *a, const void *b)
{
    const card *x = a, *y = b;

    if (x->word != y->word)
        return x->word < y->word ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

enum { CARDS = 1 << 26 }; /* rows that are shuffled, at most */

/* What stands at a place of the permutation of n: sorted by random words, more
 * than once where there are so many that words repeat. */
static uint32_t permuted(const f32 of[2], uint32_t n, uint32_t at)
{
    int rounds = (n > 1) + (n > 1625) + (n > 2642245);
    card *all = n > CARDS ? NULL : malloc(n * sizeof *all);
    f32 key[2], word[2];
    uint32_t row;

    if (!all)
        refuse("rows");
    memcpy(key, of, sizeof key);
    for (uint32_t i = 0; i < n; i++)
        all[i].row = i;
    for (; rounds > 0; rounds--) {
        key_of(key, 1, word);
        for (uint32_t i = 0; i < n; i++) {
            all[i].word = random_bits(word, i);
            all[i].at = i;
        }
        qsort(all, n, sizeof *all, by_word);
        key_of(key, 0, word);
        memcpy(key, word, sizeof key);
    }
    row = all[at].row;
    free(all);
    return row;
}

/* The row of an epoch that is the first of the step's batch. */
static uint32_t first_of_batch(void)
{
    uint32_t rows = count_of("rows"), batch = count_of("batch");
    uint32_t batches = count_of("batches");

    if ((uint64_t)(batches - 1) * batch >= rows)
        refuse("batches");
    return one("step") % batches * batch;
}

/* Does the row only fill the batch up? */
static int fills_up(const char *kind)
{
    uint32_t row = one("row"), rows = count_of("rows"), first = 0;

    if (strcmp(kind, ".window") != 0)
        first = first_of_batch();
    return row >= count_of("batch") || row >= rows - first;
}

/* Which row of the data row `row` of the step's batch is: as they stand, in the
 * epoch's order, or from where a window of them begins.  What fills a batch up
 * is its first row. */
static uint32_t row_of_batch(const char *kind)
{
    uint32_t row = fills_up(kind) ? 0 : one("row"), rows = count_of("rows");
    uint32_t window;
    f32 key[2];

    if (!strcmp(kind, ".window")) {
        window = count_of("window");
        if (window > rows)
            refuse("window");
        key_of(want("key", 2)->x, one("step"), key);
        return drawn_below(key, row, rows - window + 1);
    }
    row += first_of_batch();
    if (!*kind)
        return row;
    key_of(want("key", 2)->x, one("step") / count_of("batches"), key);
    return permuted(key, rows, row);
}

/* The hash of leaves first .. first+n-1, of which leaf `at` is at hand, and
 * where it is not among them the path has it, from the root down. */
static void climb(uint64_t first, uint64_t n, uint64_t at, const f32 **path,
                  const f32 *end, uint32_t hash[8])
{
    uint64_t left = 1;
    uint32_t both[16];
    int is_left;

    if (n == 1) {
        const list *leaf = want("leaf", -1);

        hash_words(leaf->x, leaf->n, hash);
        return;
    }
    while (2 * left < n)
        left *= 2;
    is_left = at < first + left;
    if (end - *path < 8)
        refuse("path");
    memcpy(both + 8 * is_left, *path, 8 * sizeof *both);
    *path += 8;
    climb(is_left ? first : first + left, is_left ? left : n - left, at, path,
          end, both + 8 * !is_left);
    hash_pair(both, hash);
}

/* What a row weighs whose data says nothing of it; the window has no part. */
static f32 plain_weight(const char *kind)
{
    (void)want("root", ROOT);
    (void)one("step");
    return fills_up(kind) ? 0 : F(1.0f);
}

/* A word of a batch: a word of a row of the data, whose leaf stands under the
 * root of all rows.  "weight" 1: it is the row's weight; 0: no row has one. */
static f32 batch_rule(const char *kind)
{
    uint64_t width, rows = count_of("rows"), word, leaf, all, window;
    const list *path = has("path") ? want("path", -1) : NULL;
    const f32 *at = path ? path->x : NULL, *end = path ? at + path->n : NULL;
    uint32_t hash[8];

    if (has("weight") && !one("weight"))
        return plain_weight(kind);
    width = count_of("width");
    all = rows * width;
    window = has("window") ? one("window") : 1;
    if (one("word") >= width * window)
        refuse("word");
    word = row_of_batch(kind) * width + one("word");
    leaf = word / LEAF;
    if ((uint64_t)want("leaf", -1)->n !=
        (all - leaf * LEAF < LEAF ? all - leaf * LEAF : LEAF))
        refuse("leaf");
    climb(0, (all + LEAF - 1) / LEAF, leaf, &at, end, hash);
    if (at != end || memcmp(hash, want("root", ROOT)->x, sizeof hash))
        refuse("the row is not under the root of the data");
    return has("weight") && fills_up(kind) ? 0
                                           : want("leaf", -1)->x[word % LEAF];
}

/* ------ rules: after the gradients ------ */

/* Over devices, of a sum each; "w": each times 1 / the device's weight. */
static f32 mean_rule(const char *kind)
{
    const list *a = want("a", -1);
    const list *w = has("w") ? want("w", 2 * a->n) : NULL;
    f32 *x = room_for(a->n);

    (void)kind;
    for (long i = 0; i < a->n; i++)
        x[i] = w ? f_mul(a->x[i], f_div(F(1.0f), f_from(double_at(w, i))))
                 : a->x[i];
    return f_mul(tree(x, a->n), one("factor"));
}

/* Doubles, one a device, by the tree. */
static f64 double_tree(const char *name)
{
    const list *l = want(name, -1);
    long n = l->n / 2;
    f64 *x = (f64 *)(void *)room_for(2 * n + 2);

    for (long i = 0; i < n; i++)
        x[i] = double_at(l, i);
    for (long s = 1; s < n; s *= 2)
        for (long i = 0; i + s < n; i += 2 * s)
            x[i] = d_add(x[i], x[i + s]);
    return x[0];
}

/* 1 / W, of the devices' weights; "shards": 1 / how many. */
static f32 factor_rule(const char *kind)
{
    (void)kind;
    if (has("shards"))
        return f_div(F(1.0f), f_int(count_of("shards")));
    return f_div(F(1.0f), f_from(double_tree("w")));
}

/* What row i gives: a float "t", a double "l"; the sum of its `each` numbers of
 * "y", times "v" if it is there, or of "v" alone; or how many of its labels are
 * not below 0. */
static f64 row_of_loss(const list *of, long each, long i)
{
    const list *v = !strcmp(of->name, "y") && has("v") ? want("v", of->n)
                                                       : NULL;
    f64 sum = 0;

    if (!strcmp(of->name, "t"))
        return d_from(of->x[i]);
    if (!strcmp(of->name, "l"))
        return double_at(of, i);
    for (long j = i * each; j < (i + 1) * each; j++) {
        f64 x = !strcmp(of->name, "label") ? D(of->x[j] >> 31 ? 0 : 1.0)
                                           : d_from(of->x[j]);

        sum = d_add(sum, v ? d_mul(d_from(v->x[j]), x) : x);
    }
    return sum;
}

/* The lists that rows of a loss may be; numbers of each row, or 0: any. */
static const list *rows_of_loss(long rows, long *each)
{
    static const struct {
        const char *name;
        long each;
    } of[] = {{"t", 1}, {"l", 2}, {"y", 0}, {"v", 0}, {"label", 0}};
    const list *found = NULL;

    for (size_t i = 0; i < sizeof of / sizeof *of && !found; i++)
        if (has(of[i].name)) {
            found = want(of[i].name, -1);
            *each = of[i].each ? of[i].each : found->n / rows;
        }
    if (!found || *each < 1 || found->n != *each * rows)
        refuse("rows of a loss");
    return found;
}

/* The losses of terms or rows times the weights of rows, at 0 and 1 the words
 * of the sum; or what terms there were, likewise.  "parts": micro-batches,
 * summed by themselves. */
static f32 loss_sum_rule(const char *kind)
{
    const list *w = want("w", -1), *of;
    long at = 0, each = 0;
    f64 sum = 0;

    (void)kind;
    of = rows_of_loss(w->n, &each);
    for (long i = 0, n; i < part_count(); i++) {
        f64 part = 0;

        for (n = at + part_at(i, at, w->n); at < n; at++)
            part = d_add(part, d_mul(d_from(w->x[at]),
                                     row_of_loss(of, each, at)));
        sum = i ? d_add(sum, part) : part;
    }
    if (at != w->n)
        refuse("parts");
    return (f32)(sum >> (place(2) ? 0 : 32));
}

/* "shards": the mean of the devices' own means, in order. */
static f32 loss_mean_rule(const char *kind)
{
    const list *l = want("l", -1), *w = want("w", l->n);
    f64 sum = 0;

    (void)kind;
    for (long i = 0; has("shards") && i + 1 < l->n; i += 2)
        sum = d_add(sum, d_div(double_at(l, i / 2), double_at(w, i / 2)));
    if (has("shards") && one("shards"))
        return f_from(d_div(sum, d_int(l->n / 2)));
    return f_from(d_div(double_tree("l"), double_tree("w")));
}

/* A decay, times the share that a schedule of decay leaves of it. */
static f32 shared(const char *name)
{
    f32 x = f_from(real_or(name, 0));

    return has("share") ? f_mul(x, one("share")) : x;
}

/* The gradient as an update reads it: clipped by norm, by value, and l2 times
 * the parameter added, where these are given. */
static f32 clipped(void)
{
    f32 g = one("g"), most;

    if (has("clip") && !f_lt(one("norm"), one("clip")) &&
        !f_nan(one("norm")))
        g = f_mul(f_mul(g, f_div(F(1.0f), one("norm"))), one("clip"));
    if (has("most")) {
        most = one("most");
        g = f_min(f_max(g, f_neg(most)), most);
    }
    return has("l") ? f_fma(shared("l"), one("p"), g) : g;
}

static f32 clip_rule(const char *kind)
{
    (void)kind;
    return clipped();
}

/* ".NAME", at 0: p, 1 to 3: the moments. */
static f32 update_rule(const char *kind)
{
    update u = {clipped(), has("neg") ? f_neg(one("neg")) : one("lr"),
                one("p"), or_zero("ma"), or_zero("mb"),
                or_zero("mc"), 0, 0, real_or("ba", 0), real_or("bb", 0),
                real_or("eps", 0), real_or("decay", 0),
                real_or("momentum", 0), shared("wd")};
    int64_t n = has("n") ? (int64_t)one("n") : 1;

    if (has("rate")) /* of a group of parameters */
        u.lr = f_mul(u.lr, one("rate"));
    u.r1 = correction(option(u.b1), n);
    u.r2 = correction(option(u.b2), n);
    for (int i = 0; i < UPDATES; i++)
        if (!strcmp(kind + 1, updates[i].name)) {
            const f32 out[] = {(updates[i].make(&u), u.p), u.m0, u.m1, u.m2};

            return out[place(4)];
        }
    refuse("no such update");
    return 0;
}

static f32 correction_rule(const char *kind)
{
    (void)kind;
    return correction(option(real("b")), (int64_t)one("n"));
}

/* The average of the weights after an update. */
static f32 average_rule(const char *kind)
{
    f64 d = real("decay");

    (void)kind;
    return f_fma(complement(d), one("p"), f_mul(option(d), one("e")));
}

/* The squares of a block of 4096 for the norm, and the norm of all blocks. */
static f32 squares_rule(const char *kind)
{
    const list *a = want("a", -1);

    (void)kind;
    if (a->n > 4096)
        refuse("a");
    return row_sum(a->x, a->x, a->n);
}

static f32 norm_of_blocks_rule(const char *kind)
{
    const list *a = want("a", -1);
    f64 sum = 0;

    (void)kind;
    for (long i = 0; i < a->n; i++)
        sum = d_add(sum, d_from(a->x[i]));
    return f_from(d_sqrt(sum));
}

/* ------ rules: learning rates ------ */

/* What a schedule is given: updates done since the warm-up ended, and how many
 * it may take. */
typedef struct rate {
    f64 peak, end;
    int64_t done, steps, warmup;
} rate;

static int64_t whole_or(const char *name, int64_t x)
{
    return has(name) ? (int64_t)one(name) : x;
}

static f32 line(f64 from, f64 to, int64_t done, int64_t steps)
{
    f32 x = f_div(f_int(done < steps ? done : steps), f_int(steps));

    return f_add(f_mul(f_from(d_sub(from, to)), f_sub(F(1.0f), x)),
                 f_from(to));
}

static f32 constant_rate(rate m) { return f_from(m.peak); }
static f32 linear_rate(rate m) { return line(m.peak, m.end, m.done, m.steps); }

#define PI32 F(0x1.921fb6p+1f)

static f32 cosine_rate(rate m)
{
    f64 alpha = d_lt(0, m.peak) ? d_div(m.end, m.peak) : 0;
    f32 x = f_int(m.done < m.steps ? m.done : m.steps);
    f32 turn = f_div(f_mul(PI32, x), f_int(m.steps));
    f32 wave = f_mul(F(0.5f), f_add(F(1.0f), f_cos(turn)));

    return f_mul(f_from(m.peak), f_add(f_mul(complement(alpha), wave),
                                       f_from(alpha)));
}

static f32 exponential_rate(rate m)
{
    f32 by = option(real("rate")), end = f_from(m.end), lr;

    lr = f_pow(by, f_div(f_int(m.done), f_int(m.steps)));
    lr = f_mul(f_from(m.peak), lr);
    if (!f_lt(0, end))
        return lr;
    if (d_lt(real("rate"), D(1.0)))
        return f_lt(lr, end) ? end : lr;
    return f_lt(end, lr) ? end : lr;
}

/* "bounds": updates, from the first; "factors": doubles. */
static f32 piecewise_rate(rate m)
{
    const list *b = want("bounds", -1), *by = want("factors", 2 * b->n);
    f32 lr = f_from(m.peak);

    for (long i = 0; i < b->n; i++)
        if (m.done + m.warmup >= (int64_t)b->x[i])
            lr = f_mul(f_from(double_at(by, i)), lr);
    return lr;
}

static f32 polynomial_rate(rate m)
{
    f32 rest = f_sub(F(1.0f), f_div(f_int(m.done), f_int(m.steps)));

    if (m.done >= m.steps)
        return f_from(m.end);
    return f_add(f_mul(f_from(d_sub(m.peak, m.end)),
                       f_pow(rest, option(real("power")))), f_from(m.end));
}

/* No cycle begins below where it ends; each but the first has a warm-up. */
static f32 cycles(rate m, int64_t warmup)
{
    f64 by = real_or("restart", 1), least = d_lt(m.peak, m.end) ? m.peak
                                                               : m.end;
    int64_t factor = whole_or("cycle", 1), cycle = 0;

    if (factor < 1 || m.steps < 1)
        refuse("cycle");
    if (factor == 1 && m.done >= m.steps) {
        m.done -= m.steps;
        cycle = 1 + m.done / (m.steps + warmup);
        m.done = m.done % (m.steps + warmup) - warmup;
    }
    for (; m.done >= m.steps; cycle++) {
        m.done -= m.steps + warmup;
        m.steps = m.steps > INT64_MAX / factor ? INT64_MAX : m.steps * factor;
    }
    for (f64 power = D(1.0);; by = d_mul(by, by), cycle /= 2) {
        if (cycle % 2)
            power = d_mul(power, by);
        if (cycle < 2) {
            m.peak = d_mul(m.peak, power);
            break;
        }
    }
    if (d_lt(m.peak, least))
        m.peak = least;
    return m.done < 0 ? line(0, m.peak, m.done + warmup, warmup)
                      : cosine_rate(m);
}

/* Waves, of which each is twice as long as the one before. */
static f32 coslog_rate(rate m)
{
    int64_t done = m.done < m.steps ? m.done : m.steps;
    int64_t n = whole_or("waves", 4);
    f64 x, at, waves;
    f32 turn;

    if (n < 1 || n > 30)
        refuse("waves");
    x = d_div(d_int(done), d_int(m.steps));
    at = d_add(D(1.0), d_mul(d_int(((int64_t)1 << n) - 1), x));
    waves = d_div(d_log(at), D(0x1.62e42fefa39efp-1));
    turn = f_from(d_mul(D(0x1.921fb54442d18p+2),
                        d_sub(waves, d_int(d_trunc(waves)))));
    return f_mul(f_from(m.peak),
                 f_mul(F(0.5f), f_sub(F(1.0f), f_cos(turn))));
}

static f32 flat_cosine_rate(rate m)
{
    int64_t flat = d_trunc(d_mul(real_or("start", 0.5), d_int(m.steps)));

    m.done = m.done < flat ? 0 : m.done - flat;
    m.steps -= flat;
    if (m.steps < 1)
        refuse("start");
    return cosine_rate(m);
}

static f32 restarts_rate(rate m) { return cycles(m, 0); }
static f32 warm_restarts_rate(rate m) { return cycles(m, m.warmup); }

static f32 half_wave(f32 from, f32 to, int64_t done, int64_t steps)
{
    f32 turn = f_mul(PI32, f_div(f_int(done), f_int(steps)));
    f32 half = f_div(f_sub(from, to), F(2.0f));

    return f_add(to, f_mul(half, f_add(f_cos(turn), F(1.0f))));
}

static f32 one_cycle_rate(rate m)
{
    f64 by = real_or("div", 25), last = real_or("last", 1e4);
    int64_t up = d_trunc(d_mul(real_or("start", 0.3), d_int(m.steps)));
    f32 start = f_from(d_div(m.peak, by)), top = f_mul(start, f_from(by));
    f32 end = f_mul(top, f_from(d_div(D(1.0), d_mul(by, last))));

    if (m.done < up)
        return half_wave(start, top, m.done, up);
    if (m.done < m.steps)
        return half_wave(top, end, m.done - up, m.steps - up);
    return end;
}

static f32 slope(f32 from, f32 to, int64_t done, int64_t steps)
{
    return f_add(f_mul(f_sub(to, from), f_div(f_int(done), f_int(steps))),
                 from);
}

static f32 linear_one_cycle_rate(rate m)
{
    f64 by = real_or("div", 25), last = real_or("last", 1e4);
    int64_t up = d_trunc(d_mul(real_or("start", 0.3), d_int(m.steps)));
    int64_t down = d_trunc(d_mul(real_or("final", 0.85), d_int(m.steps)));
    f32 start = f_from(d_div(m.peak, by)), top = f_mul(start, f_from(by));
    f32 again = f_mul(top, f_from(d_div(D(1.0), by)));
    f32 end = f_mul(again, f_from(d_div(D(1.0), last)));

    if (m.done < up)
        return slope(start, top, m.done, up);
    if (m.done < down)
        return slope(top, again, m.done - up, down - up);
    return m.done < m.steps ? slope(again, end, m.done - down, m.steps - down)
                            : end;
}

static const struct rule_of_rate {
    const char *name;
    f32 (*make)(rate m);
    int ends; /* steps count the warm-up */
} rates[] = {
    {"constant", constant_rate, 0}, {"linear", linear_rate, 1},
    {"cosine", cosine_rate, 1}, {"exponential", exponential_rate, 0},
    {"piecewise", piecewise_rate, 0}, {"polynomial", polynomial_rate, 1},
    {"cosine-restarts", restarts_rate, 1}, {"one-cycle", one_cycle_rate, 1},
    {"linear-one-cycle", linear_one_cycle_rate, 1},
    {"warm-restarts", warm_restarts_rate, 1}, {"coslog", coslog_rate, 1},
    {"flat-cosine", flat_cosine_rate, 1}};
enum { RATES = sizeof rates / sizeof *rates };

/* The rate after `done` updates.  Lists that a warm-up has no use for are read
 * all the same: one that nobody reads is refused. */
static f32 rate_of(const struct rule_of_rate *r, rate m)
{
    static const char *const of_some[] = {"rate", "power", "cycle", "restart",
                                          "start", "final", "div", "last",
                                          "bounds", "factors", "waves"};
    int64_t done = m.done;

    for (size_t i = 0; i < sizeof of_some / sizeof *of_some; i++)
        if (has(of_some[i]))
            (void)want(of_some[i], -1);
    m.done -= m.warmup;
    m.steps -= r->ends ? m.warmup : 0;
    if (m.steps < 1)
        refuse("steps");
    return done < m.warmup ? line(0, m.peak, done, m.warmup) : r->make(m);
}

/* "schedule.NAME"; "neg": as what an update adds. */
static f32 schedule_rule(const char *kind)
{
    rate m = {real("peak"), real_or("end", 0), (int64_t)one("done"),
              whole_or("steps", 1), whole_or("warmup", 0)};

    for (int i = 0; i < RATES; i++)
        if (!strcmp(kind + 1, rates[i].name))
            return has("neg") && one("neg") ? f_neg(rate_of(&rates[i], m))
                                            : rate_of(&rates[i], m);
    refuse("no such schedule");
    return 0;
}

/* A rule has a name, which a kind may follow. */
static const struct rule {
    const char *name;
    f32 (*make)(const char *kind);
    const char *kinds; /* with blanks around; "": it has none */
    int words;         /* it gives words, which are no floats */
} rules[] = {
    {"product", product_rule, " .bf16 .f32x3 .f32x6 .rounded ", 0},
    {"bag", bag_rule, "", 0},
    {"column", column_rule, "", 0},
    {"adds", adds_rule, "", 0},
    {"row_sum", row_sum_rule, "", 0},
    {"move", move_rule, "", 0},
    {"one_hot", one_hot_rule, "", 0},
    {"round_bf16", round_rule, "", 0},
    {"max", max_rule, "", 0},
    {"max.back", max_back_rule, "", 0},
    {"max_pool.back", max_pool_back_rule, "", 0},
    {"avg_pool", avg_pool_rule, "", 0},
    {"avg_pool.back", avg_pool_back_rule, "", 0},
    {"norm", norm_rule, "", 0},
    {"norm.stats", norm_stats_rule, "", 0},
    {"norm.back", norm_back_rule, "", 0},
    {"norm.scale", norm_scale_rule, " .pixels ", 0},
    {"rms_norm", rms_rule, "", 0},
    {"rms_norm.stats", rms_stats_rule, "", 0},
    {"rms_norm.back", rms_back_rule, "", 0},
    {"batch_norm", batch_norm_rule, "", 0},
    {"batch_norm.back", batch_back_rule, "", 0},
    {"batch_norm.params", batch_params_rule, "", 0},
    {"batch_norm.moments", batch_moments_rule, "", 1},
    {"batch_norm.sums", batch_sums_rule, "", 1},
    {"batch_norm.join", batch_join_rule, " .back ", 1},
    {"batch_norm.given", batch_given_rule, "", 0},
    {"batch_norm.stored", batch_stored_rule, "", 0},
    {"softmax", softmax_rule, "", 0},
    {"softmax.back", softmax_back_rule, "", 0},
    {"log_softmax", log_softmax_rule, "", 0},
    {"log_softmax.back", log_softmax_back_rule, "", 0},
    {"cross_entropy", cross_entropy_rule, " .back ", 0},
    {"squared_error", squared_error_rule, " .back ", 0},
    {"mean_loss", mean_loss_rule, " .back ", 1},
    {"rotary", rotary_rule, " .back ", 0},
    {"lstm", lstm_rule, " .back ", 0},
    {"gru", gru_rule, " .back ", 0},
    {"random", random_rule, " .key .uniform .normal .truncated ", 1},
    {"dropout", dropout_rule, "", 0},
    {"initial", initial_rule, " .uniform .normal .truncated .orthogonal ", 0},
    {"sinusoid", sinusoid_rule, "", 0},
    {"batch", batch_rule, " .shuffled .window ", 1},
    {"mean", mean_rule, "", 0},
    {"factor", factor_rule, "", 0},
    {"loss.sum", loss_sum_rule, "", 1},
    {"loss.mean", loss_mean_rule, "", 0},
    {"squares", squares_rule, "", 0},
    {"norm.of_blocks", norm_of_blocks_rule, "", 0},
    {"clip", clip_rule, "", 0},
    {"average", average_rule, "", 0},
    {"correction", correction_rule, "", 0},
    {"term", term_rule, NULL, 0},
    {"update", update_rule, NULL, 0},
    {"schedule", schedule_rule, NULL, 0}};
enum { RULES = sizeof rules / sizeof *rules };

/* Does a rule have that name with that kind? */
static int is_kind(const struct rule *r, const char *kind)
{
    char text[34] = " ";

    if (!r->kinds)
        return *kind == '.';
    if (!*kind)
        return strcmp(r->name, "initial") != 0;
    strcat(strncat(text, kind, 31), " ");
    return strstr(r->kinds, text) != NULL;
}

/* The rule of a name, and its kind; of two that fit the longer name. */
static const struct rule *find_rule(const char *op, const char **kind)
{
    const struct rule *found = NULL;

    for (int i = 0; i < RULES; i++) {
        size_t n = strlen(rules[i].name);

        if (!strncmp(op, rules[i].name, n) && is_kind(&rules[i], op + n) &&
            (!found || n > strlen(found->name)))
            found = &rules[i];
    }
    if (!found)
        refuse("no such rule");
    *kind = op + strlen(found->name);
    return found;
}

/* The number that the rule `op` makes of the evidence, all of which it must
 * have read. */
static f32 make(const char *op)
{
    const char *kind;
    const struct rule *r = find_rule(op, &kind);
    f32 x = r->make(kind);

    for (int i = 0; i < count; i++)
        if (!lists[i].is_read && strcmp(lists[i].name, "claim") != 0)
            refuse(lists[i].name);
    while (taken > 0)
        free(rooms[--taken]);
    return r->words ? x : one_nan(x);
}

static void print_kinds(const struct rule *r)
{
    for (const char *k = r->kinds; *k && k[1]; k += 1 + strcspn(k + 1, " "))
        printf("%s%.*s\n", r->name, (int)strcspn(k + 1, " "), k + 1);
}

static void print_rules(void)
{
    for (int i = 0; i < RULES; i++) {
        if (is_kind(&rules[i], ""))
            puts(rules[i].name);
        if (rules[i].kinds)
            print_kinds(&rules[i]);
    }
    for (int i = 0; i < TERMS; i++)
        printf("term.%s\nterm.%s.a\n%s%s%s", terms[i].name, terms[i].name,
               terms[i].b ? "term." : "", terms[i].b ? terms[i].name : "",
               terms[i].b ? ".b\n" : "");
    for (int i = 0; i < UPDATES; i++)
        printf("update.%s\n", updates[i].name);
    for (int i = 0; i < RATES; i++)
        printf("schedule.%s\n", rates[i].name);
}

/* ------ reading ------ */

/* Eight digits, and a blank or the end of the line. */
static int read_word(FILE *f, f32 *x)
{
    int c = 0;

    *x = 0;
    for (int i = 0; i < 8; i++) {
        c = fgetc(f);
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            refuse("a number is eight hexadecimal digits");
        *x = *x << 4 | (uint32_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    c = fgetc(f);
    if (c != ' ' && c != '\n')
        refuse("a number is eight hexadecimal digits");
    return c == ' ';
}

static int read_list(FILE *f, list *l)
{
    int c, i = 0;
    long room = 0;

    while ((((c = fgetc(f)) >= 'a' && c <= 'z') || c == '@') && i < 15)
        l->name[i++] = (char)c;
    if ((c == EOF || c == '\n') && i == 0)
        return 0;
    if (c != ' ' || i == 0 || has(l->name))
        refuse("a name, once each");
    for (int more = 1; more; l->n++) {
        if (l->n == room) {
            room = room ? 2 * room : 16;
            if (room > MOST || !(l->x = realloc(l->x, 4 * (size_t)room)))
                refuse("too long");
        }
        more = read_word(f, &l->x[l->n]);
    }
    return 1;
}

/* ------ proofs ------ */

/* A number of a list that stands in an array. */
typedef struct opened {
    uint32_t array, at;
    f32 x;
} opened;

enum { PIECE = 16, SOURCE = 1 + ROOT, NOWHERE = -1 };

static opened *open_numbers;
static long open_count, settings, proof_at;

static int by_place(const void *a, const void *b)
{
    const opened *x = a, *y = b;

    if (x->array != y->array)
        return x->array < y->array ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* The next n words of the proof. */
static const f32 *take_proof(long n)
{
    const list *l = find("@proof");

    if (!l || n > l->n - proof_at)
        refuse("@proof");
    proof_at += n;
    return l->x + proof_at - n;
}

/* SHA-256 of floats, little end first, and 0: at most 16, which those that are
 * opened must be. */
static void hash_piece(const opened *from, const opened *to, long first, long n,
                       uint32_t hash[8])
{
    const f32 *x = take_proof(n);

    for (; from < to; from++)
        if (x[from->at - first] != from->x)
            refuse("a number is not the array's");
    hash_words(x, n, hash);
}

/* The hash of pieces first .. first+n-1 of an array of so many floats: taken
 * from the proof where none of their numbers is opened. */
static void hash_pieces(const opened *from, const opened *to, long floats,
                        long first, long n, uint32_t hash[8])
{
    uint32_t both[16];
    const opened *mid = from;
    long left = 1, all = floats - first * PIECE;

    if (from == to) {
        memcpy(hash, take_proof(8), 8 * sizeof *hash);
        return;
    }
    if (n == 1) {
        hash_piece(from, to, first * PIECE, all < PIECE ? all : PIECE, hash);
        return;
    }
    while (2 * left < n)
        left *= 2;
    while (mid < to && (long)(mid->at / PIECE) < first + left)
        mid++;
    hash_pieces(from, mid, floats, first, left, both);
    hash_pieces(mid, to, floats, first + left, n - left, both + 8);
    hash_pair(both, hash);
}

/* A number has no tree: its words, and last how many they are. */
static void check_number(const f32 *source, const opened *from,
                         const opened *to)
{
    for (; from < to; from++)
        if (source[ROOT] > 2 || from->at >= source[ROOT] ||
            source[1 + from->at] != from->x)
            refuse("a number is not the record's");
}

static void check_source(const f32 *source, const opened *from,
                         const opened *to)
{
    long floats = (long)source[0];
    uint32_t hash[8];

    if (source[0] == 0) {
        check_number(source, from, to);
        return;
    }
    if (source[0] > 0x7fffffff || (from < to && (long)to[-1].at >= floats))
        refuse("@");
    hash_pieces(from, to, floats, 0, (floats + PIECE - 1) / PIECE, hash);
    if (memcmp(hash, source + 1, sizeof hash))
        refuse("what is opened is not under its root");
}

/* Open a run of a list: as many numbers of an array, `stride` apart. */
static void open_span(const f32 run[4], const f32 *x, long arrays)
{
    if (run[0] == (uint32_t)NOWHERE) {
        settings += (long)run[3];
        return;
    }
    if (run[0] >= (uint32_t)arrays)
        refuse("an array that there is not");
    for (uint32_t i = 0; i < run[3]; i++) {
        opened one_more = {run[0], run[1] + i * run[2], x[i]};

        open_numbers[open_count++] = one_more;
    }
}

/* Open all of list l, whose runs are of `where`. */
static void open_list(const list *l, list *where, long arrays)
{
    long at = 0;

    where->is_read = 1;
    if (where->n % 4)
        refuse(where->name);
    for (long i = 0; i < where->n; at += (long)where->x[i + 3], i += 4) {
        if (where->x[i + 3] < 1 || (long)where->x[i + 3] > l->n - at)
            refuse(where->name);
        open_span(where->x + i, l->x + at, arrays);
    }
    if (at != l->n)
        refuse(where->name);
}

static void open_lists(long arrays)
{
    for (int i = 0; i < count; i++) {
        char name[18];
        const list *where;

        if (strchr(lists[i].name, '@') || !strcmp(lists[i].name, "claim"))
            continue;
        strcat(strcpy(name, lists[i].name), "@");
        where = find(name);
        if (!where)
            refuse("a list that does not say whose it is");
        open_list(&lists[i], &lists[where - lists], arrays);
    }
}

/* Is there an array, or a list that says where its numbers are? */
static int says_where(void)
{
    for (int i = 0; i < count; i++)
        if (strchr(lists[i].name, '@'))
            return 1;
    return 0;
}

/* Check the proofs of all lists; without any "@" nothing is opened, and without
 * an array all numbers are settings. */
static void open_evidence(void)
{
    const list *sources = find("@");
    long arrays = sources ? sources->n / SOURCE : 0, all = 1, from = 0, to;

    open_count = settings = proof_at = 0;
    if (!says_where())
        return;
    if (find("root"))
        refuse("@ and root: it opens arrays, or a row of the data");
    for (int i = 0; i < count; i++)
        all += lists[i].n;
    free(open_numbers);
    open_numbers = malloc((size_t)all * sizeof *open_numbers);
    if (!open_numbers || (sources && sources->n % SOURCE))
        refuse("@");
    open_lists(arrays);
    qsort(open_numbers, (size_t)open_count, sizeof *open_numbers, by_place);
    for (long i = 0; i < arrays; i++, from = to) {
        for (to = from; to < open_count && (long)open_numbers[to].array == i;)
            to++;
        check_source(sources->x + i * SOURCE, open_numbers + from,
                     open_numbers + to);
    }
    if (sources)
        lists[sources - lists].is_read = 1;
    if (find("@proof"))
        lists[find("@proof") - lists].is_read = 1;
    if (find("@proof") && proof_at != find("@proof")->n)
        refuse("@proof");
}

/* ------ the verdict ------ */

static int read_evidence(FILE *f, char op[32])
{
    int c;

    for (; count > 0; count--) {
        free(lists[count - 1].x);
        memset(&lists[count - 1], 0, sizeof *lists);
    }
    do
        c = fgetc(f);
    while (c == '\n');
    if (c == EOF || ungetc(c, f) == EOF)
        return 0;
    if (fscanf(f, "lockstep evidence 1 op %31[a-z0-9_.-]", op) != 1 ||
        fgetc(f) != '\n')
        refuse("the first two lines");
    while (count < LISTS && read_list(f, &lists[count]))
        count++;
    if (count == LISTS)
        refuse("too many lists");
    open_evidence();
    return 1;
}

#ifndef REFEREE_IS_TESTED
/* Where x86-64 and arm64 differ, arm64's number too. */
static void print_corner(const char *op, f32 is)
{
    f32 other;

    soft_tiny = TINY_BEFORE;
    other = make(op);
    soft_tiny = TINY_AFTER;
    printf("; a result near 2^-126 that x86-64 and arm64 round otherwise took "
           "part");
    if (other != is)
        printf(": on arm64 it is %08x", (unsigned)other);
}

static int judge(const char *op)
{
    static const char *const say[] = {
        "the first side is right", "the second side is right",
        "neither side is right"};
    const list *claim = want("claim", 2);
    f32 is;
    int verdict;

    soft_corner = 0;
    is = make(op);
    verdict = is == claim->x[0] ? 0 : is == claim->x[1] ? 1 : 2;
    printf("%s: it is %08x; %s", op, (unsigned)is, say[verdict]);
    if (says_where())
        printf("; %ld numbers opened, %ld settings", open_count, settings);
    if (soft_corner)
        print_corner(op, is);
    putchar('\n');
    return verdict;
}

/* Write what a record says of the array or number that is called source. */
static void text_of(const f32 *source, char text[96])
{
    int words = source[0] ? ROOT : source[ROOT] == 2 ? 2 : 1;

    strcpy(text, source[0] ? "\"pieces\":\"" : "\"bits\":\"");
    for (int i = 0; i < words; i++)
        sprintf(text + strlen(text), "%08x", (unsigned)source[1 + i]);
    strcat(text, "\"");
}

/* Write what a transcript says of the root of the data. */
static void text_of_root(const f32 *root, char text[96])
{
    strcpy(text, "\"source\":\"");
    for (int i = 0; i < ROOT; i++)
        sprintf(text + strlen(text), "%08x", (unsigned)root[i]);
    strcat(text, "\"");
}

/* Read the next line of a file, without its end; false: there is none. */
static int read_line(FILE *f, char **line, size_t *room)
{
    size_t n = 0;
    int c;

    while ((c = fgetc(f)) != EOF && c != '\n') {
        if (n + 2 > *room) {
            *room = *room ? 2 * *room : 4096;
            if (!(*line = realloc(*line, *room)))
                refuse("no memory");
        }
        (*line)[n++] = (char)c;
    }
    if (*room)
        (*line)[n] = 0;
    return c != EOF && *room;
}

/* Does the record have all arrays of the evidence, or the transcript the root
 * of the data? */
static void check_record(const char *path)
{
    const list *sources = find("@"), *root = find("root");
    FILE *f = fopen(path, "r");
    long arrays = sources ? sources->n / SOURCE : root != NULL, found = 0;
    char *line = NULL, *is_found = calloc((size_t)arrays + 1, 1), text[96];
    size_t room = 0;

    if (!f || !is_found)
        refuse(path);
    if (!arrays)
        refuse("nothing is opened");
    while (found < arrays && read_line(f, &line, &room))
        for (long i = 0; i < arrays; i++) {
            if (sources)
                text_of(sources->x + i * SOURCE, text);
            else
                text_of_root(root->x, text);
            if (!is_found[i] && strstr(line, text))
                found += is_found[i] = 1;
        }
    fclose(f);
    free(line);
    free(is_found);
    if (found < arrays)
        refuse("an array is not in the record");
}

/* A file may have several pieces of evidence, with an empty line between them;
 * the status is the greatest. */
int main(int argc, char **argv)
{
    int worst = -1;
    char op[32];
    FILE *f;

    if (argc == 2 && !strcmp(argv[1], "--rules"))
        return print_rules(), 0;
    f = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (!f)
        return perror("referee FILE [RECORD..]"), 3;
    while (read_evidence(f, op)) {
        int verdict;

        for (int i = 2; i < argc; i++)
            check_record(argv[i]);
        verdict = judge(op);

        worst = verdict > worst ? verdict : worst;
    }
    return worst < 0 ? refuse("the first two lines") : worst;
}
#endif
