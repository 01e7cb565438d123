/* SPDX-License-Identifier: BSD-3-Clause */
/* Loops around kernels that move numbers: what operators (lib/op) and the C
 * source of a model (data/export) both go through. */
#ifndef LS_KERNEL_LOOPS_H
#define LS_KERNEL_LOOPS_H

#include <stdint.h>
#include <string.h>

#include "base/assert.h"
#include "kernel/product.h"

/* ------ images ------ */

/* A padded image, zeros around and between its pixels: pixel (i,j) of (h,w,c)
 * stands at (top + i sy, left + j sx) of (rows,cols,c), or outside.  bf16: its
 * numbers are made of floats, and have two bytes. */
typedef struct ls__halo {
    int64_t h, w, c;
    int64_t top, left, sy, sx;
    int64_t rows, cols;
    bool bf16;
} ls__halo;

static inline void ls__halo_zero(float *out, int64_t n)
{
    if (n > 0)
        memset(out, 0, (size_t)n * sizeof *out);
}

/* Where pixel n of those at out is. */
static inline char *ls__halo_at(const ls__halo *f, char *out, int64_t n)
{
    return out + n * f->c * (f->bf16 ? 2 : 4);
}

static inline void ls__halo_zeros(const ls__halo *f, char *out, int64_t n)
{
    if (n > 0)
        memset(out, 0, (size_t)(ls__halo_at(f, out, n) - out));
}

/* Makes n pixels that follow each other, of x and what it is handed. */
typedef void ls__halo_fn(const ls__halo *f, int64_t n, const void *by,
                         const float *x, void *out);

static inline void ls__halo_pixels(const ls__halo *f, int64_t n,
                                   ls__halo_fn *fill, const void *by,
                                   const float *x, char *out)
{
    if (fill)
        fill(f, n, by, x, out);
    else
        memcpy(out, x, (size_t)(n * f->c) * sizeof *x);
}

/* One row of pixels between its zeros; those outside the frame are left
 * out. */
static inline void ls__halo_row(const ls__halo *f, const float *x,
                                ls__halo_fn *fill, const void *by, char *out)
{
    int64_t c = f->c, room = (f->cols - f->left + f->sx - 1) / f->sx;
    int64_t first = f->left < 0 ? (f->sx - 1 - f->left) / f->sx : 0;
    int64_t last = f->w < room ? f->w : room, at = f->left + first * f->sx;

    LS__ASSERT(first >= last ||
               (at >= 0 && at + (last - first - 1) * f->sx < f->cols));
    if (f->sx == 1 && first < last) {
        int64_t end = at + last - first;

        ls__halo_zeros(f, out, at);
        ls__halo_pixels(f, last - first, fill, by, x + first * c,
                        ls__halo_at(f, out, at));
        ls__halo_zeros(f, ls__halo_at(f, out, end), f->cols - end);
        return;
    }
    ls__halo_zeros(f, out, f->cols);
    for (int64_t j = first; j < last; j++, at += f->sx)
        ls__halo_pixels(f, 1, fill, by, x + j * c, ls__halo_at(f, out, at));
}

/* The framed image: x itself where nothing is added or done, else out.  fill:
 * makes its pixels; NULL: they are as they are. */
static inline const float *ls__halo_fill(const ls__halo *f, const float *x,
                                         ls__halo_fn *fill, const void *by,
                                         float *out)
{
    LS__ASSERT(fill || !f->bf16);
    if (f->rows == f->h && f->cols == f->w && !f->top && !f->left &&
        f->sy == 1 && f->sx == 1 && !fill)
        return x;
    for (int64_t r = 0; r < f->rows; r++) {
        int64_t i = (r - f->top) / f->sy;
        char *row = ls__halo_at(f, (char *)out, r * f->cols);

        if (r >= f->top && (r - f->top) % f->sy == 0 && i < f->h)
            ls__halo_row(f, x + i * f->w * f->c, fill, by, row);
        else
            ls__halo_zeros(f, row, f->cols);
    }
    return out;
}

/* The patch of the window at x (im2col); returns where it ends. */
static inline float *ls__im2col(const ls__conv *v, const float *x, float *out)
{
    for (int64_t ky = 0; ky < v->kh; ky++)
        for (int64_t kx = 0; kx < v->kx; kx++, out += v->run)
            memcpy(out, x + ky * v->row + kx * v->col,
                   (size_t)v->run * sizeof *out);
    return out;
}

/* ------ groups of channels ------ */

/* One group: `pixels` runs of `run` channels, `step` apart. */
typedef struct ls__channels {
    int64_t pixels, run, step, size;
} ls__channels;

static inline void ls__channels_gather(const ls__channels *g,
                                       const float *from, float *to)
{
    for (int64_t p = 0; p < g->pixels; p++, from += g->step)
        for (int64_t c = 0; c < g->run; c++)
            *to++ = from[c];
}

static inline void ls__channels_scatter(const ls__channels *g,
                                        const float *from, float *to)
{
    for (int64_t p = 0; p < g->pixels; p++, to += g->step)
        for (int64_t c = 0; c < g->run; c++)
            to[c] = *from++;
}

/* Spread a number of each channel over its elements. */
static inline void ls__channels_spread(const ls__channels *g,
                                       const float *from, float *to)
{
    ls__channels same = *g;

    same.step = 0;
    ls__channels_gather(&same, from, to);
}

/* ------ axes ------ */

/* The greatest of n elements, `stride` apart; NaN where one is. */
static inline float ls__greatest(int64_t n, int64_t stride, const float *x)
{
    float top = x[0];

    for (int64_t i = 1; i < n && top == top; i++)
        if (!(x[i * stride] <= top))
            top = x[i * stride];
    return top;
}

#endif
