/* SPDX-License-Identifier: BSD-3-Clause */
/* A pool as those above the engine use it: one call of it. */
#ifndef LS_POOL_CALL_H
#define LS_POOL_CALL_H

#include <lockstep/pool.h>

/* Have the pool for one call, and run a job once on every worker, the calling
 * thread being worker 0; traces know it by its name.  Fails as ls__pool_take
 * does. */
int ls__pool_call(ls_pool *pool, const char *name,
                  void (*job)(void *user, int worker), void *user);

const ls_mesh *ls__pool_mesh(const ls_pool *pool);

#endif
