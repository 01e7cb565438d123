/* SPDX-License-Identifier: BSD-3-Clause */
/* Values before the first update: a parameter's first values, which follow from
 * its key and the number's place, and those of moments.  A later step begins
 * with the result of the update before it. */
#include "step.h"

#include <stdio.h>

/* ------ orthogonal matrices ------ */

/* Lane i % 8 adds element i; lanes are added 4, 2, 1 apart. */
static f64 d_dot(int64_t n, const f64 *x, const f64 *y)
{
    f64 lane[8] = {0};

    for (int64_t i = 0; i < n; i++)
        lane[i % 8] = d_add(lane[i % 8], d_mul(x[i], y[i]));
    for (int s = 4; s; s /= 2)
        for (int k = 0; k < s; k++)
            lane[k] = d_add(lane[k], lane[k + s]);
    return lane[0];
}

/* x - beta (v . x) v */
static void reflect(int64_t n, const f64 *v, f64 beta, f64 *x)
{
    f64 by = d_mul(beta, d_dot(n, v, x));

    for (int64_t i = 0; i < n; i++)
        x[i] = d_sub(x[i], d_mul(by, v[i]));
}

/* The reflection of a column, which becomes its v; *sign: of R's diagonal. */
static f64 reflection_of(int64_t n, f64 *x, int *sign)
{
    f64 norm = d_sqrt(d_dot(n, x, x));
    f64 end = d_lt(0, x[0]) ? d_neg(norm) : norm;

    *sign = 1;
    if (d_zero(norm))
        return 0;
    *sign = end >> 63 ? -1 : 1;
    x[0] = d_sub(x[0], end);
    return d_div(D(2.0), d_dot(n, x, x));
}

/* Column j of Q, of A = Q R with m rows of normal numbers of that key, which
 * has `width` columns: Householder's reflections, and e_j by the last of them
 * first.  Only columns up to j count. */
static const f64 *orthogonal_column(const f32 key[2], int64_t m, int64_t width,
                                    int64_t j, int *sign)
{
    f64 *a = (f64 *)(void *)room_for(2 * m * (j + 1)), *q = a + j * m;
    f64 *beta = (f64 *)(void *)room_for(2 * (j + 1)), by;

    for (int64_t c = 0; c <= j; c++)
        for (int64_t i = 0; i < m; i++)
            a[c * m + i] = d_from(normal_of_bits(
                random_bits(key, (uint64_t)(i * width + c))));
    for (int64_t k = 0; k <= j; k++) {
        beta[k] = reflection_of(m - k, a + k * m + k, sign);
        for (int64_t c = k + 1; c <= j; c++)
            reflect(m - k, a + k * m + k, beta[k], a + c * m + k);
    }
    by = d_mul(beta[j], q[j]);
    for (int64_t i = 0; i < m; i++)
        q[i] = i < j    ? 0
               : i == j ? d_sub(D(1.0), d_mul(by, q[i]))
                        : d_mul(q[i], d_neg(by));
    for (int64_t k = j - 1; k >= 0; k--)
        reflect(m - k, a + k * m + k, beta[k], q + k);
    return q;
}

enum { MATRIX = 1 << 20 }; /* numbers, which take a minute */

/* The words of a start (docs/transcript.md): a kind, and what it has. */
enum { KIND, SCALE, FAN = 3, KEY = 5, WORDS = 7, KINDS = 6 };
enum { CONSTANT, UNIFORM, NORMAL, TRUNCATED, TABLE, ORTHOGONAL };

/* Element `place` of a matrix of so many rows and columns: as high as the
 * larger of them, else turned. */
static f32 orthogonal(const uint32_t w[WORDS], int64_t nth)
{
    int64_t rows = w[FAN], columns = w[FAN + 1], m, n, i, j;
    const f64 *q;
    int sign = 1;

    if (rows < 1 || columns < 1 || rows > MATRIX / columns ||
        nth >= rows * columns)
        return unknown("an orthogonal matrix of more than 1,048,576 "
                            "numbers");
    m = columns > rows ? columns : rows;
    n = columns > rows ? rows : columns;
    i = columns > rows ? nth % m : nth / n;
    j = columns > rows ? nth / m : nth % n;
    q = orthogonal_column(w + KEY, m, n, j, &sign);
    return f_mul(f_from((f64)w[SCALE] << 32 | w[SCALE + 1]),
                 f_from(sign < 0 ? d_neg(q[i]) : q[i]));
}

/* ------ numbers of a stream ------ */

/* Scaled by the scale itself, or where there is a fan so that the variance is
 * scale / fan. */
static f32 drawn(const uint32_t w[WORDS], int64_t nth)
{
    uint32_t bits = random_bits(w + KEY, (uint64_t)nth);
    f64 scale = (f64)w[SCALE] << 32 | w[SCALE + 1];
    f64 fan = (f64)w[FAN] << 32 | w[FAN + 1];
    f32 variance, by, x;

    x = w[KIND] == UNIFORM ? uniform_of(bits, fan ? F(-1.0f) : 0, F(1.0f))
        : w[KIND] == TRUNCATED ? truncated_of(bits) : normal_of_bits(bits);
    if (!fan)
        return f_mul(x, f_from(scale));
    variance = f_from(d_div(scale, fan));
    by = f_sqrt(w[KIND] == UNIFORM ? f_mul(F(3.0f), variance) : variance);
    if (w[KIND] == TRUNCATED)
        by = f_div(by, F(0x1.c25e4cp-1f));
    return f_mul(x, by);
}

/* Position t, channel j of a table of positions. */
static f32 sinusoid(int64_t nth, int64_t wide)
{
    int64_t t = wide ? nth / wide : 0, j = wide ? nth % wide : 0;
    f32 c = f_neg(f_div(F(0x1.26bb1cp+3f), f_int(wide)));
    f32 a = f_mul(f_int(t), e_exp(f_mul(c, f_int(j - j % 2))));

    return j % 2 ? f_cos(a) : f_sin(a);
}

f32 start_makes(void)
{
    bool moment = strcmp(of->what, "parameters") != 0;
    const said *slot = slot_of(element);
    const array *k = NULL;
    char name[512];
    uint32_t w[WORDS];
    int64_t nth;

    if (number_of_step() > 0)
        return unknown("what was there before the step: the update of the "
                            "step before made it, and its record judges it");
    if (!slot)
        return 0; /* between parameters */
    if (!strcmp(of->what, "average"))
        return word(whole("before", "parameters")->x + element);
    nth = element - slot->at;
    if (snprintf(name, sizeof name, "%s%s", moment ? "moment " : "",
                 moment ? of->what : slot->name) < (int)sizeof name)
        k = whole("start", name);
    for (int i = 0; k && i < WORDS && i < k->n; i++)
        w[i] = word(k->x + i);
    if (!k || k->n != WORDS || w[KIND] >= KINDS || (moment && w[KIND]))
        return unknown("first values that no seed gives");
    switch (w[KIND]) {
    case CONSTANT: return w[SCALE];
    case TABLE: return sinusoid(nth, w[SCALE]);
    case ORTHOGONAL: return orthogonal(w, nth);
    default: return drawn(w, nth);
    }
}
