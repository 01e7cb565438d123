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
#include "scale/counts.h"
#include "scale/scaling_ranks.h"

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
    ls_mesh_options mesh; /* o.mesh, whole */
    ls__party *party;     /* rising counts of ranks */
    int parties;
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

/* Ranks that have to share cores go wherever one is free. */
static int open_pool(const measurement *m, const ls__party *party, int workers,
                     rig *r)
{
    ls_pool_options pool = ls_pool_defaults();
    ls_mesh_options o = m->mesh;
    int status;

    o.workers = workers;
    o.cpus = *party->cpus ? party->cpus : o.cpus;
    o.details = true; /* the copy roof asks for the caches */
    if ((status = ls_mesh_open(&r->mesh, &o)) < 0)
        return status;
    pool.pin_caller = party->cores > 0;
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

static int open_trainer(const measurement *m, const ls__party *party, int fold,
                        rig *r)
{
    int status = m->o.open_on
                     ? m->o.open_on(m->o.user, r->pool, fold,
                                    ls__party_link(party), &r->trainer,
                                    &r->batch)
                     : m->o.open(m->o.user, r->pool, fold, &r->trainer,
                                 &r->batch);

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

/* Not of several ranks: on one machine each would want the memory. */
static int measure_roofs(const measurement *m, const rig *r,
                         ls_scaling_point *p)
{
    int status;

    if (p->ranks > 1)
        return 0;
    m->s->cache = cache_bytes(r->mesh);
    if (m->o.no_roofs)
        return 0;
    status = ls_measure_products(r->pool, p->workers, m->o.precision,
                                 &p->flops_roof);
    return status < 0 ? status
                      : ls_measure_copy(r->pool, p->workers, &p->copy_roof);
}

static const ls__party *party_of(const measurement *m,
                                 const ls_scaling_point *p)
{
    const ls__party *party = m->party;

    while (party->ranks != p->ranks)
        party++;
    return party;
}

/* The first run of a count also looks at what does not change. */
static int run_once(measurement *m, ls_scaling_point *p, bool first,
                    outcome *out)
{
    const ls__party *party = party_of(m, p);
    int fold = m->s->weak ? ls__scaling_hands(p) : 1;
    rig r = {0};
    int status = open_pool(m, party, p->workers, &r);

    if (status == 0 && first)
        status = measure_roofs(m, &r, p);
    if (status == 0)
        status = open_trainer(m, party, fold, &r);
    if (status == 0)
        status = warm_up(m, &r, out);
    if (status == 0)
        status = time_steps(m, &r, out);
    if (status == 0 && first && p->ranks == 1)
        note_trainer(m, r.trainer);
    close_rig(&r);
    return status;
}

/* ------ All of them ------ */

/* What 1 worker makes of the rows of a count, in the first steps. */
static int reference(measurement *m, int fold, outcome *out)
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

static outcome *of(const measurement *m, int point, int repeat)
{
    return &m->of[point * m->s->info.repeats + repeat];
}

static int verify(measurement *m, int i)
{
    ls_scaling_point *p = &m->s->point[i];
    outcome want = *of(m, m->s->weak ? i : 0, 0);
    int status = 0;

    if (m->s->weak && i > 0 &&
        (status = reference(m, ls__scaling_hands(p), &want)) < 0)
        return status;
    p->verified = true;
    for (int k = 0; k < m->s->info.repeats; k++)
        if (strcmp(of(m, i, k)->warm, want.warm) != 0 ||
            strcmp(of(m, i, k)->state, want.state) != 0)
            p->verified = false;
    memcpy(p->state, of(m, i, m->s->info.repeats - 1)->state, sizeof p->state);
    return 0;
}

static bool is_first(const measurement *m)
{
    return !m->o.transport || m->o.transport->rank == 0;
}

/* Ranks that have no part in it wait; the first one's steps are everybody's.
 * One that fails in a run of several leaves, for it cannot know where the
 * others wait for it. */
static int run_and_meet(measurement *m, int i, int repeat)
{
    ls_scaling_point *p = &m->s->point[i];
    const ls__party *party = party_of(m, p);
    int status = 0, steps;

    if (ls__party_has(party, m->o.transport))
        status = run_once(m, p, repeat == 0, of(m, i, repeat));
    if (status < 0 && ls__party_link(party))
        return status;
    steps = m->steps ? m->steps : INT32_MAX;
    status = ls__parties_meet(m->o.transport, status, &steps);
    m->steps = steps;
    return status;
}

static int run_all(measurement *m)
{
    int runs = m->s->points * m->s->info.repeats, status = 0;

    for (int n = 0; n < runs && status == 0; n++) {
        int i = n % m->s->points;

        if (m->o.progress && is_first(m))
            m->o.progress(m->o.user, n, runs, m->s->point[i].workers);
        status = run_and_meet(m, i, n / m->s->points);
    }
    for (int i = 0; i < m->s->points && status == 0 && is_first(m); i++)
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
    p->efficiency = p->speedup / ls__scaling_hands(p);
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
    if (p->ranks == 1) { /* else these phases hold the messages too */
        p->gradient_rate = rate(ls__scaling_bytes(&m->s->info.work, p->rows),
                                p->max.gradients);
        p->reduce_rate = rate(m->s->info.work.reduce_bytes, p->max.reduce);
        p->update_rate = rate(m->s->info.work.update_bytes, p->max.update);
    }
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

/* Of several ranks none has use for more workers than it has devices. */
static int most_workers(const measurement *m, const ls__party *party)
{
    int devices = m->mesh.devices, cores = party->cores > 1 ? party->cores : 1;
    int most = (devices + party->ranks - 1) / party->ranks;

    return party->ranks > 1 && most > 0 && most < cores ? most : cores;
}

static void add_points(measurement *m, const ls__party *party, int *room)
{
    ls_scaling_point *p = m->s->point + m->s->points;
    int n = ls__counts(room, m->o.counts, m->o.count, most_workers(m, party));

    for (int i = 0; i < n; i++)
        p[i] = (ls_scaling_point){.workers = room[i], .ranks = party->ranks,
                                  .oversubscribed = room[i] > party->cores};
    m->s->points += n;
}

/* In rising order of ranks and then of workers. */
static int make_points(measurement *m)
{
    int status = ls__parties_make(&m->party, &m->parties, &m->o);
    size_t most = (size_t)m->o.counts + LS__DOUBLINGS;
    int *room;

    if (status < 0)
        return status;
    m->s->point = ls__new((size_t)m->parties * most, sizeof *m->s->point,
                          "counts");
    room = ls__new(most, sizeof *room, "counts");
    if (!m->s->point || !room) {
        free(room);
        return LS_ENOMEM;
    }
    for (int i = 0; i < m->parties; i++)
        add_points(m, &m->party[i], room);
    free(room);
    return 0;
}

static int check_options(const ls_scaling_options *o)
{
    if (!o->open_on && (!o->open || o->transport))
        return ls__fail(LS_EINVAL, "scaling: no function opens a trainer%s",
                        o->transport ? " of one of several ranks (open_on)"
                                     : "");
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
    m->o.mesh = &m->mesh;
    if ((status = make_points(m)) < 0)
        return status;
    runs = (size_t)s->points * (size_t)s->info.repeats;
    m->steps = m->o.steps;
    m->of = ls__new(runs, sizeof *m->of, "runs");
    s->seconds = ls__new(runs, sizeof *s->seconds, "runs");
    return m->of && s->seconds ? 0 : LS_ENOMEM;
}

/* What the first rank found, to all of them. */
static int share(const measurement *m, int status)
{
    ls_scaling *s = m->s;
    size_t points = (size_t)s->points;
    size_t runs = points * (size_t)s->info.repeats;
    const struct {
        void *data;
        size_t bytes;
    } all[] = {{&s->info, sizeof s->info}, {&s->cache, sizeof s->cache},
               {&s->cut, sizeof s->cut}, {s->point, points * sizeof *s->point},
               {s->seconds, runs * sizeof *s->seconds},
               {s->advice, sizeof s->advice}};
    int none = 0;

    status = ls__parties_meet(m->o.transport, status, &none);
    for (size_t i = 0; i < sizeof all / sizeof *all && status == 0; i++)
        status = ls__parties_tell(m->o.transport, all[i].data, all[i].bytes);
    return status;
}

static int conclude(const measurement *m)
{
    return share(m, is_first(m) ? fill_all(m) : 0);
}

int ls_scaling_run(ls_scaling **scaling, const ls_scaling_options *options)
{
    LS__NEED(scaling);
    LS__NEED(options);

    measurement m = {.o = defaults, .mesh = ls_mesh_defaults()};
    int status = ls__sized_take("scaling", &m.o, sizeof m.o, options);

    if (status < 0 || (status = check_options(&m.o)) < 0 ||
        (status = ls__sized_take("mesh", &m.mesh, sizeof m.mesh, m.o.mesh)) < 0)
        return status;
    if ((status = make(&m)) == 0 && (status = run_all(&m)) == 0)
        status = conclude(&m);
    free(m.party);
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
