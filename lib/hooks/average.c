/* SPDX-License-Identifier: BSD-3-Clause */
/* The average of the weights. */
#include "hooks/step_hooks.h"
#include "base/assert.h"
#include "base/fpmode.h"
#include "kernel/kernel.h"
#include "hooks/statistics.h"

#include <string.h>

typedef struct average {
    const ls__model *model;
    ls__owned owned;
    const float *value; /* the parameters */
    float *kept;        /* [owned float] their average */
    double share;       /* of the old one in the new one */
    bool begins;        /* with the parameters, in this step */
    bool begun;         /* a number of it is not 0 */
} average;

static bool wants(const ls__rig *rig, ls__needs *needs)
{
    if (!(rig->options->average > 0))
        return false;
    needs->keeps = "average";
    return true;
}

static int open_average(void **own, const ls__rig *rig)
{
    average *a = *own = ls__arena_new(rig->arena, 1, sizeof *a);

    if (!a)
        return LS_ENOMEM;
    *a = (average){.model = rig->model, .owned = rig->owned,
                   .value = rig->model->value, .kept = rig->kept,
                   .share = rig->options->average};
    return 0;
}

static int begin(void *own, ls__step *s)
{
    average *a = own;

    for (int64_t i = 0; i < ls__owned_floats(&a->owned) && !a->begun; i++)
        a->begun = a->kept[i] != 0; /* it is 0 where only the step was set */
    a->begins = s->number == 0 || !a->begun;
    return 0;
}

/* The average begins with the parameters as they are before the first update;
 * those that are frozen are their own. */
static void before(void *own, const ls__step *s, const ls__patch *b)
{
    const average *a = own;
    ls__range r = b->range;

    (void)s;
    LS__ASSERT(b->at >= 0 && b->at + (r.last - r.first) <=
                                 ls__owned_floats(&a->owned));
    if (a->begins)
        memcpy(a->kept + b->at, a->value + r.first,
               (size_t)(r.last - r.first) * sizeof *a->kept);
}

static void changed(void *own, const ls__step *s, const ls__patch *b)
{
    const average *a = own;
    ls__range r = b->range;

    (void)s;
    ls__kernels()->average(r.last - r.first, a->share, a->value + r.first,
                           a->kept + b->at);
}

/* Running averages of statistics are values like others, though no update is
 * theirs: they have moved already (statistics.h). */
static void add_stored(const average *a, const ls__slot *slot)
{
    ls__range all = {slot->offset, slot->offset + slot->size};

    for (ls__stretch part = {0}; ls__owned_next(&a->owned, &part);) {
        ls__range r = ls__range_common(all, part.range);

        if (r.first < r.last)
            ls__kernels()->average(r.last - r.first, a->share,
                                   a->value + r.first,
                                   a->kept + part.at + r.first -
                                       part.range.first);
    }
}

static void end(void *own, const ls__step *s, const ls_result *result)
{
    const average *a = own;
    ls__fpmode mode = ls__fpmode_set();

    (void)s;
    for (ls__stored it = {0};
         result->updated && ls__stored_next(a->model, &it);)
        add_stored(a, it.slot);
    ls__fpmode_restore(mode);
}

const ls__hook ls__average = {.name = "average", .wants = wants,
                              .open = open_average, .begin = begin,
                              .before = before, .changed = changed,
                              .end = end};
