/* SPDX-License-Identifier: BSD-3-Clause */
/* See votes.h. */
#include "heal/votes.h"
#include "base/assert.h"

/* Two that differ vote in turn: rounds 0 and 2 are the owner's, 1 and 3 the
 * other's. */
static bool owner_repeats(const ls__ballot *b)
{
    return b->vote[0] == b->vote[2];
}

static bool other_repeats(const ls__ballot *b)
{
    return b->vote[1] == b->vote[3];
}

/* The last round is the owner's where it alone repeats itself: the memory holds
 * what the other one left. */
static int voter_of_two(const ls__ballot *b, int owner, int round)
{
    if (round == LS__ROUNDS - 1)
        return owner_repeats(b) && !other_repeats(b) ? owner : -1;
    return round % 2 ? 1 - owner : owner;
}

static int witness(const ls__jury *of, int owner, int i)
{
    return of->elsewhere ? of->workers : (owner + i) % of->workers;
}

int ls__votes_voter(const ls__jury *of, const ls__ballot *b, int owner,
                    int round)
{
    int others = of->workers - 1;

    LS__ASSERT(owner >= 0 && owner < of->workers);
    LS__ASSERT(round >= 0 && round < LS__VOTES);
    if (round >= LS__ROUNDS)
        return witness(of, owner, round - LS__ROUNDS);
    if (round == 0 || others == 0)
        return owner;
    if (others == 1)
        return voter_of_two(b, owner, round);
    return (owner + 1 + (of->shift + round - 2) % others) % of->workers;
}

static bool decide_two(const ls__ballot *b, int rounds, uint64_t *right)
{
    if (rounds >= LS__ROUNDS - 1 && other_repeats(b) && !owner_repeats(b)) {
        *right = b->vote[1];
        return true;
    }
    if (rounds >= LS__ROUNDS && owner_repeats(b) && !other_repeats(b) &&
        b->vote[LS__ROUNDS - 1] == b->vote[0]) {
        *right = b->vote[0];
        return true;
    }
    return false;
}

/* Did the two rounds' votes come from different cores (if there are two)? */
static bool are_two(const ls__jury *of, const ls__ballot *b, int owner, int i,
                    int j)
{
    int one = ls__votes_voter(of, b, owner, i);
    int other = ls__votes_voter(of, b, owner, j);

    return one >= 0 && other >= 0 && (of->cores == 1 || one != other);
}

bool ls__votes_decide(const ls__jury *of, const ls__ballot *b, int owner,
                      int rounds, uint64_t *right)
{
    for (int j = 1; j < rounds; j++)
        for (int i = 0; i < j; i++) {
            if (b->vote[i] != b->vote[j] || !are_two(of, b, owner, i, j))
                continue;
            *right = b->vote[j];
            return true;
        }
    return of->workers == 2 && of->cores > 1 && decide_two(b, rounds, right);
}
