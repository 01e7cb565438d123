/* SPDX-License-Identifier: BSD-3-Clause */
/* Convolutions of one image as products, by implicit im2col: in an image
 * with its channels last and zeros around it, what a window sees of one image
 * row is one run of numbers, so the patch of an output pixel, a row of the
 * left operand, is kh runs, and the next pixel's begins `step_x` later.  Tiles
 * are read straight from the image.  With dilation, and in a group of channels,
 * each pixel of a window is a run.
 *
 * The contract of bits is that of kernel/product.h on the matrix of patches, K
 * in order (row of the window, pixel, channel), chunks of 256.  In weight
 * gradients K runs over output pixels: a chunk is a rectangle of at most 256,
 * an even number of whole rows (128 pixels of two rows that are longer), and in
 * it K goes block by block of two by two.  A 2x2 pooling then leaves one number
 * in each block, and kernel/k_conv_pooled_dw.h has the same chain without the
 * zeros, as kernel/k_conv_pooled_dx.h has those of dx. */
#ifndef LS_KERNEL_K_CONV_H
#define LS_KERNEL_K_CONV_H

#include "base/assert.h"
#include "kernel/k_conv_pooled_dw.h"
#include "kernel/k_conv_pooled_dx.h"
#include "kernel/k_epilogue.h"
#include "kernel/k_panels.h"
#include "kernel/k_tile.h"

/* ------ weights in panels ------ */

static int64_t conv_groups(const ls__conv_weights *of)
{
    return of->groups > 1 ? of->groups : 1;
}

static int64_t conv_packed_size(const ls__conv_weights *of)
{
    int64_t taps = of->kh * of->kw;

    return conv_groups(of) * (of->rotated ? packed_size(taps * of->out, of->in)
                                          : packed_size(taps * of->in,
                                                        of->out));
}

/* The panels' parts of the taps one below the other, in the rotated operand
 * from the last to the first; of one group. */
static float *conv_pack_group(const ls__conv_weights *of, int64_t width,
                              const float *w, float *to)
{
    int64_t taps = of->kh * of->kw, in = of->in, out = of->out;
    int64_t n = of->rotated ? in : out, k = of->rotated ? out : in;
    int64_t row = of->rotated ? 1 : width, col = of->rotated ? width : 1;

    for (int64_t j = 0; j < n; j += COLUMNS)
        for (int64_t t = 0; t < taps; t++, to += k * COLUMNS) {
            const float *tap = w + (of->rotated ? taps - 1 - t : t) * in *
                                       width;

            pack_panel(k, n - j, tap + j * col, row, col, to);
        }
    return to;
}

static void conv_pack(const ls__conv_weights *of, const float *w, void *packed)
{
    int64_t groups = conv_groups(of);
    float *to = packed;

    for (int64_t g = 0; g < groups; g++)
        to = conv_pack_group(of, groups * of->out, w + g * of->out, to);
}

/* ------ what is used soon ------ */

enum { AHEAD_LINES = 12 }; /* of 16 numbers, at once.  Only so many can be on
                              their way: a CPU waits where it asks for more */

static void conv_ahead(const ls__conv *v)
{
    ls__ahead *a = v->ahead;
    int64_t size, end;

    if (!a || a->of == a->end)
        return;
    size = a->of->last - a->of->first;
    end = size - a->at < 16 * AHEAD_LINES ? size : a->at + 16 * AHEAD_LINES;
    for (int64_t at = a->at; at < end; at += 16)
        __builtin_prefetch(a->base + a->of->first + at, 0, 2);
    a->of += end == size;
    a->at = end == size ? 0 : end;
}

/* ------ y ------ */

/* Is run number `run` of every window zeros? */
SIMD bool conv_skips(const ls__conv *v, int64_t run)
{
    return v->zeros && v->zeros >> run & 1;
}

/* A chunk of K is at its end: acc goes to those before it. */
SIMD void conv_next_chunk(int rows, float *sum, bool *later, tile_sums acc)
{
    if (*later)
        tile_add(rows, sum, COLUMNS, COLUMNS, acc);
    tile_put(rows, sum, COLUMNS, COLUMNS, acc);
    tile_clear(rows, acc);
    *later = true;
}

/* Outputs i .. i+rows, whose first window begins at a, `vecs` vectors of
 * channels from j on: all of K. */
SIMD void conv_tile(const ls__conv *v, int rows, int vecs, const float *a,
                    int64_t i, int64_t j)
{
    float sum[ROWS * COLUMNS] __attribute__((aligned(64)));
    const float *b = (const float *)v->out.packed + j * v->kh * v->kx * v->run;
    int64_t left = LS__CHUNK;
    bool later = false;
    tile_sums acc;

    LS__ASSERT(!v->zeros || v->kh * v->kx <= 64); /* a bit for each run */
    tile_clear(rows, acc);
    for (int64_t run = 0, kx = 0; run < v->kh * v->kx; run++) {
        conv_ahead(v);
        for (int64_t p = 0, k; p < v->run; p += k, left -= k) {
            if (left == 0) {
                conv_next_chunk(rows, sum, &later, acc);
                left = LS__CHUNK;
            }
            k = v->run - p < left ? v->run - p : left;
            if (!conv_skips(v, run))
                tile_steps(rows, vecs, k, a + p, v->step_x, 1, b, COLUMNS, 0,
                           acc);
            b += k * COLUMNS;
        }
        a += v->col;
        if (++kx == v->kx) {
            kx = 0;
            a += v->row - v->kx * v->col;
        }
    }
    if (later)
        tile_add(rows, sum, COLUMNS, COLUMNS, acc);
    tile_end(&v->out, rows, vecs, i, j, acc, sum);
}

/* One place for each height, so that loops over rows unroll. */
static void conv_tile_of(const ls__conv *v, int rows, bool narrow,
                         const float *a, int64_t i, int64_t j)
{
#define TILE(rows, vecs) conv_tile(v, rows, vecs, a, i, j)
    WITH_TILE(rows, TILE_CASES, narrow, TILE_CASES)
#undef TILE
}

/* Output row y, or that of a later image, channels from j on. */
static void conv_row(const ls__conv *v, int64_t y, int64_t j)
{
    const float *a = v->x + y / v->h * v->next_x + y % v->h * v->step_y;

    for (int64_t x = 0, rows; x < v->w; x += rows) {
        rows = tile_height(v->w - x, ROWS);
        conv_tile_of(v, (int)rows, is_narrow(v->out.n - j), a + x * v->step_x,
                     y * v->w + x, j);
    }
}

/* Output rows first .. last.  Of the weights and the image the larger is read
 * once. */
static void conv(const ls__conv *v, const void *image, int64_t first,
                 int64_t last)
{
    int64_t panels = (v->out.n + COLUMNS - 1) / COLUMNS, rows = last - first;
    bool heavy = v->kh * v->kx * v->run * v->out.n >
                 (v->h - 1) * v->step_y + v->kh * v->row;

    (void)image;
    for (int64_t q = 0; q < panels * rows; q++)
        conv_row(v, first + (heavy ? q % rows : q / panels),
                 (heavy ? q / rows : q % panels) * COLUMNS);
}

/* ------ dw and dbias ------ */

/* A chunk of K: a rectangle of h by w outputs. */
typedef struct conv_chunk {
    const float *x; /* of its first window */
    int64_t h, w;
    const float *dy; /* of its first pixel, from channel j on */
    int64_t dy_row, dy_col; /* floats from pixel to pixel */
    bool add;
} conv_chunk;

/* Pixels of a block of two from `at` on, where there are `size`. */
SIMD int64_t conv_pair(int64_t at, int64_t size)
{
    return size - at < 2 ? 1 : 2;
}

/* acc += a b over the pixels of a chunk, in blocks of two by two. */
SIMD void conv_blocks(const ls__conv *v, const conv_chunk *q, int rows,
                      int vecs, const float *a, tile_sums acc)
{
    for (int64_t y = 0; y < q->h; y += 2, conv_ahead(v)) {
        const float *from = a + y * v->step_y, *dy = q->dy + y * q->dy_row;
        int64_t below = conv_pair(y, q->h) - 1;

        for (int64_t x = 0; x < q->w; x += 2) {
            int64_t two = conv_pair(x, q->w);

            tile_steps(rows, vecs, two, from, 1, v->step_x, dy, q->dy_col, 0,
                       acc);
            if (below)
                tile_steps(rows, vecs, two, from + v->step_y, 1, v->step_x,
                           dy + q->dy_row, q->dy_col, 0, acc);
            from += 2 * v->step_x;
            dy += 2 * q->dy_col;
        }
    }
}

/* The beginning of run number `run` of the window at x. */
SIMD const float *conv_run(const ls__conv *v, const float *x, int64_t run)
{
    return v->kx == 1 ? x + run * v->row
                      : x + run / v->kx * v->row + run % v->kx * v->col;
}

/* Sums of a tile to those of dw, or in their place; `left` columns. */
SIMD void conv_grad_put(const ls__conv *v, bool add, int rows, int64_t left,
                        float *dw, tile_sums acc)
{
    if (add)
        tile_add(rows, dw, v->out.c_row, left, acc);
    tile_put(rows, dw, v->out.c_row, left, acc);
}

/* Rows m .. m+rows of dw, which is rows of one run, over one chunk. */
SIMD void conv_grad_tile(const ls__conv *v, const conv_chunk *q, int rows,
                         int vecs, int64_t run, int64_t m, int64_t j)
{
    float *dw = v->out.c + (run * v->run + m) * v->out.c_row + j;
    tile_sums acc;

    tile_clear(rows, acc);
    conv_blocks(v, q, rows, vecs, conv_run(v, q->x, run) + m, acc);
    tile_plus_zero(rows, acc);
    if (v->out.n - j >= COLUMNS)
        conv_grad_put(v, q->add, rows, COLUMNS, dw, acc);
    else
        conv_grad_put(v, q->add, rows, v->out.n - j, dw, acc);
}

static void conv_grad_tile_of(const ls__conv *v, const conv_chunk *q, int rows,
                              bool narrow, int64_t run, int64_t m, int64_t j)
{
#define TILE(rows, vecs) conv_grad_tile(v, q, rows, vecs, run, m, j)
    WITH_TILE(rows, TILE_CASES, narrow, TILE_CASES)
#undef TILE
}

/* The last channels of a chunk's dy, filled up with zeros. */
static void conv_fill_up(conv_chunk *q, int64_t left, float *scratch)
{
    float *to = scratch;

    for (int64_t y = 0; y < q->h; y++)
        for (int64_t x = 0; x < q->w; x++, to += COLUMNS)
            for (int v = 0; v < VECS; v++)
                v16_store(to + 16 * v,
                          left > 16 * v
                              ? take(q->dy + y * q->dy_row + x * q->dy_col +
                                         16 * v, left - 16 * v)
                              : v16_zero());
    q->dy = scratch;
    q->dy_row = q->w * COLUMNS;
    q->dy_col = COLUMNS;
}

/* A chunk of each image: dw stays near while they add to it. */
static void conv_grad_images(const ls__conv *v, conv_chunk q, int rows,
                             bool narrow, int64_t run, int64_t m, int64_t j)
{
    for (int64_t i = 0; i < v->images; i++) {
        conv_grad_tile_of(v, &q, rows, narrow, run, m, j);
        q.x += v->next_x;
        q.dy += v->next_b;
        q.add = true;
    }
}

static void conv_grad_chunk(const ls__conv *v, conv_chunk q, float *scratch)
{
    const float *dy = q.dy;

    for (int64_t j = 0; j < v->out.n; j += COLUMNS) {
        bool narrow = is_narrow(v->out.n - j);
        conv_chunk part = q;

        part.dy = dy + j;
        if (v->out.n - j < (narrow ? 16 : COLUMNS))
            conv_fill_up(&part, v->out.n - j, scratch);
        for (int64_t run = 0; run < v->kh * v->kx; run++)
            for (int64_t m = 0, rows; m < v->run; m += rows) {
                rows = tile_height(v->run - m, ROWS);
                conv_grad_images(v, part, (int)rows, narrow, run, m, j);
            }
    }
}

/* dbias: the gradient of a weight whose window sees a 1 everywhere. */
static void conv_bias_chunk(const conv_chunk *q, int64_t n, float *dbias)
{
    for (int64_t j = 0; j < n; j += 16) {
        v16 sum = v16_zero();

        for (int64_t y = 0; y < q->h; y += 2)
            for (int64_t x = 0; x < q->w; x += 2)
                for (int64_t i = y; i < y + conv_pair(y, q->h); i++)
                    for (int64_t k = x; k < x + conv_pair(x, q->w); k++)
                        sum = v16_fma(v16_set(1), take(q->dy + i * q->dy_row +
                                                    k * q->dy_col + j, n - j),
                                      sum);
        if (q->add)
            sum = v16_add(take(dbias + j, n - j), sum);
        put(dbias + j, sum, n - j);
    }
}

/* Room for a chunk of dy that has to be filled up, pixels x channels, or for
 * one under a pooling. */
static int64_t conv_scratch(const ls__conv *v)
{
    int64_t full = LS__CHUNK * COLUMNS, pooled = sparse_scratch(v);

    return full > pooled ? full : pooled;
}

/* The chunk of output pixels from (y,x) on. */
static conv_chunk conv_chunk_at(const ls__conv *v, int64_t y, int64_t x)
{
    int64_t w = ls__conv_chunk_w(v->w), h = ls__conv_chunk_h(v->w);
    int64_t n = v->out.b_row;

    return (conv_chunk){.x = v->x + y * v->step_y + x * v->step_x,
                        .h = v->h - y < h ? v->h - y : h,
                        .w = v->w - x < w ? v->w - x : w,
                        .dy = v->out.b + (y * v->w + x) * n,
                        .dy_row = v->w * n, .dy_col = n,
                        .add = v->out.accumulate || y + x > 0};
}

static void conv_grad(const ls__conv *v, float *dbias, float *scratch)
{
    int64_t w = ls__conv_chunk_w(v->w), h = ls__conv_chunk_h(v->w);

    LS__ASSERT(w * h <= LS__CHUNK);
    LS__ASSERT(v->images == 1 ||
               (ls__conv_is_chunk(v) && v->out.n % 16 == 0));
    for (int64_t y = 0; y < v->h; y += h)
        for (int64_t x = 0; x < v->w; x += w) {
            conv_chunk q = conv_chunk_at(v, y, x);

            conv_grad_chunk(v, q, scratch);
            for (int64_t i = 0; dbias && i < v->images; i++) {
                conv_bias_chunk(&q, v->out.n, dbias);
                q.dy += v->next_b;
                q.add = true;
            }
        }
}

static const ls__convs convs = {
    .skips = true, .gaps = true, .gathers = true, .y = conv, .dw = conv_grad,
    .dw_pooled = conv_grad_pooled, .scratch = conv_scratch,
    .dx_pooled = conv_dx_pooled, .dx_scratch = conv_lists_scratch,
    .packed_size = conv_packed_size, .pack = conv_pack};

#endif
