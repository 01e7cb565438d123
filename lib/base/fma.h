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

static inline float ls__fmaf_soft(float a, float b, float c)
{
    double p = (double)a * (double)b, d = (double)c;
    double s = p + d, t = s - p;
    double lost = (p - (s - t)) + (d - t); /* NaN when s is not finite */
    int64_t bits;
    memcpy(&bits, &s, sizeof bits);
    int64_t away = (lost > 0) - (lost < 0); /* +1: the true sum is above s */
    int64_t even = ~bits & 1;
    bits += even * (bits < 0 ? -away : away);
    memcpy(&s, &bits, sizeof s);
    return (float)s;
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
