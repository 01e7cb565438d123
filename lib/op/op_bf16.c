/* SPDX-License-Identifier: BSD-3-Clause */
/* Rounding to bfloat16, alone: a cast of the inputs of layers that compute in
 * float (Flax promotes; the rest stays f32). */
#include "op/op_table.h"

static void round_fwd(const ls__run *r)
{
    r->kernels->round_bf16(r->rows * r->node->size, r->x[0], NULL, r->y);
}

/* The gradient of a cast is cast too: dx = dy rounded + addend. */
static void round_bwd(const ls__run *r)
{
    r->kernels->round_bf16(r->rows * r->node->size, r->dy, r->addend[0],
                           r->dx[0]);
}

const ls__op ls__op_round_bf16 = {
    .name = "round_bf16", .inputs = 1, .shape = ls__same_shape,
    .plan = {.over = LS__OVER_ADDEND | LS__OVER_DY},
    .run = {.forward = round_fwd, .backward = round_bwd, .cuts = 1}};

LS__BUILD_UNARY(ls_round_bf16, &ls__op_round_bf16)
