/* SPDX-License-Identifier: BSD-3-Clause */
/* Batch norms: by stored statistics, and by those of the rows themselves.  A
 * fused add and relu are done in the same pass over memory: backward goes
 * through the relu by y, which is above 0 where the relu's input is. */
#ifndef LS_KERNEL_K_BATCH_NORM_H
#define LS_KERNEL_K_BATCH_NORM_H

#include "kernel/k_elementwise.h"
#include "kernel/k_norm.h"

/* ------ by stored statistics ------ */

/* y = (x - mean) factor + bias, factor = scale r, r = 1 / sqrt(var + epsilon);
 * dx = dy factor, dscale = sum of dy ((x - mean) r), dbias = sum of dy. */
static void batch_norm(int64_t rows, int64_t each, int64_t n, const float *x,
                       const float *mean, const float *factor,
                       const float *bias, const float *more, bool relu,
                       float *y)
{
    for (int64_t i = 0; i < rows * n; i += n)
        for (int64_t j = 0; j < n; j += 16) {
            v16 m = take(mean + j, n - j), f = take(factor + j, n - j);
            v16 b = take(bias + j, n - j);
            int64_t at = i * each + j;

            for (int64_t k = 0; k < each; k++, at += n) {
                v16 v = v16_fma(v16_sub(take(x + at, n - j), m), f, b);

                if (more)
                    v = v16_add(v, take(more + at, n - j));
                put(y + at, relu ? relu_of(v) : v, n - j);
            }
        }
}

/* dy, or what a relu that made y lets through of it (y NULL: there is none). */
SIMD v16 take_dy(const float *dy, const float *y, int64_t at, int64_t left)
{
    v16 d = take(dy + at, left);

    return y ? times_slope(d, relu_slope(take(y + at, left))) : d;
}

/* dscale and dbias of 16 channels (+)= the sums of those from `at` to end. */
SIMD void batch_columns(int64_t at, int64_t end, int64_t n, int64_t left,
                        const float *x, v16 mean, v16 inverse, const float *y,
                        const float *dy, bool add_to, float *dscale,
                        float *dbias)
{
    v16 gain = v16_zero(), bias = v16_zero();

    for (; at < end; at += n) {
        v16 d = take_dy(dy, y, at, left);

        gain = v16_fma(d, v16_mul(v16_sub(take(x + at, left), mean), inverse),
                       gain);
        bias = v16_add(bias, d);
    }
    put_sum(dscale, gain, add_to, left);
    put_sum(dbias, bias, add_to, left);
}

static void batch_params(int64_t rows, int64_t n, const float *x,
                         const float *mean, const float *inverse,
                         const float *y, const float *dy, float *dscale,
                         float *dbias)
{
    for (int64_t r = 0; r < rows; r += LS__CHUNK)
        for (int64_t j = 0; j < n; j += 16) {
            int64_t end = (rows - r < LS__CHUNK ? rows : r + LS__CHUNK) * n;

            batch_columns(r * n + j, end, n, n - j, x, take(mean + j, n - j),
                          take(inverse + j, n - j), y, dy, r > 0, dscale + j,
                          dbias + j);
        }
}

/* ------ by the batch's own statistics ------ */

/* Vectors, 256 at the most, the weight of each, and the sum of those. */
typedef struct batch_block {
    int64_t vectors, n;
    float weight[LS__CHUNK];
    double sum;
} batch_block;

/* The block from vector `first` on, of `all`; a row has `each`. */
SIMD batch_block batch_block_at(int64_t first, int64_t all, int64_t n,
                                int64_t each, const float *weights)
{
    batch_block b = {all - first < LS__CHUNK ? all - first : LS__CHUNK, n,
                     {0}, 0};

    for (int64_t i = 0; i < b.vectors; i++) {
        b.weight[i] = weights ? weights[(first + i) / each] : 1;
        if (weights)
            b.sum += (double)b.weight[i];
    }
    if (!weights)
        b.sum = (double)b.vectors; /* which is their sum, without a chain */
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

/* Merge the mean of a channel and, n further on, its sum of w (x - mean)^2 with
 * those of other rows (Chan et al. 1979), which have `part` of all weights;
 * both: that of the weights before. */
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
                       const float *inverse, const float *y, const float *dy,
                       double *sums)
{
    for (int64_t r = 0; r < rows * each; r += LS__CHUNK) {
        batch_block b = batch_block_at(r, rows * each, n, each, weights);

        for (int64_t j = 0; j < n; j += 16) {
            v16 m = take(mean + j, n - j), v = take(inverse + j, n - j);
            v16 gain = v16_zero(), bias = v16_zero();
            float sum[2][16];

            for (int64_t i = 0; i < b.vectors; i++) {
                v16 d = take_dy(dy, y, (r + i) * n + j, n - j);
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
 * of dy xh, of 16 channels from j on in one row of weight w; factor dy (+
 * addend) where it weighs nothing, or statistics are stored. */
SIMD void batch_row_grad(int64_t each, int64_t n, int64_t j, const float *x,
                         float w, const float *const by[5], const float *y,
                         const float *dy, const float *addend, float *dx)
{
    v16 mean = take(by[0] + j, n - j), inverse = take(by[1] + j, n - j);
    v16 factor = take(by[2] + j, n - j), minus = v16_set(-w);
    v16 a = w != 0 ? take(by[3] + j, n - j) : v16_zero();
    v16 b = w != 0 ? take(by[4] + j, n - j) : v16_zero();

    for (int64_t at = j; at < each * n; at += n) {
        v16 d = take_dy(dy, y, at, n - j);
        v16 xh = v16_mul(v16_sub(take(x + at, n - j), mean), inverse);

        if (w != 0)
            d = v16_fma(minus, v16_fma(xh, b, a), d);
        d = v16_mul(d, factor);
        if (addend)
            d = v16_add(d, take(addend + at, n - j));
        put(dx + at, d, n - j);
    }
}

static void batch_grad(int64_t rows, int64_t each, int64_t n, const float *x,
                       const float *weights, const float *const by[5],
                       const float *y, const float *dy, const float *addend,
                       float *dx)
{
    for (int64_t i = 0, at = 0; i < rows; i++, at += each * n)
        for (int64_t j = 0; j < n; j += 16)
            batch_row_grad(each, n, j, x + at,
                           weights ? weights[i] : by[3] != NULL, by,
                           y ? y + at : NULL, dy + at,
                           addend ? addend + at : NULL, dx + at);
}

#endif
