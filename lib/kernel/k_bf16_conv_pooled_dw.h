/* SPDX-License-Identifier: BSD-3-Clause */
/* The gradient of a convolution's weights under a folded 2x2 max pooling, of
 * numbers rounded to bf16: k_conv_pooled_dw.h with two chains.
 *
 * AVX512-BF16 does two links of a chain at once, blocks b and b + 2 of a step:
 * their gradients are a word, and so are, number by number, their patches, two
 * vectors of 32 numbers along a run, interleaved.  Numbers are kept as bf16, so
 * that an image fits the first cache.  A window of at most 32 numbers is one
 * such vector: its runs are brought together first. */
#ifndef LS_KERNEL_K_BF16_CONV_POOLED_DW_H
#define LS_KERNEL_K_BF16_CONV_POOLED_DW_H

#include "base/assert.h"
#include "base/least.h"
#include "kernel/k_bf16_tile.h"
#include "kernel/k_conv_pooled_dw.h"

#if defined(PAIRS)

enum {
    TWIN_NUMBERS = 32,               /* of a vector of bf16 */
    TWIN_VECS = 3,                   /* such vectors of a run at once */
    TWIN_WORDS = SPARSE_STEP / 2,    /* of a step */
    TWIN_ROOM = SPARSE_ROOM / 2,     /* blocks that are worked on at a time */
    TWIN_ROOM_WORDS = TWIN_ROOM / 2
};

/* Whole steps of blocks; channels in groups of 16, those of a block side by
 * side. */
typedef struct twin_chunk {
    int64_t steps;
    const uint16_t *x;
    uint32_t *at;   /* (groups,TWIN_ROOM,16): patches, in numbers from x on */
    uint32_t *word; /* (groups,TWIN_ROOM_WORDS,16): gradients */
} twin_chunk;

/* The blocks of a step: where their gradients are in the pooling's dy, or -1
 * where K is filled up; and their first patches, in numbers from x on. */
typedef struct twin_blocks {
    int64_t count, dy[SPARSE_STEP];
    uint32_t x[SPARSE_STEP];
} twin_blocks;

/* Is all of a window one vector? */
static bool twin_is_small(const ls__conv *v)
{
    return v->kh > 1 && v->kh * v->run <= TWIN_NUMBERS;
}

/* Blocks b and b + 2 of word q of a step. */
SIMD int64_t twin_block(int64_t q)
{
    return q / 2 * 4 + q % 2;
}

/* ------ the image ------ */

/* Floats that hold n numbers of bf16 and a vector beyond them. */
static int64_t twin_floats(int64_t n)
{
    return whole_vectors((n + 1) / 2 + TWIN_NUMBERS / 2);
}

/* The numbers of a paired image in their own order. */
static void twin_copy(int64_t n, const uint16_t *x, uint16_t *out)
{
    const __m512i order = _mm512_set4_epi32(0x0d0c0908, 0x0f0e0b0a, 0x05040100,
                                            0x07060302);

    for (int64_t i = 0; i < n; i += TWIN_NUMBERS)
        _mm512_storeu_si512(
            out + i, _mm512_shuffle_epi8(_mm512_loadu_si512(x + i), order));
}

static void twin_image(const ls__conv *v, uint16_t *out)
{
    int64_t n = image_size(v);
    const float *x = v->x;

    if (is_paired(v)) {
        twin_copy(n, (const uint16_t *)(const void *)x, out);
        return;
    }
    for (int64_t i = 0; i < n; i += TWIN_NUMBERS)
        _mm512_storeu_si512(
            out + i, (__m512i)_mm512_cvtne2ps_pbh(
                         take_any(x + i + 16, n - i - 16), take(x + i, n - i)));
}

/* The windows of an area, each in TWIN_NUMBERS numbers; those behind the
 * window's may be any. */
static void twin_windows(const ls__conv *v, const sparse_area *a,
                         const uint16_t *image, uint16_t *out)
{
    int64_t h = ls__least(a->h, v->h - a->y), w = ls__least(a->w, v->w - a->x);

    for (int64_t y = 0; y < h; y++)
        for (int64_t x = 0; x < w; x++, out += TWIN_NUMBERS) {
            const uint16_t *from =
                image + (a->y + y) * v->step_y + (a->x + x) * v->step_x;

            for (int64_t ky = 0; ky < v->kh; ky++)
                memcpy(out + ky * v->run, from + ky * v->row,
                       16 * sizeof *out);
        }
}

/* ------ gradients and places ------ */

/* 16 channels of one block: gradients, and patches. */
SIMD v16 twin_place(const ls__pooled_dy *d, const twin_blocks *of, int64_t b,
                    int64_t c, int64_t left, __m512i places, uint32_t *at)
{
    v16 g = v16_zero();
    w16 to = w16_set(0);

    if (of->dy[b] >= 0) {
        v16 number = take(d->number + of->dy[b] + c, left);

        /* Of one that was cut the first: others may lie beyond the image. */
        to = (w16)_mm512_permutevar_ps(
            (v16)places, _mm512_cvtps_epi32(v16_max(number, v16_zero())));
        to = w16_add(to, w16_set(of->x[b]));
        g = sparse_gradient(number, take(d->dy + of->dy[b] + c, left));
    }
    w16_store(at, to);
    return g;
}

/* All channels of a step's blocks. */
static void twin_places(const ls__conv *v, const ls__pooled_dy *d,
                        const twin_blocks *of, int64_t step,
                        const twin_chunk *q)
{
    __m512i places = _mm512_set4_epi32((int)(v->step_y + v->step_x),
                                       (int)v->step_y, (int)v->step_x, 0);

    for (int64_t c = 0; c < v->out.n; c += 16) {
        int64_t left = v->out.n - c;
        uint32_t *at = q->at + c * TWIN_ROOM + step * SPARSE_STEP * 16;
        uint32_t *word = q->word + c * TWIN_ROOM_WORDS + step * TWIN_WORDS * 16;

        for (int64_t i = 0; i < TWIN_WORDS; i++, word += 16) {
            int64_t b = twin_block(i);
            v16 first = twin_place(d, of, b, c, left, places, at + 16 * b);
            v16 second = twin_place(d, of, b + 2, c, left, places,
                                    at + 16 * (b + 2));

            w16_store(word, words_across(first, second));
        }
    }
}

/* The next block, or a place that is filled up; the places of a whole step are
 * written. */
static void twin_add(const ls__conv *v, const ls__pooled_dy *d, int64_t dy,
                     int64_t x, twin_blocks *of, const twin_chunk *q)
{
    int64_t b = of->count++ % SPARSE_STEP;

    of->dy[b] = dy;
    of->x[b] = (uint32_t)x;
    if (b == SPARSE_STEP - 1)
        twin_places(v, d, of, of->count / SPARSE_STEP - 1, q);
}

/* The blocks of an area, its first window being `base` from x on; returns the
 * number of steps. */
static int64_t twin_collect(const ls__conv *v, const sparse_area *a,
                            const ls__pooled_dy *d, int64_t base,
                            const twin_chunk *q)
{
    int64_t w = d->pooling->w;
    twin_blocks of = {.count = 0};

    for (int64_t i = 0; i < a->h && (a->y + i) / 2 < d->pooling->h; i += 2) {
        for (int64_t j = 0; j < a->w && (a->x + j) / 2 < w; j += 2)
            twin_add(v, d, ((a->y + i) / 2 * w + (a->x + j) / 2) * v->out.n,
                     base + i * v->step_y + j * v->step_x, &of, q);
        while (of.count % SPARSE_STEP)
            twin_add(v, d, -1, 0, &of, q);
    }
    LS__ASSERT(of.count <= TWIN_ROOM);
    return of.count / SPARSE_STEP;
}

/* ------ sums ------ */

/* 32 numbers of t, or fewer, in the order of interleaved vectors: of each eight
 * the lower four, and the upper. */
SIMD void twin_take(const float *t, int64_t left, v16 sum[2])
{
    v16 lower = take(t, left), upper = take_any(t + 16, left - 16);

    sum[0] = _mm512_shuffle_f32x4(lower, upper, 0x88);
    sum[1] = _mm512_shuffle_f32x4(lower, upper, 0xdd);
}

SIMD void twin_put(float *t, int64_t left, const v16 sum[2])
{
    const __m512i first = _mm512_set_epi32(23, 22, 21, 20, 7, 6, 5, 4, 19, 18,
                                           17, 16, 3, 2, 1, 0);
    const __m512i second = w16_add(first, w16_set(8));

    put(t, _mm512_permutex2var_ps(sum[0], first, sum[1]), left);
    if (left > 16)
        put(t + 16, _mm512_permutex2var_ps(sum[0], second, sum[1]), left - 16);
}

SIMD v16 twin_fma(v16 a, __m512i b, v16 acc)
{
    return _mm512_dpbf16_ps(acc, (__m512bh)a, (__m512bh)b);
}

/* sum += a step of one channel, for 32 numbers from x on. */
SIMD void twin_step(const uint16_t *x, const uint32_t *at,
                    const v16 word[TWIN_WORDS], v16 sum[2])
{
    v16 chain[2][2] = {{v16_zero(), v16_zero()}, {v16_zero(), v16_zero()}};

    UNROLL(4)
    for (int q = 0; q < TWIN_WORDS; q++) {
        const uint32_t *first = at + 16 * twin_block(q);
        __m512i a = _mm512_loadu_si512(x + first[0]);
        __m512i b = _mm512_loadu_si512(x + first[32]);
        v16 *acc = chain[q % 2];

        /* gcc would load both twice. */
        __asm__("" : "+v"(a), "+v"(b));
        acc[0] = twin_fma(word[q], _mm512_unpacklo_epi16(b, a), acc[0]);
        acc[1] = twin_fma(word[q], _mm512_unpackhi_epi16(b, a), acc[1]);
    }
    sum[0] = v16_add(sum[0], v16_add(chain[0][0], chain[1][0]));
    sum[1] = v16_add(sum[1], v16_add(chain[0][1], chain[1][1]));
}

/* `vecs` vectors of t, `left` numbers of them, from numbers x of the patches
 * on; at and word are those of the channel. */
SIMD void twin_tile(int vecs, int64_t steps, const uint16_t *x,
                    const uint32_t *at, const uint32_t *word, int64_t left,
                    float *t)
{
    v16 sum[TWIN_VECS][2];

    UNROLL(3)
    for (int s = 0; s < vecs; s++)
        twin_take(t + TWIN_NUMBERS * s, left - TWIN_NUMBERS * s, sum[s]);
    for (int64_t i = 0; i < steps; i++) {
        v16 w[TWIN_WORDS];

        UNROLL(4)
        for (int q = 0; q < TWIN_WORDS; q++)
            w[q] = v16_of_bits(w16_set(word[16 * q]));
        UNROLL(3)
        for (int s = 0; s < vecs; s++)
            twin_step(x + TWIN_NUMBERS * s, at, w, sum[s]);
        at += 16 * SPARSE_STEP;
        word += 16 * TWIN_WORDS;
    }
    UNROLL(3)
    for (int s = 0; s < vecs; s++)
        twin_put(t + TWIN_NUMBERS * s, left - TWIN_NUMBERS * s, sum[s]);
}

/* All of a run of channel c, row ky of the window. */
static void twin_run(const ls__conv *v, const twin_chunk *q, int64_t c,
                     int64_t ky, float *t)
{
    const uint32_t *at = q->at + c / 16 * 16 * TWIN_ROOM + c % 16;
    const uint32_t *word = q->word + c / 16 * 16 * TWIN_ROOM_WORDS + c % 16;
    const uint16_t *x = q->x + ky * v->row;

#define CALL(vecs) twin_tile(vecs, q->steps, x + m, at, word, v->run - m, t + m)
    for (int64_t m = 0; m < v->run; m += TWIN_VECS * TWIN_NUMBERS) {
        int64_t vecs = (v->run - m + TWIN_NUMBERS - 1) / TWIN_NUMBERS;

        WITH_CONSTANT(ls__least(vecs, TWIN_VECS), CASES_3, CALL)
    }
#undef CALL
}

/* t (n,kh,runs up to vectors) += the steps of a chunk. */
static void twin_chunk_grad(const ls__conv *v, const twin_chunk *q, float *t)
{
    for (int64_t c = 0; c < v->out.n; c++)
        for (int64_t ky = 0; ky < v->kh; ky++, t += whole_vectors(v->run))
            twin_run(v, q, c, ky, t);
}

/* Sums over blocks are sums over pixels: the rest is 0. */
static void twin_bias(const ls__conv *v, const twin_chunk *q, bool add,
                      float *dbias)
{
    for (int64_t j = 0; j < v->out.n; j += 16) {
        const uint32_t *word = q->word + j * TWIN_ROOM_WORDS;
        v16 sum = add ? take(dbias + j, v->out.n - j) : v16_zero();

        for (int64_t i = 0; i < q->steps; i++) {
            v16 chain[2] = {v16_zero(), v16_zero()};

            for (int p = 0; p < TWIN_WORDS; p++, word += 16) {
                w16 two = w16_load(word), upper = w16_set(0xffff0000u);
                v16 *acc = &chain[p % 2];

                *acc = v16_add(*acc, v16_of_bits(w16_and(two, upper)));
                *acc = v16_add(*acc, v16_of_bits(w16_shl(two, 16)));
            }
            sum = v16_add(sum, v16_add(chain[0], chain[1]));
        }
        put(dbias + j, v16_add(sum, v16_zero()), v->out.n - j);
    }
}

/* ------ all of it ------ */

/* t (n,kh,runs up to vectors) to (n,windows up to vectors), runs side by side;
 * or back. */
static void twin_gather(const ls__conv *v, bool back, float *t, float *narrow)
{
    int64_t width = whole_vectors(v->run);
    int64_t row = whole_vectors(v->kh * v->run);

    for (int64_t c = 0; c < v->out.n; c++)
        for (int64_t ky = 0; ky < v->kh; ky++, t += width) {
            float *run = narrow + c * row + ky * v->run;

            if (back)
                put(t, take(run, v->run), v->run);
            else
                put(run, take(t, v->run), v->run);
        }
}

/* Working memory, all of it in scratch. windows and narrow are NULL where a
 * window is more than one vector. */
typedef struct twin_rooms {
    uint16_t *image, *windows;
    float *narrow;
    twin_chunk q;
} twin_rooms;

static int64_t twin_windows_floats(void)
{
    return twin_floats(4 * TWIN_ROOM * TWIN_NUMBERS);
}

static twin_rooms twin_rooms_in(const ls__conv *v, float *scratch)
{
    int64_t n = whole_vectors(v->out.n);
    twin_rooms r = {.image = (uint16_t *)(void *)scratch};

    r.q.at = (uint32_t *)(void *)(scratch + twin_floats(image_size(v)));
    r.q.word = r.q.at + TWIN_ROOM * n;
    r.q.x = r.image;
    if (twin_is_small(v)) {
        scratch = (float *)(void *)(r.q.word + TWIN_ROOM_WORDS * n);
        r.windows = (uint16_t *)(void *)scratch;
        r.narrow = scratch + twin_windows_floats();
        r.q.x = r.windows;
    }
    return r;
}

static int64_t bf16_pooled_scratch(const ls__conv *v)
{
    int64_t small = twin_windows_floats() + v->out.n * TWIN_NUMBERS;

    return twin_floats(image_size(v)) +
           (TWIN_ROOM + TWIN_ROOM_WORDS) * whole_vectors(v->out.n) +
           (twin_is_small(v) ? small : 0);
}

/* One area onto t: the windows of `of` are those of v, or its windows brought
 * together. */
static void twin_area(const ls__conv *v, const sparse_area *a,
                      const ls__pooled_dy *d, twin_rooms *r, float *t)
{
    int64_t base = a->y * v->step_y + a->x * v->step_x;
    ls__conv of = *v;

    if (r->windows) {
        twin_windows(v, a, r->image, r->windows);
        of.kh = 1;
        of.run = v->kh * v->run;
        of.step_x = TWIN_NUMBERS;
        of.step_y = ls__least(a->w, v->w - a->x) * TWIN_NUMBERS;
        base = 0;
    }
    r->q.steps = twin_collect(&of, a, d, base, &r->q);
    twin_chunk_grad(&of, &r->q, t);
}

static void bf16_conv_grad_pooled(const ls__conv *v, const ls__pooled_dy *d,
                                  float *t, float *dbias, float *scratch)
{
    sparse_area a = sparse_area_of(v, 2, TWIN_ROOM);
    twin_rooms r = twin_rooms_in(v, scratch);
    bool add = v->out.accumulate;

    twin_image(v, r.image);
    if (r.narrow)
        twin_gather(v, false, t, r.narrow);
    for (a.y = 0; a.y < v->h; a.y += a.h)
        for (a.x = 0; a.x < v->w; a.x += a.w, add = true) {
            twin_area(v, &a, d, &r, r.narrow ? r.narrow : t);
            if (dbias)
                twin_bias(v, &r.q, add, dbias);
        }
    if (r.narrow)
        twin_gather(v, true, t, r.narrow);
}

#else

static void round_all(int64_t n, const float *x, float *out)
{
    for (int64_t i = 0; i < n; i += 16)
        v16_store(out + i, operand_of(take(x + i, n - i)));
}

static int64_t pooled_size(const ls__pooled_dy *d, const ls__conv *v)
{
    return d->pooling->h * d->pooling->w * v->out.n;
}

/* Copies of the image and of dy, rounded; gradients and places of a chunk. */
static int64_t bf16_pooled_scratch(const ls__conv *v)
{
    int64_t dy = (v->h + 1) / 2 * ((v->w + 1) / 2) * v->out.n;

    return whole_vectors(image_size(v)) + whole_vectors(dy) + sparse_scratch(v);
}

static void bf16_conv_grad_pooled(const ls__conv *v, const ls__pooled_dy *d,
                                  float *t, float *dbias, float *scratch)
{
    int64_t n = image_size(v), size = pooled_size(d, v);
    ls__pooled_dy rounded = *d;
    ls__conv of = *v;

    round_all(n, v->x, scratch);
    of.x = scratch;
    scratch += whole_vectors(n);
    round_all(size, d->dy, scratch);
    rounded.dy = scratch;
    sparse_grad(&of, &rounded, 2, t, dbias, scratch + whole_vectors(size));
}

#endif

#endif
