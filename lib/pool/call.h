/* SPDX-License-Identifier: BSD-3-Clause */
/* A pool as those above the engine use it: one job of one call. */
#ifndef LS_POOL_CALL_H
#define LS_POOL_CALL_H

#include <lockstep/pool.h>

#include <limits.h>

typedef void ls__job(void *user, int worker);

/* Take the pool for one call, and run a job once on every worker; the calling
 * thread is worker 0.  Traces show it under its name, if that is not NULL.
 * Fails as ls__pool_take (pool/pool.h) does. */
int ls__pool_call(ls_pool *pool, const char *name, ls__job *job, void *user);

/* Inside a job, name in traces the calling worker's work, for a device or, -1,
 * for none. */
void ls__pool_at(const char *what, int device);

/* Inside a job: wait until every worker has come here. */
void ls__pool_barrier(ls_pool *pool);

/* Worker w runs devices first .. last-1, in that order. */
void ls__pool_devices_of(const ls_pool *pool, int worker, int *first,
                         int *last);

/* The status that is noted before a function of the user's is called, and stays
 * when it ends its thread: another takes a worker's place, and on the caller's
 * thread the job ends and the pool is given back before that thread is gone. */
enum { LS__ENDED = INT_MIN };

const ls_mesh *ls__pool_mesh(const ls_pool *pool);

#endif
