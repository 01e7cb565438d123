/* Convolutions of one image as matrix products without the matrix: in an image
 * with its channels last and zeros around it, what a window sees of one image
 * row is one run of numbers, so the patch of an output pixel, a row of the
 * left operand, is kh runs, and the next pixel's begins `step_x` later.  Tiles
 * are read straight from the image.
 *
 * The contract of bits is that of gemm.h on the matrix of patches, K in order
 * (row of the window, pixel, channel), chunks of 256.  In kernel gradients K
 * runs over output pixels: a chunk is a rectangle of at most 256, an even
 * number of whole rows (128 pixels of two rows that are longer), and in it K
 * goes block by block of two by two.  A 2x2 pool then leaves one number in each
 * block, and kernel/conv_sparse.h has the same chain without the zeros. */
#ifndef LS_KERNEL_CONV_H
#define LS_KERNEL_CONV_H

/* Outputs of a tile: pixels, and channels in vectors of 16. */
#if defined(__AVX512F__)
enum { CONV_ROWS = 14, CONV_VECS = 2 };
#elif defined(__AVX2__)
enum { CONV_ROWS = 6, CONV_VECS = 1 };
#else
enum { CONV_ROWS = 4, CONV_VECS = 1 };
#endif
enum { CONV_COLUMNS = 16 * CONV_VECS };

typedef v16 conv_sums[CONV_ROWS][CONV_VECS];

/* ------ kernels in panels ------ */

static int64_t conv_packed_size(int64_t taps, int64_t k, int64_t n)
{
    return (n + CONV_COLUMNS - 1) / CONV_COLUMNS * CONV_COLUMNS * taps * k;
}

/* B (k,n) in panels of CONV_COLUMNS columns, filled up with zeros. */
static void conv_pack(int64_t taps, int64_t in, int64_t out, bool rotated,
                      const float *w, float *packed)
{
    int64_t n = rotated ? in : out, depth = rotated ? out : in;

    for (int64_t j = 0; j < n; j += CONV_COLUMNS)
        for (int64_t t = 0; t < taps; t++)
            for (int64_t d = 0; d < depth; d++)
                for (int64_t c = j; c < j + CONV_COLUMNS; c++) {
                    const float *tap =
                        w + (rotated ? taps - 1 - t : t) * in * out;

                    *packed++ = c >= n    ? 0
                                : rotated ? tap[c * out + d]
                                          : tap[d * out + c];
                }
}

/* ------ tiles ------ */

SIMD void conv_clear(int rows, conv_sums acc)
{
#pragma GCC unroll 14
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < CONV_VECS; v++)
            acc[r][v] = v16_zero();
}

/* acc += a b over k steps. */
SIMD void conv_steps(int rows, int64_t k, const float *a, int64_t a_row,
                     int64_t a_col, const float *b, int64_t b_row,
                     conv_sums acc)
{
    for (int64_t p = 0; p < k; p++, a += a_col, b += b_row) {
        v16 line[CONV_VECS];

#pragma GCC unroll 2
        for (int v = 0; v < CONV_VECS; v++)
            line[v] = v16_load(b + 16 * v);
#pragma GCC unroll 14
        for (int r = 0; r < rows; r++) {
            v16 x = v16_set(a[r * a_row]);

#pragma GCC unroll 2
            for (int v = 0; v < CONV_VECS; v++)
                acc[r][v] = mul_add(x, line[v], acc[r][v]);
        }
    }
}

/* acc = from + acc for the columns there are. */
SIMD void conv_add(int rows, const float *from, int64_t row, int64_t left,
                   conv_sums acc)
{
#pragma GCC unroll 14
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < CONV_VECS; v++)
            if (left > 16 * v)
                acc[r][v] = v16_add(take(from + r * row + 16 * v,
                                         left - 16 * v), acc[r][v]);
}

SIMD void conv_put(int rows, float *to, int64_t row, int64_t left,
                   conv_sums acc)
{
#pragma GCC unroll 14
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < CONV_VECS; v++)
            if (left > 16 * v)
                put(to + r * row + 16 * v, acc[r][v], left - 16 * v);
}

/* How many rows the next tile takes of those left: tiles of nearly one
 * height. */
static int conv_height(int64_t left)
{
    int64_t tiles = (left + CONV_ROWS - 1) / CONV_ROWS;

    return (int)((left + tiles - 1) / tiles);
}

/* ------ y ------ */

SIMD void conv_bias(int rows, const float *bias, int64_t left, conv_sums acc)
{
#pragma GCC unroll 2
    for (int v = 0; v < CONV_VECS; v++)
        if (left > 16 * v) {
            v16 b = take(bias + 16 * v, left - 16 * v);

#pragma GCC unroll 14
            for (int r = 0; r < rows; r++)
                acc[r][v] = v16_add(acc[r][v], b);
        }
}

SIMD void conv_round(int rows, conv_sums acc)
{
#pragma GCC unroll 14
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < CONV_VECS; v++)
            acc[r][v] = bf16_of(acc[r][v]);
}

SIMD void conv_relu(int rows, conv_sums acc)
{
#pragma GCC unroll 14
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < CONV_VECS; v++)
            acc[r][v] = relu_of(acc[r][v]);
}

SIMD void conv_slope(int rows, float *to, int64_t row, int64_t left,
                     conv_sums acc)
{
#pragma GCC unroll 14
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < CONV_VECS; v++)
            if (left > 16 * v)
                put(to + r * row + 16 * v, relu_slope(acc[r][v]),
                    left - 16 * v);
}

SIMD void conv_times(int rows, const float *slope, int64_t row, int64_t left,
                     conv_sums acc)
{
#pragma GCC unroll 14
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < CONV_VECS; v++)
            if (left > 16 * v)
                acc[r][v] = times_slope(acc[r][v],
                                        take(slope + r * row + 16 * v,
                                             left - 16 * v));
}

/* The epilogue of a whole tile, in the order of gemm.h. */
SIMD void conv_end(const ls__gemm *g, int rows, int64_t i, int64_t j,
                   conv_sums acc)
{
    int64_t at = i * g->c_row + j, left = g->n - j;

    if (g->bias)
        conv_bias(rows, g->bias + j, left, acc);
    if (g->round)
        conv_round(rows, acc);
    if (g->activation && g->slope)
        conv_slope(rows, g->slope + at, g->c_row, left, acc);
    if (g->activation)
        conv_relu(rows, acc);
    if (g->times)
        conv_times(rows, g->times + at, g->c_row, left, acc);
    if (g->add)
        conv_add(rows, g->add + at, g->c_row, left, acc);
    conv_put(rows, g->c + at, g->c_row, left, acc);
}

static void conv_end_curved(const ls__gemm *g, int rows, int64_t i, int64_t j,
                            const float *sum)
{
    float *c = g->c + i * g->c_row + j;

    for (int r = 0; r < rows; r++, c += g->c_row)
        for (int v = 0; v < CONV_VECS && g->n - j > 16 * v; v++)
            put(c + 16 * v,
                finish(g, true, v16_load(sum + r * CONV_COLUMNS + 16 * v),
                       i + r, j + 16 * v), g->n - j - 16 * v);
}

/* Outputs x .. x+rows of output row y, channels from j on: all of K. */
SIMD void conv_tile(const ls__conv *v, int rows, int64_t y, int64_t x,
                    int64_t j)
{
    float sum[CONV_ROWS * CONV_COLUMNS] __attribute__((aligned(64)));
    const float *a = v->x + y * v->step_y + x * v->step_x;
    const float *b = v->out.packed + j * v->kh * v->run;
    int64_t left = LS__CHUNK, i = y * v->w + x;
    bool later = false;
    conv_sums acc;

    conv_clear(rows, acc);
    for (int64_t ky = 0; ky < v->kh; ky++, a += v->row)
        for (int64_t p = 0, k; p < v->run; p += k, left -= k) {
            if (left == 0) {
                if (later)
                    conv_add(rows, sum, CONV_COLUMNS, CONV_COLUMNS, acc);
                conv_put(rows, sum, CONV_COLUMNS, CONV_COLUMNS, acc);
                conv_clear(rows, acc);
                later = true;
                left = LS__CHUNK;
            }
            k = v->run - p < left ? v->run - p : left;
            conv_steps(rows, k, a + p, v->step_x, 1, b, CONV_COLUMNS, acc);
            b += k * CONV_COLUMNS;
        }
    if (later)
        conv_add(rows, sum, CONV_COLUMNS, CONV_COLUMNS, acc);
    if (!is_curved(&v->out)) {
        conv_end(&v->out, rows, i, j, acc);
    } else {
        conv_put(rows, sum, CONV_COLUMNS, CONV_COLUMNS, acc);
        conv_end_curved(&v->out, rows, i, j, sum);
    }
}

/* One place for each height, so that loops over rows unroll. */
static void conv_tile_of(const ls__conv *v, int rows, int64_t y, int64_t x,
                         int64_t j)
{
    switch (rows) {
    case 1: conv_tile(v, 1, y, x, j); break;
    case 2: conv_tile(v, 2, y, x, j); break;
    case 3: conv_tile(v, 3, y, x, j); break;
    case 4: conv_tile(v, 4, y, x, j); break;
#if defined(__AVX2__)
    case 5: conv_tile(v, 5, y, x, j); break;
    case 6: conv_tile(v, 6, y, x, j); break;
#endif
#if defined(__AVX512F__)
    case 7: conv_tile(v, 7, y, x, j); break;
    case 8: conv_tile(v, 8, y, x, j); break;
    case 9: conv_tile(v, 9, y, x, j); break;
    case 10: conv_tile(v, 10, y, x, j); break;
    case 11: conv_tile(v, 11, y, x, j); break;
    case 12: conv_tile(v, 12, y, x, j); break;
    case 13: conv_tile(v, 13, y, x, j); break;
    case 14: conv_tile(v, 14, y, x, j); break;
#endif
    default: break;
    }
}

/* Output rows first .. last. */
static void conv(const ls__conv *v, int64_t first, int64_t last)
{
    for (int64_t y = first; y < last; y++)
        for (int64_t j = 0; j < v->out.n; j += CONV_COLUMNS)
            for (int64_t x = 0, rows; x < v->w; x += rows) {
                rows = conv_height(v->w - x);
                conv_tile_of(v, (int)rows, y, x, j);
            }
}

/* ------ dw and dbias ------ */

/* A chunk of K: a rectangle of h by w outputs. */
typedef struct conv_chunk {
    const float *x; /* of its first window */
    int64_t h, w;
    const float *dy; /* of its first pixel, from channel j on */
    int64_t dy_row, dy_col; /* floats from pixel to pixel */
    bool add;
} conv_chunk;

/* Pixels of a block of two from `at` on, where there are `size`. */
SIMD int64_t conv_pair(int64_t at, int64_t size)
{
    return size - at < 2 ? 1 : 2;
}

/* acc += a b over the pixels of a chunk, in blocks of two by two. */
SIMD void conv_blocks(const ls__conv *v, const conv_chunk *q, int rows,
                      const float *a, conv_sums acc)
{
    for (int64_t y = 0; y < q->h; y += 2)
        for (int64_t x = 0; x < q->w; x += 2)
            for (int64_t i = y; i < y + conv_pair(y, q->h); i++)
                conv_steps(rows, conv_pair(x, q->w),
                           a + i * v->step_y + x * v->step_x, 1, v->step_x,
                           q->dy + i * q->dy_row + x * q->dy_col, q->dy_col,
                           acc);
}

/* Rows m .. m+rows of dw, which is rows of one run, over one chunk. */
SIMD void conv_grad_tile(const ls__conv *v, const conv_chunk *q, int rows,
                         int64_t ky, int64_t m, int64_t j)
{
    float *dw = v->out.c + (ky * v->run + m) * v->out.n + j;
    conv_sums acc;

    conv_clear(rows, acc);
    conv_blocks(v, q, rows, q->x + ky * v->row + m, acc);
    if (q->add)
        conv_add(rows, dw, v->out.n, v->out.n - j, acc);
    conv_put(rows, dw, v->out.n, v->out.n - j, acc);
}

static void conv_grad_tile_of(const ls__conv *v, const conv_chunk *q, int rows,
                              int64_t ky, int64_t m, int64_t j)
{
    switch (rows) {
    case 1: conv_grad_tile(v, q, 1, ky, m, j); break;
    case 2: conv_grad_tile(v, q, 2, ky, m, j); break;
    case 3: conv_grad_tile(v, q, 3, ky, m, j); break;
    case 4: conv_grad_tile(v, q, 4, ky, m, j); break;
#if defined(__AVX2__)
    case 5: conv_grad_tile(v, q, 5, ky, m, j); break;
    case 6: conv_grad_tile(v, q, 6, ky, m, j); break;
#endif
#if defined(__AVX512F__)
    case 7: conv_grad_tile(v, q, 7, ky, m, j); break;
    case 8: conv_grad_tile(v, q, 8, ky, m, j); break;
    case 9: conv_grad_tile(v, q, 9, ky, m, j); break;
    case 10: conv_grad_tile(v, q, 10, ky, m, j); break;
    case 11: conv_grad_tile(v, q, 11, ky, m, j); break;
    case 12: conv_grad_tile(v, q, 12, ky, m, j); break;
    case 13: conv_grad_tile(v, q, 13, ky, m, j); break;
    case 14: conv_grad_tile(v, q, 14, ky, m, j); break;
#endif
    default: break;
    }
}

/* The last channels of a chunk's dy, filled up with zeros. */
static void conv_fill_up(conv_chunk *q, int64_t left, float *room)
{
    float *to = room;

    for (int64_t y = 0; y < q->h; y++)
        for (int64_t x = 0; x < q->w; x++, to += CONV_COLUMNS)
            for (int v = 0; v < CONV_VECS; v++)
                v16_store(to + 16 * v,
                          left > 16 * v
                              ? take(q->dy + y * q->dy_row + x * q->dy_col +
                                         16 * v, left - 16 * v)
                              : v16_zero());
    q->dy = room;
    q->dy_row = q->w * CONV_COLUMNS;
    q->dy_col = CONV_COLUMNS;
}

static void conv_grad_chunk(const ls__conv *v, conv_chunk q, float *room)
{
    const float *dy = q.dy;

    for (int64_t j = 0; j < v->out.n; j += CONV_COLUMNS) {
        conv_chunk part = q;

        part.dy = dy + j;
        if (v->out.n - j < CONV_COLUMNS)
            conv_fill_up(&part, v->out.n - j, room);
        for (int64_t ky = 0; ky < v->kh; ky++)
            for (int64_t m = 0, rows; m < v->run; m += rows) {
                rows = conv_height(v->run - m);
                conv_grad_tile_of(v, &part, (int)rows, ky, m, j);
            }
    }
}

/* dbias, the same of a window that sees a 1. */
static void conv_bias_chunk(const conv_chunk *q, int64_t n, float *dbias)
{
    const v16 one = one_word();

    for (int64_t j = 0; j < n; j += 16) {
        v16 sum = v16_zero();

        for (int64_t y = 0; y < q->h; y += 2)
            for (int64_t x = 0; x < q->w; x += 2)
                for (int64_t i = y; i < y + conv_pair(y, q->h); i++)
                    for (int64_t k = x; k < x + conv_pair(x, q->w); k++)
                        sum = mul_add(one, take(q->dy + i * q->dy_row +
                                                    k * q->dy_col + j, n - j),
                                      sum);
        if (q->add)
            sum = v16_add(take(dbias + j, n - j), sum);
        put(dbias + j, sum, n - j);
    }
}

/* Room for a chunk of dy that has to be filled up: pixels x channels. */
static int64_t conv_room(const ls__conv *v)
{
    (void)v;
    return LS__CHUNK * CONV_COLUMNS;
}

static void conv_grad(const ls__conv *v, float *dbias, float *room)
{
    int64_t w = ls__conv_chunk_w(v->w), h = ls__conv_chunk_h(v->w);
    int64_t n = v->out.n;
    bool add_to = v->out.accumulate;

    for (int64_t y = 0; y < v->h; y += h)
        for (int64_t x = 0; x < v->w; x += w, add_to = true) {
            conv_chunk q = {.x = v->x + y * v->step_y + x * v->step_x,
                            .h = v->h - y < h ? v->h - y : h,
                            .w = v->w - x < w ? v->w - x : w,
                            .dy = v->out.b + (y * v->w + x) * n,
                            .dy_row = v->w * n, .dy_col = n, .add = add_to};

            conv_grad_chunk(v, q, room);
            if (dbias)
                conv_bias_chunk(&q, n, dbias);
        }
}

#endif
