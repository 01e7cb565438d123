/* SPDX-License-Identifier: BSD-3-Clause */
/* See looker.h: a rider. */
#include "state/looker.h"
#include "train/batch.h"
#include "train/riders.h"
#include "train/trainer.h"

static int begin(void *own, ls__step *s)
{
    const ls__looker *l = own;

    if (s->pass->train)
        l->begin(l->user, s->calls);
    return 0;
}

static void ready(void *own, ls__step *s, int worker, int device)
{
    const ls__looker *l = own;
    const ls_trainer *t = s->trainer;

    (void)worker;
    if (!l->rows || !s->batch || s->calls != t->micro)
        return;
    for (int m = 0; m < t->micro; m++) {
        ls_shard shard = ls__step_shard(s, device, m);

        l->rows(l->user, (int64_t)(t->devices.first + device) * t->micro + m,
                &shard);
    }
}

/* What is reduced are whole blocks. */
static void summed(void *own, const ls__step *s, ls__range block, bool zeros)
{
    const ls__looker *l = own;

    l->block(l->user, block, zeros ? NULL : s->gradient);
}

static const ls__rider rows_alone = {.name = "transcript", .begin = begin,
                                     .ready = ready};
static const ls__rider with_gradient = {.name = "transcript", .begin = begin,
                                        .ready = ready, .summed = summed};

int ls__looker_add(ls_trainer *t, ls__looker *l)
{
    return ls__riders_add(t->rider, l->block ? &with_gradient : &rows_alone, l);
}

void ls__looker_drop(ls_trainer *t, const ls__looker *l)
{
    ls__riders_drop(t->rider, l);
}
