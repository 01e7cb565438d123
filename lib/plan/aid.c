/* SPDX-License-Identifier: BSD-3-Clause */
/* See aid.h.  A helper takes a place by adding itself to `helpers`, which fails
 * once that is closed; so whoever closes it knows all who came, and opens the
 * gate of each of them once more.  Before that, only gates of places that are
 * taken are opened, and by whoever is helped; a helper remembers in its place
 * what it has seen of the gate, for whoever has the place next. */
#include "plan/aid.h"
#include "base/error.h"
#include "base/least.h"
#include "base/memory.h"

enum {
    CLOSED = 1 << 16,
    LEAST = 1 << 19, /* operations of one operator that pay for a call */
    HELPERS = 15
};

/* A helper's place; both gates are opened by one thread each. */
typedef struct ls__helper {
    _Alignas(64) ls__gate start; /* by whoever is helped: there is something */
    unsigned seen;               /* of start, by the helper */
    _Alignas(64) ls__gate done;  /* by the helper */
    unsigned from;               /* its generation before */
} helper;

int ls__aids_open(ls__aid **aids, const ls_pool *pool)
{
    size_t n = (size_t)ls_pool_workers(pool);
    ls__aid *a = ls__block_zero(
        n * (sizeof *a + HELPERS * sizeof *a->helper), "aid");

    if (!a)
        return LS_ENOMEM;
    for (size_t w = 0; w < n; w++) {
        a[w].pool = pool;
        a[w].helper = (helper *)(a + n) + w * HELPERS;
        atomic_init(&a[w].helpers, CLOSED);
        for (int k = 0; k < HELPERS; k++)
            a[w].helper[k].seen = ls__gate_now(&a[w].helper[k].start);
    }
    *aids = a;
    return 0;
}

void ls__aids_close(ls__aid *aids)
{
    ls__block_free(aids);
}

void ls__aid_open(ls__aid *a, const ls__plan *plan, int64_t rows)
{
    int64_t most = ls__least(ls__least(rows, plan->chunk_rows) - 1, HELPERS);

    if (most < 1 || (!a->always && (plan->work * (double)rows < LEAST ||
                                    !ls__pool_spins(a->pool))))
        return;
    a->most = (unsigned)most;
    /* release: a helper that sees it open sees the number of places, too */
    atomic_store_explicit(&a->helpers, 0, memory_order_release);
}

void ls__aid_close(ls__aid *a)
{
    /* acquire: the places of those who came are as they were left */
    unsigned n = atomic_exchange_explicit(&a->helpers, CLOSED,
                                          memory_order_acquire);

    a->work = NULL;
    for (unsigned k = 0; n < CLOSED && k < n; k++)
        ls__gate_open(&a->helper[k].start);
}

/* ------ a part of an operator ------ */

/* Turns of one chunk alone, shared out in order. */
typedef struct share {
    ls__turns is; /* first */
    unsigned number, of, mine;
} share;

static bool is_mine(ls__turns *turns)
{
    share *s = (share *)turns;

    return s->number++ % s->of == s->mine;
}

static void pass(ls__turns *turns)
{
    (void)turns;
}

static void run_part(ls__aid *a, int part, float *scratch)
{
    ls__work w = *a->work;
    unsigned parts = (unsigned)a->parts;
    share s = {{is_mine, pass, parts}, 0, parts, (unsigned)part};

    w.scratch = scratch;
    w.of.turns = &s.is;
    ls__work_cut(&w, &a->fence, a->parts, part);
    (a->back ? ls__work_backward : ls__work_forward)(&w, a->in);
}

/* May an operator be shared, and is it worth it?  Forward and backward may be
 * cut otherwise; bits that dropout keeps of several rows in a word lie by the
 * cut.  Gradients of parameters that are not made in several turns would be one
 * worker's, and apart from the others. */
static bool pays(const ls__work *c, const ls__instr *in, bool back)
{
    const ls__op *op = in->node->op;

    return op->cuts == 1 && !(back && in->node->params && !op->turns) &&
           (c->context->aid->always || in->work * (double)c->rows >= LEAST);
}

/* The fewest parts, of so many at most, of which the largest is the least. */
static int parts_of(const ls__work *c, int most)
{
    int64_t units = (c->rows - 1) / c->plan->unit + 1;
    int64_t each = (units - 1) / most + 1;

    return (int)((units - 1) / each + 1);
}

static unsigned helpers_of(ls__aid *a)
{
    /* acquire: their places are as those who had them last left them */
    unsigned n = atomic_load_explicit(&a->helpers, memory_order_acquire);

    return n < CLOSED ? n : 0;
}

bool ls__aid_run(const ls__work *c, const ls__instr *in, bool back)
{
    ls__aid *a = c->context->aid;
    unsigned n = a && !c->of.turns && !c->of.surveyed ? helpers_of(a) : 0;
    int parts = n && pays(c, in, back) ? parts_of(c, (int)n + 1) : 1;

    if (parts == 1 ||
        ls__barrier_open(&a->fence, parts, ls__pool_spins(a->pool)) < 0)
        return false;
    a->work = c;
    a->in = in;
    a->back = back;
    a->parts = parts;
    a->calls++;
    for (int k = 0; k < parts - 1; k++) {
        a->helper[k].from = ls__gate_now(&a->helper[k].done);
        ls__gate_open(&a->helper[k].start);
    }
    run_part(a, 0, c->scratch);
    for (int k = 0; k < parts - 1; k++)
        ls__gate_reach(&a->helper[k].done, a->helper[k].from, 1,
                       ls__pool_spins(a->pool));
    return true;
}

/* ------ helpers ------ */

/* The one with the fewest helpers, the next workers first; NULL: none. */
static ls__aid *least_helped(ls__aid *aids, int worker, unsigned *helpers)
{
    int n = ls_pool_workers(aids->pool);
    ls__aid *found = NULL;

    *helpers = CLOSED;
    for (int i = 1; i < n; i++) {
        ls__aid *a = &aids[(worker + i) % n];
        unsigned has = atomic_load_explicit(&a->helpers, memory_order_acquire);

        if (has < *helpers && has < a->most) {
            *helpers = has;
            found = a;
        }
    }
    return found;
}

static void serve(ls__aid *a, int number, float *scratch)
{
    helper *h = &a->helper[number];

    for (;;) {
        ls__gate_wait(&h->start, h->seen, ls__pool_spins(a->pool));
        h->seen = ls__gate_now(&h->start);
        if (!a->work)
            return;
        run_part(a, number + 1, scratch);
        ls__gate_open(&h->done);
    }
}

void ls__aid_give(ls__aid *aids, int worker, const ls__context *c, int member)
{
    float *scratch = ls__context_memory(c, member) + c->plan->scratch;
    unsigned has;

    for (ls__aid *a; (a = least_helped(aids, worker, &has));)
        if (atomic_compare_exchange_strong_explicit(
                &a->helpers, &has, has + 1, memory_order_acq_rel,
                memory_order_relaxed))
            serve(a, (int)has, scratch);
}
