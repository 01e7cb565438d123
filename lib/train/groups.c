/* Who is in which group, and what follows for the update. */
#include "train/groups.h"
#include "base/error.h"
#include "base/pattern.h"
#include "graph/graph.h"

#include <string.h>

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
    for (int k = 0; k < LS_ROOM; k++)
        if (g->room[k] != 0)
            return ls__fail(LS_EINVAL, "group \"%s\" has options of a newer "
                            "version", g->names);
    return 0;
}

int ls__groups_check(const ls_trainer_options *o)
{
    int status = 0;

    if (o->groups < 0 || (o->groups && !o->group))
        return ls__fail(LS_EINVAL, "%d groups of parameters%s", o->groups,
                        o->group ? "" : ": group is NULL");
    for (int i = 0; i < o->groups && status == 0; i++)
        status = check_group(&o->group[i], i);
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

static bool is_in(const ls_group *g, const char *name, int rank)
{
    return ls__matches(g->names, name) && (!g->vectors || rank < 2);
}

static bool is_frozen(const ls_trainer_options *o, const char *name, int rank)
{
    for (int i = 0; i < o->groups; i++)
        if (o->group[i].frozen && is_in(&o->group[i], name, rank))
            return true;
    return false;
}

/* Has a graph statistics, which are frozen in every trainer? */
static bool has_stored(const ls_graph *graph)
{
    for (int i = 0; graph && i < graph->param_count; i++)
        if (graph->params[i]->is_stored)
            return true;
    return false;
}

int ls__groups_frozen(const ls_trainer_options *o, const ls_graph *graph,
                      bool **frozen)
{
    int count = graph ? graph->param_count : 0, trained = 0;
    bool *f;

    *frozen = NULL;
    if (!count || (!o->groups && !has_stored(graph)))
        return 0;
    if (!(f = ls__new((size_t)count, sizeof *f, "groups of parameters")))
        return LS_ENOMEM;
    for (int i = 0; i < count; i++) {
        f[i] = graph->params[i]->is_stored ||
               is_frozen(o, graph->params[i]->name, graph->params[i]->rank);
        trained += !f[i];
    }
    *frozen = f;
    return trained ? 0 : ls__fail(LS_EINVAL, "all %d parameters are frozen",
                                  count);
}

static bool is_stored(const ls_trainer *t, const ls__slot *s)
{
    return t->model.graph && t->model.graph->params[s->declared]->is_stored;
}

static void take_way(const ls_trainer *t, const ls__slot *s, ls__way *way)
{
    const ls_trainer_options *o = &t->options;
    double rate = 1, decay = 1;

    for (int i = 0; i < o->groups; i++)
        if (is_in(&o->group[i], s->name, s->rank)) {
            rate *= o->group[i].rate;
            decay *= o->group[i].decay;
        }
    *way = (ls__way){.frozen = is_stored(t, s) ||
                               is_frozen(o, s->name, s->rank),
                     .rate = (float)rate, .of = o->optimizer};
    way->of.weight_decay *= decay;
    way->of.l2 *= decay;
}

static int check_members(const ls_trainer *t, const ls_group *g)
{
    const ls__params *p = &t->model.params;

    for (int i = 0; i < p->count; i++)
        if (is_in(g, p->slot[i].name, p->slot[i].rank))
            return 0;
    return ls__fail(LS_ENOTFOUND, "group \"%s\": matches no parameter%s; the "
                    "nearest is \"%s\"", g->names,
                    g->vectors ? " of fewer than two axes" : "",
                    ls__params_nearest(p, g->names));
}

static int keep_groups(ls_trainer *t)
{
    ls_trainer_options *o = &t->options;
    ls_group *copy = ls__arena_new(&t->arena, (size_t)o->groups, sizeof *copy);

    if (!copy)
        return LS_ENOMEM;
    for (int i = 0; i < o->groups; i++) {
        copy[i] = o->group[i];
        if (!(copy[i].names = ls__arena_text(&t->arena, copy[i].names)))
            return LS_ENOMEM;
    }
    o->group = copy;
    return 0;
}

int ls__groups_open(ls_trainer *t)
{
    size_t n = (size_t)t->model.params.count;
    int status;

    if (!t->options.groups && !has_stored(t->model.graph))
        return 0;
    for (int i = 0; i < t->options.groups; i++)
        if ((status = check_members(t, &t->options.group[i])) < 0)
            return status;
    if (!(t->way = ls__arena_new(&t->arena, n, sizeof *t->way)) ||
        (t->options.groups && keep_groups(t) < 0))
        return LS_ENOMEM;
    for (size_t i = 0; i < n; i++)
        take_way(t, &t->model.params.slot[i], &t->way[i]);
    return 0;
}

/* ------ a step ------ */

void ls__groups_rule(ls_trainer *t, const ls__rule *rule)
{
    for (int i = 0; t->way && i < t->model.params.count; i++) {
        ls__way *way = &t->way[i];

        way->rule = *rule;
        way->rule.of = &way->of;
        way->rule.neg_lr = rule->neg_lr * way->rate;
    }
}

void ls__groups_clear(const ls_trainer *t, float *const *grads)
{
    const ls__params *p = &t->model.params;

    for (int i = 0; t->way && i < p->count; i++) {
        const ls__slot *s = &p->slot[i];

        if (t->way[i].frozen && grads[s->declared])
            memset(grads[s->declared], 0, (size_t)s->size * sizeof **grads);
    }
}
