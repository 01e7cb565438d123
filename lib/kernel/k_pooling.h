/* SPDX-License-Identifier: BSD-3-Clause */
/* Pooling of one image: windows over pixels, 16 channels at a time.  Pixels of
 * a window that lie outside the image take no part. */
#ifndef LS_KERNEL_K_POOLING_H
#define LS_KERNEL_K_POOLING_H

#include "base/assert.h"
#include "kernel/k_simd.h"
#include "kernel/kernel.h"

/* The taps of window (i,j) that are in the image: rows y0 .. y1 of the
 * window's, columns x0 .. x1; at is where the window begins, maybe outside. */
typedef struct pooling_window {
    int64_t y0, y1, x0, x1, at;
} pooling_window;

/* The first of the taps from `at` on, a gap apart, that is not before x, and
 * the number of those before `end`. */
SIMD int64_t pooling_low(int64_t at, int64_t gap)
{
    return at >= 0 ? 0 : gap == 1 ? -at : (gap - 1 - at) / gap;
}

SIMD int64_t pooling_high(int64_t at, int64_t gap, int64_t k, int64_t end)
{
    int64_t n = gap == 1 ? end - at : (end - at + gap - 1) / gap;

    return n < k ? n : k;
}

SIMD pooling_window pooling_at(const ls__pooling *p, int64_t i, int64_t j)
{
    int64_t y = i * p->sy - p->top, x = j * p->sx - p->left;

    return (pooling_window){pooling_low(y, p->dy),
                            pooling_high(y, p->dy, p->kh, p->in_h),
                            pooling_low(x, p->dx),
                            pooling_high(x, p->dx, p->kw, p->in_w),
                            (y * p->in_w + x) * p->c};
}

/* Floats from where a window begins to its tap (a,b). */
SIMD int64_t pooling_offset(const ls__pooling *p, int64_t a, int64_t b)
{
    return (a * p->dy * p->in_w + b * p->dx) * p->c;
}

/* The window most poolings have, all of it in the image: as a constant it makes
 * loops over a window disappear. */
enum { POOLING_USUAL = 2 };

SIMD bool pooling_is_usual(const ls__pooling *p, pooling_window w)
{
    return p->kh == POOLING_USUAL && p->kw == POOLING_USUAL && w.y0 == 0 &&
           w.x0 == 0 && w.y1 == POOLING_USUAL && w.x1 == POOLING_USUAL;
}

SIMD pooling_window pooling_usual(int64_t at)
{
    return (pooling_window){0, POOLING_USUAL, 0, POOLING_USUAL, at};
}

/* The largest of up to 16 channels of a window, which a NaN is, and its number:
 * the first of equals; -1 where cut and the largest is not above 0. */
SIMD void max_of(const ls__pooling *p, int64_t kw, pooling_window w,
                 const float *x, bool cut, int64_t left, float *y,
                 float *number)
{
    v16 best = take(x + w.at + pooling_offset(p, w.y0, w.x0), left);
    v16 at = v16_set((float)(w.y0 * kw + w.x0));

    for (int64_t a = w.y0; a < w.y1; a++)
        for (int64_t b = w.x0; b < w.x1; b++) {
            v16 v = take(x + w.at + pooling_offset(p, a, b), left);
            m16 more = m16_or(v16_lt(best, v), m16_not(v16_eq(v, v)));

            best = v16_select(more, v, best);
            at = v16_select(more, v16_set((float)(a * kw + b)), at);
        }
    if (cut)
        at = v16_select(v16_lt(v16_zero(), best), at, v16_set(-1));
    put(y, best, left);
    put(number, at, left);
}

/* One window, all channels. */
SIMD void max_window(const ls__pooling *p, pooling_window w, const float *x,
                     bool cut, float *y, float *number)
{
    int64_t c = 0;

    LS__ASSERT(w.y0 < w.y1 && w.x0 < w.x1); /* it sees a pixel */
    if (pooling_is_usual(p, w))
        for (; c + 16 <= p->c; c += 16)
            max_of(p, POOLING_USUAL, pooling_usual(w.at), x + c, cut, 16, y + c,
                   number + c);
    for (; c < p->c; c += 16)
        max_of(p, p->kw, w, x + c, cut, p->c - c, y + c, number + c);
}

/* Output rows first .. last; x is the image from input row 0 on. */
static void max_pool(const ls__pooling *p, int64_t first, int64_t last,
                     const float *x, bool cut, float *y, float *number)
{
    int64_t o = first * p->w * p->c;

    for (int64_t i = first; i < last; i++)
        for (int64_t j = 0; j < p->w; j++, o += p->c)
            max_window(p, pooling_at(p, i, j), x, cut, y + o, number + o);
}

/* Windows that touch each pixel at most once, and all of them. */
static bool pooling_tiles(const ls__pooling *p)
{
    return p->kh == p->sy && p->kw == p->sx && !p->top && !p->left &&
           p->dy == 1 && p->dx == 1 && p->h * p->sy == p->in_h &&
           p->w * p->sx == p->in_w;
}

/* dx of a window += its dy where it was the largest; written where windows
 * tile the image. */
SIMD void max_back(const ls__pooling *p, int64_t kw, pooling_window w,
                   const float *dy, const float *number, bool add_to,
                   int64_t left, float *dx)
{
    v16 d = take(dy, left), at = take(number, left);

    for (int64_t a = w.y0; a < w.y1; a++)
        for (int64_t b = w.x0; b < w.x1; b++) {
            float *to = dx + w.at + pooling_offset(p, a, b);
            m16 here = v16_eq(at, v16_set((float)(a * kw + b)));
            v16 part = v16_select(here, d, v16_zero());

            put(to, v16_add(add_to ? take(to, left) : v16_zero(), part), left);
        }
}

/* All of dx: sums over windows in order, from +0. */
static void max_pool_grad(const ls__pooling *p, const float *number,
                          const float *dy, float *dx)
{
    bool tiles = pooling_tiles(p);

    if (!tiles)
        memset(dx, 0, (size_t)(p->in_h * p->in_w * p->c) * sizeof *dx);
    for (int64_t i = 0; i < p->h; i++)
        for (int64_t j = 0; j < p->w; j++, dy += p->c, number += p->c) {
            pooling_window w = pooling_at(p, i, j);
            int64_t c = 0;

            if (tiles && pooling_is_usual(p, w))
                for (; c + 16 <= p->c; c += 16)
                    max_back(p, POOLING_USUAL, pooling_usual(w.at), dy + c,
                             number + c, false, 16, dx + c);
            for (; c < p->c; c += 16)
                max_back(p, p->kw, w, dy + c, number + c, !tiles, p->c - c,
                         dx + c);
        }
}

SIMD v16 sum_of(const ls__pooling *p, pooling_window w, const float *x,
                int64_t left)
{
    v16 sum = v16_zero();

    for (int64_t a = w.y0; a < w.y1; a++)
        for (int64_t b = w.x0; b < w.x1; b++)
            sum = v16_add(sum, take(x + pooling_offset(p, a, b), left));
    return sum;
}

/* XLA divides by a constant by multiplying with its reciprocal.  Where nothing
 * else is asked for, all taps of window (i,j) count. */
SIMD v16 pooling_share(const ls__pooling *p, pooling_window w, int64_t i,
                       int64_t j)
{
    int64_t rows = p->inside ? w.y1 - w.y0
                             : pooling_high(i * p->sy - p->top, p->dy, p->kh,
                                            p->end_y);
    int64_t cols = p->inside ? w.x1 - w.x0
                             : pooling_high(j * p->sx - p->left, p->dx, p->kw,
                                            p->end_x);

    LS__ASSERT(rows > 0 && cols > 0);
    return v16_set(1.0f / (float)(rows * cols));
}

static void avg_pool(const ls__pooling *p, const float *x, float *y)
{
    for (int64_t i = 0; i < p->h; i++)
        for (int64_t j = 0; j < p->w; j++, y += p->c) {
            pooling_window w = pooling_at(p, i, j);
            v16 share = pooling_share(p, w, i, j);

            for (int64_t c = 0; c < p->c; c += 16)
                put(y + c, v16_mul(sum_of(p, w, x + w.at + c, p->c - c), share),
                    p->c - c);
        }
}

SIMD void avg_back(const ls__pooling *p, pooling_window w, v16 d, int64_t left,
                   float *dx)
{
    for (int64_t a = w.y0; a < w.y1; a++)
        for (int64_t b = w.x0; b < w.x1; b++) {
            float *to = dx + pooling_offset(p, a, b);

            put(to, v16_add(take(to, left), d), left);
        }
}

/* All of dx: sums over windows in order, from +0. */
static void avg_pool_grad(const ls__pooling *p, const float *dy, float *dx)
{
    memset(dx, 0, (size_t)(p->in_h * p->in_w * p->c) * sizeof *dx);
    for (int64_t i = 0; i < p->h; i++)
        for (int64_t j = 0; j < p->w; j++, dy += p->c) {
            pooling_window w = pooling_at(p, i, j);
            v16 share = pooling_share(p, w, i, j);

            for (int64_t c = 0; c < p->c; c += 16)
                avg_back(p, w, v16_mul(take(dy + c, p->c - c), share),
                         p->c - c, dx + w.at + c);
        }
}

#endif
