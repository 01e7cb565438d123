/* SPDX-License-Identifier: BSD-3-Clause */
/* == table: start == */
/* ------ indices ------ */

typedef struct table {
    const float *x;
} table;

static float entry(const table *of, long row, long n, long j)
{
    return of->x[row * n + j];
}

/* == table_8: mul == */
/* ------ indices ------ */

/* A table of bytes, each row in steps of its scale. */
typedef struct table {
    const signed char *x;
    const float *scale;
} table;

static float entry(const table *of, long row, long n, long j)
{
    return mul((float)of->x[row * n + j], of->scale[row]);
}

/* == embed: table == */
/* Row `index` of a table of `count`; zeros for none of them. */
static void embed(int32_t index, long count, long n, const table *of, float *y)
{
    long j;

    for (j = 0; j < n; j++)
        y[j] = index >= 0 && index < count ? entry(of, index, n, j) : 0;
}

/* == pick: start == */
/* The same of a value. */
static void pick(int32_t index, long count, long n, const float *x, float *y)
{
    long j;

    for (j = 0; j < n; j++)
        y[j] = index >= 0 && index < count ? x[index * n + j] : 0;
}

/* == length: start == */
/* A row's length, of at most so many steps. */
static long length_of(int32_t length, long steps)
{
    return length < 0 ? 0 : length < steps ? length : steps;
}

/* == bag: fma add div table == */
/* The rows of a table that a list names, times their values (NULL: 1, or 1 by
 * how many there are where `mean`), in the order of the indices; below 0 is
 * nothing.  A chain ends where index / 256 changes.  t, v: room for a list. */
static void bag(long places, const int32_t *index, const float *value, int mean,
                long count, long n, const table *of, float *y, int32_t *t,
                float *v)
{
    long k, i, j, all = 0, used = 0, first;

    for (i = 0; i < places; i++) {
        int32_t at = index[i];
        float by = value ? value[i] : 1.0f;

        if (at < 0 || at >= count)
            continue;
        for (k = all++; k > 0 && t[k - 1] > at; k--) {
            t[k] = t[k - 1];
            v[k] = v[k - 1];
        }
        t[k] = at;
        v[k] = by;
    }
    for (i = 0; i < all; i++) {
        float by = mean ? divide(1.0f, (float)all) : v[i];

        if (used && t[used - 1] == t[i]) {
            v[used - 1] = add(v[used - 1], by);
        } else {
            t[used] = t[i];
            v[used++] = by;
        }
    }
    for (j = 0; j < n; j++) {
        float total = 0, sum = 0;

        for (i = 0, first = 0; i < used; i++) {
            if (t[i] / 256 != first) {
                total = add(total, sum);
                sum = 0;
                first = t[i] / 256;
            }
            sum = fused(v[i], entry(of, t[i], n, j), sum);
        }
        y[j] = add(add(total, sum), 0);
    }
}

/* == lstm: tanh sigmoid times bias == */
/* ------ recurrent layers ------ */

/* One row: x (steps,4 n) are the gates' shares of the input; h and c the state;
 * g: room for 4 n, room: what times() needs. */
static void lstm(long steps, long n, const float *x, const weights *kernel,
                 const float *bias, float *h, float *c, float *y, float *g,
                 float *room)
{
    long t, j;

    for (t = 0; t < steps; t++, x += 4 * n, y += n) {
        times(1, n, 4 * n, h, n, kernel, 0, g, 4 * n, room);
        add_bias(1, 4 * n, bias, g, 4 * n);
        for (j = 0; j < n; j++) {
            float i = sigmoid(add(x[j], g[j]));
            float f = sigmoid(add(x[n + j], g[n + j]));
            float o = sigmoid(add(x[3 * n + j], g[3 * n + j]));
            float m = tangent(add(x[2 * n + j], g[2 * n + j]));

            c[j] = fused(f, c[j], mul(i, m));
            h[j] = mul(o, tangent(c[j]));
            y[j] = h[j];
        }
    }
}

/* == gru: sub tanh sigmoid times bias == */
/* One row: x (steps,3 n) are the gates' shares of the input; h the state; bias
 * may be NULL; g: room for 3 n, room: what times() needs. */
static void gru(long steps, long n, const float *x, const weights *kernel,
                const float *bias, float *h, float *y, float *g, float *room)
{
    long t, j;

    for (t = 0; t < steps; t++, x += 3 * n, y += n) {
        times(1, n, 3 * n, h, n, kernel, 0, g, 3 * n, room);
        if (bias)
            add_bias(1, 3 * n, bias, g, 3 * n);
        for (j = 0; j < n; j++) {
            float r = sigmoid(add(x[j], g[j]));
            float z = sigmoid(add(x[n + j], g[n + j]));
            float m = tangent(fused(r, g[2 * n + j], x[2 * n + j]));

            h[j] = fused(z, h[j], mul(sub(1.0f, z), m));
            y[j] = h[j];
        }
    }
}

/* == attention: root pack softmax == */
/* ------ attention ------ */

/* q (steps,heads d), k and v (steps,kv d) with heads for several of q's; t:
 * room for steps steps, and for a packed operand. */
static void attention(long steps, long heads, long kv, long d, int causal,
                      const float *q, const float *k, const float *v, float *y,
                      float *t)
{
    long each = heads / kv, i, j, h;
    float *p = t, *w = t + steps * steps;
    float scale = divide(1.0f, root((float)d));

    for (h = 0; h < heads; h++) {
        long at = h / each * d;
        int least = pack(d, steps, k + at, 1, kv * d, w);

        product(steps, d, steps, q + h * d, heads * d, w, least, p, steps);
        for (i = 0; i < steps; i++) {
            long seen = causal ? i + 1 : steps;
            float *row = p + i * steps;

            for (j = 0; j < steps; j++)
                row[j] = scale != 1.0f ? mul(row[j], scale) : row[j];
            softmax(seen, row, row);
            for (j = seen; j < steps; j++)
                row[j] = 0;
        }
        least = pack(steps, d, v + at, kv * d, 1, w);
        product(steps, steps, d, p, steps, w, least, y + h * d, heads * d);
    }
}

/* == matmul: pack == */
static void matmul(long count, long m, long k, long n, const float *a,
                   const float *b, float *y, float *t)
{
    for (; count > 0; count--, a += m * k, b += k * n, y += m * n) {
        int least = pack(k, n, b, n, 1, t);

        product(m, k, n, a, k, t, least, y, n);
    }
}

/* == sum: sums == */
/* ------ axes ------ */

/* Sum over the middle of (outer,n,inner): along the last axis in lanes, else
 * down columns, 256 a chunk. */
static void sum_over(long outer, long n, long inner, const float *x, float *y)
{
    long o, i, j;

    for (o = 0; o < outer; o++, x += n * inner, y += inner)
        for (j = 0; j < inner; j++) {
            float total = 0, sum = 0;

            for (i = 0; i < n && inner > 1; i++) {
                if (i % 256 == 0) {
                    total = i > 256 ? add(total, sum) : sum;
                    sum = 0;
                }
                sum = add(sum, x[i * inner + j]);
            }
            y[j] = inner == 1 ? row_sum(n, x, 0)
                 : n > 256    ? add(total, sum)
                              : sum;
        }
}

/* == max_over: start == */
static void max_over(long outer, long n, long inner, const float *x, float *y)
{
    long o, i, j;

    for (o = 0; o < outer; o++, x += n * inner, y += inner)
        for (j = 0; j < inner; j++) {
            float top = x[j];

            for (i = 1; i < n && top == top; i++)
                if (!(x[i * inner + j] <= top))
                    top = x[i * inner + j];
            y[j] = top;
        }
}

/* == view: start == */
/* y = elements of x in the order of a walk over `rank` axes, or the other way
 * round with `back`. */
static void view(int rank, const long *size, const long *stride, int back,
                 const float *x, float *y)
{
    long i, n = 1;
    int a;

    for (a = 0; a < rank; a++)
        n *= size[a];
    for (i = 0; i < n; i++) {
        long left = i, at = 0;

        for (a = rank - 1; a >= 0; a--) {
            at += left % size[a] * stride[a];
            left /= size[a];
        }
        if (back)
            y[at] = x[i];
        else
            y[i] = x[at];
    }
}

/* == turn: mul sub == */
/* One head of d numbers turned by the cosines and sines of a position. */
static void turn(long d, const float *x, const float *angle, float *y)
{
    long j, half = d / 2;

    for (j = 0; j < half; j++) {
        float a = x[j], b = x[half + j], c = angle[j], s = angle[half + j];

        y[j] = sub(mul(a, c), mul(b, s));
        y[half + j] = add(mul(b, c), mul(a, s));
    }
}
