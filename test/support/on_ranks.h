/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of ranks: a function that runs on every rank, each a thread of this
 * process. */
#ifndef TEST_ON_RANKS_H
#define TEST_ON_RANKS_H

#include "calls.h"
#include "thread_ranks.h"

#include <pthread.h>

enum { RANKS = 8 };

/* The function of a rank, and its result. */
typedef struct rank_body {
    int (*run)(const ls_transport *t, void *user);
    const ls_transport *transport;
    void *user;
    int status;
    char message[512];
} rank_body;

static inline void *start_rank(void *arg)
{
    rank_body *b = arg;

    b->status = b->run(b->transport, b->user);
    strncpy(b->message, ls_errmsg(), sizeof b->message - 1);
    return NULL;
}

/* Run a function on every rank and leave what each said in out. */
static inline void on_ranks(ranks_here *all, int n,
                            int (*body)(const ls_transport *t, void *user),
                            void *user,
                            rank_body out[RANKS])
{
    pthread_t thread[RANKS];

    for (int r = 0; r < n; r++) {
        out[r] = (rank_body){.run = body, .user = user,
                             .transport = ranks_transport(all, r)};
        ck_assert_int_eq(pthread_create(&thread[r], NULL, start_rank, &out[r]),
                         0);
    }
    for (int r = 0; r < n; r++)
        pthread_join(thread[r], NULL);
}

/* ... all of which must succeed. */
static inline void all_succeed(ranks_here *all, int n,
                               int (*body)(const ls_transport *t, void *user),
                               void *user)
{
    rank_body out[RANKS];

    on_ranks(all, n, body, user, out);
    for (int r = 0; r < n; r++)
        ck_assert_msg(out[r].status == 0, "rank %d: status %d: %s", r,
                      out[r].status, out[r].message);
}

/* A pool that a rank opens for itself, so nothing here asserts; topology NULL:
 * of this machine. */
static inline int pool_on(ls_pool **pool, const char *topology, int devices,
                          int workers)
{
    ls_mesh_options m = ls_mesh_defaults();
    ls_mesh *mesh;
    int status;

    m.topology = topology;
    m.devices = devices;
    m.workers = workers;
    if ((status = ls_mesh_open(&mesh, &m)) < 0)
        return status;
    status = ls_pool_open(pool, mesh, NULL);
    ls_mesh_close(mesh);
    return status;
}

static inline int pool_with(ls_pool **pool, int devices, int workers)
{
    return pool_on(pool, NULL, devices, workers);
}

#endif
