/* One training step: the heart.
 *
 *     PREPARE    workers pack the weights that all will read
 *     GRADIENTS  each worker runs its devices, in device order, each into the
 *                device's own buffer, micro-batch after micro-batch;
 *                parameters are read only
 *     REDUCE     each worker sums all devices over its range of the
 *                parameters, in tree order, into grad[0], once multiplied
 *     UPDATE     each worker what its devices own (train/placement.h), the
 *                caller what nobody owns: all of it when state is replicated
 *
 * with a barrier after each.  Every worker computes the few numbers that decide
 * how a phase goes on (weights, failures) for itself, from what all devices
 * reported before the barrier: the same input, the same decision.  Each names
 * the phase it is in (pool/track.h), for traces and watchdogs. */
#include "base/clock.h"
#include "base/error.h"
#include "base/fpmode.h"
#include "pool/pool.h"
#include "reduce/reduce.h"
#include "train/clip.h"
#include "train/placement.h"
#include "train/verdict.h"
#include "train/schedule.h"
#include "train/watch.h"

#include <string.h>

/* Floats that are reduced, checked and squared, and later clipped and updated,
 * while they stay in L1. */
enum { BLOCK = LS__CLIP_BLOCK };

/* ------ gradients ------ */

/* The first micro-batch is written to the device's gradient, a later one to
 * the worker's and added. */
static int run_micro(ls_trainer *t, int worker, int device, int micro,
                     ls_sums *total)
{
    ls_shard shard = ls__step_shard(t, device, micro);
    float **grads = micro ? t->later_of + worker * t->params.count
                          : t->grad_of + device * t->params.count;
    ls_sums sums = {.correct = __builtin_nan("")};
    int status = t->fn(t->user, device, &shard, t->value_of,
                       t->phase.train ? grads : NULL, &sums);

    total->loss += sums.loss;
    total->weight += sums.weight;
    total->correct += sums.correct;
    for (int i = 0; i < t->metrics; i++) {
        total->metric[i].sum += sums.metric[i].sum;
        total->metric[i].weight += sums.metric[i].weight;
    }
    if (micro && t->phase.train)
        ls__kernels()->add(t->params.floats, t->grad[device],
                           t->later[worker], t->grad[device]);
    return status;
}

static void run_device(ls_trainer *t, int worker, int device)
{
    ls__report *report = &t->report[device];

    ls__track_phase(ls__track_here(), t->phase.train ? "gradients" : "evaluate",
                    device);
    report->sums = (ls_sums){0};
    report->status = 0;
    report->diverged = false;
    for (int m = 0; m < t->micro && report->status >= 0; m++) {
        report->status = run_micro(t, worker, device, m, &report->sums);
        if (m == 0 && t->watch && t->phase.train && report->status >= 0)
            report->diverged = !ls__watch_confirm(t, device);
    }
    if (t->phase.train && t->options.mean == LS_MEAN_OF_SHARDS &&
        report->sums.weight > 0)
        ls__kernels()->scale(t->params.floats,
                             1.0f / (float)report->sums.weight,
                             t->grad[device]);
}

static void predict_device(ls_trainer *t, int device)
{
    int *status = &t->report[device].status;

    ls__track_phase(ls__track_here(), "predict", device);
    *status = 0;
    for (int m = 0; m < t->micro && *status == 0; m++) {
        ls_shard shard = ls__step_shard(t, device, m);

        *status = ls__exec_predict(
            t->exec, device, &shard, t->value_of, t->phase.goal,
            t->phase.out + shard.first * t->phase.size);
    }
}

/* ------ reduce and update ------ */

/* Each worker's range.  With clipping it is whole blocks, so that nobody else
 * takes part in a block's sum of squares. */
static ls__range range_of(const ls_trainer *t, int worker)
{
    return ls__range_part((ls__range){0, t->params.floats}, t->workers, worker,
                          t->square ? BLOCK : 16);
}

/* Reduce a range: the first element that is not finite, or -1. */
static int64_t reduce_range(ls_trainer *t, ls__range r, float factor)
{
    int64_t bad = -1;

    for (int64_t i = r.first, end; i < r.last; i = end) {
        int64_t at;

        end = r.last - i < BLOCK ? r.last : i + BLOCK;
        ls__reduce_range(t->grad, t->devices, i, end, factor, t->grad[0]);
        at = ls__kernels()->first_nonfinite(end - i, t->grad[0] + i);
        if (bad < 0 && at < end - i)
            bad = i + at;
        if (t->square)
            t->square[i / BLOCK] = ls__clip_square(end - i, t->grad[0] + i);
    }
    return bad;
}

/* The gradient's norm once it is reduced; NaN where nobody asked for it. */
static float norm(const ls_trainer *t)
{
    return t->square ? ls__clip_norm(ls__clip_blocks(t->params.floats),
                                     t->square)
                     : __builtin_nanf("");
}

/* Finite elements may have squares that are not. */
static bool overflows(float norm)
{
    return norm > 0x1.fffffep+127f;
}

/* g is the gradient's norm. */
static void update_range(ls_trainer *t, float g, int64_t first, int64_t last)
{
    float most = (float)t->options.clip_norm;

    for (int64_t i = first, end; i < last; i = end) {
        end = last - i < BLOCK ? last : i + BLOCK;
        ls__clip(g, most, end - i, t->grad[0] + i);
        ls__optim_update(t->options.optimizer.kind, &t->phase.rule, end - i,
                         t->grad[0] + i, t->value + i, t->moment, i);
    }
}

/* What devices first .. last-1 own. */
static void update_owned(ls_trainer *t, float g, int first, int last)
{
    for (int i = 0; i < t->params.count; i++) {
        int axis = ls__placement_axis(t, i);
        ls__piece p = {0};

        if (axis >= 0)
            p = ls__placement_piece(&t->params.slot[i], axis, t->devices, first,
                                    last);
        for (int64_t at = p.first; p.runs > 0; p.runs--, at += p.stride)
            update_range(t, g, at, at + p.length);
    }
}

static void update_replicated(ls_trainer *t, float g)
{
    ls__track *track = ls__pool_track(t->pool, 0);

    ls__track_phase(track, "update", -1);
    for (int i = 0; i < t->params.count; i++) {
        const ls__slot *s = &t->params.slot[i];

        if (ls__placement_axis(t, i) < 0)
            update_range(t, g, s->offset, s->offset + s->size);
    }
    ls__track_phase(track, NULL, -1);
}

/* ------ the phases on one worker ------ */

/* Around what a worker does by itself, barriers left out. */
static void enter(ls_trainer *t, int worker)
{
    if (t->lap)
        t->lap[worker].entered = ls__seconds();
}

static void leave(ls_trainer *t, int worker, int phase)
{
    if (t->lap)
        t->lap[worker].busy[phase] += ls__seconds() - t->lap[worker].entered;
}

static void run_phases(void *user, int worker)
{
    ls_trainer *t = user;
    ls__track *track = ls__track_here();
    int first_device, last_device;
    float g;

    ls__pool_shards_of(t->pool, t->devices, worker, &first_device,
                       &last_device);
    enter(t, worker);
    if (t->exec) {
        ls__track_phase(track, "prepare", -1);
        ls__exec_pack(t->exec, worker, t->workers, t->phase.train,
                      t->value_of);
        leave(t, worker, LS__GRADIENTS);
        ls__pool_barrier(t->pool);
        enter(t, worker);
    }
    for (int d = first_device; d < last_device && t->phase.goal; d++)
        predict_device(t, d);
    if (t->phase.goal)
        return;
    for (int d = first_device; d < last_device; d++)
        run_device(t, worker, d);
    leave(t, worker, LS__GRADIENTS);
    if (!t->phase.train)
        return;
    ls__pool_barrier(t->pool);
    if (worker == 0)
        t->phase.graded = ls__seconds();
    if (ls__verdict_judge(t) != LS__GOES_ON)
        return;
    enter(t, worker);
    ls__track_phase(track, "reduce", -1);
    t->bad[worker] = reduce_range(t, range_of(t, worker),
                                  ls__verdict_factor(t));
    leave(t, worker, LS__REDUCE);
    ls__pool_barrier(t->pool);
    if (worker == 0)
        t->phase.reduced = ls__seconds();
    enter(t, worker);
    ls__track_phase(track, "update", -1);
    g = norm(t);
    if (!ls__verdict_bad(t) && !overflows(g))
        update_owned(t, g, first_device, last_device);
    leave(t, worker, LS__UPDATE);
}

/* ------ a step ------ */

static void count(const ls_trainer *t, const ls_result *r, double seconds)
{
    ls_trace_counter(t->pool, "loss", (double)r->loss);
    ls_trace_counter(t->pool, "rows/s", (double)r->rows / seconds);
}

/* After all workers are done: the caller's part of a training step. */
static int conclude(ls_trainer *t, ls__verdict v, ls_result *result)
{
    float g = v == LS__GOES_ON ? norm(t) : __builtin_nanf("");
    ls_result r;

    if (v == LS__FAILED)
        return ls__verdict_fail(t);
    if (v == LS__GOES_ON && (ls__verdict_bad(t) || overflows(g)))
        return ls__verdict_fail_gradient(t);
    ls__verdict_result(t, v, &r);
    r.grad_norm = g;
    if (v == LS__NO_WEIGHT)
        ls__fail(0, "step %lld: the weights of all %lld rows are 0; nothing "
                 "was updated", (long long)t->step, (long long)r.rows);
    enter(t, 0);
    if (v == LS__GOES_ON)
        update_replicated(t, g);
    leave(t, 0, LS__UPDATE);
    r.updated = v == LS__GOES_ON;
    t->phase.ended = ls__seconds();
    r.gradient_seconds = t->phase.graded - t->phase.began;
    if (v == LS__GOES_ON) {
        r.reduce_seconds = t->phase.reduced - t->phase.graded;
        r.update_seconds = t->phase.ended - t->phase.reduced;
        t->step++;
    }
    count(t, &r, t->phase.ended - t->phase.began);
    *result = r;
    return 0;
}

/* The rows a device gets of the batch, or a status. */
static int64_t shard_rows(const ls_trainer *t, const ls_batch *batch,
                          const bool *reads)
{
    if (!batch || batch->trainer != t)
        return ls__fail(LS_EINVAL, "the batch belongs to another trainer");
    return ls__batch_rows_read(batch, reads);
}

/* The scalars of the coming update. */
static ls__rule next_rule(const ls_trainer *t)
{
    const ls_optimizer *o = &t->options.optimizer;
    float lr = ls__schedule_lr(&t->options.schedule, o->lr, t->step);

    return ls__optim_rule(o, lr, t->step + 1);
}

/* LS_CHECK_DIVERGENCE: every device alone, before any runs at the same time. */
static int watch(ls_trainer *t)
{
    ls__track *track = ls__pool_track(t->pool, 0);
    int status = 0;

    if (t->exec)
        ls__exec_pack(t->exec, 0, 1, true, t->value_of);
    for (int d = 0; d < t->devices && status == 0; d++) {
        ls_shard shard = ls__step_shard(t, d, 0);

        ls__track_phase(track, "divergence check", d);
        status = ls__watch_device(t, d, &shard);
    }
    ls__track_phase(track, NULL, -1);
    return status;
}

/* The forward pass for evaluation, or all phases; the pool is taken. */
static int pass(ls_trainer *t, const ls_batch *batch, bool train,
                ls_result *result)
{
    int64_t rows = shard_rows(t, batch, NULL);
    int status = 0;
    ls__fpmode mode;
    ls__verdict v;

    if (rows < 0)
        return (int)rows;
    mode = ls__fpmode_set(); /* the rule's scalars are rounded too */
    t->phase = (ls__phase){.batch = batch, .train = train, .rows = rows,
                           .began = ls__seconds()};
    t->phase.rule = next_rule(t);
    if (t->lap)
        memset(t->lap, 0, (size_t)t->workers * sizeof *t->lap);
    if (t->watch && train && (status = watch(t)) < 0) {
        ls__fpmode_restore(mode);
        return status;
    }
    ls__pool_run(t->pool, run_phases, t);
    v = ls__verdict_judge(t);
    if (train)
        status = conclude(t, v, result);
    else if (v == LS__FAILED)
        status = ls__verdict_fail(t);
    else
        ls__verdict_result(t, v, result);
    ls__fpmode_restore(mode);
    return status;
}

/* A value of every row; the pool is taken. */
static int predict(ls_trainer *t, const ls_batch *batch, const char *output,
                   int64_t n, float *out)
{
    const ls__goal *goal;
    int64_t rows, size;
    int k;

    if (!t->exec)
        return ls__fail(LS_ENOTFOUND, "output \"%s\": a gradient function has "
                        "no outputs", output);
    if ((k = ls__exec_find(t->exec, output, &goal, &size)) < 0)
        return k;
    if ((rows = shard_rows(t, batch, goal->reads)) < 0)
        return (int)rows;
    if (n != rows * ls__trainer_shards(t) * size)
        return ls__fail(LS_ESHAPE, "output \"%s\": %lld rows of %lld elements "
                        "do not fill %lld", output,
                        (long long)(rows * ls__trainer_shards(t)),
                        (long long)size, (long long)n);
    t->phase = (ls__phase){.batch = batch, .goal = k, .rows = rows,
                           .size = size, .out = out};
    ls__pool_run(t->pool, run_phases, t);
    for (int d = 0; d < t->devices; d++)
        if (t->report[d].status < 0)
            return ls__verdict_fail_user(t, d);
    return 0;
}

/* ------ the public functions ------ */

static int run(ls_trainer *t, const ls_batch *batch, bool train,
               ls_result *result)
{
    int status = ls__pool_take(t->pool);
    int64_t began, step;

    if (status < 0)
        return status;
    began = ls__pool_track(t->pool, 0)->level ? ls__nanoseconds() : 0;
    step = t->step;
    status = pass(t, batch, train, result);
    if (train)
        ls__track_slice(ls__pool_track(t->pool, 0), LS__STEP, "step", began,
                        step);
    ls__pool_give(t->pool);
    return status;
}

int ls_step(ls_trainer *t, const ls_batch *batch, ls_result *result)
{
    return run(t, batch, true, result);
}

int ls_evaluate(ls_trainer *t, const ls_batch *batch, ls_result *result)
{
    return run(t, batch, false, result);
}

int ls_predict(ls_trainer *t, const ls_batch *batch, const char *output,
               int64_t n, float *out)
{
    int status = ls__pool_take(t->pool);

    if (status < 0)
        return status;
    status = predict(t, batch, output, n, out);
    ls__pool_give(t->pool);
    return status;
}
