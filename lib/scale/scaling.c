/* Measuring how training scales: the same training from the start, on a pool
 * of its own for each run, with all counts in turn so that what else happens on
 * the machine hits all of them alike.
 *
 * A count's numbers stand only when its runs end in the bytes of 1 worker's
 * run.  With weak scaling nobody wants to wait for 1 worker to train the rows
 * of 64: there the bytes after the first steps are compared, and later ones
 * with those of the count's own first run. */
#include "scale/scaling.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/sized.h"
#include "lockstep.h"

#include <stdlib.h>
#include <string.h>

enum {
    WARM = 3, /* steps of a run before the timed ones */
    REPEATS = 5,
    STEPS_LEAST = 5,
    STEPS_MOST = 10000,
    REPEATS_MOST = 10000
};
static const double RUN_SECONDS = 0.5;

typedef struct sample {
    double seconds; /* of a step */
    ls_times mean, max;
} sample;

/* What a run leaves. */
typedef struct outcome {
    char warm[65], state[65]; /* hashes after the first steps, and all */
    int64_t rows;
    double seconds;
    ls_times mean, max;
} outcome;

typedef struct measurement {
    ls_scaling_options o;
    ls_scaling *s;
    int steps;       /* 0: the first run will say */
    sample *sample;  /* [steps] */
    outcome *of;     /* [point * repeats + repeat] */
} measurement;

/* What a run opens. */
typedef struct rig {
    ls_mesh *mesh;
    ls_pool *pool;
    ls_trainer *trainer;
    ls_batch *batch;
} rig;

static const ls_scaling_options defaults = {.size = sizeof defaults};

void ls_scaling_defaults_sized(ls_scaling_options *options, size_t size)
{
    LS__NEED_OR(options, );
    ls__sized_defaults(options, size, &defaults, sizeof defaults);
}

/* ------ A run ------ */

static void close_rig(rig *r)
{
    ls_batch_close(r->batch);
    ls_trainer_close(r->trainer);
    ls_pool_close(r->pool);
    ls_mesh_close(r->mesh);
}

static int open_mesh(const ls_scaling_options *options, int workers,
                     ls_mesh **mesh)
{
    ls_mesh_options o = ls_mesh_defaults();
    int status = ls__sized_take("mesh", &o, sizeof o, options->mesh);

    if (status < 0)
        return status;
    o.workers = workers;
    o.details = true; /* the copy roof asks for the caches */
    return ls_mesh_open(mesh, &o);
}

static int open_pool(const measurement *m, int workers, rig *r)
{
    ls_pool_options pool = ls_pool_defaults();
    int status = open_mesh(&m->o, workers, &r->mesh);

    if (status < 0)
        return status;
    pool.pin_caller = true;
    return ls_pool_open(&r->pool, r->mesh, m->o.pool ? m->o.pool : &pool);
}

static double cache_bytes(const ls_mesh *mesh)
{
    ls_level l;

    for (int i = 0; ls_mesh_level(mesh, i, &l); i++)
        if (!strcmp(l.name, "L3"))
            return (double)l.most * l.count;
    return 0;
}

static int open_trainer(const measurement *m, int fold, rig *r)
{
    int status = m->o.open(m->o.user, r->pool, fold, &r->trainer, &r->batch);

    if (status < 0)
        return status;
    if (!r->trainer || !r->batch)
        return ls__fail(LS_EUSER, "scaling: no trainer or no batch was opened");
    return ls_trainer_clock(r->trainer);
}

static int step(const measurement *m, const rig *r, ls_result *result)
{
    int status = 0;

    if (m->o.fill)
        status = m->o.fill(m->o.user, ls_trainer_step(r->trainer),
                           r->batch);
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

/* Of the last step: what any worker did in it, and waited. */
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
    double x = ((const sample *)a)->seconds, y = ((const sample *)b)->seconds;

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

/* So many steps that a run takes RUN_SECONDS. */
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
        m->sample = ls__new((size_t)m->steps, sizeof *m->sample, "samples");
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

/* What of the parameters is cut, and so updated by all workers. */
static double cut_share(const ls_trainer *t)
{
    double cut = 0, all = 0;

    for (int i = 0; i < ls_trainer_params(t); i++) {
        int64_t shape[LS_MAX_RANK];
        int rank = ls_trainer_param_shape(t, i, shape);
        double size = (double)ls__count(rank, shape);

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
    if (m->o.row_flops > 0)
        m->s->info.work.row_flops = m->o.row_flops;
}

static int measure_roofs(const measurement *m, const rig *r,
                         ls_scaling_point *p)
{
    int status;

    m->s->cache = cache_bytes(r->mesh);
    p->oversubscribed = p->workers > ls_mesh_usable_cores(r->mesh);
    if (m->o.no_roofs)
        return 0;
    status = ls_measure_products(r->pool, p->workers, m->o.precision,
                                 &p->flops_roof);
    return status < 0 ? status
                      : ls_measure_copy(r->pool, p->workers, &p->copy_roof);
}

/* The first run of a count also looks at what does not change. */
static int run_once(measurement *m, ls_scaling_point *p, bool first,
                    outcome *out)
{
    int fold = m->s->weak ? p->workers : 1;
    rig r = {0};
    int status = open_pool(m, p->workers, &r);

    if (status == 0 && first)
        status = measure_roofs(m, &r, p);
    if (status == 0)
        status = open_trainer(m, fold, &r);
    if (status == 0)
        status = warm_up(m, &r, out);
    if (status == 0)
        status = time_steps(m, &r, out);
    if (status == 0 && first)
        note_trainer(m, r.trainer);
    close_rig(&r);
    return status;
}

/* ------ All of them ------ */

/* What 1 worker makes of the rows of a count, in the first steps. */
static int reference(measurement *m, int fold, outcome *out)
{
    rig r = {0};
    int status = open_pool(m, 1, &r);

    if (status == 0)
        status = open_trainer(m, fold, &r);
    if (status == 0)
        status = warm_up(m, &r, out);
    close_rig(&r);
    return status;
}

static outcome *of(const measurement *m, int point, int repeat)
{
    return &m->of[point * m->s->info.repeats + repeat];
}

static int verify(measurement *m, int i)
{
    ls_scaling_point *p = &m->s->point[i];
    outcome want = *of(m, m->s->weak ? i : 0, 0);
    int status = 0;

    if (m->s->weak && p->workers > 1 &&
        (status = reference(m, p->workers, &want)) < 0)
        return status;
    p->verified = true;
    for (int k = 0; k < m->s->info.repeats; k++)
        if (strcmp(of(m, i, k)->warm, want.warm) != 0 ||
            strcmp(of(m, i, k)->state, want.state) != 0)
            p->verified = false;
    memcpy(p->state, of(m, i, m->s->info.repeats - 1)->state, sizeof p->state);
    return 0;
}

static int run_all(measurement *m)
{
    int runs = m->s->points * m->s->info.repeats, status = 0;

    for (int n = 0; n < runs && status == 0; n++) {
        int i = n % m->s->points, repeat = n / m->s->points;

        if (m->o.progress)
            m->o.progress(m->o.user, n, runs, m->s->point[i].workers);
        status = run_once(m, &m->s->point[i], repeat == 0, of(m, i, repeat));
    }
    for (int i = 0; i < m->s->points && status == 0; i++)
        status = verify(m, i);
    return status;
}

/* ------ What the runs say together ------ */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Sorts x. */
static double median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, by_value);
    return (x[(n - 1) / 2] + x[n / 2]) / 2;
}

/* The run that took p->seconds. */
static const outcome *middle(const measurement *m, int i)
{
    int k = 0;

    while (of(m, i, k)->seconds != m->s->point[i].seconds)
        k++;
    return of(m, i, k);
}

static void fill_speedup(const measurement *m, int i, double *room)
{
    ls_scaling_point *p = &m->s->point[i];
    double rows = (double)p->rows / (double)of(m, 0, 0)->rows;
    double none = __builtin_nan("");

    for (int k = 0; k < m->s->info.repeats; k++)
        room[k] = rows * of(m, 0, k)->seconds / of(m, i, k)->seconds;
    p->speedup = median(room, m->s->info.repeats);
    p->speedup_least = room[0];
    p->speedup_most = room[m->s->info.repeats - 1];
    if (!p->verified)
        p->speedup = p->speedup_least = p->speedup_most = none;
    p->efficiency = p->speedup / p->workers;
}

static double rate(double amount, double seconds)
{
    return seconds > 0 ? amount / seconds : 0;
}

static void fill_point(const measurement *m, int i, double *room)
{
    ls_scaling_point *p = &m->s->point[i];
    const outcome *typical;

    p->rows = of(m, i, 0)->rows;
    for (int k = 0; k < m->s->info.repeats; k++)
        room[k] = of(m, i, k)->seconds;
    memcpy(m->s->seconds + i * m->s->info.repeats, room,
           (size_t)m->s->info.repeats * sizeof *room);
    qsort(room, (size_t)m->s->info.repeats, sizeof *room, by_value);
    p->seconds = room[(m->s->info.repeats - 1) / 2]; /* a run, whose phases can
                                                        be shown */
    p->least = room[0];
    p->most = room[m->s->info.repeats - 1];
    typical = middle(m, i);
    p->mean = typical->mean;
    p->max = typical->max;
    p->flops = rate(m->s->info.work.row_flops * (double)p->rows, p->seconds);
    p->reduce_rate = rate(m->s->info.work.reduce_bytes, p->max.reduce);
    p->update_rate = rate(m->s->info.work.update_bytes, p->max.update);
    fill_speedup(m, i, room);
}

static int fill_all(const measurement *m)
{
    double *room = ls__new((size_t)m->s->info.repeats, sizeof *room, "repeats");

    if (!room)
        return LS_ENOMEM;
    for (int i = 0; i < m->s->points; i++)
        fill_point(m, i, room);
    free(room);
    m->s->info.steps = m->steps;
    ls__scaling_advise(m->s);
    return 0;
}

/* ------ Counts ------ */

static int usable_cores(const ls_scaling_options *options, int *cores)
{
    ls_mesh *mesh;
    int status = open_mesh(options, 1, &mesh);

    if (status == 0) {
        *cores = ls_mesh_usable_cores(mesh);
        ls_mesh_close(mesh);
    }
    return status;
}

/* Into rising order, once each. */
static void insert(ls_scaling *s, int workers)
{
    int i = s->points;

    for (int k = 0; k < s->points; k++)
        if (s->point[k].workers == workers)
            return;
    for (; i > 0 && s->point[i - 1].workers > workers; i--)
        s->point[i] = s->point[i - 1];
    s->point[i] = (ls_scaling_point){.workers = workers};
    s->points++;
}

static int make_points(ls_scaling *s, const ls_scaling_options *o)
{
    enum { DOUBLINGS = 32 };
    int cores = 1, status = 0;

    if (o->counts == 0 && (status = usable_cores(o, &cores)) < 0)
        return status;
    s->point = ls__new((size_t)(o->counts + DOUBLINGS), sizeof *s->point,
                       "worker counts");
    if (!s->point)
        return LS_ENOMEM;
    insert(s, 1);
    for (int i = 0; i < o->counts; i++)
        insert(s, o->count[i]);
    for (int w = 2; w < cores; w *= 2)
        insert(s, w);
    insert(s, cores);
    return 0;
}

static int check_options(const ls_scaling_options *o)
{
    if (!o->open)
        return ls__fail(LS_EINVAL, "scaling: no function opens a trainer");
    if (o->counts < 0 || o->counts > 65536 || (o->counts && !o->count) ||
        o->repeats < 0 || o->repeats > REPEATS_MOST || o->steps < 0 ||
        o->steps > 1000000)
        return ls__fail(LS_EINVAL, "scaling: %d counts, %d repeats (0 to %d), "
                        "%d steps (0 to 1000000)", o->counts, o->repeats,
                        REPEATS_MOST, o->steps);
    for (int i = 0; i < o->counts; i++)
        if (o->count[i] < 1 || o->count[i] > 65536)
            return ls__fail(LS_EINVAL, "scaling: %d workers: there must be 1 "
                            "to 65536", o->count[i]);
    return 0;
}

static int make(measurement *m)
{
    ls_scaling *s = ls__new(1, sizeof *s, "scaling");
    int status;
    size_t runs;

    if (!(m->s = s))
        return LS_ENOMEM;
    s->weak = m->o.weak;
    s->info.repeats = m->o.repeats ? m->o.repeats : REPEATS;
    if ((status = make_points(s, &m->o)) < 0)
        return status;
    runs = (size_t)s->points * (size_t)s->info.repeats;
    m->steps = m->o.steps;
    m->of = ls__new(runs, sizeof *m->of, "runs");
    s->seconds = ls__new(runs, sizeof *s->seconds, "runs");
    return m->of && s->seconds ? 0 : LS_ENOMEM;
}

int ls_scaling_run(ls_scaling **scaling, const ls_scaling_options *options)
{
    LS__NEED(scaling);
    LS__NEED(options);

    measurement m = {.o = defaults};
    int status = ls__sized_take("scaling", &m.o, sizeof m.o, options);

    if (status < 0 || (status = check_options(&m.o)) < 0)
        return status;
    if ((status = make(&m)) == 0 && (status = run_all(&m)) == 0)
        status = fill_all(&m);
    free(m.sample);
    free(m.of);
    if (status < 0)
        ls_scaling_free(m.s);
    else
        *scaling = m.s;
    return status;
}

void ls_scaling_free(ls_scaling *s)
{
    if (!s)
        return;
    free(s->point);
    free(s->seconds);
    free(s);
}

/* ------ Asking ------ */

bool ls_scaling_get_sized(const ls_scaling *s, int i, ls_scaling_point *point,
                          size_t size)
{
    LS__NEED_AS(s, "scaling", false);
    LS__NEED_OR(point, false);
    if (i < 0 || i >= s->points)
        return false;
    ls__sized_put(point, size, &s->point[i], sizeof *point);
    return true;
}

double ls_scaling_seconds(const ls_scaling *s, int i, int repeat)
{
    LS__NEED_AS(s, "scaling", __builtin_nan(""));
    if (i < 0 || i >= s->points || repeat < 0 || repeat >= s->info.repeats)
        return __builtin_nan("");
    return s->seconds[i * s->info.repeats + repeat];
}

void ls_scaling_ask_sized(const ls_scaling *s, ls_scaling_info *info,
                          size_t size)
{
    LS__NEED_AS(s, "scaling", );
    LS__NEED_OR(info, );
    ls__sized_put(info, size, &s->info, sizeof *info);
}

const char *ls_scaling_advice(const ls_scaling *s)
{
    LS__NEED_AS(s, "scaling", "");
    return s->advice;
}
