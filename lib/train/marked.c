/* Bags take the marks off (op/bag_list.c): a table that only they write.  All
 * other blocks are marked for good. */
#include "train/marked.h"
#include "reduce/reduce.h"
#include "train/lazy.h"

#include <string.h>

_Static_assert((int)LS__MARKS_BLOCK == (int)LS__REDUCE_BLOCK,
               "what is marked is reduced");

struct ls__marked {
    ls__marks *device; /* [device here] */
    int64_t blocks;
    bool hold; /* since the last pass */
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
    for (size_t d = 0; d < devices; d++) {
        m->device[d].array = t->grad.device[d];
        m->device[d].block = ls__arena_new(&t->arena, (size_t)m->blocks, 1);
        if (!m->device[d].block)
            return LS_ENOMEM;
    }
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
    for (int d = 0; d < t->devices.count && !m->hold; d++)
        memset(m->device[d].block, 1, (size_t)m->blocks);
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
    return !any;
}
