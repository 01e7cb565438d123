/* SPDX-License-Identifier: BSD-3-Clause */
/* Thread pools: the threads of a mesh, each pinned to its place. */
#ifndef LOCKSTEP_POOL_H
#define LOCKSTEP_POOL_H

#include <lockstep/mesh.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A thread pool: the threads of a mesh.  Worker 0 is the thread that makes the
 * call at hand.  The others are created; each pins itself to its PU and
 * verifies that.
 *
 * A pool has any number of trainers and does one thing at a time: a step, an
 * evaluation, a prediction, a collective, a pmap, the opening of a trainer or
 * a trace, a measurement.  Such a call may come from any thread.  It fails with
 * LS_EBUSY, having done nothing, while another one is under way: from another
 * thread, or from inside a user's function that the pool calls.  (Other pools
 * may be used there; so may all that only reads.)
 *
 * A function of yours (a callback) must return: it neither throws nor jumps out
 * (longjmp).  One that ends its thread (pthread_exit) fails the call with
 * LS_EUSER, and the pool goes on; on the calling thread the call never returns,
 * and the pool is free for others.
 *
 * After fork(2) the child has the memory and no workers: there the same calls
 * fail with LS_ETHREAD, while parameters can be read, saved and closed, and the
 * pool closed.  A child of a fork inside a user's function must exec or _exit.
 * exit(3) needs no care: there is nothing to be ended first. */
typedef struct ls_pool ls_pool;

/* The options of a pool; ls_pool_open copies them. */
typedef struct ls_pool_options {
    size_t size; /* ls_pool_defaults() writes it */
    bool no_pin;     /* leave the created workers where Linux puts them */
    bool pin_caller; /* place the calling thread too, until ls_pool_close */
} ls_pool_options;

/* Returns options that place created workers as the mesh has them, on a PU each
 * or on any of its cores, and do not place the caller. */
LS_API void ls_pool_defaults_bytes(ls_pool_options *options, size_t size);
static inline ls_pool_options ls_pool_defaults(void)
{
    ls_pool_options o;

    ls_pool_defaults_bytes(&o, sizeof o);
    return o;
}

/* Start the workers; options NULL means the defaults.  The mesh is copied.
 * LS_ETHREAD names the worker that could not be made or placed. */
LS_API int ls_pool_open(ls_pool **pool, const ls_mesh *mesh,
                        const ls_pool_options *options);

/* End the workers, and give the thread that opened the pool its affinity back
 * if it is the one that closes it.  While a call uses the pool, that is put off
 * to the end of the call.  Trainers that are still open live on without
 * workers: they can be read, saved and closed, what needs workers fails with
 * LS_EINVAL, and closing the pool again does nothing.  (After the last of them,
 * as with all that is closed, the pointer must not be used again.) */
LS_API void ls_pool_close(ls_pool *pool);

/* Returns the number of devices of the pool's mesh. */
LS_API int ls_pool_devices(const ls_pool *pool);
/* Returns the number of the pool's threads, the caller included. */
LS_API int ls_pool_workers(const ls_pool *pool);

#ifdef __cplusplus
}
#endif

#endif
