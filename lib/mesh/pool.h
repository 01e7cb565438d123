/* One job at a time on every worker of a pool.
 *
 * Everything the caller wrote before ls__pool_run is seen by the job, and
 * everything the job wrote is seen by the caller after it.  Jobs run in the
 * floating-point mode of base/fpmode.h.  A job does not start another one on
 * the same pool.  It names what it does by ls__track_phase (mesh/track.h). */
#ifndef LS_MESH_POOL_H
#define LS_MESH_POOL_H

#include "mesh/track.h"

typedef void ls__job(void *user, int worker);

/* Run job once on every worker, the calling thread being worker 0; returns
 * when all have finished.  Allocates nothing and cannot fail. */
void ls__pool_run(ls_pool *pool, ls__job *job, void *user);

/* Inside a job: wait until every worker has come here. */
void ls__pool_barrier(ls_pool *pool);

/* Worker w runs devices first .. last-1, in that order. */
void ls__pool_devices_of(const ls_pool *pool, int worker, int *first,
                         int *last);

/* The same of `shards` things cut along one axis of the mesh: a shard is run
 * once, whatever the other axes are.  With that axis outermost, by the worker
 * of the last device that holds it. */
void ls__pool_shards_of(const ls_pool *pool, int shards, int worker,
                        int *first, int *last);

const ls_mesh *ls__pool_mesh(const ls_pool *pool);

/* The tracks of the workers; the one after the last holds the counters. */
ls__track *ls__pool_track(const ls_pool *pool, int worker);

#endif
