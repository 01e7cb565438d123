/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets of weights and who reads them.
 *
 * All operations on `current` and `readers` are sequentially consistent, since
 * the argument needs one order of four of them: a reader counts itself in, then
 * looks whether the set is still current; the writer makes another set current,
 * then looks whether readers are counted.  Whichever comes first, one of them
 * sees the other: no set is read and written at once. */
#include "predict/snapshot.h"
#include "base/assert.h"

int ls__snapshots_open(ls__snapshots *s, const ls__model *m)
{
    ls__snapshot *own;

    *s = (ls__snapshots){.model = m};
    if (!(own = ls__arena_new(&s->arena, 1, sizeof *own)))
        return LS_ENOMEM;
    own->weights = m->weights;
    own->value = m->value;
    s->first = own;
    atomic_store(&s->current, own);
    return 0;
}

void ls__snapshots_close(ls__snapshots *s)
{
    for (ls__snapshot *i = s->first; i; i = i->next)
        if (i->value != s->model->value) { /* which the model frees */
            ls__block_free(i->value);
            ls__block_free(i->weights.packed);
        }
    ls__arena_free(&s->arena);
}

/* ------ the writer ------ */

static int make_memory(const ls__model *m, ls__snapshot *n)
{
    size_t packed = (size_t)m->plan->packs.floats * sizeof(float);

    /* padding between parameters is never read, but copied: it is zero */
    n->value = ls__block_zero((size_t)m->params.floats * sizeof(float),
                              "a snapshot of the parameters");
    if (!n->value)
        return LS_ENOMEM;
    if (packed && !(n->weights.packed = ls__block(packed, "packed weights")))
        return LS_ENOMEM;
    return 0;
}

static ls__snapshot *make(ls__snapshots *s)
{
    const ls__model *m = s->model;
    ls__snapshot *n = ls__arena_new(&s->arena, 1, sizeof *n);
    const float **of = ls__arena_new(&s->arena, (size_t)m->params.count,
                                     sizeof *of);

    if (!n || !of)
        return NULL;
    if (make_memory(m, n) < 0) {
        ls__block_free(n->value);
        return NULL;
    }
    for (int i = 0; i < m->params.count; i++)
        of[i] = n->value + ls__params_declared(&m->params, i)->offset;
    n->weights.of = of;
    n->next = s->first;
    s->first = n;
    return n;
}

ls__snapshot *ls__snapshots_spare(ls__snapshots *s)
{
    ls__snapshot *current = atomic_load(&s->current);

    for (ls__snapshot *i = s->first; i; i = i->next)
        if (i != current && atomic_load(&i->readers) == 0)
            return i;
    return make(s);
}

void ls__snapshots_publish(ls__snapshots *s, ls__snapshot *filled)
{
    LS__ASSERT(filled != atomic_load(&s->current));
    atomic_store(&s->current, filled);
}

/* ------ readers ------ */

ls__snapshot *ls__snapshots_take(ls__snapshots *s)
{
    for (;;) {
        ls__snapshot *i = atomic_load(&s->current);

        atomic_fetch_add(&i->readers, 1);
        if (atomic_load(&s->current) == i)
            return i;
        atomic_fetch_sub(&i->readers, 1);
    }
}

void ls__snapshots_give(ls__snapshot *taken)
{
    int readers = atomic_fetch_sub(&taken->readers, 1);

    LS__ASSERT(readers > 0);
}
