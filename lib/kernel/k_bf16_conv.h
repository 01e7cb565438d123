/* SPDX-License-Identifier: BSD-3-Clause */
/* Convolutions of images rounded to bf16, the matrix of patches never written.
 *
 * The orders of K (the contract of bits): in y, and in dx, which is y of dy
 * under the rotated weights, each row of the window is (pixel, channel) and
 * filled up with zeros to whole steps, the rows one after the other.
 *
 * In dw and dbias K is the output pixels in blocks of two by two: each two rows
 * of blocks, left to right, filled up to whole steps of eight blocks.  Of each
 * two blocks one has the even places of K and the other the odd ones, its
 * pixels by rows, so that a block is within one chain.  Under a 2x2 max pooling
 * three of the four pixels have no gradient, and k_bf16_conv_pooled_dw.h is the
 * same chains without them. */
#ifndef LS_KERNEL_K_BF16_CONV_H
#define LS_KERNEL_K_BF16_CONV_H

#include "base/assert.h"
#include "kernel/k_bf16_conv_pooled_dw.h"
#include "kernel/k_bf16_tile.h"
#include "kernel/k_conv.h"
#include "kernel/k_panels.h"

/* ------ weights in panels ------ */

static int64_t bf16_conv_packed_size(const ls__conv_weights *of)
{
    int64_t c = of->rotated ? of->out : of->in;
    int64_t n = of->rotated ? of->in : of->out;

    return packed_size(of->kh * words(of->kw * c), n);
}

/* The lines of row ky of the window: in the rotated operand its taps go
 * backwards. */
static source window_lines(const ls__conv_weights *of, int64_t ky,
                          const float *w)
{
    int64_t tap = of->in * of->out, row = of->kw * tap;
    source l = source_of(of->kw * of->in, of->out, w + ky * row, of->out, 1);

    if (of->rotated) {
        l = source_of(of->kw * of->out, of->in,
                      w + (of->kh - ky) * row - tap, 1, of->out);
        l.group = of->out;
        l.next = -tap;
    }
    return l;
}

static void bf16_conv_pack(const ls__conv_weights *of, const float *w,
                           void *packed)
{
    int64_t n = of->rotated ? of->in : of->out;
    uint32_t *to = packed;

    for (int64_t j = 0; j < n; j += COLUMNS)
        for (int64_t ky = 0; ky < of->kh; ky++) {
            source l = window_lines(of, ky, w);

            pack_lines(&l, j, COLUMNS, to, COLUMNS);
            to += words(l.k) * COLUMNS;
        }
}

/* ------ the image in words ------ */

/* A word at the place of each number, of it and the one `apart` on. */
static void image_copy(const ls__conv *v, int64_t apart, uint32_t *out)
{
    int64_t n = image_size(v), all = image_words(v), i = 0;
    const float *x = v->x;

    for (; i + apart + 16 <= n; i += 16)
        w16_store(out + i,
                  words_across(v16_load(x + i), v16_load(x + i + apart)));
    for (; i < all; i += 16)
        w16_store(out + i,
                  words_across(take_any(x + i, n - i),
                               take_any(x + i + apart, n - i - apart)));
}

static const void *bf16_conv_image(const ls__conv *v, float *scratch)
{
    uint32_t *out = (uint32_t *)(void *)scratch;

    if (is_paired(v))
        return v->x;
    image_copy(v, 2, out);
    return out;
}

/* A word at the place of each number, of it and the one a pixel on. */
static void image_of_pixels(const ls__conv *v, uint32_t *out)
{
    if (is_paired(v))
        words_of_paired(image_words(v), v->step_x,
                        (const uint16_t *)(const void *)v->x, out);
    else
        image_copy(v, v->step_x, out);
}

/* ------ y ------ */

/* Outputs x .. x+rows of output row y, `vecs` vectors of channels from j
 * on. */
SIMD void bf16_conv_tile(const ls__conv *v, int rows, int vecs,
                         const word_places *at, const uint32_t *image,
                         int64_t i, int64_t j)
{
    float room[NARROW_ROWS * COLUMNS] __attribute__((aligned(64)));
    int64_t n = words(v->run), runs = v->kh * v->kx;
    const uint32_t *b = (const uint32_t *)v->out.packed + j * runs * n;
    tile_sums sum;

    sums_begin(rows, NULL, 0, 0, sum);
    for (int64_t run = 0; run < runs; run++, b += n * COLUMNS) {
        conv_ahead(v);
        if (!conv_skips(v, run))
            chain_steps(rows, vecs, vecs < VECS ? LINKS_NEAR : NONE_NEAR,
                        filled_words(v->run),
                        image + run / v->kx * v->row + run % v->kx * v->col,
                        at, b, sum);
    }
    tile_end(&v->out, rows, vecs, i, j, sum, room);
}

static void bf16_conv_tile_of(const ls__conv *v, int rows, bool narrow,
                              const word_places *at, const uint32_t *image,
                              int64_t i, int64_t j)
{
#define TILE(rows, vecs) bf16_conv_tile(v, rows, vecs, at, image, i, j)
    WITH_TILE(rows, CHAIN_CASES, narrow, NARROW_CASES)
#undef TILE
}

/* Outputs of row y, channels from j on. */
static void bf16_conv_row(const ls__conv *v, const word_places *at,
                          const uint32_t *image, int64_t y, int64_t j)
{
    bool narrow = is_narrow(v->out.n - j);

    for (int64_t x = 0, rows; x < v->w; x += rows, image += rows * v->step_x) {
        rows = tile_height(v->w - x, narrow ? NARROW_ROWS : CHAIN_ROWS);
        bf16_conv_tile_of(v, (int)rows, narrow, at, image, y * v->w + x, j);
    }
}

static void bf16_conv(const ls__conv *v, const void *image, int64_t first,
                      int64_t last)
{
    int64_t each = is_paired(v) ? PER_WORD : 1; /* numbers from word to word */
    word_places at = {.row = v->step_x / each, .step = LS__BF16_STEP / each};
    ls__conv of = *v;

    LS__ASSERT(v->images == 1);
    LS__ASSERT(!v->zeros || (v->run % LS__BF16_STEP == 0 &&
                             v->kh * v->kx <= 64));
    of.row /= each;
    of.col /= each;
    of.step_x /= each;
    of.step_y /= each;
    for (int64_t q = 0; q < STEP_WORDS; q++)
        at.word[q] = each == 1 ? first_of(q) : q;
    for (int64_t y = first; y < last; y++)
        for (int64_t j = 0; j < v->out.n; j += COLUMNS)
            bf16_conv_row(&of, &at, (const uint32_t *)image + y * of.step_y, y,
                          j);
}

/* ------ dw and dbias ------ */

enum { BLOCK_WORDS = 4 / PER_WORD };

/* Words of two rows of pixels: of whole pairs of blocks. */
static int64_t pixel_words(const ls__conv *v)
{
    return (v->w + 3) / 4 * 2 * BLOCK_WORDS;
}

/* The pixel of word q of two rows, or its first. */
SIMD void pixel_of(int64_t q, int64_t *y, int64_t *x)
{
    int64_t two = q / (2 * BLOCK_WORDS), rest = q % (2 * BLOCK_WORDS);
    int64_t pixel = rest / 2 * PER_WORD;

    *y = pixel / 2;
    *x = 4 * two + 2 * (rest % 2) + pixel % 2;
}

/* A vector of dy's channels from j on, +0 where there is none. */
SIMD v16 dy_vector(const ls__conv *v, int64_t y, int64_t x, int64_t j)
{
    bool there = y < v->h && x < v->w;

    return take_any(v->out.b + (y * v->w + x) * v->out.n + j,
                    there ? v->out.n - j : 0);
}

/* Two rows of pixels from y on, channels from j on, as lines of B. */
static void dy_lines(const ls__conv *v, int64_t y, int64_t j, uint32_t *out)
{
    int64_t n = pixel_words(v), i, x;

    for (int64_t q = 0; q < n; q++, out += COLUMNS) {
        pixel_of(q, &i, &x);
        for (int64_t c = 0; c < COLUMNS; c += 16)
            w16_store(out + c, words_across(dy_vector(v, y + i, x, j + c),
                                            dy_vector(v, y + i, x + 1, j + c)));
    }
}

/* Rows of blocks that are worked on at a time, their dy being near; this shows
 * in no bit. */
static int64_t near_rows(const ls__conv *v)
{
    return v->w < LS__CHUNK / 2 ? LS__CHUNK / 2 / v->w : 1;
}

/* Rows of blocks from y on, of a panel of dy. */
typedef struct dy_panel {
    const uint32_t *image; /* at the window of pixel (y,0) */
    word_places at;
    const uint32_t *b;
    int64_t rows, j;
    bool add;
} dy_panel;

/* Sums of `rows` rows of numbers m apart in the image, into c. */
SIMD void dw_tile(const ls__conv *v, int rows, int vecs, const dy_panel *q,
                  const uint32_t *image, int64_t next, float *c)
{
    int64_t n = pixel_words(v), left = v->out.n - q->j;
    const uint32_t *b = q->b;
    words_near near = rows % 2 ? NONE_NEAR : ROWS_NEAR;
    tile_sums sum;

    sums_begin(rows, q->add ? c : NULL, v->out.n, left, sum);
    rows_turn(rows, vecs, near, false, sum);
    for (int64_t y = 0; y < q->rows; y++, image += next, b += n * COLUMNS) {
        conv_ahead(v);
        chain_steps(rows, vecs, near, n, image, &q->at, b, sum);
    }
    rows_turn(rows, vecs, near, true, sum);
    tile_plus_zero(rows, sum);
    tile_put(rows, c, v->out.n, left, sum);
}

static void dw_tile_of(const ls__conv *v, int rows, bool narrow,
                       const dy_panel *q, const uint32_t *image, float *c)
{
#define TILE(rows, vecs) dw_tile(v, rows, vecs, q, image, 2 * v->step_y, c)
    WITH_TILE(rows, CHAIN_CASES, narrow, NARROW_CASES)
#undef TILE
}

/* One run of dw, from its first number in the image. */
static void dw_run(const ls__conv *v, const dy_panel *q, const uint32_t *image,
                   float *c)
{
    bool narrow = is_narrow(v->out.n - q->j);

    for (int64_t m = 0, rows; m < v->run; m += rows) {
        rows = tile_height(v->run - m, narrow ? NARROW_ROWS : CHAIN_ROWS);
        dw_tile_of(v, (int)rows, narrow, q, image + m, c + m * v->out.n);
    }
}

/* dw of all windows' numbers, dbias of a window that sees a 1. */
static void dw_panel(const ls__conv *v, const dy_panel *q, float *dbias)
{
    static const uint32_t one = PER_WORD == 2 ? 0x3f803f80 : 0x3f800000;
    dy_panel ones = {.b = q->b, .rows = q->rows, .j = q->j, .add = q->add};

    for (int64_t ky = 0; ky < v->kh; ky++)
        dw_run(v, q, q->image + ky * v->row,
               v->out.c + ky * v->run * v->out.n + q->j);
    if (dbias)
        dw_tile(v, 1, VECS, &ones, &one, 0, dbias + q->j);
}

static void bf16_conv_grad(const ls__conv *v, float *dbias, float *scratch)
{
    uint32_t *image = (uint32_t *)(void *)scratch, *b = image + image_words(v);
    dy_panel q = {.b = b, .at = {.row = 1, .step = 16 * v->step_x},
                  .add = v->out.accumulate};
    int64_t rows = near_rows(v), all = (v->h + 1) / 2;

    image_of_pixels(v, image);
    for (int64_t i = 0; i < STEP_WORDS; i++) {
        int64_t y, x;

        pixel_of(i, &y, &x);
        q.at.word[i] = y * v->step_y + x * v->step_x;
    }
    for (int64_t y = 0; y < all; y += rows, q.add = true) {
        q.image = image + 2 * y * v->step_y;
        q.rows = all - y < rows ? all - y : rows;
        for (q.j = 0; q.j < v->out.n; q.j += COLUMNS) {
            for (int64_t i = 0; i < q.rows; i++)
                dy_lines(v, 2 * (y + i), q.j, b + i * pixel_words(v) * COLUMNS);
            dw_panel(v, &q, dbias);
        }
    }
}

/* Copies of the image and of what is near of dy; or what is under a pooling. */
static int64_t bf16_conv_scratch(const ls__conv *v)
{
    return ls__most(image_words(v) + near_rows(v) * pixel_words(v) * COLUMNS,
                    bf16_pooled_scratch(v));
}

static const ls__convs bf16_convs = {
    PAIRED_IMAGES .skips = true, .image = bf16_conv_image, .y = bf16_conv,
    .dw = bf16_conv_grad, .dw_pooled = bf16_conv_grad_pooled,
    .scratch = bf16_conv_scratch, .packed_size = bf16_conv_packed_size,
    .pack = bf16_conv_pack};

#endif
