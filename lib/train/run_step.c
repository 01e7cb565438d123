/* SPDX-License-Identifier: BSD-3-Clause */
/* One training step: the heart.
 *
 *     PREPARE    workers pack the weights that all will read
 *     GRADIENTS  each worker runs its devices, in device order, each into the
 *                device's own buffer
 *     REDUCE     each worker sums all devices over its range of the
 *                parameters
 *     UPDATE     each worker what its devices own, worker 0 what nobody owns
 *
 * with a barrier between.  phases.c is what each of them does, and tables of
 * them are passes; here is how a pass runs and what becomes of it.  Who rides
 * along is called at the stations of hook.h. */
#include "train/run_step.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fpmode.h"
#include "pool/pool.h"
#include "rules/optim.h"
#include "rules/schedule.h"
#include "train/device.h"
#include "train/phases.h"
#include "train/hooks.h"
#include "train/trainer.h"
#include "train/verdict.h"

#include <pthread.h>
#include <string.h>

/* ------ a pass on one worker ------ */

static bool is_phase(const ls__phase *p)
{
    return p->run || p->run_device;
}

/* A worker runs its devices, or helps with the next worker's; then it steals
 * work from those that are behind. */
static void run_devices(ls__step *s, const ls__phase *p, int worker)
{
    const ls_trainer *t = s->trainer;
    int first, last;

    ls__pool_shards_of(t->pool, t->devices.count, worker, &first, &last);
    if (first == last)
        ls__device_help(s, worker, first, p->name);
    else
        ls__device_gather(s, first);
    for (int d = first; d < last; d++) {
        ls__track_phase(ls__track_here(), p->name, t->devices.first + d);
        p->run_device(s, worker, d);
    }
    if (first < last)
        ls__device_dismiss(s, first);
    ls__device_steal(s, worker, first, p->lap);
}

static bool run_phase(ls__step *s, const ls__phase *p, int worker)
{
    const ls_trainer *t = s->trainer;

    LS__ASSERT(!p->run || !p->run_device);
    if (s->refused < 0 && !p->meets)
        return true;
    if (p->run || (p->run_joint && t->joint)) {
        ls__track_phase(ls__track_here(), p->name, -1);
        return (p->run ? p->run : p->run_joint)(s, worker);
    }
    if (s->refused == 0)
        run_devices(s, p, worker);
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

/* End a phase; its time ends when all workers are done with it. */
static void end_phase(ls__step *s, const ls__phase *p)
{
    double now = ls__seconds();

    LS__ASSERT((int)p->lap >= 0 && p->lap < LS__LAPS);
    s->clock.took[p->lap] += now - s->clock.ended;
    s->clock.ended = now;
}

/* The first phase that has something to do: a function of the user's packs
 * nothing. */
static const ls__phase *first_phase(const ls__step *s)
{
    const ls__phase *p = s->pass->phase;

    return p->run == ls__phase_prepare && !s->trainer->model.plan ? p + 1 : p;
}

/* A worker's progress. */
typedef struct walk {
    ls__step *step;
    const ls__phase *phase;
    int worker;
} walk;

/* Go to the next phase; false: there is none. */
static bool go_on(walk *w)
{
    const ls__phase *next = w->phase + 1;

    if (!is_phase(next))
        return false;
    ls__pool_barrier(w->step->trainer->pool);
    if (w->worker == 0)
        end_phase(w->step, w->phase);
    while (next->idle && next->idle(w->step))
        next++;
    LS__ASSERT(next < w->step->pass->phase + LS__PHASES);
    if (!is_phase(next))
        return false;
    w->phase = next;
    return true;
}

static void walk_phases(walk *w)
{
    while (time_phase(w->step, w->phase, w->worker) && go_on(w))
        ;
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
        s->clock.last = w->phase;
}

static void run_phases(void *user, int worker)
{
    ls__step *s = user;
    walk w = {s, first_phase(s), worker};

    pthread_cleanup_push(walk_on, &w);
    walk_phases(&w);
    pthread_cleanup_pop(0);
    if (worker == 0)
        s->clock.last = w.phase;
}

/* ------ a step ------ */

int ls__trainer_check_weights(const ls_trainer *t)
{
    if (!t->model.params.count)
        return ls__fail(LS_EINVAL, "the graph has no parameters: there is "
                        "nothing to train");
    if (!t->moments.averaged)
        return 0;
    return ls__fail(LS_EINVAL, "the average stands in the place of the "
                    "parameters: ls_trainer_use_average(.., false) first");
}

/* The scalars of the coming update. */
static ls__rule next_rule(const ls_trainer *t)
{
    const ls_optimizer *o = &t->options.optimizer;
    float lr = ls__schedule_lr(&t->options.schedule, t->lr, t->step);
    ls__rule rule = ls__optim_rule(o, lr, t->step + 1);

    rule.decay = ls__schedule_lr(&t->options.decay_schedule, 1, t->step);
    return rule;
}

/* Runs a pass of any kind; the time of the last phase ends with the job. */
static void run_pass(ls__step *s)
{
    ls_trainer *t = s->trainer;

    if (s->notes.lap)
        memset(s->notes.lap, 0, (size_t)t->workers * sizeof *s->notes.lap);
    s->clock.began = s->clock.ended = ls__seconds();
    ls__pool_run(t->pool, run_phases, s);
    LS__ASSERT(s->clock.last && is_phase(s->clock.last));
    end_phase(s, s->clock.last);
    t->seconds = s->pass->train ? s->clock.ended - s->clock.began : 0;
}

/* Nothing of this process's is to be checked either. */
static void refuse(ls__step *s, const ls__pass *pass)
{
    s->pass = pass;
    s->checked = false;
    for (int d = 0; d < s->trainer->devices.count; d++)
        ls__step_report(s, ls__step_report_of(s, d));
}

static int run_and_judge(ls__step *s, int ready)
{
    ls_trainer *t = s->trainer;
    const ls__pass *pass = s->pass;

    s->notes = t->notes;
    s->number = t->step;
    s->micro = t->micro;
    s->norm = __builtin_nanf("");
    s->gradient = s->gradient ? s->gradient : t->grad.device[0];
    s->calls = s->calls ? s->calls : t->micro;
    s->rule = next_rule(t);
    s->drop = ls__schedule_lr(&t->options.dropout_schedule, 1, t->step);
    s->refused = ready < 0 ? ready : ls__devices_reserve(s);
    if ((s->refused < 0 && !t->ranks) || (ls__hooks_begin(s) < 0 && !t->ranks))
        return s->refused;
    if (s->refused < 0)
        refuse(s, pass);
    run_pass(s);
    if (s->status < 0)
        return s->status;
    s->verdict = ls__verdict_of(s);
    return ls__verdict_fail(s);
}

int ls__step_run(ls__step *s, int ready)
{
    ls__fpmode mode = ls__fpmode_set(); /* the rule's scalars are rounded too */
    int status = run_and_judge(s, ready);

    ls__fpmode_restore(mode);
    return status;
}

static void count(const ls_trainer *t, const ls_result *r)
{
    ls__track *counters = ls__pool_track(t->pool, t->workers);

    ls__track_counter(counters, "loss", (double)r->loss);
    ls__track_counter(counters, "rows/s", (double)r->rows / t->seconds);
}

void ls__step_conclude(ls__step *s, ls_result *r)
{
    ls_trainer *t = s->trainer;

    if (s->verdict == LS__NO_WEIGHT)
        ls__fail(0, "step %lld: the weights of %s%lld row%s are 0, or their "
                 "labels are ignored; nothing was updated", (long long)t->step,
                 r->rows == 1 ? "" : "all ", (long long)r->rows,
                 ls__s(r->rows));
    r->grad_norm = s->norm;
    r->updated = s->verdict == LS__GOES_ON && s->pass->updates;
    r->gradient_seconds = s->clock.took[LS__GRADIENTS];
    r->reduce_seconds = s->clock.took[LS__REDUCE];
    r->update_seconds = s->clock.took[LS__UPDATE];
    t->step += r->updated;
    count(t, r);
    LS__TELL_HOOKS(s, end, r);
}
