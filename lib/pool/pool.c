/* SPDX-License-Identifier: BSD-3-Clause */
/* The thread pool: pinned workers, and who may use them when.
 *
 * A worker's life: place itself, report, then for each opening of the `start`
 * gate run the job and arrive at `done`; a job of NULL ends it.  Only the
 * caller opens `start`, and only when all workers have arrived at `done`, so
 * job and user have one writer and are never written while they are read.
 *
 * A run therefore costs one exchange by the caller, and one addition by each
 * thread; about 0.3 microseconds for two workers on two cores of an EPYC.  A
 * worker spins for at least a tenth of a millisecond for the next job before it
 * sleeps, so steps that follow each other make no system calls.
 *
 * Workers block all signals that are sent to the process: the host's handlers
 * run on the host's threads.  Faults of a thread's own (SIGSEGV and the like)
 * stay open, because blocked ones kill without calling anybody's handler.
 *
 * One word, `state`, says what a pool is doing, so that each decision is one
 * exchange: BUSY while a call has the pool, CLOSED from ls_pool_close on, and
 * HOLD times the reference count: one for whoever opened it, and one for each
 * trainer.  The threads end when CLOSED and not BUSY first come together, by
 * the thread that makes it so; the memory goes with the last hold. */
#define _GNU_SOURCE /* pthread_setname_np */
#include "base/assert.h"
#include "pool/pool_seats.h"
#include "base/error.h"
#include "base/least.h"
#include "base/memory.h"
#include "base/sized.h"
#include "kernel/fault.h"
#include "kernel/kernel.h"
#include "mesh/neighbours.h"
#include "pool/thread.h"
#include <lockstep/machine.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUSY = 1, CLOSED = 2, HOLD = 4 };

_Static_assert((HOLD & (BUSY | CLOSED)) == 0, "holds are above the flags");

/* Spin count of a wait before it sleeps: SPINS for each worker, since waking
 * many takes longer, and MOST_SPINS at most.  Two workers spin for 0.1 ms on
 * Zen 4, where a pause takes 25 ns.  Where others want the cores, a long spin
 * uses up the time that the worker should have when there is work again. */
enum { SPINS = 1 << 11, MOST_SPINS = 16 * SPINS };

/* ------ The workers' side ------ */

static void settle(ls__seat *s)
{
    const ls_mesh *mesh = s->pool->mesh;
    char name[16]; /* Linux allows no more */

    snprintf(name, sizeof name, "lockstep-%d", s->worker);
    (void)pthread_setname_np(pthread_self(), name);
    if (s->pool->pin)
        s->error = ls__topology_bind(&mesh->topology, s->pu);
    else if (s->pool->place)
        ls__topology_roam(&mesh->topology, 0);
    (void)ls__fpmode_set();
    ls__fault_here(s->moved ? -1 : s->worker);
}

static void end_job(ls__seat *s)
{
    ls__track_phase(&s->pool->track[s->worker], NULL, -1);
    ls__barrier_arrive(&s->pool->done, s->worker);
}

/* A function of the user's ends the thread (pthread_exit, a cancellation).  Its
 * call has failed, as was noted beforehand; the next who takes the pool makes
 * another thread. */
static void lose(void *arg)
{
    ls__seat *s = arg;

    s->lost = true;
    atomic_store_explicit(&s->pool->lost, true, memory_order_relaxed);
    end_job(s);
}

static void serve(ls__seat *s)
{
    ls_pool *p = s->pool;

    for (;;) {
        ls__gate_wait(&p->start, s->seen,
                      atomic_load_explicit(&p->spins, memory_order_relaxed));
        s->seen = ls__gate_now(&p->start);
        if (!p->job)
            return;
        p->job(p->user, s->worker);
        end_job(s);
    }
}

/* s->seen is the gate before anything can open it again. */
static void *worker(void *arg)
{
    ls__seat *s = arg;

    settle(s);
    ls__track_enter(&s->pool->track[s->worker]);
    if (!s->later)
        ls__barrier_arrive(&s->pool->done, s->worker);
    pthread_cleanup_push(lose, s);
    serve(s);
    pthread_cleanup_pop(0);
    return NULL;
}

/* ------ Opening ------ */

LS__DEFAULTS(ls_pool_options, ls_pool_defaults_bytes)

static int thread_error(const ls_pool *p, int w, const char *what, int error)
{
    return ls__fail(LS_ETHREAD, "worker %d of %d, PU %d: %s: %s", w,
                    p->mesh->workers, ls_mesh_worker_pu(p->mesh, w), what,
                    strerror(error));
}

/* Workers below one last-level cache meet first, where these are several and
 * not as many as workers. */
static int split_barriers(ls_pool *p)
{
    int n = p->mesh->workers, groups;
    ls__group *below = ls__new((size_t)n, sizeof *below, "pool");

    if (!below)
        return LS_ENOMEM;
    groups = ls__mesh_groups(p->mesh, LS__BELOW_L3, below);
    if (groups < 2 || 2 * groups > n) {
        free(below);
        return 0;
    }
    p->group = ls__block_zero(2 * (size_t)groups * sizeof *p->group, "pool");
    p->group_of = ls__new((size_t)n, sizeof *p->group_of, "pool");
    for (int i = 0; p->group && p->group_of && i < groups; i++) {
        LS__ASSERT(below[i].worker + below[i].workers <= n);
        p->group[i].n = p->group[groups + i].n = below[i].workers;
        for (int w = 0; w < below[i].workers; w++)
            p->group_of[below[i].worker + w] = i;
    }
    free(below);
    if (!p->group || !p->group_of)
        return LS_ENOMEM;
    ls__barrier_split(&p->done, groups, p->group, p->group_of);
    ls__barrier_split(&p->meet, groups, p->group + groups, p->group_of);
    return 0;
}

static int prepare(ls_pool *p, const ls_mesh *mesh, const ls_pool_options *o)
{
    bool crowded = ls__mesh_oversubscribed(mesh) || !mesh->topology.bindable;
    int64_t looks = SPINS * (int64_t)mesh->workers;
    int spins = crowded ? 0 : (int)ls__least(looks, MOST_SPINS);
    int status = ls__kernels_check();

    if (status || (status = ls__mesh_copy(&p->mesh, mesh)))
        return status;
    p->place = !o->no_pin && mesh->topology.bindable;
    p->pin = p->place && mesh->pins;
    atomic_init(&p->spins, spins);
    p->seat = ls__new((size_t)mesh->workers, sizeof *p->seat, "pool");
    p->track = ls__block_zero(((size_t)mesh->workers + 1) * sizeof *p->track,
                              "pool");
    if (!p->seat || !p->track)
        return LS_ENOMEM;
    for (int w = 0; w < mesh->workers; w++) {
        p->seat[w] = (ls__seat){.pool = p, .worker = w,
                                 .pu = ls_mesh_worker_pu(mesh, w)};
        atomic_init(&p->track[w].device, -1);
    }
    status = ls__barrier_open(&p->done, mesh->workers, spins);
    if (!status)
        status = ls__barrier_open(&p->meet, mesh->workers, spins);
    return status ? status : split_barriers(p);
}

/* Create threads until all are there or one cannot be had: then an errno. */
static int create_workers(ls_pool *p)
{
    int error = 0;

    while (!error && p->started < p->mesh->workers - 1) {
        ls__seat *s = &p->seat[p->started + 1];

        s->seen = ls__gate_now(&p->start);
        error = ls__thread_start(&s->thread, worker, s);
        p->started += !error;
    }
    return error;
}

/* Start the workers and wait until they have settled.  The caller arrives at
 * the barrier for those that do not exist. */
static int start_workers(ls_pool *p)
{
    int error = create_workers(p);

    for (int w = p->started + 1; w < p->mesh->workers; w++)
        ls__barrier_arrive(&p->done, w);
    ls__barrier_wait(&p->done, 0);
    if (error)
        return thread_error(p, p->started + 1, "no thread", error);
    for (int w = 1; w < p->mesh->workers; w++)
        if (p->seat[w].error)
            return thread_error(p, w, "not placed", p->seat[w].error);
    return 0;
}

/* Last, so that workers left unpinned do not inherit the caller's PU. */
static int pin_caller(ls_pool *p)
{
    int error;

    p->caller = ls__topology_save(&p->mesh->topology);
    if (!p->caller)
        return ls__fail(LS_ETHREAD, "worker 0, the caller: its affinity "
                        "cannot be read");
    if (!p->mesh->pins) {
        ls__topology_roam(&p->mesh->topology, 0);
        return 0;
    }
    error = ls__topology_bind(&p->mesh->topology,
                              ls_mesh_worker_pu(p->mesh, 0));
    return error ? thread_error(p, 0, "the caller is not placed", error) : 0;
}

int ls_pool_open(ls_pool **pool, const ls_mesh *mesh,
                 const ls_pool_options *options)
{
    LS__NEED(pool);
    LS__NEED(mesh);

    ls_pool_options o = ls_pool_defaults();
    int status = ls__sized_take("pool", &o, sizeof o, options);
    ls_pool *p;

    if (status < 0)
        return status;
    if (!(p = ls__block_zero(sizeof *p, "pool")))
        return LS_ENOMEM;
    atomic_init(&p->state, HOLD);
    p->process = ls__process_open();
    p->opener = pthread_self();
    status = prepare(p, mesh, &o);
    if (!status)
        status = start_workers(p);
    if (!status && o.pin_caller && mesh->topology.bindable)
        status = pin_caller(p);
    if (status)
        ls_pool_close(p);
    else
        *pool = p;
    return status;
}

/* ------ Closing ------ */

void ls__pool_drop(ls_pool *p)
{
    unsigned was;

    if (!p)
        return;
    was = atomic_fetch_sub_explicit(&p->state, HOLD, memory_order_acq_rel);
    LS__ASSERT(was / HOLD >= 1);
    if (was / HOLD > 1)
        return;
    /* In a child some are in them for good. */
    if (ls__process_is_this(&p->process)) {
        ls__barrier_close(&p->meet);
        ls__barrier_close(&p->done);
    }
    ls__process_close(&p->process);
    ls__affinity_free(p->caller);
    free(p->seat);
    free(p->group_of);
    ls__block_free(p->group);
    ls__block_free(p->track);
    ls_mesh_close(p->mesh);
    ls__block_free(p);
}

/* A child of fork has no workers to end. */
static void end(ls_pool *p)
{
    if (ls__process_is_this(&p->process)) {
        p->job = NULL;
        ls__gate_open(&p->start);
        for (int w = 1; w <= p->started; w++)
            if (!p->seat[w].joined)
                pthread_join(p->seat[w].thread, NULL);
    }
    if (p->caller && pthread_equal(p->opener, pthread_self()))
        ls__topology_restore(&p->mesh->topology, p->caller);
    ls__pool_drop(p);
}

/* Also ends a pool that could be made only in part. */
void ls_pool_close(ls_pool *pool)
{
    unsigned was;

    if (!pool)
        return;
    was = atomic_fetch_or_explicit(&pool->state, CLOSED, memory_order_acq_rel);
    if (was & CLOSED || (was & BUSY && ls__process_is_this(&pool->process)))
        return;
    end(pool);
}

/* ------ Taking ------ */

/* Make threads anew where functions of the user's ended them. */
static int replace_lost(ls_pool *p)
{
    int error;

    for (int w = 1; w < p->mesh->workers; w++) {
        ls__seat *s = &p->seat[w];

        if (!s->lost)
            continue;
        if (!s->joined)
            pthread_join(s->thread, NULL);
        s->lost = s->joined = false;
        s->later = true;
        s->seen = ls__gate_now(&p->start);
        if ((error = ls__thread_start(&s->thread, worker, s))) {
            s->lost = s->joined = true;
            return thread_error(p, w, "no thread", error);
        }
    }
    atomic_store_explicit(&p->lost, false, memory_order_relaxed);
    return 0;
}

int ls__pool_take(ls_pool *p)
{
    unsigned was;
    int status;

    if (!ls__process_is_this(&p->process))
        return ls__fail(LS_ETHREAD, "the pool belongs to process %ld: a fork "
                        "leaves its workers behind", p->process.id);
    was = atomic_fetch_or_explicit(&p->state, BUSY, memory_order_acquire);
    if (was & CLOSED) /* BUSY for good does no harm then */
        return ls__fail(LS_EINVAL, "the pool is closed");
    if (was & BUSY)
        return ls__fail(LS_EBUSY, "the pool is in use: it does one thing at a "
                        "time, and nothing for the functions it calls");
    status = atomic_load_explicit(&p->lost, memory_order_relaxed)
                 ? replace_lost(p) : 0;
    if (status < 0)
        ls__pool_give(p);
    return status;
}

void ls__pool_give(ls_pool *p)
{
    unsigned was = atomic_fetch_and_explicit(&p->state, ~(unsigned)BUSY,
                                             memory_order_acq_rel);

    LS__ASSERT(was & BUSY);
    if (was & CLOSED)
        end(p);
}

int ls__pool_hold(ls_pool *p)
{
    unsigned was = atomic_fetch_add_explicit(&p->state, HOLD,
                                             memory_order_relaxed);

    if (!(was & CLOSED))
        return 0;
    ls__pool_drop(p);
    return ls__fail(LS_EINVAL, "the pool is closed");
}

/* ------ Running ------ */

/* The caller's state before a job. */
typedef struct caller {
    ls_pool *pool;
    ls__track *track;
    ls__fpmode mode;
} caller;

static void await(const caller *c)
{
    ls__track_wait(&c->pool->track[0]);
    ls__barrier_wait(&c->pool->done, 0);
    ls__track_waited(&c->pool->track[0]);
    ls__track_enter(c->track);
    ls__fpmode_restore(c->mode);
}

/* A function of the user's ended the calling thread: who took the pool does not
 * come to give it back. */
static void leave(void *arg)
{
    const caller *c = arg;

    await(c);
    ls__pool_give(c->pool);
}

void ls__pool_run(ls_pool *pool, ls__job *job, void *user)
{
    caller c = {pool, NULL, ls__fpmode_set()};

    c.track = ls__track_enter(&pool->track[0]);
    LS__ASSERT(job && atomic_load(&pool->state) & BUSY);
    pool->job = job;
    pool->user = user;
    ls__gate_open(&pool->start);
    pthread_cleanup_push(leave, &c);
    ls__fault_here(pool->seat->moved ? -1 : 0);
    job(user, 0);
    ls__fault_here(-1);
    pthread_cleanup_pop(0);
    await(&c);
}

void ls__pool_barrier(ls_pool *pool)
{
    ls__track *track = ls__track_here();

    LS__ASSERT(track && track - pool->track < pool->mesh->workers);
    ls__track_wait(track);
    ls__barrier_wait(&pool->meet, (int)(track - pool->track));
    ls__track_waited(track);
}

void ls__pool_shards_of(const ls_pool *pool, int shards, int worker,
                        int *first, int *last)
{
    *first = ls__mesh_dealt(pool->mesh, shards, worker);
    *last = ls__mesh_dealt(pool->mesh, shards, worker + 1);
}

void ls__pool_devices_of(const ls_pool *pool, int worker, int *first,
                         int *last)
{
    ls__pool_shards_of(pool, pool->mesh->devices, worker, first, last);
}

int ls__pool_worker_of(const ls_pool *pool, int shards, int shard)
{
    int64_t n = shards, workers = pool->mesh->workers;

    LS__ASSERT(shard >= 0 && shard < shards);
    return (int)(((shard + 1) * workers + n - 1) / n) - 1;
}

int ls__pool_spins(const ls_pool *pool)
{
    return atomic_load_explicit(&pool->spins, memory_order_relaxed);
}

void ls__pool_unpin(const ls_pool *pool)
{
    if (pool->caller)
        ls__topology_restore(&pool->mesh->topology, pool->caller);
}

const ls_mesh *ls__pool_mesh(const ls_pool *pool)
{
    return pool->mesh;
}

ls__track *ls__pool_track(const ls_pool *pool, int worker)
{
    LS__ASSERT(worker >= 0 && worker <= pool->mesh->workers);
    return &pool->track[worker];
}

int ls_pool_devices(const ls_pool *pool)
{
    LS__NEED_OR(pool, 0);
    return pool->mesh->devices;
}

int ls_pool_workers(const ls_pool *pool)
{
    LS__NEED_OR(pool, 0);
    return pool->mesh->workers;
}
