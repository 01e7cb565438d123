/* SPDX-License-Identifier: BSD-3-Clause */
/* Depthwise convolutions of one image: each channel has weights of its own, so
 * there is no matrix product.  Lanes are channels.
 *
 * The contract of bits is that of k_conv.h with groups of one channel: in y, K
 * is the taps of the window by rows, in chunks of 256; in dw and dbias it is
 * the output pixels, in the same rectangles and blocks of two by two. */
#ifndef LS_KERNEL_K_DEPTHWISE_H
#define LS_KERNEL_K_DEPTHWISE_H

#include "kernel/k_conv.h"

/* ------ y: w is out.b, its taps out.b_row apart ------ */

/* acc += a tap's weights times the pixels under it. */
SIMD void depthwise_step(int rows, int64_t left, const float *a, int64_t step,
                         const float *w, tile_sums acc)
{
    UNROLL(2)
    for (int v = 0; v < VECS; v++)
        if (left > 16 * v) {
            v16 b = take(w + 16 * v, left - 16 * v);

            UNROLL(14)
            for (int r = 0; r < rows; r++)
                acc[r][v] = v16_fma(take(a + r * step + 16 * v, left - 16 * v),
                                    b, acc[r][v]);
        }
}

/* Pixels of a tile.  A step reads a vector of pixels for each of its chains, so
 * higher tiles would hardly be faster, and all heights have to be compiled. */
#if defined(__AVX512F__)
enum { DEPTHWISE_ROWS = 8 };
#define DEPTHWISE_CASES CASES_8
#else
enum { DEPTHWISE_ROWS = ROWS };
#define DEPTHWISE_CASES TILE_CASES
#endif

/* Outputs x .. x+rows of output row y, channels j .. j+left, which `vecs`
 * vectors (a constant) hold. */
SIMD void depthwise_tile(const ls__conv *v, int rows, int vecs, int64_t left,
                         int64_t y, int64_t x, int64_t j)
{
    float sum[ROWS * COLUMNS] __attribute__((aligned(64)));
    const float *a = v->x + y * v->step_y + x * v->step_x + j;
    const float *w = v->out.b + j;
    bool later = false;
    int64_t tap = 0;
    tile_sums acc;

    tile_clear(rows, acc);
    for (int64_t ky = 0; ky < v->kh; ky++, a += v->row)
        for (int64_t kx = 0; kx < v->kx; kx++, tap++, w += v->out.b_row) {
            if (tap && tap % LS__CHUNK == 0)
                conv_next_chunk(rows, sum, &later, acc);
            depthwise_step(rows, left, a + kx * v->col, v->step_x, w, acc);
        }
    if (later)
        tile_add(rows, sum, COLUMNS, COLUMNS, acc);
    tile_end(&v->out, rows, vecs, y * v->w + x, j, acc, sum);
}

static void depthwise_tile_of(const ls__conv *v, int rows, int64_t y, int64_t x,
                              int64_t j)
{
    int64_t left = v->out.n - j;

#define TILE(rows, vecs) depthwise_tile(v, rows, vecs, 16 * vecs, y, x, j)
    if (left >= COLUMNS || left == 16) {
        WITH_TILE(rows, DEPTHWISE_CASES, left == 16, DEPTHWISE_CASES)
        return;
    }
#undef TILE
#define CALL(rows) depthwise_tile(v, rows, VECS, left, y, x, j)
    WITH_CONSTANT(rows, DEPTHWISE_CASES, CALL)
#undef CALL
}

static void depthwise(const ls__conv *v)
{
    for (int64_t y = 0; y < v->h; y++)
        for (int64_t j = 0; j < v->out.n; j += COLUMNS)
            for (int64_t x = 0, rows; x < v->w; x += rows) {
                rows = tile_height(v->w - x, DEPTHWISE_ROWS);
                depthwise_tile_of(v, (int)rows, y, x, j);
            }
}

/* ------ dw and dbias ------ */

/* Gradients of taps first .. first+taps and channels j .. j+left, over one
 * chunk. */
SIMD void depthwise_taps(const ls__conv *v, const conv_chunk *q, int taps,
                         int64_t left, int64_t first, int64_t j)
{
    float *dw = v->out.c + first * v->out.c_row + j;
    int64_t at[ROWS];
    v16 acc[ROWS];

    UNROLL(14)
    for (int t = 0; t < taps; t++) {
        at[t] = conv_run(v, q->x, first + t) + j - q->x;
        acc[t] = v16_zero();
    }
    for (int64_t y = 0; y < q->h; y += 2)
        for (int64_t x = 0; x < q->w; x += 2)
            for (int64_t i = y; i < y + conv_pair(y, q->h); i++)
                for (int64_t k = x; k < x + conv_pair(x, q->w); k++) {
                    const float *a = q->x + i * v->step_y + k * v->step_x;
                    v16 d = take(q->dy + i * q->dy_row + k * q->dy_col + j,
                                 left);

                    UNROLL(14)
                    for (int t = 0; t < taps; t++)
                        acc[t] = v16_fma(take(a + at[t], left), d, acc[t]);
                }
    UNROLL(14)
    for (int t = 0; t < taps; t++, dw += v->out.c_row) {
        acc[t] = v16_add(acc[t], v16_zero());
        if (q->add)
            acc[t] = v16_add(take(dw, left), acc[t]);
        put(dw, acc[t], left);
    }
}

static void depthwise_taps_of(const ls__conv *v, const conv_chunk *q, int taps,
                              int64_t first, int64_t j)
{
    int64_t left = v->out.n - j;

#define CALL(taps) depthwise_taps(v, q, taps, 16, first, j)
    if (left >= 16) {
        WITH_CONSTANT(taps, TILE_CASES, CALL)
        return;
    }
#undef CALL
#define CALL(taps) depthwise_taps(v, q, taps, left, first, j)
    WITH_CONSTANT(taps, TILE_CASES, CALL)
#undef CALL
}

static void depthwise_grad(const ls__conv *v, float *dbias)
{
    int64_t w = ls__conv_chunk_w(v->w), h = ls__conv_chunk_h(v->w);
    int64_t all = v->kh * v->kx;

    for (int64_t y = 0; y < v->h; y += h)
        for (int64_t x = 0; x < v->w; x += w) {
            conv_chunk q = conv_chunk_at(v, y, x);

            for (int64_t j = 0; j < v->out.n; j += 16)
                for (int64_t t = 0, taps; t < all; t += taps) {
                    taps = tile_height(all - t, ROWS);
                    depthwise_taps_of(v, &q, (int)taps, t, j);
                }
            if (dbias)
                conv_bias_chunk(&q, v->out.n, dbias);
        }
}

#endif
