/* One training step: the heart.
 *
 *     PREPARE    workers pack the weights that all will read
 *     GRADIENTS  each worker runs its devices, in device order, each into the
 *                device's own buffer
 *     REDUCE     each worker sums all devices over its range of the
 *                parameters
 *     UPDATE     each worker what its devices own, worker 0 what nobody owns
 *
 * with a barrier between.  Where several processes train together, they meet
 * between these (seam.h).  phases.c is what each of them does; here is how they
 * make passes, how a pass runs, and what becomes of it. */
#include "base/clock.h"
#include "base/error.h"
#include "base/fpmode.h"
#include "base/sized.h"
#include "pool/pool.h"
#include "train/average.h"
#include "train/giving.h"
#include "train/gradients.h"
#include "train/groups.h"
#include "train/leaving.h"
#include "train/marked.h"
#include "train/phases.h"
#include "rules/schedule.h"
#include "train/seam.h"
#include "train/trainer.h"
#include "train/verdict.h"
#include "train/watch.h"

#include <pthread.h>
#include <string.h>

/* clang-format off */
static const ls__pass
    train = {.train = true, .reduces = true, .updates = true, .phase = {
        {"prepare", LS__GRADIENTS, .run = ls__phase_prepare},
        {"gradients", LS__GRADIENTS, .run_device = ls__phase_gradients},
        {"reduce", LS__REDUCE, .run = ls__phase_reduce},
        {"update", LS__UPDATE, .run = ls__phase_update}}},
    train_with_others = {.train = true, .reduces = true, .updates = true,
                         .phase = {
        {"prepare", LS__GRADIENTS, .run = ls__phase_prepare},
        {"gradients", LS__GRADIENTS, .run_device = ls__phase_gradients},
        {"partial sums", LS__REDUCE, .run = ls__phase_partials},
        {"exchange", LS__REDUCE, .run = ls__phase_exchange},
        {"reduce", LS__REDUCE, .run = ls__phase_complete},
        {"soundness", LS__REDUCE, .run = ls__phase_sound},
        {"update", LS__UPDATE, .run = ls__phase_update},
        {"values", LS__UPDATE, .run = ls__phase_values}}},
    evaluate = {.phase = {
        {"prepare", LS__GRADIENTS, .run = ls__phase_prepare},
        {"evaluate", LS__GRADIENTS, .run_device = ls__phase_gradients}}},
    evaluate_with_others = {.phase = {
        {"prepare", LS__GRADIENTS, .run = ls__phase_prepare},
        {"evaluate", LS__GRADIENTS, .run_device = ls__phase_gradients},
        {"reports", LS__REDUCE, .run = ls__phase_reports}}},
    predict = {.given = true, .phase = {
        {"prepare", LS__GRADIENTS, .run = ls__phase_prepare},
        {"predict", LS__GRADIENTS, .run_device = ls__phase_predict}}},
    predict_with_others = {.given = true, .phase = {
        {"prepare", LS__GRADIENTS, .run = ls__phase_prepare},
        {"predict", LS__GRADIENTS, .run_device = ls__phase_predict},
        {"reports", LS__REDUCE, .run = ls__phase_reports},
        {"outputs", LS__REDUCE, .run = ls__phase_outputs}}};
/* clang-format on */

/* ------ a pass on one worker ------ */

static bool is_phase(const ls__phase *p)
{
    return p->run || p->run_device;
}

static bool run_phase(ls__step *s, const ls__phase *p, int worker)
{
    const ls_trainer *t = s->trainer;
    ls__track *track = ls__track_here();
    int first, last;

    if (p->run) {
        ls__track_phase(track, p->name, -1);
        return p->run(s, worker);
    }
    ls__pool_shards_of(t->pool, t->devices.count, worker, &first, &last);
    for (int d = first; d < last; d++) {
        ls__track_phase(track, p->name, t->devices.first + d);
        p->run_device(s, worker, d);
    }
    return true;
}

/* Time what a worker does by itself, barriers left out. */
static bool time_phase(ls__step *s, const ls__phase *p, int worker)
{
    ls__lap *lap = s->notes.lap ? &s->notes.lap[worker] : NULL;
    bool goes_on;

    if (!lap)
        return run_phase(s, p, worker);
    lap->entered = ls__seconds();
    goes_on = run_phase(s, p, worker);
    lap->busy[p->lap] += ls__seconds() - lap->entered;
    return goes_on;
}

/* After a phase; its time ends when all workers are done with it. */
static void end_phase(ls__step *s, const ls__phase *p)
{
    double now = ls__seconds();

    s->took[p->lap] += now - s->ended;
    s->ended = now;
}

/* The first phase that has something to do: a function of the user's packs
 * nothing. */
static const ls__phase *first_phase(const ls__step *s)
{
    const ls__phase *p = s->pass->phase;

    return p->run == ls__phase_prepare && !s->trainer->model.plan ? p + 1 : p;
}

/* How far a worker has come. */
typedef struct walk {
    ls__step *step;
    const ls__phase *phase;
    int worker;
} walk;

/* To the next phase; false: there is none. */
static bool go_on(walk *w)
{
    if (!is_phase(w->phase + 1))
        return false;
    ls__pool_barrier(w->step->trainer->pool);
    if (w->worker == 0)
        end_phase(w->step, w->phase);
    w->phase++;
    return true;
}

static void walk_phases(walk *w)
{
    while (time_phase(w->step, w->phase, w->worker) && go_on(w))
        ;
}

void ls__step_report(const ls__step *s, ls__report *report)
{
    report->step = s->trainer->step;
    report->rows = s->all;
    report->lr = s->trainer->lr;
    report->status = LS__ENDED;
    report->diverged = false;
}

/* A function of the user's ended the thread: its device has a report that says
 * so, and the worker's other devices get one.  The others wait at the barriers
 * for this worker, which goes on to the verdict. */
static void walk_on(void *arg)
{
    walk *w = arg;
    ls__step *s = w->step;
    const ls_trainer *t = s->trainer;
    int first, last;

    ls__pool_shards_of(t->pool, t->devices.count, w->worker, &first, &last);
    for (int d = first; d < last && w->phase->run_device; d++)
        ls__step_report(s, &s->notes.report[t->devices.first + d]);
    if (go_on(w))
        walk_phases(w);
    if (w->worker == 0)
        s->last = w->phase;
}

static void run_phases(void *user, int worker)
{
    ls__step *s = user;
    walk w = {s, first_phase(s), worker};

    pthread_cleanup_push(walk_on, &w);
    walk_phases(&w);
    pthread_cleanup_pop(0);
    if (worker == 0)
        s->last = w.phase;
}

/* ------ a step ------ */

/* The scalars of the coming update. */
static ls__rule next_rule(const ls_trainer *t)
{
    const ls_optimizer *o = &t->options.optimizer;
    float lr = ls__schedule_lr(&t->options.schedule, t->lr, t->step);

    return ls__optim_rule(o, lr, t->step + 1);
}

/* LS_CHECK_DIVERGENCE: every device alone, before any runs at the same time. */
static int watch(ls__step *s)
{
    ls_trainer *t = s->trainer;
    ls__track *track = ls__pool_track(t->pool, 0);
    int status = 0;

    if (t->model.plan)
        ls__exec_pack(t->model.plan, &t->model.weights, 0, 1, true);
    for (int d = 0; d < t->devices.count && status == 0; d++) {
        ls_shard shard = ls__step_shard(s, d, 0);

        ls__track_phase(track, "divergence check", d);
        status = ls__watch_device(t, d, &shard);
    }
    ls__track_phase(track, NULL, -1);
    return status;
}

static bool is_watched(const ls__step *s)
{
    return s->trainer->watch && s->pass->train && s->batch && s->before == 0;
}

/* What the kinds of passes have in common; the time of the last phase ends with
 * the job. */
static void run_pass(ls__step *s)
{
    ls_trainer *t = s->trainer;

    if (s->notes.lap)
        memset(s->notes.lap, 0, (size_t)t->workers * sizeof *s->notes.lap);
    s->began = s->ended = ls__seconds();
    ls__pool_run(t->pool, run_phases, s);
    end_phase(s, s->last);
    t->seconds = s->pass->train ? s->ended - s->began : 0;
}

static int run_and_judge(ls__step *s)
{
    ls_trainer *t = s->trainer;
    int status;

    s->notes = t->notes;
    s->norm = __builtin_nanf("");
    s->gradient = s->gradient ? s->gradient : t->grad.device[0];
    s->calls = s->calls ? s->calls : t->micro;
    s->rule = next_rule(t);
    ls__groups_rule(t, &s->rule);
    if (is_watched(s) && (status = watch(s)) < 0)
        return status;
    if (t->seam && s->pass->updates)
        ls__giving_begin(t);
    if (t->seam && s->pass->reduces)
        ls__leaving_begin(s);
    ls__marked_begin(s);
    run_pass(s);
    if (s->status < 0)
        return s->status;
    s->verdict = ls__verdict_of(s);
    ls__marked_end(s);
    return ls__verdict_fail(s);
}

int ls__step_run(ls__step *s)
{
    ls__fpmode mode = ls__fpmode_set(); /* the rule's scalars are rounded too */
    int status = run_and_judge(s);

    ls__fpmode_restore(mode);
    return status;
}

static void count(const ls_trainer *t, const ls_result *r)
{
    ls_trace_counter(t->pool, "loss", (double)r->loss);
    ls_trace_counter(t->pool, "rows/s", (double)r->rows / t->seconds);
}

void ls__step_conclude(ls__step *s, ls_result *r)
{
    ls_trainer *t = s->trainer;

    if (s->verdict == LS__NO_WEIGHT)
        ls__fail(0, "step %lld: the weights of all %lld rows are 0, or their "
                 "labels are ignored; nothing was updated", (long long)t->step,
                 (long long)r->rows);
    r->grad_norm = s->norm;
    r->updated = s->verdict == LS__GOES_ON && s->pass->updates;
    r->gradient_seconds = s->took[LS__GRADIENTS];
    r->reduce_seconds = s->took[LS__REDUCE];
    r->update_seconds = s->took[LS__UPDATE];
    t->step += r->updated;
    count(t, r);
}

/* ------ the public functions ------ */

/* Of a batch; the pool is taken. */
static int run(ls__step *s, ls_result *result)
{
    int status;

    if ((status = ls__step_set_rows(s, NULL)) < 0 ||
        (status = ls__step_run(s)) < 0)
        return status;
    ls__verdict_result(s, result);
    if (s->pass->train)
        ls__step_conclude(s, result);
    return 0;
}

static int step(ls_trainer *t, const ls_batch *batch, ls_result *result)
{
    ls__step s = {.trainer = t, .batch = batch,
                  .pass = t->seam ? &train_with_others : &train};
    int64_t began, at;
    int status;

    if ((status = ls__trainer_check_weights(t)) < 0)
        return status;
    if (t->between)
        return ls__gradients_step(t->between, batch, result);
    if ((status = ls__pool_take(t->pool)) < 0)
        return status;
    t->use++;
    began = ls__pool_track(t->pool, 0)->level ? ls__nanoseconds() : 0;
    at = t->step;
    status = run(&s, result);
    ls__track_slice(ls__pool_track(t->pool, 0), LS__STEP, "step", began, at);
    ls__pool_give(t->pool);
    return status;
}

static int evaluation(ls_trainer *t, const ls_batch *batch, ls_result *result)
{
    ls__step s = {.trainer = t, .batch = batch,
                  .pass = t->seam ? &evaluate_with_others : &evaluate};
    int status = ls__pool_take(t->pool);

    if (status < 0)
        return status;
    status = run(&s, result);
    ls__pool_give(t->pool);
    return status;
}

int ls_step_sized(ls_trainer *t, const ls_batch *batch, ls_result *result,
                  size_t size)
{
    LS__NEED_AS(t, "trainer", LS_EINVAL);
    LS__NEED(batch);
    LS__NEED(result);

    ls_result r;
    int status = step(t, batch, &r);

    if (status == 0)
        ls__sized_put(result, size, &r, sizeof r);
    return status;
}

int ls_evaluate_sized(ls_trainer *t, const ls_batch *batch, ls_result *result,
                      size_t size)
{
    LS__NEED_AS(t, "trainer", LS_EINVAL);
    LS__NEED(batch);
    LS__NEED(result);

    ls_result r;
    int status = evaluation(t, batch, &r);

    if (status == 0)
        ls__sized_put(result, size, &r, sizeof r);
    return status;
}

/* What is read, and whether `out` is as large as it has to be. */
static int check_output(ls__step *s, const char *output, int64_t n)
{
    const ls_trainer *t = s->trainer;
    int status;

    if (!t->model.plan)
        return ls__fail(LS_ENOTFOUND, "output \"%s\": a gradient function has "
                        "no outputs", output);
    if (!(s->output = ls__plan_output(t->model.plan, output)))
        return LS_ENOTFOUND;
    if ((status = ls__step_set_rows(s, s->output->reads)) < 0)
        return status;
    if (n % s->output->size == 0 && n / s->output->size == s->all)
        return 0;
    return ls__fail(LS_ESHAPE, "output \"%s\": %lld rows of %lld elements do "
                    "not fill %lld", output, (long long)s->all,
                    (long long)s->output->size, (long long)n);
}

int ls_predict(ls_trainer *t, const ls_batch *batch, const char *output,
               int64_t n, float *out)
{
    LS__NEED_AS(t, "trainer", LS_EINVAL);
    LS__NEED(batch);
    LS__NEED(output);
    LS__NEED(out);

    ls__step s = {.trainer = t, .batch = batch, .out = out,
                  .pass = t->seam ? &predict_with_others : &predict};
    int status = ls__pool_take(t->pool);

    if (status < 0)
        return status;
    if ((status = check_output(&s, output, n)) == 0)
        status = ls__step_run(&s);
    if (status == 0)
        status = ls__verdict_fail_user(&s);
    ls__pool_give(t->pool);
    return status;
}
