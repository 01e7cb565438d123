/* SPDX-License-Identifier: BSD-3-Clause */
/* == product: fma add == */
/* ------ products ------ */

/* An element of a product is K cut into chunks of 256, each chunk one chain of
 * fused multiply-adds from +0 in rising k; chunks are added in order.  Steps of
 * a chain whose x is 0 are left out: they change nothing.
 *
 * Weights lie chunk by chunk, in each by panels of 32 outputs (the last filled
 * up with zeros), in each k by k.  ROWS rows share what is read of them. */
enum { CHUNK = 256, PANEL = 32, ROWS = 16 };

/* Numbers of a row that are not zero: which, and the least exponent. */
typedef struct list {
    int count, least;
    unsigned char at[CHUNK];
} list;

static void list_row(int k, const float *x, list *to)
{
    int i, e, n = 0, least = 255;

    for (i = 0; i < k; i++) {
        to->at[n] = (unsigned char)i;
        e = exponent(x[i]);
        n += e != 0;
        e = e ? e : 255;
        least = e < least ? e : least;
    }
    to->count = n;
    to->least = least;
}

/* y = a panel's sums, or y + them. */
static void put_panel(int n, const float *sum, int later, float *y)
{
    int j;

    for (j = 0; j < n; j++)
        y[j] = later ? add(y[j], sum[j]) : sum[j];
}

/* One row of a panel. */
static void panel_row(const list *l, const float *x, const float *w, int n,
                      int later, float *y)
{
    float sum[PANEL];
    int i, j;

    for (j = 0; j < PANEL; j++)
        sum[j] = 0;
    for (i = 0; i < l->count; i++) {
        const float *v = w + l->at[i] * PANEL;
        float a = x[l->at[i]];

        for (j = 0; j < PANEL; j++)
            sum[j] = FMA(a, v[j], sum[j]);
    }
    put_panel(n, sum, later, y);
}

/* The same where a sum may come below 2^-126 on its way. */
static void panel_careful(const list *l, const float *x, const float *w, int n,
                          int later, float *y)
{
    float sum[PANEL];
    int i, j;

    for (j = 0; j < PANEL; j++)
        sum[j] = 0;
    for (i = 0; i < l->count; i++)
        for (j = 0; j < n; j++)
            sum[j] = fused(x[l->at[i]], w[l->at[i] * PANEL + j], sum[j]);
    for (j = 0; j < n; j++)
        sum[j] = add(sum[j], 0); /* no -0 */
    put_panel(n, sum, later, y);
}

/* Four rows of a panel, zeros and all. */
static void panel_rows(int k, const float *x, long step, const float *w, int n,
                       int later, float *y, long y_step)
{
    float sum[4][PANEL];
    int i, j, r;

    for (r = 0; r < 4; r++)
        for (j = 0; j < PANEL; j++)
            sum[r][j] = 0;
    for (i = 0; i < k; i++, w += PANEL)
        for (r = 0; r < 4; r++) {
            float a = x[r * step + i];

            for (j = 0; j < PANEL; j++)
                sum[r][j] = FMA(a, w[j], sum[r][j]);
        }
    for (r = 0; r < 4; r++)
        put_panel(n, sum[r], later, y + r * y_step);
}

/* No sum is below 2^-126 but 0 where every product is a multiple of 2^-126: the
 * least exponents of both sides say so. */
static int is_safe(const list *l, int least)
{
    return l->least + least >= 174;
}

/* Are four rows best taken together? */
static int is_full(const list *l, int k, int least)
{
    int r, count = 0;

    for (r = 0; r < 4; r++) {
        if (!is_safe(l + r, least))
            return 0;
        count += l[r].count;
    }
    return 2 * count > 4 * k;
}

/* A panel of a chunk of up to ROWS rows. */
static void panel(int m, int k, const float *x, long step, const list *l,
                  const float *w, int least, int n, int later, float *y,
                  long y_step)
{
    int r = 0;

    while (r < m)
        if (r + 4 <= m && is_full(l + r, k, least)) {
            panel_rows(k, x + r * step, step, w, n, later, y + r * y_step,
                       y_step);
            r += 4;
        } else {
            (is_safe(l + r, least) ? panel_row : panel_careful)(
                l + r, x + r * step, w, n, later, y + r * y_step);
            r++;
        }
}

/* y (m,n) = x (m,k) w; rows are `step` and `y_step` numbers apart; least: the
 * least exponent of a weight that is not 0. */
static void product(long m, long k, long n, const float *x, long step,
                    const float *weights, int least, float *y, long y_step)
{
    list l[ROWS];
    long i, c, j;
    int r;

    for (i = 0; i < m; i += ROWS) {
        int rows = m - i < ROWS ? (int)(m - i) : ROWS;
        const float *w = weights;

        for (c = 0; c < k; c += CHUNK) {
            int deep = k - c < CHUNK ? (int)(k - c) : CHUNK;

            for (r = 0; r < rows; r++)
                list_row(deep, x + (i + r) * step + c, l + r);
            for (j = 0; j < n; j += PANEL, w += deep * PANEL)
                panel(rows, deep, x + i * step + c, step, l, w, least,
                      n - j < PANEL ? (int)(n - j) : PANEL, c > 0,
                      y + i * y_step + j, y_step);
        }
    }
}

/* == bias: add == */
static void add_bias(long m, long n, const float *bias, float *y, long step)
{
    long i, j;

    for (i = 0; i < m; i++)
        for (j = 0; j < n; j++)
            y[i * step + j] = add(y[i * step + j], bias[j]);
}

/* == pack: product == */
/* Write b (k,n) as product() reads weights; returns the least exponent. */
static int pack(long k, long n, const float *b, long row, long col, float *w)
{
    int least = 255, e;
    long c, j, i, p;

    for (c = 0; c < k; c += CHUNK)
        for (j = 0; j < n; j += PANEL)
            for (i = c; i < k && i < c + CHUNK; i++)
                for (p = j; p < j + PANEL; p++, w++) {
                    *w = p < n ? b[i * row + p * col] : 0;
                    e = exponent(*w);
                    least = e && e < least ? e : least;
                }
    return least;
}

/* == sums: add == */
/* ------ sums along a row ------ */

/* 16 lanes in index order, then lanes i and i + 8, 4, 2, 1; longer rows in
 * blocks of 4096. */
static float lanes(const float *lane)
{
    float x[16];
    int i, s;

    for (i = 0; i < 16; i++)
        x[i] = lane[i];
    for (s = 8; s; s /= 2)
        for (i = 0; i < s; i++)
            x[i] = add(x[i], x[i + s]);
    return x[0];
}

static float row_sum(long n, const float *x)
{
    float total = 0;
    long i, j;

    for (i = 0; i < n; i += 4096) {
        float lane[16] = {0};

        for (j = i; j < n && j < i + 4096; j++)
            lane[j % 16] = add(lane[j % 16], x[j]);
        total = add(total, lanes(lane));
    }
    return total;
}

/* == squares: fma sums == */
static float square_sum(long n, const float *x)
{
    float total = 0;
    long i, j;

    for (i = 0; i < n; i += 4096) {
        float lane[16] = {0};

        for (j = i; j < n && j < i + 4096; j++)
            lane[j % 16] = fused(x[j], x[j], lane[j % 16]);
        total = add(total, lanes(lane));
    }
    return total;
}

/* == layer_norm: mul sub div root squares == */
/* scale and bias of element j stand at j % period. */
static void layer_norm(long n, const float *x, const float *scale,
                       const float *bias, long period, float *y)
{
    float by = divide(1.0f, (float)n), mean = mul(row_sum(n, x), by);
    float var = sub(mul(square_sum(n, x), by), mul(mean, mean)), r;
    long j;

    r = divide(1.0f, root(add(var > 0 ? var : 0, 1e-6f)));
    for (j = 0; j < n; j++)
        y[j] = fused(sub(x[j], mean), mul(r, scale[j % period]),
                     bias[j % period]);
}

/* == group_norm: layer_norm == */
/* An image of `pixels` of c channels in `groups`; t: room for a group. */
static void group_norm(long pixels, long c, long groups, const float *x,
                       const float *scale, const float *bias, float *y,
                       float *t)
{
    long run = c / groups, g, p, i;

    for (g = 0; g < c; g += run) {
        for (p = 0; p < pixels; p++)
            for (i = 0; i < run; i++)
                t[p * run + i] = x[p * c + g + i];
        layer_norm(pixels * run, t, scale + g, bias + g, run, t);
        for (p = 0; p < pixels; p++)
            for (i = 0; i < run; i++)
                y[p * c + g + i] = t[p * run + i];
    }
}

/* == rms_norm: mul div root squares == */
static void rms_norm(long n, float epsilon, const float *x, const float *scale,
                     float *y)
{
    float by = divide(1.0f, (float)n);
    float r = divide(1.0f, root(add(mul(square_sum(n, x), by), epsilon)));
    long j;

    for (j = 0; j < n; j++)
        y[j] = mul(x[j], mul(r, scale[j]));
}

/* == batch_norm: fma sub == */
static void batch_norm(long m, long n, const float *x, const float *mean,
                       const float *factor, const float *bias, float *y)
{
    long i, j;

    for (i = 0; i < m; i++)
        for (j = 0; j < n; j++)
            y[i * n + j] = fused(sub(x[i * n + j], mean[j]), factor[j],
                                 bias[j]);
}

/* == exps: sub exp sums == */
static float row_top(long n, const float *x)
{
    float top = number(0xff800000u);
    long j;

    for (j = 0; j < n; j++)
        top = upper(x[j], top);
    return top;
}

/* The sum of e^(x - top); the exponentials are kept in e. */
static float row_exp(long n, const float *x, float top, float *e)
{
    long j;

    for (j = 0; j < n; j++)
        e[j] = e_to(sub(x[j], top));
    return row_sum(n, e);
}

/* == softmax: div exps == */
static void softmax(long n, const float *x, float *y)
{
    float by = divide(1.0f, row_exp(n, x, row_top(n, x), y));
    long j;

    for (j = 0; j < n; j++)
        y[j] = mul(y[j], by);
}

/* == log_softmax: log exps == */
static void log_softmax(long n, const float *x, float *y)
{
    float top = row_top(n, x), less;
    long j;

    less = logarithm(row_exp(n, x, top, y));
    for (j = 0; j < n; j++)
        y[j] = sub(sub(x[j], top), less);
}

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

