/* SPDX-License-Identifier: BSD-3-Clause */
/* Formulas as operators (graph/op.h): elementwise operators, each a formula of
 * one term, and the fused chains of them that a plan makes. */
#ifndef LS_OP_FORMULA_RUN_H
#define LS_OP_FORMULA_RUN_H

#include "graph/op.h"

int ls__formula_plan(ls__bench *b, ls__instr *in);
void ls__formula_forward(const ls__run *r);
void ls__formula_backward(const ls__run *r);

/* Count the turns of one with parameters, which are columns. */
unsigned ls__formula_turns(const ls__instr *in, unsigned most);

#endif
