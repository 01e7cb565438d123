/* SPDX-License-Identifier: BSD-3-Clause */
/* The rule of each parameter, from that of all and its groups. */
#include "hooks/step_hooks.h"
#include "rules/groups.h"

/* The training of one parameter. */
typedef struct way {
    float rate;      /* its learning rate is so many times the trainer's */
    ls_optimizer of; /* with its weight decay */
} way;

typedef struct ways {
    int count;
    way *slot;
    ls__rule *rule; /* [slot] of the step at hand */
} ways;

static bool wants(const ls__rig *rig, ls__needs *needs)
{
    (void)needs;
    return rig->options->n_groups > 0;
}

static int open_ways(void **own, const ls__rig *rig)
{
    const ls__params *p = &rig->model->params;
    size_t n = (size_t)p->count;
    ways *w = *own = ls__arena_new(rig->arena, 1, sizeof *w);

    if (!w || !(w->slot = ls__arena_new(rig->arena, n, sizeof *w->slot)) ||
        !(w->rule = ls__arena_new(rig->arena, n, sizeof *w->rule)))
        return LS_ENOMEM;
    w->count = p->count;
    for (int i = 0; i < p->count; i++)
        w->slot[i].rate = ls__groups_rate(rig->options, p->slot[i].name,
                                          p->slot[i].rank, &w->slot[i].of);
    return 0;
}

static int begin(void *own, ls__step *s)
{
    ways *w = own;

    for (int i = 0; i < w->count; i++) {
        w->rule[i] = s->rule;
        w->rule[i].of = &w->slot[i].of;
        w->rule[i].neg_lr = s->rule.neg_lr * w->slot[i].rate;
    }
    s->rules = w->rule;
    return 0;
}

const ls__hook ls__ways = {.name = "ways", .wants = wants, .open = open_ways,
                           .begin = begin};
