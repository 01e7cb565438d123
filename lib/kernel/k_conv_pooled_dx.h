/* SPDX-License-Identifier: BSD-3-Clause */
/* dx of a convolution under a folded 2x2 max pooling.
 *
 * Each block of two by two pixels of dy has at most one nonzero a channel.  So
 * a window of dx sees a sparse list of numbers in rising k, a quarter as long;
 * each multiplies a row of the packed weights.  There is one list for each row
 * of the image with its padding, pixel by pixel; a window's share of such a row
 * is a part of its list.
 *
 * K is cut into pieces, by rows of the window and by chunks of 256.  A piece is
 * summed for a band of pixels before the next, so that its weights stay in the
 * first cache.  The chains are those of k_conv.h without their zeros, so the
 * bits are the same but where zero meets what is not finite. */
#ifndef LS_KERNEL_K_CONV_POOLED_DX_H
#define LS_KERNEL_K_CONV_POOLED_DX_H

#include "base/assert.h"
#include "kernel/k_epilogue.h"

enum {
    AT_ONCE = 2,     /* pixels whose chains take turns */
    BAND_PIXELS = 64 /* or a row of dx */
};

/* Working memory, all of it in scratch. */
typedef struct conv_lists {
    int64_t n, cols; /* channels and pixels of a row of the image */
    float *value;    /* the nonzeros, */
    uint32_t *at;    /* and where its weights are in the panel of a window that
                        begins where the row does */
    uint32_t *start; /* (rows,cols + 1): where each pixel's numbers begin */
    float *total, *chain; /* (pixels of a band,COLUMNS) */
} conv_lists;

/* Rows of dx, and pixels, of a band. */
static int64_t conv_band_rows(const ls__conv *v)
{
    int64_t rows = BAND_PIXELS / v->w;

    return rows < 1 ? 1 : rows < v->h ? rows : v->h;
}

static int64_t conv_band_floats(const ls__conv *v)
{
    return conv_band_rows(v) * v->w * COLUMNS;
}

static int64_t conv_halo_rows(const ls__conv *v)
{
    return v->h + v->kh - 1;
}

/* A number for each channel of each block that may be in the image, and what a
 * store by 16 writes behind them. */
static int64_t conv_lists_most(const ls__conv *v)
{
    int64_t cols = v->row / v->c;

    return (conv_halo_rows(v) / 2 + 1) * (cols / 2 + 1) * v->c + 16;
}

/* 0 where places do not fit in a word. */
static int64_t conv_lists_scratch(const ls__conv *v)
{
    if (v->row > UINT32_MAX / COLUMNS || conv_lists_most(v) > UINT32_MAX)
        return 0;
    return 2 * (conv_band_floats(v) + conv_lists_most(v)) +
           conv_halo_rows(v) * (v->row / v->c + 1);
}

static conv_lists conv_lists_in(const ls__conv *v, float *scratch)
{
    conv_lists l = {.n = v->c, .cols = v->row / v->c};

    l.total = scratch;
    l.chain = l.total + conv_band_floats(v);
    l.value = l.chain + conv_band_floats(v);
    l.at = (uint32_t *)(void *)(l.value + conv_lists_most(v));
    l.start = l.at + conv_lists_most(v);
    return l;
}

/* ------ lists ------ */

/* List one pixel's channels that the pooling took from place `place` of a
 * block, from number `end` on.  Returns their end. */
SIMD uint32_t conv_lists_pixel(const conv_lists *l, const float *dy,
                               const float *number, int place, int64_t q,
                               uint32_t end)
{
    for (int64_t c = 0; c < l->n; c += 16) {
        int64_t left = l->n - c;
        m16 there = m16_of_word(first_lanes(left));
        m16 keep = m16_and(there, v16_eq(take(number + c, left),
                                         v16_set((float)place)));
        w16 k = w16_add(w16_iota(), w16_set((uint32_t)(q * l->n + c)));

        v16_store_kept(l->value + end, take(dy + c, left), keep);
        v16_store_kept((float *)(void *)(l->at + end),
                       v16_of_bits(w16_shl(k, __builtin_ctz(COLUMNS))), keep);
        end += (uint32_t)__builtin_popcount(m16_word(keep));
    }
    return end;
}

static void conv_lists_collect(const ls__conv *v, const ls__pooled_dy *d,
                               const conv_lists *l)
{
    const ls__pooling *p = d->pooling;
    uint32_t *start = l->start, end = 0;

    LS__ASSERT(conv_lists_scratch(v) > 0); /* places fit in a word */
    for (int64_t r = 0; r < conv_halo_rows(v); r++, *start++ = end)
        for (int64_t q = 0; q < l->cols; q++) {
            int64_t i = r - d->top, j = q - d->left;
            int64_t from = (i / 2 * p->w + j / 2) * l->n;

            *start++ = end;
            if (i >= 0 && j >= 0 && i / 2 < p->h && j / 2 < p->w)
                end = conv_lists_pixel(l, d->dy + from, d->number + from,
                                       (int)(i % 2 * 2 + j % 2), q, end);
        }
    LS__ASSERT(end + 16 <= conv_lists_most(v));
}

/* The place in row r's list of what is from channel c of pixel q on. */
SIMD uint32_t conv_lists_at(const conv_lists *l, int64_t r, int64_t q,
                            int64_t c)
{
    const uint32_t *start = l->start + r * (l->cols + 1) + q;
    uint32_t at = start[0], k = (uint32_t)(q * l->n + c) * COLUMNS;

    if (c > 0)
        while (at < start[1] && l->at[at] < k)
            at++;
    return at;
}

/* ------ sums ------ */

/* A piece of K: row ky of the window, from channel c0 of pixel q0 on to c1 of
 * q1. */
typedef struct conv_piece {
    int64_t ky, q0, c0, q1, c1;
    const float *b; /* the panel's weights of this row of the window */
    bool begins;    /* a chunk */
} conv_piece;

/* A pixel's part of a piece. */
typedef struct conv_part {
    const float *value;
    const uint32_t *at;
    uint32_t n;
    int64_t first; /* of its window's weights among those of the row */
} conv_part;

SIMD conv_part conv_part_of(const conv_lists *l, const conv_piece *p, int64_t y,
                            int64_t x)
{
    uint32_t e = conv_lists_at(l, y + p->ky, x + p->q0, p->c0);
    uint32_t end = conv_lists_at(l, y + p->ky, x + p->q1, p->c1);

    return (conv_part){l->value + e, l->at + e, end - e, x * l->n * COLUMNS};
}

/* acc += numbers e .. end of each pixel times their weights. */
SIMD void conv_part_sum(int pixels, const conv_part *part, uint32_t e,
                        uint32_t end, const float *b, v16 *acc)
{
    for (; e < end; e++)
        UNROLL(2)
        for (int i = 0; i < pixels; i++) {
            v16 d = v16_set(part[i].value[e]);
            const float *row = b + ((int64_t)part[i].at[e] - part[i].first);

            UNROLL(2)
            for (int s = 0; s < VECS; s++)
                acc[i * VECS + s] = v16_fma(d, v16_load(row + 16 * s),
                                            acc[i * VECS + s]);
        }
}

/* sum (+)= the piece, of pixels x .. x+pixels of row y: at once as far as the
 * shortest list goes, since a chain alone waits for itself. */
SIMD void conv_piece_sum(const conv_lists *l, const conv_piece *p, int pixels,
                         int64_t y, int64_t x, float *sum)
{
    conv_part part[AT_ONCE];
    v16 acc[AT_ONCE * VECS];
    uint32_t shortest = UINT32_MAX;

    UNROLL(2)
    for (int i = 0; i < pixels; i++) {
        part[i] = conv_part_of(l, p, y, x + i);
        shortest = part[i].n < shortest ? part[i].n : shortest;
    }
    UNROLL(4)
    for (int s = 0; s < pixels * VECS; s++)
        acc[s] = p->begins ? v16_zero() : v16_load(sum + 16 * s);
    conv_part_sum(pixels, part, 0, shortest, p->b, acc);
    UNROLL(2)
    for (int i = 0; i < pixels; i++)
        conv_part_sum(1, part + i, shortest, part[i].n, p->b, acc + i * VECS);
    UNROLL(4)
    for (int s = 0; s < pixels * VECS; s++)
        v16_store(sum + 16 * s, acc[s]);
}

static void conv_piece_row(const ls__conv *v, const conv_lists *l,
                           const conv_piece *p, int64_t y, float *sum)
{
    int64_t x = 0;

    for (; x + AT_ONCE <= v->w; x += AT_ONCE)
        conv_piece_sum(l, p, AT_ONCE, y, x, sum + x * COLUMNS);
    for (; x < v->w; x++)
        conv_piece_sum(l, p, 1, y, x, sum + x * COLUMNS);
}

/* Panel j of the piece that begins at step k of K, for rows y .. y+rows of a
 * band; how long the piece is. */
static int64_t conv_piece_band(const ls__conv *v, const conv_lists *l,
                               int64_t k, int64_t j, int64_t y, int64_t rows)
{
    int64_t ky = k / v->run, from = k % v->run, size = rows * v->w * COLUMNS;
    int64_t left = LS__CHUNK - k % LS__CHUNK;
    int64_t to = v->run - from < left ? v->run : from + left;
    const float *b = (const float *)v->out.packed + j * v->kh * v->run;
    conv_piece p = {ky, from / l->n, from % l->n, to / l->n, to % l->n,
                    b + ky * v->run * COLUMNS, k % LS__CHUNK == 0};
    float *sums = k < LS__CHUNK ? l->total : l->chain;

    k += to - from;
    for (int64_t i = 0; i < rows; i++)
        conv_piece_row(v, l, &p, y + i, sums + i * v->w * COLUMNS);
    if (sums == l->chain && (k % LS__CHUNK == 0 || k == v->kh * v->run))
        for (int64_t e = 0; e < size; e += 16)
            v16_store(l->total + e, v16_add(v16_load(l->total + e),
                                            v16_load(l->chain + e)));
    return to - from;
}

/* n pixels of dx from number `at` on, columns from j on, of their sums
 * (n,COLUMNS). */
static void conv_dx_store(const ls__conv *v, const float *sum, int64_t at,
                          int64_t n, int64_t j)
{
    for (int64_t i = 0; i < n; i++, sum += COLUMNS)
        for (int64_t s = 0; s < COLUMNS && j + s < v->out.n; s += 16)
            put_sums(&v->out, true, at + i, j + s, v16_load(sum + s));
}

static void conv_dx_pooled(const ls__conv *v, const ls__pooled_dy *d,
                           float *scratch)
{
    conv_lists l = conv_lists_in(v, scratch);

    conv_lists_collect(v, d, &l);
    for (int64_t y = 0, rows; y < v->h; y += rows) {
        rows = conv_band_rows(v);
        rows = v->h - y < rows ? v->h - y : rows;
        for (int64_t j = 0; j < v->out.n; j += COLUMNS) {
            for (int64_t k = 0; k < v->kh * v->run;)
                k += conv_piece_band(v, &l, k, j, y, rows);
            conv_dx_store(v, l.total, y * v->w, rows * v->w, j);
        }
    }
}

#endif
