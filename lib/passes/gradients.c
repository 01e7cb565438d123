/* SPDX-License-Identifier: BSD-3-Clause */
/* Gradients in hand: the passes of a step, one at a time. */
#include "base/assert.h"
#include "base/error.h"
#include "base/sized.h"
#include "pool/pool.h"
#include "train/batch.h"
#include "train/device.h"
#include "train/joint.h"
#include "passes/gradients.h"
#include "train/phases.h"
#include "train/hooks.h"
#include "train/run_step.h"
#include "train/verdict.h"

#include <stdlib.h>
#include <string.h>

/* clang-format off */
static const ls__pass
    compute = {.train = true, .reduces = true, .phase = {
        {"prepare", LS__GRADIENTS, .run = ls__phase_prepare},
        {"gradients", LS__GRADIENTS, .run_device = ls__phase_gradients,
         .run_joint = ls__phase_joint},
        {"reduce", LS__REDUCE, .run = ls__phase_reduce}}},
    add = {.train = true, .phase = {
        {"prepare", LS__GRADIENTS, .run = ls__phase_prepare},
        {"gradients", LS__GRADIENTS, .run_device = ls__phase_gradients,
         .run_joint = ls__phase_joint}}},
    reduce = {.train = true, .reduces = true, .phase = {
        {"reduce", LS__REDUCE, .run = ls__phase_reduce}}},
    apply = {.train = true, .reduces = true, .updates = true, .trusted = true,
             .phase = {
        {"check", LS__REDUCE, .run = ls__phase_check},
        {"update", LS__UPDATE, .run = ls__phase_update}}};
/* clang-format on */

enum { MOST_MICRO = 65536 }; /* micro-batches before an update */

struct ls_gradients {
    ls_trainer *trainer;
    int batches; /* room */
    int added;   /* to the devices' gradients */
    int64_t rows; /* of them */
    int64_t use; /* of the trainer's gradients, in which they were computed */
    float *mean;
    enum {
        NOTHING,
        ADDING,     /* batches to the devices' gradients */
        READY,      /* the mean waits to be applied */
        WEIGHTLESS  /* there is none: the weights of all rows were 0 */
    } state;
    bool inside; /* the function between reduction and update is running */
    ls_result result; /* of the last computation */
    ls_gradients_fn *between;
    void *user;
};

/* ------ opening ------ */

static int open_memory(ls_gradients *g)
{
    ls_trainer *t = g->trainer;
    int status;

    if (!(g->mean = ls__trained_block(&t->trained, t->model.params.floats,
                                      "mean gradient")))
        return LS_ENOMEM;
    if (g->batches == 1)
        return 0;
    if ((status = ls__pool_take(t->pool)) < 0)
        return status;
    status = ls__devices_make_later(t);
    ls__pool_give(t->pool);
    return status;
}

static ls_result no_result(void)
{
    float nan = __builtin_nanf("");
    ls_result r = {.loss = nan, .accuracy = nan, .grad_norm = nan};

    for (int i = 0; i < LS_METRICS; i++)
        r.metric[i] = nan;
    return r;
}

int ls_gradients_open(ls_gradients **gradients, ls_trainer *t, int batches)
{
    LS__NEED(gradients);
    LS__NEED_AS(t, "trainer", LS_EINVAL);

    ls_gradients *g;
    int status;

    if (batches < 1 || batches > MOST_MICRO / t->micro)
        return ls__fail(LS_EINVAL, "gradients of %d batches: there must be 1 "
                        "to %d, of %d micro-batches each", batches,
                        MOST_MICRO / t->micro, t->micro);
    if (t->ranks)
        return ls__fail(LS_ENOTSUP, "gradients in hand: the trainer's devices "
                        "are spread over several processes");
    if (!(g = ls__new(1, sizeof *g, "gradients")))
        return LS_ENOMEM;
    *g = (ls_gradients){.trainer = t, .batches = batches,
                        .result = no_result()};
    if ((status = open_memory(g)) < 0) {
        ls_gradients_close(g);
        return status;
    }
    *gradients = g;
    return 0;
}

void ls_gradients_close(ls_gradients *g)
{
    if (!g)
        return;
    if (g->trainer->between == g)
        g->trainer->between = NULL;
    ls__block_free(g->mean);
    free(g);
}

/* ------ running a pass ------ */

/* The memory of the devices' gradients is this computation's from now on. */
static void begin(ls_gradients *g, int state)
{
    g->state = state;
    g->added = 0;
    g->rows = 0;
    g->use = ++g->trainer->history.uses;
}

static ls__step step_of(ls_gradients *g, const ls__pass *pass,
                        const ls_batch *batch)
{
    const ls_trainer *t = g->trainer;

    LS__ASSERT(g->added >= 0 && g->added <= g->batches);
    return (ls__step){.trainer = g->trainer, .pass = pass, .batch = batch,
                      .before = g->added * t->micro,
                      .calls = g->batches * t->micro, .gradient = g->mean};
}

/* The result of what was reduced. */
static void keep_result(ls_gradients *g, ls__step *s)
{
    ls__verdict_result(s, &g->result);
    g->result.rows = g->rows;
    ls__step_conclude(s, &g->result);
    g->state = s->verdict == LS__NO_WEIGHT ? WEIGHTLESS : READY;
}

static int is_inside(void)
{
    return ls__fail(LS_EBUSY, "gradients: a step is between reduction and "
                    "update");
}

static int run(ls_gradients *g, ls__step *s)
{
    ls_trainer *t = g->trainer;
    int status;

    if ((status = ls__pool_take(t->pool)) < 0)
        return status;
    status = ls__step_run(s, s->batch ? ls__step_set_rows(s, NULL) : 0);
    g->rows += s->all;
    if (status == 0 && s->pass->updates)
        t->step++;
    else if (status == 0 && s->pass->reduces)
        keep_result(g, s);
    ls__pool_give(t->pool);
    return status;
}

/* ------ computing ------ */

int ls_gradients_compute_bytes(ls_gradients *g, const ls_batch *batch,
                               ls_result *result, size_t size)
{
    LS__NEED_AS(g, "gradients", LS_EINVAL);
    LS__NEED(batch);
    LS__NEED(result);

    ls__step s;
    int status;

    if (g->inside)
        return is_inside();
    begin(g, NOTHING);
    s = step_of(g, &compute, batch);
    if ((status = run(g, &s)) < 0)
        return status;
    ls__sized_put(result, size, &g->result, sizeof g->result);
    return 0;
}

static bool was_taken(const ls_gradients *g)
{
    return g->use != g->trainer->history.uses;
}

static int check_add(const ls_gradients *g)
{
    if (g->added && was_taken(g))
        return ls__fail(LS_EINVAL, "gradients: another step of the trainer has "
                        "taken the memory of the batches added up (%d)",
                        g->added);
    if (g->added >= g->batches)
        return ls__fail(LS_EINVAL, "gradients: %d batch%s added up, and there "
                        "is room for %d", g->added,
                        g->added == 1 ? " is" : "es are", g->batches);
    return 0;
}

int ls_gradients_add(ls_gradients *g, const ls_batch *batch)
{
    LS__NEED_AS(g, "gradients", LS_EINVAL);
    LS__NEED(batch);

    ls__step s;
    int status;

    if (g->inside)
        return is_inside();
    if (g->state != ADDING)
        begin(g, ADDING);
    if ((status = check_add(g)) < 0)
        return status;
    s = step_of(g, &add, batch);
    if ((status = run(g, &s)) < 0)
        begin(g, NOTHING);
    else
        g->added++;
    return status;
}

int ls_gradients_mean_bytes(ls_gradients *g, ls_result *result, size_t size)
{
    LS__NEED_AS(g, "gradients", LS_EINVAL);
    LS__NEED(result);

    ls__step s = step_of(g, &reduce, NULL);
    int status;

    if (g->inside)
        return is_inside();
    if (!g->added || g->state != ADDING)
        return ls__fail(LS_EINVAL, "gradients: no batch was added");
    if (was_taken(g))
        return check_add(g);
    if ((status = run(g, &s)) < 0)
        begin(g, NOTHING);
    else
        ls__sized_put(result, size, &g->result, sizeof g->result);
    return status;
}

void ls_gradients_clear(ls_gradients *g)
{
    LS__NEED_AS(g, "gradients", );
    begin(g, NOTHING);
    memset(g->mean, 0,
           (size_t)g->trainer->model.params.floats * sizeof *g->mean);
}

/* ------ reading and changing ------ */

static int copy_out(const ls_gradients *g, const float *from, const char *name,
                    int64_t n, float *out)
{
    int64_t at;
    int status = ls__params_place(&g->trainer->model.params, name, name, n,
                                  &at);

    if (status == 0)
        memcpy(out, from + at, (size_t)n * sizeof *out);
    return status;
}

int ls_gradients_get(const ls_gradients *g, const char *name, int64_t n,
                     float *out)
{
    LS__NEED_AS(g, "gradients", LS_EINVAL);
    LS__NEED(name);
    LS__NEED(out);
    return copy_out(g, g->mean, name, n, out);
}

int ls_gradients_get_device(const ls_gradients *g, int device,
                            const char *name, int64_t n, float *out)
{
    LS__NEED_AS(g, "gradients", LS_EINVAL);
    LS__NEED(name);
    LS__NEED(out);

    const ls_trainer *t = g->trainer;

    if (device < 0 || device >= t->devices.of)
        return ls__fail(LS_EINVAL, "gradients of device %d of %d, counted from "
                        "0", device, t->devices.of);
    if (g->use == 0 || was_taken(g))
        return ls__fail(LS_EINVAL, "gradients of device %d: none were computed "
                        "since the trainer's last step", device);
    return copy_out(g, t->grad.device[device], name, n, out);
}

int ls_gradients_set(ls_gradients *g, const char *name, int64_t n,
                     const float *values)
{
    LS__NEED_AS(g, "gradients", LS_EINVAL);
    LS__NEED(name);
    LS__NEED(values);

    const ls_trainer *t = g->trainer;
    const ls__params *p = &t->model.params;
    int64_t at;
    int status = ls__params_place(p, name, name, n, &at);

    if (status < 0)
        return status;
    if (t->trained.slot[ls__params_at(p, at) - p->slot])
        memcpy(g->mean + at, values, (size_t)n * sizeof *values);
    g->state = READY;
    return 0;
}

/* ------ updating ------ */

/* Adds an update's numbers to the result of the computation. */
static void tell_update(const ls_gradients *g, const ls__step *s, ls_result *r)
{
    *r = g->result;
    r->step = g->trainer->step - 1;
    r->lr = -s->rule.neg_lr;
    r->grad_norm = s->norm;
    r->updated = true;
    r->reduce_seconds += s->clock.took[LS__REDUCE];
    r->update_seconds = s->clock.took[LS__UPDATE];
}

static int update(ls_gradients *g, ls_result *result)
{
    ls__step s = step_of(g, &apply, NULL);
    int status;

    LS__ASSERT(g->state == READY && !g->inside);
    if ((status = ls__trainer_check_weights(g->trainer)) < 0)
        return status;
    s.in_hand = g->mean;
    s.gradient = g->trainer->grad.device[0];
    g->trainer->history.uses++; /* of that one */
    if ((status = run(g, &s)) < 0)
        return status;
    g->state = NOTHING;
    tell_update(g, &s, result);
    LS__TELL_HOOKS(&s, end, result);
    return 0;
}

static int update_by_mean(ls_gradients *g, ls_result *result)
{
    if (g->inside)
        return is_inside();
    switch (g->state) {
    case READY: return update(g, result);
    case WEIGHTLESS: g->state = NOTHING; *result = g->result; return 0;
    case ADDING: return ls__fail(LS_EINVAL, "gradients: %d batches were added "
                                 "up but not reduced to their mean", g->added);
    default: return ls__fail(LS_EINVAL, "gradients: nothing was computed or "
                             "set since the last update");
    }
}

int ls_gradients_apply_bytes(ls_gradients *g, ls_result *result, size_t size)
{
    LS__NEED_AS(g, "gradients", LS_EINVAL);
    LS__NEED(result);

    ls_result r;
    int status = update_by_mean(g, &r);

    if (status == 0)
        ls__sized_put(result, size, &r, sizeof r);
    return status;
}

/* ------ between reduction and update ------ */

int ls_gradients_between(ls_gradients *g, ls_gradients_fn *fn, void *user)
{
    LS__NEED_AS(g, "gradients", LS_EINVAL);

    ls_trainer *t = g->trainer;

    if (fn && t->between && t->between != g)
        return ls__fail(LS_EINVAL, "gradients: the trainer has a function "
                        "between reduction and update already");
    g->between = fn;
    g->user = user;
    if (fn || t->between == g)
        t->between = fn ? g : NULL;
    return 0;
}

static int call_between(ls_gradients *g)
{
    ls_result result = g->result;
    int status;

    g->inside = true;
    status = g->between(g->user, g, &result);
    g->inside = false;
    if (status >= 0)
        return 0;
    return ls__fail(LS_EUSER, "step %lld: the function between reduction and "
                    "update failed with status %d", (long long)result.step,
                    status);
}

int ls__gradients_step(ls_gradients *g, const ls_batch *batch,
                       ls_result *result)
{
    ls_result computed;
    int status = ls_gradients_compute(g, batch, &computed);

    if (status < 0 || (status = call_between(g)) < 0)
        return status;
    return ls_gradients_apply(g, result);
}
