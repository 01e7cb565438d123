/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of a trainer, from its owners to the first rank and back. */
#include "together/spread.h"
#include "base/error.h"
#include "rank/link.h"
#include "together/ranks.h"
#include "train/trainer.h"

#include <stdio.h>
#include <string.h>

enum { FIRST = 0 };

bool ls__spread_is(const ls_trainer *t)
{
    return t->ranks != NULL;
}

bool ls__spread_first(const ls_trainer *t)
{
    return !t->ranks || t->ranks->link->rank == FIRST;
}

/* ------ one verdict ------ */

static int judge(const ls__word *of, int ranks, int me)
{
    for (int r = 0; r < ranks; r++)
        if (of[r].status < 0)
            return r == me ? ls__fail(of[r].status, "%.*s", LS__MESSAGE - 1,
                                      of[r].message)
                           : ls__fail(of[r].status, "rank %d: %.*s", r,
                                      LS__MESSAGE - 16, of[r].message);
    return 0;
}

static int agree(const ls_transport *link, int status, ls__word *of)
{
    ls__word *mine = &of[link->rank];

    mine->status = status;
    if (status < 0)
        snprintf(mine->message, sizeof mine->message, "%s", ls_errmsg());
    status = ls__link_gather_each(link, of, sizeof *of);
    return status < 0 ? status : judge(of, link->ranks, link->rank);
}

int ls__spread_agree(const ls_trainer *t, int status)
{
    return ls__spread_is(t) ? agree(t->ranks->link, status, t->ranks->word)
                            : status;
}

/* ------ moments ------ */

static ls__owned owned(const ls_trainer *t, int rank)
{
    return (ls__owned){t->model.params.floats, rank, t->owned.ranks};
}

/* Post what another rank owns, stretch by stretch; the first rank has all of
 * it where the layout has it, the other one without gaps. */
static int post(const ls_transport *link, const ls__owned *o,
                int (*to_or_from)(const ls_transport *t, int rank, float *data,
                                  int64_t bytes),
                float *all, float *compact)
{
    int status = 0;

    for (ls__stretch s = {0}; status == 0 && ls__owned_next(o, &s);)
        status = to_or_from(link, all ? o->rank : FIRST,
                            all ? all + s.range.first : compact + s.at,
                            (s.range.last - s.range.first) *
                                (int64_t)sizeof(float));
    return status;
}

static int send_to(const ls_transport *t, int rank, float *data, int64_t bytes)
{
    return ls__link_send(t, rank, data, bytes);
}

static int receive_from(const ls_transport *t, int rank, float *data,
                        int64_t bytes)
{
    return ls__link_receive(t, rank, data, bytes);
}

int ls__spread_collect(const ls_trainer *t, int moment, float *all)
{
    const ls_transport *link = t->ranks->link;
    int status = 0;

    if (link->rank == FIRST)
        ls__owned_put(&t->owned, t->moment[moment], all);
    else
        status = post(link, &t->owned, send_to, NULL, t->moment[moment]);
    for (int r = 1; link->rank == FIRST && r < link->ranks && status == 0;
         r++) {
        ls__owned o = owned(t, r);

        status = post(link, &o, receive_from, all, NULL);
    }
    return status < 0 ? status : ls__link_wait(link);
}

int ls__spread_deal(ls_trainer *t, int moment, const float *all)
{
    const ls_transport *link = t->ranks->link;
    int status = 0;

    if (link->rank == FIRST)
        ls__owned_take(&t->owned, all, t->moment[moment]);
    else
        status = post(link, &t->owned, receive_from, NULL, t->moment[moment]);
    for (int r = 1; link->rank == FIRST && r < link->ranks && status == 0;
         r++) {
        ls__owned o = owned(t, r);

        status = post(link, &o, send_to, (float *)all, NULL);
    }
    return status < 0 ? status : ls__link_wait(link);
}

int ls__spread_tell(const ls_trainer *t, void *data, int64_t bytes)
{
    const ls_transport *link = t->ranks->link;
    int status = 0;

    if (link->rank != FIRST)
        status = ls__link_receive(link, FIRST, data, bytes);
    for (int r = 1; link->rank == FIRST && r < link->ranks && status == 0; r++)
        status = ls__link_send(link, r, data, bytes);
    return status < 0 ? status : ls__link_wait(link);
}
