/* SPDX-License-Identifier: BSD-3-Clause */
/* Householder's QR in double: column after column from the left, and Q from the
 * reflections, the last one first (LAPACK's dgeqr2 and dorg2r).  Every sum has
 * one order, so that the bits depend on nothing: lane i % 8 adds element i, and
 * lanes are added 4, 2, 1 apart. */
#include "random/orthogonal.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { LANES = 8 };

_Static_assert(LS__IS_POWER(LANES), "lanes are added half by half");

/* A column of v[0..] of a reflection x - beta (v . x) v; sign: of R's diagonal
 * before it is made positive. */
typedef struct reflection {
    double beta, sign;
} reflection;

static double dot(int64_t n, const double *x, const double *y)
{
    double lane[LANES] = {0};
    int64_t i = 0;

    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++)
            lane[k] += x[i + k] * y[i + k];
    for (int k = 0; i + k < n; k++)
        lane[k] += x[i + k] * y[i + k];
    for (int apart = LANES / 2; apart > 0; apart /= 2)
        for (int k = 0; k < apart; k++)
            lane[k] += lane[k + apart];
    return lane[0];
}

static void reflect(int64_t n, const double *v, double beta, double *x)
{
    double by = beta * dot(n, v, x);

    for (int64_t i = 0; i < n; i++)
        x[i] -= by * v[i];
}

/* The reflection that takes x to a multiple of (1,0,..); x becomes its v.  A
 * column of zeros is left alone. */
static reflection reflection_of(int64_t n, double *x)
{
    double norm = __builtin_sqrt(dot(n, x, x));
    double end = x[0] > 0 ? -norm : norm;

    if (norm == 0)
        return (reflection){0, 1};
    x[0] -= end;
    return (reflection){2 / dot(n, x, x), end < 0 ? -1 : 1};
}

/* a: n columns of m; reflection k in column k from row k down. */
static void take_apart(int64_t m, int64_t n, double *a, reflection *r)
{
    LS__ASSERT(m >= n);
    for (int64_t k = 0; k < n; k++) {
        double *v = a + k * m + k;

        r[k] = reflection_of(m - k, v);
        for (int64_t j = k + 1; j < n; j++)
            reflect(m - k, v, r[k].beta, a + j * m + k);
    }
}

/* Column k of Q, before reflections 0 .. k-1: e_k reflected, in v's place. */
static void begin_column(int64_t k, int64_t m, double beta, double *column)
{
    double by = beta * column[k];

    memset(column, 0, (size_t)k * sizeof *column);
    for (int64_t i = k + 1; i < m; i++)
        column[i] *= -by;
    column[k] = 1 - by * column[k];
}

static void put_together(int64_t m, int64_t n, double *a, const reflection *r)
{
    for (int64_t k = n - 1; k >= 0; k--) {
        for (int64_t j = k + 1; j < n; j++)
            reflect(m - k, a + k * m + k, r[k].beta, a + j * m + k);
        begin_column(k, m, r[k].beta, a + k * m);
    }
}

int ls__fill_orthogonal(ls_key key, int64_t rows, int64_t columns, float scale,
                        float *x)
{
    bool wide = columns > rows;
    int64_t m = wide ? columns : rows, n = wide ? rows : columns;
    double *a = ls__new((size_t)(m * n), sizeof *a, "orthogonal matrix");
    reflection *r = ls__new((size_t)n, sizeof *r, "orthogonal matrix");
    bool good = a && r;

    ls_random_normal(key, 0, m * n, x);
    for (int64_t j = 0; j < n && good; j++)
        for (int64_t i = 0; i < m; i++)
            a[j * m + i] = (double)x[i * n + j];
    if (good) {
        take_apart(m, n, a, r);
        put_together(m, n, a, r);
    }
    for (int64_t j = 0; j < n && good; j++)
        for (int64_t i = 0; i < m; i++)
            x[wide ? j * m + i : i * n + j] =
                scale * (float)(r[j].sign * a[j * m + i]);
    free(a);
    free(r);
    return good ? 0 : LS_ENOMEM;
}
