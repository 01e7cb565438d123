/* SPDX-License-Identifier: BSD-3-Clause */
/* See real.h. */
#include "image/real.h"

#include <stdint.h>
#include <string.h>

enum { TERMS = 16 };

/* first - first x^2 / (k (k+1)) + .., k being `from` at first. */
static double alternate(double x, double first, int from)
{
    double term = first, sum = first;

    for (int i = 0; i < TERMS; i++, from += 2) {
        term = -term * x * x / ((double)from * (from + 1));
        sum += term;
    }
    return sum;
}

double ls__real_sin(double x)
{
    return alternate(x, x, 2);
}

double ls__real_cos(double x)
{
    return alternate(x, 1, 1);
}

#define LN2 0x1.62e42fefa39efp-1

/* x = m 2^e, m in [1, 2); log m = 2 atanh((m - 1) / (m + 1)). */
double ls__real_log(double x)
{
    double m, z, term, sum = 0;
    uint64_t bits;
    int e;

    memcpy(&bits, &x, sizeof bits);
    e = (int)(bits >> 52) - 1023;
    bits = (bits & 0xfffffffffffff) | (uint64_t)1023 << 52;
    memcpy(&m, &bits, sizeof m);
    z = (m - 1) / (m + 1);
    term = 2 * z;
    for (int k = 1; k < 4 * TERMS; k += 2, term *= z * z)
        sum += term / k;
    return e * LN2 + sum;
}

/* 2^-n e^r, r in (-log 2, 0]. */
double ls__real_exp(double x)
{
    int n = x > -700 ? (int)(-x / LN2) : 0;
    double r = x + n * LN2, term = 1, sum = 1, scale;
    uint64_t bits = (uint64_t)(1023 - n) << 52;

    if (!(x > -700))
        return 0;
    for (int k = 1; k < 2 * TERMS; k++) {
        term *= r / k;
        sum += term;
    }
    memcpy(&scale, &bits, sizeof scale);
    return sum * scale;
}
