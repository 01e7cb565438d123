/* SPDX-License-Identifier: BSD-3-Clause */
/* Batch norms: by stored statistics, and by those of the rows themselves.  A
 * fused add and relu are done in the same pass over memory: backward goes
 * through the relu by y, which is above 0 where the relu's input is, or where
 * nothing was added by that input, made again of x. */
#ifndef LS_KERNEL_K_BATCH_NORM_H
#define LS_KERNEL_K_BATCH_NORM_H

#include "base/assert.h"
#include "kernel/k_elementwise.h"
#include "kernel/k_norm.h"
#include "kernel/kernel.h"

/* ------ forward ------ */

/* A pass takes so many vectors, which stay in the first cache, through 16
 * channels after 16, whose statistics stay in registers. */
enum { NEAR_VECTORS = 32 };

/* Channels from j on, at most 16, of vectors `first` .. `end`. */
SIMD void batch_norm_columns(const ls__batch_norm *b, int64_t first,
                             int64_t end, int64_t j, float *y)
{
    int64_t left = b->n - j;
    v16 mean = take(b->mean + j, left), factor = take(b->factor + j, left);
    v16 bias = take(b->bias + j, left);

    for (int64_t at = first * b->n + j; at < end * b->n; at += b->n) {
        v16 v = v16_fma(v16_sub(take_on(b->x + at, left), mean), factor, bias);

        if (b->more)
            v = v16_add(v, take_on(b->more + at, left));
        put_on(y + at, b->relu ? relu_of(v) : v, left);
    }
}

static void batch_norm(const ls__batch_norm *b, float *y)
{
    int64_t all = b->rows * b->each;

    for (int64_t r = 0, end; r < all; r = end) {
        end = all - r < NEAR_VECTORS ? all : r + NEAR_VECTORS;
        for (int64_t j = 0; j < b->n; j += 16)
            batch_norm_columns(b, r, end, j, y);
    }
}

/* ------ backward by stored statistics ------ */

/* dy of 16 channels at a place, or what the relu lets through of it: by y, or
 * by what it was made of, c being x - mean there.  It is times_slope by
 * relu_slope, in one selection. */
SIMD v16 batch_dy(const ls__batch_norm *b, v16 c, v16 factor, v16 bias,
                  int64_t at, int64_t left)
{
    v16 d = take_on(b->dy + at, left), y;

    if (!b->relu)
        return d;
    y = b->y ? take_on(b->y + at, left) : v16_fma(c, factor, bias);
    return v16_select(v16_lt(v16_zero(), y), v16_mul(d, v16_set(1)),
                      v16_zero());
}

/* The sums of dy, and as gain those of dy xh, of `vectors` vectors from `first`
 * on: for 16 channels from j on, or for twice 16 where `groups`, a constant, is
 * 2.  Vectors of weight 0 are left out, and none where weight is NULL. */
SIMD void batch_sums_of(const ls__batch_norm *b, int64_t first, int64_t vectors,
                        const float *weight, int64_t j, int groups, v16 *gain,
                        v16 *sum)
{
    v16 mean[2], inverse[2], factor[2], bias[2];
    int64_t at = first * b->n + j, left = b->n - j;

    LS__ASSERT(vectors <= LS__CHUNK);
    for (int g = 0; g < groups; g++) {
        mean[g] = take(b->mean + j + 16 * g, left - 16 * g);
        inverse[g] = take(b->inverse + j + 16 * g, left - 16 * g);
        factor[g] = take(b->factor + j + 16 * g, left - 16 * g);
        bias[g] = take(b->bias + j + 16 * g, left - 16 * g);
        gain[g] = sum[g] = v16_zero();
    }
    for (int64_t i = 0; i < vectors; i++, at += b->n) {
        if (weight && weight[i] == 0)
            continue;
        UNROLL(2)
        for (int g = 0; g < groups; g++) {
            int64_t here = at + 16 * g, more = left - 16 * g;
            v16 c = v16_sub(take_on(b->x + here, more), mean[g]);
            v16 d = batch_dy(b, c, factor[g], bias[g], here, more);

            gain[g] = v16_fma(d, v16_mul(c, inverse[g]), gain[g]);
            sum[g] = v16_add(sum[g], d);
        }
    }
}

/* dscale and dbias (+)= those sums, of 256 vectors after 256. */
static void batch_params(const ls__batch_norm *b, float *dscale, float *dbias)
{
    int64_t all = b->rows * b->each;

    for (int64_t r = 0; r < all; r += LS__CHUNK)
        for (int64_t j = 0; j < b->n; j += 16) {
            v16 gain, sum;

            batch_sums_of(b, r, all - r < LS__CHUNK ? all - r : LS__CHUNK, NULL,
                          j, 1, &gain, &sum);
            put_sum(dscale + j, gain, r > 0, b->n - j);
            put_sum(dbias + j, sum, r > 0, b->n - j);
        }
}

/* ------ by the batch's own statistics ------ */

/* Vectors, 256 at the most, the weight of each, and the sum of those; weights
 * of vectors that are not there are 0. */
typedef struct batch_block {
    int64_t vectors;
    float weight[LS__CHUNK];
    double sum;
} batch_block;

/* Weights of rows; NULL: all are 1. */
static const float *batch_weights(int64_t rows, const float *weights)
{
    int64_t i = 0;

    while (weights && i < rows && weights[i] == 1)
        i++;
    return i < rows ? weights : NULL;
}

/* The block from vector `first` on, of `all`; a row has `each`. */
SIMD batch_block batch_block_at(int64_t first, int64_t all, int64_t each,
                                const float *weights)
{
    batch_block b = {all - first < LS__CHUNK ? all - first : LS__CHUNK, {0}, 0};

    LS__ASSERT(each > 0);
    for (int64_t i = 0; i < b.vectors; i++) {
        b.weight[i] = weights ? weights[(first + i) / each] : 1;
        if (weights)
            b.sum += (double)b.weight[i];
    }
    if (!weights && b.vectors > 0)
        b.sum = (double)b.vectors; /* which is their sum, without a chain */
    return b;
}

/* Moments of two blocks of 16 channels, one behind the other: sum of w x / sum
 * of w, and then sum of w (x - that)^2.  Two chains take the time of one.  What
 * weighs nothing may hold anything; whole (a constant): all there is, and 1. */
SIMD void two_moments(const batch_block b[2], bool whole, int64_t n,
                      int64_t left, const float *x, float mean[2][16],
                      float square[2][16])
{
    v16 sum[2] = {v16_zero(), v16_zero()}, sq[2] = {v16_zero(), v16_zero()};
    const float *two = x + LS__CHUNK * n;

    for (int64_t i = 0; i < b->vectors; i++) {
        UNROLL(2)
        for (int k = 0; k < 2; k++)
            if (whole || b[k].weight[i] != 0)
                sum[k] = v16_fma(v16_set(whole ? 1 : b[k].weight[i]),
                                 take_on((k ? two : x) + i * n, left), sum[k]);
    }
    for (int k = 0; k < 2; k++)
        sum[k] = v16_mul(sum[k], v16_set((float)(1 / b[k].sum)));
    for (int64_t i = 0; i < b->vectors; i++) {
        UNROLL(2)
        for (int k = 0; k < 2; k++)
            if (whole || b[k].weight[i] != 0) {
                v16 d = v16_sub(take((k ? two : x) + i * n, left), sum[k]);
                v16 w = v16_set(whole ? 1 : b[k].weight[i]);

                sq[k] = v16_fma(v16_mul(w, d), d, sq[k]);
            }
    }
    for (int k = 0; k < 2; k++) {
        v16_store(mean[k], sum[k]);
        v16_store(square[k], sq[k]);
    }
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

/* Add to the moments of 16 channels from j on those of two blocks at x. */
SIMD void add_moments(const batch_block b[2], bool whole, int64_t n, int64_t j,
                      const float *x, double *moments)
{
    float mean[2][16], square[2][16];
    int64_t left = n - j < 16 ? n - j : 16;
    double before = moments[0];

    if (whole)
        two_moments(b, true, n, left, x + j, mean, square);
    else
        two_moments(b, false, n, left, x + j, mean, square);
    for (int i = 0; i < 2; before += b[i++].sum) {
        double part = b[i].sum / (before + b[i].sum);

        for (int64_t k = 0; k < left && b[i].sum > 0; k++)
            join_channel(moments + 1 + j + k, n, (double)mean[i][k],
                         (double)square[i][k], part, before * part);
    }
}

static void batch_moments(int64_t rows, int64_t each, int64_t n, const float *x,
                          const float *weights, double *moments)
{
    int64_t all = rows * each;

    weights = batch_weights(rows, weights);
    for (int64_t r = 0; r < all; r += 2 * LS__CHUNK) {
        const batch_block b[2] = {
            batch_block_at(r, all, each, weights),
            batch_block_at(r + LS__CHUNK, all, each, weights)};
        bool whole = !weights && b[1].vectors == LS__CHUNK;

        for (int64_t j = 0; j < n; j += 16)
            add_moments(b, whole, n, j, x + r * n, moments);
        moments[0] += b[0].sum;
        moments[0] += b[1].sum;
    }
}

/* Add those sums of the block from vector r on: of dy to sums[j] and so on, and
 * of dy xh n further on. */
SIMD void add_sums(const ls__batch_norm *b, const batch_block *block, int64_t r,
                   int64_t j, int groups, bool whole, double *sums)
{
    v16 gain[2], all[2];
    float sum[2][16];

    batch_sums_of(b, r, block->vectors, whole ? NULL : block->weight, j, groups,
                  gain, all);
    for (int g = 0; g < groups; g++, j += 16) {
        v16_store(sum[0], all[g]);
        v16_store(sum[1], gain[g]);
        for (int64_t k = 0; k < 16 && k < b->n - j; k++) {
            sums[j + k] += (double)sum[0][k];
            sums[b->n + j + k] += (double)sum[1][k];
        }
    }
}

/* The same of all channels; whole (a constant): all vectors weigh 1. */
SIMD void add_block(const ls__batch_norm *b, const batch_block *block,
                    int64_t r, bool whole, double *sums)
{
    for (int64_t j = 0; j < b->n; j += 32)
        if (b->n - j > 16)
            add_sums(b, block, r, j, 2, whole, sums);
        else
            add_sums(b, block, r, j, 1, whole, sums);
}

static void batch_sums(const ls__batch_norm *of, double *sums)
{
    ls__batch_norm b = *of;
    int64_t all = b.rows * b.each;

    b.weights = batch_weights(b.rows, b.weights);
    for (int64_t r = 0; r < all; r += LS__CHUNK) {
        batch_block block = batch_block_at(r, all, b.each, b.weights);

        if (b.weights)
            add_block(&b, &block, r, false, sums);
        else
            add_block(&b, &block, r, true, sums);
    }
}

/* dx = factor (dy - w (a + xh b)) (+ addend), a and b being the means of dy and
 * of dy xh, of at most 16 channels from j on in vectors `first` .. `end` of a
 * row of weight w; factor dy (+ addend) where it weighs nothing, or statistics
 * are stored.  Then the gradient of what was added: dy. */
SIMD void batch_grad_columns(const ls__batch_norm *b, int64_t first,
                             int64_t end, int64_t j, float w,
                             const float *const addend[2], float *const dx[2])
{
    int64_t left = b->n - j;
    v16 mean = take(b->mean + j, left), inverse = take(b->inverse + j, left);
    v16 factor = take(b->factor + j, left), bias = take(b->bias + j, left);
    v16 dy_mean = w != 0 ? take(b->dy_mean + j, left) : v16_zero();
    v16 gain_mean = w != 0 ? take(b->gain_mean + j, left) : v16_zero();

    for (int64_t at = first * b->n + j; at < end * b->n; at += b->n) {
        v16 c = v16_sub(take_on(b->x + at, left), mean);
        v16 d = batch_dy(b, c, factor, bias, at, left), more = d;

        if (w != 0)
            d = v16_fma(v16_set(-w),
                        v16_fma(v16_mul(c, inverse), gain_mean, dy_mean), d);
        d = v16_mul(d, factor);
        if (addend[0])
            d = v16_add(d, take_on(addend[0] + at, left));
        put_on(dx[0] + at, d, left);
        if (dx[1])
            put_on(dx[1] + at,
                   addend[1] ? v16_add(more, take_on(addend[1] + at, left))
                             : more,
                   left);
    }
}

static void batch_grad(const ls__batch_norm *of, const float *const addend[2],
                       float *const dx[2])
{
    const float *const from[2] = {addend[0], addend[1]};
    float *const to[2] = {dx[0], dx[1]};
    ls__batch_norm b = *of;

    for (int64_t r = 0, end; r < b.rows * b.each; r = end) {
        int64_t row = r / b.each, last = (row + 1) * b.each;
        float w = !b.dy_mean ? 0 : b.weights ? b.weights[row] : 1;

        end = last - r < NEAR_VECTORS ? last : r + NEAR_VECTORS;
        for (int64_t j = 0; j < b.n; j += 16)
            batch_grad_columns(&b, r, end, j, w, from, to);
    }
}

#endif
