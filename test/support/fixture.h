/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools and a gradient function for tests.  Workers are not pinned, because
 * several tests run at a time on few cores.  Everything here asserts with
 * Check: call it on the test's main thread. */
#ifndef TEST_FIXTURE_H
#define TEST_FIXTURE_H

#include "calls.h"

static inline ls_pool *open_pool_on(const ls_mesh_options *options)
{
    ls_pool_options loose = {.size = sizeof loose, .no_pin = true};
    ls_mesh *mesh = NULL;
    ls_pool *pool = NULL;

    OK(ls_mesh_open(&mesh, options));
    OK(ls_pool_open(&pool, mesh, &loose));
    ls_mesh_close(mesh);
    return pool;
}

static inline ls_pool *open_pool(int devices, int workers)
{
    return open_pool_on(&(ls_mesh_options){.size = sizeof(ls_mesh_options),
                                           .devices = devices,
                                           .workers = workers});
}

/* Open a pool on a mesh of named axes, "data:4,model:2"; workers 0: the
 * default. */
static inline ls_pool *open_axes(const char *axes, int workers)
{
    return open_pool_on(&(ls_mesh_options){.size = sizeof(ls_mesh_options),
                                           .axes = axes, .workers = workers});
}

/* A gradient that fails, for trainers that take no step. */
static inline int no_gradient(void *user, int device, const ls_shard *shard,
                              const float *const *params, float *const *grads,
                              ls_sums *sums)
{
    (void)user, (void)device, (void)shard, (void)params, (void)grads;
    (void)sums;
    return -1;
}

#endif
