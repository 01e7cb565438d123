/* SPDX-License-Identifier: BSD-3-Clause */
/* What moves numbers in C sources: tables, indices, axes. */
#ifndef LS_EXPORT_SOURCE_AXES_H
#define LS_EXPORT_SOURCE_AXES_H

#include "kernel/k_bag.h"
#include "kernel/k_softmax.h"
#include "kernel/loops.h"

/* A table, and an entry of it. */
typedef float table;

static float entry(const table *of, int64_t row, int64_t n, int64_t j)
{
    return of[row * n + j];
}

/* Row `index` of a table of `count`; zeros for none of them. */
static void embed(int32_t index, int64_t count, int64_t n, const table *of,
                  float *y)
{
    for (int64_t j = 0; j < n; j++)
        y[j] = index >= 0 && index < count ? entry(of, index, n, j) : 0;
}

/* The same of a value. */
static void pick(int32_t index, int64_t count, int64_t n, const float *x,
                 float *y)
{
    for (int64_t j = 0; j < n; j++)
        y[j] = index >= 0 && index < count ? x[index * n + j] : 0;
}

/* The rising indices of a list and their values (NULL: 1, or 1 by how many
 * there are where `mean`), those of one index added; below 0 is nothing.
 * Returns how many are left. */
static int64_t bag_list(int64_t places, const int32_t *index,
                        const float *value, bool mean, int64_t count,
                        uint32_t *at, float *by)
{
    int64_t all = 0, used = 0;

    for (int64_t i = 0, k; i < places; i++) {
        if (index[i] < 0 || index[i] >= count)
            continue;
        for (k = all++; k > 0 && at[k - 1] > (uint32_t)index[i]; k--) {
            at[k] = at[k - 1];
            by[k] = by[k - 1];
        }
        at[k] = (uint32_t)index[i];
        by[k] = value ? value[i] : 1.0f;
    }
    for (int64_t i = 0; i < all; i++) {
        float one = mean ? quotient(1.0f, (float)all) : by[i];

        if (used && at[used - 1] == at[i]) {
            by[used - 1] = sum_of_two(by[used - 1], one);
        } else {
            at[used] = at[i];
            by[used++] = one;
        }
    }
    return used;
}

/* The rows of a table that a list names, times their values; t: room for the
 * list twice. */
static void bag(int64_t places, const int32_t *index, const float *value,
                bool mean, int64_t count, int64_t n, const table *of,
                const float *bias, float *y, float *t)
{
    uint32_t *at = (uint32_t *)(void *)t;
    int64_t used = bag_list(places, index, value, mean, count, at, t + places);

    bag_sum(&(ls__bag){n, used, at, t + places, of, bias}, y);
}

/* Sum over the middle of (outer,n,inner). */
static void sum_over(int64_t outer, int64_t n, int64_t inner, const float *x,
                     float *y)
{
    for (int64_t o = 0; o < outer; o++, x += n * inner, y += inner)
        if (inner == 1)
            *y = row_sum(n, x);
        else
            column_sum(n, inner, x, false, y);
}

static void max_over(int64_t outer, int64_t n, int64_t inner, const float *x,
                     float *y)
{
    for (int64_t o = 0; o < outer; o++, x += n * inner, y += inner)
        for (int64_t j = 0; j < inner; j++)
            y[j] = ls__greatest(n, inner, x + j);
}

/* y = elements of x in the order of a walk over `rank` axes. */
static void view(int rank, const int64_t *size, const int64_t *stride,
                 const float *x, float *y)
{
    int64_t n = 1;

    for (int a = 0; a < rank; a++)
        n *= size[a];
    for (int64_t i = 0; i < n; i++) {
        int64_t left = i, at = 0;

        for (int a = rank - 1; a >= 0; a--) {
            at += left % size[a] * stride[a];
            left /= size[a];
        }
        y[i] = x[at];
    }
}

#endif
