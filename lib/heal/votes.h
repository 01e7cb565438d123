/* SPDX-License-Identifier: BSD-3-Clause */
/* Majority vote of workers that compute the same thing one after the other into
 * the same memory.  A vote is the digest of that memory after a worker's turn,
 * so when two agree the memory holds what they agree on. */
#ifndef LS_HEAL_VOTES_H
#define LS_HEAL_VOTES_H

#include <stdbool.h>
#include <stdint.h>

/* Rounds: the owner's vote, another's, and three more where these differ.  Then
 * there may be two witnesses, threads that are no workers. */
enum { LS__ROUNDS = 5, LS__VOTES = 7 };

_Static_assert(LS__VOTES == LS__ROUNDS + 2, "two witnesses");

typedef struct ls__ballot {
    uint64_t vote[LS__VOTES];
} ls__ballot;

/* The order of those who compute. */
typedef struct ls__jury {
    int workers, shift; /* worker w is checked by w + shift, 1 .. workers-1 */
    int cores;         /* on how many different ones they run */
    bool elsewhere;    /* witnesses run on a core that no worker has; or else
                          one on the owner's, one on the next worker's */
} ls__jury;

/* The worker that votes in a round, after those before it; -1: nobody, it stays
 * undecided.  The owner's is round 0.  A witness votes as the worker on its
 * core, or as a number that no worker has. */
int ls__votes_voter(const ls__jury *of, const ls__ballot *b, int owner,
                    int round);

/* Is it decided after these rounds, and for what?  Two workers must agree.  If
 * they do not, the one that repeats itself is right if the other does not; a
 * single worker must repeat itself. */
bool ls__votes_decide(const ls__jury *of, const ls__ballot *b, int owner,
                      int rounds, uint64_t *right);

#endif
