/* The pinned workers.
 *
 * A worker's life: place itself, report, then for each opening of the `start`
 * gate run the job and arrive at `done`; a job of NULL ends it.  Only the
 * caller opens `start`, and only when all workers have arrived at `done`, so
 * job and user have one writer and are never written while they are read.
 *
 * A run therefore costs one exchange by the caller, and one addition by each
 * thread; about 0.3 microseconds for two workers on two cores of an EPYC.  A
 * worker spins about a millisecond for the next job before it sleeps, so steps
 * that follow each other make no system calls.
 *
 * Workers block all signals that are sent to the process: the host's handlers
 * run on the host's threads.  Faults of a thread's own (SIGSEGV and the like)
 * stay open, because blocked ones kill without calling anybody's handler. */
#define _GNU_SOURCE /* pthread_setname_np */
#include "mesh/pool.h"
#include "base/error.h"
#include "base/fpmode.h"
#include "base/memory.h"
#include "kernel/kernel.h"
#include "mesh/barrier.h"
#include "mesh/mesh.h"
#include "mesh/signals.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SPINS = 1 << 15, /* 0.8 ms on Zen 4, where a pause takes 25 ns */
    STACK = 2 << 20  /* a user's gradient function runs on it too */
};

/* A worker's own things. */
typedef struct seat {
    ls_pool *pool;
    pthread_t thread;
    int worker;
    int error; /* errno of placing it; written before its first arrival */
} seat;

struct ls_pool {
    _Alignas(64) ls__gate start; /* waited at by workers 1 .. */
    ls__job *job;                /* written by the caller before it opens */
    void *user;
    ls__barrier done;     /* every worker, and the caller as worker 0 */
    ls__barrier meet;     /* ls__pool_barrier */
    ls_mesh *mesh;        /* a copy */
    seat *seat;           /* [workers]; 0 has no thread */
    int started;          /* threads that exist */
    int spins;
    bool pin;
    bool busy;            /* a job runs; the caller's alone */
    ls__affinity *caller; /* to give back, NULL: not pinned */
};

/* ------ The workers' side ------ */

static void settle(seat *s)
{
    const ls_mesh *mesh = s->pool->mesh;
    char name[16]; /* Linux allows no more */

    snprintf(name, sizeof name, "lockstep-%d", s->worker);
    (void)pthread_setname_np(pthread_self(), name);
    if (s->pool->pin)
        s->error = ls__topology_bind(&mesh->topology,
                                     ls_mesh_worker_pu(mesh, s->worker));
    (void)ls__fpmode_set();
}

static void *worker(void *arg)
{
    seat *s = arg;
    ls_pool *p = s->pool;
    unsigned seen = ls__gate_now(&p->start);

    settle(s);
    ls__barrier_arrive(&p->done);
    for (;;) {
        ls__gate_wait(&p->start, seen, p->spins);
        seen = ls__gate_now(&p->start);
        if (!p->job)
            return NULL;
        p->job(p->user, s->worker);
        ls__barrier_arrive(&p->done);
    }
}

/* ------ Opening ------ */

ls_pool_options ls_pool_defaults(void)
{
    return (ls_pool_options){0};
}

static int thread_error(const ls_pool *p, int w, const char *what, int error)
{
    return ls__fail(LS_ETHREAD, "worker %d of %d, PU %d: %s: %s", w,
                    p->mesh->workers, ls_mesh_worker_pu(p->mesh, w), what,
                    strerror(error));
}

static int prepare(ls_pool *p, const ls_mesh *mesh, const ls_pool_options *o)
{
    bool crowded = ls__mesh_oversubscribed(mesh) || !mesh->topology.bindable;
    int status = ls__kernels_check();

    if (status || (status = ls__mesh_copy(&p->mesh, mesh)))
        return status;
    p->pin = !o->no_pin && mesh->topology.bindable;
    p->spins = crowded ? 0 : SPINS;
    p->seat = ls__new((size_t)mesh->workers, sizeof *p->seat, "pool");
    if (!p->seat)
        return LS_ENOMEM;
    for (int w = 0; w < mesh->workers; w++)
        p->seat[w] = (seat){.pool = p, .worker = w};
    status = ls__barrier_open(&p->done, mesh->workers, p->spins);
    return status ? status
                  : ls__barrier_open(&p->meet, mesh->workers, p->spins);
}

/* Create threads until all are there or one cannot be had: then an errno. */
static int create_workers(ls_pool *p)
{
    pthread_attr_t attr;
    int error = pthread_attr_init(&attr);

    if (error)
        return error;
    error = pthread_attr_setstacksize(&attr, STACK);
    while (!error && p->started < p->mesh->workers - 1) {
        seat *s = &p->seat[p->started + 1];

        error = pthread_create(&s->thread, &attr, worker, s);
        p->started += !error;
    }
    pthread_attr_destroy(&attr);
    return error;
}

/* Start the workers and wait until they have settled.  The caller arrives in
 * the place of those that do not exist. */
static int start_workers(ls_pool *p)
{
    sigset_t old;
    int error;

    ls__signals_block(&old);
    error = create_workers(p);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    for (int w = p->started + 1; w < p->mesh->workers; w++)
        ls__barrier_arrive(&p->done);
    ls__barrier_wait(&p->done);
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
    error = ls__topology_bind(&p->mesh->topology,
                              ls_mesh_worker_pu(p->mesh, 0));
    return error ? thread_error(p, 0, "the caller is not placed", error) : 0;
}

int ls_pool_open(ls_pool **pool, const ls_mesh *mesh,
                 const ls_pool_options *options)
{
    ls_pool_options o = options ? *options : ls_pool_defaults();
    ls_pool *p = ls__block_zero(sizeof *p, "pool");
    int status;

    if (!p)
        return LS_ENOMEM;
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

/* Also ends a pool of which only a part could be made. */
void ls_pool_close(ls_pool *pool)
{
    if (!pool)
        return;
    assert(!pool->busy);
    pool->job = NULL;
    ls__gate_open(&pool->start);
    for (int w = 1; w <= pool->started; w++)
        pthread_join(pool->seat[w].thread, NULL);
    if (pool->caller)
        ls__topology_restore(&pool->mesh->topology, pool->caller);
    ls__barrier_close(&pool->meet);
    ls__barrier_close(&pool->done);
    free(pool->seat);
    ls_mesh_close(pool->mesh);
    ls__block_free(pool);
}

/* ------ Running ------ */

void ls__pool_run(ls_pool *pool, ls__job *job, void *user)
{
    ls__fpmode mode = ls__fpmode_set();

    assert(job && !pool->busy);
    pool->busy = true;
    pool->job = job;
    pool->user = user;
    ls__gate_open(&pool->start);
    job(user, 0);
    ls__barrier_wait(&pool->done);
    pool->busy = false;
    ls__fpmode_restore(mode);
}

void ls__pool_barrier(ls_pool *pool)
{
    ls__barrier_wait(&pool->meet);
}

void ls__pool_shards_of(const ls_pool *pool, int shards, int worker,
                        int *first, int *last)
{
    int64_t n = shards, workers = pool->mesh->workers;

    *first = (int)(worker * n / workers);
    *last = (int)((worker + 1) * n / workers);
}

void ls__pool_devices_of(const ls_pool *pool, int worker, int *first,
                         int *last)
{
    ls__pool_shards_of(pool, pool->mesh->devices, worker, first, last);
}

const ls_mesh *ls__pool_mesh(const ls_pool *pool)
{
    return pool->mesh;
}

int ls_pool_devices(const ls_pool *pool)
{
    return pool->mesh->devices;
}

int ls_pool_workers(const ls_pool *pool)
{
    return pool->mesh->workers;
}
