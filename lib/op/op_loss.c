/* SPDX-License-Identifier: BSD-3-Clause */
/* The losses.  Each adds, over its rows, weight x (sum of terms) and weight x
 * (number of terms) to the sums, and gives the gradient of the former; the
 * division by the weight of the whole batch comes after the reduction.
 *
 *     squared error:  sum (y - t)^2,           d = 2 w (y - t)
 *     cross entropy:  -log softmax(x)[label],  d = w (softmax(x) - one hot)
 *
 * Terms are added in double, in rising order.  dx[0] NULL: the loss alone.
 * Cross entropy also adds the weight of the terms whose argmax is the label; a
 * label below 0 is no term. */
#include "op/op_table.h"

#include <string.h>

static float weight_of(const ls__run *r, int64_t row)
{
    return r->of->weights ? r->of->weights[row] : 1.0f;
}

static int squared_shape(ls_node *n)
{
    const ls_node *y = n->in[0], *t = n->in[1];
    char left[LS__SHAPE_TEXT], right[LS__SHAPE_TEXT];

    if (ls__want(n, 0, LS_F32, 0) < 0 || ls__want(n, 1, LS_F32, 0) < 0)
        return LS_ESHAPE;
    if (y->rank != t->rank ||
        memcmp(y->shape, t->shape, (size_t)y->rank * sizeof *y->shape))
        return ls__fail(LS_ESHAPE, "squared error: y is %s, target is %s",
                        ls__shape_text(left, y->rank, y->shape),
                        ls__shape_text(right, t->rank, t->shape));
    return ls__loss_shape(n);
}

/* A target that trains gets the negative; it goes first, since dx[0] may lie
 * over y. */
static void squared_error(const ls__run *r)
{
    int64_t n = r->node->in[0]->size;
    const float *y = r->x[0], *t = r->x[1];

    for (int64_t i = 0; i < r->rows; i++, y += n, t += n) {
        float w = weight_of(r, i), loss;

        if (r->dx[1])
            (void)r->kernels->squared_error(n, t, y, w, r->dx[1] + i * n);
        loss = r->kernels->squared_error(n, y, t, w, r->dx[0] ? r->dx[0] + i * n
                                                              : NULL);
        ls__show(r, "terms", i, r->rows, &loss, 1);
        r->of->sums->loss += (double)w * (double)loss;
        r->of->sums->weight += (double)w * (double)n;
    }
    if (r->dx[1] && r->addend[1])
        r->kernels->add(r->rows * n, r->addend[1], r->dx[1], r->dx[1]);
}

const ls__op ls__op_squared_error = {
    .name = "squared error", .inputs = 2, .is_loss = true,
    .shape = squared_shape,
    .plan = {.reads = 3, .over = LS__OVER_X},
    .run = {.forward = squared_error, .backward = squared_error}};

ls_node *ls_mean_squared_error(ls_node *y, ls_node *target)
{
    return ls__node_done(
        ls__node_unnamed(&ls__op_squared_error, y, target));
}

/* Is the label the first of the largest?  Most wrong ones end at once. */
static bool is_right(int64_t n, const float *x, int32_t label)
{
    LS__ASSERT(label >= 0 && label < n);
    for (int64_t j = 0; j < label; j++)
        if (!(x[j] < x[label]))
            return false;
    for (int64_t j = label + 1; j < n; j++)
        if (!(x[j] <= x[label]))
            return false;
    return x[label] == x[label];
}

/* The argmaxes that are the label; before dx may overwrite the logits. */
static void count_right(const ls__run *r, int64_t terms, const int32_t *labels)
{
    int64_t v = ls__width(r->node->in[0]);
    ls_sums *sums = r->of->sums;
    const float *x = r->x[0];

    if (sums->correct != sums->correct) /* NaN: nothing counted yet */
        sums->correct = 0;
    for (int64_t i = 0; i < r->rows * terms; i++)
        if (labels[i] >= 0 && is_right(v, x + i * v, labels[i]))
            sums->correct += (double)weight_of(r, i / terms);
}

/* The loss of one term, and its gradient; of an ignored one nothing. */
static float term(const ls__run *r, int64_t v, const float *x, int32_t label,
                  float w, float *dx)
{
    LS__ASSERT(label < v);
    if (label >= 0)
        return r->kernels->cross_entropy(v, x, label, w, dx);
    if (dx)
        memset(dx, 0, (size_t)v * sizeof *dx);
    return 0;
}

/* `terms` vectors of logits in each row against labels[0..terms); the vectors
 * beyond them, up to `vectors`, get no gradient. */
static void label_rows(const ls__run *r, int64_t vectors, int64_t terms,
                       const int32_t *labels, int64_t label_stride)
{
    int64_t v = ls__width(r->node->in[0]);
    const float *x = r->x[0];
    float *dx = r->dx[0];

    LS__ASSERT(terms <= vectors && terms <= label_stride);
    for (int64_t i = 0; i < r->rows; i++, labels += label_stride) {
        float w = weight_of(r, i);
        int64_t counted = 0;

        for (int64_t t = 0; t < terms; t++) {
            int64_t at = (i * vectors + t) * v;
            float loss = term(r, v, x + at, labels[t], w, dx ? dx + at : NULL);

            ls__show(r, "terms", i * terms + t, r->rows * terms, &loss, 1);
            r->of->sums->loss += (double)w * (double)loss;
            counted += labels[t] >= 0;
        }
        if (dx && terms < vectors)
            memset(dx + (i * vectors + terms) * v, 0,
                   (size_t)((vectors - terms) * v) * sizeof *dx);
        r->of->sums->weight += (double)w * (double)counted;
    }
}

static int label_shape(ls_node *n)
{
    const ls_node *x = n->in[0], *t = n->in[1];
    char left[LS__SHAPE_TEXT], right[LS__SHAPE_TEXT];

    if (ls__want(n, 0, LS_F32, 1) < 0 || ls__want(n, 1, LS_I32, 0) < 0)
        return LS_ESHAPE;
    if (x->rank != t->rank + 1 ||
        memcmp(x->shape, t->shape, (size_t)t->rank * sizeof *t->shape))
        return ls__fail(LS_ESHAPE, "%s: logits are %s, labels %s",
                        n->op->name, ls__shape_text(left, x->rank, x->shape),
                        ls__shape_text(right, t->rank, t->shape));
    ls__limit(n->in[1], ls__width(x));
    return ls__loss_shape(n);
}

static void cross_entropy(const ls__run *r)
{
    int64_t terms = r->node->in[1]->size;

    count_right(r, terms, r->x[1]);
    label_rows(r, terms, terms, r->x[1], terms);
}

const ls__op ls__op_cross_entropy = {
    .name = "cross entropy", .inputs = 2, .is_loss = true, .ignores = 2,
    .shape = label_shape,
    .plan = {.reads = 3, .over = LS__OVER_X},
    .run = {.forward = cross_entropy, .backward = cross_entropy}};

ls_node *ls_cross_entropy(ls_node *logits, ls_node *labels)
{
    return ls__node_done(
        ls__node_unnamed(&ls__op_cross_entropy, logits, labels));
}

static int next_shape(ls_node *n)
{
    if (n->in[1]->rank != 1 || n->in[1]->size < 2) {
        char text[LS__SHAPE_TEXT];

        return ls__fail(LS_ESHAPE, "next token: tokens are %s; two or more "
                        "along one axis are needed",
                        ls__shape_text(text, n->in[1]->rank,
                                       n->in[1]->shape));
    }
    return label_shape(n);
}

static void next_token(const ls__run *r)
{
    int64_t t = r->node->in[1]->size;

    label_rows(r, t, t - 1, (const int32_t *)r->x[1] + 1, t);
}

const ls__op ls__op_next_token = {
    .name = "next token", .inputs = 2, .is_loss = true, .ignores = 2,
    .shape = next_shape,
    .plan = {.reads = 3, .over = LS__OVER_X},
    .run = {.forward = next_token, .backward = next_token}};

ls_node *ls_next_token_loss(ls_node *logits, ls_node *tokens)
{
    return ls__node_done(
        ls__node_unnamed(&ls__op_next_token, logits, tokens));
}
