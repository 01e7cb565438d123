/* SPDX-License-Identifier: BSD-3-Clause */
/* Layer normalisation over rows of width n, forward and backward.
 *
 *     y = (x - mean) (r scale) + bias,   r = 1 / sqrt(max(0, E[x^2] - mean^2)
 *                                                      + epsilon)
 *     in two passes  r = 1 / sqrt(max(0, E[c^2] - E[c]^2) + epsilon),
 *                    c = x - mean; E[c] is what rounding left
 *     xh = (x - mean) r,  d = dy scale
 *     dx = r (d - mean(d) - xh mean(d xh))
 *     dscale = sum over rows of dy xh,  dbias = sum over rows of dy
 *
 * Sums along a row: 16 lanes in index order, the lane tree, blocks of 4096
 * added in order.  Sums over rows: a chain down each column, 256 rows a chunk,
 * chunks added in order. */
#ifndef LS_KERNEL_K_NORM_H
#define LS_KERNEL_K_NORM_H

#include "base/assert.h"
#include "kernel/k_elementwise.h"

enum { BLOCK = 4096 };

_Static_assert(BLOCK % 16 == 0, "a block is whole vectors");

/* The end of the block of a long sum that starts at i. */
SIMD int64_t block_end(int64_t i, int64_t n)
{
    return n - i < BLOCK ? n : i + BLOCK;
}

/* E[x] and E[x^2] of a row. */
SIMD void row_moments(int64_t n, const float *x, float *mean, float *square)
{
    float s = 0, q = 0;

    for (int64_t i = 0, end; i < n; i = end) {
        v16 sum = v16_zero(), sq = v16_zero();

        end = block_end(i, n);
        for (int64_t j = i; j < end; j += 16) {
            v16 v = take_on(x + j, end - j);

            sum = v16_add(sum, v);
            sq = v16_fma(v, v, sq);
        }
        s = ls__flushed(s + v16_sum(sum));
        q = ls__flushed(q + v16_sum(sq));
    }
    *mean = ls__mulf(s, 1.0f / (float)n);
    *square = ls__mulf(q, 1.0f / (float)n);
}

/* E[c] and E[c^2] of c = x - mean, which is left in y. */
SIMD void centred_moments(int64_t n, const float *x, float *y, float *mean,
                          float *square)
{
    for (int64_t j = 0; j < n; j += 16)
        put(y + j, v16_sub(take(x + j, n - j), v16_set(*mean)), n - j);
    row_moments(n, y, mean, square);
}

static void layer_norm(int64_t rows, int64_t n, float epsilon, bool two_passes,
                       const float *x, const float *gain, const float *bias,
                       float *y, float *stats)
{
    for (int64_t row = 0; row < rows; row++, x += n, y += n, stats += 2) {
        float mean, square, var;
        v16 m, r;

        row_moments(n, x, &mean, &square);
        stats[0] = mean;
        if (two_passes)
            centred_moments(n, x, y, &mean, &square);
        var = ls__flushed(square - ls__mulf(mean, mean));
        var = var > 0 ? var : 0;
        stats[1] = 1.0f / __builtin_sqrtf(var + epsilon);
        m = v16_set(stats[0]);
        r = v16_set(stats[1]);
        for (int64_t j = 0; j < n; j += 16) {
            v16 d = v16_sub(take(x + j, n - j), m);

            put(y + j, v16_fma(d, v16_mul(r, take(gain + j, n - j)),
                               take(bias + j, n - j)), n - j);
        }
    }
}

/* mean(d) and mean(d xh) of a row. */
SIMD void row_grad_means(int64_t n, const float *x, const float *stats,
                         const float *gain, const float *dy, float *mean_d,
                         float *mean_dx)
{
    v16 m = v16_set(stats[0]), r = v16_set(stats[1]);
    float s = 0, q = 0;

    for (int64_t i = 0, end; i < n; i = end) {
        v16 sum = v16_zero(), dot = v16_zero();

        end = block_end(i, n);
        for (int64_t j = i; j < end; j += 16) {
            v16 d = v16_mul(take_on(dy + j, end - j), take(gain + j, end - j));
            v16 xh = v16_mul(v16_sub(take_on(x + j, end - j), m), r);

            sum = v16_add(sum, d);
            dot = v16_fma(d, xh, dot);
        }
        s = ls__flushed(s + v16_sum(sum));
        q = ls__flushed(q + v16_sum(dot));
    }
    *mean_d = ls__mulf(s, 1.0f / (float)n);
    *mean_dx = ls__mulf(q, 1.0f / (float)n);
}

SIMD void row_grad(int64_t n, const float *x, const float *stats,
                   const float *gain, const float *dy, const float *addend,
                   float *dx)
{
    v16 m = v16_set(stats[0]), r = v16_set(stats[1]), md, mdx;
    float mean_d, mean_dx;

    row_grad_means(n, x, stats, gain, dy, &mean_d, &mean_dx);
    md = v16_set(mean_d);
    mdx = v16_set(-mean_dx);
    for (int64_t j = 0; j < n; j += 16) {
        v16 d = v16_mul(take(dy + j, n - j), take(gain + j, n - j));
        v16 xh = v16_mul(v16_sub(take(x + j, n - j), m), r);

        d = v16_mul(r, v16_fma(mdx, xh, v16_sub(d, md)));
        if (addend)
            d = v16_add(d, take_on(addend + j, n - j));
        put_on(dx + j, d, n - j);
    }
}

/* to[0..left) (+)= sum */
SIMD void put_sum(float *to, v16 sum, bool add_to, int64_t left)
{
    put(to, add_to ? v16_add(take(to, left), sum) : sum, left);
}

/* dgain[0..16) and dbias[0..16) (+)= the sums over at most 256 rows. */
SIMD void columns_grad(int64_t rows, int64_t n, const float *x,
                       const float *stats, const float *dy, bool add_to,
                       float *dgain, float *dbias, int64_t left)
{
    v16 gain = v16_zero(), bias = v16_zero();

    LS__ASSERT(rows <= LS__CHUNK);
    for (int64_t row = 0; row < rows; row++) {
        v16 d = take(dy + row * n, left);
        v16 xh = v16_mul(v16_sub(take(x + row * n, left),
                                 v16_set(stats[2 * row])),
                         v16_set(stats[2 * row + 1]));

        gain = v16_fma(d, xh, gain);
        bias = v16_add(bias, d);
    }
    put_sum(dgain, gain, add_to, left);
    put_sum(dbias, bias, add_to, left);
}

static void layer_norm_grad(int64_t rows, int64_t n, const float *x,
                            const float *stats, const float *gain,
                            const float *dy, const float *addend, float *dx,
                            bool add_to, float *dgain, float *dbias)
{
    for (int64_t r = 0; dgain && r < rows; r += LS__CHUNK, add_to = true) {
        int64_t m = rows - r < LS__CHUNK ? rows - r : LS__CHUNK;

        for (int64_t j = 0; j < n; j += 16)
            columns_grad(m, n, x + r * n + j, stats + 2 * r, dy + r * n + j,
                         add_to, dgain + j, dbias + j, n - j);
    }
    for (int64_t r = 0; dx && r < rows; r++) /* last: dx may be dy */
        row_grad(n, x + r * n, stats + 2 * r, gain, dy + r * n,
                 addend ? addend + r * n : NULL, dx + r * n);
}

/* ------ without a mean: rms norm ------ */

/* y = x (r scale), r = 1 / sqrt(E[x^2] + epsilon), which stats keeps;
 * dx = r (d - xh mean(d xh)), xh = x r, d = dy scale; dscale = sum of dy xh. */
static void rms_norm(int64_t rows, int64_t n, float epsilon, const float *x,
                     const float *gain, float *y, float *stats)
{
    for (int64_t row = 0; row < rows; row++, x += n, y += n, stats++) {
        float mean, square;
        v16 r;

        row_moments(n, x, &mean, &square);
        *stats = 1.0f / __builtin_sqrtf(square + epsilon);
        r = v16_set(*stats);
        for (int64_t j = 0; j < n; j += 16)
            put(y + j, v16_mul(take(x + j, n - j),
                               v16_mul(r, take(gain + j, n - j))), n - j);
    }
}

SIMD float rms_mean(int64_t n, const float *x, v16 r, const float *gain,
                    const float *dy)
{
    float q = 0;

    for (int64_t i = 0, end; i < n; i = end) {
        v16 dot = v16_zero();

        end = block_end(i, n);
        for (int64_t j = i; j < end; j += 16)
            dot = v16_fma(v16_mul(take(dy + j, end - j),
                                  take(gain + j, end - j)),
                          v16_mul(take(x + j, end - j), r), dot);
        q = ls__flushed(q + v16_sum(dot));
    }
    return ls__mulf(q, 1.0f / (float)n);
}

SIMD void rms_row_grad(int64_t n, const float *x, float stat, const float *gain,
                       const float *dy, const float *addend, float *dx)
{
    v16 r = v16_set(stat), mean = v16_set(-rms_mean(n, x, r, gain, dy));

    for (int64_t j = 0; j < n; j += 16) {
        v16 d = v16_mul(take(dy + j, n - j), take(gain + j, n - j));

        d = v16_mul(r, v16_fma(mean, v16_mul(take(x + j, n - j), r), d));
        if (addend)
            d = v16_add(d, take(addend + j, n - j));
        put(dx + j, d, n - j);
    }
}

/* dgain[0..16) (+)= the sum over at most 256 rows. */
SIMD void rms_columns(int64_t rows, int64_t n, const float *x,
                      const float *stats, const float *dy, bool add_to,
                      float *dgain, int64_t left)
{
    v16 gain = v16_zero();

    LS__ASSERT(rows <= LS__CHUNK);
    for (int64_t row = 0; row < rows; row++)
        gain = v16_fma(take(dy + row * n, left),
                       v16_mul(take(x + row * n, left), v16_set(stats[row])),
                       gain);
    put_sum(dgain, gain, add_to, left);
}

static void rms_norm_grad(int64_t rows, int64_t n, const float *x,
                          const float *stats, const float *gain,
                          const float *dy, const float *addend, float *dx,
                          bool add_to, float *dgain)
{
    for (int64_t r = 0; dgain && r < rows; r += LS__CHUNK, add_to = true) {
        int64_t m = rows - r < LS__CHUNK ? rows - r : LS__CHUNK;

        for (int64_t j = 0; j < n; j += 16)
            rms_columns(m, n, x + r * n + j, stats + r, dy + r * n + j, add_to,
                        dgain + j, n - j);
    }
    for (int64_t r = 0; dx && r < rows; r++) /* last: dx may be dy */
        rms_row_grad(n, x + r * n, stats[r], gain, dy + r * n,
                     addend ? addend + r * n : NULL, dx + r * n);
}

#endif
