/* SPDX-License-Identifier: BSD-3-Clause */
/* The loss that is the mean of a node's elements, plain or weighted, and the
 * losses that are made of it and of arithmetic: each is a formula, so that it
 * is one pass over memory and needs no gradient of its own. */
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
    return ls__want(n, 0, LS_F32, 0) < 0
               ? LS_ESHAPE : ls__node_set_shape(n, LS_F32, 0, NULL);
}

static int weighted_shape(ls_node *n)
{
    int status = ls__equal_shapes(n);

    return status < 0 ? status : ls__node_set_shape(n, LS_F32, 0, NULL);
}

const ls__op ls__op_mean_loss = {
    .name = "mean_loss", .inputs = 1, .is_loss = true, .reads = 1,
    .shape = plain_shape, .forward = mean_loss, .backward = mean_loss};

const ls__op ls__op_weighted_loss = {
    .name = "weighted_mean_loss", .inputs = 2, .is_loss = true, .reads = 3,
    .shape = weighted_shape, .forward = mean_loss, .backward = mean_loss};

ls_node *ls_mean_loss(ls_node *terms, ls_node *weights)
{
    const ls__op *op = weights ? &ls__op_weighted_loss : &ls__op_mean_loss;

    return ls__node_done(ls__node_unnamed(op, terms, weights));
}

/* ------ losses made of it ------ */

ls_node *ls_mean_absolute_error(ls_node *y, ls_node *target)
{
    return ls_mean_loss(ls_abs(ls_sub(y, target)), NULL);
}

/* Huber's loss is q^2 / 2 + delta (|d| - q), with q = min(|d|, delta). */
ls_node *ls_huber_loss(ls_node *y, ls_node *target, double delta)
{
    ls_node *size = ls_abs(ls_sub(y, target));
    ls_node *q = ls_clamp(size, 0, delta);
    ls_node *line = ls_scale_shift(ls_sub(size, q), delta, 0);

    return ls_mean_loss(ls_add(ls_scale_shift(ls_square(q), 0.5, 0), line),
                        NULL);
}

static ls_node *of_two(int kind, ls_node *a, ls_node *b)
{
    return ls__node_done(ls__node_unnamed(&ls__op_term[kind], a, b));
}

ls_node *ls_binary_cross_entropy(ls_node *logits, ls_node *target)
{
    return ls_mean_loss(of_two(LS__BINARY_ENTROPY, logits, target), NULL);
}

ls_node *ls_kl_divergence(ls_node *log_predicted, ls_node *target)
{
    ls_node *terms = of_two(LS__DIVERGENCE, log_predicted, target);

    return ls_mean_loss(ls_sum_over(terms, 1, (int[]){-1}), NULL);
}

/* (log v + (y - t)^2 / v) / 2 with v = max(variance, 1e-6) */
ls_node *ls_gaussian_loss(ls_node *mean, ls_node *variance, ls_node *target)
{
    ls_node *v = ls_clamp(variance, 1e-6, __builtin_inf());
    ls_node *far = ls_div(ls_square(ls_sub(mean, target)), v);

    return ls_mean_loss(ls_scale_shift(ls_add(ls_log(v), far), 0.5, 0), NULL);
}

/* -sum_j t_j log softmax(x)_j with t the one-hot label, smoothed. */
ls_node *ls_label_terms(ls_node *logits, ls_node *labels, double smoothing)
{
    ls_node *log_p = ls_log_softmax(logits), *t;
    int64_t classes = log_p ? ls__width(log_p) : 1;

    if (log_p && !(smoothing >= 0 && smoothing < 1)) {
        ls__fail(LS_EINVAL, "label terms \"%s\": smoothing %g is not in [0,1)",
                 logits->name, smoothing);
        return ls__graph_failed(logits->graph, LS_EINVAL);
    }
    t = ls_scale_shift(ls_one_hot(labels, classes), smoothing - 1,
                       -smoothing / (double)classes);
    return ls_sum_over(ls_mul(t, log_p), 1, (int[]){-1});
}
