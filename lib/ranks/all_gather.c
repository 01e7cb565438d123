/* SPDX-License-Identifier: BSD-3-Clause */
/* Which sections are updated, and their going; and what is packed meanwhile.  A
 * counter for each worker is all that is shared: its release says that the
 * worker's part of so many sections is written. */
#include "together/giving.h"
#include "rank/link.h"
#include "together/ranks.h"

#include <stdatomic.h>
#include <stdlib.h>

/* A cache line each, since all workers count at once. */
typedef struct counter {
    _Alignas(64) atomic_int done;
} counter;

struct ls__giving {
    ls__ranks *ranks;
    ls__model *model;
    ls__owned owned;
    int workers;
    int sections;
    int next, early;  /* sections that have gone, of them before worker 0 had
                         updated its part of all: worker 0's */
    int status;       /* of what was sent, worker 0's */
    counter *updated; /* [worker] */
    bool *ready;      /* of the model's weights */
    int64_t pack;     /* that is being written early, or -1, and its columns */
    int64_t column;   /* that are */
};

static int make_ready(ls__giving *g)
{
    const ls__plan *plan = g->model->plan;

    if (!plan || !plan->packs)
        return 0;
    g->ready = ls__new((size_t)plan->packs, sizeof(bool), "sections");
    g->model->weights.ready = g->ready;
    return g->ready ? 0 : LS_ENOMEM;
}

static int open_giving(void **own, const ls__rig *rig)
{
    ls__giving *g = *own = ls__new(1, sizeof *g, "sections");

    if (!g)
        return LS_ENOMEM;
    *g = (ls__giving){.ranks = rig->ranks, .model = rig->model,
                      .owned = rig->owned, .workers = rig->workers};
    g->ranks->giving = g;
    g->sections = ls__sections(g->owned.floats, g->owned.ranks);
    g->updated = ls__block_zero((size_t)g->workers * sizeof *g->updated,
                                "sections");
    return g->updated ? make_ready(g) : LS_ENOMEM;
}

static void close_giving(void *own)
{
    ls__giving *g = own;

    ls__block_free(g->updated);
    free(g->ready);
    free(g);
}

int ls__giving_early(const ls__giving *g)
{
    return g->early;
}

int64_t ls__giving_packed(const ls__giving *g)
{
    int64_t n = 0;

    for (int64_t i = 0; g->ready && i < g->model->plan->packs; i++)
        n += g->ready[i];
    return n;
}

void ls__giving_begin(ls__giving *g)
{
    g->next = g->early = g->status = 0;
    g->pack = -1;
    for (int w = 0; w < g->workers; w++)
        atomic_store_explicit(&g->updated[w].done, 0, memory_order_relaxed);
}

static int begin(void *own, ls__step *s)
{
    if (s->pass->updates)
        ls__giving_begin(own);
    return 0;
}

/* Worker 0 sends the sections before `end`. */
static void give_to(ls__giving *g, int end)
{
    for (; g->next < end && g->status >= 0; g->next++)
        g->status = ls__exchange_give(&g->ranks->exchange, g->model->value,
                                      g->next);
}

static int updated(const ls__giving *g)
{
    int least = g->sections;

    for (int w = 0; w < g->workers; w++) {
        int n = atomic_load_explicit(&g->updated[w].done,
                                     memory_order_acquire);

        least = n < least ? n : least;
    }
    return least;
}

/* A worker has updated its part of so many sections. */
static void count(void *own, ls__step *s, int worker, int sections)
{
    ls__giving *g = own;

    atomic_store_explicit(&g->updated[worker].done, sections,
                          memory_order_release);
    if (worker != 0 || s->checked) /* nothing goes before the check */
        return;
    give_to(g, updated(g));
    if (sections < g->sections)
        g->early = g->next;
    if (g->next > 0 && g->status >= 0)
        g->status = ls__link_move(g->ranks->link);
}

const ls__rider ls__giving_rider = {
    .name = "giving", .wants = ls__ranks_share, .open = open_giving,
    .close = close_giving, .begin = begin, .passed = count};

/* The first weights that are not packed and whose parameter is among the first
 * floats; -1: there are none. */
static int64_t next_pack(const ls__giving *g, int64_t floats)
{
    const ls__plan *plan = g->model->plan;

    for (int64_t i = 0; i < plan->packs; i++) {
        const ls__slot *s =
            ls__params_declared(&g->model->params,
                                plan->pack[i].node->param[0]);

        if (!g->ready[i] && s->offset + s->size <= floats)
            return i;
    }
    return -1;
}

/* Weights of which all has arrived, in the sections that have; -1: none. */
static int64_t arrived_pack(const ls__giving *g)
{
    int n = ls__exchange_arrived(&g->ranks->exchange, g->sections);

    return n ? next_pack(g, ls__section(g->owned.floats, g->owned.ranks,
                                        n - 1).last)
             : -1;
}

/* While others travel: pack what is there, a piece of it. */
static bool pack_some(void *user)
{
    ls__giving *g = user;

    if (g->pack < 0) {
        g->pack = arrived_pack(g);
        g->column = 0;
    }
    if (g->pack < 0)
        return false;
    if (ls__exec_pack_columns(g->model->plan, &g->model->weights, g->pack,
                              &g->column))
        g->pack = -1;
    return true;
}

int ls__giving_rest(ls__giving *g)
{
    give_to(g, g->sections);
    return g->status < 0 ? g->status
                         : ls__link_wait_at_work(g->ranks->link,
                                                 g->ready ? pack_some : NULL,
                                                 g);
}
