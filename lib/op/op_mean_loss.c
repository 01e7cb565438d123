/* SPDX-License-Identifier: BSD-3-Clause */
/* The loss that is the mean of a node's elements, plain or weighted.  One that
 * is made of it and of arithmetic is a formula: one pass over memory, and no
 * gradient of its own. */
#include "op/op_table.h"
#include <lockstep/arithmetic.h>

/* Adds weight x v y of one row to the sums, in double, in rising order; v NULL:
 * all 1. */
static void add_row(const ls__run *r, float weight, const float *y,
                    const float *v)
{
    double loss = 0, total = 0;

    for (int64_t j = 0; j < r->node->in[0]->size; j++) {
        double by = v ? (double)v[j] : 1;

        loss += by * (double)y[j];
        total += by;
    }
    r->of->sums->loss += (double)weight * loss;
    r->of->sums->weight += (double)weight * total;
}

/* dx = addend + weight v for one row. */
static void row_gradient(const ls__run *r, int k, int64_t row, float weight,
                         const float *v)
{
    int64_t n = r->node->in[0]->size;
    const float *addend = r->addend[k] ? r->addend[k] + row * n : NULL;
    float *dx = r->dx[k] + row * n;

    for (int64_t j = 0; j < n; j++) {
        float d = v ? weight * v[j] : weight;

        dx[j] = addend ? addend[j] + d : d;
    }
}

static void mean_loss(const ls__run *r)
{
    int64_t n = r->node->in[0]->size;
    bool weighted = r->node->op->inputs > 1;

    LS__ASSERT(!weighted || r->node->in[1]->size == n);
    for (int64_t i = 0; i < r->rows; i++) {
        const float *y = (const float *)r->x[0] + i * n;
        const float *v = weighted ? (const float *)r->x[1] + i * n : NULL;
        float w = r->of->weights ? r->of->weights[i] : 1.0f;

        add_row(r, w, y, v);
        if (r->dx[0])
            row_gradient(r, 0, i, w, v);
        if (r->dx[1])
            row_gradient(r, 1, i, w, y);
    }
}

static int plain_shape(ls_node *n)
{
    return ls__want(n, 0, LS_F32, 0) < 0 ? LS_ESHAPE : ls__loss_shape(n);
}

static int weighted_shape(ls_node *n)
{
    int status = ls__equal_shapes(n);

    return status < 0 ? status : ls__loss_shape(n);
}

const ls__op ls__op_mean_loss = {
    .name = "mean_loss", .inputs = 1, .is_loss = true, .shape = plain_shape,
    .plan = {.reads = 1},
    .run = {.forward = mean_loss, .backward = mean_loss}};

const ls__op ls__op_weighted_loss = {
    .name = "weighted_mean_loss", .inputs = 2, .is_loss = true,
    .shape = weighted_shape,
    .plan = {.reads = 3},
    .run = {.forward = mean_loss, .backward = mean_loss}};

ls_node *ls_mean_loss(ls_node *terms, ls_node *weights)
{
    const ls__op *op = weights ? &ls__op_weighted_loss : &ls__op_mean_loss;

    return ls__node_done(ls__node_unnamed(op, terms, weights));
}
