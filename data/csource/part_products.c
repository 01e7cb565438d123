/* SPDX-License-Identifier: BSD-3-Clause */
/* == rows: start == */
enum { ROWS = 16 }; /* that share what is read of weights */

/* == product: fma add rows == */
/* ------ products ------ */

/* An element of a product is K cut into chunks of 256, each chunk one chain of
 * fused multiply-adds from +0 in rising k; chunks are added in order.  Steps of
 * a chain whose x is 0 are left out: they change nothing.
 *
 * Weights lie chunk by chunk, in each by panels of 16 outputs and one of what
 * is left; in a panel k by k.  Panels are taken four at a time.  ROWS rows
 * share what is read of them, and FOUR rows the steps of a chain, which are
 * left out where all are 0.  Sums are arrays of 16 lanes that compilers keep in
 * registers. */
enum { CHUNK = 256, LANES = 16, FOUR = 4, PANELS = FOUR * LANES };

/* Steps of a chain that are not left out, and the least exponent of x. */
typedef struct list {
    int count, least;
    unsigned char at[CHUNK];
} list;

/* The lesser exponent of what is not 0: 0 counts as the greatest. */
static uint32_t less(uint32_t least, uint32_t e)
{
    return e - 1 < least ? e - 1 : least;
}

/* The list of up to FOUR rows; of fewer the last counts for those. */
static void make_list(int rows, int k, const float *x, long step, list *to)
{
    const float *y = x + (rows > 1 ? step : 0), *z = y + (rows > 2 ? step : 0);
    const float *u = z + (rows > 3 ? step : 0);
    uint32_t least = 254;
    int i, n = 0;

    for (i = 0; i < k; i++) {
        uint32_t a = bits(x[i]) >> 23 & 255, b = bits(y[i]) >> 23 & 255;
        uint32_t c = bits(z[i]) >> 23 & 255, d = bits(u[i]) >> 23 & 255;

        to->at[n] = (unsigned char)i;
        n += (a | b | c | d) != 0;
        least = less(less(less(less(least, a), b), c), d);
    }
    to->count = n;
    to->least = (int)least + 1;
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

/* One row of four panels, which begin `next` numbers apart. */
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

#if defined VEC
enum { WIDTH = 2 * (int)(sizeof(VEC) / sizeof(float)) };

/* FOUR rows, WIDTH outputs, the second half of whose weights begins `half`
 * numbers after the first. */
static void four_rows(const list *l, const float *x, long step, const float *w,
                      long half, int later, float *y, long y_step)
{
    VEC s = VEC_SET(0), t = s, u = s, v = s, s2 = s, t2 = s, u2 = s, v2 = s;
    float sum[FOUR][WIDTH];
    int i;

    for (i = 0; i < l->count; i++) {
        const float *a = x + l->at[i], *p = w + l->at[i] * LANES;
        VEC b = VEC_LOAD(p), c = VEC_LOAD(p + half), one;

        one = VEC_SET(a[0]);
        s = VEC_FMA(one, b, s);
        s2 = VEC_FMA(one, c, s2);
        one = VEC_SET(a[step]);
        t = VEC_FMA(one, b, t);
        t2 = VEC_FMA(one, c, t2);
        one = VEC_SET(a[2 * step]);
        u = VEC_FMA(one, b, u);
        u2 = VEC_FMA(one, c, u2);
        one = VEC_SET(a[3 * step]);
        v = VEC_FMA(one, b, v);
        v2 = VEC_FMA(one, c, v2);
    }
    VEC_STORE(sum[0], s);
    VEC_STORE(sum[0] + WIDTH / 2, s2);
    VEC_STORE(sum[1], t);
    VEC_STORE(sum[1] + WIDTH / 2, t2);
    VEC_STORE(sum[2], u);
    VEC_STORE(sum[2] + WIDTH / 2, u2);
    VEC_STORE(sum[3], v);
    VEC_STORE(sum[3] + WIDTH / 2, v2);
    for (i = 0; i < FOUR; i++)
        put_sums(WIDTH, sum[i], later, y + i * y_step);
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

/* FOUR rows of four panels or one, if there are vectors that do them. */
static int four_of(const list *l, const float *x, long step, const float *w,
                   long next, int n, int later, float *y, long y_step)
{
#if defined VEC
    long half = (int)WIDTH > (int)LANES ? next : WIDTH / 2;
    int j;

    if (n % WIDTH)
        return 0;
    for (j = 0; j < n; j += WIDTH)
        four_rows(l, x, step, w + j / LANES * next + j % LANES, half, later,
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
        const list *of = l + r / FOUR;
        const float *from = x + r * step;
        float *to = y + r * y_step;

        rows = r % FOUR == 0 && r + FOUR <= m && n >= LANES &&
                       is_safe(of, least) &&
                       four_of(of, from, step, w, next, n, later, to, y_step)
                   ? FOUR : 1;
        if (rows == 1)
            row_of(of, from, w, next, least, n, later, to);
    }
}

/* y (m,n) = x (m,k) w; rows are `step` and `y_step` numbers apart; least: the
 * least exponent of a weight that is not 0. */
static void product(long m, long k, long n, const float *x, long step,
                    const float *weights, int least, float *y, long y_step)
{
    list l[ROWS / FOUR];
    long i, c, j;
    int r, wide;

    for (i = 0; i < m; i += ROWS) {
        int rows = m - i < ROWS ? (int)(m - i) : ROWS;
        const float *w = weights;

        for (c = 0; c < k; c += CHUNK) {
            int deep = k - c < CHUNK ? (int)(k - c) : CHUNK;

            for (r = 0; r < rows; r += FOUR)
                make_list(rows - r < FOUR ? rows - r : FOUR, deep,
                          x + (i + r) * step + c, step, l + r / FOUR);
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

