/* SPDX-License-Identifier: BSD-3-Clause */
/* Measuring how training scales: the same training from the start, on a pool
 * of its own for each run, with all counts in turn so that what else happens on
 * the machine hits all of them alike.
 *
 * A count's numbers stand only when its runs end in the bytes of 1 worker's
 * run.  With weak scaling nobody wants to wait for 1 worker to train the rows
 * of 64: there the bytes after the first steps are compared, and later ones
 * with those of the count's own first run. */
#include "scale/scaling.h"
#include "scale/scaling_fail.h"
#include "scale/scaling_run.h"

#include <stdlib.h>
#include <string.h>

enum { REPEATS_MOST = 10000, STEPS_MOST = 1000000 };

/* ------ All of them ------ */

static outcome *of(const measurement *m, int point, int repeat)
{
    return &m->of[point * m->s->info.repeats + repeat];
}

static int verify(measurement *m, int i)
{
    scaling_point *p = &m->s->point[i];
    outcome want = *of(m, m->s->weak ? i : 0, 0);
    int status = 0;

    if (m->s->weak && i > 0 &&
        (status = scaling_reference(m, scaling_hands(p), &want)) < 0)
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
    scaling_point *p = &m->s->point[i];
    const rank_party *party = scaling_party(m, p);
    int status = 0, steps;

    if (party_has(party, m->o.transport))
        status = scaling_run_once(m, p, repeat == 0, of(m, i, repeat));
    if (status < 0 && party_link(party))
        return status;
    steps = m->steps ? m->steps : INT32_MAX;
    status = parties_meet(m->o.transport, status, &steps);
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
    scaling_point *p = &m->s->point[i];
    double rows = (double)p->rows / (double)of(m, 0, 0)->rows;
    double none = __builtin_nan("");

    for (int k = 0; k < m->s->info.repeats; k++)
        room[k] = rows * of(m, 0, k)->seconds / of(m, i, k)->seconds;
    p->speedup = median(room, m->s->info.repeats);
    p->speedup_least = room[0];
    p->speedup_most = room[m->s->info.repeats - 1];
    if (!p->verified)
        p->speedup = p->speedup_least = p->speedup_most = none;
    p->efficiency = p->speedup / scaling_hands(p);
}

static double rate(double amount, double seconds)
{
    return seconds > 0 ? amount / seconds : 0;
}

static void fill_point(const measurement *m, int i, double *room)
{
    scaling_point *p = &m->s->point[i];
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
        p->gradient_rate = rate(scaling_bytes(&m->s->info.work, p->rows),
                                p->max.gradients);
        p->reduce_rate = rate(m->s->info.work.reduce_bytes, p->max.reduce);
        p->update_rate = rate(m->s->info.work.update_bytes, p->max.update);
    }
    fill_speedup(m, i, room);
}

static int fill_all(const measurement *m)
{
    double *room = scaling_new((size_t)m->s->info.repeats, sizeof *room,
                               "repeats");

    if (!room)
        return LS_ENOMEM;
    for (int i = 0; i < m->s->points; i++)
        fill_point(m, i, room);
    free(room);
    m->s->info.steps = m->steps;
    scaling_advise(m->s);
    return 0;
}

/* ------ Counts ------ */

/* Each of several ranks has no use for more workers than devices. */
static int most_workers(const measurement *m, const rank_party *party)
{
    int devices = m->mesh.devices, cores = party->cores > 1 ? party->cores : 1;
    int most = (devices + party->ranks - 1) / party->ranks;

    return party->ranks > 1 && most > 0 && most < cores ? most : cores;
}

static void add_points(measurement *m, const rank_party *party, int *room)
{
    scaling_point *p = m->s->point + m->s->points;
    int n = count_all(room, m->o.n_workers, m->o.workers,
                      most_workers(m, party));

    for (int i = 0; i < n; i++)
        p[i] = (scaling_point){.workers = room[i], .ranks = party->ranks,
                                  .oversubscribed = room[i] > party->cores};
    m->s->points += n;
}

/* Makes them in rising order of ranks, then of workers. */
static int make_points(measurement *m)
{
    int status = parties_make(&m->party, &m->parties, &m->o);
    size_t most = (size_t)m->o.n_workers + DOUBLINGS;
    int *room;

    if (status < 0)
        return status;
    m->s->point = scaling_new((size_t)m->parties * most, sizeof *m->s->point,
                          "counts");
    room = scaling_new(most, sizeof *room, "counts");
    if (!m->s->point || !room) {
        free(room);
        return LS_ENOMEM;
    }
    for (int i = 0; i < m->parties; i++)
        add_points(m, &m->party[i], room);
    free(room);
    return 0;
}

/* Whoever asks has looked at the counts. */
static int check_options(const scaling_options *o)
{
    if (o->repeats <= REPEATS_MOST && o->steps <= STEPS_MOST)
        return 0;
    return scaling_fail(LS_EINVAL, "scaling: %d repeats (at most %d), %d steps "
                        "(at most %d)", o->repeats, REPEATS_MOST, o->steps,
                        STEPS_MOST);
}

static int make(measurement *m)
{
    scaling *s = scaling_new(1, sizeof *s, "scaling");
    int status;
    size_t runs;

    if (!(m->s = s))
        return LS_ENOMEM;
    s->weak = m->o.weak;
    s->info.repeats = m->o.repeats;
    m->o.mesh = &m->mesh;
    if ((status = make_points(m)) < 0)
        return status;
    runs = (size_t)s->points * (size_t)s->info.repeats;
    m->steps = m->o.steps;
    m->of = scaling_new(runs, sizeof *m->of, "runs");
    s->seconds = scaling_new(runs, sizeof *s->seconds, "runs");
    return m->of && s->seconds ? 0 : LS_ENOMEM;
}

/* Sends the first rank's findings to all of them. */
static int share(const measurement *m, int status)
{
    scaling *s = m->s;
    size_t points = (size_t)s->points;
    size_t runs = points * (size_t)s->info.repeats;
    const struct {
        void *data;
        size_t bytes;
    } all[] = {{&s->info, sizeof s->info}, {&s->cut, sizeof s->cut},
               {s->point, points * sizeof *s->point},
               {s->seconds, runs * sizeof *s->seconds},
               {s->advice, sizeof s->advice}};
    int none = 0;

    status = parties_meet(m->o.transport, status, &none);
    for (size_t i = 0; i < sizeof all / sizeof *all && status == 0; i++)
        status = parties_tell(m->o.transport, all[i].data, all[i].bytes);
    return status;
}

static int conclude(const measurement *m)
{
    return share(m, is_first(m) ? fill_all(m) : 0);
}

int scaling_run(scaling **found, const scaling_options *options)
{
    measurement m = {.o = *options, .mesh = *options->mesh};
    int status = check_options(&m.o);

    if (status < 0)
        return status;
    if ((status = make(&m)) == 0 && (status = run_all(&m)) == 0)
        status = conclude(&m);
    free(m.party);
    free(m.sample);
    free(m.of);
    if (status < 0)
        scaling_free(m.s);
    else
        *found = m.s;
    return status;
}

void scaling_free(scaling *s)
{
    if (!s)
        return;
    free(s->point);
    free(s->seconds);
    free(s);
}

double scaling_seconds(const scaling *s, int i, int repeat)
{
    if (i < 0 || i >= s->points || repeat < 0 || repeat >= s->info.repeats)
        return __builtin_nan("");
    return s->seconds[i * s->info.repeats + repeat];
}
