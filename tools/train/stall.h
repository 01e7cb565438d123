/* SPDX-License-Identifier: BSD-3-Clause */
/* --log-every :stall=S: a thread that says, when no step has finished for so
 * long, what each worker is doing.  It changes nothing and ends nothing. */
#ifndef TOOLS_STALL_H
#define TOOLS_STALL_H

#include <lockstep.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

typedef struct stall {
    const ls_pool *pool; /* NULL: nobody watches */
    const ls_mesh *mesh;
    FILE *out;
    double seconds;
    pthread_t thread;
    pthread_mutex_t lock; /* guards ends; the thread sleeps with it */
    pthread_cond_t wake;  /* ends was set */
    bool ends;
    _Atomic double last; /* when a step finished; relaxed, as is done: they */
    atomic_llong done;   /* are but shown, and nothing is read through them */
} stall;

/* Start watching; seconds 0: nothing to do.  0, or an errno. */
int stall_open(stall *s, const ls_pool *pool, const ls_mesh *mesh,
               double seconds, FILE *out);

/* `done` steps are done, the last just now. */
void stall_step(stall *s, int64_t done);

void stall_close(stall *s);

#endif
