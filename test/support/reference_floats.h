/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of floats as the contract of bits has them, one number at a time:
 * each product, sum and fma is one rounding. */
#ifndef LS_TEST_REFERENCE_FLOATS_H
#define LS_TEST_REFERENCE_FLOATS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline float of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float horner(float x, int n, const uint32_t *c)
{
    float p = of_bits(c[0]);
    for (int i = 1; i < n; i++)
        p = fmaf(p, x, of_bits(c[i]));
    return p;
}

static inline float clamp(float x, float low, float high)
{
    return x < low ? low : x > high ? high : x;
}

static inline float ref_exp(float x)
{
    static const uint32_t c[] = {0x39506967, 0x3ab743ce, 0x3c088908,
                                 0x3d2aa9c1, 0x3e2aaaaa, 0x3f000000};
    if (x != x)
        return x;
    x = clamp(x, -87.8f, 88.8f);
    float n = floorf(fmaf(x, of_bits(0x3fb8aa3b), 0.5f));
    n = clamp(n, -127, 127);
    float r = fmaf(-n, of_bits(0x3f318000), x);
    r = fmaf(-n, of_bits(0xb95e8083), r);
    float y = fmaf(horner(r, 6, c), r * r, r) + 1.0f;
    return y * of_bits((uint32_t)((int)n + 127) << 23);
}

static inline float ref_sigmoid_float(float x)
{
    return 1 / (1 + ref_exp(-x));
}

#endif
