/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrix products: x (m,k) by b (k,n), which of a dense layer is a parameter of
 * all vectors; of a matmul the leading axes are as many problems. */
#include "operators.h"

typedef struct matrices {
    const asked *q;
    int64_t m, k, n;
    int64_t by_k, by_j; /* of b: strides to the next k and the next j */
    place b, bias;
} matrices;

static f32 product_y(const matrices *a)
{
    const asked *q = a->q;
    int64_t i = q->at / a->n, j = q->at % a->n, b = i / a->m * a->k * a->n;
    f32 y = multiplied(NULL, words(q->x + i * a->k, a->k, 1),
                       words(a->b + b + j * a->by_j, a->k, a->by_k), a->k);

    return a->bias ? f_add(y, word(a->bias + j)) : y;
}

static f32 product_dx(const matrices *a)
{
    const asked *q = a->q;
    int64_t i = q->at / a->k, k = q->at % a->k, b = i / a->m * a->k * a->n;

    return plus_others(q, multiplied(
        NULL, words(q->dy + i * a->n, a->n, 1),
        words(a->b + b + k * a->by_k, a->n, a->by_j), a->n));
}

static f32 product_db(const matrices *a, const f32 *before)
{
    const asked *q = a->q;
    int64_t k = q->at / a->by_k % a->k, j = q->at / a->by_j % a->n;
    int64_t first = q->at / a->k / a->n * a->m;

    return multiplied(before, words(q->x + first * a->k + k, a->m, a->k),
                      words(q->dy + first * a->n + j, a->m, a->n), a->m);
}

f32 dense_makes(const asked *q)
{
    matrices a = {q, q->vectors, q->in, q->width, q->width, 1, 0, 0};

    if (attribute(q->n, "transposed")) {
        a.by_k = 1;
        a.by_j = q->in;
    }
    a.b = param_of(q, 0, q->in * q->width);
    a.bias = param_of(q, 1, q->width);
    if (!a.b || (param(q->n, 1) && !a.bias) ||
        q->size / q->width != q->in_size / q->in)
        return unknown("dense");
    if (is_y())
        return after_layer(product_y(&a));
    if (is_dx(q, 0))
        return product_dx(&a);
    if (is_dparam(q, 0))
        return product_db(&a, sum_before(q));
    return is_dparam(q, 1) ? column_of(q, q->dy) : unknown("dense");
}

f32 matmul_makes(const asked *q)
{
    matrices a = {q, 1, q->in, q->width, q->width, 1, input_of(q, 1), 0};
    int64_t each[MOST_RANK];
    int rank = axes(q->n->shape, each);

    if (rank > 1)
        a.m = each[rank - 2];
    if (a.b && is_y())
        return product_y(&a);
    if (a.b && is_dx(q, 0))
        return product_dx(&a);
    return a.b && is_dx(q, 1) ? plus_others(q, product_db(&a, NULL))
                              : unknown("matmul");
}
