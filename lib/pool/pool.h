/* SPDX-License-Identifier: BSD-3-Clause */
/* One job at a time on every worker of a thread pool.
 *
 * Everything the caller wrote before ls__pool_run is seen by the job, and
 * everything the job wrote is seen by the caller after it.  Jobs run in the
 * floating-point mode of base/fpmode.h.  A job does not start another one on
 * the same pool.  It names what it does by ls__track_phase (pool/track.h). */
#ifndef LS_POOL_POOL_H
#define LS_POOL_POOL_H

#include "pool/call.h"
#include "pool/track.h"

/* Take the pool for one call, which may then run any number of jobs: every
 * public function that runs one takes the pool first, and gives it back.
 * LS_EBUSY: another thread has it, or this call comes from a function that a
 * job calls; LS_ETHREAD: a fork's child, without the workers; LS_EINVAL: it is
 * closed. */
int ls__pool_take(ls_pool *pool);
/* Ends the pool if it was closed meanwhile. */
void ls__pool_give(ls_pool *pool);

/* Hold a reference (count) to the pool's memory, though not to its workers,
 * past ls_pool_close: for trainers.  LS_EINVAL: it is closed. */
int ls__pool_hold(ls_pool *pool);
void ls__pool_drop(ls_pool *pool);

/* Run job once on every worker, the calling thread being worker 0; returns
 * when all have finished.  Allocates nothing and cannot fail.  The pool is
 * taken. */
void ls__pool_run(ls_pool *pool, ls__job *job, void *user);

/* The same as ls__pool_devices_of, for `shards` things cut along one axis of
 * the mesh: a shard is run once, whatever the other axes are.  With that axis
 * outermost, by the worker of the last device that holds it. */
void ls__pool_shards_of(const ls_pool *pool, int shards, int worker,
                        int *first, int *last);

/* The worker that runs shard `shard` of `shards`. */
int ls__pool_worker_of(const ls_pool *pool, int shards, int shard);

/* Spin count of those who wait in a job.  It may be read while workers are
 * moved: any number will do. */
int ls__pool_spins(const ls_pool *pool);

/* The PU of a worker, by the operating system's number; -1: not pinned. */
int ls__pool_pu(const ls_pool *pool, int worker);

/* Pin a worker to another PU from now on, one of the mesh's; where it shares it
 * with another worker, waiting sleeps and does not spin.  The pool is taken.
 * LS_ENOTSUP: the worker is not pinned; LS_ETHREAD. */
int ls__pool_move(ls_pool *pool, int worker, int pu);

/* The PU of a core that no worker has had so far, or else that of the next
 * worker that was never moved; -1: there is none. */
int ls__pool_other_pu(const ls_pool *pool, int worker);

/* The first half of that: the PU of a core that no worker has had. */
int ls__pool_spare_pu(const ls_pool *pool);

/* Run a function, inside a job, on a thread that is no worker, pinned to a PU
 * of the mesh's (-1: wherever the caller could run), and wait for it.
 * LS_ETHREAD. */
int ls__pool_aside(const ls_pool *pool, int pu, void (*run)(void *user),
                   void *user);

/* Let a thread that is no worker run wherever the caller could before it was
 * pinned, not on the caller's PU, which it inherited. */
void ls__pool_unpin(const ls_pool *pool);

#endif
