/* SPDX-License-Identifier: BSD-3-Clause */
/* Bags alone leave blocks of their tables untouched (op/bag_list.c).  All other
 * blocks count as touched for good. */
#include "hooks/step_hooks.h"
#include "base/assert.h"
#include "op/bag_list.h"
#include "reduce/reduce.h"
#include "train/verdict.h"

#include <string.h>

_Static_assert((int)LS__TOUCHED_BLOCK == (int)LS__REDUCE_BLOCK,
               "what is touched is reduced");

typedef struct all_blocks {
    ls__context *const *context; /* [device here] */
    const ls__gradients *grad;
    int devices;
    ls__touched *device; /* [device here] */
    int64_t blocks;
    bool *of_bags; /* [block] nothing else is written there */
    bool hold;     /* since the last pass */
} all_blocks;

static bool has_bags(const ls__plan *plan)
{
    for (int i = 0; plan && i < plan->count; i++)
        if (ls__bag_touches(&plan->instr[i]))
            return true;
    return false;
}

/* Nothing but a step's own phases writes gradients, and what becomes of zeros
 * there are zeros. */
static bool wants(const ls__rig *rig, ls__needs *needs)
{
    const ls_trainer_options *o = rig->options;
    bool rides = has_bags(rig->model->plan) && !rig->ranks && !needs->whole &&
                 rig->micro == 1 && o->mean != LS_MEAN_OF_SHARDS &&
                 o->optimizer.l2 == 0;

    needs->fates |= rides;
    return rides;
}

/* Whole blocks in tables that only bags write. */
static void find_blocks(const ls__model *model, bool *of_bags)
{
    const ls__plan *plan = model->plan;

    for (int i = 0; i < plan->count; i++) {
        const ls__instr *in = &plan->instr[i];
        const ls__slot *p;

        if (!ls__bag_touches(in))
            continue;
        p = ls__params_declared(&model->params, in->node->param[0]);
        for (int64_t b = ls__reduce_blocks(p->offset);
             b < (p->offset + p->size) / LS__TOUCHED_BLOCK; b++)
            of_bags[b] = true;
    }
}

static int open_device(ls__arena *arena, all_blocks *m, int d)
{
    size_t blocks = (size_t)m->blocks;

    m->device[d] =
        (ls__touched){m->grad->device[d], ls__arena_new(arena, blocks, 1),
                    ls__arena_new(arena, blocks, 1)};
    return m->device[d].block && m->device[d].large ? 0 : LS_ENOMEM;
}

static int open_blocks(void **own, const ls__rig *rig)
{
    size_t devices = (size_t)rig->devices.count;
    all_blocks *m = *own = ls__arena_new(rig->arena, 1, sizeof *m);

    if (!m || !(m->device = ls__arena_new(rig->arena, devices,
                                          sizeof *m->device)))
        return LS_ENOMEM;
    m->context = rig->context;
    m->grad = rig->grad;
    m->devices = rig->devices.count;
    m->blocks = ls__reduce_blocks(rig->model->params.floats);
    m->of_bags = ls__arena_new(rig->arena, (size_t)m->blocks, 1);
    for (int d = 0; d < m->devices; d++)
        if (open_device(rig->arena, m, d) < 0)
            return LS_ENOMEM;
    if (!m->of_bags)
        return LS_ENOMEM;
    find_blocks(rig->model, m->of_bags);
    return 0;
}

/* The plain training step, from a batch to the parameters. */
static bool is_step(const all_blocks *m, const ls__step *s)
{
    return s->pass->train && s->pass->reduces && s->pass->updates &&
           !s->pass->trusted && s->before == 0 &&
           s->gradient == m->grad->device[0];
}

/* Untouched blocks stay so from one training step to the next if nothing else
 * ran in between; otherwise all are touched. */
static int begin(void *own, ls__step *s)
{
    all_blocks *m = own;

    s->fates = is_step(m, s);
    for (int d = 0; d < m->devices; d++) {
        memset(m->device[d].large, 0, (size_t)m->blocks);
        if (!m->hold)
            memset(m->device[d].block, 1, (size_t)m->blocks);
    }
    m->hold = false;
    return 0;
}

static void end(void *own, const ls__step *s, const ls_result *result)
{
    all_blocks *m = own;

    if (s->fates)
        m->hold = result->updated;
}

static void enter(void *own, ls__step *s, const ls__micro_batch *mb)
{
    const all_blocks *m = own;

    if (s->fates)
        ls__context_touched(m->context[mb->device], &m->device[mb->device]);
}

static void leave(void *own, ls__step *s, ls__micro_batch *mb)
{
    const all_blocks *m = own;

    if (s->fates)
        ls__context_touched(m->context[mb->device], NULL);
}

/* May the sum of a block wait for the update?  It is finite if no device has a
 * large number there: fewer than 2^31 numbers below 2^64 sum up to less than
 * 2^95, and the factor is below 2^32. */
static bool waits(const all_blocks *m, const ls__step *s, int64_t block)
{
    if (!m->of_bags[block])
        return false;
    for (int d = 0; d < m->devices; d++)
        if (m->device[d].large[block])
            return false;
    return ls__verdict_factor(s) < 0x1p32f;
}

/* Is it zeros on all devices?  Where it is not, the first one has the sum. */
static ls__fate fate(void *own, const ls__step *s, ls__range block)
{
    const all_blocks *m = own;
    int64_t at = block.first / LS__TOUCHED_BLOCK;
    unsigned char any = 0;

    LS__ASSERT(block.first % LS__TOUCHED_BLOCK == 0 && at < m->blocks &&
               block.last - block.first <= LS__TOUCHED_BLOCK);
    for (int d = 0; d < m->devices; d++)
        any |= m->device[d].block[at];
    if (!any)
        return LS__ZEROS;
    m->device[0].block[at] = 1;
    return waits(m, s, at) ? LS__WAITS : LS__SUMMED;
}

const ls__hook ls__touched_blocks = {
    .name = "touched blocks", .wants = wants, .open = open_blocks,
    .begin = begin, .end = end, .enter = enter, .leave = leave, .fate = fate};
