/* SPDX-License-Identifier: BSD-3-Clause */
/* Layer normalisation over rows of width n, forward and backward.
 *
 *     y = (x - mean) (r scale) + bias,   r = 1 / sqrt(max(0, E[x^2] - mean^2)
 *                                                      + epsilon)
 *     xh = (x - mean) r,  d = dy scale
 *     dx = r (d - mean(d) - xh mean(d xh))
 *     dscale = sum over rows of dy xh,  dbias = sum over rows of dy
 *
 * Sums along a row: 16 lanes in index order, the lane tree, blocks of 4096
 * added in order.  Sums over rows: a chain down each column, 256 rows a chunk,
 * chunks added in order. */
#ifndef LS_KERNEL_K_NORM_H
#define LS_KERNEL_K_NORM_H

#include "kernel/k_elementwise.h"

enum { BLOCK = 4096 };

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
            v16 v = take(x + j, end - j);

            sum = v16_add(sum, v);
            sq = v16_fma(v, v, sq);
        }
        s += v16_sum(sum);
        q += v16_sum(sq);
    }
    *mean = s * (1.0f / (float)n);
    *square = q * (1.0f / (float)n);
}

static void layer_norm(int64_t rows, int64_t n, float epsilon, const float *x,
                       const float *gain, const float *bias, float *y,
                       float *stats)
{
    for (int64_t row = 0; row < rows; row++, x += n, y += n, stats += 2) {
        float mean, square, var;
        v16 m, r;

        row_moments(n, x, &mean, &square);
        var = square - mean * mean;
        var = var > 0 ? var : 0;
        stats[0] = mean;
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
            v16 d = v16_mul(take(dy + j, end - j), take(gain + j, end - j));
            v16 xh = v16_mul(v16_sub(take(x + j, end - j), m), r);

            sum = v16_add(sum, d);
            dot = v16_fma(d, xh, dot);
        }
        s += v16_sum(sum);
        q += v16_sum(dot);
    }
    *mean_d = s * (1.0f / (float)n);
    *mean_dx = q * (1.0f / (float)n);
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
            d = v16_add(d, take(addend + j, n - j));
        put(dx + j, d, n - j);
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
        q += v16_sum(dot);
    }
    return q * (1.0f / (float)n);
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

/* ------ by stored statistics: batch norm ------ */

/* y = (x - mean) factor + bias, factor = scale r, r = 1 / sqrt(var + epsilon);
 * dx = dy factor, dscale = sum of dy ((x - mean) r), dbias = sum of dy. */
static void batch_norm(int64_t rows, int64_t n, const float *x,
                       const float *mean, const float *factor,
                       const float *bias, float *y)
{
    for (int64_t row = 0; row < rows; row++, x += n, y += n)
        for (int64_t j = 0; j < n; j += 16) {
            v16 d = v16_sub(take(x + j, n - j), take(mean + j, n - j));

            put(y + j, v16_fma(d, take(factor + j, n - j),
                               take(bias + j, n - j)), n - j);
        }
}

/* dscale[0..16) and dbias[0..16) (+)= the sums over at most 256 rows. */
SIMD void batch_columns(int64_t rows, int64_t n, const float *x, v16 mean,
                        v16 inverse, const float *dy, bool add_to,
                        float *dscale, float *dbias, int64_t left)
{
    v16 gain = v16_zero(), bias = v16_zero();

    for (int64_t row = 0; row < rows; row++) {
        v16 d = take(dy + row * n, left);

        gain = v16_fma(d, v16_mul(v16_sub(take(x + row * n, left), mean),
                                  inverse), gain);
        bias = v16_add(bias, d);
    }
    put_sum(dscale, gain, add_to, left);
    put_sum(dbias, bias, add_to, left);
}

SIMD void batch_row_grad(int64_t n, const float *factor, const float *dy,
                         const float *addend, float *dx)
{
    for (int64_t j = 0; j < n; j += 16) {
        v16 d = v16_mul(take(dy + j, n - j), take(factor + j, n - j));

        if (addend)
            d = v16_add(d, take(addend + j, n - j));
        put(dx + j, d, n - j);
    }
}

static void batch_norm_grad(int64_t rows, int64_t n, const float *x,
                            const float *mean, const float *inverse,
                            const float *factor, const float *dy,
                            const float *addend, float *dx, float *dscale,
                            float *dbias)
{
    for (int64_t r = 0; dscale && r < rows; r += LS__CHUNK) {
        int64_t m = rows - r < LS__CHUNK ? rows - r : LS__CHUNK;

        for (int64_t j = 0; j < n; j += 16)
            batch_columns(m, n, x + r * n + j, take(mean + j, n - j),
                          take(inverse + j, n - j), dy + r * n + j, r > 0,
                          dscale + j, dbias + j, n - j);
    }
    for (int64_t r = 0; dx && r < rows; r++) /* last: dx may be dy */
        batch_row_grad(n, factor, dy + r * n, addend ? addend + r * n : NULL,
                       dx + r * n);
}

/* ------ by the batch's own statistics ------ */

/* Vectors, 256 at the most, the weight of each, and the sum of those. */
typedef struct batch_block {
    int64_t vectors, n;
    float weight[LS__CHUNK];
    double sum;
} batch_block;

/* Those from `first` on, of `all`; a row has so many. */
SIMD batch_block batch_block_at(int64_t first, int64_t all, int64_t n,
                                int64_t each, const float *weights)
{
    batch_block b = {all - first < LS__CHUNK ? all - first : LS__CHUNK, n,
                     {0}, 0};

    for (int64_t i = 0; i < b.vectors; i++) {
        b.weight[i] = weights ? weights[(first + i) / each] : 1;
        b.sum += (double)b.weight[i];
    }
    return b;
}

/* Sum of w x / sum of w, and then sum of w (x - that)^2, of 16 channels; what
 * weighs nothing may hold anything. */
SIMD void block_moments(const batch_block *b, const float *x, int64_t left,
                        float *mean, float *square)
{
    v16 sum = v16_zero(), sq = v16_zero(), m;

    for (int64_t i = 0; i < b->vectors; i++)
        if (b->weight[i] != 0)
            sum = v16_fma(v16_set(b->weight[i]), take(x + i * b->n, left), sum);
    m = v16_mul(sum, v16_set((float)(1 / b->sum)));
    for (int64_t i = 0; i < b->vectors; i++) {
        v16 d = v16_sub(take(x + i * b->n, left), m);

        if (b->weight[i] != 0)
            sq = v16_fma(v16_mul(v16_set(b->weight[i]), d), d, sq);
    }
    put(mean, m, 16);
    put(square, sq, 16);
}

/* Bring the mean of a channel and, n further on, its sum of w (x - mean)^2
 * together with those of other rows (Chan et al. 1979), which have `part` of
 * all weights; both: that of the weights before. */
static inline void join_channel(double *m, int64_t n, double mean,
                                double square, double part, double both)
{
    double d = mean - m[0];

    m[0] = m[0] + d * part;
    m[n] = (m[n] + square) + d * d * both;
}

static void join_moments(int64_t n, double *to, const double *from)
{
    double all = to[0] + from[0], part = from[0] / all;

    for (int64_t j = 1; j <= n && from[0] > 0; j++)
        join_channel(to + j, n, from[j], from[j + n], part, to[0] * part);
    to[0] = all;
}

static void batch_moments(int64_t rows, int64_t each, int64_t n, const float *x,
                          const float *weights, double *moments)
{
    float mean[16], square[16];

    for (int64_t r = 0; r < rows * each; r += LS__CHUNK) {
        batch_block b = batch_block_at(r, rows * each, n, each, weights);

        for (int64_t j = 0; j < n && b.sum > 0; j += 16) {
            int64_t left = n - j < 16 ? n - j : 16;
            double part = b.sum / (moments[0] + b.sum);

            block_moments(&b, x + r * n + j, left, mean, square);
            for (int64_t k = 0; k < left; k++)
                join_channel(moments + 1 + j + k, n, (double)mean[k],
                             (double)square[k], part, moments[0] * part);
        }
        moments[0] += b.sum;
    }
}

/* sums of each channel: of dy, and n further on of dy xh. */
static void batch_sums(int64_t rows, int64_t each, int64_t n, const float *x,
                       const float *weights, const float *mean,
                       const float *inverse, const float *dy, double *sums)
{
    for (int64_t r = 0; r < rows * each; r += LS__CHUNK) {
        batch_block b = batch_block_at(r, rows * each, n, each, weights);

        for (int64_t j = 0; j < n; j += 16) {
            v16 m = take(mean + j, n - j), v = take(inverse + j, n - j);
            v16 gain = v16_zero(), bias = v16_zero();
            float sum[2][16];

            for (int64_t i = 0; i < b.vectors; i++) {
                v16 d = take(dy + (r + i) * n + j, n - j);
                v16 c = v16_sub(take(x + (r + i) * n + j, n - j), m);

                if (b.weight[i] == 0)
                    continue;
                gain = v16_fma(d, v16_mul(c, v), gain);
                bias = v16_add(bias, d);
            }
            put(sum[0], bias, 16);
            put(sum[1], gain, 16);
            for (int64_t k = 0; k < 16 && k < n - j; k++) {
                sums[j + k] += (double)sum[0][k];
                sums[n + j + k] += (double)sum[1][k];
            }
        }
    }
}

/* dx = factor (dy - w (a + xh b)) (+ addend), a and b being the means of dy and
 * of dy xh; of what weighs nothing, factor dy. */
static void batch_grad(int64_t rows, int64_t each, int64_t n, const float *x,
                       const float *weights, const float *const by[5],
                       const float *dy, const float *addend, float *dx)
{
    for (int64_t r = 0; r < rows * each; r++)
        for (int64_t j = 0; j < n; j += 16) {
            float w = weights ? weights[r / each] : 1;
            v16 d = take(dy + r * n + j, n - j);
            v16 xh = v16_mul(v16_sub(take(x + r * n + j, n - j),
                                     take(by[0] + j, n - j)),
                             take(by[1] + j, n - j));

            if (w != 0)
                d = v16_fma(v16_set(-w), v16_fma(xh, take(by[4] + j, n - j),
                                                 take(by[3] + j, n - j)), d);
            d = v16_mul(d, take(by[2] + j, n - j));
            if (addend)
                d = v16_add(d, take(addend + r * n + j, n - j));
            put(dx + r * n + j, d, n - j);
        }
}

#endif
