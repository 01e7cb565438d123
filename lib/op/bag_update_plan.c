/* SPDX-License-Identifier: BSD-3-Clause */
/* The choice of bags that work on chunks in lots (op/bag_update.h): those whose
 * table is larger than the second cache, where nothing else has a gradient for
 * it, and whose lists are the batch's, so that they are known before their
 * chunk runs.  A lot takes twice the memory of the table at most.  Chosen too:
 * bags that alone write the gradient of their table, and so know which of its
 * rows are zeros. */
#include "op/bag_update.h"
#include "op/bag_list.h"
#include "op/op_table.h"

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

/* Find all that have a gradient for the table; false: one does not fit. */
static bool find_members(const ls__bench *b, int table, ls__bag_update *lot)
{
    for (int i = b->count - 1; i >= 0; i--) {
        const ls__instr *in = &b->instr[i];

        if (in->dy < 0 || !has_param(in, table))
            continue;
        if (!fits(in, table) || lot->members == LS__LOT_MEMBERS)
            return false;
        lot->member[lot->members++] = in->node;
    }
    return lot->members > 0;
}

/* Take as many chunks as there is memory for; false: not two. */
static bool size_lot(ls__bag_update *lot, int64_t floats)
{
    ls__lot_lay_out(lot, 1);
    if (lot->floats > floats)
        return false;
    ls__lot_lay_out(lot, floats / lot->floats < CHUNKS ? floats / lot->floats
                                                       : CHUNKS);
    LS__ASSERT(lot->floats <= floats && lot->chunks <= CHUNKS);
    return lot->chunks > 1;
}

/* All members are told by the first to come. */
static void give(ls__bench *b, const ls__bag_update *lot)
{
    int64_t at = ls__bench_stays(b, lot->floats);

    for (int i = 0; i < b->count; i++)
        for (int m = 0; m < lot->members; m++)
            if (b->instr[i].node == lot->member[m]) {
                ls__bag_made *made = b->instr[i].made;

                LS__ASSERT(!made->lot); /* a bag has one table */
                made->lot = lot;
                made->lot_at = at;
            }
}

static int lot_of_table(ls__bench *b, int table)
{
    ls__bag_update found = {.chunk_rows = b->rows}, *lot;
    int64_t most = 2 * b->param[table].size;

    most = most < INT32_MAX ? most : INT32_MAX; /* entries are counted in 32
                                                   bits */
    if (b->left_out[table] || !find_members(b, table, &found) ||
        !size_lot(&found, most))
        return 0;
    if (!(lot = ls__arena_new(b->arena, 1, sizeof *lot)))
        return LS_ENOMEM;
    *lot = found;
    give(b, lot);
    return 0;
}

/* Do only bags write the gradient of a table? */
static bool is_of_bags(const ls__bench *b, int table)
{
    for (int i = 0; i < b->count; i++)
        if (has_param(&b->instr[i], table) &&
            !ls__is_bag(b->instr[i].node->op))
            return false;
    return true;
}

int ls__lot_plan(ls__bench *b, ls__instr *in)
{
    ls__bag_made *made = in->made;
    int table = in->node->param[0];

    made->touched = is_of_bags(b, table);
    if (made->lot || in->dy < 0 || !b->lots || b->param[table].size < LARGE)
        return 0;
    return lot_of_table(b, table);
}
