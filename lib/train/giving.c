/* Which sections are updated, and their going.  A counter for each worker is
 * all that is shared: its release says that the worker's part of so many
 * sections is written. */
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
};

int ls__giving_open(ls_trainer *t)
{
    ls__giving *g = t->giving = ls__new(1, sizeof *g, "sections");

    if (!g)
        return LS_ENOMEM;
    g->sections = ls__sections(t->owned.floats, t->owned.ranks);
    g->updated = ls__block_zero((size_t)t->workers * sizeof *g->updated,
                                "sections");
    return g->updated ? 0 : LS_ENOMEM;
}

void ls__giving_close(ls__giving *g)
{
    if (!g)
        return;
    ls__block_free(g->updated);
    free(g);
}

int ls__giving_early(const ls_trainer *t)
{
    return t->giving->early;
}

void ls__giving_begin(const ls_trainer *t)
{
    ls__giving *g = t->giving;

    g->next = g->early = g->status = 0;
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

int ls__giving_rest(const ls_trainer *t)
{
    ls__giving *g = t->giving;

    give_to(t, g->sections);
    return g->status < 0 ? g->status : t->seam->values(t->seam->user);
}
