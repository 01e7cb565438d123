/* SPDX-License-Identifier: BSD-3-Clause */
/* Moving a worker to another PU, and running something beside the workers.
 * Shards, memory, barriers stay the worker's, so no result depends on where it
 * runs. */
#include "base/error.h"
#include "base/assert.h"
#include "kernel/fault.h"
#include "pool/pool_seats.h"
#include "pool/thread.h"
#include <lockstep/machine.h>

#include <string.h>

typedef struct move {
    ls_pool *pool;
    int worker, pu;
    int error; /* by the worker; read when the job is over */
} move;

static void bind(void *user, int worker)
{
    move *m = user;

    ls__track_phase(ls__track_here(), "move", -1);
    if (worker != m->worker)
        return;
    m->error = ls__topology_bind(&m->pool->mesh->topology, m->pu);
    ls__fault_here(-1);
}

/* ------ a thread beside the workers ------ */

typedef struct aside {
    const ls_pool *pool;
    int pu;
    void (*run)(void *user);
    void *user;
    int error; /* by the thread; read when it has ended */
} aside;

static void *go_aside(void *user)
{
    aside *a = user;

    if (a->pu < 0)
        ls__pool_unpin(a->pool);
    else
        a->error = ls__topology_bind(&a->pool->mesh->topology, a->pu);
    (void)ls__fpmode_set(); /* ends with the thread */
    if (!a->error)
        a->run(a->user);
    return NULL;
}

int ls__pool_aside(const ls_pool *p, int pu, void (*run)(void *user),
                   void *user)
{
    aside a = {p, pu, run, user, 0};
    pthread_t thread;
    int error = ls__thread_start(&thread, go_aside, &a);

    if (!error)
        error = pthread_join(thread, NULL);
    error = error ? error : a.error;
    return error ? ls__fail(LS_ETHREAD, "no thread beside the workers: %s",
                            strerror(error))
                 : 0;
}

/* ------ moving ------ */

static bool shares(const ls_pool *p, int worker, int pu)
{
    for (int w = 0; w < p->mesh->workers; w++)
        if (w != worker && p->seat[w].pu == pu)
            return true;
    return false;
}

/* Is it, or was it, some worker's? */
static bool was_given(const ls_pool *p, int pu)
{
    for (int w = 0; w < p->mesh->workers; w++)
        if (p->seat[w].pu == pu || ls_mesh_worker_pu(p->mesh, w) == pu)
            return true;
    return false;
}

int ls__pool_pu(const ls_pool *p, int worker)
{
    return p->pin && (worker > 0 || p->caller) ? p->seat[worker].pu : -1;
}

/* Settle a move that has succeeded. */
static void settle(ls_pool *p, int worker, int pu)
{
    LS__ASSERT(worker >= 0 && worker < p->mesh->workers);
    p->seat[worker].pu = pu;
    p->seat[worker].moved = true;
    if (!shares(p, worker, pu))
        return;
    atomic_store_explicit(&p->spins, 0, memory_order_relaxed);
    ls__barrier_spin(&p->done, 0);
    ls__barrier_spin(&p->meet, 0);
}

int ls__pool_move(ls_pool *p, int worker, int pu)
{
    move m = {p, worker, pu, 0};

    if (ls__pool_pu(p, worker) < 0)
        return ls__fail(LS_ENOTSUP, "worker %d is not pinned, so it cannot be "
                        "moved", worker);
    ls__pool_run(p, bind, &m);
    if (m.error)
        return ls__fail(LS_ETHREAD, "worker %d cannot be moved to PU %d: %s",
                        worker, pu, strerror(m.error));
    settle(p, worker, pu);
    return 0;
}

/* Second PUs of cores stand behind the first ones, and share their faults. */
int ls__pool_spare_pu(const ls_pool *p)
{
    const ls__topology *t = &p->mesh->topology;

    for (int i = 0; i < t->limits.chosen && i < t->pus; i++)
        if (!was_given(p, t->pu[i]))
            return t->pu[i];
    return -1;
}

int ls__pool_other_pu(const ls_pool *p, int worker)
{
    int spare = ls__pool_spare_pu(p);

    if (spare >= 0)
        return spare;
    for (int i = 1; i < p->mesh->workers; i++) {
        const ls__seat *s = &p->seat[(worker + i) % p->mesh->workers];

        if (!s->moved && s->pu != p->seat[worker].pu)
            return s->pu;
    }
    return -1;
}
