/* SPDX-License-Identifier: BSD-3-Clause */
/* == rows: start == */
enum { ROWS = 18 }; /* that share what is read of weights */

/* == product: fma add rows == */
/* ------ products ------ */

/* An element of a product is K cut into chunks of 256, each chunk one chain of
 * fused multiply-adds from +0 in rising k; chunks are added in order.  Steps of
 * a chain whose x is 0 are left out: they change nothing.
 *
 * Weights lie chunk by chunk, in each by panels of 16 outputs and one of what
 * is left; in a panel k by k.  Panels are taken four at a time.  ROWS rows
 * share what is read of them, and SIX rows the steps of a chain, which are
 * left out where all are 0.  Sums are arrays of 16 lanes that compilers keep in
 * registers. */
enum { CHUNK = 256, LANES = 16, SIX = 6, PANELS = 4 * LANES };

/* Steps of a chain that are not left out, and the least exponent of x. */
typedef struct list {
    int count, least;
    unsigned char at[CHUNK];
} list;

/* The list of up to SIX rows. */
static void make_list(int rows, int k, const float *x, long step, list *to)
{
    uint32_t any[CHUNK], least = 254u << 23, e;
    int i, r, n = 0;

    for (i = 0; i < k; i++)
        any[i] = 0;
    for (r = 0; r < rows; r++, x += step)
        for (i = 0; i < k; i++) {
            e = bits(x[i]) & 255u << 23;
            any[i] |= e;
            least = e - 1 < least ? e - 1 : least; /* not 0: it is the last */
        }
    for (i = 0; i < k; i++) {
        to->at[n] = (unsigned char)i;
        n += any[i] != 0;
    }
    to->count = n;
    to->least = (int)(least >> 23) + 1;
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

/* Vectors of the CPU, where programs are compiled for one that has them. */
#if defined MODEL_SOFT
#elif defined __AVX512F__
#include <immintrin.h>
#define VEC __m512
#define VEC_LOAD _mm512_loadu_ps
#define VEC_STORE _mm512_storeu_ps
#define VEC_SET _mm512_set1_ps
#define VEC_FMA _mm512_fmadd_ps
#elif defined __AVX2__ && defined __FMA__
#include <immintrin.h>
#define VEC __m256
#define VEC_ROW_64
#define VEC_LOAD _mm256_loadu_ps
#define VEC_STORE _mm256_storeu_ps
#define VEC_SET _mm256_set1_ps
#define VEC_FMA _mm256_fmadd_ps
#elif defined __aarch64__ && defined __ARM_NEON
#include <arm_neon.h>
#define VEC float32x4_t
#define VEC_LOAD vld1q_f32
#define VEC_STORE vst1q_f32
#define VEC_SET vdupq_n_f32
#define VEC_FMA(a, b, c) vfmaq_f32(c, a, b)
#endif

#if defined VEC_ROW_64
/* The sums of a panel at p. */
#define VEC_PANEL(s, t, p) \
    s = VEC_FMA(a, VEC_LOAD(p), s); \
    t = VEC_FMA(a, VEC_LOAD((p) + LANES / 2), t)
#define VEC_PUT_PANEL(s, t, k) \
    VEC_STORE(sum + (k) * LANES, s); \
    VEC_STORE(sum + (k) * LANES + LANES / 2, t)

/* One row of four panels, which begin `next` numbers apart. */
static void row_64(const list *l, const float *x, const float *w, long next,
                   int later, float *y)
{
    VEC s = VEC_SET(0), t = s, u = s, v = s, s2 = s, t2 = s, u2 = s, v2 = s, a;
    float sum[PANELS];
    int i;

    for (i = 0; i < l->count; i++) {
        const float *p = w + l->at[i] * LANES;

        a = VEC_SET(x[l->at[i]]);
        VEC_PANEL(s, s2, p);
        VEC_PANEL(t, t2, p + next);
        VEC_PANEL(u, u2, p + 2 * next);
        VEC_PANEL(v, v2, p + 3 * next);
    }
    VEC_PUT_PANEL(s, s2, 0);
    VEC_PUT_PANEL(t, t2, 1);
    VEC_PUT_PANEL(u, u2, 2);
    VEC_PUT_PANEL(v, v2, 3);
    put_sums(PANELS, sum, later, y);
}
#else
/* The same, by arrays that compilers keep in vectors. */
static void row_64(const list *l, const float *x, const float *w, long next,
                   int later, float *y)
{
    float s[LANES], t[LANES], u[LANES], v[LANES], sum[4][LANES];
    int i, j;

    for (j = 0; j < LANES; j++)
        s[j] = t[j] = u[j] = v[j] = 0;
    for (i = 0; i < l->count; i++) {
        long at = l->at[i];
        const float *p = w + at * LANES;
        float a = x[at];

        STEP(s, a, p);
        STEP(t, a, p + next);
        STEP(u, a, p + 2 * next);
        STEP(v, a, p + 3 * next);
    }
    for (j = 0; j < LANES; j++) {
        sum[0][j] = s[j];
        sum[1][j] = t[j];
        sum[2][j] = u[j];
        sum[3][j] = v[j];
    }
    put_sums(PANELS, sum[0], later, y);
}
#endif

#if defined VEC
enum { WIDTH = 2 * (int)(sizeof(VEC) / sizeof(float)) };

/* The sums of row i. */
#define VEC_ROW(i, s, t) \
    one = VEC_SET(a[(i) * step]); \
    s = VEC_FMA(one, b, s); \
    t = VEC_FMA(one, c, t)
#define VEC_PUT(i, s, t) \
    VEC_STORE(sum, s); \
    VEC_STORE(sum + WIDTH / 2, t); \
    put_sums(WIDTH, sum, later, y + (i) * y_step)

/* SIX rows, WIDTH outputs, the second half of whose weights begins `half`
 * numbers after the first: twelve sums, as many as hide how long a step of a
 * chain takes. */
static void six_rows(const list *l, const float *x, long step, const float *w,
                     long half, int later, float *y, long y_step)
{
    VEC s = VEC_SET(0), t = s, u = s, v = s, p = s, q = s;
    VEC s2 = s, t2 = s, u2 = s, v2 = s, p2 = s, q2 = s;
    float sum[WIDTH];
    int i;

    for (i = 0; i < l->count; i++) {
        const float *a = x + l->at[i], *from = w + l->at[i] * LANES;
        VEC b = VEC_LOAD(from), c = VEC_LOAD(from + half), one;

        VEC_ROW(0, s, s2);
        VEC_ROW(1, t, t2);
        VEC_ROW(2, u, u2);
        VEC_ROW(3, v, v2);
        VEC_ROW(4, p, p2);
        VEC_ROW(5, q, q2);
    }
    VEC_PUT(0, s, s2);
    VEC_PUT(1, t, t2);
    VEC_PUT(2, u, u2);
    VEC_PUT(3, v, v2);
    VEC_PUT(4, p, p2);
    VEC_PUT(5, q, q2);
}
#endif

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
    float sum[LANES];
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

/* One row of n outputs: four panels, or one. */
static void row_of(const list *l, const float *x, const float *w, long next,
                   int least, int n, int later, float *y)
{
    int j, wide = n < LANES ? n : LANES, safe = is_safe(l, least);

    if (safe && n == PANELS) {
        row_64(l, x, w, next, later, y);
        return;
    }
    for (j = 0; j < n; j += wide, w += next)
        if (!safe)
            row_careful(l, x, w, wide, later, y + j);
        else if (wide == LANES)
            row_16(l, x, w, later, y + j);
        else
            row_any(l, x, w, wide, later, y + j);
}

/* SIX rows of four panels or one, if there are vectors that do them. */
static int six_of(const list *l, const float *x, long step, const float *w,
                  long next, int n, int later, float *y, long y_step)
{
#if defined VEC
    long half = (int)WIDTH > (int)LANES ? next : WIDTH / 2;
    int j;

    if (n % WIDTH)
        return 0;
    for (j = 0; j < n; j += WIDTH)
        six_rows(l, x, step, w + j / LANES * next + j % LANES, half, later,
                 y + j, y_step);
    return 1;
#else
    (void)l, (void)x, (void)step, (void)w, (void)next, (void)n, (void)later;
    (void)y, (void)y_step;
    return 0;
#endif
}

/* n outputs of a chunk of up to ROWS rows. */
static void panels(int m, const float *x, long step, const list *l,
                   const float *w, long next, int least, int n, int later,
                   float *y, long y_step)
{
    int r = 0, rows;

    for (r = 0; r < m; r += rows) {
        const list *of = l + r / SIX;
        const float *from = x + r * step;
        float *to = y + r * y_step;

        rows = r % SIX == 0 && r + SIX <= m && n >= LANES &&
                       is_safe(of, least) &&
                       six_of(of, from, step, w, next, n, later, to, y_step)
                   ? SIX : 1;
        if (rows == 1)
            row_of(of, from, w, next, least, n, later, to);
    }
}

/* y (m,n) = x (m,k) w; rows are `step` and `y_step` numbers apart; least: the
 * least exponent of a weight that is not 0. */
static void product(long m, long k, long n, const float *x, long step,
                    const float *weights, int least, float *y, long y_step)
{
    list l[ROWS / SIX];
    long i, c, j;
    int r, wide;

    for (i = 0; i < m; i += ROWS) {
        int rows = m - i < ROWS ? (int)(m - i) : ROWS;
        const float *w = weights;

        for (c = 0; c < k; c += CHUNK) {
            int deep = k - c < CHUNK ? (int)(k - c) : CHUNK;

            for (r = 0; r < rows; r += SIX)
                make_list(rows - r < SIX ? rows - r : SIX, deep,
                          x + (i + r) * step + c, step, l + r / SIX);
            for (j = 0; j < n; j += wide, w += deep * wide) {
                wide = n - j >= PANELS ? PANELS
                                       : n - j >= LANES ? LANES : (int)(n - j);
                panels(rows, x + i * step + c, step, l, w, deep * LANES, least,
                       wide, c > 0, y + i * y_step + j, y_step);
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
            wide = n - j >= LANES ? LANES : (int)(n - j);
            for (i = c; i < k && i < c + CHUNK; i++)
                for (p = j; p < j + wide; p++, w++) {
                    *w = b[i * row + p * col];
                    e = exponent(*w);
                    least = e && e < least ? e : least;
                }
        }
    return least;
}

