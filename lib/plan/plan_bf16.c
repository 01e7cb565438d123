/* SPDX-License-Identifier: BSD-3-Clause */
/* Values in bf16, if all their readers multiply them so: the operator that
 * makes such a value writes it as bf16 (c_bf16 in kernel/product.h).  So half
 * the bytes are written and read, and no reader rounds and packs them again.
 * Results have the same bytes. */
#include "base/assert.h"
#include "plan/planner.h"

static bool may(const ls__instr *in, int k)
{
    return in->node->op->plan.may_bf16 && in->node->op->plan.may_bf16(in, k);
}

/* The number of readers of node n as bf16; -1: one reads it otherwise. */
static int readers(const ls__plan *plan, const ls_node *n)
{
    int count = 0;

    for (int i = 0; i < plan->count; i++) {
        const ls__instr *in = &plan->instr[i];

        for (int k = 0; k < in->inputs; k++) {
            if (in->node->in[k] != n)
                continue;
            LS__ASSERT(n->id < in->node->id);
            if (!may(in, k))
                return -1;
            count++;
        }
    }
    return count;
}

static void tell_readers(ls__plan *plan, const ls_node *n)
{
    for (int i = 0; i < plan->count; i++)
        for (int k = 0; k < plan->instr[i].inputs; k++)
            plan->instr[i].x[k].is_bf16 |= plan->instr[i].node->in[k] == n;
}

/* Outputs and metrics are among the consumers, but no readers. */
void ls__plan_bf16(ls__planner *p)
{
    ls__plan *plan = p->plan;

    for (int i = 0; plan->backend.products->to_bf16 && i < plan->count; i++) {
        ls__instr *in = &plan->instr[i];

        in->is_bf16 = may(in, LS__VALUE) &&
                    readers(plan, in->node) == p->consumers[in->node->id];
        if (in->is_bf16)
            tell_readers(plan, in->node);
    }
}
