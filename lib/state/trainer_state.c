/* SPDX-License-Identifier: BSD-3-Clause */
/* See trainer_state.h. */
#include "state/trainer_state.h"
#include "base/assert.h"
#include "mesh/mesh.h"
#include "pool/pool.h"
#include "ranks/ranks.h"
#include "train/run_step.h"
#include "train/trainer.h"

ls__state ls__state_of(const ls_trainer *t)
{
    const ls__plan *plan = t->model.plan;

    return (ls__state){
        .layout = &t->model.params, .graph = t->model.graph,
        .options = &t->options, .pool = t->pool,
        .link = t->ranks ? t->ranks->link : NULL, .owned = t->owned,
        .here = t->devices, .micro = t->micro, .local_rows = t->row_ways,
        .chunk_rows = plan ? plan->chunk_rows : 0, .moments = t->moments.count,
        .moment_name = t->moments.name, .averaged = t->moments.averaged,
        .step = t->step, .sets = t->history.sets, .lr = t->lr};
}

const float *ls__state_block(const ls_trainer *t, int b)
{
    LS__ASSERT(b >= 0 && b <= t->moments.count);
    return b ? t->moments.of[b - 1] : t->model.value;
}

float *ls__state_write(ls_trainer *t, int b)
{
    ls__trainer_changed(t);
    return b ? t->moments.of[b - 1] : t->model.value;
}

float *ls__state_set(ls_trainer *t, int b)
{
    t->history.sets++;
    return ls__state_write(t, b);
}

int ls__state_check(const ls_trainer *t)
{
    return ls__trainer_check_weights(t);
}

void ls__state_go_on(ls_trainer *t, int64_t step)
{
    t->step = step;
    t->lr = t->options.optimizer.lr;
}

int ls__state_border(const ls_trainer *t, int rank)
{
    LS__ASSERT(t->ranks && rank >= 0 && rank <= t->ranks->link->ranks);
    return t->ranks->exchange.cut.border[rank];
}

const ls__input *ls__state_inputs(const ls_trainer *t, int *count)
{
    *count = t->model.inputs;
    return t->model.input;
}

bool ls__state_has_batch(const ls_trainer *t, const ls_batch *batch)
{
    return batch->life == t->life;
}

void ls__state_roam(const ls_trainer *t)
{
    const ls_mesh *mesh = ls__pool_mesh(t->pool);

    ls__topology_roam(&mesh->topology, mesh->pins ? mesh->workers : 0);
}

void ls__state_unpin(const ls_trainer *t)
{
    ls__pool_unpin(t->pool);
}
