/* What a step costs, counted from the graph, and what it took, read from the
 * laps that step.c keeps of each worker. */
#include "base/error.h"
#include "train/trainer.h"

/* Backward makes two gradients, of the operands of each product: those of a
 * weights and of x, where x has one. */
static void fill_cost(const ls__instr *in, ls_cost *cost)
{
    const ls_node *n = in->node;
    double forward = n->op->flops ? n->op->flops(n) : 0;

    *cost = (ls_cost){.op = n->op->name, .name = n->name, .forward = forward,
                      .backward = (in->dx[0] >= 0 ? 2 : 1) * forward};
}

bool ls_trainer_cost(const ls_trainer *t, int i, ls_cost *cost)
{
    const ls__plan *plan = t->exec ? ls__exec_plan(t->exec) : NULL;

    if (i < 0)
        return false;
    for (int at = 0; plan && at < plan->count; at++) {
        if (!plan->goal[0].runs[at] || i-- > 0)
            continue;
        fill_cost(&plan->instr[at], cost);
        return true;
    }
    return false;
}

void ls_trainer_work(const ls_trainer *t, ls_work *work)
{
    double array = sizeof(float) * (double)t->params.floats;
    int moments = ls__optim_moments(t->options.optimizer.kind);
    ls_cost cost;

    work->row_flops = 0;
    for (int i = 0; ls_trainer_cost(t, i, &cost); i++)
        work->row_flops += cost.forward + cost.backward;
    work->reduce_bytes = (t->devices + 1) * array;
    work->update_bytes = (3 + 2 * moments) * array;
}

int ls_trainer_clock(ls_trainer *t)
{
    if (!t->lap)
        t->lap = ls__block_zero((size_t)t->workers * sizeof *t->lap, "clocks");
    return t->lap ? 0 : LS_ENOMEM;
}

int ls_trainer_times(const ls_trainer *t, int worker, ls_times *times)
{
    double all = t->phase.ended - t->phase.began;
    const ls__lap *lap;

    if (worker < 0 || worker >= t->workers)
        return ls__fail(LS_EINVAL, "times of worker %d of %d", worker,
                        t->workers);
    if (!t->lap || t->lap[worker].entered == 0 || !(all > 0))
        return ls__fail(LS_EINVAL, "times of worker %d: no step since "
                        "ls_trainer_clock", worker);
    lap = &t->lap[worker];
    *times = (ls_times){.gradients = lap->busy[LS__GRADIENTS],
                        .reduce = lap->busy[LS__REDUCE],
                        .update = lap->busy[LS__UPDATE]};
    times->waiting = all - times->gradients - times->reduce - times->update;
    return 0;
}
