/* SPDX-License-Identifier: BSD-3-Clause */
/* == rows: start == */
enum { ROWS = 16 }; /* that share what is read of weights */

/* == product: fma add rows == */
/* ------ products ------ */

/* An element of a product is K cut into chunks of 256, each chunk one chain of
 * fused multiply-adds from +0 in rising k; chunks are added in order.  Steps of
 * a chain whose x is 0 are left out: they change nothing.
 *
 * Weights lie chunk by chunk, in each by panels of 64 outputs, then of 16, then
 * of what is left; in a panel k by k.  ROWS rows share what is read of them,
 * and two rows the steps of a chain, which are left out where both are 0.
 * Sums are arrays of 16 lanes that compilers keep in registers. */
enum { CHUNK = 256, PANEL = 64, LANES = 16 };

/* Outputs of the panel that begins with so many left. */
static int panel_width(long left)
{
    return left >= PANEL ? PANEL : left >= LANES ? LANES : (int)left;
}

/* Steps of a chain that are not left out, and the least exponent of x. */
typedef struct list {
    int count, least;
    unsigned char at[CHUNK];
} list;

/* The list of a row, or of two (the same one twice: of one). */
static void make_list(int k, const float *x, const float *other, list *to)
{
    int i, n = 0, least = 255;

    for (i = 0; i < k; i++) {
        int e = exponent(x[i]), f = exponent(other[i]);

        to->at[n] = (unsigned char)i;
        n += (e | f) != 0;
        e = e ? e : 255;
        f = f ? f : 255;
        e = e < f ? e : f;
        least = e < least ? e : least;
    }
    to->count = n;
    to->least = least;
}

/* y = n sums, or y + them. */
static void put_sums(int n, const float *sum, int later, float *y)
{
    int j;

    for (j = 0; j < n; j++)
        y[j] = later ? add(y[j], sum[j]) : sum[j];
}

/* sum += a w, 16 lanes. */
#define STEP(sum, a, w) \
    for (j = 0; j < LANES; j++) \
        sum[j] = FMA(a, (w)[j], sum[j])

/* One row of a panel of 64. */
static void row_64(const list *l, const float *x, const float *w, int later,
                   float *y)
{
    float s[LANES], t[LANES], u[LANES], v[LANES], sum[4][LANES];
    int i, j;

    for (j = 0; j < LANES; j++)
        s[j] = t[j] = u[j] = v[j] = 0;
    for (i = 0; i < l->count; i++) {
        long at = l->at[i];
        const float *p = w + at * PANEL;
        float a = x[at];

        STEP(s, a, p);
        STEP(t, a, p + LANES);
        STEP(u, a, p + 2 * LANES);
        STEP(v, a, p + 3 * LANES);
    }
    for (j = 0; j < LANES; j++) {
        sum[0][j] = s[j];
        sum[1][j] = t[j];
        sum[2][j] = u[j];
        sum[3][j] = v[j];
    }
    put_sums(PANEL, sum[0], later, y);
}

/* Two rows of a panel of 64. */
static void rows_64(const list *l, const float *x, long step, const float *w,
                    int later, float *y, long y_step)
{
    float s[LANES], t[LANES], u[LANES], v[LANES], sum[2][4][LANES];
    float s2[LANES], t2[LANES], u2[LANES], v2[LANES];
    int i, j;

    for (j = 0; j < LANES; j++)
        s[j] = t[j] = u[j] = v[j] = s2[j] = t2[j] = u2[j] = v2[j] = 0;
    for (i = 0; i < l->count; i++) {
        long at = l->at[i];
        const float *p = w + at * PANEL;
        float a = x[at], b = x[step + at];

        STEP(s, a, p);
        STEP(t, a, p + LANES);
        STEP(u, a, p + 2 * LANES);
        STEP(v, a, p + 3 * LANES);
        STEP(s2, b, p);
        STEP(t2, b, p + LANES);
        STEP(u2, b, p + 2 * LANES);
        STEP(v2, b, p + 3 * LANES);
    }
    for (j = 0; j < LANES; j++) {
        sum[0][0][j] = s[j];
        sum[0][1][j] = t[j];
        sum[0][2][j] = u[j];
        sum[0][3][j] = v[j];
        sum[1][0][j] = s2[j];
        sum[1][1][j] = t2[j];
        sum[1][2][j] = u2[j];
        sum[1][3][j] = v2[j];
    }
    put_sums(PANEL, sum[0][0], later, y);
    put_sums(PANEL, sum[1][0], later, y + y_step);
}

/* One row of a panel of 16. */
static void row_16(const list *l, const float *x, const float *w, int later,
                   float *y)
{
    float s[LANES], sum[LANES];
    int i, j;

    for (j = 0; j < LANES; j++)
        s[j] = 0;
    for (i = 0; i < l->count; i++) {
        long at = l->at[i];

        STEP(s, x[at], w + at * LANES);
    }
    for (j = 0; j < LANES; j++)
        sum[j] = s[j];
    put_sums(LANES, sum, later, y);
}

/* One row of the last panel. */
static void row_any(const list *l, const float *x, const float *w, int n,
                    int later, float *y)
{
    float sum[LANES];
    int i, j;

    for (j = 0; j < n; j++)
        sum[j] = 0;
    for (i = 0; i < l->count; i++) {
        long at = l->at[i];
        const float *p = w + at * n;
        float a = x[at];

        for (j = 0; j < n; j++)
            sum[j] = FMA(a, p[j], sum[j]);
    }
    put_sums(n, sum, later, y);
}

/* The same where a sum may come below 2^-126 on its way. */
static void row_careful(const list *l, const float *x, const float *w, int n,
                        int later, float *y)
{
    float sum[PANEL];
    int i, j;

    for (j = 0; j < n; j++)
        sum[j] = 0;
    for (i = 0; i < l->count; i++)
        for (j = 0; j < n; j++)
            sum[j] = fused(x[l->at[i]], w[l->at[i] * n + j], sum[j]);
    for (j = 0; j < n; j++)
        sum[j] = add(sum[j], 0); /* no -0 */
    put_sums(n, sum, later, y);
}

/* No sum is below 2^-126 but 0 where every product is a multiple of 2^-126: the
 * least exponents of both sides say so. */
static int is_safe(const list *l, int least)
{
    return l->least + least >= 174;
}

static void row_of(const list *l, const float *x, const float *w, int least,
                   int n, int later, float *y)
{
    if (!is_safe(l, least))
        row_careful(l, x, w, n, later, y);
    else if (n == PANEL)
        row_64(l, x, w, later, y);
    else if (n == LANES)
        row_16(l, x, w, later, y);
    else
        row_any(l, x, w, n, later, y);
}

/* A panel of a chunk of up to ROWS rows, two by two. */
static void panel(int m, const float *x, long step, const list *l,
                  const float *w, int least, int n, int later, float *y,
                  long y_step)
{
    int r, both;

    for (r = 0; r < m; r++) {
        both = r % 2 == 0 && r + 1 < m && n == PANEL &&
               is_safe(l + r / 2, least);
        if (both)
            rows_64(l + r / 2, x + r * step, step, w, later, y + r * y_step,
                    y_step);
        else
            row_of(l + r / 2, x + r * step, w, least, n, later, y + r * y_step);
        r += both;
    }
}

/* y (m,n) = x (m,k) w; rows are `step` and `y_step` numbers apart; least: the
 * least exponent of a weight that is not 0. */
static void product(long m, long k, long n, const float *x, long step,
                    const float *weights, int least, float *y, long y_step)
{
    list l[ROWS / 2];
    long i, c, j;
    int r, wide;

    for (i = 0; i < m; i += ROWS) {
        int rows = m - i < ROWS ? (int)(m - i) : ROWS;
        const float *w = weights;

        for (c = 0; c < k; c += CHUNK) {
            int deep = k - c < CHUNK ? (int)(k - c) : CHUNK;

            for (r = 0; r < rows; r += 2)
                make_list(deep, x + (i + r) * step + c,
                          x + (i + r + (r + 1 < rows)) * step + c, l + r / 2);
            for (j = 0; j < n; j += wide, w += deep * wide) {
                wide = panel_width(n - j);
                panel(rows, x + i * step + c, step, l, w, least, wide,
                      c > 0, y + i * y_step + j, y_step);
            }
        }
    }
}

/* == times: product == */
/* Weights of a layer: of groups one after the other. */
typedef struct weights {
    const float *w;
    int least;
} weights;

/* y = x times the weights of a group, as product() says. */
static void times(long m, long k, long n, const float *x, long step,
                  const weights *of, long group, float *y, long y_step,
                  float *t)
{
    (void)t;
    product(m, k, n, x, step, of->w + group * k * n, of->least, y, y_step);
}

/* == whole: mul div size == */
/* ------ products of whole numbers ------ */

/* x to the nearest whole number, of two that are as near the even one, for what
 * is no more than 127 in size. */
static int whole(float x)
{
    EXACT float r = x + 0x1.8p23f;

    return (int)((bits(r) & 255) ^ 128) - 128;
}

/* q = the n numbers of a row in steps of their greatest / 127, which it
 * returns; where all are below 2^-100 they are zeros. */
static float whole_row(long n, const float *x, signed char *q)
{
    float most = 0, by;
    long i;

    for (i = 0; i < n; i++)
        most = size_of(x[i]) > most ? size_of(x[i]) : most;
    by = most < 0x1p-100f ? 0 : divide(127.0f, most);
    for (i = 0; i < n; i++)
        q[i] = (signed char)whole(mul(x[i], by));
    return divide(most, 127.0f);
}

/* == times_8: whole rows == */
/* Weights of a layer: of groups one after the other, output by output, in
 * steps of each output's scale. */
typedef struct weights {
    const signed char *w;
    const float *scale;
} weights;

static int32_t dot(long n, const signed char *a, const signed char *b)
{
    int32_t sum = 0;
    long i;

    for (i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* y = x times the weights of a group; t: room for ROWS rows of bytes. */
static void times(long m, long k, long n, const float *x, long step,
                  const weights *of, long group, float *y, long y_step,
                  float *t)
{
    const signed char *w = of->w + group * k * n;
    signed char *q = (signed char *)t;
    float unit[ROWS];
    long i, j, r, rows;

    for (i = 0; i < m; i += rows) {
        rows = m - i < ROWS ? m - i : ROWS;
        for (r = 0; r < rows; r++)
            unit[r] = whole_row(k, x + (i + r) * step, q + r * k);
        for (j = 0; j < n; j++)
            for (r = 0; r < rows; r++)
                y[(i + r) * y_step + j] =
                    mul((float)dot(k, q + r * k, w + j * k),
                        mul(unit[r], of->scale[group * n + j]));
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
    int least = 255, e, wide;
    long c, j, i, p;

    for (c = 0; c < k; c += CHUNK)
        for (j = 0; j < n; j += wide) {
            wide = panel_width(n - j);
            for (i = c; i < k && i < c + CHUNK; i++)
                for (p = j; p < j + wide; p++, w++) {
                    *w = b[i * row + p * col];
                    e = exponent(*w);
                    least = e && e < least ? e : least;
                }
        }
    return least;
}

