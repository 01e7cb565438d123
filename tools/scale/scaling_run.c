/* SPDX-License-Identifier: BSD-3-Clause */
/* A run of a measurement: a pool, a trainer, and the times of its steps. */
#include "scale/scaling_run.h"
#include "opt/cores.h"
#include "scale/scaling_fail.h"

#include <stdlib.h>
#include <string.h>

enum {
    WARM = 3, /* steps of a run before the timed ones */
    STEPS_LEAST = 5,
    STEPS_MOST = 10000
};
static const double RUN_SECONDS = 0.5;

struct sample {
    double seconds; /* of a step */
    ls_times mean, max;
};

/* Everything that a run opens. */
typedef struct rig {
    ls_mesh *mesh;
    ls_pool *pool;
    ls_trainer *trainer;
    ls_batch *batch;
} rig;

static void close_rig(rig *r)
{
    ls_batch_close(r->batch);
    ls_trainer_close(r->trainer);
    ls_pool_close(r->pool);
    ls_mesh_close(r->mesh);
}

/* Ranks that have to share cores go wherever one is free. */
static int open_pool(const measurement *m, const rank_party *party,
                     int workers, rig *r)
{
    ls_pool_options pool = ls_pool_defaults();
    ls_mesh_options o = m->mesh;
    int status;

    o.workers = workers;
    o.cpus = *party->cpus ? party->cpus : o.cpus;
    o.pin = true;
    o.details = true; /* the copy roof asks for the caches */
    if ((status = ls_mesh_open(&r->mesh, &o)) < 0)
        return status;
    pool.pin_caller = party->cores > 0;
    return ls_pool_open(&r->pool, r->mesh, m->o.pool ? m->o.pool : &pool);
}

static int open_trainer(const measurement *m, const rank_party *party,
                        int fold, rig *r)
{
    int status = m->o.open(m->o.user, r->pool, fold, party_link(party),
                           &r->trainer, &r->batch);

    return status < 0 ? status : ls_trainer_clock(r->trainer);
}

static int step(const measurement *m, const rig *r, ls_result *result)
{
    int status = m->o.fill(m->o.user, ls_trainer_step(r->trainer), r->batch);

    return status < 0 ? status : ls_step(r->trainer, r->batch, result);
}

static void note_max(double *max, double x)
{
    *max = x > *max ? x : *max;
}

static void add_times(ls_times *sum, const ls_times *t, double by)
{
    sum->gradients += by * t->gradients;
    sum->reduce += by * t->reduce;
    sum->update += by * t->update;
    sum->waiting += by * t->waiting;
}

/* Returns what any worker did in the last step, and waited. */
static double step_seconds(const ls_trainer *t)
{
    ls_times one = {0};

    (void)ls_trainer_times(t, 0, &one);
    return one.gradients + one.reduce + one.update + one.waiting;
}

static void take_sample(const rig *r, sample *out)
{
    const ls_trainer *t = r->trainer;
    int workers = ls_pool_workers(r->pool);
    ls_times one;

    *out = (sample){.seconds = step_seconds(t)};
    for (int w = 0; w < workers && ls_trainer_times(t, w, &one) == 0; w++) {
        add_times(&out->mean, &one, 1.0 / workers);
        note_max(&out->max.gradients, one.gradients);
        note_max(&out->max.reduce, one.reduce);
        note_max(&out->max.update, one.update);
        note_max(&out->max.waiting, one.waiting);
    }
}

static int by_seconds(const void *a, const void *b)
{
    double x = ((const sample *)a)->seconds;
    double y = ((const sample *)b)->seconds;

    return (x > y) - (x < y);
}

/* The means of the fifth of all steps around the median one, so that the phases
 * add up to the step. */
static void summarise(sample *all, int n, outcome *out)
{
    int first = n * 2 / 5, last = n - first;

    qsort(all, (size_t)n, sizeof *all, by_seconds);
    out->seconds = 0;
    out->mean = out->max = (ls_times){0};
    for (int i = first; i < last; i++) {
        out->seconds += all[i].seconds / (last - first);
        add_times(&out->mean, &all[i].mean, 1.0 / (last - first));
        add_times(&out->max, &all[i].max, 1.0 / (last - first));
    }
}

/* The number of steps that take a run RUN_SECONDS. */
static int choose_steps(double seconds)
{
    double n = seconds > 0 ? RUN_SECONDS / seconds : STEPS_MOST;

    return n < STEPS_LEAST ? STEPS_LEAST : n > STEPS_MOST ? STEPS_MOST : (int)n;
}

static int make_samples(measurement *m, const ls_trainer *t)
{
    if (!m->steps)
        m->steps = choose_steps(step_seconds(t));
    if (!m->sample)
        m->sample = scaling_new((size_t)m->steps, sizeof *m->sample, "samples");
    return m->sample ? 0 : LS_ENOMEM;
}

static int warm_up(const measurement *m, const rig *r, outcome *out)
{
    ls_result result;
    int status = 0;

    for (int i = 0; i < WARM && status == 0; i++)
        if ((status = step(m, r, &result)) == 0)
            out->rows = result.rows;
    if (status == 0)
        ls_trainer_hash(r->trainer, out->warm);
    return status;
}

static int time_steps(measurement *m, const rig *r, outcome *out)
{
    ls_result result;
    int status = make_samples(m, r->trainer);

    for (int i = 0; i < m->steps && status == 0; i++)
        if ((status = step(m, r, &result)) == 0)
            take_sample(r, &m->sample[i]);
    if (status < 0)
        return status;
    summarise(m->sample, m->steps, out);
    ls_trainer_hash(r->trainer, out->state);
    return 0;
}

/* A parameter is updated by its owners, or by those of its moments. */
static bool is_cut(const ls_trainer *t, const char *name)
{
    int of_params = -1, of_moments = -1;

    (void)ls_state_axis(t, LS_STATE_PARAMS, name, &of_params);
    (void)ls_state_axis(t, LS_STATE_OPTIMIZER, name, &of_moments);
    return of_params >= 0 || of_moments >= 0;
}

/* The share of the parameters that is cut, and so updated by all workers. */
static double cut_share(const ls_trainer *t)
{
    double cut = 0, all = 0;

    for (int i = 0; i < ls_trainer_params(t); i++) {
        int64_t shape[LS_MAX_RANK];
        int rank = ls_trainer_param_shape(t, i, shape);
        double size = 1;

        while (rank > 0)
            size *= (double)shape[--rank];
        all += size;
        cut += is_cut(t, ls_trainer_param_name(t, i)) ? size : 0;
    }
    return all > 0 ? cut / all : 0;
}

static void note_trainer(measurement *m, const ls_trainer *t)
{
    m->s->info.devices = ls_trainer_devices(t);
    m->s->cut = cut_share(t);
    ls_trainer_work(t, &m->s->info.work);
}

/* Not of several ranks: on one machine each would want the memory. */
static int measure_roofs(const measurement *m, const rig *r,
                         scaling_point *p)
{
    int status;

    if (p->ranks > 1 || m->o.no_roofs)
        return 0;
    status = ls_measure_products(r->pool, p->workers, m->o.precision,
                                 &p->flops_roof);
    return status < 0 ? status
                      : ls_measure_copy(r->pool, p->workers, &p->copy_roof);
}

const rank_party *scaling_party(const measurement *m,
                                   const scaling_point *p)
{
    const rank_party *party = m->party;

    while (party->ranks != p->ranks)
        party++;
    return party;
}

int scaling_run_once(measurement *m, scaling_point *p, bool first,
                         outcome *out)
{
    const rank_party *party = scaling_party(m, p);
    int fold = m->s->weak ? scaling_hands(p) : 1;
    rig r = {0};
    int status = open_pool(m, party, p->workers, &r);

    if (status == 0)
        status = open_trainer(m, party, fold, &r);
    if (status == 0)
        status = warm_up(m, &r, out);
    if (status == 0)
        status = time_steps(m, &r, out);
    if (status == 0 && first && p->ranks == 1)
        note_trainer(m, r.trainer);
    if (status == 0 && first) /* last: what is wrong is found in no time */
        status = measure_roofs(m, &r, p);
    close_rig(&r);
    return status;
}

int scaling_reference(measurement *m, int fold, outcome *out)
{
    rig r = {0};
    int status = open_pool(m, m->party, 1, &r);

    if (status == 0)
        status = open_trainer(m, m->party, fold, &r);
    if (status == 0)
        status = warm_up(m, &r, out);
    close_rig(&r);
    return status;
}
