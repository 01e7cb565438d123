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
 *     b ...                           eight hexadecimal digits of their bits
 *
 * Exit status: 0 the first side is right, 1 the second, 2 neither, 3 the
 * evidence is not as the rule wants it.  `referee --rules` lists the rules.
 *
 *     cc -O2 -std=c99 referee.c -o referee && ./referee FILE */
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

static void norm_stats(const f32 *x, long n, f32 *mean, f32 *r)
{
    f32 by = f_div(F(1.0f), f_int(n)), square, var;

    *mean = f_mul(row_sum(x, NULL, n), by);
    square = f_mul(row_sum(x, x, n), by);
    var = f_sub(square, f_mul(*mean, *mean));
    var = f_lt(0, var) ? var : 0;
    *r = f_div(F(1.0f), f_sqrt(f_add(var, F(1e-6f))));
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
                    f32 *dx, f32 *room)
{
    f32 by = f_div(F(1.0f), f_int(n)), mean, r, md, mdx;
    f32 *d = room, *xh = room + n;

    norm_stats(x, n, &mean, &r);
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

static f32 tree(const f32 *g, long stride, int n) /* n devices; g is consumed */
{
    f32 x[64];

    for (int i = 0; i < n; i++)
        x[i] = g[i * stride];
    for (int s = 1; s < n; s *= 2)
        for (int i = 0; i + s < n; i += 2 * s)
            x[i] = f_add(x[i], x[i + s]);
    return x[0];
}

/* 1 / (1 - b^n), the power in pairs of doubles. */
static f32 correction(double base, long n)
{
    double hi = 1, lo = 0, sh = (double)(float)base, sl = 0;
    f32 power;

    for (; n > 0 && hi != 0; n /= 2) {
        const double split = 134217729;
        double a, b, p, t, u, v, w;

        for (int k = n % 2 ? 0 : 1; k < 2; k++) { /* power, then the square */
            double xh = k ? sh : hi, xl = k ? sl : lo;

            t = split * xh;
            a = t - (t - xh);
            u = split * sh;
            b = u - (u - sh);
            p = xh * sh;
            v = ((a * b - p) + a * (sh - b) + (xh - a) * b) +
                (xh - a) * (sh - b);
            v += xh * sl + xl * sh;
            w = p + v;
            if (k) {
                sl = v - (w - p);
                sh = w;
            } else {
                lo = v - (w - p);
                hi = w;
            }
        }
    }
    power = F((float)(hi + lo));
    return f_div(F(1.0f), f_sub(F(1.0f), power));
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
static f32 leaky_y(given g) { return f_lt(g.a, 0) ? f_mul(g.p, g.a) : g.a; }
static f32 leaky_a(given g) { return f_lt(g.a, 0) ? f_mul(g.p, g.d) : g.d; }
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
    {"scale_shift", scale_y, scale_a, NULL},
    {"square", square_y, square_a, NULL}, {"sqrt", sqrt_y, sqrt_a, NULL},
    {"exp", exp_y, exp_a, NULL}, {"log", log_y, log_a, NULL},
    {"abs", abs_y, abs_a, NULL}, {"clamp", clamp_y, clamp_a, NULL},
    {"leaky_relu", leaky_y, leaky_a, NULL}, {"elu", elu_y, elu_a, NULL},
    {"softplus", softplus_y, softplus_a, NULL},
    {"silu", silu_y, silu_a, NULL}};
enum { TERMS = sizeof terms / sizeof *terms };

/* ------ updates ------ */

/* What an update is given, and leaves: options are doubles, which kernels round
 * once, as they round 1 - x. */
typedef struct update {
    f32 g, lr, p, m0, m1; /* m0: mu, nu, trace or the sum of squares */
    f32 r1, r2;           /* 1 / (1 - b^n) */
    double b1, b2, eps, decay, momentum, weight_decay;
} update;

static f32 option(double x) { return F((float)x); }
static f32 complement(double x) { return F((float)(1 - x)); }
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

static f32 moments(update *u)
{
    u->m0 = f_fma(complement(u->b1), u->g, f_mul(option(u->b1), u->m0));
    u->m1 = f_fma(complement(u->b2), f_mul(u->g, u->g),
                  f_mul(option(u->b2), u->m1));
    return f_div(f_mul(u->m0, u->r1),
                 f_add(f_sqrt(f_mul(u->m1, u->r2)), option(u->eps)));
}

static void adam(update *u) { u->p = less(u, moments(u)); }

static void adamw_update(update *u)
{
    u->p = less(u, f_fma(option(u->weight_decay), u->p, moments(u)));
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
    u->p = less(u, f_fma(option(u->weight_decay), u->p, sign));
}

static const struct rule_of_update {
    const char *name;
    void (*make)(update *u);
} updates[] = {{"sgd", sgd}, {"momentum", momentum}, {"nesterov", nesterov},
               {"adam", adam}, {"adamw", adamw_update}, {"rmsprop", rmsprop},
               {"adagrad", adagrad}, {"lion", lion}};
enum { UPDATES = sizeof updates / sizeof *updates };

/* ====== Evidence, and the rules that read it ====== */

enum { MOST = 1 << 22, LISTS = 24 };

typedef struct list {
    char name[16];
    long n;
    f32 *x;
} list;

static list lists[LISTS];
static int count;

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
            return &lists[i];
        }
    refuse(name);
    return NULL;
}

static int has(const char *name)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(lists[i].name, name))
            return 1;
    return 0;
}

static f32 one(const char *name)
{
    return want(name, 1)->x[0];
}

static long place(long n) /* "at": below n */
{
    f32 at = one("at");

    if (at >= (uint32_t)n)
        refuse("at");
    return (long)at;
}

/* ------ rules ------ */

/* Chunks of K that were separate calls (chunks of rows) are lengths in
 * "parts", in order; without it all is one. */
static f32 product_rule(void)
{
    const list *a = want("a", -1), *b = want("b", a->n);
    f32 sum = has("c") ? one("c") : 0;
    int began = has("c");
    long at = 0;

    for (long i = 0; i < (has("parts") ? want("parts", -1)->n : 1); i++) {
        long n = has("parts") ? (long)want("parts", -1)->x[i] : a->n;

        if (n < 1 || n > a->n - at)
            refuse("parts");
        sum = product(began ? &sum : NULL, a->x + at, 1, b->x + at, 1, n);
        began = 1;
        at += n;
    }
    if (at != a->n)
        refuse("parts");
    if (has("scale"))
        sum = f_mul(sum, one("scale"));
    if (has("bias"))
        sum = f_add(sum, one("bias"));
    return has("add") ? f_add(sum, one("add")) : sum;
}

static f32 column_rule(void)
{
    const list *a = want("a", -1), *parts = want("parts", -1);
    f32 sum = 0;
    long at = 0;

    for (long i = 0; i < parts->n; i++) {
        long n = (long)parts->x[i];

        if (n < 1 || n > a->n - at)
            refuse("parts");
        sum = column(i ? &sum : NULL, a->x + at, 1, n);
        at += n;
    }
    if (at != a->n)
        refuse("parts");
    return sum;
}

/* d of a column and xh, which is made of x and the statistics of its rows. */
static f32 norm_scale_rule(void)
{
    const list *d = want("dy", -1), *x = want("x", d->n);
    const list *mean = want("mean", d->n), *r = want("r", d->n);
    const list *parts = want("parts", -1);
    f32 sum = 0;
    long at = 0;

    for (long i = 0; i < parts->n; i++) {
        f32 chain = 0;

        for (long k = 0; k < (long)parts->x[i]; k++, at++) {
            if (at == d->n || k == 256)
                refuse("parts");
            chain = f_fma(d->x[at], norm_xh(x->x[at], mean->x[at], r->x[at]),
                          chain);
        }
        sum = i ? f_add(sum, chain) : chain;
    }
    return sum;
}

/* "term.NAME" the value, "term.NAME.a" and ".b" what the gradient gives. */
static f32 term_rule(const char *op)
{
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
            return terms[i].a(g);
        if (!strcmp(rest, ".b") && terms[i].b)
            return terms[i].b(g);
    }
    refuse("no such term");
    return 0;
}

static f32 norm_stats_rule(void) /* at 0: the mean, 1: 1 / deviation */
{
    const list *x = want("x", -1);
    f32 s[2];

    norm_stats(x->x, x->n, &s[0], &s[1]);
    return s[place(2)];
}

static f32 norm_rule(void)
{
    return norm_y(one("x"), one("mean"), one("r"), one("scale"), one("bias"));
}

static f32 norm_back_rule(void)
{
    const list *x = want("x", -1), *dy = want("dy", x->n);
    const list *scale = want("scale", x->n);
    f32 *dx = calloc(3 * (size_t)x->n + 1, sizeof *dx), y;

    if (!dx)
        refuse("no memory");
    norm_dx(x->x, dy->x, scale->x, x->n, dx, dx + x->n);
    y = dx[place(x->n)];
    free(dx);
    return has("add") ? f_add(y, one("add")) : y;
}

static f32 softmax_rule(void)
{
    const list *x = want("x", -1);
    f32 *e = calloc((size_t)x->n + 1, sizeof *e), y;

    if (!e)
        refuse("no memory");
    y = f_div(F(1.0f), row_exp(x->x, x->n, row_top(x->x, x->n), e));
    y = f_mul(e[place(x->n)], y);
    free(e);
    return y;
}

static f32 cross_entropy_rule(void)
{
    const list *x = want("x", -1);
    int32_t label = (int32_t)one("label");
    f32 *dx = calloc((size_t)x->n + 1, sizeof *dx), y;

    if (!dx || label >= x->n)
        refuse("label");
    if (label >= 0)
        (void)cross_entropy(x->x, x->n, label, one("weight"), dx);
    y = dx[place(x->n)];
    free(dx);
    return y;
}

static f32 mean_rule(void) /* over devices, of a partial sum each */
{
    const list *a = want("a", -1);

    if (a->n < 1 || a->n > 64)
        refuse("a");
    return f_mul(tree(a->x, 1, (int)a->n), one("factor"));
}

/* An option as the two words of its double, the high one first. */
static double real(const char *name)
{
    const list *l = want(name, 2);
    uint64_t bits = (uint64_t)l->x[0] << 32 | l->x[1];
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

static double real_or(const char *name, double x)
{
    return has(name) ? real(name) : x;
}

static f32 or_zero(const char *name) { return has(name) ? one(name) : 0; }

/* "update.NAME", at 0: p, 1: the first moment, 2: the second.  Before it the
 * gradient is clipped by norm, and by value, where these are given. */
static f32 update_rule(const char *op)
{
    update u = {one("g"), one("lr"), one("p"), or_zero("ma"), or_zero("mb"),
                0, 0, real_or("ba", 0), real_or("bb", 0), real_or("eps", 0),
                real_or("decay", 0), real_or("momentum", 0), real_or("wd", 0)};
    long n = has("n") ? (long)one("n") : 1;
    f32 most = or_zero("clip");

    u.r1 = correction(u.b1, n);
    u.r2 = correction(u.b2, n);
    if (has("clip") && !f_lt(one("norm"), most))
        u.g = f_mul(f_mul(u.g, f_div(F(1.0f), one("norm"))), most);
    if (has("most"))
        u.g = f_min(f_max(u.g, f_neg(one("most"))), one("most"));
    for (int i = 0; i < UPDATES; i++)
        if (!strcmp(op, updates[i].name)) {
            const f32 out[] = {(updates[i].make(&u), u.p), u.m0, u.m1};

            return out[place(3)];
        }
    refuse("no such update");
    return 0;
}

/* The average of the weights after an update. */
static f32 average_rule(void)
{
    double d = real("decay");

    return f_fma(complement(d), one("p"), f_mul(option(d), one("e")));
}

/* The squares of a block of 4096 for the norm, and the norm of all blocks. */
static f32 squares_rule(void)
{
    const list *a = want("a", -1);

    if (a->n > 4096)
        refuse("a");
    return row_sum(a->x, a->x, a->n);
}

/* The square root of a positive double, correctly rounded: digit by digit, two
 * bits of x for one of the root, and one more that says which way to round. */
static double root_of(double x)
{
    uint64_t bits, m, root = 0, rest = 0;
    int e;

    memcpy(&bits, &x, sizeof bits);
    if (bits == 0)
        return 0;
    e = (int)(bits >> 52) - 1075;
    m = (bits & 0xfffffffffffffu) | 0x10000000000000u;
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
    root = (root >> 1) + (root & 1 && (rest || root & 2)); /* 54 bits to 53 */
    bits = (uint64_t)(e / 2 - 27 + 1 + 1075 - 0) << 52;
    bits += root - 0x10000000000000u;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static f32 norm_of_blocks_rule(void)
{
    const list *a = want("a", -1);
    double sum = 0;

    for (long i = 0; i < a->n; i++) {
        float f;

        memcpy(&f, &a->x[i], 4);
        sum += (double)f;
    }
    return F((float)root_of(sum));
}

static const struct rule {
    const char *name;
    f32 (*make)(void);
} rules[] = {
    {"product", product_rule}, {"column", column_rule},
    {"norm.stats", norm_stats_rule}, {"norm", norm_rule},
    {"norm.back", norm_back_rule}, {"norm.scale", norm_scale_rule},
    {"softmax", softmax_rule}, {"cross_entropy.back", cross_entropy_rule},
    {"mean", mean_rule}, {"squares", squares_rule},
    {"norm.of_blocks", norm_of_blocks_rule}, {"average", average_rule}};
enum { RULES = sizeof rules / sizeof *rules };

/* Signs and payloads of NaN are no part of the contract. */
static f32 one_nan(f32 x) { return f_nan(x) ? NAN32 : x; }

/* The number that the rule `op` makes of the evidence. */
static f32 make(const char *op)
{
    if (!strncmp(op, "term.", 5))
        return one_nan(term_rule(op + 5));
    if (!strncmp(op, "update.", 7))
        return one_nan(update_rule(op + 7));
    for (int i = 0; i < RULES; i++)
        if (!strcmp(rules[i].name, op))
            return one_nan(rules[i].make());
    refuse("no such rule");
    return 0;
}

static void print_rules(void)
{
    for (int i = 0; i < RULES; i++)
        puts(rules[i].name);
    for (int i = 0; i < TERMS; i++)
        printf("term.%s\nterm.%s.a\n%s%s%s", terms[i].name, terms[i].name,
               terms[i].b ? "term." : "", terms[i].b ? terms[i].name : "",
               terms[i].b ? ".b\n" : "");
    for (int i = 0; i < UPDATES; i++)
        printf("update.%s\n", updates[i].name);
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

    while ((c = fgetc(f)) >= 'a' && c <= 'z' && i < 15)
        l->name[i++] = (char)c;
    if (c == EOF && i == 0)
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

/* ------ the verdict ------ */

static void read_evidence(FILE *f, char op[32])
{
    if (fscanf(f, "lockstep evidence 1 op %31[a-z_.]", op) != 1 ||
        fgetc(f) != '\n')
        refuse("the first two lines");
    while (count < LISTS && read_list(f, &lists[count]))
        count++;
    if (count == LISTS)
        refuse("too many lists");
}

#ifndef REFEREE_IS_TESTED
int main(int argc, char **argv)
{
    static const char *const say[] = {
        "the first side is right", "the second side is right",
        "neither side is right"};
    const list *claim;
    char op[32];
    int verdict;
    FILE *f;
    f32 is;

    if (argc == 2 && !strcmp(argv[1], "--rules"))
        return print_rules(), 0;
    f = argc == 2 ? fopen(argv[1], "r") : NULL;
    if (!f)
        return perror("referee FILE"), 3;
    read_evidence(f, op);
    claim = want("claim", 2);
    is = make(op);
    verdict = is == claim->x[0] ? 0 : is == claim->x[1] ? 1 : 2;
    printf("%s: it is %08x; %s%s\n", op, (unsigned)is, say[verdict],
           soft_corner ? "; a result near 2^-126 that x86-64 and arm64 round "
                         "otherwise took part" : "");
    return verdict;
}
#endif
