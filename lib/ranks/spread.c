/* SPDX-License-Identifier: BSD-3-Clause */
/* See spread.h. */
#include "ranks/spread.h"
#include "base/assert.h"
#include "base/error.h"
#include "ranks/link.h"
#include "ranks/ranks.h"
#include "train/trainer.h"

#include <stdio.h>

static int first_failure(const ls__word *of, int ranks, int me)
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

    LS__ASSERT(link->rank >= 0 && link->rank < link->ranks);
    mine->status = status;
    if (status < 0)
        snprintf(mine->message, sizeof mine->message, "%s", ls_errmsg());
    status = ls__link_gather_each(link, of, sizeof *of);
    return status < 0 ? status : first_failure(of, link->ranks, link->rank);
}

int ls__spread_agree(const ls_trainer *t, int status)
{
    return t->ranks ? agree(t->ranks->link, status, t->ranks->word) : status;
}
