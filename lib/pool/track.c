/* SPDX-License-Identifier: BSD-3-Clause */
/* Tracks: relaxed stores for any reader, and ring buffers for a trace.
 *
 * Phases follow each other, so the end of one is the beginning of the next and
 * the clock is read once between two of them.  An event goes into the ring when
 * it is over: those that remain in the ring are whole events. */
#include "pool/track.h"

#include "base/assert.h"
#include "base/clock.h"

static _Thread_local ls__track *here;

ls__track *ls__track_here(void)
{
    return here;
}

ls__track *ls__track_enter(ls__track *track)
{
    ls__track *before = here;

    here = track;
    return before;
}

static void push(ls__ring *ring, const ls__event *event)
{
    LS__ASSERT(LS__IS_POWER(ring->capacity));
    ring->event[ring->count++ & (ring->capacity - 1)] = *event;
}

/* The track's present slice ends now, and is kept if it has a name. */
static void cut(ls__track *t, ls__kind kind)
{
    const char *name = atomic_load_explicit(&t->phase, memory_order_relaxed);
    ls__event e = {.began = t->began,
                   .name = name,
                   .number = -1,
                   .device =
                       atomic_load_explicit(&t->device, memory_order_relaxed),
                   .kind = kind};

    e.ended = t->began = ls__nanoseconds();
    if (name)
        push(&t->ring, &e);
}

static void set_phase(ls__track *t, const char *name, int device)
{
    atomic_store_explicit(&t->phase, name, memory_order_relaxed);
    atomic_store_explicit(&t->device, device, memory_order_relaxed);
}

void ls__track_phase(ls__track *t, const char *name, int device)
{
    if (t->level)
        cut(t, LS__PHASE);
    set_phase(t, name, device);
}

void ls__track_wait(ls__track *t)
{
    if (t->level)
        cut(t, LS__PHASE);
    atomic_store_explicit(&t->device, -1, memory_order_relaxed);
    atomic_store_explicit(&t->waits, true, memory_order_relaxed);
}

void ls__track_waited(ls__track *t)
{
    if (t->level)
        cut(t, LS__WAIT);
    atomic_store_explicit(&t->waits, false, memory_order_relaxed);
    set_phase(t, NULL, -1);
}

ls_mark ls__track_begin(ls__track *t, int level, const char *name)
{
    ls_mark mark = {.name = name};

    if (!t)
        return mark;
    mark.before = atomic_load_explicit(&t->what, memory_order_relaxed);
    atomic_store_explicit(&t->what, name, memory_order_relaxed);
    if (t->level >= level)
        mark.began = ls__nanoseconds();
    return mark;
}

void ls__track_slice(ls__track *t, ls__kind kind, const char *name,
                     int64_t began, int64_t number)
{
    ls__event e = {.began = began,
                   .name = name,
                   .number = number < 0 ? -1 : (int)(number & INT32_MAX),
                   .device =
                       atomic_load_explicit(&t->device, memory_order_relaxed),
                   .kind = kind};

    if (!t->level)
        return;
    e.ended = ls__nanoseconds();
    push(&t->ring, &e);
}

/* began is 0 when the trace was opened in between. */
void ls__track_end(ls__track *t, int level, const ls_mark *mark, ls__kind kind,
                   int64_t number)
{
    if (!t)
        return;
    atomic_store_explicit(&t->what, mark->before, memory_order_relaxed);
    if (t->level >= level && mark->began)
        ls__track_slice(t, kind, mark->name, mark->began, number);
}

void ls__track_counter(ls__track *t, const char *name, double value)
{
    ls__event e = {.name = name,
                   .value = value,
                   .number = -1,
                   .device = -1,
                   .kind = LS__COUNTER};

    if (!t->level)
        return;
    e.began = ls__nanoseconds();
    push(&t->ring, &e);
}
