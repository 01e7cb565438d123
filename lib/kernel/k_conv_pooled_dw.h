/* SPDX-License-Identifier: BSD-3-Clause */
/* The gradient of a convolution's weights under a folded 2x2 max pooling.
 *
 * Of each block of two by two outputs, one a channel has a gradient at most:
 * its place is the number that the pooling kept.  So for one output channel the
 * chains of k_conv.h, and those of k_bf16_conv.h, are one link a block, on the
 * patch that the number names: a quarter of the work.  What is left out is sums
 * with zeros, so the bits are theirs (except what a non-finite pixel times 0
 * would be).
 *
 * Here lanes are along the runs of a patch and dw is transposed: t (n, kh
 * runs), runs filled up to vectors. */
#ifndef LS_KERNEL_K_CONV_POOLED_DW_H
#define LS_KERNEL_K_CONV_POOLED_DW_H

#include "base/assert.h"
#include "kernel/k_tile.h"
#include "kernel/kernel.h"

/* Sums in registers, and the most channels of a tile. */
#if defined(__AVX512F__)
enum { SPARSE_SUMS = 24, SPARSE_MOST = 16 };
#else
enum { SPARSE_SUMS = 6, SPARSE_MOST = 6 };
#endif
enum {
    SPARSE_VECS = 6,
    SPARSE_STEP = LS__BF16_STEP / 4, /* blocks of a step of the bf16 order */
    SPARSE_ROOM = LS__CHUNK / 2 /* blocks of a chunk at most */
};

_Static_assert(LS__BF16_STEP % 4 == 0, "a step is whole blocks of two by two");

/* Blocks of two by two: for each and each channel the gradient and the place of
 * its patch in the image.  A step is summed from +0 in `chains` that take
 * turns, block by block, and is added to the steps before it. */
typedef struct sparse_chunk {
    int64_t steps, blocks; /* of one step */
    const float *g;        /* (steps blocks,n) */
    const uint32_t *at;    /* likewise, floats from x on */
    bool add;              /* dbias is not written but added to */
} sparse_chunk;

/* The gradient of 16 channels of a block: one that was cut has none. */
SIMD v16 sparse_gradient(v16 number, v16 dy)
{
    return v16_select(v16_lt(number, v16_zero()), v16_zero(), dy);
}

/* Their patches, counted from where the block begins; of one that was cut
 * wherever. */
SIMD w16 sparse_patch(const ls__conv *v, v16 number)
{
    w16 down = w16_set((uint32_t)v->step_y);
    w16 right = w16_set((uint32_t)v->step_x);
    v16 zero = v16_zero(), two = v16_set(2);
    m16 lower = v16_ge(number, two);
    v16 across = v16_sub(number, v16_select(lower, two, zero));
    m16 second = v16_ge(across, v16_set(1));

    return w16_add(v16_bits(v16_select(lower, v16_of_bits(down), zero)),
                   v16_bits(v16_select(second, v16_of_bits(right), zero)));
}

/* g = dy and at = the place of its patch, both from where the block begins. */
SIMD void sparse_places(const ls__conv *v, const float *dy,
                        const float *number, int64_t base, float *g,
                        uint32_t *at)
{
    for (int64_t c = 0; c < v->out.n; c += 16) {
        int64_t left = v->out.n - c;
        v16 k = take(number + c, left);
        w16 to = w16_add(sparse_patch(v, k), w16_set((uint32_t)base));

        put(g + c, sparse_gradient(k, take(dy + c, left)), left);
        put((float *)(void *)(at + c), v16_of_bits(to), left);
    }
}

/* A part of the patch: vecs vectors from float m on of each of `runs` runs from
 * ky on. */
typedef struct sparse_part {
    int64_t ky, m;
} sparse_part;

/* acc += the gradients of a block times the vectors of their patches. */
SIMD void sparse_block(const ls__conv *v, int runs, int vecs, int channels,
                       bool bf16, int64_t left, const float *x,
                       const float *g, const uint32_t *at, v16 *acc)
{
    UNROLL(16)
    for (int k = 0; k < channels; k++) {
        const float *a = x + at[k];
        v16 d = v16_set(g[k]);

        UNROLL(3)
        for (int y = 0; y < runs; y++)
            UNROLL(6)
            for (int s = 0; s < vecs; s++) {
                const float *from = a + y * v->row + 16 * s;
                v16 p = s < vecs - 1 ? v16_load(from) : take(from, left);
                int i = (k * runs + y) * vecs + s;

                acc[i] = bf16 ? bf16_fma(p, d, acc[i]) : v16_fma(p, d, acc[i]);
            }
    }
}

/* t += the sums of a step */
SIMD void sparse_put(const ls__conv *v, int runs, int vecs, int channels,
                     const v16 *acc, float *t)
{
    int64_t width = (v->run + 15) / 16 * 16;

    UNROLL(16)
    for (int k = 0; k < channels; k++, t += v->kh * width)
        UNROLL(3)
        for (int y = 0; y < runs; y++)
            UNROLL(6)
            for (int s = 0; s < vecs; s++) {
                float *to = t + y * width + 16 * s;

                v16_store(to, v16_add(v16_load(to),
                                      acc[(k * runs + y) * vecs + s]));
            }
}

/* One part of channels c .. c+channels over a chunk; the last vector of a run
 * may be shorter. */
SIMD void sparse_tile(const ls__conv *v, const sparse_chunk *q, int chains,
                      int runs, int vecs, int channels, sparse_part part,
                      int64_t c, float *t)
{
    int64_t n = v->out.n, width = (v->run + 15) / 16 * 16;
    int64_t left = v->run - part.m - 16 * (vecs - 1);
    const float *x = v->x + part.ky * v->row + part.m, *g = q->g + c;
    const uint32_t *at = q->at + c;
    v16 acc[2][SPARSE_SUMS];

    t += (c * v->kh + part.ky) * width + part.m;
    for (int64_t step = 0; step < q->steps; step++) {
        UNROLL(24)
        for (int s = 0; s < channels * runs * vecs; s++)
            acc[0][s] = acc[1][s] = v16_zero();
        for (int64_t b = 0; b < q->blocks; b += chains) {
            sparse_block(v, runs, vecs, channels, chains > 1, left, x, g, at,
                         acc[0]);
            if (chains > 1)
                sparse_block(v, runs, vecs, channels, true, left, x, g + n,
                             at + n, acc[1]);
            g += chains * n;
            at += chains * n;
        }
        if (chains > 1)
            UNROLL(24)
            for (int s = 0; s < channels * runs * vecs; s++)
                acc[0][s] = v16_add(acc[0][s], acc[1][s]);
        sparse_put(v, runs, vecs, channels, acc[0], t);
    }
}

/* The number of channels in a tile that has `sums` sums of each. */
SIMD int sparse_channels(int chains, int sums)
{
    int n = SPARSE_SUMS / chains / sums;

    LS__ASSERT(chains * sums <= SPARSE_SUMS);
    return n < 1 ? 1 : n < SPARSE_MOST ? n : SPARSE_MOST;
}

/* All channels: tiles of many, and those left over one by one. */
SIMD void sparse_all(const ls__conv *v, const sparse_chunk *q, int chains,
                     int runs, int vecs, sparse_part part, float *t)
{
    int many = sparse_channels(chains, runs * vecs);
    int64_t c = 0;

    for (; c + many <= v->out.n; c += many)
        sparse_tile(v, q, chains, runs, vecs, many, part, c, t);
    for (; c < v->out.n; c++)
        sparse_tile(v, q, chains, runs, vecs, 1, part, c, t);
}

SIMD void sparse_part_of(const ls__conv *v, const sparse_chunk *q, int chains,
                         int runs, int vecs, sparse_part part, float *t)
{
    switch (runs * 8 + vecs) {
    case 3 * 8 + 1: sparse_all(v, q, chains, 3, 1, part, t); break;
    case 3 * 8 + 2: sparse_all(v, q, chains, 3, 2, part, t); break;
    case 8 + 1: sparse_all(v, q, chains, 1, 1, part, t); break;
    case 8 + 2: sparse_all(v, q, chains, 1, 2, part, t); break;
    case 8 + 3: sparse_all(v, q, chains, 1, 3, part, t); break;
    case 8 + 4: sparse_all(v, q, chains, 1, 4, part, t); break;
    case 8 + 5: sparse_all(v, q, chains, 1, 5, part, t); break;
    default: sparse_all(v, q, chains, 1, 6, part, t); break;
    }
}

/* The order of f32, as a function of its own: the registers of what calls it
 * are not its. */
static __attribute__((noinline)) void
sparse_part_f32(const ls__conv *v, const sparse_chunk *q, int runs, int vecs,
                sparse_part part, float *t)
{
    sparse_part_of(v, q, 1, runs, vecs, part, t);
}

/* Short runs go three at once, so that g and at are read for more; long ones in
 * parts. */
SIMD void sparse_chunk_grad(const ls__conv *v, const sparse_chunk *q,
                            int chains, float *t)
{
    int64_t all = (v->run + 15) / 16, sums = SPARSE_SUMS / chains;
    int64_t most = sums < SPARSE_VECS ? sums : SPARSE_VECS;

    for (int64_t ky = 0, runs; ky < v->kh; ky += runs) {
        runs = all <= 2 && 3 * all <= sums && v->kh - ky >= 3 ? 3 : 1;
        for (int64_t s = 0, vecs; s < all; s += vecs) {
            sparse_part part = {ky, 16 * s};

            vecs = all - s < most ? all - s : most;
            if (chains == 1)
                sparse_part_f32(v, q, (int)runs, (int)vecs, part, t);
            else
                sparse_part_of(v, q, chains, (int)runs, (int)vecs, part, t);
        }
    }
}

/* Sums over blocks are sums over pixels: the rest is 0. */
SIMD void sparse_bias(const sparse_chunk *q, int chains, int64_t n,
                      float *dbias)
{
    for (int64_t j = 0; j < n; j += 16) {
        v16 sum = v16_zero();
        const float *g = q->g + j;

        if (q->add)
            sum = take(dbias + j, n - j);
        for (int64_t s = 0; s < q->steps; s++) {
            v16 chain[2] = {v16_zero(), v16_zero()};

            for (int64_t b = 0; b < q->blocks; b++, g += n)
                chain[b % chains] = v16_add(chain[b % chains],
                                            take(g, n - j));
            sum = v16_add(sum, v16_add(chain[0], chain[1]));
        }
        if (chains > 1) /* as k_bf16_conv.h ends them */
            sum = v16_add(sum, v16_zero());
        put(dbias + j, sum, n - j);
    }
}

/* ------ chunks ------ */

/* Outputs of a chunk: blocks by rows, each row filled up to whole steps of the
 * bf16 order if there are two chains, which are cut at any of them: then a
 * chunk has at most `room` blocks. */
typedef struct sparse_area {
    int64_t y, x, h, w, fill;
} sparse_area;

static sparse_area sparse_area_of(const ls__conv *v, int chains, int64_t room)
{
    sparse_area a = {.w = ls__conv_chunk_w(v->w), .h = ls__conv_chunk_h(v->w),
                     .fill = 1};

    if (chains > 1) {
        int64_t steps = ((a.w + 1) / 2 + SPARSE_STEP - 1) / SPARSE_STEP;

        a.fill = SPARSE_STEP;
        a.h = v->w > a.w ? 2 : room / (steps * SPARSE_STEP) * 2;
    }
    return a;
}

/* The blocks of an area, of a pooling w wide; how many. */
static int64_t sparse_collect(const ls__conv *v, const sparse_area *a,
                              const ls__pooled_dy *d, float *g, uint32_t *at)
{
    int64_t n = v->out.n, w = d->pooling->w, count = 0;

    for (int64_t i = a->y; i < a->y + a->h && i / 2 < d->pooling->h; i += 2) {
        for (int64_t j = a->x; j < a->x + a->w && j / 2 < w; j += 2, count++) {
            int64_t from = (i / 2 * w + j / 2) * n;

            sparse_places(v, d->dy + from, d->number + from,
                          i * v->step_y + j * v->step_x, g + count * n,
                          at + count * n);
        }
        for (; count % a->fill; count++) {
            memset(g + count * n, 0, (size_t)n * sizeof *g);
            memset(at + count * n, 0, (size_t)n * sizeof *at);
        }
    }
    LS__ASSERT(count <= SPARSE_ROOM);
    return count;
}

/* Floats of scratch: gradients and places of a chunk. */
static int64_t sparse_scratch(const ls__conv *v)
{
    return 2 * SPARSE_ROOM * ((v->out.n + 15) / 16 * 16);
}

/* chains: 1 for the order of f32, 2 for that of bf16. */
SIMD void sparse_grad(const ls__conv *v, const ls__pooled_dy *d, int chains,
                      float *t, float *dbias, float *scratch)
{
    uint32_t *at = (uint32_t *)(void *)(scratch + SPARSE_ROOM * v->out.n);
    sparse_area a = sparse_area_of(v, chains, SPARSE_ROOM);
    sparse_chunk q = {.g = scratch, .at = at, .add = v->out.accumulate};

    LS__ASSERT(d->pooling->kh == 2 && d->pooling->kw == 2);
    for (a.y = 0; a.y < v->h; a.y += a.h)
        for (a.x = 0; a.x < v->w; a.x += a.w, q.add = true) {
            int64_t blocks = sparse_collect(v, &a, d, scratch, at);

            q.steps = chains > 1 && blocks ? blocks / SPARSE_STEP : 1;
            q.blocks = blocks / q.steps;
            sparse_chunk_grad(v, &q, chains, t);
            if (dbias)
                sparse_bias(&q, chains, v->out.n, dbias);
        }
}

static void conv_grad_pooled(const ls__conv *v, const ls__pooled_dy *d,
                             float *t, float *dbias, float *scratch)
{
    sparse_grad(v, d, 1, t, dbias, scratch);
}

#endif
