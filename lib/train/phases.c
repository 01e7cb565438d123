/* What workers do in each phase of a step. */
#include "train/phases.h"
#include "base/least.h"
#include "pool/pool.h"
#include "reduce/reduce.h"
#include "train/average.h"
#include "rules/clip.h"
#include "train/device.h"
#include "train/giving.h"
#include "train/groups.h"
#include "train/lazy.h"
#include "train/leaving.h"
#include "train/marked.h"
#include "train/placement.h"
#include "train/seam.h"
#include "train/trained.h"
#include "train/verdict.h"
#include "train/watch.h"

#include <string.h>

/* ------ prepare ------ */

bool ls__phase_prepare(ls__step *s, int worker)
{
    const ls_trainer *t = s->trainer;

    ls__exec_pack(t->model.plan, &t->model.weights, worker, t->workers,
                  s->pass->train);
    return true;
}

/* ------ gradients ------ */

static void add_sums(ls_sums *total, const ls_sums *sums, int metrics)
{
    total->loss += sums->loss;
    total->weight += sums->weight;
    total->correct += sums->correct;
    for (int i = 0; i < metrics; i++) {
        total->metric[i].sum += sums->metric[i].sum;
        total->metric[i].weight += sums->metric[i].weight;
    }
}

/* The first micro-batch is written to the device's gradient, a later one to
 * the worker's and added. */
static int run_micro(ls__step *s, int worker, int device, int micro,
                     ls_sums *total)
{
    const ls_trainer *t = s->trainer;
    ls_shard shard = ls__step_shard(s, device, micro);
    bool later = s->before + micro > 0;
    float **grads = later ? t->grad.later_param + worker * t->model.params.count
                          : t->grad.param + device * t->model.params.count;
    bool leaves = t->seam && s->pass->reduces && micro == t->micro - 1;
    ls_sums sums = {.correct = __builtin_nan("")};
    int status;

    if (leaves)
        ls__leaving_enter(s, worker, device, later);
    if (s->marked)
        ls__context_mark(t->context[device], ls__marked_of(s, device));
    status =
        ls__device_run(t, device, &shard, s->pass->train ? grads : NULL, &sums);
    if (s->marked)
        ls__context_mark(t->context[device], NULL);
    add_sums(total, &sums, t->model.metrics);
    if (leaves)
        ls__leaving_end(s, worker, device);
    else if (later && s->pass->train)
        ls__trained_add(t, t->grad.later[worker], t->grad.device[device]);
    return status;
}

void ls__phase_gradients(ls__step *s, int worker, int device)
{
    ls_trainer *t = s->trainer;
    ls__report *report = &s->notes.report[t->devices.first + device];
    int status = 0;

    if (s->before == 0)
        report->sums = (ls_sums){0};
    ls__step_report(s, report);
    for (int m = 0; m < t->micro && status >= 0; m++) {
        status = run_micro(s, worker, device, m, &report->sums);
        report->failed = ls__device_failed(t, device);
        if (m + s->before == 0 && t->watch && s->pass->train && status >= 0)
            report->diverged = !ls__watch_confirm(t, device);
    }
    report->status = status;
}

void ls__phase_shards(ls__step *s, int device, ls__shard_fn *fn)
{
    const ls_trainer *t = s->trainer;
    ls__report *report = &s->notes.report[t->devices.first + device];
    int status = 0;

    ls__step_report(s, report);
    for (int m = 0; m < t->micro && status == 0; m++) {
        ls_shard shard = ls__step_shard(s, device, m);

        status = fn(s, device, &shard);
        report->failed = ls__device_failed(t, device);
    }
    report->status = status;
}

static int predict(ls__step *s, int device, const ls_shard *shard)
{
    const ls_trainer *t = s->trainer;

    return ls__exec_output(t->context[device], &t->model.weights, shard,
                           s->output, s->out + shard->first * s->output->size);
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
             ls__trained_next(t, r, &run);)
            ls__kernels()->scale(run.last - run.first,
                                 1.0f / (float)report[d].sums.weight,
                                 t->grad.device[d] + run.first);
}

/* Of what is owned.  Borders of ranges are those of blocks with clipping, so
 * that nobody else takes part in a block's sum of squares. */
static ls__range range_of(const ls__step *s, int worker)
{
    const ls_trainer *t = s->trainer;
    ls__range all = {0, ls__owned_floats(&t->owned)};
    bool blocks = s->notes.square || t->lazy || s->marked;

    return ls__range_part(all, t->workers, worker,
                          blocks ? LS__REDUCE_BLOCK : 16);
}

/* What else is asked of each block. */
static void ask(ls__step *s, ls__reduction *r)
{
    r->out = s->gradient;
    r->square = s->notes.square;
    r->look = s->trainer->lazy ? ls__lazy_look : NULL;
    r->skips = s->marked ? ls__marked_skips : NULL;
    r->user = s;
}

/* Reduce what has gradients in a range; returns the first element that is not
 * finite, or -1. */
static int64_t reduce_trained(const ls__step *s, const ls__reduction *r,
                              ls__range mine)
{
    int64_t bad = -1;

    for (ls__range run = {mine.first, mine.first};
         ls__trained_next(s->trainer, mine, &run);) {
        int64_t first = ls__reduce(r, run);

        bad = bad < 0 ? first : bad;
    }
    return bad;
}

bool ls__phase_reduce(ls__step *s, int worker)
{
    const ls_trainer *t = s->trainer;
    ls__range mine = range_of(s, worker);
    ls__reduction r = {.buffer = t->grad.device,
                       .count = t->devices.count};

    if (ls__verdict_judge(s) != LS__GOES_ON)
        return false;
    ls__reduce_means(s, mine);
    r.factor = ls__verdict_factor(s);
    ask(s, &r);
    s->notes.bad[worker] = reduce_trained(s, &r, mine);
    return true;
}

bool ls__phase_check(ls__step *s, int worker)
{
    ls__reduction r = {.buffer = &s->given, .count = 1, .factor = 1};

    ask(s, &r);
    s->notes.bad[worker] = reduce_trained(s, &r, range_of(s, worker));
    return true;
}

bool ls__phase_complete(ls__step *s, int worker)
{
    const ls_trainer *t = s->trainer;
    const ls__seam *seam = t->seam;
    ls__range mine = range_of(s, worker);
    ls__reduction r = {.buffer = seam->partial, .count = seam->parts,
                       .part = seam->part, .of = t->devices.of,
                       .here = seam->here};
    int64_t bad = -1;

    if (s->status < 0 || ls__verdict_judge(s) != LS__GOES_ON)
        return false;
    r.factor = ls__verdict_factor(s);
    ask(s, &r);
    for (ls__stretch part = {0}; ls__owned_next(&t->owned, &part);) {
        int64_t first;

        r.shift = part.at - part.range.first;
        first = ls__reduce(&r, ls__stretch_common(&part, mine));
        bad = bad < 0 ? first : bad;
    }
    s->notes.bad[worker] = bad;
    return true;
}

/* ------ update ------ */

/* The average begins with the parameters as they are before the first update;
 * those that are frozen are their own. */
static void begin_average(const ls_trainer *t, ls__range r, int64_t at)
{
    float *average = ls__trainer_average(t);

    if (average && t->step == 0)
        memcpy(average + at, t->model.value + r.first,
               (size_t)(r.last - r.first) * sizeof *average);
}

/* What moves, of a block. */
static void update_run(const ls__step *s, float norm, const ls__rule *rule,
                       ls__range r, int64_t at)
{
    const ls_trainer *t = s->trainer;
    float room[LS__REDUCE_BLOCK] __attribute__((aligned(64)));
    float *g = ls__marked_gradient(s, r, room);
    int64_t n = r.last - r.first;

    ls__clip(norm, (float)t->options.clip_norm, n, g);
    ls__clip_value((float)t->options.clip_value, n, g);
    ls__optim_update(t->options.optimizer.kind, rule, n, g,
                     t->model.value + r.first, t->moment, at);
}

/* A block of a slot that is clipped is still in the cache when it is used; `at`
 * counts owned floats. */
static void update_block(const ls__step *s, float norm, int slot, ls__range r,
                         int64_t at)
{
    const ls_trainer *t = s->trainer;
    const ls__rule *rule = ls__groups_rule_of(s, slot);
    float *average = ls__trainer_average(t);

    begin_average(t, r, at);
    if (!rule)
        return;
    for (ls__range run = {r.first, r.first};
         ls__lazy_next(t, slot, r, &run);)
        update_run(s, norm, rule, run, at + run.first - r.first);
    if (average)
        ls__kernels()->average(r.last - r.first, t->options.average,
                               t->model.value + r.first, average + at);
}

/* Of a stretch of what the process owns, some of a slot, block by block. */
static void update_range(const ls__step *s, float norm, int slot,
                         const ls__stretch *part, ls__range some)
{
    ls__range r = ls__range_common(some, part->range);
    int64_t shift = part->at - part->range.first;

    for (int64_t i = r.first, end; i < r.last; i = end) {
        end = ls__least(r.last, (i / LS__REDUCE_BLOCK + 1) * LS__REDUCE_BLOCK);
        update_block(s, norm, slot, (ls__range){i, end}, i + shift);
    }
}

/* What a worker's devices own of a slot, or worker 0 as what nobody owns. */
static void update_slot(const ls__step *s, float norm, int slot,
                        const ls__stretch *part, int worker)
{
    const ls_trainer *t = s->trainer;
    const ls__slot *all = &t->model.params.slot[slot];
    const ls__place *place = ls__placement_of(t, slot);
    ls__share mine = ls__placement_share(t, place, worker);
    ls__piece p = {all->offset, all->size, 0, worker == 0};

    if (place->axis >= 0)
        p = ls__placement_piece(all, place->axis, mine.pieces, mine.first,
                                mine.last);
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
        ls__exec_stale(t->model.plan, &t->model.weights);
    for (ls__stretch part = {0}; ls__owned_next(&t->owned, &part);) {
        update_stretch(s, norm, &part, worker);
        if (t->seam)
            ls__giving_count(t, worker, part.section);
    }
    return true;
}
