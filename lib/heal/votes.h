/* SPDX-License-Identifier: BSD-3-Clause */
/* Who is right, where several workers compute the same thing one after the
 * other into the same memory.  A vote is the digest of what is there after a
 * worker's turn, so when two agree the memory holds what they agree on. */
#ifndef LS_HEAL_VOTES_H
#define LS_HEAL_VOTES_H

#include <stdbool.h>
#include <stdint.h>

/* Rounds: the owner's vote, another's, and three more where these differ.  Then
 * there may be two witnesses, threads that are no workers. */
enum { LS__ROUNDS = 5, LS__VOTES = 7 };

typedef struct ls__ballot {
    uint64_t vote[LS__VOTES];
} ls__ballot;

/* Who computes when. */
typedef struct ls__jury {
    int workers, turn; /* worker w is checked by w + turn, 1 .. workers-1 */
    int cores;         /* on how many different ones they run */
    bool elsewhere;    /* witnesses run on a core that no worker has; or else
                          one on the owner's, one on the next worker's */
} ls__jury;

/* The worker whose vote a round is, after those before it; -1: nobody's, it
 * stays undecided.  The owner's is round 0.  A witness votes as the worker
 * whose core it has, or as a number that no worker has. */
int ls__votes_voter(const ls__jury *of, const ls__ballot *b, int owner,
                    int round);

/* Is it decided after so many rounds, and for what?  Two workers must agree; of
 * two workers that do not, the one that repeats itself is right if the other
 * does not; a single one must repeat itself. */
bool ls__votes_decide(const ls__jury *of, const ls__ballot *b, int owner,
                      int rounds, uint64_t *right);

#endif
