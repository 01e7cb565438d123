/* SPDX-License-Identifier: BSD-3-Clause */
/* The devices of a recorded step, one after the other on the caller, so that
 * what is shown has one order. */
#include "audit/recording.h"
#include "base/assert.h"
#include "base/memory.h"
#include "graph/op.h"
#include "plan/record.h"
#include "audit/record_start.h"
#include "train/batch.h"
#include "train/device.h"
#include "train/joint.h"
#include "train/phases.h"
#include "train/hooks.h"
#include "train/trainer.h"

#include <stdlib.h>
#include <string.h>

/* ------ what is shown ------ */

/* Show doubles as words, the high one first. */
static void show_reals(ls__recording *r, const ls__where *w, const double *x,
                       int64_t n)
{
    uint32_t *word = ls__new(2 * (size_t)n, sizeof *word, "a record");
    double *to = (double *)(uintptr_t)x;

    if (!word)
        r->status = LS_ENOMEM;
    for (int64_t i = 0; word && i < n; i++)
        ls__record_words(x[i], &word[2 * i]);
    if (word)
        ls__recording_array(r, w, word, 2 * n, LS__DOUBLES);
    for (int64_t i = 0; word && i < n; i++) {
        uint64_t bits = (uint64_t)word[2 * i] << 32 | word[2 * i + 1];

        memcpy(&to[i], &bits, sizeof bits);
    }
    free(word);
}

void ls__recording_double(ls__recording *r, const char *phase,
                          const char *what, double x)
{
    ls__where w = {.phase = phase, .what = what, .device = r->device};

    show_reals(r, &w, &x, 1);
}

/* The array that an instruction wrote. */
static void saw(void *user, const ls__seen *seen)
{
    ls__recording *r = user;
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
        p = &r->own.plan->param[n->param[seen->index]];
    else if (strcmp(seen->what, "y"))
        shape = NULL;
    w.shape = p ? ls__sizes_text(text, p->rank, p->shape)
                : shape ? ls__sizes_text(text, shape->rank, shape->shape) : "";
    if (p)
        w.name = p->name;
    if (!strcmp(seen->what, LS__STATISTICS))
        show_reals(r, &w, (const double *)(const void *)seen->values,
                   seen->n / 2);
    else if (r->of < 0 || r->of == r->device)
        ls__recording_array(r, &w, seen->values, seen->n, LS__FLOATS);
}

/* The rows of a shard, or of the batch. */
void ls__recording_rows(ls__recording *r, const char *phase,
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
            ls__recording_array(r, &w, shard->data[i], shard->rows * in->size,
                                in->dtype == LS_I32 ? LS__INTEGERS
                                                    : LS__FLOATS);
    }
    w.what = "weights of rows";
    w.name = w.shape = "";
    if (shard->weights)
        ls__recording_array(r, &w, shard->weights, shard->rows, LS__FLOATS);
}

/* The key of each node that draws, and the row of the micro-batch that its
 * first one is. */
static void look_at_keys(ls__recording *r, const ls_shard *shard)
{
    char what[40];
    ls__where w = {.phase = "rows", .what = what, .device = r->device,
                   .micro = r->micro, .first = shard->first,
                   .rows = shard->rows};
    const ls__chunk chunk = {.draw = r->own.plan->streams.draw,
                             .call = (uint32_t)shard->call};

    for (int i = 0; i < r->own.plan->count; i++) {
        const ls_node *n = r->own.plan->instr[i].node;
        const ls__run run = {.node = n, .of = &chunk};
        ls_key key;

        if (n->stream < 0)
            continue;
        key = ls__draw_key(&run);
        snprintf(what, sizeof what, "key of node %d", n->id);
        ls__recording_array(r, &w,
                            (uint32_t[]){key.word[0], key.word[1],
                                         (uint32_t)shard->row}, 3,
                            LS__INTEGERS);
    }
}

/* ------ running ------ */

/* Run a part of the micro-batch on the device; the one in the middle has the
 * loss. */
static int run_part(ls__recording *r, int part)
{
    ls__step *s = &r->step;
    const ls_trainer *t = s->trainer;
    ls__context *context = r->own.context[r->device];
    ls_shard shard = ls__step_shard(s, r->device, r->micro);
    ls__micro_batch mb = ls__micro_batch_of(s, 0, r->device, r->micro);
    float **grads = ls__micro_batch_grads(s, &mb);
    ls_sums sums = {.correct = __builtin_nan("")};
    int surveys = r->own.plan->surveys.n, status = 0;

    if (part == 0) {
        ls__recording_rows(r, "rows", &shard);
        look_at_keys(r, &shard);
    }
    if (shard.rows)
        status = ls__exec_recorded(context, &r->own.weights, &shard, grads,
                                   &sums, part, &(ls__observer){saw, r});
    else if (part == 0)
        status = ls__device_run(t, context, r->device, &shard, grads, &sums);
    if (part == (shard.rows ? surveys : 0))
        ls__sums_add(&ls__step_report_of(s, r->device)->sums, &sums,
                     t->model.metrics);
    if (part < 2 * surveys)
        return status;
    ls__trained_clear(&t->trained, &t->model.params, grads);
    mb.status = status;
    ls__micro_batch_ends(s, &mb);
    return status;
}

/* All devices are through with a part: add what they found. */
static void meet(ls__recording *r, int part)
{
    const ls__instr *in;
    ls__where w = {.what = LS__STATISTICS " of all", .micro = r->micro};
    bool back;

    if (!ls__plan_part_ends(r->own.plan, part, &in, &back) ||
        !ls__survey_of(in->node->op)->of_all(in->node))
        return;
    ls__joint_join(r->step.trainer, in, back);
    w.phase = back ? "backward" : "forward";
    w.op = in->node->op->name;
    w.name = in->node->name;
    w.node = in->node->id;
    show_reals(r, &w, ls__context_all(r->own.context[0], in, back),
               ls__survey_of(in->node->op)->size(in->node, back));
}

static void begin_device(ls__recording *r, int device)
{
    ls__report *report = ls__step_report_of(&r->step, device);

    report->sums = (ls_sums){0};
    ls__step_report(&r->step, report);
    report->status = ls__context_reserve(r->own.context[device], r->step.rows);
}

static void end_device(ls__recording *r, int device)
{
    ls__step *s = &r->step;
    const ls_trainer *t = s->trainer;
    ls__report *report = ls__step_report_of(s, device);
    ls__where w = {.phase = "gradient", .what = "gradient", .device = device};

    r->device = device;
    report->failed = ls__device_failed(r->own.context[device]);
    if (report->status < 0)
        return;
    ls__recording_array(r, &w, t->grad.device[device], t->model.params.floats,
                        LS__FLOATS);
    ls__recording_double(r, "gradient", "loss", report->sums.loss);
    ls__recording_double(r, "gradient", "weight", report->sums.weight);
    LS__TELL_HOOKS(s, ready, 0, device);
}

static void run_micro(ls__recording *r, ls__range devices)
{
    for (int part = 0; part < ls__plan_parts(r->own.plan); part++) {
        for (int64_t d = devices.first; d < devices.last; d++) {
            ls__report *report = ls__step_report_of(&r->step, (int)d);

            r->device = (int)d;
            if (report->status >= 0)
                report->status = run_part(r, part);
        }
        meet(r, part);
    }
}

/* Run devices that meet on the way, or one. */
static void run_devices(ls__recording *r, ls__range devices)
{
    for (int64_t d = devices.first; d < devices.last; d++)
        begin_device(r, (int)d);
    for (r->micro = 0; r->micro < r->step.trainer->micro; r->micro++)
        run_micro(r, devices);
    r->micro = 0;
    for (int64_t d = devices.first; d < devices.last; d++)
        end_device(r, (int)d);
}

void ls__recording_devices(ls__recording *r)
{
    int devices = r->step.trainer->devices.count;
    int together = r->own.plan->surveys.meet ? devices : 1;

    LS__ASSERT(devices % together == 0);
    for (int d = 0; d < devices; d += together)
        run_devices(r, (ls__range){d, d + together});
}
