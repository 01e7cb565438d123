/* SPDX-License-Identifier: BSD-3-Clause */
/* All-gather of updated parameters in sections (buckets), overlapped with the
 * update, and packing of weights meanwhile.  Workers share a counter each: its
 * release says that the worker's part of so many sections is written. */
#include "ranks/all_gather.h"
#include "base/assert.h"
#include "ranks/link.h"
#include "ranks/ranks.h"

#include <stdatomic.h>
#include <stdlib.h>

/* A cache line each, since all workers count at once. */
typedef struct counter {
    _Alignas(64) atomic_int done;
} counter;

_Static_assert(sizeof(counter) == 64, "no two workers share a cache line");

struct ls__all_gather {
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
    int64_t pack;     /* being written early, or -1, and its columns */
    int64_t column;   /* being written */
};

static int make_ready(ls__all_gather *g)
{
    const ls__plan *plan = g->model->plan;

    if (!plan || !plan->packs.n)
        return 0;
    g->ready = ls__new((size_t)plan->packs.n, sizeof(bool), "sections");
    g->model->weights.ready = g->ready;
    return g->ready ? 0 : LS_ENOMEM;
}

static int open_all_gather(void **own, const ls__rig *rig)
{
    ls__all_gather *g = *own = ls__new(1, sizeof *g, "sections");

    if (!g)
        return LS_ENOMEM;
    *g = (ls__all_gather){.ranks = rig->ranks, .model = rig->model,
                      .owned = rig->owned, .workers = rig->workers};
    g->ranks->all_gather = g;
    g->sections = ls__sections(g->owned.floats, g->owned.ranks);
    g->updated = ls__block_zero((size_t)g->workers * sizeof *g->updated,
                                "sections");
    return g->updated ? make_ready(g) : LS_ENOMEM;
}

static void close_all_gather(void *own)
{
    ls__all_gather *g = own;

    ls__block_free(g->updated);
    free(g->ready);
    free(g);
}

int ls__all_gather_early(const ls__all_gather *g)
{
    return g->early;
}

int64_t ls__all_gather_packed(const ls__all_gather *g)
{
    int64_t n = 0;

    for (int64_t i = 0; g->ready && i < g->model->plan->packs.n; i++)
        n += g->ready[i];
    return n;
}

void ls__all_gather_begin(ls__all_gather *g)
{
    g->next = g->early = g->status = 0;
    g->pack = -1;
    for (int w = 0; w < g->workers; w++)
        atomic_store_explicit(&g->updated[w].done, 0, memory_order_relaxed);
}

static int begin(void *own, ls__step *s)
{
    if (s->pass->updates)
        ls__all_gather_begin(own);
    return 0;
}

/* Worker 0 sends the sections before `end`. */
static void give_to(ls__all_gather *g, int end)
{
    for (; g->next < end && g->status >= 0; g->next++)
        g->status = ls__exchange_give(&g->ranks->exchange, g->model->value,
                                      g->next);
}

static int updated(const ls__all_gather *g)
{
    int least = g->sections;

    for (int w = 0; w < g->workers; w++) {
        int n = atomic_load_explicit(&g->updated[w].done,
                                     memory_order_acquire);

        least = n < least ? n : least;
    }
    LS__ASSERT(least >= g->next || g->next == g->sections);
    return least;
}

/* A worker has updated its part of the first sections. */
static void count(void *own, ls__step *s, int worker, int sections)
{
    ls__all_gather *g = own;

    LS__ASSERT(worker < g->workers && sections <= g->sections);
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

const ls__hook ls__all_gather_hook = {
    .name = "all-gather", .wants = ls__ranks_share, .open = open_all_gather,
    .close = close_all_gather, .begin = begin, .passed = count};

/* The first weights that are not packed yet, with their parameter among the
 * first floats; -1: there are none. */
static int64_t next_pack(const ls__all_gather *g, int64_t floats)
{
    const ls__plan *plan = g->model->plan;

    for (int64_t i = 0; i < plan->packs.n; i++) {
        const ls__slot *s =
            ls__params_declared(&g->model->params,
                                plan->packs.of[i].node->param[0]);

        if (!g->ready[i] && s->offset + s->size <= floats)
            return i;
    }
    return -1;
}

/* Weights that have arrived whole, in the sections that have; -1: none. */
static int64_t arrived_pack(const ls__all_gather *g)
{
    int n = ls__exchange_arrived(&g->ranks->exchange, g->sections);

    return n ? next_pack(g, ls__section(g->owned.floats, g->owned.ranks,
                                        n - 1).last)
             : -1;
}

/* Pack a piece of what is there, while other weights travel. */
static bool pack_some(void *user)
{
    ls__all_gather *g = user;

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

int ls__all_gather_rest(ls__all_gather *g)
{
    give_to(g, g->sections);
    return g->status < 0 ? g->status
                         : ls__link_wait_at_work(g->ranks->link,
                                                 g->ready ? pack_some : NULL,
                                                 g);
}
