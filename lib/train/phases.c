/* SPDX-License-Identifier: BSD-3-Clause */
/* The phases of a step, on one worker: gradients, all-reduce, update. */
#include "train/phases.h"
#include "base/assert.h"
#include "base/least.h"
#include "pool/pool.h"
#include "reduce/reduce.h"
#include "rules/clip.h"
#include "rules/optim.h"
#include "train/batch.h"
#include "train/device.h"
#include "train/placement.h"
#include "train/hooks.h"
#include "train/trainer.h"
#include "train/verdict.h"

#include <string.h>

/* ------ prepare ------ */

bool ls__phase_prepare(ls__step *s, int worker)
{
    ls__copies_pack(&s->trainer->copies, worker, s->pass->train);
    return true;
}

/* ------ gradients ------ */

/* The first micro-batch is written to the device's gradient, a later one to
 * the worker's and added. */
ls__micro_batch ls__micro_batch_of(const ls__step *s, int worker, int device,
                                  int micro)
{
    return (ls__micro_batch){worker, device, micro,
                             ls__device_later(s->trainer, worker, device),
                             .later = s->before + micro > 0};
}

float **ls__micro_batch_grads(const ls__step *s, const ls__micro_batch *mb)
{
    const ls_trainer *t = s->trainer;
    int n = t->model.params.count;

    LS__ASSERT(mb->device >= 0 && mb->device < t->devices.count);
    if (!s->pass->train)
        return NULL;
    return mb->later ? t->grad.later_param + mb->room * n
                       : t->grad.param + mb->device * n;
}

void ls__micro_batch_ends(ls__step *s, ls__micro_batch *mb)
{
    const ls_trainer *t = s->trainer;

    LS__TELL_HOOKS(s, leave, mb);
    if (s->pass->train && mb->later && !mb->added)
        ls__trained_add(&t->trained, t->grad.later[mb->room],
                        t->grad.device[mb->device]);
}

static int run_micro(ls__step *s, ls__context *context, int worker, int device,
                     int micro, ls_sums *total)
{
    const ls_trainer *t = s->trainer;
    ls_shard shard = ls__step_shard(s, device, micro);
    ls__micro_batch mb = ls__micro_batch_of(s, worker, device, micro);
    ls_sums sums = {.correct = __builtin_nan("")};

    LS__TELL_HOOKS(s, enter, &mb);
    mb.status = ls__device_run(t, context, device, &shard,
                                 ls__micro_batch_grads(s, &mb), &sums);
    ls__sums_add(total, &sums, t->model.metrics);
    ls__micro_batch_ends(s, &mb);
    return mb.status;
}

void ls__gradients_in(ls__step *s, ls__context *context, int worker,
                      int device)
{
    const ls_trainer *t = s->trainer;
    ls__report *report = ls__step_report_of(s, device);
    int status = 0;

    if (s->before == 0)
        report->sums = (ls_sums){0};
    ls__step_report(s, report);
    for (int m = 0; m < t->micro && status >= 0; m++) {
        status = run_micro(s, context, worker, device, m, &report->sums);
        report->failed = ls__device_failed(context);
    }
    report->status = status;
}

void ls__phase_gradients(ls__step *s, int worker, int device)
{
    ls__gradients_in(s, ls__device_context(s->trainer, device), worker, device);
    if (s->pass->train && ls__step_report_of(s, device)->status >= 0)
        LS__TELL_HOOKS(s, ready, worker, device);
}

void ls__phase_shards(ls__step *s, int device, ls__shard_fn *fn)
{
    const ls_trainer *t = s->trainer;
    ls__report *report = ls__step_report_of(s, device);
    int status = 0;

    ls__step_report(s, report);
    for (int m = 0; m < t->micro && status == 0; m++) {
        ls_shard shard = ls__step_shard(s, device, m);

        status = fn(s, device, &shard);
        report->failed = ls__device_failed(ls__device_context(t, device));
    }
    report->status = status;
}

static int predict(ls__step *s, int device, const ls_shard *shard)
{
    const ls_trainer *t = s->trainer;
    const ls__query *q = &s->query;

    return ls__exec_output(t->source.context[device],
                           ls__device_weights(t, device), shard, q->output,
                           false, q->out + shard->first * q->output->size);
}

void ls__phase_predict(ls__step *s, int worker, int device)
{
    (void)worker;
    ls__phase_shards(s, device, predict);
}

/* ------ reduce ------ */

void ls__reduce_means(const ls__step *s, ls__range r)
{
    const ls_trainer *t = s->trainer;
    const ls__report *report = s->notes.report + t->devices.first;

    if (t->options.mean != LS_MEAN_OF_SHARDS)
        return;
    for (int d = 0; d < t->devices.count; d++)
        for (ls__range run = {r.first, r.first};
             ls__ranges_next(&t->trained.runs, r, &run);)
            ls__kernels()->scale(run.last - run.first,
                                 1.0f / (float)report[d].sums.weight,
                                 t->grad.device[d] + run.first);
}

/* Borders of ranges are those of blocks where something is asked of each, so
 * that nobody else takes part in it. */
ls__range ls__reduce_mine(const ls__step *s, int worker)
{
    const ls_trainer *t = s->trainer;
    ls__range all = {0, ls__owned_floats(&t->owned)};
    bool blocks = s->notes.square || s->fates || s->checked ||
                  ls__hooks_look(s);

    return ls__range_part(all, t->workers, worker,
                          blocks ? LS__REDUCE_BLOCK : 16);
}

static void tell_sum(void *user, ls__range block)
{
    const ls__step *s = user;

    LS__TELL_HOOKS(s, summed, block, false);
}

/* May the sum of a block wait for the update?  Nothing needs it before. */
static bool may_wait(const ls__step *s)
{
    return !s->notes.square && !ls__hooks_look(s);
}

/* The block's fate, for the update to go by. */
static bool skips(void *user, ls__range block)
{
    const ls__step *s = user;
    ls__fate fate = ls__hooks_fate(s, block);

    LS__ASSERT(block.first % LS__REDUCE_BLOCK == 0);
    if (fate == LS__WAITS && !may_wait(s))
        fate = LS__SUMMED;
    if (fate == LS__ZEROS)
        LS__TELL_HOOKS(s, summed, block, true);
    s->notes.fate[block.first / LS__REDUCE_BLOCK] = (unsigned char)fate;
    return fate != LS__SUMMED;
}

void ls__reduce_ask(ls__step *s, ls__reduction *r)
{
    r->out = s->gradient;
    r->square = s->notes.square;
    r->look = ls__hooks_look(s) ? tell_sum : NULL;
    r->skips = s->fates ? skips : NULL;
    r->user = s;
}

int64_t ls__reduce_trained(const ls__step *s, const ls__reduction *r,
                           ls__range mine)
{
    int64_t bad = -1;

    for (ls__range run = {mine.first, mine.first};
         ls__ranges_next(&s->trainer->trained.runs, mine, &run);) {
        int64_t first = ls__reduce(r, run);

        bad = bad < 0 ? first : bad;
    }
    return bad;
}

bool ls__phase_reduce(ls__step *s, int worker)
{
    const ls_trainer *t = s->trainer;
    ls__range mine = ls__reduce_mine(s, worker);
    ls__reduction r = {.buffer = t->grad.device,
                       .count = t->devices.count};

    if (ls__verdict_judge(s) != LS__GOES_ON)
        return false;
    ls__reduce_means(s, mine);
    r.factor = ls__verdict_factor(s);
    ls__reduce_ask(s, &r);
    s->notes.bad[worker] = ls__reduce_trained(s, &r, mine);
    return true;
}

bool ls__phase_check(ls__step *s, int worker)
{
    ls__reduction r = {.buffer = &s->in_hand, .count = 1, .factor = 1};

    ls__reduce_ask(s, &r);
    s->notes.bad[worker] =
        ls__reduce_trained(s, &r, ls__reduce_mine(s, worker));
    return true;
}

/* ------ update ------ */

/* The step's gradient in a range: where it stands, or in `room` if it was not
 * summed. */
static float *gradient_of(const ls__step *s, ls__range r, float *room)
{
    const ls_trainer *t = s->trainer;
    int64_t block = r.first / LS__REDUCE_BLOCK;
    int fate = s->fates ? s->notes.fate[block] : LS__SUMMED;

    LS__ASSERT(r.first < r.last && (r.last - 1) / LS__REDUCE_BLOCK == block);
    if (fate == LS__SUMMED)
        return s->gradient + r.first;
    if (fate == LS__ZEROS)
        return memset(room, 0, (size_t)(r.last - r.first) * sizeof *room);
    ls__kernels()->tree_sum(t->grad.device, t->devices.count, r.first, r.last,
                            ls__verdict_factor(s), room);
    return room;
}

/* Updates the parts of a block that move. */
static void update_run(const ls__step *s, float norm, const ls__rule *rule,
                       ls__range r, int64_t at)
{
    const ls_trainer *t = s->trainer;
    float room[LS__REDUCE_BLOCK] __attribute__((aligned(64)));
    float *g = gradient_of(s, r, room);
    int64_t n = r.last - r.first;

    ls__clip(norm, (float)t->options.clip_norm, n, g);
    ls__clip_value((float)t->options.clip_value, n, g);
    ls__optim_update(t->options.optimizer.kind, rule, n, g,
                     t->model.value + r.first, t->moments.of, at);
}

void ls__update_patch(const ls__step *s, float norm, const ls__patch *b)
{
    const ls__rule *rule = s->rules ? &s->rules[b->slot] : &s->rule;
    const ls__slot *slot = &s->trainer->model.params.slot[b->slot];
    ls__range r = b->range;

    LS__ASSERT(slot->offset <= r.first && r.last <= slot->offset + slot->size);
    if (!s->trainer->trained.slot[b->slot])
        return;
    for (ls__range run = {r.first, r.first}; ls__hooks_move(s, b, &run);)
        update_run(s, norm, rule, run, b->at + run.first - r.first);
    LS__TELL_HOOKS(s, changed, b);
}

/* Update a stretch of what the process owns, some of a slot, block by block:
 * one that is clipped is still in the cache when it is used. */
static void update_range(const ls__step *s, float norm, int slot,
                         const ls__stretch *part, ls__range some)
{
    ls__range r = ls__range_common(some, part->range);
    int64_t shift = part->at - part->range.first;

    for (int64_t i = r.first, end; i < r.last; i = end) {
        ls__patch b = {slot, {i, 0}, i + shift};

        end = ls__least(r.last, (i / LS__REDUCE_BLOCK + 1) * LS__REDUCE_BLOCK);
        b.range.last = end;
        LS__TELL_HOOKS(s, before, &b);
        ls__update_patch(s, norm, &b);
    }
}

/* Updates the pieces of a slot that a worker's devices own; worker 0 also what
 * nobody owns. */
static void update_slot(const ls__step *s, float norm, int slot,
                        const ls__stretch *part, int worker)
{
    const ls_trainer *t = s->trainer;
    const ls__slot *all = &t->model.params.slot[slot];
    const ls__split *place = ls__placement_of(t, slot);
    int pieces = *place->along ? place->owners : t->devices.count, first, last;
    ls__piece p = {all->offset, all->size, 0, worker == 0};

    ls__pool_shards_of(t->pool, pieces, worker, &first, &last);
    if (place->axis >= 0)
        p = ls__placement_piece(all, place->axis, pieces, first, last);
    for (int64_t at = p.first; p.runs > 0; p.runs--, at += p.stride)
        update_range(s, norm, slot, part, (ls__range){at, at + p.length});
}

static void update_stretch(const ls__step *s, float norm,
                           const ls__stretch *part, int worker)
{
    const ls__params *params = &s->trainer->model.params;

    for (int i = 0; i < params->count; i++) {
        const ls__slot *p = &params->slot[i];
        ls__range r = ls__range_common(
            part->range, (ls__range){p->offset, p->offset + p->size});

        if (r.first < r.last)
            update_slot(s, norm, i, part, worker);
    }
}

bool ls__phase_update(ls__step *s, int worker)
{
    const ls_trainer *t = s->trainer;
    float norm = ls__verdict_norm(s);

    if (worker == 0)
        s->norm = norm;
    if (s->status < 0 || ls__verdict_bad(s, norm))
        return false;
    if (worker == 0)
        ls__trainer_changed(s->trainer);
    for (ls__stretch part = {0}; ls__owned_next(&t->owned, &part);) {
        update_stretch(s, norm, &part, worker);
        LS__TELL_HOOKS(s, passed, worker, part.section);
    }
    return true;
}
