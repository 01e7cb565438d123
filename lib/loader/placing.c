/* SPDX-License-Identifier: BSD-3-Clause */
/* See placing.h.  The first touch places pages; the thread that makes batches
 * writes to them wherever they lie. */
#include "loader/placing.h"
#include "base/assert.h"
#include "mesh/neighbours.h"
#include "pool/call.h"
#include "state/trainer_state.h"
#include <lockstep/machine.h>

#include <string.h>

typedef struct area {
    const ls_mesh *mesh;
    char *array;
    size_t piece; /* bytes of a shard */
    int64_t shards;
} area;

/* The shards of a micro-batch are those of the mesh's devices, in order. */
static void touch(void *user, int worker)
{
    const area *a = user;
    int devices = ls_mesh_devices(a->mesh);
    ls_place p;

    (void)ls_mesh_place(a->mesh, worker, &p);
    for (int64_t at = p.device; at < a->shards; at += devices)
        memset(a->array + (size_t)at * a->piece, 0,
               (size_t)p.devices * a->piece);
}

void ls__placing_touch(const ls_trainer *t, void *array, size_t bytes,
                       int64_t shards)
{
    const ls__state is = ls__state_of(t);
    area a = {ls__pool_mesh(is.pool), array, bytes / (size_t)shards, shards};

    LS__ASSERT(bytes % (size_t)shards == 0);
    if (is.here.of == ls_mesh_devices(a.mesh) && ls__mesh_has_nodes(a.mesh))
        (void)ls__pool_call(is.pool, NULL, touch, &a);
}
