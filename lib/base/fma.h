/* SPDX-License-Identifier: BSD-3-Clause */
/* a * b + c rounded once, the same bits with and without the instruction.
 *
 * Without it: the product of two floats is exact in double; the sum is rounded
 * to odd (its last bit is set when it was not exact), and then the second
 * rounding, to float, is the only one that counts (Boldo and Melquiond 2008).
 * It holds in every floating-point mode of base/fpmode.h, since a double never
 * gets near its own denormals here.  The C library's fmaf is not called: which
 * one runs there depends on the machine. */
#ifndef LS_BASE_FMA_H
#define LS_BASE_FMA_H

#include <stdint.h>
#include <string.h>

#include "base/fpmode.h"

/* The second rounding.  Where the processor does not flush, results are judged
 * after rounding, as x86-64 does it. */
static inline float ls__rounded(double s)
{
#ifdef LS__KEEPS_DENORMALS
    const double least = 0x1p-126 - 0x1p-151; /* becomes 2^-126 */

    if (s > -least && s < least)
        return __builtin_copysignf(0.0f, (float)s);
#endif
    return (float)s;
}

static inline float ls__fmaf_soft(float a, float b, float c)
{
    double p = (double)ls__flushed(a) * (double)ls__flushed(b);
    double d = (double)ls__flushed(c);
    double s = p + d, t = s - p;
    double lost = (p - (s - t)) + (d - t); /* NaN when s is not finite */
    int64_t bits;
    memcpy(&bits, &s, sizeof bits);
    int64_t away = (lost > 0) - (lost < 0); /* +1: the true sum is above s */
    int64_t even = ~bits & 1;
    bits += even * (bits < 0 ? -away : away);
    memcpy(&s, &bits, sizeof s);
    return ls__rounded(s);
}

/* a * b rounded once. */
static inline float ls__mulf(float a, float b)
{
#ifdef LS__KEEPS_DENORMALS
    return ls__fmaf_soft(a, b, -0.0f);
#endif
    return a * b;
}

static inline float ls__fmaf(float a, float b, float c)
{
#if defined(__FMA__) || defined(__aarch64__)
    return __builtin_fmaf(a, b, c);
#else
    return ls__fmaf_soft(a, b, c);
#endif
}

#endif
