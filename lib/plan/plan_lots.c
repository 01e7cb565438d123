/* Which bags work on chunks in lots (op/lot.h): those whose table is larger
 * than the second cache, where nothing else has a gradient for it, and whose
 * lists are the batch's, so that they are known before their chunk runs.  A lot
 * takes twice the memory of the table at most.  And which bags alone write the
 * gradient of their table, and so know which of its rows are zeros. */
#include "op/lot.h"
#include "op/op_table.h"
#include "plan/planner.h"

enum {
    LARGE = 1 << 18, /* floats: half of a second cache, as a rule */
    CHUNKS = 64      /* more would gain little */
};

static bool has_param(const ls__instr *in, int param)
{
    for (int k = 0; k < in->node->params; k++)
        if (in->node->param[k] == param)
            return true;
    return false;
}

/* A bag with that table, of lists in the batch. */
static bool fits(const ls__instr *in, int table)
{
    if (!ls__is_bag(in->node->op) || in->node->param[0] != table)
        return false;
    for (int k = 0; k < in->inputs; k++)
        if (in->x[k].input < 0)
            return false;
    return true;
}

/* All that have a gradient for the table; false: one of them does not fit. */
static bool find_members(const ls__plan *plan, int table, ls__lot *lot)
{
    for (int i = plan->count - 1; i >= 0; i--) {
        const ls__instr *in = &plan->instr[i];

        if (in->dy < 0 || !has_param(in, table))
            continue;
        if (!fits(in, table) || lot->members == LS__LOT_MEMBERS)
            return false;
        lot->member[lot->members++] = in->node;
    }
    return lot->members > 0;
}

/* As many chunks as are to be had; false: not two. */
static bool size_lot(ls__lot *lot, int64_t floats)
{
    ls__lot_lay_out(lot, 1);
    if (lot->floats > floats)
        return false;
    ls__lot_lay_out(lot, floats / lot->floats < CHUNKS ? floats / lot->floats
                                                       : CHUNKS);
    return lot->chunks > 1;
}

static void give(ls__plan *plan, const ls__lot *lot)
{
    for (int i = 0; i < plan->count; i++)
        for (int m = 0; m < lot->members; m++)
            if (plan->instr[i].node == lot->member[m]) {
                plan->instr[i].lot = lot;
                plan->instr[i].lot_memory = plan->cache_floats;
            }
    plan->cache_floats += lot->floats;
}

static int lot_of_table(ls__plan *plan, int table)
{
    ls__lot found = {.chunk_rows = plan->chunk_rows}, *lot;
    int64_t most = 2 * plan->param[table].size;

    most = most < INT32_MAX ? most : INT32_MAX; /* entries are counted in 32
                                                   bits */
    if (plan->left_out[table] || !find_members(plan, table, &found) ||
        !size_lot(&found, most))
        return 0;
    if (!(lot = ls__arena_new(&plan->arena, 1, sizeof *lot)))
        return LS_ENOMEM;
    *lot = found;
    give(plan, lot);
    return 0;
}

/* Do only bags write the gradient of a table? */
static bool is_of_bags(const ls__plan *plan, int table)
{
    for (int i = 0; i < plan->count; i++)
        if (has_param(&plan->instr[i], table) &&
            !ls__is_bag(plan->instr[i].node->op))
            return false;
    return true;
}

int ls__plan_lots(ls__planner *p)
{
    ls__plan *plan = p->plan;
    int status = 0;

    for (int i = 0; i < plan->count; i++)
        plan->instr[i].marks =
            ls__is_bag(plan->instr[i].node->op) &&
            is_of_bags(plan, plan->instr[i].node->param[0]);

    for (int i = 0; i < plan->params && status == 0; i++)
        if (plan->purpose == LS__TO_TRAIN && plan->param[i].is_table &&
            plan->param[i].size >= LARGE)
            status = lot_of_table(plan, i);
    return status;
}
