/* SPDX-License-Identifier: BSD-3-Clause */
/* Activations, add and flatten, for where the plan could not fold them into a
 * product. */
#include "op/op_table.h"

#include <string.h>

static void activation_fwd(const ls__run *r)
{
    r->kernels->activate(r->node->op->activation, r->rows * r->node->size,
                         r->x[0], r->y);
}

/* dx = dy f'(x) + addend */
static void activation_bwd(const ls__run *r)
{
    r->kernels->activate_grad(r->node->op->activation,
                              r->rows * r->node->size, r->x[0], r->dy,
                              r->addend[0], r->dx[0]);
}

const ls__op ls__op_gelu = {
    .name = "gelu", .inputs = 1, .reads = 1, .dx_over_addend = true,
    .dx_over_dy = true, .activation = LS__GELU, .shape = ls__same_shape,
    .cuts = 1, .forward = activation_fwd, .backward = activation_bwd};

const ls__op ls__op_relu = {
    .name = "relu", .onnx = "Relu", .inputs = 1, .reads = 1,
    .dx_over_addend = true,
    .dx_over_dy = true, .activation = LS__RELU, .shape = ls__same_shape,
    .cuts = 1, .forward = activation_fwd, .backward = activation_bwd};

const ls__op ls__op_tanh = {
    .name = "tanh", .onnx = "Tanh", .inputs = 1, .reads = 1,
    .dx_over_addend = true,
    .dx_over_dy = true, .activation = LS__TANH, .shape = ls__same_shape,
    .cuts = 1, .forward = activation_fwd, .backward = activation_bwd};

const ls__op ls__op_sigmoid = {
    .name = "sigmoid", .onnx = "Sigmoid", .inputs = 1, .reads = 1,
    .dx_over_addend = true,
    .dx_over_dy = true, .activation = LS__SIGMOID, .shape = ls__same_shape,
    .cuts = 1, .forward = activation_fwd, .backward = activation_bwd};

static ls_node *activation(const ls__op *op, ls_node *x)
{
    return ls__node_done(ls__node_unnamed(op, x, NULL));
}

ls_node *ls_gelu(ls_node *x)
{
    return activation(&ls__op_gelu, x);
}

ls_node *ls_relu(ls_node *x)
{
    return activation(&ls__op_relu, x);
}

ls_node *ls_tanh(ls_node *x)
{
    return activation(&ls__op_tanh, x);
}

ls_node *ls_sigmoid(ls_node *x)
{
    return activation(&ls__op_sigmoid, x);
}

static int flatten_shape(ls_node *n)
{
    if (ls__want(n, 0, LS_F32, 0) < 0)
        return LS_ESHAPE;
    return ls__node_set_shape(n, LS_F32, 1, &n->in[0]->size);
}

/* Copy x, unless y is its memory, as in a plan where y is not the user's. */
static void flatten_fwd(const ls__run *r)
{
    if (r->y != r->x[0])
        memcpy(r->y, r->x[0],
               (size_t)(r->rows * r->node->size) * sizeof *r->y);
}

/* The gradient is dy: the executor passes it on. */
static void flatten_bwd(const ls__run *r)
{
    (void)r;
}

const ls__op ls__op_flatten = {
    .name = "flatten", .inputs = 1, .is_view = true, .passes = 1,
    .cuts = 1, .shape = flatten_shape, .forward = flatten_fwd,
    .backward = flatten_bwd};

ls_node *ls_flatten(ls_node *x)
{
    return ls__node_done(ls__node_unnamed(&ls__op_flatten, x, NULL));
}

static void add_fwd(const ls__run *r)
{
    r->kernels->add(r->rows * r->node->size, r->x[0], r->x[1], r->y);
}

/* Both gradients are dy: the executor passes it on. */
static void add_bwd(const ls__run *r)
{
    (void)r;
}

const ls__op ls__op_add = {
    .name = "add", .onnx = "Add", .inputs = 2, .passes = 3, .term = LS__ADD,
    .shape = ls__equal_shapes,
    .cuts = 1, .forward = add_fwd, .backward = add_bwd};

ls_node *ls_add(ls_node *a, ls_node *b)
{
    return ls__node_done(ls__node_unnamed(&ls__op_add, a, b));
}
