/* SPDX-License-Identifier: BSD-3-Clause */
/* Convolutions of images rounded to bf16 by a matrix unit, in the order of
 * k_bf16_conv.h.
 *
 * The image is numbers of bf16.  In a row of the image 16 windows
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

/* out = n floats rounded. */
static void amx_round(int64_t n, const float *x, uint16_t *out)
{
    uint16_t last[AMX_SIDE];
    int64_t i = 0;

    for (; i + AMX_SIDE <= n; i += AMX_SIDE)
        amx_words_store(out + i, words_following(take_on(x + i, 16),
                                                 take_on(x + i + 16, 16)));
    if (i == n)
        return;
    amx_words_store(last, words_following(take_any(x + i, n - i),
                                          take_any(x + i + 16, n - i - 16)));
    memcpy(out + i, last, (size_t)(n - i) * sizeof *last);
}

/* The image with what tiles read beyond it: the last windows of a tile, and the
 * rest of a step; in dw a second row, the last windows, those two on. */
static int64_t amx_image_size(const ls__conv *v)
{
    return image_size(v) + v->step_y + (AMX_LINES + 4) * v->step_x + AMX_SIDE;
}

/* ------ y ------ */

/* Windows are counted in lines, from each to the next a pixel on: a line is the
 * windows of a row and those between two rows, which nobody asked for; or the
 * former alone, filled up to whole tiles: whichever takes fewer tiles. */
static int64_t amx_line(const ls__conv *v)
{
    int64_t line = v->step_y / v->step_x;
    int64_t tiles = (v->w + AMX_LINES - 1) / AMX_LINES;

    return v->step_y % v->step_x == 0 && v->w <= line &&
                   (v->h - 1) * line + v->w <= AMX_LINES * tiles * (v->h - 1)
               ? line : AMX_LINES * tiles;
}

/* All of K of four tiles of sums: two tiles of windows by a panel of weights;
 * or, narrow, four by its first half, the other being zeros. */
AMX void amx_conv_sums(const ls__conv *v, bool narrow, amx_tiles *u,
                       const uint16_t *const at[4], const uint32_t *b)
{
    amx_clear_block(u);
    for (int64_t ky = 0; ky < v->kh; ky++)
        for (int64_t p = 0; p < v->run; p += AMX_SIDE, b += 2 * AMX_TILE) {
            int64_t place = ky * v->row + p;

            conv_ahead(v);
            amx_operand(u, 6, b, 16);
            amx_lines(u, 4, at[0] + place, v->step_x);
            amx_lines(u, 5, at[1] + place, v->step_x);
            amx_multiply(u, 0, 4, 6);
            if (narrow) {
                amx_multiply(u, 1, 5, 6);
                amx_lines(u, 4, at[2] + place, v->step_x);
                amx_lines(u, 5, at[3] + place, v->step_x);
                amx_multiply(u, 2, 4, 6);
                amx_multiply(u, 3, 5, 6);
            } else {
                amx_operand(u, 7, b + AMX_TILE, 16);
                amx_multiply(u, 1, 4, 7);
                amx_multiply(u, 2, 5, 6);
                amx_multiply(u, 3, 5, 7);
            }
        }
}

/* Store the four tiles below each other. */
AMX void amx_store_column(amx_tiles *u, float *to)
{
    amx_store(u, 0, to, 16);
    amx_store(u, 1, to + AMX_TILE, 16);
    amx_store(u, 2, to + 2 * AMX_TILE, 16);
    amx_store(u, 3, to + 3 * AMX_TILE, 16);
}

/* The epilogue of the windows from place p to `end`, but for those between two
 * rows. */
static void amx_windows_end(const ls__conv *v, int64_t line, int64_t p,
                            int64_t end, int64_t j, int64_t row,
                            const float *sums)
{
    for (int64_t i = 0, n; i < end - p; i += n) {
        int64_t y = (p + i) / line, x = (p + i) % line;
        int64_t rows = v->w - x < end - p - i ? v->w - x : end - p - i;

        if (rows > 0)
            amx_rows_end(&v->out, rows, y * v->w + x, j, row, sums + i * row);
        n = line - x;
    }
}

/* Windows from place p to `end`, so many tiles at a time. */
AMX void amx_conv_places(const ls__conv *v, bool narrow, const uint16_t *image,
                         int64_t p, int64_t end)
{
    const int64_t tiles = narrow ? 4 : 2, row = narrow ? 16 : AMX_SIDE;
    float sums[AMX_BLOCK] __attribute__((aligned(64)));
    int64_t line = amx_line(v), panel = amx_conv_panel(v->kh, v->run);
    amx_tiles u;

    amx_take(&u);
    AMX_READS;
    for (; p < end; p += tiles * AMX_LINES) {
        int64_t most = p + tiles * AMX_LINES;
        const uint32_t *b = v->out.packed;
        const uint16_t *at[4];

        for (int64_t t = 0; t < tiles; t++) {
            int64_t of = p + t * AMX_LINES < end ? p + t * AMX_LINES : p;

            at[t] = image + of / line * v->step_y + of % line * v->step_x;
        }
        for (int64_t j = 0; j < v->out.n; j += AMX_SIDE, b += panel) {
            amx_conv_sums(v, narrow, &u, at, b);
            if (narrow)
                amx_store_column(&u, sums);
            else
                amx_store_block(&u, sums, AMX_SIDE);
            amx_windows_end(v, line, p, most < end ? most : end, j, row, sums);
        }
    }
    amx_give(&u);
}

static void amx_conv_y(const ls__conv *v, const void *image, int64_t first,
                       int64_t last)
{
    int64_t line = amx_line(v), end = (last - 1) * line + v->w;

    if (v->out.n <= 16)
        amx_conv_places(v, true, image, first * line, end);
    else
        amx_conv_places(v, false, image, first * line, end);
}

#endif
