/* SPDX-License-Identifier: BSD-3-Clause */
/* A third opinion, where two workers each repeat their own: a thread that is
 * neither computes the part, on another core where there is one, and otherwise
 * once on the core of either. */
#include "base/assert.h"
#include "base/error.h"
#include "heal/heal.h"

typedef struct view {
    const ls__heal *h;
    ls__step *s;
    int kind, part;
    uint64_t digest;
} view;

/* Compute with the memory of worker 0, which waits. */
static void compute(void *user)
{
    view *v = user;

    ls__part_again(v->h, v->s, v->kind, v->part, 0);
    v->digest = ls__part_digest(v->h, v->s, v->kind, v->part);
}

static int pu_of(const ls__heal *h, int voter)
{
    return voter < h->workers ? ls__pool_pu(h->pool, voter)
                              : ls__pool_spare_pu(h->pool);
}

/* A vote like no other: there was no witness. */
static uint64_t unlike(const ls__ballot *b, int rounds)
{
    uint64_t vote = 0;

    for (int i = 0; i < rounds; i++)
        if (b->vote[i] == vote) {
            vote++;
            i = -1;
        }
    LS__ASSERT(vote <= (uint64_t)rounds);
    return vote;
}

void ls__witness(ls__heal *h, ls__step *s, int kind, int part)
{
    ls__ballot *b = &h->ballot[kind][part];
    int owner = ls__part_owner(h, s, kind, part);
    view v = {.h = h, .s = s, .kind = kind, .part = part};
    uint64_t right;

    for (int i = LS__ROUNDS; i < LS__VOTES; i++) {
        int pu = pu_of(h, ls__votes_voter(&h->jury, b, owner, i));

        if (ls__votes_decide(&h->jury, b, owner, i, &right))
            return;
        b->vote[i] = ls__pool_aside(h->pool, pu, compute, &v) < 0
                         ? unlike(b, i) : v.digest;
    }
}
