/* SPDX-License-Identifier: BSD-3-Clause */
/* Softmax along rows, and the two losses, a row at a time.  Sums as in
 * k_norm.h: 16 lanes in index order, the lane tree, blocks of 4096 in order. */
#ifndef LS_KERNEL_K_SOFTMAX_H
#define LS_KERNEL_K_SOFTMAX_H

#include "kernel/k_elementwise.h"
#include "kernel/k_norm.h"
#include "kernel/k_vmath.h"

SIMD float row_top(int64_t n, const float *x)
{
    v16 top = v16_set(-__builtin_inff());

    for (int64_t j = 0; j < n; j += 16) {
        v16 v = take(x + j, n - j);

        if (n - j < 16)
            v = v16_select(m16_first((int)(n - j)), v,
                           v16_set(-__builtin_inff()));
        top = v16_max(v, top);
    }
    return v16_top(top);
}

/* The sum of exp(x - top); the exponentials are kept in e unless NULL. */
SIMD float row_exp(int64_t n, const float *x, float top, float *e)
{
    v16 shift = v16_set(top);
    float total = 0;

    for (int64_t i = 0, end; i < n; i = end) {
        v16 sum = v16_zero();

        end = block_end(i, n);
        for (int64_t j = i; j < end; j += 16) {
            v16 v = v16_exp(v16_sub(take(x + j, end - j), shift));

            if (end - j < 16)
                v = v16_select(m16_first((int)(end - j)), v, v16_zero());
            if (e)
                put(e + j, v, end - j);
            sum = v16_add(sum, v);
        }
        total = ls__flushed(total + v16_sum(sum));
    }
    return total;
}

static void softmax(int64_t rows, int64_t n, int64_t stride, float *x)
{
    for (int64_t r = 0; r < rows; r++, x += stride)
        scale(n, 1.0f / row_exp(n, x, row_top(n, x), x), x);
}

static void log_softmax(int64_t rows, int64_t n, const float *x, float *y)
{
    for (int64_t r = 0; r < rows; r++, x += n, y += n) {
        float top = row_top(n, x);
        v16 log_sum = v16_log(v16_set(row_exp(n, x, top, NULL)));

        for (int64_t j = 0; j < n; j += 16)
            put(y + j, v16_sub(v16_sub(take(x + j, n - j), v16_set(top)),
                               log_sum), n - j);
    }
}

static float row_sum(int64_t n, const float *x)
{
    float total = 0;

    for (int64_t i = 0, end; i < n; i = end) {
        v16 sum = v16_zero();

        end = block_end(i, n);
        for (int64_t j = i; j < end; j += 16)
            sum = v16_add(sum, take(x + j, end - j));
        total = ls__flushed(total + v16_sum(sum));
    }
    return total;
}

static void log_softmax_grad(int64_t rows, int64_t n, const float *y,
                             float *dy)
{
    for (int64_t r = 0; r < rows; r++, y += n, dy += n) {
        v16 sum = v16_neg(v16_set(row_sum(n, dy)));

        for (int64_t j = 0; j < n; j += 16)
            put(dy + j, v16_fma(v16_exp(take(y + j, n - j)), sum,
                                take(dy + j, n - j)), n - j);
    }
}

SIMD float row_dot(int64_t n, const float *a, const float *b)
{
    float total = 0;

    for (int64_t i = 0, end; i < n; i = end) {
        v16 sum = v16_zero();

        end = block_end(i, n);
        for (int64_t j = i; j < end; j += 16)
            sum = v16_fma(take(a + j, end - j), take(b + j, end - j), sum);
        total = ls__flushed(total + v16_sum(sum));
    }
    return total;
}

static void softmax_grad(int64_t rows, int64_t n, int64_t stride,
                         const float *p, float *dp)
{
    for (int64_t r = 0; r < rows; r++, p += stride, dp += stride) {
        v16 dot = v16_set(row_dot(n, p, dp));

        for (int64_t j = 0; j < n; j += 16)
            put(dp + j, v16_mul(take(p + j, n - j),
                                v16_sub(take(dp + j, n - j), dot)), n - j);
    }
}

static float cross_entropy(int64_t n, const float *x, int32_t label,
                           float weight, float *dx)
{
    float top = row_top(n, x), chosen = ls__flushed(x[label] - top);
    float log_sum[16];
    float sum = row_exp(n, x, top, dx);

    v16_store(log_sum, v16_log(v16_set(sum)));
    if (dx) {
        scale(n, 1.0f / sum, dx);
        dx[label] = dx[label] - 1.0f;
        scale(n, weight, dx);
    }
    return ls__flushed(log_sum[0] - chosen);
}

static float squared_error(int64_t n, const float *y, const float *t,
                           float weight, float *dy)
{
    v16 twice = v16_set(2.0f * weight);
    float total = 0;

    for (int64_t i = 0, end; i < n; i = end) {
        v16 sum = v16_zero();

        end = block_end(i, n);
        for (int64_t j = i; j < end; j += 16) {
            v16 d = v16_sub(take(y + j, end - j), take(t + j, end - j));

            sum = v16_fma(d, d, sum);
            if (dy)
                put(dy + j, v16_mul(twice, d), end - j);
        }
        total = ls__flushed(total + v16_sum(sum));
    }
    return total;
}

#endif
