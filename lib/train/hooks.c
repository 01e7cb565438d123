/* SPDX-License-Identifier: BSD-3-Clause */
/* See hooks.h. */
#include "train/hooks.h"
#include "base/assert.h"
#include "base/error.h"
#include "train/trainer.h"

/* Let each hook that has this stop do there what it does. */
#define TELL(step, stop, ...) \
    do { \
        for (const ls__riding *r = (step)->trainer->hook; r->is; r++) \
            if (r->is->stop) \
                r->is->stop(r->own, __VA_ARGS__); \
    } while (0)

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

void ls__hooks_end(const ls__step *s, const ls_result *result)
{
    TELL(s, end, s, result);
}

/* ------ a device ------ */

void ls__hooks_enter(ls__step *s, const ls__micro_batch *mb)
{
    TELL(s, enter, s, mb);
}

void ls__hooks_leave(ls__step *s, ls__micro_batch *mb)
{
    TELL(s, leave, s, mb);
}

void ls__hooks_ready(ls__step *s, int worker, int device)
{
    TELL(s, ready, s, worker, device);
}

/* ------ a block of the sum ------ */

ls__fate ls__hooks_fate(const ls__step *s, ls__range block)
{
    for (const ls__riding *r = s->trainer->hook; r->is; r++)
        if (r->is->fate)
            return r->is->fate(r->own, s, block);
    return LS__SUMMED;
}

void ls__hooks_summed(const ls__step *s, ls__range block, bool zeros)
{
    TELL(s, summed, s, block, zeros);
}

bool ls__hooks_look(const ls__step *s)
{
    for (const ls__riding *r = s->trainer->hook; r->is; r++)
        if (r->is->summed)
            return true;
    return false;
}

/* ------ a block of an update ------ */

void ls__hooks_before(const ls__step *s, const ls__patch *patch)
{
    TELL(s, before, s, patch);
}

bool ls__hooks_move(const ls__step *s, const ls__patch *patch, ls__range *run)
{
    for (const ls__riding *r = s->trainer->hook; r->is; r++)
        if (r->is->moves)
            return r->is->moves(r->own, patch, run);
    *run = (ls__range){run->last, patch->range.last};
    return run->first < run->last;
}

void ls__hooks_changed(const ls__step *s, const ls__patch *patch)
{
    TELL(s, changed, s, patch);
}

void ls__hooks_passed(ls__step *s, int worker, int sections)
{
    TELL(s, passed, s, worker, sections);
}
