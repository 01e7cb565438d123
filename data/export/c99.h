/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers of C sources, one at a time: operations that round as the contract
 * has it, and flush, on any processor and any compiler of C99.  No file of the
 * library includes it: kernel_text.awk takes it apart with the kernels. */
#ifndef LS_EXPORT_C99_H
#define LS_EXPORT_C99_H

#ifndef LS__SOURCE
#define LS__SOURCE
#include <float.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Compilers may not put a product and a sum together unless it is written. */
#if defined __clang__
#pragma STDC FP_CONTRACT OFF
#elif defined __GNUC__ && !defined __TINYC__
#pragma GCC optimize ("fp-contract=off")
#endif
#if defined __FAST_MATH__
#error "compile without -ffast-math: it changes the bytes"
#endif
#if !defined __GNUC__ && !defined __TINYC__
#define __attribute__(x)
#endif
#if !defined __GNUC__ || defined __TINYC__
#define _Pragma(x)
#define __builtin_prefetch(...) ((void)0)
#endif
/* A function of numbers, which vectors may not need. */
#define SCALAR __attribute__((unused)) static
#endif

/* Where float arithmetic is wider than float (x87), storing rounds it, and so
 * does a call that is one.  tcc does not tell, but has SSE where it has 64
 * bits.  A method of 16 is that of 0, with _Float16 beside. */
#if defined __TINYC__ && defined __x86_64__ || \
    defined FLT_EVAL_METHOD && (FLT_EVAL_METHOD == 0 || FLT_EVAL_METHOD == 16)
#define NARROW
#define EXACT
#define APART SCALAR
#else
#define EXACT volatile
#define APART __attribute__((noinline)) SCALAR
#endif

/* WIDE: the compiler has vectors, and the processor a mode in which denormals
 * are zeros, which is set around every prediction; round to nearest is too. */
#if defined NARROW && defined __GNUC__ && !defined __TINYC__ && \
    !defined MODEL_SOFT && !defined MODEL_LIBM
#if defined __SSE2_MATH__
#define WIDE
typedef unsigned fp_mode;
SCALAR fp_mode mode_set(void)
{
    fp_mode old = __builtin_ia32_stmxcsr();

    __builtin_ia32_ldmxcsr(0x9fc0);
    return old;
}

SCALAR void mode_restore(fp_mode old)
{
    __builtin_ia32_ldmxcsr(old);
}
#elif defined __aarch64__ && defined __ARM_NEON && defined __ARM_FEATURE_FMA
#define WIDE
typedef uint64_t fp_mode;
SCALAR fp_mode mode_set(void)
{
    fp_mode old, mode = UINT64_C(1) << 24;

    __asm__ __volatile__("mrs %0, fpcr" : "=r"(old));
    __asm__ __volatile__("msr fpcr, %0" : : "r"(mode));
    return old;
}

SCALAR void mode_restore(fp_mode old)
{
    __asm__ __volatile__("msr fpcr, %0" : : "r"(old));
}
#endif
#endif
#if defined WIDE
#define SIMD static inline __attribute__((always_inline))
#define OUT_OF_LINE static __attribute__((noinline))
#else
#define SIMD static inline
#define OUT_OF_LINE static
typedef int fp_mode;
SCALAR fp_mode mode_set(void)
{
    return 0;
}

SCALAR void mode_restore(fp_mode old)
{
    (void)old;
}
#endif

#define LS__ASSERT(condition) ((void)0)

SCALAR uint32_t bits(float x)
{
    union { float f; uint32_t u; } word;

    word.f = x;
    return word.u;
}

SCALAR float number(uint32_t u)
{
    union { float f; uint32_t u; } word;

    word.u = u;
    return word.f;
}

#define __builtin_inff() number(0x7f800000u)
#define __builtin_nanf(text) number(0x7fc00000u)

/* What is below 2^-126 in size counts as a zero of its sign. */
APART float flush(float x)
{
    uint32_t u = bits(x);

    return number(u & (0x80000000u | (0u - ((u & 0x7f800000u) != 0))));
}

/* A result that may have been rounded where floats are denormal: not 0, and at
 * most 2^-126 in size. */
SCALAR int is_tiny(float x)
{
    return (bits(x) << 1) - 1 < 0x01000000u;
}

SCALAR int exponent(float x)
{
    return (int)(bits(x) >> 23 & 255);
}

SCALAR uint64_t mantissa(float x)
{
    return (bits(x) & 0x7fffff) | 0x800000;
}

/* Round m 2^e, bit 0 of m standing for all that was shifted out; a result below
 * 2^-126 is a zero of its sign. */
SCALAR float rounded(uint32_t sign, uint64_t m, int e)
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

/* a b + c in whole numbers, rounded once. */
SCALAR float exact_fma(float a, float b, float c)
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

/* a b + c rounded once, and right where nothing is denormal.  The CPU's; the C
 * library's fmaf with MODEL_LIBM; else by doubles: a product of floats is exact
 * there, the sum is rounded to odd, and then to float (Boldo and Melquiond
 * 2008). */
#if defined MODEL_LIBM
#include <math.h>
#define FMA(x, y, z) fmaf(x, y, z)
#elif defined __GNUC__ && !defined __TINYC__ && !defined MODEL_SOFT && \
    (defined __FMA__ || defined __aarch64__ || defined __s390x__ || \
     defined __powerpc64__ || defined __riscv_flen)
#define FMA(x, y, z) __builtin_fmaf(x, y, z)
#elif defined NARROW
SCALAR float FMA(float a, float b, float c)
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
#else
#define FMA(x, y, z) exact_fma(x, y, z)
#endif

APART float fused(float a, float b, float c)
{
    EXACT float r = FMA(a, b, c);

    return is_tiny(r) ? exact_fma(a, b, c) : r;
}

APART float product_of(float a, float b)
{
    EXACT float r = a * b;

    return is_tiny(r) ? exact_fma(a, b, number((bits(a) ^ bits(b)) &
                                               0x80000000u))
                      : r;
}

APART float sum_of_two(float a, float b)
{
    EXACT float r = a + b;

    return flush(r);
}

APART float quotient(float a, float b)
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

/* The square root, digit by digit. */
SCALAR float root(float x)
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

#define __builtin_sqrtf(x) root(x)

/* What kernels ask of base/fma.h. */
#if defined WIDE
#define ls__flushed(x) (x)
#define ls__mulf(x, y) ((x) * (y))
#else
#define ls__flushed(x) flush(x)
#define ls__mulf(x, y) product_of(x, y)
#endif

SCALAR double double_mul(double a, double b)
{
    EXACT double r = a * b;

    return r;
}

#endif
