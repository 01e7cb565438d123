/* SPDX-License-Identifier: BSD-3-Clause */
/* == window: start == */
/* ------ images (h,w,c) ------ */

/* Sizes of a window and what it makes; -1: padding. */
typedef struct window {
    long in_h, in_w, c, kh, kw, sy, sx, dy, dx, top, left, h, w;
} window;

/* == conv: times window == */
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

/* Patches times the weights; t: room for ROWS patches, and what times() needs.
 */
static void conv(const window *v, long groups, long features, const float *x,
                 const weights *of, float *y, float *t)
{
    long run = v->c / groups, k = v->kh * v->kw * run, n = features / groups;
    long g, p, r, rows;

    for (g = 0; g < groups; g++)
        for (p = 0; p < v->h * v->w; p += rows) {
            rows = v->h * v->w - p < ROWS ? v->h * v->w - p : ROWS;
            for (r = 0; r < rows; r++)
                patch(v, x, p + r, g * run, run, t + r * k);
            times(rows, k, n, t, k, of, g, y + p * features + g * n, features,
                  t + ROWS * k);
        }
}

/* == depthwise: fma add window == */
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

                    if (tap && tap % 256 == 0) {
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
/* The first of the window's rows, or columns, that is in the image, and their
 * end; they begin at `at` and are `gap` apart. */
static long pool_low(long at, long gap)
{
    return at < 0 ? (gap - 1 - at) / gap : 0;
}

static long pool_high(long at, long gap, long k, long size)
{
    long n = (size - at + gap - 1) / gap;

    return n < k ? n : k;
}

/* == max_pool: window pooling == */
static void max_pool(const window *v, const float *x, float *y)
{
    long p, c, i, j;

    for (p = 0; p < v->h * v->w; p++)
        for (c = 0; c < v->c; c++) {
            long a = p / v->w * v->sy - v->top, b = p % v->w * v->sx - v->left;
            long i1 = pool_high(a, v->dy, v->kh, v->in_h);
            long j1 = pool_high(b, v->dx, v->kw, v->in_w);
            long i0 = pool_low(a, v->dy), j0 = pool_low(b, v->dx);
            float best = 0;

            for (i = i0; i < i1; i++)
                for (j = j0; j < j1; j++) {
                    float one = x[((a + i * v->dy) * v->in_w + b + j * v->dx) *
                                  v->c + c];

                    if ((i == i0 && j == j0) || best < one || one != one)
                        best = one;
                }
            y[p * v->c + c] = best;
        }
}

/* == avg_pool: mul div add window pooling == */
/* The mean is of the pixels before end_y and end_x, of which those that are
 * outside the image are 0; or (inside) only of those in it. */
static void avg_pool(const window *v, int inside, long end_y, long end_x,
                     const float *x, float *y)
{
    long p, c, i, j;

    for (p = 0; p < v->h * v->w; p++)
        for (c = 0; c < v->c; c++) {
            long a = p / v->w * v->sy - v->top, b = p % v->w * v->sx - v->left;
            long i1 = pool_high(a, 1, v->kh, v->in_h), i0 = pool_low(a, 1);
            long j1 = pool_high(b, 1, v->kw, v->in_w), j0 = pool_low(b, 1);
            long rows = inside ? i1 - i0 : pool_high(a, 1, v->kh, end_y);
            long cols = inside ? j1 - j0 : pool_high(b, 1, v->kw, end_x);
            float sum = 0;

            for (i = i0; i < i1; i++)
                for (j = j0; j < j1; j++)
                    sum = add(sum, x[((a + i) * v->in_w + b + j) * v->c + c]);
            y[p * v->c + c] = mul(sum, divide(1.0f, (float)(rows * cols)));
        }
}
