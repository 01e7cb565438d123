/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrix products. */
#include "operators.h"

/* Place of weight (k,j), and the strides to the next k and the next j. */
typedef struct weights {
    place w;
    int64_t by_k, by_j;
} weights;

static f32 dense_y(const asked *q, weights v, place bias)
{
    int64_t i = q->at / q->width, j = q->at % q->width;
    f32 y = multiplied(NULL, words(q->x + i * q->in, q->in, 1),
                       words(v.w + j * v.by_j, q->in, v.by_k), q->in);

    return after_layer(bias ? f_add(y, word(bias + j)) : y);
}

static f32 dense_dx(const asked *q, weights v)
{
    int64_t i = q->at / q->in, k = q->at % q->in;

    return plus_others(q, multiplied(
        NULL, words(q->dy + i * q->width, q->width, 1),
        words(v.w + k * v.by_k, q->width, v.by_j), q->width));
}

static f32 dense_dw(const asked *q, weights v)
{
    int64_t k = q->at / v.by_k % q->in, j = q->at / v.by_j % q->width;

    return multiplied(sum_before(q), words(q->x + k, q->vectors, q->in),
                      words(q->dy + j, q->vectors, q->width), q->vectors);
}

f32 dense_makes(const asked *q)
{
    weights v = {param_of(q, 0, q->in * q->width), q->width, 1};
    place bias = param_of(q, 1, q->width);

    if (attribute(q->n, "transposed")) {
        v.by_k = 1;
        v.by_j = q->in;
    }
    if (!v.w || (param(q->n, 1) && !bias) ||
        q->size / q->width != q->in_size / q->in)
        return unknown("dense");
    if (is_y())
        return dense_y(q, v, bias);
    if (is_dx(q, 0))
        return dense_dx(q, v);
    if (is_dparam(q, 0))
        return dense_dw(q, v);
    return is_dparam(q, 1) ? column_of(q, q->dy) : unknown("dense");
}

/* a (m,k) of one problem, b (k,n), and d by their product; the leading axes of
 * both are as many problems. */
f32 matmul_makes(const asked *q)
{
    place b = input_of(q, 1);
    int64_t k = q->in, n = q->width, m, each[MOST_RANK], wide, high, p, i, j;
    int rank = axes(q->n->shape, each);

    m = rank > 1 ? each[rank - 2] : 1;
    wide = is_dx(q, 0) ? k : n;
    high = is_dx(q, 1) ? k : m;
    i = q->at / wide % high;
    j = q->at % wide;
    p = q->at / wide / high;
    if (!b)
        return unknown("matmul");
    if (is_y())
        return multiplied(NULL, words(q->x + (p * m + i) * k, k, 1),
                          words(b + p * k * n + j, k, n), k);
    if (is_dx(q, 0))
        return plus_others(q, multiplied(
            NULL, words(q->dy + (p * m + i) * n, n, 1),
            words(b + (p * k + j) * n, n, 1), n));
    if (is_dx(q, 1))
        return plus_others(q, multiplied(
            NULL, words(q->x + p * m * k + i, m, k),
            words(q->dy + p * m * n + j, m, n), m));
    return unknown("matmul");
}
