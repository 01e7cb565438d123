/* SPDX-License-Identifier: BSD-3-Clause */
/* Moving rows.  Whoever reduces a row finds out, from the gradient that all
 * workers, placements and ranks share, whether it moves; whoever updates it
 * reads that.  A row that crosses a border of blocks is two, so that no flag
 * has two writers. */
#include "hooks/step_hooks.h"
#include "base/assert.h"
#include "reduce/reduce.h"

enum { BLOCK = LS__REDUCE_BLOCK };

/* Pieces of a slot that a lazy update may skip; [piece] 1: it moves. */
typedef struct table {
    unsigned char *moves; /* NULL: all of the slot moves always */
    int64_t width;        /* of a row */
} table;

typedef struct lazy {
    const ls__params *params;
    table *slot; /* [slot] */
} lazy;

/* The number of the piece that float i is in: rows and borders of blocks
 * before it. */
static int64_t piece_of(const table *z, const ls__slot *p, int64_t i)
{
    LS__ASSERT(p->offset <= i && i < p->offset + p->size);
    return (i - p->offset) / z->width + i / BLOCK - p->offset / BLOCK;
}

/* The end of the piece that float i is in. */
static int64_t piece_end(const table *z, const ls__slot *p, int64_t i)
{
    int64_t row = p->offset + ((i - p->offset) / z->width + 1) * z->width;
    int64_t block = (i / BLOCK + 1) * BLOCK;

    return row < block ? row : block;
}

static int open_slot(ls__arena *arena, const ls__slot *p, table *z)
{
    size_t pieces;

    z->width = p->size / p->shape[0];
    pieces = (size_t)piece_of(z, p, p->offset + p->size - 1) + 1;
    z->moves = ls__arena_new(arena, pieces, 1);
    return z->moves ? 0 : LS_ENOMEM;
}

static bool wants(const ls__rig *rig, ls__needs *needs)
{
    const ls_optimizer *o = &rig->options->optimizer;

    (void)needs;
    return o->kind == LS_ADAM && o->lazy != 0 && rig->model->plan;
}

static int open_lazy(void **own, const ls__rig *rig)
{
    const ls__params *params = &rig->model->params;
    lazy *l = *own = ls__arena_new(rig->arena, 1, sizeof *l);
    int status = 0;

    if (!l)
        return LS_ENOMEM;
    l->params = params;
    l->slot = ls__arena_new(rig->arena, (size_t)params->count, sizeof *l->slot);
    if (!l->slot)
        return LS_ENOMEM;
    for (int i = 0; i < params->count && status == 0; i++)
        if (rig->model->plan->param[params->slot[i].declared].is_table)
            status = open_slot(rig->arena, &params->slot[i], &l->slot[i]);
    return status;
}

static bool is_zero(const float *g, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (g[i] != 0) /* NaN too */
            return false;
    return true;
}

static void look_at_slot(const lazy *l, int slot, const float *gradient,
                         ls__range block, bool rests)
{
    const ls__slot *p = &l->params->slot[slot];
    const table *z = &l->slot[slot];
    ls__range r = ls__range_common(
        block, (ls__range){p->offset, p->offset + p->size});

    for (int64_t i = r.first, end; i < r.last; i = end) {
        end = piece_end(z, p, i);
        end = end < r.last ? end : r.last;
        z->moves[piece_of(z, p, i)] =
            !rests && !is_zero(gradient + i, end - i);
    }
}

/* Different blocks may be looked at at once.  Of zeros none moves. */
static void look(void *own, const ls__step *s, ls__range block, bool zeros)
{
    const lazy *l = own;

    for (int i = 0; i < l->params->count; i++)
        if (l->slot[i].moves)
            look_at_slot(l, i, s->gradient, block, zeros);
}

static bool next(void *own, const ls__patch *b, ls__range *run)
{
    const lazy *l = own;
    const ls__slot *p = &l->params->slot[b->slot];
    const table *z = &l->slot[b->slot];
    int64_t i = run->last, last = b->range.last;

    LS__ASSERT(b->range.first <= i && i <= last);
    if (!z->moves) {
        *run = (ls__range){i, last};
        return i < last;
    }
    while (i < last && !z->moves[piece_of(z, p, i)])
        i = piece_end(z, p, i);
    run->first = run->last = i;
    while (run->last < last && z->moves[piece_of(z, p, run->last)])
        run->last = piece_end(z, p, run->last);
    run->last = run->last < last ? run->last : last;
    return run->first < last;
}

const ls__hook ls__lazy = {.name = "lazy", .wants = wants, .open = open_lazy,
                           .summed = look, .moves = next};
