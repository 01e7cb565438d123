/* dx of a convolution of numbers rounded to bf16 under a folded 2x2 max
 * pooling.
 *
 * Of each block of two by two pixels of dy, one a channel is not zero at most.
 * So a step of K, 32 channels of a pixel, has about eight numbers: 32 bits say
 * which channels the pixel has.  Its two chains are summed under the taps of
 * one row of the window at once, without the zeros, and each tap's sum is added
 * to the pixel of dx that sees the step there.  Pixels of dy come by rows of
 * the window and in a row from left to right, so each pixel of dx adds its
 * steps in rising k.
 *
 * The chains are those of k_bf16_conv.h without their zeros, so the bits are
 * the same but where zero meets what is not finite. */
#ifndef LS_KERNEL_K_BF16_CONV_POOLED_DX_H
#define LS_KERNEL_K_BF16_CONV_POOLED_DX_H

#include "base/least.h"
#include "kernel/k_bf16_tile.h"
#include "kernel/k_conv_pooled_dx.h"

enum {
    STEP_TAPS = 3,                 /* at once */
    STEP_ROOM = LS__BF16_STEP + 1, /* its numbers, and a zero */
    STEP_EVENS = 0x55555555        /* bits of its even channels */
};

/* Where it works: all of it in scratch. */
typedef struct conv_steps {
    int64_t n, cols;   /* steps of a pixel, pixels of a row of the image */
    int64_t top, left; /* the first block that the image has pixels of */
    float *value;  /* (blocks from there on,n,STEP_ROOM): dy, rounded */
    uint32_t *has; /* (rows,cols,n): which channels are this pixel's */
    float *weight; /* (kh run,COLUMNS): a panel */
    float *sum;    /* (rows of a band,conv_sum_cols,COLUMNS) */
} conv_steps;

/* Pixels of a row of dx, and those before and behind it that see a part of
 * their window. */
static int64_t conv_sum_cols(const ls__conv *v)
{
    return v->row / v->c + v->run / v->c - 1;
}

/* Rows, or columns, of blocks that an image of so many pixels has a part of. */
static int64_t conv_blocks_most(int64_t pixels)
{
    return pixels / 2 + 1;
}

static int64_t conv_value_floats(const ls__conv *v)
{
    return whole_vectors(conv_blocks_most(conv_frame_rows(v)) *
                         conv_blocks_most(v->row / v->c) *
                         (v->c / LS__BF16_STEP) * STEP_ROOM);
}

static int64_t conv_panel_floats(const ls__conv *v)
{
    return PER_WORD == 1 ? 0 : v->kh * v->run * COLUMNS;
}

/* 0 where a step has channels of two pixels. */
static int64_t conv_steps_scratch(const ls__conv *v)
{
    int64_t n = v->c / LS__BF16_STEP;

    if (v->c % LS__BF16_STEP)
        return 0;
    return conv_panel_floats(v) +
           conv_band_rows(v) * conv_sum_cols(v) * COLUMNS +
           conv_value_floats(v) +
           conv_frame_rows(v) * (v->row / v->c) * n;
}

static conv_steps conv_steps_in(const ls__conv *v, const ls__pooled_dy *d,
                                float *scratch)
{
    conv_steps l = {.n = v->c / LS__BF16_STEP, .cols = v->row / v->c,
                    .top = ls__most(0, -d->top / 2),
                    .left = ls__most(0, -d->left / 2)};

    l.weight = scratch;
    l.sum = l.weight + conv_panel_floats(v);
    l.value = l.sum + conv_band_rows(v) * conv_sum_cols(v) * COLUMNS;
    l.has = (uint32_t *)(void *)(l.value + conv_value_floats(v));
    return l;
}

/* ------ which channels ------ */

/* The values of block (i,j) of the pooling. */
SIMD float *conv_steps_value(const conv_steps *l, int64_t i, int64_t j)
{
    int64_t block = (i - l->top) * conv_blocks_most(l->cols) + j - l->left;

    return l->value + block * l->n * STEP_ROOM;
}

static void conv_steps_round_block(const conv_steps *l, const float *dy,
                                   float *to)
{
    for (int64_t s = 0; s < l->n; s++, dy += LS__BF16_STEP, to += STEP_ROOM) {
        for (int64_t c = 0; c < LS__BF16_STEP; c += 16)
            v16_store(to + c, operand_of(v16_load(dy + c)));
        to[LS__BF16_STEP] = 0;
    }
}

static void conv_steps_round(const ls__conv *v, const ls__pooled_dy *d,
                             const conv_steps *l)
{
    const ls__pooling *p = d->pooling;
    int64_t h = l->top + conv_blocks_most(conv_frame_rows(v));
    int64_t w = l->left + conv_blocks_most(l->cols);

    for (int64_t i = l->top; i < p->h && i < h; i++)
        for (int64_t j = l->left; j < p->w && j < w; j++)
            conv_steps_round_block(
                l, d->dy + (i * p->w + j) * l->n * LS__BF16_STEP,
                conv_steps_value(l, i, j));
}

/* Of the 16 numbers at `value`, those that are not zero and that the pooling
 * took from place `place` of a block. */
SIMD uint32_t conv_steps_half(const float *value, const float *number,
                              int place)
{
    m16 zero = v16_eq(v16_load(value), v16_zero());
    m16 here = v16_eq(v16_load(number), v16_set((float)place));

    return m16_word(m16_and(here, m16_not(zero)));
}

/* Of pixel (i,j) of dy, which may be none. */
static void conv_steps_pixel(const conv_steps *l, const ls__pooled_dy *d,
                             int64_t i, int64_t j, uint32_t *has)
{
    const ls__pooling *p = d->pooling;
    const float *value, *number;
    int place = (int)(i % 2 * 2 + j % 2);

    memset(has, 0, (size_t)l->n * sizeof *has);
    if (i < 0 || j < 0 || i / 2 >= p->h || j / 2 >= p->w)
        return;
    value = conv_steps_value(l, i / 2, j / 2);
    number = d->number + (i / 2 * p->w + j / 2) * l->n * LS__BF16_STEP;
    for (int64_t s = 0; s < l->n; s++, value += STEP_ROOM) {
        has[s] = conv_steps_half(value, number, place) |
                 conv_steps_half(value + 16, number + 16, place) << 16;
        number += LS__BF16_STEP;
    }
}

static void conv_steps_collect(const ls__conv *v, const ls__pooled_dy *d,
                               const conv_steps *l)
{
    uint32_t *has = l->has;

    conv_steps_round(v, d, l);
    for (int64_t r = 0; r < conv_frame_rows(v); r++)
        for (int64_t q = 0; q < l->cols; q++, has += l->n)
            conv_steps_pixel(l, d, r - d->top, q - d->left, has);
}

/* ------ weights ------ */

/* A packed panel as floats, line by line. */
static const float *conv_steps_weights(const ls__conv *v, const float *packed,
                                       float *to)
{
#if defined(PAIRS)
    const uint32_t *word = (const uint32_t *)(const void *)packed;

    for (int64_t q = 0; q < v->kh * v->run / 2; q++, word += COLUMNS)
        for (int64_t s = 0; s < COLUMNS; s += 16) {
            float *line = to + first_of(q) * COLUMNS + s;
            w16 two = w16_load(word + s), upper = w16_set(0xffff0000u);

            v16_store(line, v16_of_bits(w16_and(two, upper)));
            v16_store(line + 2 * COLUMNS, v16_of_bits(w16_shl(two, 16)));
        }
    return to;
#else
    (void)v;
    (void)to;
    return packed;
#endif
}

/* ------ sums ------ */

/* A step of a pixel: its numbers, and its lines under a tap of the window; the
 * next tap's are `tap` floats on. */
typedef struct conv_step {
    uint32_t has;
    const float *value, *line;
    int64_t tap;
} conv_step;

/* acc += the number of the first channel of `left`, or zero, times its lines */
SIMD void conv_step_link(int taps, const conv_step *p, uint32_t left,
                         v16 (*acc)[VECS])
{
    int64_t c = __builtin_ctzll(left | 1ull << LS__BF16_STEP);
    const float *line = p->line + c % LS__BF16_STEP * COLUMNS;
    v16 d = v16_set(p->value[c]);

    UNROLL(3)
    for (int t = 0; t < taps; t++)
        UNROLL(2)
        for (int s = 0; s < VECS; s++)
            acc[t][s] = bf16_fma(d, v16_load(line + t * p->tap + 16 * s),
                                 acc[t][s]);
}

/* Under a tap and the next ones; the sums of the next lie to the left. */
SIMD void conv_step_sum(int taps, const conv_step *p, float *sum)
{
    uint32_t evens = p->has & STEP_EVENS, odds = p->has ^ evens;
    v16 even[STEP_TAPS][VECS], odd[STEP_TAPS][VECS];

    UNROLL(3)
    for (int t = 0; t < taps; t++)
        UNROLL(2)
        for (int s = 0; s < VECS; s++)
            even[t][s] = odd[t][s] = v16_zero();
    for (; evens | odds; evens &= evens - 1, odds &= odds - 1) {
        conv_step_link(taps, p, evens, even);
        conv_step_link(taps, p, odds, odd);
    }
    UNROLL(3)
    for (int t = 0; t < taps; t++)
        UNROLL(2)
        for (int s = 0; s < VECS; s++) {
            float *to = sum - t * COLUMNS + 16 * s;

            v16_store(to, v16_add(v16_load(to),
                                  v16_add(even[t][s], odd[t][s])));
        }
}

/* The same under all taps of a row of the window. */
SIMD void conv_step_taps(int64_t taps, conv_step p, float *sum)
{
#define CALL(n) conv_step_sum(n, &p, sum)
    for (int64_t t = 0; t < taps; t += STEP_TAPS) {
        WITH_CONSTANT(ls__least(taps - t, STEP_TAPS), CASES_3, CALL)
        p.line += STEP_TAPS * p.tap;
        sum -= STEP_TAPS * COLUMNS;
    }
#undef CALL
}

/* All that row r of the image gives under row ky of the window. */
static void conv_steps_row(const ls__conv *v, const ls__pooled_dy *d,
                           const conv_steps *l, const float *weight, int64_t r,
                           int64_t ky, float *sum)
{
    const uint32_t *has = l->has + r * l->cols * l->n;
    const float *line = weight + ky * v->run * COLUMNS;
    int64_t taps = v->run / v->c;

    sum += (taps - 1) * COLUMNS;
    for (int64_t q = 0; q < l->cols; q++, has += l->n, sum += COLUMNS)
        for (int64_t s = 0; s < l->n; s++) {
            conv_step p = {.has = has[s], .tap = v->c * COLUMNS};

            if (!p.has)
                continue;
            p.value = conv_steps_value(l, (r - d->top) / 2, (q - d->left) / 2) +
                      s * STEP_ROOM;
            p.line = line + s * LS__BF16_STEP * COLUMNS;
            conv_step_taps(taps, p, sum);
        }
}

/* Rows y .. y+rows of dx, columns from j on. */
static void conv_steps_band(const ls__conv *v, const ls__pooled_dy *d,
                            const conv_steps *l, const float *weight, int64_t y,
                            int64_t rows, int64_t j)
{
    int64_t cols = conv_sum_cols(v), before = v->run / v->c - 1;

    memset(l->sum, 0, (size_t)(rows * cols * COLUMNS) * sizeof *l->sum);
    for (int64_t ky = 0; ky < v->kh; ky++)
        for (int64_t i = 0; i < rows; i++)
            conv_steps_row(v, d, l, weight, y + i + ky, ky,
                           l->sum + i * cols * COLUMNS);
    for (int64_t i = 0; i < rows; i++)
        conv_dx_store(v, l->sum + (i * cols + before) * COLUMNS,
                      (y + i) * v->w, v->w, j);
}

static void bf16_conv_dx_pooled(const ls__conv *v, const ls__pooled_dy *d,
                                float *scratch)
{
    conv_steps l = conv_steps_in(v, d, scratch);
    int64_t band = conv_band_rows(v);

    conv_steps_collect(v, d, &l);
    for (int64_t j = 0; j < v->out.n; j += COLUMNS) {
        const float *packed = (const float *)v->out.packed +
                              j * (v->kh * v->run / PER_WORD);
        const float *weight = conv_steps_weights(v, packed, l.weight);

        for (int64_t y = 0; y < v->h; y += band)
            conv_steps_band(v, d, &l, weight, y, ls__least(band, v->h - y), j);
    }
}

#endif
