/* SPDX-License-Identifier: BSD-3-Clause */
/* A device's gradient: the worker that computes it, and its memory. */
#include "train/device.h"
#include "base/assert.h"
#include "base/clock.h"
#include "plan/team.h"
#include "pool/pool.h"

#include <stdlib.h>
#include <string.h>

static int open_context(ls__context **context, const ls_trainer *t,
                        const ls__plan *plan, int device)
{
    int status = ls__context_open(context, plan);

    if (status == 0 && t->source.team)
        status = ls__context_join(*context, t->source.team[device]);
    return status;
}

/* The memory in which a plan runs: one for each worker, under every device here
 * that it computes, or, for joint devices, one for each of them.  After a
 * failure those that were opened are there; closing accepts NULL, also in the
 * array. */
static int open_contexts(ls__context **context, const ls_trainer *t,
                         const ls__plan *plan)
{
    int status = 0;

    for (int w = 0; w < t->workers && status == 0; w++) {
        int first, last;

        ls__pool_shards_of(t->pool, t->devices.count, w, &first, &last);
        for (int d = first; d < last && status == 0; d++)
            if (d == first || plan->surveys.meet)
                status = open_context(&context[d], t, plan, d);
            else
                context[d] = context[first];
    }
    return status;
}

static void close_contexts(ls__context **context, int devices)
{
    for (int d = 0; context && d < devices; d++)
        if (d == 0 || context[d] != context[d - 1])
            ls__context_close(context[d]);
}

/* ------ another plan ------ */

int ls__beside_open(ls__beside *b, const ls_trainer *t, ls__purpose purpose,
                    const bool *frozen)
{
    const ls__plan *own = t->model.plan;
    int status = ls__plan_new(&b->plan, t->model.graph, &own->backend, purpose,
                              frozen);
    size_t bytes;

    if (status < 0)
        return status;
    memcpy(b->plan->streams.draw, own->streams.draw,
           (size_t)own->streams.n * sizeof *own->streams.draw);
    bytes = (size_t)b->plan->packs.floats * sizeof(float);
    b->devices = t->devices.count;
    b->weights.of = t->model.weights.of;
    b->context = ls__new((size_t)b->devices, sizeof *b->context, "contexts");
    if (!b->context ||
        (bytes && !(b->weights.packed = ls__block(bytes, "packed weights"))))
        return LS_ENOMEM;
    return open_contexts(b->context, t, b->plan);
}

void ls__beside_close(ls__beside *b)
{
    close_contexts(b->context, b->devices);
    ls__block_free(b->weights.packed);
    ls__plan_free(b->plan);
    free(b->context);
}

void ls__beside_pack(const ls__beside *b, const ls_trainer *t, int worker)
{
    ls__copies_pack(&t->copies, worker, true);
    ls__exec_pack(b->plan, &b->weights, worker, t->workers, true);
}

/* ------ teams ------ */

/* The member of a device's team that a worker is; the device's own is 0. */
static int member_of(const ls_trainer *t, int device, int worker)
{
    int member = ls__pool_worker_of(t->pool, t->devices.count, device) - worker;

    LS__ASSERT(member >= 0 && member < t->workers + 1);
    return member;
}

/* Workers between one that has a device and the next are of the latter's
 * team. */
static int members_of(const ls_trainer *t, int device)
{
    int before = device == 0 ? -1 : ls__pool_worker_of(
                     t->pool, t->devices.count, device - 1);

    return member_of(t, device, before);
}

/* One for each worker that has devices, which are all given it. */
static int open_teams(ls_trainer *t)
{
    int n = t->devices.count, status = 0;
    ls__team **team;

    if (t->workers == 1 || !t->model.plan->loose)
        return 0;
    t->source.team = team = ls__arena_new(&t->arena, (size_t)n, sizeof *team);
    if (!team)
        return LS_ENOMEM;
    for (int d = 0; d < n && status == 0; d++)
        if (d > 0 && members_of(t, d) == 0)
            team[d] = team[d - 1];
        else
            status = ls__team_open(&team[d], t->pool, members_of(t, d));
    return status;
}

/* The team of a device's worker in this step; NULL: there is none. */
static ls__team *team_of(const ls__step *s, int device)
{
    ls__team **team = s->trainer->source.team;

    return team && !s->checked ? team[device] : NULL;
}

void ls__device_gather(const ls__step *s, int device)
{
    ls__team_gather(team_of(s, device), s->trainer->model.plan, s->rows);
}

void ls__device_dismiss(const ls__step *s, int device)
{
    ls__team_dismiss(team_of(s, device));
}

void ls__device_help(const ls__step *s, int worker, int device,
                     const char *phase)
{
    const ls_trainer *t = s->trainer;
    ls__team *team = team_of(s, device);

    if (!team)
        return;
    ls__track_phase(ls__track_here(), phase, t->devices.first + device);
    ls__team_help(team, member_of(t, device, worker));
}

void ls__device_steal(const ls__step *s, int worker, int device,
                      ls__lap_kind lap)
{
    const ls_trainer *t = s->trainer;
    int member = member_of(t, device, worker);
    double began;

    if (!team_of(s, device))
        return;
    began = s->notes.lap ? ls__seconds() : 0;
    ls__track_phase(ls__track_here(), "work stealing", -1);
    ls__team_steal(t->source.team, t->devices.count, device,
                   ls__context_memory(t->source.context[device], member) +
                       t->model.plan->memory.scratch);
    if (s->notes.lap)
        s->notes.lap[worker].busy[lap] -= ls__seconds() - began;
}

/* ------ opening ------ */

int ls__devices_open(ls_trainer *t)
{
    int status;

    if (!t->model.plan)
        return 0;
    if ((status = open_teams(t)) < 0)
        return status;
    t->source.context = ls__arena_new(&t->arena, (size_t)t->devices.count,
                                      sizeof *t->source.context);
    if (!t->source.context)
        return LS_ENOMEM;
    return open_contexts(t->source.context, t, t->model.plan);
}

/* The number of gradients yet to be added. */
static int laters(const ls_trainer *t)
{
    return t->joint ? t->devices.count : t->workers;
}

void ls__devices_close(ls_trainer *t)
{
    ls__team **team = t->source.team;

    close_contexts(t->source.context, t->devices.count);
    for (int d = 0; team && d < t->devices.count; d++)
        if (d == 0 || team[d] != team[d - 1])
            ls__team_close(team[d]);
    for (int w = 0; t->grad.later && w < laters(t); w++)
        ls__block_free(t->grad.later[w]);
}

int ls__devices_reserve(const ls__step *s)
{
    const ls_trainer *t = s->trainer;
    ls__context **context = s->pass->train ? t->source.context : NULL;
    int status = 0;

    for (int d = 0; context && d < t->devices.count && status == 0; d++)
        status = ls__context_reserve(context[d], s->rows);
    return status;
}

/* ------ gradients that are added ------ */

int ls__device_later(const ls_trainer *t, int worker, int device)
{
    return t->joint ? device : worker;
}

/* The first touch places the pages. */
static void touch_later(void *user, int worker)
{
    ls_trainer *t = user;
    int first = worker, last = worker + 1;

    if (t->joint)
        ls__pool_shards_of(t->pool, t->devices.count, worker, &first, &last);
    for (int i = first; i < last; i++)
        ls__trained_zero(&t->trained, t->grad.later[i]);
}

static void point_at_later(ls_trainer *t)
{
    const ls__params *p = &t->model.params;

    for (int w = 0; w < laters(t); w++)
        for (int i = 0; i < p->count; i++)
            t->grad.later_param[w * p->count + i] =
                ls__trainer_leaves_out(t, i)
                    ? NULL
                    : t->grad.later[w] + ls__params_declared(p, i)->offset;
}

static bool has_later(const ls_trainer *t)
{
    return t->grad.later && t->grad.later[laters(t) - 1];
}

int ls__devices_make_later(ls_trainer *t)
{
    size_t n = (size_t)t->model.params.count, w = (size_t)laters(t);

    if (has_later(t))
        return 0;
    if (!t->grad.later_param)
        t->grad.later_param =
            ls__arena_new(&t->arena, n * w, sizeof *t->grad.later_param);
    if (!t->grad.later)
        t->grad.later = ls__arena_new(&t->arena, w, sizeof *t->grad.later);
    if (!t->grad.later || !t->grad.later_param)
        return LS_ENOMEM;
    LS__ASSERT(w > 0);
    for (size_t i = 0; i < w; i++)
        if (!t->grad.later[i] &&
            !(t->grad.later[i] =
                  ls__trained_block(&t->trained, t->model.params.floats,
                                    "gradient to be added")))
            return LS_ENOMEM;
    point_at_later(t);
    ls__pool_run(t->pool, touch_later, t);
    return 0;
}

/* ------ running ------ */

/* A device without rows: its gradient is zeros, and no label was wrong. */
int ls__device_nothing(const ls__model *m, float *const *grads, ls_sums *sums)
{
    for (int i = 0; grads && i < m->params.count; i++)
        if (grads[i])
            memset(grads[i], 0, sizeof **grads *
                   (size_t)ls__params_declared(&m->params, i)->size);
    sums->correct = 0;
    return 0;
}

const ls__weights *ls__device_weights(const ls_trainer *t, int device)
{
    int worker = ls__pool_worker_of(t->pool, t->devices.count, device);

    return &t->copies.of[worker];
}

ls__context *ls__device_context(const ls_trainer *t, int device)
{
    return t->source.context ? t->source.context[device] : NULL;
}

int ls__device_run(const ls_trainer *t, ls__context *context, int device,
                   const ls_shard *shard, float *const *grads, ls_sums *sums)
{
    const ls__model *m = &t->model;
    int status;

    if (shard->rows == 0) {
        if (context)
            ls__context_clear(context);
        return ls__device_nothing(m, grads, sums);
    }
    status = context ? ls__exec_gradient(context, ls__device_weights(t, device),
                                         shard, grads, sums)
                     : t->source.fn(t->source.user, device, shard,
                                    m->weights.of, grads, sums);
    if (grads)
        ls__trained_clear(&t->trained, &m->params, grads);
    return status;
}

ls_shard ls__device_row(const ls_trainer *t, const ls_shard *all, int64_t row,
                        const void **data)
{
    ls_shard one = *all;

    LS__ASSERT(row >= 0 && row < all->rows);
    for (int i = 0; i < t->model.inputs; i++)
        data[i] = (const char *)all->data[i] +
                  4 * row * t->model.input[i].size;
    one.data = data;
    one.rows = 1;
    one.weights = all->weights ? all->weights + row : NULL;
    one.first += row;
    one.row += row;
    return one;
}

int ls__device_failed(const ls__context *context)
{
    const ls_node *n = context ? ls__context_failed(context) : NULL;

    return n ? n->id : -1;
}

/* ------ what it reports ------ */

void ls__sums_add(ls_sums *total, const ls_sums *sums, int metrics)
{
    total->loss += sums->loss;
    total->weight += sums->weight;
    total->correct += sums->correct;
    for (int i = 0; i < metrics; i++) {
        total->metric[i].sum += sums->metric[i].sum;
        total->metric[i].weight += sums->metric[i].weight;
    }
}

ls__report *ls__step_report_of(const ls__step *s, int device)
{
    LS__ASSERT(device >= 0 && device < s->trainer->devices.count);
    return &s->notes.report[s->trainer->devices.first + device];
}

void ls__step_report(const ls__step *s, ls__report *report)
{
    report->step = s->trainer->step;
    report->rows = s->all;
    report->lr = s->trainer->lr;
    report->asks = s->query.asks;
    report->refused = s->refused;
    report->status = LS__ENDED;
    report->diverged = false;
}
