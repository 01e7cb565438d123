/* SPDX-License-Identifier: BSD-3-Clause */
/* Products and tables of whole numbers in C sources (docs/csource.md): what is
 * others in source_layers.h and source_axes.h. */
#ifndef LS_EXPORT_SOURCE_INT8_H
#define LS_EXPORT_SOURCE_INT8_H

#include "export/c99.h"

/* x to the nearest whole number, of two that are as near the even one, for what
 * is no more than 127 in size. */
static int whole(float x)
{
    EXACT float r = x + 0x1.8p23f;

    return (int)((bits(r) & 255) ^ 128) - 128;
}

/* q = the n numbers of a row in steps of their greatest / 127, which it
 * returns; where all are below 2^-100 they are zeros. */
static float whole_row(int64_t n, const float *x, signed char *q)
{
    float most = 0, by;

    for (int64_t i = 0; i < n; i++) {
        float size = number(bits(x[i]) & 0x7fffffffu);

        most = size > most ? size : most;
    }
    by = most < 0x1p-100f ? 0 : quotient(127.0f, most);
    for (int64_t i = 0; i < n; i++)
        q[i] = (signed char)whole(product_of(x[i], by));
    return quotient(most, 127.0f);
}

/* Weights of groups one after the other, output by output, in steps of each
 * output's scale; a table row by row. */
typedef struct weights {
    const signed char *w;
    const float *scale;
} weights;

typedef weights table;

static float entry(const table *of, int64_t row, int64_t n, int64_t j)
{
    return product_of((float)of->w[row * n + j], of->scale[row]);
}

static int32_t dot(int64_t n, const signed char *a, const signed char *b)
{
    int32_t sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* y = x times the weights of a group, TOGETHER rows at a time; t: room for
 * their bytes. */
enum { TOGETHER = 18 };
static void times(int64_t m, int64_t k, int64_t n, const float *x, int64_t step,
                  const weights *of, int64_t group, float *y, int64_t y_step,
                  float *t)
{
    const signed char *w = of->w + group * k * n;
    signed char *q = (signed char *)t;
    float unit[TOGETHER];

    for (int64_t i = 0, rows; i < m; i += rows) {
        rows = m - i < TOGETHER ? m - i : TOGETHER;
        for (int64_t r = 0; r < rows; r++)
            unit[r] = whole_row(k, x + (i + r) * step, q + r * k);
        for (int64_t j = 0; j < n; j++)
            for (int64_t r = 0; r < rows; r++)
                y[(i + r) * y_step + j] =
                    product_of((float)dot(k, q + r * k, w + j * k),
                               product_of(unit[r], of->scale[group * n + j]));
    }
}

/* The rows of a table that a list names, times their values; t: room for the
 * list twice.  A chain ends where index / 256 changes. */
static void bag(int64_t places, const int32_t *index, const float *value,
                bool mean, int64_t count, int64_t n, const table *of,
                const float *bias, float *y, float *t)
{
    uint32_t *at = (uint32_t *)(void *)t;
    float *by = t + places;
    int64_t used = bag_list(places, index, value, mean, count, at, by);

    for (int64_t j = 0; j < n; j++) {
        float total = 0, sum = 0;
        uint32_t chunk = 0;

        for (int64_t i = 0; i < used; i++) {
            if (at[i] / 256 != chunk) {
                total = sum_of_two(total, sum);
                sum = 0;
                chunk = at[i] / 256;
            }
            sum = fused(by[i], entry(of, at[i], n, j), sum);
        }
        y[j] = sum_of_two(sum_of_two(total, sum), 0);
        if (bias)
            y[j] = sum_of_two(y[j], bias[j]);
    }
}

#endif
