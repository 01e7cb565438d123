/* SPDX-License-Identifier: BSD-3-Clause */
/* A worker's track: what it is doing now, for anybody to ask, and, while a
 * trace is open, what it did and when.
 *
 * Tracks know threads and time, of anything that a pool runs, and nothing of a
 * step: a watchdog finds stalls by them, where no step comes to an end.
 *
 * Each track is written by its worker alone.  The present work is a few relaxed
 * atomics: readers follow nothing through them but names that outlive the pool,
 * so no order is needed, and between two of them a worker may have gone on.
 * The ring buffer of events is plain memory, read by the caller between jobs,
 * when the barrier has made it visible.  Nothing here locks, allocates or
 * fails. */
#ifndef LS_POOL_TRACK_H
#define LS_POOL_TRACK_H

#include <lockstep/trace.h>

#include <stdatomic.h>

typedef enum ls__kind {
    LS__PHASE,    /* of a job */
    LS__WAIT,     /* at the barrier after the phase of that name */
    LS__FORWARD,  /* an operator */
    LS__BACKWARD, /* the same */
    LS__STEP,     /* the caller's, around all of it */
    LS__OWN,      /* the user's: ls_mark_end */
    LS__COUNTER
} ls__kind;

typedef struct ls__event {
    int64_t began; /* ns of the steady clock */
    union {
        int64_t ended;
        double value; /* LS__COUNTER */
    };
    const char *name;
    int32_t number;      /* of the step or the instruction; -1: none */
    int32_t device : 24; /* -1: none */
    uint32_t kind : 8;
} ls__event;

/* The newest events; older ones are written over. */
typedef struct ls__ring {
    ls__event *event;
    uint64_t capacity; /* a power of two */
    uint64_t count;    /* of all there were */
} ls__ring;

typedef struct ls__track {
    _Alignas(64) _Atomic(const char *) phase; /* NULL: between jobs */
    _Atomic(const char *) what; /* finer: the operator, the user's mark */
    atomic_int device;          /* -1: none */
    atomic_bool waits;          /* at the barrier after the phase */
    int level;                  /* of the trace; 0: none is open */
    int64_t began;              /* the phase, or the waiting; ns */
    ls__ring ring;
} ls__track;

/* The tracks of the workers; the one after the last holds the counters. */
ls__track *ls__pool_track(const ls_pool *pool, int worker);

/* The calling thread's track while it runs a job; otherwise NULL, which
 * ls__track_begin and ls__track_end accept. */
ls__track *ls__track_here(void);
/* Make it this one; returns the one before. */
ls__track *ls__track_enter(ls__track *track);

/* The present phase ends and this one, text that is never freed, begins; NULL:
 * none does.  device: -1 where it is no device's. */
void ls__track_phase(ls__track *track, const char *name, int device);

/* The present phase ends, and its worker waits for the others; no more.  The
 * waiting after a job without a phase is not kept. */
void ls__track_wait(ls__track *track);
void ls__track_waited(ls__track *track);

/* Something smaller begins; and ends, which a trace of that level keeps. */
ls_mark ls__track_begin(ls__track *track, int level, const char *name);
void ls__track_end(ls__track *track, int level, const ls_mark *mark,
                   ls__kind kind, int64_t number);

/* A slice of a trace, from then until now, that changes nothing else. */
void ls__track_slice(ls__track *track, ls__kind kind, const char *name,
                     int64_t began, int64_t number);

/* A number as it is now. */
void ls__track_counter(ls__track *track, const char *name, double value);

#endif
