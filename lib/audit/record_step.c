/* SPDX-License-Identifier: BSD-3-Clause */
/* The recorded step: the phases of a training step with looks between them.
 * Its plan is plain (LS__TO_RECORD), so that every node's value is there to be
 * seen, and its mean has memory of its own, so that devices' gradients stay.
 * It is opened for one step and leaves nothing behind. */
#include "audit/recording.h"
#include "audit/record_start.h"
#include "base/fpmode.h"
#include "base/memory.h"
#include "base/sized.h"
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

    ls__recording_array(r, &w, x, 1, LS__FLOATS);
}

/* A moment; the average begins with the parameters, as in a state's root. */
static const float *moment_of(const ls_trainer *t, int i)
{
    bool begins = t->step == 0 && !strcmp(t->moments.name[i], "average");

    return begins ? t->model.value : t->moments.of[i];
}

/* The parameters, and the moments of the optimizer, as they are now. */
static void look_at_state(ls__recording *r, const char *phase)
{
    const ls_trainer *t = r->step.trainer;
    int64_t floats = t->model.params.floats;
    ls__where w = {.phase = phase, .what = "parameters"};

    ls__recording_array(r, &w, t->model.value, floats, LS__FLOATS);
    for (int i = 0; i < t->moments.count; i++) {
        w.what = t->moments.name[i];
        ls__recording_array(r, &w, moment_of(t, i), floats, LS__FLOATS);
    }
}

static void look_at_start_of(ls__recording *r, const char *kind,
                             const char *name, uint32_t word[LS__START_WORDS])
{
    char what[300];
    ls__where w = {.phase = "start", .what = what};

    snprintf(what, sizeof what, "%s%.250s", kind, name);
    ls__recording_array(r, &w, word, LS__START_WORDS, LS__INTEGERS);
}

/* Records the origin of the first values, as long as the values are those. */
static void look_at_start(ls__recording *r)
{
    const ls_trainer *t = r->step.trainer;
    uint32_t word[LS__START_WORDS];

    if (!ls__record_at_start(t))
        return;
    for (int i = 0; i < t->model.params.count; i++)
        if (ls__record_start(t, i, word))
            look_at_start_of(r, "", t->model.params.slot[i].name, word);
    for (int i = 0; i < t->moments.count; i++) {
        if (!strcmp(t->moments.name[i], "average"))
            continue;
        ls__record_start_moment(t, i, word);
        look_at_start_of(r, "moment ", t->moments.name[i], word);
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

    if (s->batch->cut)
        return;
    ls__recording_rows(r, "batch", &all);
    ls__recording_numbers(r, s->all);
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

    _Static_assert(offsetof(ls__recording, step) == 0, "of_step");
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
    ls__recording_array(r, &w, s->gradient, floats, LS__FLOATS);
    w.what = "squares of blocks";
    if (s->notes.square)
        ls__recording_array(r, &w, s->notes.square, ls__reduce_blocks(floats),
                            LS__FLOATS);
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
        ls__context_borrow(r->own.context[d], t->source.context[d]);
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
    r->status = ls__recording_begin(r);
    return r->status;
}

static void close_recording(ls__recording *r)
{
    ls__beside_close(&r->own);
    ls__block_free(r->mean);
    ls__record_rows_close(&r->rows);
}

/* ------ the step ------ */

static int run(ls__recording *r, ls_result *result)
{
    ls__step *s = &r->step;
    int status;

    s->trainer->history.uses++;
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

int ls__record_step(ls_trainer *t, const ls_batch *batch,
                    const ls_record_options *o, ls__touch_fn *touch,
                    void *user, ls_result *result)
{
    ls__recording r = {.step = {.trainer = t, .batch = batch,
                                .pass = &recorded},
                       .of = touch ? -1 : o->device, .options = o,
                       .touch = touch, .user = user};
    int status = ls__pool_take(t->pool);

    if (status < 0)
        return status;
    if ((status = open_recording(&r)) == 0)
        status = run(&r, result);
    close_recording(&r);
    ls__pool_give(t->pool);
    if (status == 0 && r.status == 0 && o->record) {
        *o->record = r.record;
        return 0;
    }
    if (status < 0 || r.status < 0)
        ls__record_drop(r.record);
    else if (r.record)
        r.status = ls_record_end(r.record, -1, 0, NULL);
    if (status < 0 || r.status == 0)
        return status;
    return ls__fail(r.status, "%.300s (there is no record, but step %lld "
                    "was made)", ls_errmsg(), (long long)result->step);
}

/* Can a step be recorded, of one device or, -1, of all?  LS_ENOTSUP,
 * LS_EINVAL. */
static int check(const ls_trainer *t, int device)
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
        return ls__fail(LS_EINVAL, "a record of device %d of %d, counted from "
                        "0; -1 is all", device, t->devices.of);
    return ls__trainer_check_weights(t);
}

LS__DEFAULTS(ls_record_options, ls_record_defaults_bytes, .device = -1,
             .batches = -1)

int ls_trainer_record_bytes(ls_trainer *t, const ls_batch *batch,
                            const ls_record_options *options,
                            ls_result *result, size_t size)
{
    LS__NEED_AS(t, "trainer", LS_EINVAL);
    LS__NEED(batch);
    LS__NEED(options);
    LS__NEED(result);

    ls_record_options o = ls_record_defaults();
    ls_result r;
    int status = ls__sized_take("record", &o, sizeof o, options);

    if (status < 0 || (status = check(t, o.device)) < 0)
        return status;
    if (!o.path)
        return ls__null("ls_trainer_record", "options->path");
    if ((status = ls__record_step(t, batch, &o, NULL, NULL, &r)) < 0)
        return status;
    ls__sized_put(result, size, &r, sizeof r);
    return 0;
}
