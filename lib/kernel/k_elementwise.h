/* SPDX-License-Identifier: BSD-3-Clause */
/* Elementwise kernels, column sums, a sum of squares, and the search for a
 * value that is not finite.  One lane, one element; tails load and store only
 * what is there. */
#ifndef LS_KERNEL_K_ELEMENTWISE_H
#define LS_KERNEL_K_ELEMENTWISE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/assert.h"
#include "kernel/k_vmath.h"
#include "kernel/product.h"

/* tanh(sqrt(2/pi) (x + 0.044715 x^3)), which gelu and its derivative share, of
 * n vectors. */
SIMD void gelu_tanhs(int n, const v16 *x, v16 *t)
{
    v16 u[MOST];

    EACH_OF(n)
        u[q] = v16_mul(v16_mul(x[q], x[q]), x[q]);
    EACH_OF(n)
        u[q] = v16_fma(v16_set(0.044715f), u[q], x[q]);
    EACH_OF(n)
        u[q] = v16_mul(v16_set(0x1.988454p-1f), u[q]);
    v16_tanhs(n, u, t);
}

/* x/2 (1 + t) with t = tanh(...) */
SIMD v16 gelu_of(v16 x, v16 t)
{
    return v16_mul(v16_mul(v16_set(0.5f), x), v16_add(v16_set(1.0f), t));
}

/* max(0,x), NaN passing; the sum makes -0 and what counts as zero to +0. */
SIMD v16 relu_of(v16 x)
{
    return v16_add(v16_max(v16_zero(), x), v16_zero());
}

/* 1 / (1 + e^-x) */
SIMD v16 sigmoid_of(v16 x)
{
    v16 one = v16_set(1.0f);

    return v16_div(one, v16_add(one, v16_exp(v16_neg(x))));
}

/* 1/2 (1 + t) + x/2 (1 - t^2) sqrt(2/pi) (1 + 3 0.044715 x^2) */
SIMD v16 gelu_slope(v16 x, v16 t)
{
    v16 half = v16_set(0.5f), one = v16_set(1.0f);
    v16 du = v16_mul(v16_set(0x1.988454p-1f),
                     v16_fma(v16_set(3 * 0.044715f), v16_mul(x, x), one));
    v16 dt = v16_fma(v16_neg(t), t, one);

    return v16_fma(v16_mul(v16_mul(half, x), dt), du,
                   v16_mul(half, v16_add(one, t)));
}

/* e / (1 + e)^2 with e = e^-|x|: exact to the ends, where s (1 - s) is not. */
SIMD v16 sigmoid_slope(v16 x)
{
    v16 e = v16_exp(v16_neg(v16_abs(x)));
    v16 d = v16_add(v16_set(1.0f), e);

    return v16_div(e, v16_mul(d, d));
}

SIMD v16 tanh_slope(v16 t)
{
    return v16_fma(v16_neg(t), t, v16_set(1.0f));
}

/* relu's is 0 at 0 and at NaN. */
SIMD v16 relu_slope(v16 x)
{
    return v16_select(v16_lt(v16_zero(), x), v16_set(1.0f), v16_zero());
}

/* Make each of n vectors x the activation, and slope its derivative there,
 * which shares most of the work: inlined, it costs nothing if unused. */
SIMD void activations(ls__activation kind, int n, v16 *x, v16 *slope)
{
    v16 t[MOST];

    switch (kind) {
    case LS__GELU:
        gelu_tanhs(n, x, t);
        EACH_OF(n)
            slope[q] = gelu_slope(x[q], t[q]);
        EACH_OF(n)
            x[q] = gelu_of(x[q], t[q]);
        break;
    case LS__RELU:
        EACH_OF(n)
            slope[q] = relu_slope(x[q]);
        EACH_OF(n)
            x[q] = relu_of(x[q]);
        break;
    case LS__TANH:
        v16_tanhs(n, x, t);
        EACH_OF(n)
            slope[q] = tanh_slope(x[q] = t[q]);
        break;
    case LS__SIGMOID:
        EACH_OF(n)
            slope[q] = sigmoid_slope(x[q]);
        EACH_OF(n)
            x[q] = sigmoid_of(x[q]);
        break;
    default:
        EACH_OF(n)
            slope[q] = v16_set(1.0f);
    }
}

SIMD v16 activation_of(ls__activation kind, v16 x, v16 *slope)
{
    activations(kind, 1, &x, slope);
    return x;
}

/* d slope; +0 where the slope is 0, for any d. */
SIMD v16 times_slope(v16 d, v16 slope)
{
    return v16_select(v16_eq(slope, v16_zero()), v16_zero(),
                      v16_mul(d, slope));
}

static void add(int64_t n, const float *a, const float *b, float *out)
{
    for (int64_t i = 0; i < n; i += 16)
        put(out + i, v16_add(take(a + i, n - i), take(b + i, n - i)), n - i);
}

static void scale(int64_t n, float by, float *x)
{
    for (int64_t i = 0; i < n; i += 16)
        put(x + i, v16_mul(take(x + i, n - i), v16_set(by)), n - i);
}

static void activate(ls__activation kind, int64_t n, const float *x, float *y)
{
    v16 slope;

    for (int64_t i = 0; i < n; i += 16)
        put(y + i, activation_of(kind, take(x + i, n - i), &slope), n - i);
}

static void activate_grad(ls__activation kind, int64_t n, const float *x,
                          const float *dy, const float *addend, float *out)
{
    for (int64_t i = 0; i < n; i += 16) {
        v16 slope, d;

        activation_of(kind, take(x + i, n - i), &slope);
        d = times_slope(take(dy + i, n - i), slope);
        if (addend)
            d = v16_add(d, take(addend + i, n - i));
        put(out + i, d, n - i);
    }
}

static void slope_grad(int64_t n, const float *slope, const float *dy,
                       float *out)
{
    for (int64_t i = 0; i < n; i += 16)
        put(out + i, times_slope(take(dy + i, n - i), take(slope + i, n - i)),
            n - i);
}

/* out[j..] (+)= sums of up to 64 columns of x over at most 256 rows. */
SIMD void columns64(int64_t rows, int64_t n, const float *x, bool add_to,
                    float *out, int64_t left)
{
    v16 sum[4] = {v16_zero(), v16_zero(), v16_zero(), v16_zero()};

    LS__ASSERT(rows <= LS__CHUNK);
    for (int64_t r = 0; r < rows; r++, x += n) {
        UNROLL(4)
        for (int v = 0; v < 4; v++)
            if (left > 16 * v)
                sum[v] = v16_add(sum[v], take(x + 16 * v, left - 16 * v));
    }
    UNROLL(4)
    for (int v = 0; v < 4; v++) {
        if (left > 16 * v && add_to)
            sum[v] = v16_add(take(out + 16 * v, left - 16 * v), sum[v]);
        if (left > 16 * v)
            put(out + 16 * v, sum[v], left - 16 * v);
    }
}

static void column_sum(int64_t rows, int64_t n, const float *x, bool add_to,
                       float *out)
{
    for (int64_t r = 0; r < rows; r += LS__CHUNK, add_to = true) {
        int64_t m = rows - r < LS__CHUNK ? rows - r : LS__CHUNK;

        for (int64_t j = 0; j < n; j += 64)
            columns64(m, n, x + r * n + j, add_to, out + j, n - j);
    }
}

/* x[0]^2 + x[1]^2 + .. in 16 lanes in index order; a block of 4096 at most. */
static float square_sum(int64_t n, const float *x)
{
    v16 sum = v16_zero();

    for (int64_t i = 0; i < n; i += 16) {
        v16 v = take(x + i, n - i);

        sum = v16_fma(v, v, sum);
    }
    return v16_sum(sum);
}

static int64_t first_nonfinite(int64_t n, const float *x)
{
    const w16 exponent = w16_set(0x7f800000u);
    const v16 infinity = v16_of_bits(exponent);

    for (int64_t i = 0; i < n; i += 16) {
        m16 finite = v16_lt(v16_abs(take(x + i, n - i)), infinity);

        if (m16_any(m16_not(finite)))
            for (int64_t j = i; j < n; j++)
                if (!(x[j] - x[j] == 0.0f))
                    return j;
    }
    return n;
}

/* Rotate pairs (a,b) by angles, given as cosines and sines, backwards with sign
 * -1: ya = a c - sign b s, yb = b c + sign a s (+ adda, addb, may be NULL).  y
 * may be the pairs or what is added. */
static void turn(int64_t n, const float *a, const float *b, const float *c,
                 const float *s, float sign, const float *adda,
                 const float *addb, float *ya, float *yb)
{
    v16 by = v16_set(sign);

    for (int64_t j = 0; j < n; j += 16) {
        v16 x = take(a + j, n - j), y = take(b + j, n - j);
        v16 cos = take(c + j, n - j), sin = v16_mul(by, take(s + j, n - j));
        v16 left = v16_sub(v16_mul(x, cos), v16_mul(y, sin));
        v16 right = v16_add(v16_mul(y, cos), v16_mul(x, sin));

        if (adda) {
            left = v16_add(left, take(adda + j, n - j));
            right = v16_add(right, take(addb + j, n - j));
        }
        put(ya + j, left, n - j);
        put(yb + j, right, n - j);
    }
}

#endif
