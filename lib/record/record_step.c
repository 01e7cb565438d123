/* SPDX-License-Identifier: BSD-3-Clause */
/* The recorded step: the phases of a training step with looks between them.
 * Its plan is plain (LS__TO_RECORD), so that every node's value is there to be
 * seen, and its mean has memory of its own, so that devices' gradients stay.
 * It is opened for one step and leaves nothing behind. */
#include "record/record_step.h"
#include "record/record_start.h"
#include "record/record_nodes.h"
#include "base/fpmode.h"
#include "base/memory.h"
#include "graph/op.h"
#include "plan/record.h"
#include "pool/pool.h"
#include "reduce/reduce.h"
#include "train/batch.h"
#include "train/device.h"
#include "train/phases.h"
#include "train/riders.h"
#include "train/run_step.h"
#include "train/trainer.h"
#include "train/verdict.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct recording {
    ls__step step; /* the first: phases are given this */
    const ls__onlooker *show;
    int of;            /* the device that is shown, -1: all */
    ls__plan *plan;
    ls__weights weights; /* the trainer's values, packed for this plan */
    ls__context *context;
    float *mean;
    int device, micro; /* that run now */
    int status;        /* of the showing */
} recording;

static recording *of_step(ls__step *s)
{
    return (recording *)s;
}

/* ------ what is shown ------ */

static void show_array(recording *r, const ls__where *w, const void *values,
                       int64_t floats, bool integers)
{
    if (r->status == 0)
        r->status = r->show->array(r->show->user, w, (void *)(uintptr_t)values,
                                   floats, integers);
}

static void show_double(recording *r, const char *phase, const char *what,
                        double x)
{
    ls__where w = {.phase = phase, .what = what, .device = r->device};

    if (r->status == 0)
        r->status = r->show->real(r->show->user, &w, x);
}

static void show_float(recording *r, const char *what, float *x)
{
    ls__where w = {.phase = "rule", .what = what};

    if (r->status == 0)
        r->status = r->show->number(r->show->user, &w, x);
}

/* The parameters, and the moments of the optimizer, as they are now. */
static void look_at_state(recording *r, const char *phase)
{
    const ls_trainer *t = r->step.trainer;
    int64_t floats = t->model.params.floats;
    ls__where w = {.phase = phase, .what = "parameters"};

    show_array(r, &w, t->model.value, floats, false);
    for (int i = 0; i < t->moments; i++) {
        w.what = t->moment_name[i];
        show_array(r, &w, t->moment[i], floats, false);
    }
}

static void look_at_start_of(recording *r, const char *kind, const char *name,
                             uint32_t word[LS__START_WORDS])
{
    char what[300];
    ls__where w = {.phase = "start", .what = what};

    snprintf(what, sizeof what, "%s%.250s", kind, name);
    show_array(r, &w, word, LS__START_WORDS, true);
}

/* What the first values follow from, as long as they are those. */
static void look_at_start(recording *r)
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

/* The trainer's own weights as well: after a failure its plan searches for the
 * row at fault. */
static bool prepare(ls__step *s, int worker)
{
    const recording *r = of_step(s);

    (void)ls__phase_prepare(s, worker);
    ls__exec_pack(r->plan, &r->weights, worker, s->trainer->workers, true);
    return true;
}

static bool is_wanted(const recording *r)
{
    return r->of < 0 || r->of == r->device;
}

/* The array that an instruction wrote. */
static void saw(void *user, const ls__seen *seen)
{
    recording *r = user;
    const ls_node *n = seen->node, *shape = n;
    char text[LS__SIZES_TEXT];
    ls__where w = {.phase = seen->backward ? "backward" : "forward",
                   .op = n->op->name, .name = n->name, .what = seen->what,
                   .device = r->device, .micro = r->micro,
                   .first = seen->first, .rows = seen->rows, .node = n->id,
                   .index = seen->index};
    const ls__param *p = NULL;

    if (!strcmp(seen->what, "dx"))
        shape = n->in[seen->index];
    else if (!strcmp(seen->what, "dparam"))
        p = &r->plan->param[n->param[seen->index]];
    else if (strcmp(seen->what, "y"))
        shape = NULL;
    w.shape = p ? ls__sizes_text(text, p->rank, p->shape)
                : shape ? ls__sizes_text(text, shape->rank, shape->shape) : "";
    if (p)
        w.name = p->name;
    if (is_wanted(r))
        show_array(r, &w, seen->values, seen->floats, false);
}

/* The rows of a shard, or of the batch. */
static void look_at_rows(recording *r, const char *phase,
                         const ls_shard *shard)
{
    const ls__model *m = &r->step.trainer->model;
    char text[LS__SIZES_TEXT];
    ls__where w = {.phase = phase, .device = r->device, .micro = r->micro,
                   .first = shard->first, .rows = shard->rows};

    for (int i = 0; i < m->inputs; i++) {
        const ls__input *in = &m->input[i];

        w.what = w.name = in->name;
        w.shape = ls__sizes_text(text, in->rank, in->shape);
        if (shard->data[i])
            show_array(r, &w, shard->data[i], shard->rows * in->size,
                       in->dtype == LS_I32);
    }
    w.what = "weights of rows";
    w.name = w.shape = "";
    if (shard->weights)
        show_array(r, &w, shard->weights, shard->rows, false);
}

/* All rows, which lie one after the other unless shards were cut otherwise. */
static void look_at_batch(recording *r)
{
    const ls__step *s = &r->step;
    ls_shard all = {.rows = s->all, .weights = s->batch->weights,
                    .data = s->batch->shard_data};

    if (!s->batch->cut)
        look_at_rows(r, "batch", &all);
}

/* The key of each node that draws, and the row of the micro-batch that its
 * first one is. */
static void look_at_keys(recording *r, const ls_shard *shard)
{
    char what[40];
    ls__where w = {.phase = "rows", .what = what, .device = r->device,
                   .micro = r->micro, .first = shard->first,
                   .rows = shard->rows};
    const ls__chunk chunk = {.draw = r->plan->draw,
                             .call = (uint32_t)shard->call};

    for (int i = 0; i < r->plan->count; i++) {
        const ls_node *n = r->plan->instr[i].node;
        const ls__run run = {.node = n, .of = &chunk};
        ls_key key;

        if (n->stream < 0)
            continue;
        key = ls__draw_key(&run);
        snprintf(what, sizeof what, "key of node %d", n->id);
        show_array(r, &w, (uint32_t[]){key.word[0], key.word[1],
                                       (uint32_t)shard->row}, 3, true);
    }
}

static int run_micro(recording *r, int m, ls_sums *total)
{
    ls__step *s = &r->step;
    const ls_trainer *t = s->trainer;
    ls_shard shard = ls__step_shard(s, r->device, m);
    float **grads = m ? t->grad.later_param
                      : t->grad.param + r->device * t->model.params.count;
    ls_sums sums = {.correct = __builtin_nan("")};
    int status;

    r->micro = m;
    look_at_rows(r, "rows", &shard);
    look_at_keys(r, &shard);
    if (shard.rows == 0)
        status = ls__device_run(t, r->context, r->device, &shard, grads, &sums);
    else
        status = ls__exec_recorded(r->context, &r->weights, &shard, grads,
                                   &sums, saw, r);
    ls__trained_clear(&t->trained, &t->model.params, grads);
    ls__sums_add(total, &sums, t->model.metrics);
    if (m)
        ls__trained_add(&t->trained, t->grad.later[0],
                        t->grad.device[r->device]);
    return status;
}

static void run_device(recording *r)
{
    ls__step *s = &r->step;
    const ls_trainer *t = s->trainer;
    ls__report *report = ls__step_report_of(s, r->device);
    ls__where w = {.phase = "gradient", .what = "gradient",
                   .device = r->device};
    int status = 0;

    report->sums = (ls_sums){0};
    ls__step_report(s, report);
    for (int m = 0; m < t->micro && status >= 0; m++)
        status = run_micro(r, m, &report->sums);
    report->failed = ls__device_failed(r->context);
    report->status = status;
    if (status < 0)
        return;
    show_array(r, &w, t->grad.device[r->device], t->model.params.floats,
               false);
    show_double(r, "gradient", "loss", report->sums.loss);
    show_double(r, "gradient", "weight", report->sums.weight);
    ls__riders_ready(s, 0, r->device);
}

/* Show the share that a schedule leaves of what it changes; there is none to
 * show where nothing does. */
static void show_share(recording *r, const char *what, const ls_schedule *s,
                       float *share)
{
    r->device = 0;
    if (s->kind != LS_CONSTANT || s->warmup)
        show_float(r, what, share);
}

/* The caller alone: what is shown has one order. */
static bool gradients(ls__step *s, int worker)
{
    recording *r = of_step(s);

    if (worker == 0)
        show_share(r, "share of dropout",
                   &s->trainer->options.dropout_schedule, &s->drop);
    for (int d = 0; d < s->trainer->devices.count && worker == 0; d++) {
        r->device = d;
        run_device(r);
    }
    return true;
}

static bool look_at_mean(ls__step *s, int worker)
{
    recording *r = of_step(s);
    int64_t floats = s->trainer->model.params.floats;
    ls__where w = {.phase = "mean", .what = "mean gradient"};
    float factor = ls__verdict_factor(s), norm;

    if (worker > 0)
        return true;
    r->device = 0;
    show_float(r, "factor", &factor);
    show_array(r, &w, s->gradient, floats, false);
    w.what = "squares of blocks";
    if (s->notes.square)
        show_array(r, &w, s->notes.square, ls__reduce_blocks(floats), false);
    norm = ls__verdict_norm(s);
    show_float(r, "norm", &norm);
    show_double(r, "rule", "peak rate", s->trainer->lr);
    show_float(r, "-lr", &s->rule.neg_lr);
    show_share(r, "share of decay", &s->trainer->options.decay_schedule,
               &s->rule.decay);
    show_float(r, "r1", &s->rule.r1);
    show_float(r, "r2", &s->rule.r2);
    return true;
}

static bool look_after(ls__step *s, int worker)
{
    if (worker == 0)
        look_at_state(of_step(s), "after");
    return true;
}

/* clang-format off */
static const ls__pass
    recorded = {.train = true, .reduces = true, .updates = true, .phase = {
        {"prepare", LS__GRADIENTS, .run = prepare},
        {"gradients", LS__GRADIENTS, .run = gradients},
        {"reduce", LS__REDUCE, .run = ls__phase_reduce},
        {"look", LS__REDUCE, .run = look_at_mean},
        {"update", LS__UPDATE, .run = ls__phase_update},
        {"look", LS__UPDATE, .run = look_after}}};
/* clang-format on */

/* ------ opening and closing ------ */

/* Make a plan that leaves out what the trainer's own one does. */
static int new_plan(recording *r)
{
    const ls_trainer *t = r->step.trainer;
    const ls__params *p = &t->model.params;
    bool *frozen = ls__new((size_t)p->count + 1, 1, "parameters");
    int status = LS_ENOMEM;

    for (int i = 0; frozen && i < p->count; i++)
        frozen[p->slot[i].declared] = !t->trained.slot[i];
    if (frozen)
        status = ls__plan_new(&r->plan, t->model.graph,
                              &t->model.plan->backend, LS__TO_RECORD, frozen);
    free(frozen);
    return status;
}

static int open_plan(recording *r)
{
    const ls_trainer *t = r->step.trainer;
    const ls__plan *own = t->model.plan;
    int status = new_plan(r);
    size_t bytes;

    if (status < 0)
        return status;
    memcpy(r->plan->draw, own->draw, (size_t)own->streams * sizeof *own->draw);
    bytes = (size_t)r->plan->pack_floats * sizeof(float);
    r->weights.of = t->model.weights.of;
    r->mean = ls__trained_block(&t->trained, t->model.params.floats,
                                "mean gradient");
    if (!r->mean ||
        (bytes && !(r->weights.packed = ls__block(bytes, "packed weights"))))
        return LS_ENOMEM;
    return ls__context_open(&r->context, r->plan);
}

static int open_recording(recording *r)
{
    int status = open_plan(r);

    r->step.gradient = r->mean;
    if (status < 0)
        return status;
    r->status = r->show->begin(r->show->user, r->plan->chunk_rows);
    if (r->status == 0)
        r->status = ls__show_nodes(r->show, r->plan);
    return r->status;
}

static void close_recording(recording *r)
{
    ls__context_close(r->context);
    ls__block_free(r->weights.packed);
    ls__block_free(r->mean);
    ls__plan_free(r->plan);
}

/* ------ the step ------ */

static int run(recording *r, ls_result *result)
{
    ls__step *s = &r->step;
    int status;

    s->trainer->use++;
    look_at_start(r);
    look_at_state(r, "before");
    if ((status = ls__step_set_rows(s, NULL)) < 0)
        return status;
    look_at_batch(r);
    if ((status = ls__step_run(s)) < 0)
        return status;
    ls__verdict_result(s, result);
    ls__step_conclude(s, result);
    return 0;
}

int ls__show_step(ls_trainer *t, const ls_batch *batch, int device,
                  const ls__onlooker *show, ls_result *result, int *shown)
{
    recording r = {.step = {.trainer = t, .batch = batch, .pass = &recorded},
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
