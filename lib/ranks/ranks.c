/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening and closing what ranks share. */
#include "ranks/ranks.h"
#include "base/memory.h"

#include <stdlib.h>

static int fill(ls__ranks *r, int devices)
{
    int status = ls__exchange_open(&r->exchange, r->link, devices);
    size_t ranks = (size_t)r->link->ranks;

    if (status < 0)
        return status;
    r->bad = ls__new(ranks, sizeof *r->bad, "ranks");
    r->word = ls__new(ranks, sizeof *r->word, "words of ranks");
    return r->bad && r->word ? 0 : LS_ENOMEM;
}

int ls__ranks_open(ls__ranks **ranks, const ls_transport *transport,
                   int devices)
{
    ls__ranks *r;
    int status;

    if (!(r = ls__new(1, sizeof *r, "ranks")))
        return LS_ENOMEM;
    r->link = transport;
    if ((status = fill(r, devices)) < 0) {
        ls__ranks_close(r);
        return status;
    }
    *ranks = r;
    return 0;
}

void ls__ranks_close(ls__ranks *r)
{
    if (!r)
        return;
    ls__exchange_close(&r->exchange);
    free(r->bad);
    free(r->word);
    free(r);
}

bool ls__ranks_share(const ls__rig *rig, ls__needs *needs)
{
    (void)needs;
    return rig->ranks;
}

static int size(void **own, const ls__rig *rig)
{
    (void)own;
    return ls__exchange_size(&rig->ranks->exchange, &rig->trained->runs,
                             rig->model->params.floats);
}

const ls__hook ls__ranks_size = {.name = "ranks", .wants = ls__ranks_share,
                                 .open = size};
