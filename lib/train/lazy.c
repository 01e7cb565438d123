/* Whether a row moves is found out by whoever reduces it, from the gradient
 * that all workers, placements and ranks share, and read by whoever updates it.
 * A row that crosses a border of blocks is two, so that no flag has two
 * writers. */
#include "train/lazy.h"
#include "reduce/reduce.h"

enum { BLOCK = LS__REDUCE_BLOCK };

/* What may stand still in a slot: [piece] 1: it moves. */
struct ls__lazy {
    unsigned char *moves; /* NULL: all of the slot moves always */
    int64_t width;        /* of a row */
};

/* The number of the piece that float i is in: rows and borders of blocks
 * before it. */
static int64_t piece_of(const ls__lazy *z, const ls__slot *p, int64_t i)
{
    return (i - p->offset) / z->width + i / BLOCK - p->offset / BLOCK;
}

/* Where the piece of float i ends. */
static int64_t piece_end(const ls__lazy *z, const ls__slot *p, int64_t i)
{
    int64_t row = p->offset + ((i - p->offset) / z->width + 1) * z->width;
    int64_t block = (i / BLOCK + 1) * BLOCK;

    return row < block ? row : block;
}

static int open_slot(ls_trainer *t, int slot)
{
    const ls__slot *p = &t->model.params.slot[slot];
    ls__lazy *z = &t->lazy[slot];
    size_t pieces;

    z->width = p->size / p->shape[0];
    pieces = (size_t)piece_of(z, p, p->offset + p->size - 1) + 1;
    z->moves = ls__arena_new(&t->arena, pieces, 1);
    return z->moves ? 0 : LS_ENOMEM;
}

int ls__lazy_open(ls_trainer *t)
{
    const ls__params *params = &t->model.params;
    const ls_optimizer *o = &t->options.optimizer;
    int status = 0;

    if (o->kind != LS_ADAM || o->lazy == 0 || !t->model.plan)
        return 0;
    t->lazy = ls__arena_new(&t->arena, (size_t)params->count, sizeof *t->lazy);
    if (!t->lazy)
        return LS_ENOMEM;
    for (int i = 0; i < params->count && status == 0; i++)
        if (t->model.plan->param[params->slot[i].declared].is_table)
            status = open_slot(t, i);
    return status;
}

static bool is_zero(const float *g, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (g[i] != 0) /* NaN too */
            return false;
    return true;
}

static void look_at_slot(const ls__step *s, int slot, ls__range block,
                         bool rests)
{
    const ls__slot *p = &s->trainer->model.params.slot[slot];
    const ls__lazy *z = &s->trainer->lazy[slot];
    ls__range r = ls__range_common(
        block, (ls__range){p->offset, p->offset + p->size});

    for (int64_t i = r.first, end; i < r.last; i = end) {
        end = piece_end(z, p, i);
        end = end < r.last ? end : r.last;
        z->moves[piece_of(z, p, i)] =
            !rests && !is_zero(s->gradient + i, end - i);
    }
}

static void look(const ls__step *s, ls__range block, bool rests)
{
    for (int i = 0; i < s->trainer->model.params.count; i++)
        if (s->trainer->lazy[i].moves)
            look_at_slot(s, i, block, rests);
}

void ls__lazy_look(void *user, ls__range block)
{
    look(user, block, false);
}

void ls__lazy_rest(const ls__step *s, ls__range block)
{
    look(s, block, true);
}

bool ls__lazy_next(const ls_trainer *t, int slot, ls__range range,
                   ls__range *run)
{
    const ls__slot *p = &t->model.params.slot[slot];
    const ls__lazy *z = t->lazy ? &t->lazy[slot] : NULL;
    int64_t i = run->last;

    if (!z || !z->moves) {
        *run = (ls__range){i, range.last};
        return i < range.last;
    }
    while (i < range.last && !z->moves[piece_of(z, p, i)])
        i = piece_end(z, p, i);
    run->first = run->last = i;
    while (run->last < range.last && z->moves[piece_of(z, p, run->last)])
        run->last = piece_end(z, p, run->last);
    run->last = run->last < range.last ? run->last : range.last;
    return run->first < range.last;
}
