/* SPDX-License-Identifier: BSD-3-Clause */
/* Convolutions of images rounded to bf16 by a matrix unit, in the order of
 * k_bf16_conv.h.
 *
 * The image is copied as numbers of bf16.  In a row of the image 16 windows
 * next to each other are runs that begin a pixel apart, so 16 lines of a tile
 * are read in place: implicit im2col.  Weights are packed so that each row of
 * the window has whole steps; what a tile reads beyond its run, or beyond the
 * windows of a row, meets zeros or is left. */
#ifndef LS_KERNEL_K_AMX_CONV_H
#define LS_KERNEL_K_AMX_CONV_H

#include "kernel/k_bf16_conv.h"
#include "kernel/k_amx_gemm.h"

/* ------ weights ------ */

/* Words of one panel of 32 columns: the rows of the window one after the
 * other. */
static int64_t amx_conv_panel(int64_t kh, int64_t run)
{
    return kh * amx_size(1, AMX_SIDE, run);
}

static int64_t amx_conv_packed_size(const ls__conv_weights *of)
{
    int64_t c = of->rotated ? of->out : of->in;
    int64_t n = of->rotated ? of->in : of->out;

    return up_to_side(n) / AMX_SIDE * amx_conv_panel(of->kh, of->kw * c);
}

/* 32 lines from p on of columns from j on, as tiles of B. */
static void amx_pack_source(const source *l, int64_t p, int64_t j,
                             uint32_t *out)
{
    float x[AMX_BLOCK];
    amx_source copy = {AMX_SIDE, AMX_SIDE, x, 1, AMX_SIDE};

    for (int64_t i = 0; i < AMX_SIDE; i++) {
        const float *line = p + i < l->k ? line_at(l, p + i) : NULL;

        for (int64_t c = 0; c < AMX_SIDE; c++)
            x[i * AMX_SIDE + c] =
                line && j + c < l->n ? line[(j + c) * l->col] : 0;
    }
    amx_pack_as(1, true, &copy, out);
}

static void amx_conv_pack(const ls__conv_weights *of, const float *w,
                           void *packed)
{
    int64_t n = of->rotated ? of->in : of->out;
    uint32_t *to = packed;

    for (int64_t j = 0; j < n; j += AMX_SIDE)
        for (int64_t ky = 0; ky < of->kh; ky++) {
            source l = window_lines(of, ky, w);

            for (int64_t p = 0; p < l.k; p += AMX_SIDE, to += 2 * AMX_TILE)
                amx_pack_source(&l, p, j, to);
        }
}

/* ------ the image ------ */

/* The image with what tiles read beyond it: the last windows of a tile, and the
 * rest of a step. */
static int64_t amx_image_size(const ls__conv *v)
{
    int64_t n = image_size(v) + AMX_LINES * v->step_x + AMX_SIDE;

    return (n + AMX_SIDE - 1) / AMX_SIDE * AMX_SIDE;
}

static const void *amx_conv_image(const ls__conv *v, float *scratch)
{
    words_of_image(image_size(v), v->x, AMX_SIDE, 16, amx_image_size(v),
                   words_following, (uint32_t *)(void *)scratch);
    return scratch;
}

/* ------ y ------ */

/* Up to 16 windows next to each other. */
typedef struct amx_windows {
    const uint16_t *at;
    int64_t i, count; /* the number of the first, and how many */
} amx_windows;

/* Tile q of windows, `tiles` to a row. */
SIMD amx_windows amx_windows_of(const ls__conv *v, const uint16_t *image,
                                  int64_t tiles, int64_t q)
{
    int64_t y = q / tiles, x = q % tiles * AMX_LINES;

    return (amx_windows){image + y * v->step_y + x * v->step_x, y * v->w + x,
                          v->w - x < AMX_LINES ? v->w - x : AMX_LINES};
}

/* All of K of two tiles of windows and a panel of weights. */
AMX void amx_conv_sums(const ls__conv *v, amx_tiles *u, const uint16_t *one,
                         const uint16_t *two, const uint32_t *b)
{
    amx_clear_block(u);
    for (int64_t ky = 0; ky < v->kh; ky++, one += v->row, two += v->row)
        for (int64_t p = 0; p < v->run; p += AMX_SIDE, b += 2 * AMX_TILE) {
            amx_columns(u, b);
            amx_lines(u, 4, one + p, v->step_x);
            amx_lines(u, 5, two + p, v->step_x);
            amx_multiply_block(u);
        }
}

static void amx_conv_y(const ls__conv *v, const void *image, int64_t first,
                        int64_t last)
{
    float sums[AMX_BLOCK] __attribute__((aligned(64)));
    int64_t panel = amx_conv_panel(v->kh, v->run);
    int64_t tiles = (v->w + AMX_LINES - 1) / AMX_LINES, end = last * tiles;
    amx_tiles u;

    amx_take(&u);
    AMX_READS;
    for (int64_t q = first * tiles; q < end; q += 2) {
        amx_windows one = amx_windows_of(v, image, tiles, q), two = one;
        const uint32_t *b = v->out.packed;

        two.count = 0;
        if (q + 1 < end)
            two = amx_windows_of(v, image, tiles, q + 1);
        for (int64_t j = 0; j < v->out.n; j += AMX_SIDE, b += panel) {
            amx_conv_sums(v, &u, one.at, two.at, b);
            amx_store_block(&u, sums, AMX_SIDE);
            amx_rows_end(&v->out, one.count, one.i, j, sums);
            amx_rows_end(&v->out, two.count, two.i, j,
                          sums + AMX_LINES * AMX_SIDE);
        }
    }
    amx_give(&u);
}

#endif
