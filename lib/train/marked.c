/* Bags take the marks off (op/bag_list.c): a table that only they write.  All
 * other blocks are marked for good. */
#include "train/marked.h"
#include "kernel/kernel.h"
#include "reduce/reduce.h"
#include "train/lazy.h"
#include "train/verdict.h"

#include <string.h>

_Static_assert((int)LS__MARKS_BLOCK == (int)LS__REDUCE_BLOCK,
               "what is marked is reduced");

struct ls__marked {
    ls__marks *device; /* [device here] */
    int64_t blocks;
    bool *of_bags; /* [block] nothing else is written there */
    bool hold;     /* since the last pass */
};

static bool has_bags(const ls__plan *plan)
{
    for (int i = 0; plan && i < plan->count; i++)
        if (plan->instr[i].marks)
            return true;
    return false;
}

/* Nothing but a step's own phases writes gradients, and what becomes of zeros
 * there are zeros. */
static bool may_open(const ls_trainer *t)
{
    return has_bags(t->model.plan) && !t->seam && !t->watch && t->micro == 1 &&
           t->options.mean != LS_MEAN_OF_SHARDS && t->options.optimizer.l2 == 0;
}

/* Whole blocks in tables that only bags write. */
static void find_blocks(const ls_trainer *t, bool *of_bags)
{
    const ls__plan *plan = t->model.plan;

    for (int i = 0; i < plan->count; i++) {
        const ls__instr *in = &plan->instr[i];
        const ls__slot *p;

        if (!in->marks)
            continue;
        p = ls__params_declared(&t->model.params, in->node->param[0]);
        for (int64_t b = ls__reduce_blocks(p->offset);
             b < (p->offset + p->size) / LS__MARKS_BLOCK; b++)
            of_bags[b] = true;
    }
}

static int open_device(ls_trainer *t, ls__marked *m, int d)
{
    size_t blocks = (size_t)m->blocks;

    m->device[d] =
        (ls__marks){t->grad.device[d], ls__arena_new(&t->arena, blocks, 1),
                    ls__arena_new(&t->arena, blocks, 1)};
    return m->device[d].block && m->device[d].large ? 0 : LS_ENOMEM;
}

int ls__marked_open(ls_trainer *t)
{
    size_t devices = (size_t)t->devices.count;
    ls__marked *m;

    if (!may_open(t))
        return 0;
    if (!(m = ls__arena_new(&t->arena, 1, sizeof *m)) ||
        !(m->device = ls__arena_new(&t->arena, devices, sizeof *m->device)))
        return LS_ENOMEM;
    m->blocks = ls__reduce_blocks(t->model.params.floats);
    m->of_bags = ls__arena_new(&t->arena, (size_t)m->blocks, 1);
    for (int d = 0; d < t->devices.count; d++)
        if (open_device(t, m, d) < 0)
            return LS_ENOMEM;
    if (!m->of_bags)
        return LS_ENOMEM;
    find_blocks(t, m->of_bags);
    t->marked = m;
    return 0;
}

/* The plain training step, from a batch to the parameters. */
static bool is_step(const ls__step *s)
{
    return s->pass->train && s->pass->reduces && s->pass->updates &&
           !s->pass->given && s->before == 0 &&
           s->gradient == s->trainer->grad.device[0];
}

void ls__marked_begin(ls__step *s)
{
    const ls_trainer *t = s->trainer;
    ls__marked *m = t->marked;

    if (!m)
        return;
    s->marked = is_step(s);
    for (int d = 0; d < t->devices.count; d++) {
        memset(m->device[d].large, 0, (size_t)m->blocks);
        if (!m->hold)
            memset(m->device[d].block, 1, (size_t)m->blocks);
    }
    m->hold = false;
}

void ls__marked_end(ls__step *s)
{
    if (s->marked)
        s->trainer->marked->hold = s->verdict == LS__GOES_ON;
}

const ls__marks *ls__marked_of(const ls__step *s, int device)
{
    return s->marked ? &s->trainer->marked->device[device] : NULL;
}

/* May the sum of a block wait for the update?  It is finite if no device has a
 * large number there: fewer than 2^31 numbers below 2^64 sum up to less than
 * 2^95, and the factor is below 2^32. */
static bool waits(const ls__step *s, int64_t block)
{
    const ls_trainer *t = s->trainer;

    if (t->lazy || s->notes.square || !t->marked->of_bags[block])
        return false;
    for (int d = 0; d < t->devices.count; d++)
        if (t->marked->device[d].large[block])
            return false;
    return ls__verdict_factor(s) < 0x1p32f;
}

float *ls__marked_gradient(const ls__step *s, ls__range r, float *room)
{
    const ls_trainer *t = s->trainer;
    int64_t block = r.first / LS__MARKS_BLOCK, n = r.last - r.first;

    if (!s->marked)
        return s->gradient + r.first;
    if (!t->marked->device[0].block[block])
        return memset(room, 0, (size_t)n * sizeof *room);
    if (!waits(s, block))
        return s->gradient + r.first;
    ls__kernels()->tree_sum(t->grad.device, t->devices.count, r.first, r.last,
                            ls__verdict_factor(s), room);
    return room;
}

bool ls__marked_skips(void *user, ls__range block)
{
    const ls__step *s = user;
    const ls_trainer *t = s->trainer;
    int64_t at = block.first / LS__MARKS_BLOCK;
    unsigned char any = 0;

    for (int d = 0; d < t->devices.count; d++)
        any |= t->marked->device[d].block[at];
    if (any)
        t->marked->device[0].block[at] = 1;
    else if (t->lazy)
        ls__lazy_rest(s, block);
    return !any || waits(s, at);
}
