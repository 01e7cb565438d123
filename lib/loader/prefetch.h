/* SPDX-License-Identifier: BSD-3-Clause */
/* Prefetch: one thread that does one thing at a time for its owner. */
#ifndef LS_LOADER_PREFETCH_H
#define LS_LOADER_PREFETCH_H

#include "base/process.h"
#include "pool/barrier.h"
#include <lockstep/trainer.h>

#include <pthread.h>

/* The owner writes what the work needs, asks, waits, and reads what came of
 * it; between asking and having waited all that belongs to the work. */
typedef struct ls__prefetch {
    ls__gate asked, done;
    atomic_int state; /* of what was asked: see prefetch.c */
    unsigned seen;    /* of done, when it was asked */
    bool busy;        /* asked, not waited for: the owner's alone */
    void (*work)(void *user);
    void *user;
    const ls_trainer *trainer; /* for the thread's place, while it starts */
    ls__process process; /* the thread's */
    pthread_t thread;
} ls__prefetch;

/* Start a thread that runs on no core of a trainer's workers where others are
 * allowed.  The struct stays where it is.  LS_ETHREAD. */
int ls__prefetch_open(ls__prefetch *p, const ls_trainer *trainer,
                      void (*work)(void *user), void *user);
/* Waits for what it does.  A child of fork has no thread: there what was under
 * way is done again by whoever waits for it. */
void ls__prefetch_close(ls__prefetch *p);

/* Have it call work(user) now. */
void ls__prefetch_ask(ls__prefetch *p);
/* Return when what it was last asked for, if anything, is done; what the thread
 * has not begun is done here. */
void ls__prefetch_wait(ls__prefetch *p);

#endif
