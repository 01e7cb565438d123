/* Which sections are updated, and their going; and what is packed meanwhile.  A
 * counter for each worker is all that is shared: its release says that the
 * worker's part of so many sections is written. */
#include "train/giving.h"
#include "train/seam.h"
#include "train/trainer.h"

#include <stdatomic.h>
#include <stdlib.h>

/* A cache line each, since all workers count at once. */
typedef struct counter {
    _Alignas(64) atomic_int done;
} counter;

struct ls__giving {
    int sections;
    int next, early;  /* sections that have gone, of them before worker 0 had
                         updated its part of all: worker 0's */
    int status;       /* of the seam, worker 0's */
    counter *updated; /* [worker] */
    bool *ready;      /* of the model's weights */
    int64_t pack;     /* that is being written early, or -1, and its columns */
    int64_t column;   /* that are */
};

static int make_ready(ls_trainer *t)
{
    const ls__plan *plan = t->model.plan;

    if (!plan || !plan->packs)
        return 0;
    t->giving->ready = ls__new((size_t)plan->packs, sizeof(bool), "sections");
    t->model.weights.ready = t->giving->ready;
    return t->giving->ready ? 0 : LS_ENOMEM;
}

int ls__giving_open(ls_trainer *t)
{
    ls__giving *g = t->giving = ls__new(1, sizeof *g, "sections");

    if (!g)
        return LS_ENOMEM;
    g->sections = ls__sections(t->owned.floats, t->owned.ranks);
    g->updated = ls__block_zero((size_t)t->workers * sizeof *g->updated,
                                "sections");
    return g->updated ? make_ready(t) : LS_ENOMEM;
}

void ls__giving_close(ls__giving *g)
{
    if (!g)
        return;
    ls__block_free(g->updated);
    free(g->ready);
    free(g);
}

int ls__giving_early(const ls_trainer *t)
{
    return t->giving->early;
}

int64_t ls__giving_packed(const ls_trainer *t)
{
    int64_t n = 0;

    for (int64_t i = 0; t->giving->ready && i < t->model.plan->packs; i++)
        n += t->giving->ready[i];
    return n;
}

void ls__giving_begin(const ls_trainer *t)
{
    ls__giving *g = t->giving;

    g->next = g->early = g->status = 0;
    g->pack = -1;
    for (int w = 0; w < t->workers; w++)
        atomic_store_explicit(&g->updated[w].done, 0, memory_order_relaxed);
}

/* Worker 0 hands over the sections before `end`. */
static void give_to(const ls_trainer *t, int end)
{
    ls__giving *g = t->giving;
    const ls__seam *seam = t->seam;

    for (; g->next < end && g->status >= 0; g->next++)
        g->status = seam->give(seam->user, t->model.value, g->next);
}

static int updated(const ls_trainer *t)
{
    int least = t->giving->sections;

    for (int w = 0; w < t->workers; w++) {
        int n = atomic_load_explicit(&t->giving->updated[w].done,
                                     memory_order_acquire);

        least = n < least ? n : least;
    }
    return least;
}

void ls__giving_count(const ls_trainer *t, int worker, int sections)
{
    ls__giving *g = t->giving;

    atomic_store_explicit(&g->updated[worker].done, sections,
                          memory_order_release);
    if (worker != 0)
        return;
    give_to(t, updated(t));
    if (sections < g->sections)
        g->early = g->next;
    if (g->next > 0 && g->status >= 0)
        g->status = t->seam->move(t->seam->user);
}

/* The first weights that are not packed and whose parameter is among the first
 * floats; -1: there are none. */
static int64_t next_pack(const ls_trainer *t, int64_t floats)
{
    const ls__plan *plan = t->model.plan;

    for (int64_t i = 0; i < plan->packs; i++) {
        const ls__slot *s =
            ls__params_declared(&t->model.params, plan->pack[i].param);

        if (!t->giving->ready[i] && s->offset + s->size <= floats)
            return i;
    }
    return -1;
}

/* Weights of which all has arrived, in the sections that have; -1: none. */
static int64_t arrived_pack(const ls_trainer *t)
{
    int n = t->seam->arrived(t->seam->user, t->giving->sections);

    return n ? next_pack(t, ls__section(t->owned.floats, t->owned.ranks,
                                        n - 1).last)
             : -1;
}

/* While others travel: pack what is there, a piece of it. */
static bool pack_some(void *user)
{
    const ls_trainer *t = user;
    ls__giving *g = t->giving;

    if (g->pack < 0) {
        g->pack = arrived_pack(t);
        g->column = 0;
    }
    if (g->pack < 0)
        return false;
    if (ls__exec_pack_columns(t->model.plan, &t->model.weights, g->pack,
                              &g->column))
        g->pack = -1;
    return true;
}

int ls__giving_rest(ls_trainer *t)
{
    ls__giving *g = t->giving;

    give_to(t, g->sections);
    return g->status < 0 ? g->status
                         : t->seam->values(t->seam->user,
                                           g->ready ? pack_some : NULL, t);
}
