/* SPDX-License-Identifier: BSD-3-Clause */
/* Layers in C sources: the loops around kernels that lib/op has in its own way,
 * with threads, gradients and memory.  source_int8.h has others for some of
 * them. */
#ifndef LS_EXPORT_SOURCE_LAYERS_H
#define LS_EXPORT_SOURCE_LAYERS_H

#include "kernel/k_bag.h"
#include "kernel/k_gemm_full.h"
#include "kernel/k_recurrent.h"
#include "kernel/k_softmax.h"
#include "kernel/loops.h"

/* ------ products ------ */

/* A tile fills 12 vector registers, and those of clang 8: it keeps a line of
 * weights in others.  Panels are 32 wide everywhere (LS__PANEL of writer.h). */
#if defined WIDE && defined __AVX512F__
enum { ROWS = 6, VECS = 2 };
#define TILE_CASES CASES_6
#elif defined WIDE && defined __AVX2__ && defined __FMA__ && !defined __clang__
enum { ROWS = 3, VECS = 2 };
#define TILE_CASES CASES_3
#else
enum { ROWS = 2, VECS = 2 };
#define TILE_CASES(CALL) CASE(1, CALL) CASE(2, CALL)
#endif
enum { DEPTHWISE_ROWS = ROWS };
#define DEPTHWISE_CASES TILE_CASES

/* No epilogue: a bias is added later. */
SIMD void tile_end(const ls__product *g, int rows, int vecs, int64_t i,
                   int64_t j, tile_sums acc, float *sum)
{
    (void)sum;
    tile_plus_zero(rows, acc);
    tile_put(rows, g->c + i * g->c_row + j, g->c_row,
             g->n - j < 16 * vecs ? g->n - j : 16 * vecs, acc);
}

/* acc += steps p .. p+k of a tile, for which nothing is asked early. */
SIMD void tile_chunk(const c_tile *t, int rows, int vecs, int64_t p, int64_t k,
                     tile_sums acc)
{
    tile_steps(rows, vecs, k, t->a + p * t->g->a_col, t->g->a_row,
               t->g->a_col, t->b + p * 16 * vecs, 16 * vecs, 0, acc);
}

/* The width of the panel from column j of n on: 32, or of the last one 16. */
static int64_t panel_width(int64_t n, int64_t j)
{
    return n - j > 16 ? COLUMNS : 16;
}

/* Floats of `groups` operands (k,n) when packed. */
static int64_t panels(int64_t groups, int64_t k, int64_t n)
{
    return groups * ((n + 15) / 16 * 16) * k;
}

/* All rows of one panel, `vecs` vectors wide. */
SIMD void panel(const ls__product *g, int vecs, int64_t j, const float *b)
{
    float sum[ROWS * COLUMNS] = {0};
    c_tile t = {.g = g, .j = j, .a = g->a, .b = b, .sum = sum};

    for (; t.i + ROWS <= g->m; t.i += ROWS, t.a += ROWS * g->a_row)
        tile(&t, ROWS, vecs);
    for (; t.i < g->m; t.i++, t.a += g->a_row)
        tile(&t, 1, vecs);
}

/* y (m,n) = x (m,k) times packed panels; rows `step` and `y_step` apart. */
static void product(int64_t m, int64_t k, int64_t n, const float *x,
                    int64_t step, const float *packed, float *y, int64_t y_step)
{
    ls__product g = {.m = m, .n = n, .k = k, .a = x, .a_row = step, .a_col = 1,
                     .c = y, .c_row = y_step, .scale = 1};

    for (int64_t j = 0; j < n; packed += k * panel_width(n, j), j += COLUMNS)
        if (panel_width(n, j) == COLUMNS)
            panel(&g, VECS, j, packed);
        else
            panel(&g, 1, j, packed);
}

/* Panels of b (k,n) as product() wants them, filled up with zeros. */
static void pack_all(int64_t k, int64_t n, const float *b, int64_t b_row,
                     int64_t b_col, float *to)
{
    for (int64_t j = 0; j < n; j += COLUMNS)
        for (int64_t p = 0; p < k; p++)
            for (int64_t q = j; q < j + panel_width(n, j); q++)
                *to++ = q < n ? b[p * b_row + q * b_col] : 0;
}

/* Weights of groups one after the other, and y = x times those of one. */
typedef float weights;

static void times(int64_t m, int64_t k, int64_t n, const float *x, int64_t step,
                  const weights *of, int64_t group, float *y, int64_t y_step,
                  float *t)
{
    (void)t;
    product(m, k, n, x, step, of + panels(group, k, n), y, y_step);
}

static void add_bias(int64_t m, int64_t n, const float *bias, float *y)
{
    for (int64_t i = 0; i < m; i++, y += n)
        add(n, y, bias, y);
}

static void matmul(int64_t count, int64_t m, int64_t k, int64_t n,
                   const float *a, const float *b, float *y, float *t)
{
    for (; count > 0; count--, a += m * k, b += k * n, y += m * n) {
        pack_all(k, n, b, n, 1, t);
        product(m, k, n, a, k, t, y, n);
    }
}

SIMD v16 gelu(v16 x)
{
    v16 t;

    gelu_tanhs(1, &x, &t);
    return gelu_of(x, t);
}

/* ------ norms ------ */

/* t: room for three groups, and for statistics. */
static void group_norm(ls__channels g, float epsilon, bool two_passes,
                       const float *x, const float *scale, const float *bias,
                       float *y, float *t)
{
    float *own = t + g.size, *gain = own + g.size, *shift = gain + g.size;

    for (int64_t c = 0; c < g.step; c += g.run) {
        ls__channels_spread(&g, scale + c, gain);
        ls__channels_spread(&g, bias + c, shift);
        ls__channels_gather(&g, x + c, t);
        layer_norm(1, g.size, epsilon, two_passes, t, gain, shift, own,
                   shift + g.size);
        ls__channels_scatter(&g, own, y + c);
    }
}

/* ------ images ------ */

enum { PATCHES = 18 };

/* Products of patches (im2col), PATCHES at a time; t: room for the framed
 * image, for patches and for what times() needs. */
static void conv_patches(const ls__halo *f, const ls__conv *of, int64_t groups,
                         const float *x, const weights *w, float *y, float *t)
{
    const ls__conv *v = of;
    int64_t k = v->out.k, n = v->out.n, all = v->h * v->w;
    float *patches = t + f->rows * f->cols * f->c;

    x = ls__halo_fill(f, x, NULL, NULL, t);
    for (int64_t g = 0; g < groups; g++)
        for (int64_t p = 0, m; p < all; p += m) {
            float *to = patches;

            m = all - p < PATCHES ? all - p : PATCHES;
            for (int64_t q = p; q < p + m; q++)
                to = ls__im2col(v, x + g * v->run + q / v->w * v->step_y +
                                      q % v->w * v->step_x, to);
            times(m, k, n, patches, k, w, g, y + p * v->out.c_row + g * n,
                  v->out.c_row, patches + PATCHES * k);
        }
}

/* Each channel by itself; t: room for the framed image. */
static void conv_channels(const ls__halo *f, const ls__conv *of, const float *x,
                          const float *w, float *y, float *t)
{
    ls__conv v = *of;

    v.x = ls__halo_fill(f, x, NULL, NULL, t);
    v.out.n = v.c;
    v.out.b = w;
    v.out.c = y;
    depthwise(&v);
}

/* ------ recurrent layers ------ */

/* A row's length, of at most so many steps. */
static int64_t length_of(int32_t length, int64_t steps)
{
    return length < 0 ? 0 : length < steps ? length : steps;
}

/* One row: x (steps,gates n) are the gates' shares of the input, of which those
 * behind `count` steps give 0; the state is `from`, or zeros (NULL), and stands
 * behind y's steps where that ends with it.  t: room for it, for three times
 * the gates, and what times() needs. */
static void recurrent(ls__recurrence s, ls__recur *step, int64_t steps,
                      int64_t count, int64_t gates, int64_t size,
                      const weights *kernel, const float *bias,
                      const float *from, bool ends, float *t)
{
    int64_t wide = gates * s.n;
    float *end = s.y + steps * s.n;

    for (int64_t j = 0; j < size; j++)
        t[j] = from ? from[j] : 0;
    s.rows = 1;
    s.c = s.c_next = t;
    s.h = s.h_next = t + size - s.n;
    s.gates = t += size;
    s.kept = t + wide;
    s.hn = t + 2 * wide;
    for (int64_t i = 0; i < count; i++, s.x += wide, s.y += s.n) {
        times(1, s.n, wide, s.h, s.n, kernel, 0, t, wide, t + 3 * wide);
        if (bias)
            add_bias(1, wide, bias, t);
        step(&s);
    }
    ls__halo_zero(s.y, end - s.y);
    for (int64_t j = 0; ends && j < size; j++)
        end[j] = s.c_next[j];
}

/* ------ attention ------ */

/* One head of d numbers turned by the cosines and sines of a position. */
static void rotate(int64_t d, const float *x, const float *angle, float *y)
{
    int64_t half = d / 2;

    turn(half, x, x + half, angle, angle + half, 1, NULL, NULL, y, y + half);
}

/* q (steps,heads d), k and v (steps,kv d), each head of those for several of
 * q's; t: room for steps steps, and for a packed operand. */
static void attention(int64_t steps, int64_t heads, int64_t kv, int64_t d,
                      bool causal, const float *q, const float *k,
                      const float *v, float *y, float *t)
{
    float *p = t, *packed = t + steps * steps;
    float by = ls__flushed(1.0f / __builtin_sqrtf((float)d));

    for (int64_t h = 0; h < heads; h++) {
        int64_t at = h / (heads / kv) * d;

        pack_all(d, steps, k + at, 1, kv * d, packed);
        product(steps, d, steps, q + h * d, heads * d, packed, p, steps);
        if (by != 1.0f)
            scale(steps * steps, by, p);
        for (int64_t i = 0; i < steps; i++) {
            int64_t seen = causal ? i + 1 : steps;

            softmax(1, seen, steps, p + i * steps);
            ls__halo_zero(p + i * steps + seen, steps - seen);
        }
        pack_all(steps, d, v + at, kv * d, 1, packed);
        product(steps, steps, d, p, steps, packed, y + h * d, heads * d);
    }
}

#endif
