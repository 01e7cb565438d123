/* SPDX-License-Identifier: BSD-3-Clause */
/* Sine, cosine, logarithm and exponential of doubles, by sums and products
 * alone: the same on every machine, to some 1e-15. */
#ifndef LS_IMAGE_REAL_H
#define LS_IMAGE_REAL_H

/* |x| <= 4. */
double ls__real_sin(double x);
double ls__real_cos(double x);

/* x > 0, not subnormal. */
double ls__real_log(double x);

/* x <= 0; 0 below -700. */
double ls__real_exp(double x);

#endif
