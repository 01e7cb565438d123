/* SPDX-License-Identifier: BSD-3-Clause */
/* The recorded step: the phases of a training step with looks between them.
 * Its plan is plain (LS__TO_RECORD), so that every node's value is there to be
 * seen, and its mean has memory of its own, so that devices' gradients stay.
 * It is opened for one step and leaves nothing behind. */
#include "record/recording.h"
#include "record/record_start.h"
#include "record/record_nodes.h"
#include "base/fpmode.h"
#include "base/memory.h"
#include "pool/pool.h"
#include "reduce/reduce.h"
#include "train/batch.h"
#include "train/device.h"
#include "train/phases.h"
#include "train/run_step.h"
#include "train/trainer.h"
#include "train/verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ls__recording *of_step(ls__step *s)
{
    return (ls__recording *)s;
}

/* ------ what is shown ------ */

static void show_float(ls__recording *r, const char *what, float *x)
{
    ls__where w = {.phase = "rule", .what = what};

    if (r->status == 0)
        r->status = r->show->number(r->show->user, &w, x);
}

/* The parameters, and the moments of the optimizer, as they are now. */
static void look_at_state(ls__recording *r, const char *phase)
{
    const ls_trainer *t = r->step.trainer;
    int64_t floats = t->model.params.floats;
    ls__where w = {.phase = phase, .what = "parameters"};

    ls__recording_array(r, &w, t->model.value, floats, false);
    for (int i = 0; i < t->moments; i++) {
        w.what = t->moment_name[i];
        ls__recording_array(r, &w, t->moment[i], floats, false);
    }
}

static void look_at_start_of(ls__recording *r, const char *kind,
                             const char *name, uint32_t word[LS__START_WORDS])
{
    char what[300];
    ls__where w = {.phase = "start", .what = what};

    snprintf(what, sizeof what, "%s%.250s", kind, name);
    ls__recording_array(r, &w, word, LS__START_WORDS, true);
}

/* What the first values follow from, as long as they are those. */
static void look_at_start(ls__recording *r)
{
    const ls_trainer *t = r->step.trainer;
    uint32_t word[LS__START_WORDS];

    if (!ls__record_at_start(t))
        return;
    for (int i = 0; i < t->model.params.count; i++)
        if (ls__record_start(t, i, word))
            look_at_start_of(r, "", t->model.params.slot[i].name, word);
    for (int i = 0; i < t->moments; i++) {
        ls__record_start_moment(t, i, word);
        look_at_start_of(r, "moment ", t->moment_name[i], word);
    }
}

/* ------ phases ------ */

static bool prepare(ls__step *s, int worker)
{
    ls__beside_pack(&of_step(s)->own, s->trainer, worker);
    return true;
}

/* All rows, which lie one after the other unless shards were cut otherwise. */
static void look_at_batch(ls__recording *r)
{
    const ls__step *s = &r->step;
    ls_shard all = {.rows = s->all, .weights = s->batch->weights,
                    .data = s->batch->shard_data};

    if (!s->batch->cut)
        ls__recording_rows(r, "batch", &all);
}

/* Show the share that a schedule leaves of what it changes; there is none to
 * show where nothing does. */
static void show_share(ls__recording *r, const char *what, const ls_schedule *s,
                       float *share)
{
    r->device = 0;
    if (s->kind != LS_CONSTANT || s->warmup)
        show_float(r, what, share);
}

/* The caller alone: what is shown has one order. */
static bool gradients(ls__step *s, int worker)
{
    ls__recording *r = of_step(s);

    if (worker > 0)
        return true;
    show_share(r, "share of dropout", &s->trainer->options.dropout_schedule,
               &s->drop);
    ls__recording_devices(r);
    return true;
}

static bool look_at_mean(ls__step *s, int worker)
{
    ls__recording *r = of_step(s);
    int64_t floats = s->trainer->model.params.floats;
    ls__where w = {.phase = "mean", .what = "mean gradient"};
    float factor = ls__verdict_factor(s), norm;

    if (worker > 0)
        return true;
    r->device = 0;
    show_float(r, "factor", &factor);
    ls__recording_array(r, &w, s->gradient, floats, false);
    w.what = "squares of blocks";
    if (s->notes.square)
        ls__recording_array(r, &w, s->notes.square, ls__reduce_blocks(floats),
                            false);
    norm = ls__verdict_norm(s);
    show_float(r, "norm", &norm);
    ls__recording_double(r, "rule", "peak rate", s->trainer->lr);
    show_float(r, "-lr", &s->rule.neg_lr);
    show_share(r, "share of decay", &s->trainer->options.decay_schedule,
               &s->rule.decay);
    show_float(r, "r1", &s->rule.r1);
    show_float(r, "r2", &s->rule.r2);
    return true;
}

/* clang-format off */
static const ls__pass
    recorded = {.train = true, .reduces = true, .updates = true, .phase = {
        {"prepare", LS__GRADIENTS, .run = prepare},
        {"gradients", LS__GRADIENTS, .run = gradients},
        {"reduce", LS__REDUCE, .run = ls__phase_reduce},
        {"look", LS__REDUCE, .run = look_at_mean},
        {"update", LS__UPDATE, .run = ls__phase_update}}};
/* clang-format on */

/* ------ opening and closing ------ */

/* Make a plan that leaves out what the trainer's own one does. */
static int open_plan(ls__recording *r)
{
    const ls_trainer *t = r->step.trainer;
    const ls__params *p = &t->model.params;
    bool *frozen = ls__new((size_t)p->count + 1, 1, "parameters");
    int status = LS_ENOMEM;

    for (int i = 0; frozen && i < p->count; i++)
        frozen[p->slot[i].declared] = !t->trained.slot[i];
    if (frozen)
        status = ls__beside_open(&r->own, t, LS__TO_RECORD, frozen);
    free(frozen);
    for (int d = 0; d < t->devices.count && status == 0; d++)
        ls__context_borrow(r->own.context[d], t->context[d]);
    return status;
}

static int open_recording(ls__recording *r)
{
    const ls_trainer *t = r->step.trainer;
    int status = open_plan(r);

    if (status < 0)
        return status;
    r->mean = ls__trained_block(&t->trained, t->model.params.floats,
                                "mean gradient");
    if (!(r->step.gradient = r->mean))
        return LS_ENOMEM;
    r->status = r->show->begin(r->show->user, r->own.plan->chunk_rows);
    if (r->status == 0)
        r->status = ls__show_nodes(r->show, r->own.plan);
    return r->status;
}

static void close_recording(ls__recording *r)
{
    ls__beside_close(&r->own);
    ls__block_free(r->mean);
}

/* ------ the step ------ */

static int run(ls__recording *r, ls_result *result)
{
    ls__step *s = &r->step;
    int status;

    s->trainer->use++;
    look_at_start(r);
    look_at_state(r, "before");
    if ((status = ls__step_set_rows(s, NULL)) < 0)
        return status;
    look_at_batch(r);
    if ((status = ls__step_run(s, 0)) < 0)
        return status;
    ls__verdict_result(s, result);
    ls__step_conclude(s, result);
    look_at_state(r, "after");
    return 0;
}

int ls__show_step(ls_trainer *t, const ls_batch *batch, int device,
                  const ls__onlooker *show, ls_result *result, int *shown)
{
    ls__recording r = {.step = {.trainer = t, .batch = batch,
                                .pass = &recorded},
                       .of = device, .show = show};
    int status = ls__pool_take(t->pool);

    *shown = 0;
    if (status < 0)
        return status;
    if ((status = open_recording(&r)) == 0)
        status = run(&r, result);
    close_recording(&r);
    ls__pool_give(t->pool);
    *shown = r.status;
    return status;
}

int ls__show_check(const ls_trainer *t, int device)
{
    if (!t->model.plan)
        return ls__fail(LS_ENOTSUP, "a record: a gradient function of your own "
                        "is no graph, whose nodes could be seen");
    if (t->ranks)
        return ls__fail(LS_ENOTSUP, "a record: the trainer's devices are "
                        "spread over several processes; one process can run "
                        "them all and makes the same bytes (lockstep-verify "
                        "--record, from a transcript)");
    if (t->between)
        return ls__fail(LS_ENOTSUP, "a record: the trainer has a function "
                        "between reduction and update");
    if (device < -1 || device >= t->devices.of)
        return ls__fail(LS_EINVAL, "a record of device %d; there are %d "
                        "devices, counted from 0, and -1 is all", device,
                        t->devices.of);
    return ls__trainer_check_weights(t);
}
