/* SPDX-License-Identifier: BSD-3-Clause */
/* Evidence of matrix products. */
#include "record/evidence_rules.h"

/* ------ dense ------ */

/* Where weight (k,j) stands, and how far the next k and the next j are. */
typedef struct weights {
    const uint32_t *w;
    int64_t by_k, by_j;
} weights;

static int dense_y(const ls__asked *q, weights v, const uint32_t *bias)
{
    int64_t i = q->at / q->width, j = q->at % q->width;

    ls__asked_product(q);
    ls__evidence_list(q->e, "a", q->in, q->x + i * q->in, 1);
    ls__evidence_list(q->e, "b", q->in, v.w + j * v.by_j, v.by_k);
    if (bias)
        ls__evidence_number(q->e, "bias", &bias[j]);
    ls__asked_round(q);
    return 0;
}

static int dense_dx(const ls__asked *q, weights v)
{
    int64_t i = q->at / q->in, k = q->at % q->in;

    ls__asked_product(q);
    ls__evidence_list(q->e, "a", q->width, q->dy + i * q->width, 1);
    ls__evidence_list(q->e, "b", q->width, v.w + k * v.by_k, v.by_j);
    ls__asked_addend(q);
    return 0;
}

static int dense_dw(const ls__asked *q, weights v)
{
    int64_t k = q->at / v.by_k % q->in, j = q->at / v.by_j % q->width;

    ls__asked_product(q);
    ls__asked_before(q);
    ls__evidence_list(q->e, "a", q->vectors, q->x + k, q->in);
    ls__evidence_list(q->e, "b", q->vectors, q->dy + j, q->width);
    return 0;
}

int ls__evidence_dense(const ls__asked *q)
{
    weights v = {ls__asked_param(q, 0, q->in * q->width), q->width, 1};
    const uint32_t *bias = ls__asked_param(q, 1, q->width);
    bool has_bias = ls__evidence_param(q->e, q->n, 1);

    if (ls__evidence_of(q->n, "transposed"))
        v = (weights){v.w, 1, q->in};
    if (!v.w || (has_bias && !bias))
        return ls__asked_unknown("dense");
    if (ls__asked_y(q))
        return dense_y(q, v, bias);
    if (ls__asked_dx(q, 0))
        return dense_dx(q, v);
    if (ls__asked_dparam(q, 0))
        return dense_dw(q, v);
    return ls__asked_dparam(q, 1) ? ls__asked_column(q, q->dy)
                                  : ls__asked_unknown("dense");
}

/* ------ matmul ------ */

/* a (m,k) of one problem, b (k,n), and d by their product; the leading axes of
 * both are as many problems. */
int ls__evidence_matmul(const ls__asked *q)
{
    const uint32_t *y = ls__asked_x(q, 1);
    int64_t k = q->in, n = q->width, m = 1, size[LS_MAX_RANK];
    int rank = ls__evidence_axes(q->n->shape, size);
    int64_t wide = ls__asked_dx(q, 0) ? k : n, high, of, i, j;

    m = rank > 1 ? size[rank - 2] : 1;
    high = ls__asked_dx(q, 1) ? k : m;
    i = q->at / wide % high;
    j = q->at % wide;
    of = q->at / wide / high;
    if (!y || (!ls__asked_y(q) && !ls__asked_dx(q, 0) && !ls__asked_dx(q, 1)))
        return ls__asked_unknown("matmul");
    ls__asked_product(q);
    if (ls__asked_y(q)) {
        ls__evidence_list(q->e, "a", k, q->x + (of * m + i) * k, 1);
        ls__evidence_list(q->e, "b", k, y + of * k * n + j, n);
        return 0;
    }
    if (ls__asked_dx(q, 0)) {
        ls__evidence_list(q->e, "a", n, q->dy + (of * m + i) * n, 1);
        ls__evidence_list(q->e, "b", n, y + (of * k + j) * n, 1);
    } else {
        ls__evidence_list(q->e, "a", m, q->x + of * m * k + i, k);
        ls__evidence_list(q->e, "b", m, q->dy + of * m * n + j, n);
    }
    ls__asked_addend(q);
    return 0;
}
