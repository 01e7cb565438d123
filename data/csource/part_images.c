/* SPDX-License-Identifier: BSD-3-Clause */
/* == conv: product == */
/* ------ images (h,w,c) ------ */

/* Sizes of a window and what it makes; -1: padding. */
typedef struct window {
    long in_h, in_w, c, kh, kw, sy, sx, dy, dx, top, left, h, w;
} window;

/* The patch of output pixel `at`: channels first .. first + run. */
static void patch(const window *v, const float *x, long at, long first,
                  long run, float *out)
{
    long y = at / v->w * v->sy - v->top, i, j, k;
    long z = at % v->w * v->sx - v->left;

    for (i = 0; i < v->kh; i++)
        for (j = 0; j < v->kw; j++, out += run) {
            long a = y + i * v->dy, b = z + j * v->dx;
            int in = a >= 0 && a < v->in_h && b >= 0 && b < v->in_w;

            for (k = 0; k < run; k++)
                out[k] = in ? x[(a * v->in_w + b) * v->c + first + k] : 0;
        }
}

/* Patches times the weights (kernel of groups one after the other); t: room for
 * ROWS patches. */
static void conv(const window *v, long groups, long features, const float *x,
                 const float *weights, long each, int least, float *y, float *t)
{
    long run = v->c / groups, k = v->kh * v->kw * run, n = features / groups;
    long g, p, r, rows;

    for (g = 0; g < groups; g++, weights += each)
        for (p = 0; p < v->h * v->w; p += rows) {
            rows = v->h * v->w - p < ROWS ? v->h * v->w - p : ROWS;
            for (r = 0; r < rows; r++)
                patch(v, x, p + r, g * run, run, t + r * k);
            product(rows, k, n, t, k, weights, least,
                    y + p * features + g * n, features);
        }
}

/* == depthwise: conv == */
/* Each channel by weights of its own, (kh,kw,c). */
static void depthwise(const window *v, const float *x, const float *weights,
                      float *y)
{
    long p, c, i, j, tap;

    for (p = 0; p < v->h * v->w; p++)
        for (c = 0; c < v->c; c++) {
            float total = 0, sum = 0;

            for (i = 0, tap = 0; i < v->kh; i++)
                for (j = 0; j < v->kw; j++, tap++) {
                    long a = p / v->w * v->sy - v->top + i * v->dy;
                    long b = p % v->w * v->sx - v->left + j * v->dx;

                    if (tap && tap % CHUNK == 0) {
                        total = add(total, sum);
                        sum = 0;
                    }
                    if (a >= 0 && a < v->in_h && b >= 0 && b < v->in_w)
                        sum = fused(x[(a * v->in_w + b) * v->c + c],
                                    weights[tap * v->c + c], sum);
                }
            y[p * v->c + c] = add(total, sum);
        }
}

/* == pooling: start == */
/* The first of the window's rows, or columns, that is in the image; its end. */
static long pool_low(long at)
{
    return at < 0 ? -at : 0;
}

static long pool_high(long at, long k, long size)
{
    return size - at < k ? size - at : k;
}

/* == max_pool: conv pooling == */
static void max_pool(const window *v, const float *x, float *y)
{
    long p, c, i, j;

    for (p = 0; p < v->h * v->w; p++)
        for (c = 0; c < v->c; c++) {
            long a = p / v->w * v->sy - v->top, b = p % v->w * v->sx - v->left;
            long i1 = pool_high(a, v->kh, v->in_h), i0 = pool_low(a);
            long j1 = pool_high(b, v->kw, v->in_w), j0 = pool_low(b);
            float best = x[((a + i0) * v->in_w + b + j0) * v->c + c];

            for (i = i0; i < i1; i++)
                for (j = j0; j < j1; j++) {
                    float one = x[((a + i) * v->in_w + b + j) * v->c + c];

                    if (best < one || one != one)
                        best = one;
                }
            y[p * v->c + c] = best;
        }
}

/* == avg_pool: mul div conv pooling == */
static void avg_pool(const window *v, const float *x, float *y)
{
    float by = divide(1.0f, (float)(v->kh * v->kw));
    long p, c, i, j;

    for (p = 0; p < v->h * v->w; p++)
        for (c = 0; c < v->c; c++) {
            long a = p / v->w * v->sy - v->top, b = p % v->w * v->sx - v->left;
            long i1 = pool_high(a, v->kh, v->in_h), i0 = pool_low(a);
            long j1 = pool_high(b, v->kw, v->in_w), j0 = pool_low(b);
            float sum = 0;

            for (i = i0; i < i1; i++)
                for (j = j0; j < j1; j++)
                    sum = add(sum, x[((a + i) * v->in_w + b + j) * v->c + c]);
            y[p * v->c + c] = mul(sum, by);
        }
}

