/* SPDX-License-Identifier: BSD-3-Clause */
/* Weight gradients of convolutions by a matrix unit, in the order of
 * k_bf16_conv.h: a step of K is two rows of 16 output pixels, in blocks of two
 * by two; of two blocks the left one is in the even places, the right one in
 * the odd ones.  A word is therefore a pixel and the one two columns on.
 *
 * dw is transposed: t (n, kh, run up to whole vectors) is dy^T times the matrix
 * of patches.  A line of the right operand is 16 numbers of the runs of one
 * pixel, each beside that of two columns on: a copy of the image has such
 * words, so a line stands there as it is, and 16 are gathered at a time.  The
 * lines of dy have 16 channels of a step along them, and are transposed; under
 * a 2x2 max pooling they are made from the pooling's own dy and its argmax. */
#ifndef LS_KERNEL_K_AMX_CONV_GRAD_H
#define LS_KERNEL_K_AMX_CONV_GRAD_H

#include "kernel/k_amx_conv.h"

/* Steps that are worked on at a time, their operands being near; this shows in
 * no bit. */
enum { NEAR_STEPS = 32 };

/* ------ steps ------ */

static int64_t row_steps(const ls__conv *v)
{
    return (v->w + AMX_LINES - 1) / AMX_LINES;
}

static int64_t all_steps(const ls__conv *v)
{
    return (v->h + 1) / 2 * row_steps(v);
}

/* The first pixel of a step. */
SIMD void step_pixel(const ls__conv *v, int64_t step, int64_t *y, int64_t *x)
{
    *y = step / row_steps(v) * 2;
    *x = step % row_steps(v) * AMX_LINES;
}

/* ------ the image in words ------ */

/* The image with what lines read beyond it, where dy is zero. */
static int64_t pair_words(const ls__conv *v)
{
    return whole_vectors(image_size(v) + v->step_y +
                         (AMX_LINES + 2) * v->step_x + AMX_LINES);
}

/* A word at the place of each number, of it and the one two windows on. */
static void pair_image(const ls__conv *v, uint32_t *out)
{
    const uint16_t *x = (const uint16_t *)(const void *)v->x;
    int64_t all = pair_words(v), apart = 2 * v->step_x;

    for (int64_t i = 0; i < all; i += 16)
        w16_store(out + i, w16_or(amx_halves(x + i),
                                  w16_shl(amx_halves(x + i + apart), 16)));
}

/* Flat vector f of the patches: 16 numbers of a run. */
static int64_t patch_vectors(const ls__conv *v)
{
    return v->kh * (whole_vectors(v->run) / 16);
}

static int64_t patch_offset(const ls__conv *v, int64_t f)
{
    int64_t vectors = whole_vectors(v->run) / 16;

    return f / vectors * v->row + f % vectors * 16;
}

/* Lines of one step of a vector of the patches as a tile. */
SIMD void patch_tile(const ls__conv *v, const uint32_t *at, uint32_t *out)
{
    UNROLL(4)
    for (int64_t two = 0; two < 4; two++, at += 4 * v->step_x, out += 64) {
        w16_store(out, w16_load(at));
        w16_store(out + 16, w16_load(at + v->step_x));
        w16_store(out + 32, w16_load(at + v->step_y));
        w16_store(out + 48, w16_load(at + v->step_y + v->step_x));
    }
}

/* `tiles` vectors of the patches from f on, steps from .. from+count; what is
 * not there is the last one again. */
SIMD void patch_columns(const ls__conv *v, const uint32_t *image, int64_t f,
                        int64_t tiles, int64_t from, int64_t count,
                        uint32_t *out)
{
    int64_t last = patch_vectors(v) - 1, offset[4], y, x;

    for (int64_t t = 0; t < tiles; t++)
        offset[t] = patch_offset(v, f + t < last ? f + t : last);
    for (int64_t s = from; s < from + count; s++) {
        step_pixel(v, s, &y, &x);
        for (int64_t t = 0; t < tiles; t++, out += AMX_TILE)
            patch_tile(v, image + y * v->step_y + x * v->step_x + offset[t],
                       out);
    }
}

/* ------ dy ------ */

/* Words of dy: of the four pixels of a block at (y,x), and of the block to its
 * right, 16 channels from j on. */
SIMD void dy_words(const ls__conv *v, int64_t y, int64_t x, int64_t j,
                   w16 out[4])
{
    UNROLL(4)
    for (int64_t b = 0; b < 4; b++) {
        v16 left = dy_vector(v, y + b / 2, x + b % 2, j);
        v16 right = dy_vector(v, y + b / 2, x + b % 2 + 2, j);

        out[b] = words_beside(left, right);
    }
}

/* dy and the numbers of a block of the pooling; a number that no pixel has
 * where there is none. */
SIMD void pooled_block(const ls__pooled_dy *d, int64_t i, int64_t k, int64_t j,
                       v16 *dy, v16 *number)
{
    bool there = i < d->pooling->h && k < d->pooling->w;
    int64_t n = d->pooling->c, at = (i * d->pooling->w + k) * n + j;

    *dy = take_any(d->dy + at, there ? n - j : 0);
    *number = there ? take_any(d->number + at, n - j) : v16_set(-1);
}

SIMD void pooled_words(const ls__pooled_dy *d, int64_t y, int64_t x, int64_t j,
                       w16 out[4])
{
    v16 dy[2], number[2];

    pooled_block(d, y / 2, x / 2, j, &dy[0], &number[0]);
    pooled_block(d, y / 2, x / 2 + 1, j, &dy[1], &number[1]);
    UNROLL(4)
    for (int b = 0; b < 4; b++) {
        v16 pixel = v16_set((float)b), left, right;

        left = v16_select(v16_eq(number[0], pixel), dy[0], v16_zero());
        right = v16_select(v16_eq(number[1], pixel), dy[1], v16_zero());
        out[b] = words_beside(left, right);
    }
}

/* bias + the sums of a step: of the even and of the odd numbers. */
SIMD v16 bias_step(const v16 words[AMX_LINES], v16 bias)
{
    const w16 upper = w16_set(0xffff0000u);
    v16 even = v16_zero(), odd = v16_zero();

    UNROLL(16)
    for (int q = 0; q < AMX_LINES; q++) {
        w16 w = v16_bits(words[q]);

        even = v16_add(even, v16_of_bits(w16_shl(w, 16)));
        odd = v16_add(odd, v16_of_bits(w16_and(w, upper)));
    }
    return v16_add(bias, v16_add(even, odd));
}

/* Channels j .. j+16, steps from .. from+count, as tiles of dy^T; bias += their
 * sums.  d: the pooling's, or NULL. */
SIMD v16 dy_tiles(const ls__conv *v, const ls__pooled_dy *d, int64_t j,
                  int64_t from, int64_t count, v16 bias, uint32_t *out)
{
    int64_t y, x;

    for (int64_t s = from; s < from + count; s++, out += 2 * AMX_TILE) {
        v16 line[AMX_LINES];
        w16 four[4];

        conv_ahead(v);
        step_pixel(v, s, &y, &x);
        UNROLL(4)
        for (int two = 0; two < 4; two++) {
            if (d)
                pooled_words(d, y, x + 4 * two, j, four);
            else
                dy_words(v, y, x + 4 * two, j, four);
            UNROLL(4)
            for (int b = 0; b < 4; b++)
                line[4 * two + b] = v16_of_bits(four[b]);
        }
        bias = bias_step(line, bias);
        v16_transpose(line);
        UNROLL(16)
        for (int l = 0; l < AMX_LINES; l++)
            w16_store(out + 16 * l, v16_bits(line[l]));
    }
    return bias;
}

/* One tile has all channels of dy: four of patches go past it at a time. */
SIMD bool is_one_tile(const ls__conv *v)
{
    return v->out.n <= 16;
}

/* All channels, panels of 32 after each other; zeros fill the last one up. */
SIMD void dy_panels(const ls__conv *v, const ls__pooled_dy *d, int64_t from,
                    int64_t count, bool add, float *dbias, uint32_t *out)
{
    int64_t n = v->out.n, panel = count * 2 * AMX_TILE;

    for (int64_t j = 0; j < (is_one_tile(v) ? 16 : up_to_side(n)); j += 16) {
        uint32_t *to = out + j / AMX_SIDE * panel + j % AMX_SIDE * 16;
        v16 bias = add && dbias ? take_any(dbias + j, n - j) : v16_zero();

        bias = dy_tiles(v, d, j, from, count, bias, to);
        if (dbias && j < n)
            put(dbias + j, v16_add(bias, v16_zero()), n - j);
    }
}

/* ------ the product ------ */

/* A tile of t from row i and column j on, as it stands there; or, where t ends
 * before it, a copy. */
typedef struct sum_tile {
    float *at, *c;
    int64_t row, rows;
    float copy[AMX_TILE] __attribute__((aligned(64)));
} sum_tile;

SIMD void sum_tile_begin(const ls__product *t, int64_t i, int64_t j,
                         sum_tile *of)
{
    int64_t rows = j >= t->n || i >= t->m ? 0 : t->m - i;

    of->c = t->c + i * t->c_row + j;
    of->rows = rows < AMX_LINES ? rows : AMX_LINES;
    of->at = of->rows == AMX_LINES ? of->c : of->copy;
    of->row = of->rows == AMX_LINES ? t->c_row : 16;
    for (int64_t r = 0; r < AMX_LINES && of->at == of->copy; r++)
        v16_store(of->copy + 16 * r, r < of->rows
                                         ? v16_load(of->c + r * t->c_row)
                                         : v16_zero());
}

SIMD void sum_tile_end(const ls__product *t, const sum_tile *of)
{
    for (int64_t r = 0; r < of->rows && of->at == of->copy; r++)
        v16_store(of->c + r * t->c_row, v16_load(of->copy + 16 * r));
}

/* Steps of one tile of A and four of B. */
AMX void amx_flat_steps(amx_tiles *u, int64_t n, const uint32_t *a,
                        const uint32_t *b)
{
    for (int64_t s = 0; s < n; s++, a += 2 * AMX_TILE, b += 4 * AMX_TILE) {
        amx_operand(u, 4, a, 16);
        amx_operand(u, 5, b, 16);
        amx_operand(u, 6, b + AMX_TILE, 16);
        amx_operand(u, 7, b + 2 * AMX_TILE, 16);
        amx_multiply(u, 0, 4, 5);
        amx_operand(u, 5, b + 3 * AMX_TILE, 16);
        amx_multiply(u, 1, 4, 6);
        amx_multiply(u, 2, 4, 7);
        amx_multiply(u, 3, 4, 5);
    }
}

/* Four tiles of t from (i,j) on, side by side where `flat`, += count steps. */
AMX void transposed_block(const ls__product *t, bool flat, amx_tiles *u,
                          int64_t i, int64_t j, int64_t count,
                          const uint32_t *a, const uint32_t *b)
{
    sum_tile of[4];

    for (int q = 0; q < 4; q++)
        sum_tile_begin(t, flat ? i : i + q / 2 * 16,
                       flat ? j + 16 * q : j + q % 2 * 16, &of[q]);
    AMX_READS;
    amx_load(u, 0, of[0].at, of[0].row);
    amx_load(u, 1, of[1].at, of[1].row);
    amx_load(u, 2, of[2].at, of[2].row);
    amx_load(u, 3, of[3].at, of[3].row);
    if (flat)
        amx_flat_steps(u, count, a, b);
    else
        amx_steps(1, u, count, a, b, &(rows_ahead){.left = 0});
    amx_store(u, 0, of[0].at, of[0].row);
    amx_store(u, 1, of[1].at, of[1].row);
    amx_store(u, 2, of[2].at, of[2].row);
    amx_store(u, 3, of[3].at, of[3].row);
    for (int q = 0; q < 4; q++)
        sum_tile_end(t, &of[q]);
}

/* Words of scratch beside the image: vectors of patches, and dy. */
static int64_t amx_grad_words(const ls__conv *v)
{
    int64_t most = all_steps(v) < NEAR_STEPS ? all_steps(v) : NEAR_STEPS;
    int64_t patches = is_one_tile(v) ? 2 : 1;

    return (patches + up_to_side(v->out.n) / AMX_SIDE) * most * 2 * AMX_TILE;
}

static int64_t amx_conv_scratch(const ls__conv *v)
{
    return pair_words(v) + amx_grad_words(v);
}

/* `count` steps from s on; dy and patches in room. */
AMX void amx_near_steps(const ls__conv *v, const ls__product *t, bool flat,
                        amx_tiles *u, int64_t s, int64_t count,
                        const uint32_t *image, uint32_t *room)
{
    const int64_t tiles = flat ? 4 : 2, panel = count * 2 * AMX_TILE;
    uint32_t *patches = room + up_to_side(v->out.n) / AMX_SIDE * panel;

    for (int64_t f = 0; f < patch_vectors(v); f += tiles) {
        patch_columns(v, image, f, tiles, s, count, patches);
        for (int64_t i = 0; i < t->m; i += AMX_SIDE)
            transposed_block(t, flat, u, i, 16 * f, count,
                             room + i / AMX_SIDE * panel, patches);
    }
}

SIMD void amx_conv_grad_of(const ls__conv *v, const ls__pooled_dy *d, float *t,
                            float *dbias, float *scratch)
{
    int64_t vectors = patch_vectors(v), all = all_steps(v), count;
    uint32_t *image = (uint32_t *)(void *)scratch, *b = image + pair_words(v);
    const ls__product of = {
        .m = v->out.n, .n = vectors * 16, .c = t, .c_row = vectors * 16};
    amx_tiles u;

    pair_image(v, image);
    amx_take(&u);
    for (int64_t s = 0; s < all; s += count) {
        count = all - s < NEAR_STEPS ? all - s : NEAR_STEPS;
        dy_panels(v, d, s, count, v->out.accumulate || s > 0, dbias, b);
        if (is_one_tile(v))
            amx_near_steps(v, &of, true, &u, s, count, image, b);
        else
            amx_near_steps(v, &of, false, &u, s, count, image, b);
    }
    amx_give(&u);
}

static void amx_conv_grad(const ls__conv *v, float *dbias, float *scratch)
{
    amx_conv_grad_of(v, NULL, v->out.c, dbias, scratch);
}

static void amx_conv_grad_pooled(const ls__conv *v, const ls__pooled_dy *d,
                                  float *t, float *dbias, float *scratch)
{
    amx_conv_grad_of(v, d, t, dbias, scratch);
}

static const ls__convs amx_convs = {
    .transposed = true, .round = amx_round, .image_size = amx_image_size,
    .y = amx_conv_y,
    .dw = amx_conv_grad, .dw_pooled = amx_conv_grad_pooled,
    .scratch = amx_conv_scratch, .packed_size = amx_conv_packed_size,
    .pack = amx_conv_pack};

#endif
