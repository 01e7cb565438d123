/* SPDX-License-Identifier: BSD-3-Clause */
/* Activations and add, for where the plan could not fold them into a
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

#define ACTIVATION(kind, text, type) \
    {.name = text, .onnx = type, .inputs = 1, .reads = 1, \
     .dx_over_addend = true, .dx_over_dy = true, .activation = kind, \
     .shape = ls__same_shape, .cuts = 1, .forward = activation_fwd, \
     .backward = activation_bwd}

const ls__op ls__op_gelu = ACTIVATION(LS__GELU, "gelu", NULL);
const ls__op ls__op_relu = ACTIVATION(LS__RELU, "relu", "Relu");
const ls__op ls__op_tanh = ACTIVATION(LS__TANH, "tanh", "Tanh");
const ls__op ls__op_sigmoid = ACTIVATION(LS__SIGMOID, "sigmoid", "Sigmoid");

LS__BUILD_UNARY(ls_gelu, &ls__op_gelu)
LS__BUILD_UNARY(ls_relu, &ls__op_relu)
LS__BUILD_UNARY(ls_tanh, &ls__op_tanh)
LS__BUILD_UNARY(ls_sigmoid, &ls__op_sigmoid)

/* dx may be the memory of either. */
void ls__pass_back(const ls__run *r, int input)
{
    const float *addend = r->addend[input];
    int64_t n = r->rows * r->node->size;
    float *dx = r->dx[input];

    if (addend)
        r->kernels->add(n, addend, r->dy, dx);
    else if (dx != r->dy)
        memcpy(dx, r->dy, (size_t)n * sizeof *dx);
}

static void add_fwd(const ls__run *r)
{
    r->kernels->add(r->rows * r->node->size, r->x[0], r->x[1], r->y);
}

const ls__op ls__op_add = {
    .name = "add", .onnx = "Add", .inputs = 2, .passes = 3, .term = LS__ADD,
    .shape = ls__equal_shapes,
    .cuts = 1, .forward = add_fwd, .backward = ls__nothing_back};

ls_node *ls_add(ls_node *a, ls_node *b)
{
    return ls__node_done(ls__node_unnamed(&ls__op_add, a, b));
}
