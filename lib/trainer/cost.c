/* SPDX-License-Identifier: BSD-3-Clause */
/* A step's cost: counted from the graph, and timed from the laps that
 * run_step.c keeps of each worker. */
#include "base/assert.h"
#include "base/error.h"
#include "base/sized.h"
#include "plan/traffic.h"
#include "train/trainer.h"
#include <lockstep/measure.h>

/* Backward makes two gradients, of the operands of each product: those of a
 * weights and of x, where x has one. */
static ls_cost cost_of(const ls__plan *plan, const ls__instr *in)
{
    const ls_node *n = in->node;
    double forward = n->op->run.flops ? n->op->run.flops(n) : 0;
    ls__traffic t = ls__instr_traffic(plan, in);

    return (ls_cost){.op = n->op->name, .name = n->name, .forward = forward,
                     .backward = (in->dx[0] >= 0 ? 2 : 1) * forward,
                     .forward_bytes = t.forward,
                     .backward_bytes = t.backward,
                     .chunk_forward_bytes = t.chunk_forward,
                     .chunk_backward_bytes = t.chunk_backward};
}

bool ls_trainer_cost_bytes(const ls_trainer *t, int i, ls_cost *cost,
                           size_t size)
{
    LS__NEED_AS(t, "trainer", false);
    LS__NEED_OR(cost, false);

    const ls__plan *plan = t->model.plan;
    ls_cost c;

    if (i < 0)
        return false;
    for (int at = 0; plan && at < plan->count; at++) {
        if (!plan->loss.runs[at] || i-- > 0)
            continue;
        c = cost_of(plan, &plan->instr[at]);
        ls__sized_put(cost, size, &c, sizeof c);
        return true;
    }
    return false;
}

void ls_trainer_work_bytes(const ls_trainer *t, ls_work *work, size_t size)
{
    LS__NEED_AS(t, "trainer", );
    LS__NEED_OR(work, );

    double array = sizeof(float) * (double)ls__ranges_sum(&t->trained.runs);
    ls_work w = {.reduce_bytes = (t->devices.of + 1) * array,
                 .update_bytes = (3 + 2 * t->moments.count) * array,
                 .chunk_rows = t->model.plan ? t->model.plan->chunk_rows : 0,
                 .shards = ls__trainer_shards(t)};
    ls_cost cost;

    LS__ASSERT(ls__ranges_sum(&t->trained.runs) <= t->model.params.floats);
    for (int i = 0; ls_trainer_cost(t, i, &cost); i++) {
        w.row_flops += cost.forward + cost.backward;
        w.row_bytes += cost.forward_bytes + cost.backward_bytes;
        w.chunk_bytes += cost.chunk_forward_bytes + cost.chunk_backward_bytes;
    }
    ls__sized_put(work, size, &w, sizeof w);
}

int ls_trainer_clock(ls_trainer *t)
{
    LS__NEED_AS(t, "trainer", LS_EINVAL);

    ls__notes *n = &t->notes;

    if (!n->lap)
        n->lap = ls__block_zero((size_t)t->workers * sizeof *n->lap, "clocks");
    return n->lap ? 0 : LS_ENOMEM;
}

int ls_trainer_times_bytes(const ls_trainer *t, int worker, ls_times *times,
                           size_t size)
{
    LS__NEED_AS(t, "trainer", LS_EINVAL);
    LS__NEED(times);

    double all = t->seconds;
    const ls__lap *lap;
    ls_times r;

    if (worker < 0 || worker >= t->workers)
        return ls__fail(LS_EINVAL, "times of worker %d of %d, counted from 0",
                        worker, t->workers);
    if (!t->notes.lap || t->notes.lap[worker].entered == 0 || !(all > 0))
        return ls__fail(LS_EINVAL, "times of worker %d: no step since "
                        "ls_trainer_clock", worker);
    lap = &t->notes.lap[worker];
    r = (ls_times){.gradients = lap->busy[LS__GRADIENTS],
                   .reduce = lap->busy[LS__REDUCE],
                   .update = lap->busy[LS__UPDATE]};
    r.waiting = all - r.gradients - r.reduce - r.update;
    ls__sized_put(times, size, &r, sizeof r);
    return 0;
}
