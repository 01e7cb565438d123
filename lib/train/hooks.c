/* SPDX-License-Identifier: BSD-3-Clause */
/* See hooks.h. */
#include "train/hooks.h"
#include "base/assert.h"
#include "base/error.h"

/* ------ opening and closing ------ */

void ls__hooks_choose(ls__riding *to, const ls__hook *const *list,
                      const ls__rig *rig, ls__needs *needs)
{
    int n = 0;

    for (int i = 0; list[i]; i++)
        if (list[i]->wants(rig, needs)) {
            LS__ASSERT(n < LS__HOOKS - 1);
            to[n++] = (ls__riding){list[i], NULL};
        }
}

int ls__hooks_open(ls__riding *r, const ls__rig *rig)
{
    int status = 0;

    for (; r->is && status == 0; r++)
        if (r->is->open)
            status = r->is->open(&r->own, rig);
    return status;
}

void ls__hooks_close(ls__riding *r)
{
    for (; r->is; r++)
        if (r->is->close && r->own)
            r->is->close(r->own);
}

int ls__hooks_add(ls__riding *to, const ls__hook *hook, void *own)
{
    int n = 0;

    while (to[n].is)
        n++;
    if (n + 1 >= LS__HOOKS)
        return ls__fail(LS_EINVAL, "%s: the trainer has %d hooks already",
                        hook->name, n);
    to[n] = (ls__riding){hook, own};
    return 0;
}

void ls__hooks_drop(ls__riding *from, const void *own)
{
    while (from->is && from->own != own)
        from++;
    for (; from->is; from++)
        *from = from[1];
}

/* ------ a step ------ */

int ls__hooks_begin(ls__step *s)
{
    for (const ls__riding *r = s->trainer->hook; r->is; r++) {
        int status = r->is->begin ? r->is->begin(r->own, s) : 0;

        s->refused = s->refused < 0 ? s->refused : status;
    }
    return s->refused;
}

ls__fate ls__hooks_fate(const ls__step *s, ls__range block)
{
    for (const ls__riding *r = s->trainer->hook; r->is; r++)
        if (r->is->fate)
            return r->is->fate(r->own, s, block);
    return LS__SUMMED;
}

bool ls__hooks_look(const ls__step *s)
{
    for (const ls__riding *r = s->trainer->hook; r->is; r++)
        if (r->is->summed)
            return true;
    return false;
}

bool ls__hooks_move(const ls__step *s, const ls__patch *patch, ls__range *run)
{
    for (const ls__riding *r = s->trainer->hook; r->is; r++)
        if (r->is->moves)
            return r->is->moves(r->own, patch, run);
    *run = (ls__range){run->last, patch->range.last};
    return run->first < run->last;
}
