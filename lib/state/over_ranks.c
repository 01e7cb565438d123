/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of a trainer, from its owners to the first rank and back. */
#include "state/over_ranks.h"
#include "base/assert.h"
#include "ranks/link.h"
#include "state/trainer_state.h"

enum { FIRST = 0 };

bool ls__spread_is(const ls_trainer *t)
{
    return ls__state_of(t).link != NULL;
}

bool ls__spread_first(const ls_trainer *t)
{
    const ls_transport *link = ls__state_of(t).link;

    return !link || link->rank == FIRST;
}

/* ------ moments ------ */

static ls__owned owned(const ls__state *is, int rank)
{
    return (ls__owned){is->layout->floats, rank, is->owned.ranks};
}

/* Send or receive what another rank owns, stretch by stretch; the first rank
 * has all of it where the layout has it, the other one without gaps. */
static int post(const ls_transport *link, const ls__owned *o, bool sends,
                float *all, float *compact)
{
    int status = 0;

    for (ls__stretch s = {0}; status == 0 && ls__owned_next(o, &s);) {
        float *data = all ? all + s.range.first : compact + s.at;
        int64_t bytes = 4 * (s.range.last - s.range.first);
        int rank = all ? o->rank : FIRST;

        status = sends ? ls__link_send(link, rank, data, bytes)
                       : ls__link_receive(link, rank, data, bytes);
    }
    return status;
}

/* Post to or from every other rank what it owns of `all`, on the first rank;
 * on another one what is its own.  Then wait for it. */
static int post_all(const ls__state *is, bool sends, float *all, float *own)
{
    const ls_transport *link = is->link;
    int status = 0;

    if (link->rank != FIRST)
        status = post(link, &is->owned, sends, NULL, own);
    for (int r = 1; link->rank == FIRST && r < link->ranks && status == 0;
         r++) {
        ls__owned o = owned(is, r);

        status = post(link, &o, sends, all, NULL);
    }
    return status < 0 ? status : ls__link_wait(link);
}

int ls__spread_collect(const ls_trainer *t, int moment, float *all)
{
    const float *own = ls__state_block(t, moment + 1);
    ls__state is = ls__state_of(t);

    LS__ASSERT(is.link);

    bool first = is.link->rank == FIRST;

    if (first)
        ls__owned_put(&is.owned, own, all);
    return post_all(&is, !first, all, (float *)own);
}

int ls__spread_deal(ls_trainer *t, int moment, const float *all)
{
    float *own = ls__state_write(t, moment + 1);
    ls__state is = ls__state_of(t);
    bool first = is.link->rank == FIRST;

    if (first)
        ls__owned_take(&is.owned, all, own);
    return post_all(&is, first, (float *)all, own);
}

int ls__spread_tell(const ls_trainer *t, void *data, int64_t bytes)
{
    const ls_transport *link = ls__state_of(t).link;
    int status = 0;

    if (link->rank != FIRST)
        status = ls__link_receive(link, FIRST, data, bytes);
    for (int r = 1; link->rank == FIRST && r < link->ranks && status == 0; r++)
        status = ls__link_send(link, r, data, bytes);
    return status < 0 ? status : ls__link_wait(link);
}
