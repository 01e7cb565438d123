/* SPDX-License-Identifier: BSD-3-Clause */
/* See joint.h. */
#include "train/joint.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/tree.h"
#include "pool/pool.h"
#include "train/batch.h"
#include "train/device.h"
#include "train/phases.h"
#include "train/hooks.h"
#include "train/verdict.h"

#include <string.h>

struct ls__joint {
    double *found; /* of each survey that of all devices of the experiment */
    double *all;   /* [worker * plan->surveys.found] what they have together */
    double *sums;  /* [worker * room] the tree's partial sums */
    int64_t room;
};

/* ------ opening ------ */

static int check(const ls_trainer *t)
{
    const ls_trainer_options *o = &t->options;
    const ls__plan *plan = t->model.plan;
    const char *with = NULL;

    for (int i = 0; plan->surveys.meet && i < plan->count; i++)
        if (ls__is_own(plan->instr[i].node->op))
            with = "operators of the program's own";
    if (plan->surveys.meet && o->mean == LS_MEAN_OF_SHARDS)
        with = "means of shards";
    if (plan->surveys.meet && t->grad.guard)
        with = "check_divergence";
    if (o->check > 0)
        with = "check";
    return with ? ls__fail(LS_ENOTSUP, "batch norms that train by statistics "
                           "of %s do not go together with %s",
                           plan->surveys.meet ? "a batch" : "a shard", with)
                : 0;
}

int ls__joint_open(ls_trainer *t)
{
    const ls__plan *plan = t->model.plan;
    size_t devices = (size_t)t->devices.of, workers = (size_t)t->workers;
    size_t found;
    ls__joint *j;
    int status;

    if (!plan || !plan->surveys.n)
        return 0;
    if ((status = check(t)) < 0 || !plan->surveys.meet)
        return status;
    if (!(j = ls__arena_new(&t->arena, 1, sizeof *j)))
        return LS_ENOMEM;
    found = (size_t)plan->surveys.found;
    j->room = plan->surveys.found * (ls__tree_depth(t->devices.of) + 1);
    j->found = ls__arena_new(&t->arena, devices * found, sizeof *j->found);
    j->all = ls__arena_new(&t->arena, workers * found, sizeof *j->all);
    j->sums = ls__arena_new(&t->arena, workers * (size_t)j->room,
                            sizeof *j->sums);
    t->joint = j;
    return j->found && j->all && j->sums ? 0 : LS_ENOMEM;
}

void ls__joint_share(const ls_trainer *t)
{
    const ls__joint *j = t->joint;

    for (int w = 0; j && w < t->workers; w++) {
        int first, last;

        ls__pool_shards_of(t->pool, t->devices.count, w, &first, &last);
        for (int d = first; d < last; d++)
            ls__context_share(t->source.context[d], j->found,
                              j->all + w * t->model.plan->surveys.found,
                              t->devices.of, t->devices.first + d);
    }
}

/* ------ exchange of findings ------ */

/* Add what all devices found, in the order of base/tree.h. */
static void join(const ls_trainer *t, int worker, const ls__instr *in,
                 bool back)
{
    const ls__joint *j = t->joint;
    const ls__survey *survey = ls__survey_of(in->node->op);
    int64_t size = survey->size(in->node, back);
    size_t bytes = (size_t)size * sizeof(double);
    const double *found = j->found + t->devices.of * in->found[back];
    double *sums = j->sums + worker * j->room;
    int top = 0;

    for (int d = 0; d < t->devices.of; d++) {
        int merges = ls__tree_merges(d);

        LS__ASSERT((top + 1) * size <= j->room);
        memcpy(sums + top++ * size, found + d * size, bytes);
        if (d == t->devices.of - 1)
            merges = top - 1;
        for (; merges > 0; merges--, top--)
            survey->join(in->node, back, sums + (top - 2) * size,
                         sums + (top - 1) * size);
    }
    LS__ASSERT(top == 1);
    memcpy(j->all + worker * t->model.plan->surveys.found + in->found[back],
           sums,
           bytes);
}

void ls__joint_join(const ls_trainer *t, const ls__instr *in, bool back)
{
    for (int w = 0; w < t->workers; w++)
        join(t, w, in, back);
}

/* All devices are through with a part: learn what it found. */
static bool meet(ls__step *s, int worker, int part, ls__tell_fn *tell)
{
    const ls_trainer *t = s->trainer;
    const ls__instr *in;
    bool back;

    bool ends = ls__plan_part_ends(t->model.plan, part, &in, &back);

    LS__ASSERT(ends);
    ls__pool_barrier(t->pool);
    if (tell) {
        int64_t size = ls__survey_of(in->node->op)->size(in->node, back);

        if (worker == 0)
            s->status = tell(s, t->joint->found +
                                t->devices.of * in->found[back],
                             size * (int64_t)sizeof(double));
        ls__pool_barrier(t->pool);
    }
    if (s->status < 0)
        return false;
    if (ls__survey_of(in->node->op)->of_all(in->node))
        join(t, worker, in, back);
    return true;
}

/* ------ a worker's devices ------ */

static void run_part(ls__step *s, int worker, int device, int micro, int part)
{
    const ls_trainer *t = s->trainer;
    ls_shard shard = ls__step_shard(s, device, micro);
    ls__micro_batch mb = ls__micro_batch_of(s, worker, device, micro);
    bool last = part == ls__plan_parts(t->model.plan) - 1;
    ls_sums sums = {.correct = __builtin_nan("")};
    float **grads = ls__micro_batch_grads(s, &mb);

    if (part == 0)
        LS__TELL_HOOKS(s, enter, &mb);
    if (part == 0 && !shard.rows)
        ls__device_nothing(&t->model, grads, &sums);
    ls__exec_part(t->source.context[device], ls__device_weights(t, device),
                  &shard, grads, &sums, part);
    if (part == (shard.rows ? t->model.plan->surveys.n : 0)) /* the loss's */
        ls__sums_add(&ls__step_report_of(s, device)->sums, &sums,
                     t->model.metrics);
    if (!last)
        return;
    ls__trained_clear(&t->trained, &t->model.params, grads);
    ls__micro_batch_ends(s, &mb);
}

static bool run_micro(ls__step *s, int worker, ls__range mine, int micro,
                      ls__tell_fn *tell)
{
    int parts = ls__plan_parts(s->trainer->model.plan);

    for (int part = 0; part < parts; part++) {
        if (part > 0 && !meet(s, worker, part - 1, tell))
            return false;
        for (int64_t d = mine.first; d < mine.last && s->refused == 0; d++)
            run_part(s, worker, (int)d, micro, part);
    }
    return true;
}

bool ls__joint_gradients(ls__step *s, int worker, ls__tell_fn *tell)
{
    const ls_trainer *t = s->trainer;
    int first, last;
    bool goes_on = true;

    ls__pool_shards_of(t->pool, t->devices.count, worker, &first, &last);
    for (int d = first; d < last; d++) {
        if (s->before == 0)
            ls__step_report_of(s, d)->sums = (ls_sums){0};
        ls__step_report(s, ls__step_report_of(s, d));
    }
    for (int m = 0; m < t->micro && goes_on; m++)
        goes_on = run_micro(s, worker, (ls__range){first, last}, m, tell);
    for (int d = first; d < last && goes_on && s->refused == 0; d++) {
        ls__step_report_of(s, d)->status = 0;
        ls__step_report_of(s, d)->failed = -1;
        LS__TELL_HOOKS(s, ready, worker, d);
    }
    return goes_on;
}

bool ls__phase_joint(ls__step *s, int worker)
{
    return ls__joint_gradients(s, worker, NULL);
}
