/* SPDX-License-Identifier: BSD-3-Clause */
/* == start == */
#include <float.h>
#include <stdint.h>

/* Compilers may not put a product and a sum together unless it is written. */
#if defined __clang__
#pragma STDC FP_CONTRACT OFF
#elif defined __GNUC__
#pragma GCC optimize ("fp-contract=off")
#endif
#if defined __FAST_MATH__
#error "compile without -ffast-math: it changes the bytes"
#endif

/* == numbers: start == */
/* ------ numbers ------ */

/* Where float arithmetic is wider than float (x87), storing rounds it.  tcc
 * does not tell, but has SSE where it has 64 bits. */
#if defined FLT_EVAL_METHOD && FLT_EVAL_METHOD == 0 || \
    defined __TINYC__ && defined __x86_64__
#define NARROW
#define EXACT
#else
#define EXACT volatile
#endif

static uint32_t bits(float x)
{
    union { float f; uint32_t u; } word;

    word.f = x;
    return word.u;
}

static float number(uint32_t u)
{
    union { float f; uint32_t u; } word;

    word.u = u;
    return word.f;
}

/* All bits, or none: so that loops need no branch, and become vectors. */
static uint32_t all_if(int so)
{
    return 0u - (uint32_t)so;
}

/* What is below 2^-126 in size counts as a zero of its sign. */
static float flush(float x)
{
    uint32_t u = bits(x);

    return number(u & (all_if((u & 0x7f800000u) != 0) | 0x80000000u));
}

/* A result that may have been rounded where floats are denormal: not 0, and at
 * most 2^-126 in size. */
static int is_tiny(float x)
{
    return (bits(x) << 1) - 1 < 0x01000000u;
}

/* == round: numbers == */
/* Round m 2^e, bit 0 of m standing for all that was shifted out; a result below
 * 2^-126 is a zero of its sign. */
static float rounded(uint32_t sign, uint64_t m, int e)
{
    int top = 63;
    uint64_t half;

    while (!(m >> top))
        top--;
    e += top - 23;
    if (top > 23) {
        half = (uint64_t)1 << (top - 24);
        m = (m >> (top - 23)) +
            ((m & (2 * half - 1)) > half ||
             ((m & (2 * half - 1)) == half && m >> (top - 23) & 1));
    } else {
        m <<= 23 - top;
    }
    if (m >> 24) {
        m >>= 1;
        e++;
    }
    if (e + 150 <= 0)
        return number(sign);
    if (e + 150 >= 255)
        return number(sign | 0x7f800000u);
    return number(sign | (uint32_t)(e + 150) << 23 | (uint32_t)(m & 0x7fffff));
}

static int exponent(float x)
{
    return (int)(bits(x) >> 23 & 255);
}

static uint64_t mantissa(float x)
{
    return (bits(x) & 0x7fffff) | 0x800000;
}

/* == exact: round == */
/* a b + c in whole numbers, rounded once. */
static float exact_fma(float a, float b, float c)
{
    uint32_t sp = (bits(a) ^ bits(b)) & 0x80000000u, sc = bits(c) & 0x80000000u;
    uint64_t p, m;
    int ep, ec, n;

    if (exponent(a) == 255 || exponent(b) == 255 || exponent(c) == 255)
        return a * b + c;
    if (!exponent(a) || !exponent(b))
        return exponent(c) ? c : number(sp == sc ? sp : 0);
    p = mantissa(a) * mantissa(b) << 14;
    ep = exponent(a) + exponent(b) - 314;
    if (!exponent(c))
        return rounded(sp, p, ep);
    m = mantissa(c) << 37;
    ec = exponent(c) - 187;
    n = ec > ep ? ec - ep : ep - ec;
    if (ep < ec) {
        p = n > 63 ? 1 : n ? p >> n | (p << (64 - n) != 0) : p;
        ep = ec;
    } else {
        m = n > 63 ? 1 : n ? m >> n | (m << (64 - n) != 0) : m;
    }
    if (sp == sc)
        return rounded(sp, p + m, ep);
    if (p == m)
        return 0;
    return p > m ? rounded(sp, p - m, ep) : rounded(sc, m - p, ep);
}

/* == fma: exact == */
/* FMA: a b + c rounded once, and right where nothing is denormal.  The CPU's;
 * the C library's fmaf with MODEL_LIBM; else by doubles: a product of floats is
 * exact there, the sum is rounded to odd, and then to float (Boldo and
 * Melquiond 2008). */
#if defined MODEL_LIBM
#include <math.h>
#define FMA fmaf
#elif defined __GNUC__ && !defined MODEL_SOFT && \
    (defined __FMA__ || defined __aarch64__ || defined __s390x__ || \
     defined __powerpc64__ || defined __riscv_flen)
#define FMA __builtin_fmaf
#elif defined NARROW
static float soft_fma(float a, float b, float c)
{
    union { double f; int64_t i; } s;
    double p = (double)a * (double)b, d = (double)c, t, lost;

    s.f = p + d;
    t = s.f - p;
    lost = (p - (s.f - t)) + (d - t);
    if (!(s.i & 1) && (lost > 0 || lost < 0))
        s.i += (lost > 0) == (s.i > 0) ? 1 : -1;
    return (float)s.f;
}
#define FMA soft_fma
#else
#define FMA exact_fma
#endif

static float fused(float a, float b, float c)
{
    EXACT float r = FMA(a, b, c);

    return is_tiny(r) ? exact_fma(a, b, c) : r;
}

/* == mul: exact == */
static float mul(float a, float b)
{
    EXACT float r = a * b;

    return is_tiny(r) ? exact_fma(a, b, number((bits(a) ^ bits(b)) &
                                               0x80000000u))
                      : r;
}

/* == add: numbers == */
static float add(float a, float b)
{
    EXACT float r = a + b;

    return flush(r);
}

/* == sub: add == */
static float sub(float a, float b)
{
    return add(a, -b);
}

/* == div: round == */
static float divide(float a, float b)
{
    uint32_t sign = (bits(a) ^ bits(b)) & 0x80000000u;
    uint64_t n, d;
    EXACT float r = a / b;

    if (!is_tiny(r) || exponent(b) == 255)
        return flush(r);
    n = mantissa(a) << 38;
    d = mantissa(b);
    return rounded(sign, n / d << 1 | (n % d != 0),
                   exponent(a) - exponent(b) - 39);
}

/* == root: round == */
/* The square root, digit by digit. */
static float root(float x)
{
    uint64_t m, r = 0;
    int e, bit;

    if (!(x > 0) || exponent(x) == 255)
        return x == 0 || x > 0 ? x : number(0x7fc00000u);
    m = mantissa(x) << 37;
    e = exponent(x) - 187;
    if (e % 2) {
        m >>= 1;
        e++;
    }
    for (bit = 31; bit >= 0; bit--) {
        uint64_t t = r | (uint64_t)1 << bit;

        if (t * t <= m)
            r = t;
    }
    return rounded(0, r << 1 | (r * r != m), e / 2 - 1);
}

