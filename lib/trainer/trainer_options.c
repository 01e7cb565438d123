/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of a trainer: checks, and their meaning for parameters. */
#include "trainer/trainer_options.h"
#include "base/assert.h"
#include "base/error.h"
#include "rules/clip.h"
#include "rules/groups.h"
#include "rules/optim.h"
#include "rules/schedule.h"

ls_trainer_options ls__trainer_options(void)
{
    return (ls_trainer_options){.size = sizeof(ls_trainer_options),
                                .optimizer = ls_sgd(0.1)};
}

int ls__trainer_options_check(const ls_trainer_options *o)
{
    int status;

    if ((int)o->keys < LS_KEYS_NNX || o->keys > LS_KEYS_LINEN ||
        (int)o->mean < LS_MEAN_EXACT || o->mean > LS_SUM ||
        (int)o->state < LS_REPLICATE || o->state > LS_SHARD)
        return ls__fail(LS_EINVAL, "trainer options: keys %d, mean %d or "
                        "state %d is unknown", (int)o->keys, (int)o->mean,
                        (int)o->state);
    if ((int)o->rows < LS_ROWS_ALL || o->rows > LS_ROWS_KEPT)
        return ls__fail(LS_EINVAL, "trainer options: rows %d is unknown",
                        (int)o->rows);
    if ((int)o->precision < LS_F32_LAYERS || o->precision > LS_F32X3_LAYERS)
        return ls__fail(LS_EINVAL, "trainer options: precision %d is unknown",
                        (int)o->precision);
    if (o->accumulate < 0 || o->accumulate > 65536)
        return ls__fail(LS_EINVAL, "%d micro-batches: there must be 1 to 65536",
                        o->accumulate);
    if ((status = ls__optim_check(&o->optimizer)) < 0 ||
        (status = ls__schedule_check(&o->schedule)) < 0 ||
        (status = ls__share_check(&o->decay_schedule, "decay_schedule")) < 0 ||
        (status = ls__share_check(&o->dropout_schedule,
                                  "dropout_schedule")) < 0)
        return status;
    if ((status = ls__groups_check(o)) < 0)
        return status;
    if (!(o->average >= 0 && o->average < 1))
        return ls__fail(LS_EINVAL, "average is %g; it must be a number from 0 "
                        "to below 1", o->average);
    if (!(o->check >= 0 && o->check <= 1))
        return ls__fail(LS_EINVAL, "check is %g; it must be a number from 0 to "
                        "1", o->check);
    if ((status = ls__clip_check("value", o->clip_value)) < 0)
        return status;
    return ls__clip_check("norm", o->clip_norm);
}

static int keep_boundaries(ls_schedule *s, ls__arena *arena)
{
    size_t n = s->kind == LS_PIECEWISE ? (size_t)s->n_boundaries : 0;
    ls_boundary *copy = NULL;

    if (n && !(copy = ls__arena_new(arena, n, sizeof *copy)))
        return LS_ENOMEM;
    for (size_t i = 0; i < n; i++)
        copy[i] = s->boundaries[i];
    s->boundaries = copy;
    return 0;
}

int ls__trainer_options_keep(ls_trainer_options *o, ls__arena *arena)
{
    int status = keep_boundaries(&o->schedule, arena);

    return status < 0 ? status : ls__groups_keep(o, arena);
}

/* ------ what is frozen ------ */

/* Has a graph statistics, which are frozen in every trainer? */
static bool has_stored(const ls_graph *graph)
{
    for (int i = 0; i < graph->param_count; i++)
        if (graph->params[i]->is_stored)
            return true;
    return false;
}

static bool *new_list(int count)
{
    return ls__new((size_t)count, sizeof(bool), "groups of parameters");
}

int ls__frozen_of_graph(const ls_trainer_options *o, const ls_graph *graph,
                        bool **frozen)
{
    int count = graph->param_count, trained = 0;

    *frozen = NULL;
    if (!count || (!o->n_groups && !has_stored(graph)))
        return 0;
    if (!(*frozen = new_list(count)))
        return LS_ENOMEM;
    for (int i = 0; i < count; i++) {
        const ls__param *p = graph->params[i];

        (*frozen)[i] = p->is_stored || ls__groups_freeze(o, p->name, p->rank);
        trained += !(*frozen)[i];
    }
    return trained ? 0 : ls__fail(LS_EINVAL, "all %d parameters are frozen",
                                  count);
}

int ls__frozen_of_params(const ls_trainer_options *o, const ls__params *params,
                         bool **frozen)
{
    *frozen = NULL;
    if (!o->n_groups)
        return 0;
    if (!(*frozen = new_list(params->count)))
        return LS_ENOMEM;
    for (int i = 0; i < params->count; i++) {
        const ls__slot *s = &params->slot[i];

        LS__ASSERT(s->declared >= 0 && s->declared < params->count);
        (*frozen)[s->declared] = ls__groups_freeze(o, s->name, s->rank);
    }
    return 0;
}

/* ------ who is in which group ------ */

static int find_members(const ls_group *g, const ls__params *p)
{
    for (int i = 0; i < p->count; i++)
        if (ls__group_has(g, p->slot[i].name, p->slot[i].rank))
            return 0;
    return ls__fail(LS_ENOTFOUND, "group \"%s\": matches no parameter%s; the "
                    "nearest is \"%s\"", g->names,
                    g->vectors ? " of fewer than two axes" : "",
                    ls__params_nearest(p, g->names));
}

int ls__groups_find(const ls_trainer_options *o, const ls__params *params)
{
    int status = 0;

    for (int i = 0; i < o->n_groups && status == 0; i++)
        status = find_members(&o->groups[i], params);
    return status;
}
