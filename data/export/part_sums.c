/* SPDX-License-Identifier: BSD-3-Clause */
/* == sums: add sub == */
/* ------ sums along a row, of x - from ------ */

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

static float row_sum(long n, const float *x, float from)
{
    float total = 0;
    long i, j;

    for (i = 0; i < n; i += 4096) {
        float lane[16] = {0};

        for (j = i; j < n && j < i + 4096; j++)
            lane[j % 16] = add(lane[j % 16], sub(x[j], from));
        total = add(total, lanes(lane));
    }
    return total;
}

/* == squares: fma sums == */
static float square_sum(long n, const float *x, float from)
{
    float total = 0;
    long i, j;

    for (i = 0; i < n; i += 4096) {
        float lane[16] = {0};

        for (j = i; j < n && j < i + 4096; j++) {
            float c = sub(x[j], from);

            lane[j % 16] = fused(c, c, lane[j % 16]);
        }
        total = add(total, lanes(lane));
    }
    return total;
}

/* == layer_norm: mul sub div root squares == */
/* scale and bias of element j stand at j % period.  In two passes the variance
 * is that of x - mean. */
static void layer_norm(long n, float epsilon, int passes, const float *x,
                       const float *scale, const float *bias, long period,
                       float *y)
{
    float by = divide(1.0f, (float)n), mean = mul(row_sum(n, x, 0), by);
    float from = passes == 2 ? mean : 0, rest = mul(row_sum(n, x, from), by);
    float var = sub(mul(square_sum(n, x, from), by), mul(rest, rest)), r;
    long j;

    r = divide(1.0f, root(add(var > 0 ? var : 0, epsilon)));
    for (j = 0; j < n; j++)
        y[j] = fused(sub(x[j], mean), mul(r, scale[j % period]),
                     bias[j % period]);
}

/* == group_norm: layer_norm == */
/* An image of `pixels` of c channels in `groups`; t: room for a group. */
static void group_norm(long pixels, long c, long groups, float epsilon,
                       int passes, const float *x, const float *scale,
                       const float *bias, float *y, float *t)
{
    long run = c / groups, g, p, i;

    for (g = 0; g < c; g += run) {
        for (p = 0; p < pixels; p++)
            for (i = 0; i < run; i++)
                t[p * run + i] = x[p * c + g + i];
        layer_norm(pixels * run, epsilon, passes, t, scale + g, bias + g, run,
                   t);
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
    float r = divide(1.0f, root(add(mul(square_sum(n, x, 0), by), epsilon)));
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
    return row_sum(n, e, 0);
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

