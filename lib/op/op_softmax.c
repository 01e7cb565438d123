/* SPDX-License-Identifier: BSD-3-Clause */
/* Softmax and its logarithm along the last axis.
 *
 *     p = e^(x - max) / sum,     dx = p (dy - sum(dy p))
 *     y = x - max - log(sum),    dx = dy - e^y sum(dy) */
#include "op/op_table.h"
#include <lockstep/arithmetic.h>

#include <string.h>

static int64_t vectors_of(const ls__run *r)
{
    return r->rows * ls__vectors(r->node);
}

static size_t bytes_of(const ls__run *r)
{
    return (size_t)(r->rows * r->node->size) * sizeof(float);
}

static int softmax_shape(ls_node *n)
{
    return ls__want(n, 0, LS_F32, 1) < 0 ? LS_ESHAPE : ls__same_shape(n);
}

static void softmax_fwd(const ls__run *r)
{
    int64_t n = ls__width(r->node);

    memcpy(r->y, r->x[0], bytes_of(r));
    r->kernels->softmax(vectors_of(r), n, n, r->y);
}

static void log_softmax_fwd(const ls__run *r)
{
    r->kernels->log_softmax(vectors_of(r), ls__width(r->node), r->x[0], r->y);
}

static void softmax_bwd(const ls__run *r)
{
    int64_t vectors = vectors_of(r), n = ls__width(r->node);
    float *dx = r->dx[0];

    LS__ASSERT(!r->addend[0] || r->addend[0] != dx);
    if (dx != r->dy)
        memcpy(dx, r->dy, bytes_of(r));
    if (r->node->op == &ls__op_softmax)
        r->kernels->softmax_grad(vectors, n, n, r->y, dx);
    else
        r->kernels->log_softmax_grad(vectors, n, r->y, dx);
    if (r->addend[0])
        r->kernels->add(vectors * n, r->addend[0], dx, dx);
}

const ls__op ls__op_softmax = {
    .name = "softmax", .inputs = 1, .shape = softmax_shape,
    .plan = {.reads_y = true, .over = LS__OVER_DY},
    .run = {.forward = softmax_fwd, .backward = softmax_bwd, .cuts = 1}};

const ls__op ls__op_log_softmax = {
    .name = "log_softmax", .inputs = 1, .shape = softmax_shape,
    .plan = {.reads_y = true, .over = LS__OVER_DY},
    .run = {.forward = log_softmax_fwd, .backward = softmax_bwd, .cuts = 1}};

LS__BUILD_UNARY(ls_softmax, &ls__op_softmax)
LS__BUILD_UNARY(ls_log_softmax, &ls__op_log_softmax)
