/* SPDX-License-Identifier: BSD-3-Clause */
/* The thread pool's structs, for the files that open, run and move it. */
#ifndef LS_POOL_POOL_SEATS_H
#define LS_POOL_POOL_SEATS_H

#include "base/fpmode.h"
#include "base/process.h"
#include "mesh/mesh.h"
#include "pool/barrier.h"
#include "pool/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* A worker's own things. */
typedef struct ls__seat {
    ls_pool *pool;
    pthread_t thread;
    int worker;
    int pu;        /* pinned to this one, if the pool pins */
    bool moved;    /* it was planned on another */
    bool lost;     /* the thread has ended by itself .. */
    bool joined;   /* .. and no other could be had yet */
    bool later;    /* it is not the first thread */
    unsigned seen; /* of the start gate */
    int error; /* errno of placing it; written before its first arrival */
} ls__seat;

struct ls_pool {
    _Alignas(64) ls__gate start; /* waited at by workers 1 .. */
    ls__job *job;                /* written by the caller before it opens */
    void *user;
    ls__barrier done;     /* every worker, and the caller as worker 0 */
    ls__barrier meet;     /* ls__pool_barrier */
    ls__meeting *group;   /* of both barriers; NULL: workers meet in one */
    int *group_of;        /* [workers] */
    ls_mesh *mesh;        /* a copy */
    ls__seat *seat;           /* [workers]; 0 has no thread */
    ls__track *track;     /* [workers + 1] by the worker; last: counters */
    int started;          /* threads that exist */
    atomic_int spins;     /* relaxed, as a barrier's */
    bool place;           /* workers: see mesh->pins, */
    bool pin;             /* and then on a PU each */
    atomic_uint state;    /* see above */
    atomic_bool lost;     /* some worker is */
    ls__process process;  /* the workers' */
    pthread_t opener;     /* the thread that is pinned ... */
    ls__affinity *caller; /* ... and its affinity; NULL: not pinned */
};

#endif
