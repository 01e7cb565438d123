/* SPDX-License-Identifier: BSD-3-Clause */
/* Gates and barriers: a gate that one thread opens and many wait at, and a
 * barrier made of a gate and a counter.  Waiting spins for a while and then
 * sleeps on a futex; opening makes a system call only if somebody sleeps.
 *
 * Everything a thread wrote before it opened the gate (or arrived at the
 * barrier) is seen by those who pass.  barrier.c explains why. */
#ifndef LS_POOL_BARRIER_H
#define LS_POOL_BARRIER_H

#include <stdatomic.h>

/* Cleared memory is a gate at its first generation. */
typedef struct ls__gate {
    atomic_uint word; /* 2 x generation, + 1 while somebody sleeps */
} ls__gate;

/* The present generation: what a later wait wants to see changed. */
unsigned ls__gate_now(ls__gate *gate);
/* Start the next generation and let everybody waiting pass.  One thread at a
 * time. */
void ls__gate_open(ls__gate *gate);
/* Return once the generation is no longer `seen`. */
void ls__gate_wait(ls__gate *gate, unsigned seen, int spins);
/* Return once the gate was opened `times` times or more since the generation
 * `from`, at most 2^30. */
void ls__gate_reach(ls__gate *gate, unsigned from, unsigned times, int spins);

/* Threads that are counted, and the gate at which they wait. */
typedef struct ls__meeting {
    _Alignas(64) atomic_int arrived; /* of this generation */
    int n;                           /* that must arrive */
    _Alignas(64) ls__gate gate;      /* on its own line: read by all waiters */
} ls__meeting;

typedef struct ls__barrier {
    ls__meeting all;    /* of threads or, where they meet in groups, of these */
    atomic_int spins; /* looks at the gate before sleeping; relaxed: whichever
                         number is read, the wait ends alike */
    ls__meeting *group; /* NULL: there is one */
    const int *of;      /* [thread] its group */
    int groups;
} ls__barrier;

/* A barrier for n threads.  LS_EINVAL when n < 1 or spins < 0. */
int ls__barrier_open(ls__barrier *barrier, int n, int spins);
/* Make it hierarchical: threads that share a cache meet first, then one of each
 * group.  `group`, the caller's memory, has the numbers of threads, else zeros.
 * Nobody may have come yet. */
void ls__barrier_split(ls__barrier *barrier, int groups, ls__meeting *group,
                       const int *of);
/* Set the spin count from now on; others may be waiting. */
void ls__barrier_spin(ls__barrier *barrier, int spins);
/* Close it, when no thread is at the barrier any more. */
void ls__barrier_close(ls__barrier *barrier);

/* Arrive as thread 0 .. n-1 (of one that is not split, any number), and return
 * when all n have arrived.  Usable again at once. */
void ls__barrier_wait(ls__barrier *barrier, int thread);
/* Arrive without waiting for the others.  The thread must not come to this
 * barrier again before it has learned, by other means, that all arrived. */
void ls__barrier_arrive(ls__barrier *barrier, int thread);

#endif
