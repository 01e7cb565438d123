/* SPDX-License-Identifier: BSD-3-Clause */
/* Activations and add, where the plan could not fuse them into a product. */
#include "op/op_table.h"

#include <string.h>

static void activation_fwd(const ls__run *r)
{
    r->kernels->activate(ls__activation_of(r->node->op),
                         r->rows * r->node->size, r->x[0], r->y);
}

/* dx = dy f'(x) + addend */
static void activation_bwd(const ls__run *r)
{
    r->kernels->activate_grad(ls__activation_of(r->node->op),
                              r->rows * r->node->size, r->x[0], r->dy,
                              r->addend[0], r->dx[0]);
}

#define ACTIVATION(kind, text) \
    {.name = text, .inputs = 1, .term = kind, .shape = ls__same_shape, \
     .plan = {.reads = 1, .over = LS__OVER_ADDEND | LS__OVER_DY}, \
     .run = {.forward = activation_fwd, .backward = activation_bwd, \
             .cuts = 1}}

const ls__op ls__op_gelu = ACTIVATION(LS__GELU, "gelu");
const ls__op ls__op_relu = ACTIVATION(LS__RELU, "relu");
const ls__op ls__op_tanh = ACTIVATION(LS__TANH, "tanh");
const ls__op ls__op_sigmoid = ACTIVATION(LS__SIGMOID, "sigmoid");

LS__BUILD_UNARY(ls_gelu, &ls__op_gelu)
LS__BUILD_UNARY(ls_relu, &ls__op_relu)
LS__BUILD_UNARY(ls_tanh, &ls__op_tanh)
LS__BUILD_UNARY(ls_sigmoid, &ls__op_sigmoid)

/* dx may be the memory of either. */
void ls__give_back(const ls__run *r, int input, int64_t at, int64_t n,
                   const float *d)
{
    float *dx = r->dx[input] + at;

    LS__ASSERT(dx == d || LS__APART(dx, d, (size_t)n * sizeof *dx,
                                    (size_t)n * sizeof *dx));
    if (r->addend[input])
        r->kernels->add(n, r->addend[input] + at, d, dx);
    else if (dx != d)
        memcpy(dx, d, (size_t)n * sizeof *dx);
}

void ls__pass_back(const ls__run *r, int input)
{
    ls__give_back(r, input, 0, r->rows * r->node->size, r->dy);
}

static void add_fwd(const ls__run *r)
{
    r->kernels->add(r->rows * r->node->size, r->x[0], r->x[1], r->y);
}

const ls__op ls__op_add = {
    .name = "add", .inputs = 2, .term = LS__ADD, .shape = ls__equal_shapes,
    .plan = {.passes = 3},
    .run = {.forward = add_fwd, .backward = ls__nothing_back, .cuts = 1}};

ls_node *ls_add(ls_node *a, ls_node *b)
{
    return ls__node_done(ls__node_unnamed(&ls__op_add, a, b));
}
