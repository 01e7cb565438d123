/* SPDX-License-Identifier: BSD-3-Clause */
/* Traces: ring buffers of events for a pool's tracks. */
#include "pool/trace.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/sized.h"
#include "pool/call.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 24 }; /* events of a ring */

_Static_assert(LS__IS_POWER(MOST), "so is the capacity of a ring");

/* ------ Opening ------ */

LS__DEFAULTS(ls_trace_options, ls_trace_defaults_bytes, .level = 1,
             .events = 65536)

static uint64_t power_of_two(int64_t least)
{
    uint64_t n = 1;

    while (n < (uint64_t)least)
        n *= 2;
    return n;
}

static int check(const ls_trace_options *o)
{
    if (o->level < 1 || o->level > 2)
        return ls__fail(LS_EINVAL, "trace: level %d is neither 1 nor 2",
                        o->level);
    if (o->events < 1 || o->events > MOST)
        return ls__fail(LS_EINVAL, "trace: %lld events; there must be 1 to %d",
                        (long long)o->events, MOST);
    return 0;
}

static int make_rings(ls_trace *t)
{
    size_t n = (size_t)t->workers + 1;

    t->event = ls__new(n, sizeof *t->event, "trace");
    for (size_t i = 0; t->event && i < n; i++)
        if (!(t->event[i] =
                  ls__block((size_t)t->capacity * sizeof **t->event, "trace")))
            return LS_ENOMEM;
    return t->event ? 0 : LS_ENOMEM;
}

static void give_ring(ls_trace *t, int row)
{
    ls__track *k = ls__pool_track(t->pool, row);

    memset(t->event[row], 0, (size_t)t->capacity * sizeof **t->event);
    k->ring = (ls__ring){.event = t->event[row], .capacity = t->capacity};
    k->began = t->opened;
    k->level = t->level;
}

/* A job: each worker touches its own pages first, not in a step. */
static void attach(void *user, int worker)
{
    ls_trace *t = user;

    if (worker == 0) {
        t->taken = ls__pool_track(t->pool, 0)->level != 0;
        t->opened = ls__nanoseconds();
    }
    ls__pool_barrier(t->pool);
    if (t->taken)
        return;
    give_ring(t, worker);
    if (worker == 0)
        give_ring(t, t->workers);
}

int ls_trace_open(ls_trace **trace, ls_pool *pool,
                  const ls_trace_options *options)
{
    LS__NEED(trace);
    LS__NEED(pool);

    ls_trace_options o = ls_trace_defaults();
    int status = ls__sized_take("trace", &o, sizeof o, options);
    ls_trace *t;

    if (status < 0 || (status = check(&o)) < 0)
        return status;
    if (!(t = ls__new(1, sizeof *t, "trace")))
        return LS_ENOMEM;
    t->pool = pool;
    t->workers = ls_pool_workers(pool);
    t->level = o.level;
    t->capacity = power_of_two(o.events);
    status = make_rings(t);
    if (status == 0)
        status = ls__pool_call(pool, NULL, attach, t);
    if (status == 0 && t->taken)
        status = ls__fail(LS_EBUSY, "trace: the pool has one already");
    if (status < 0) {
        ls_trace_close(t);
        return status;
    }
    *trace = t;
    return 0;
}

void ls_trace_close(ls_trace *t)
{
    if (!t)
        return;
    for (int i = 0; t->event && i <= t->workers; i++) {
        ls__track *k = ls__pool_track(t->pool, i);

        if (t->event[i] && k->ring.event == t->event[i]) {
            k->level = 0;
            k->ring = (ls__ring){0};
        }
        ls__block_free(t->event[i]);
    }
    free(t->event);
    free(t);
}

/* ------ Recording ------ */

/* The calling worker's track, or the caller's outside of a job. */
static ls__track *mine(ls_pool *pool)
{
    ls__track *here = ls__track_here(), *first = ls__pool_track(pool, 0);

    return here >= first && here < first + ls_pool_workers(pool) ? here : first;
}

ls_mark ls_mark_begin(ls_pool *pool, const char *name)
{
    LS__NEED_OR(pool, (ls_mark){0});
    LS__NEED_OR(name, (ls_mark){0});
    return ls__track_begin(mine(pool), 1, name);
}

void ls_mark_end(ls_pool *pool, ls_mark mark)
{
    LS__NEED_OR(pool, );
    ls__track_end(mine(pool), 1, &mark, LS__OWN, -1);
}

void ls_trace_counter(ls_pool *pool, const char *name, double value)
{
    LS__NEED_OR(pool, );
    LS__NEED_OR(name, );
    ls__track_counter(ls__pool_track(pool, ls_pool_workers(pool)), name, value);
}

int ls_pool_doing_bytes(const ls_pool *pool, int worker, ls_doing *doing,
                        size_t size)
{
    LS__NEED(pool);
    LS__NEED(doing);

    const ls__track *k;
    ls_doing d;

    if (worker < 0 || worker >= ls_pool_workers(pool))
        return ls__fail(LS_EINVAL, "worker %d; the pool has %d, counted from "
                        "0", worker, ls_pool_workers(pool));
    k = ls__pool_track(pool, worker);
    d.phase = atomic_load_explicit(&k->phase, memory_order_relaxed);
    d.what = atomic_load_explicit(&k->what, memory_order_relaxed);
    d.device = atomic_load_explicit(&k->device, memory_order_relaxed);
    d.waits = atomic_load_explicit(&k->waits, memory_order_relaxed);
    ls__sized_put(doing, size, &d, sizeof d);
    return 0;
}

/* ------ Looking ------ */

const ls__ring *ls__trace_ring(const ls_trace *t, int row)
{
    return &ls__pool_track(t->pool, row)->ring;
}

uint64_t ls__trace_first(const ls_trace *t, int row)
{
    uint64_t count = ls__trace_ring(t, row)->count;

    return count > t->capacity ? count - t->capacity : 0;
}

int64_t ls_trace_dropped(const ls_trace *t)
{
    LS__NEED_AS(t, "trace", 0);

    int64_t sum = 0;

    for (int i = 0; i <= t->workers; i++)
        sum += (int64_t)ls__trace_first(t, i);
    return sum;
}
