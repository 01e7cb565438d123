/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups of parameters: making them, and who is in which. */
#include "rules/groups.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/pattern.h"

/* ------ options ------ */

static bool is_factor(double x)
{
    return x >= 0 && x < __builtin_inf();
}

static int check_group(const ls_group *g, int i)
{
    if (!g->names)
        return ls__fail(LS_EINVAL, "group %d: names is NULL", i);
    if (!is_factor(g->rate) || !is_factor(g->decay))
        return ls__fail(LS_EINVAL, "group \"%s\": rate %g or decay %g is not a "
                        "finite number from 0 up", g->names, g->rate, g->decay);
    return 0;
}

int ls__groups_check(const ls_trainer_options *o)
{
    int status = 0;

    if (o->n_groups < 0 || (o->n_groups && !o->groups))
        return ls__fail(LS_EINVAL, "%d groups of parameters%s",
                        o->n_groups, o->groups ? "" : ": groups is NULL");
    for (int i = 0; i < o->n_groups && status == 0; i++)
        status = check_group(&o->groups[i], i);
    return status;
}

ls_group ls_group_of(const char *names)
{
    return (ls_group){.names = names, .rate = 1, .decay = 1};
}

ls_group ls_group_frozen(const char *names)
{
    ls_group g = ls_group_of(names);

    g.frozen = true;
    return g;
}

ls_group ls_group_no_decay(void)
{
    ls_group g = ls_group_of("*");

    g.vectors = true;
    g.decay = 0;
    return g;
}

/* ------ who is in which ------ */

bool ls__group_has(const ls_group *g, const char *name, int rank)
{
    return ls__matches(g->names, name) && (!g->vectors || rank < 2);
}

bool ls__groups_freeze(const ls_trainer_options *o, const char *name, int rank)
{
    for (int i = 0; i < o->n_groups; i++)
        if (o->groups[i].frozen && ls__group_has(&o->groups[i], name, rank))
            return true;
    return false;
}

float ls__groups_rate(const ls_trainer_options *o, const char *name, int rank,
                      ls_optimizer *of)
{
    double rate = 1, decay = 1;

    for (int i = 0; i < o->n_groups; i++)
        if (ls__group_has(&o->groups[i], name, rank)) {
            LS__ASSERT(is_factor(o->groups[i].rate));
            rate *= o->groups[i].rate;
            decay *= o->groups[i].decay;
        }
    *of = o->optimizer;
    of->weight_decay *= decay;
    of->l2 *= decay;
    return (float)rate;
}

int ls__groups_keep(ls_trainer_options *o, ls__arena *arena)
{
    ls_group *copy;

    if (!o->n_groups)
        return 0;
    if (!(copy = ls__arena_new(arena, (size_t)o->n_groups, sizeof *copy)))
        return LS_ENOMEM;
    for (int i = 0; i < o->n_groups; i++) {
        copy[i] = o->groups[i];
        if (!(copy[i].names = ls__arena_text(arena, copy[i].names)))
            return LS_ENOMEM;
    }
    o->groups = copy;
    return 0;
}
