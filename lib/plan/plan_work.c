/* SPDX-License-Identifier: BSD-3-Clause */
/* The work of a plan, and the dependences of its chunks on each other: by this
 * a team (team.h) decides what its members do. */
#include "base/assert.h"
#include "plan/planner.h"
#include "plan/traffic.h"

/* Forward, and as much again for each gradient of an operand. */
static double flops_of(const ls_node *n)
{
    return n->op->run.flops ? (n->params ? 3 : 4) * n->op->run.flops(n) : 0;
}

static double work_of(const ls__plan *plan, const ls__instr *in)
{
    ls__traffic t = ls__instr_traffic(plan, in);

    return flops_of(in->node) + t.forward + t.backward +
           (t.chunk_forward + t.chunk_backward) / (double)plan->chunk_rows;
}

static int64_t divisor(int64_t a, int64_t b)
{
    return b == 0 ? a : divisor(b, a % b);
}

/* The fewest rows of `size` things that are a multiple of `whole` things. */
static int64_t rows_of(int64_t whole, int64_t size)
{
    return whole / divisor(whole, size);
}

static int64_t common_multiple(int64_t a, int64_t b)
{
    return a / divisor(a, b) * b;
}

/* The unit in which an instruction's rows can be cut; bf16 lies in bands. */
static int64_t unit_of(const ls__instr *in)
{
    const ls_node *n = in->node;
    int64_t rows = n->op->run.cuts > 1 ? rows_of(n->op->run.cuts, n->size) : 1;

    return in->is_bf16
               ? common_multiple(rows, rows_of(LS__BF16_STEP, ls__vectors(n)))
               : rows;
}

/* Does it begin the gradients of some of its parameters, and go on with those
 * of others?  Then it clears the former first. */
static bool begins_some(const ls__instr *in)
{
    bool begins = false, goes_on = false;

    for (int k = 0; k < in->node->params; k++) {
        begins |= !in->begun[k];
        goes_on |= in->begun[k];
    }
    return begins && goes_on;
}

void ls__plan_weigh(ls__plan *plan)
{
    plan->loose = plan->memory.stays == 0 || plan->instr[0].node->positions > 0;
    LS__ASSERT(plan->count > 0);
    plan->unit = 1;
    for (int i = 0; i < plan->count; i++) {
        ls__instr *in = &plan->instr[i];

        in->work = work_of(plan, in);
        plan->work.row += in->work;
        plan->work.cut += in->node->op->run.cuts ? in->work : 0;
        plan->work.split += ls__splits(in->node->op) ? in->work : 0;
        plan->unit = common_multiple(plan->unit, unit_of(in));
        plan->loose &= !ls__is_own(in->node->op) && !begins_some(in);
        for (int k = 0; k < in->node->params; k++)
            plan->tied |= in->begun[k];
    }
}
