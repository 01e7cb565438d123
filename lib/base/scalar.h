/* SPDX-License-Identifier: BSD-3-Clause */
/* The few functions of one number that the library needs, without the C
 * library's: which of its variants runs there depends on the machine. */
#ifndef LS_BASE_SCALAR_H
#define LS_BASE_SCALAR_H

#include <stdint.h>

/* glibc's sinf and cosf, bit for bit; NaN for what is not finite. */
float ls__sinf(float x);
float ls__cosf(float x);

/* Natural logarithm, within 0.501 ulp; -inf at 0, NaN below. */
double ls__log(double x);

/* e^x, |x| < 700, within 1 ulp or so. */
double ls__exp(double x);

/* base^n rounded once to float, n >= 0. */
float ls__pow_n(float base, int64_t n);

/* base^x by way of double, base > 0: wrong roundings are 1 in 10^6. */
float ls__powf(float base, float x);

/* out (steps,d): at position t the cosines of t base^(-2i/d), i < d/2,
 * and then the sines. */
void ls__angles(float *out, int64_t steps, int64_t d, float base);

#endif
