/* SPDX-License-Identifier: BSD-3-Clause */
/* Traces of workers over time, marks, and what a worker does now. */
#ifndef LOCKSTEP_TRACE_H
#define LOCKSTEP_TRACE_H

#include <lockstep/pool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ====== Trace: who did what, and when ====== */

/* The events of a pool's workers, in a ring buffer each: when a ring is
 * full its oldest events are written over.  Neither recording nor a step locks
 * or allocates, and no result changes. */
typedef struct ls_trace ls_trace;

/* Options of a trace. */
typedef struct ls_trace_options {
    size_t size; /* ls_trace_defaults() writes it */
    int level;      /* 1: phases, waiting, marks, counters; 2: operators too */
    int64_t events; /* of each worker, 32 bytes each; up to 2^24 */
} ls_trace_options;

/* Returns options for level 1 with 65536 events. */
LS_API void ls_trace_defaults_bytes(ls_trace_options *options, size_t size);
static inline ls_trace_options ls_trace_defaults(void)
{
    ls_trace_options o;

    ls_trace_defaults_bytes(&o, sizeof o);
    return o;
}

/* Record from now on what the pool does; options NULL means the defaults.  Call
 * from the pool's caller; close before the pool.  LS_EINVAL names the option,
 * LS_EBUSY: the pool has a trace. */
LS_API int ls_trace_open(ls_trace **trace, ls_pool *pool,
                         const ls_trace_options *options);
/* End the trace and free its events. */
LS_API void ls_trace_close(ls_trace *trace);

/* Write what the rings hold as Chrome's JSON, which Perfetto (ui.perfetto.dev)
 * and chrome://tracing open: a row for each worker, "worker 1 (PU 1)", with
 * slices "gradients" (of each device), "reduce", "update", "barrier" and so on,
 * at level 2 the operators within; the counters "loss" and "rows/s"; how many
 * events were dropped in otherData.  Written aside and renamed: a failure
 * leaves the file that was there, and LS_EIO what is no regular file.  Call
 * from the pool's caller. */
LS_API int ls_trace_write(const ls_trace *trace, const char *path);

/* Returns how many events were written over so far, of all workers. */
LS_API int64_t ls_trace_dropped(const ls_trace *trace);

/* A slice of your own that has begun.  It ends on the thread where it began,
 * before the slice around it. */
typedef struct ls_mark {
    const char *name, *before;
    int64_t began;
} ls_mark;

/* Begin and end a slice of your own: by the pool's caller outside of a step, or
 * by a gradient or pmap function on its worker.  Costs a few nanoseconds
 * without a trace.  The name (ASCII) must live as long as the pool: a literal.
 */
LS_API ls_mark ls_mark_begin(ls_pool *pool, const char *name);
LS_API void ls_mark_end(ls_pool *pool, ls_mark mark);

/* Record a number over time, by the pool's caller.  The name as above; a value
 * that is not finite is left out of the file. */
LS_API void ls_trace_counter(ls_pool *pool, const char *name, double value);

/* The activity of a worker at this moment. */
typedef struct ls_doing {
    const char *phase; /* "gradients", ..; NULL: only a mark */
    const char *what;  /* operator or mark it is in, "dense"; NULL: none */
    int device;        /* whose; -1: no device's */
    bool waits;        /* it is done with the phase and waits for others */
} ls_doing;

/* Stores what a worker is doing.  It is for watchdogs: any thread may call it
 * at any time while the pool is open.  The parts may be of moments shortly
 * after each other.  LS_EINVAL: no such worker. */
LS_API int ls_pool_doing_bytes(const ls_pool *pool, int worker, ls_doing *doing,
                               size_t size);
static inline int ls_pool_doing(const ls_pool *pool, int worker,
                                ls_doing *doing)
{
    return ls_pool_doing_bytes(pool, worker, doing, sizeof *doing);
}

#ifdef __cplusplus
}
#endif

#endif
