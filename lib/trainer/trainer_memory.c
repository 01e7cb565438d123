/* SPDX-License-Identifier: BSD-3-Clause */
/* A trainer's memory, and where its pages lie (first touch). */
#include "trainer/trainer_memory.h"
#include "base/assert.h"
#include "base/error.h"
#include "pool/pool.h"
#include "reduce/reduce.h"
#include "rules/optim.h"
#include "train/device.h"
#include "train/joint.h"
#include "train/nodes.h"
#include "train/placement.h"
#include "train/hooks.h"

static int make_lists(ls_trainer *t)
{
    size_t d = (size_t)t->devices.count, n = (size_t)t->model.params.count;

    t->grad.device = ls__arena_new(&t->arena, d, sizeof *t->grad.device);
    t->grad.param = ls__arena_new(&t->arena, n * d, sizeof *t->grad.param);
    return t->grad.device && t->grad.param ? 0 : LS_ENOMEM;
}

static int make_notes(ls_trainer *t, bool fates)
{
    ls__notes *n = &t->notes;
    size_t of = (size_t)t->devices.of;
    size_t blocks = (size_t)ls__reduce_blocks(t->model.params.floats);

    n->bad = ls__arena_new(&t->arena, (size_t)t->workers, sizeof *n->bad);
    n->report = ls__block_zero(of * sizeof *n->report, "device reports");
    n->row = ls__arena_new(&t->arena, (size_t)t->model.inputs, sizeof *n->row);
    if (!n->bad || !n->report || !n->row)
        return LS_ENOMEM;
    if (fates &&
        !(n->fate = ls__arena_new(&t->arena, blocks, sizeof *n->fate)))
        return LS_ENOMEM;
    if (t->options.clip_norm > 0)
        n->square = ls__block_zero(blocks * sizeof *n->square,
                                   "gradient norm");
    return n->square || !(t->options.clip_norm > 0) ? 0 : LS_ENOMEM;
}

/* Make the optimizer's arrays.  One of several ranks may own nothing of a small
 * model. */
static int make_arrays(ls_trainer *t)
{
    int64_t floats = ls__owned_floats(&t->owned);

    for (int i = 0; i < t->moments.count; i++)
        if (!(t->moments.of[i] = ls__trained_block(
                  &t->trained, floats ? floats : 1, "optimizer state")))
            return LS_ENOMEM;
    return 0;
}

static int make_gradients(ls_trainer *t)
{
    size_t guard = t->grad.guard;
    int64_t floats = t->model.params.floats + 2 * (int64_t)guard;

    for (int d = 0; d < t->devices.count; d++) {
        float *block = ls__trained_block(&t->trained, floats,
                                         "device gradient");

        if (!block)
            return LS_ENOMEM;
        t->grad.device[d] = block + guard;
    }
    return 0;
}

/* Zero what will be written of all arrays on the workers that write it: the
 * first touch places the pages.  The rest is zeros, and stays. */
static void touch(void *user, int worker)
{
    ls_trainer *t = user;
    ls__owned all = ls__owned_all(t->model.params.floats);
    bool rest = worker == 0;
    int first, last;

    ls__track_phase(ls__track_here(), "open", -1);
    ls__pool_shards_of(t->pool, t->devices.count, worker, &first, &last);
    ls__placement_zero(t, first, last, rest, true, &all, t->model.value);
    for (int i = 0; i < t->moments.count; i++)
        ls__placement_zero(t, first, last, rest, false, &t->owned,
                           t->moments.of[i]);
    for (int d = first; d < last; d++)
        ls__trained_zero(&t->trained, t->grad.device[d]);
    ls__nodes_touch(t, worker);
}

/* Fills the owned part of a parameter's first moment. */
static void fill_moment(const ls_trainer *t, const ls__slot *slot, float x)
{
    ls__range all = {slot->offset, slot->offset + slot->size};

    for (ls__stretch s = {0}; ls__owned_next(&t->owned, &s);) {
        ls__range r = ls__range_common(all, s.range);

        for (int64_t i = r.first; i < r.last; i++)
            t->moments.of[0][s.at + i - s.range.first] = x;
    }
}

/* The moments of a rule that do not begin with zeros; padding does. */
static void start_moments(const ls_trainer *t)
{
    float start = ls__optim_start(&t->options.optimizer);

    for (int i = 0; i < t->model.params.count && start > 0; i++)
        fill_moment(t, &t->model.params.slot[i], start);
}

static void point_at_arrays(ls_trainer *t)
{
    int n = t->model.params.count;

    for (int i = 0; i < n; i++) {
        int64_t offset = ls__params_declared(&t->model.params, i)->offset;

        for (int d = 0; d < t->devices.count; d++)
            t->grad.param[d * n + i] = ls__trainer_leaves_out(t, i)
                                           ? NULL
                                           : t->grad.device[d] + offset;
    }
}

/* Names the arrays kept with each parameter: the moments of the optimizer, then
 * a hook's. */
static void name_moments(ls_trainer *t, const ls__needs *needs)
{
    ls_optimizer_kind kind = t->options.optimizer.kind;

    t->moments.count = ls__optim_moments(kind);
    for (int i = 0; i < t->moments.count; i++)
        t->moments.name[i] = ls__optim_moment_name(kind, i);
    LS__ASSERT(t->moments.count < LS__MOMENTS || !needs->keeps);
    if (needs->keeps)
        t->moments.name[t->moments.count++] = needs->keeps;
}

static int lay_out(ls_trainer *t, const bool *frozen, bool whole)
{
    const ls__plan *plan = t->model.plan;
    int status = ls__trained_open(&t->trained, &t->arena, &t->model.params,
                                  frozen, plan ? plan->left_out : NULL);

    if (whole && status == 0)
        ls__trained_all(&t->trained);
    return status;
}

static ls__rig rig_of(ls_trainer *t)
{
    return (ls__rig){.pool = t->pool, .workers = t->workers, .micro = t->micro,
                     .devices = t->devices, .owned = t->owned,
                     .options = &t->options, .arena = &t->arena,
                     .model = &t->model, .trained = &t->trained,
                     .grad = &t->grad, .running = &t->running,
                     .ranks = t->ranks};
}

static int make_all(ls_trainer *t, const ls__needs *needs, const bool *frozen)
{
    int status;

    if ((status = ls__life_begin(t)) < 0 ||
        (status = lay_out(t, frozen, needs->whole)) < 0 ||
        (status = make_lists(t)) < 0 ||
        (status = make_notes(t, needs->fates)) < 0 ||
        (status = make_arrays(t)) < 0 ||
        (status = make_gradients(t)) < 0 ||
        (status = ls__joint_open(t)) < 0 ||
        (status = ls__devices_open(t)) < 0 ||
        (status = ls__placement_open(t)) < 0 ||
        (status = ls__nodes_open(t, needs)) < 0 ||
        (status = ls__copies_open(&t->copies, ls__pool_mesh(t->pool),
                                  t->model.plan, &t->model.weights,
                                  needs->single)) < 0)
        return status;
    point_at_arrays(t);
    ls__joint_share(t);
    if ((status = ls__pool_take(t->pool)) < 0)
        return status;
    ls__pool_run(t->pool, touch, t);
    start_moments(t);
    if (t->micro > 1)
        status = ls__devices_make_later(t);
    ls__pool_give(t->pool);
    return status;
}

int ls__trainer_make(ls_trainer *t, const ls__hook *const *list,
                     const bool *frozen)
{
    ls__needs needs = {0};
    ls__rig rig;
    int status;

    t->owned.floats = t->model.params.floats;
    rig = rig_of(t);
    ls__hooks_choose(t->hook, list, &rig, &needs);
    t->grad.guard = needs.guard;
    name_moments(t, &needs);
    if ((status = make_all(t, &needs, frozen)) < 0)
        return status;
    rig.context = t->source.context;
    rig.whole = needs.whole;
    rig.kept = needs.keeps ? t->moments.of[t->moments.count - 1] : NULL;
    return ls__hooks_open(t->hook, &rig);
}

void ls__trainer_drop(ls_trainer *t)
{
    ls__hooks_close(t->hook);
    for (int d = 0; t->grad.device && d < t->devices.count && t->grad.device[d];
         d++)
        ls__block_free(t->grad.device[d] - t->grad.guard);
    for (int i = 0; i < LS__MOMENTS; i++)
        ls__block_free(t->moments.of[i]);
    ls__nodes_close(t);
    ls__copies_close(&t->copies);
    ls__block_free(t->notes.report);
    ls__block_free(t->notes.square);
    ls__block_free(t->notes.lap);
    ls__devices_close(t);
}
