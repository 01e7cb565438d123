/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations by nodes of a graph: parameters, each under a name of its own or
 * tied to another one, and streams of random numbers. */
#include "base/assert.h"
#include "graph/graph.h"
#include "graph/op.h"
#include "graph/undo.h"

#include <stdio.h>
#include <string.h>

char *ls__path(ls_graph *g, const char *scope, const char *name)
{
    size_t a = strlen(scope), b = strlen(name);
    char *text = ls__arena_new(&g->arena, a + b + 2, 1);

    if (text)
        snprintf(text, a + b + 2, "%s%s%s", scope, a && b ? "." : "", name);
    else
        ls__graph_failed(g, LS_ENOMEM);
    return text;
}

/* The number declared in a scope so far, this included: Flax's modules of one
 * name count on.  0: no memory. */
static int count_in_scope(ls_graph *g, ls__names *scopes, const char *scope)
{
    int *count = ls__names_number(scopes, scope);

    if (!count || ls__undo_note(g, scopes, scope, *count) < 0)
        return 0;
    return ++*count;
}

/* The scope of a parameter: its name less the last part. */
static char *scope_of(ls_graph *g, const char *name)
{
    char *scope = ls__arena_text(&g->arena, name), *dot;

    if (scope) {
        dot = strrchr(scope, '.');
        *(dot ? dot : scope) = 0;
    }
    return scope;
}

/* A name stands for one parameter. */
static int take_name(ls_graph *g, const char *name, int index)
{
    int *is_there = ls__names_number(&g->param_names, name);

    if (!is_there)
        return LS_ENOMEM;
    if (*is_there)
        return ls__fail(LS_EINVAL, "parameter \"%s\" stands there twice: give "
                        "each layer a name of its own", name);
    if (ls__undo_note(g, &g->param_names, name, 0) < 0)
        return LS_ENOMEM;
    *is_there = index + 1;
    return 0;
}

/* Errors of a new parameter, or 0. */
static int check_param(ls_graph *g, const ls__param *p)
{
    if (p->size <= 0 || p->size > INT64_C(1) << 40)
        return ls__fail(LS_ESHAPE, "parameter \"%s\" is empty or too large: "
                        "it must have 1 to 2^40 elements", p->name);
    return take_name(g, p->name, g->param_count);
}

/* ------ parameters that several layers have ------ */

static int no_such(const char *name, const char *with)
{
    return ls__fail(LS_ENOTFOUND, "ls_tie: \"%s\" cannot be \"%s\": no layer "
                    "has declared that yet", name, with);
}

static int tie_to(ls_graph *g, const char *name, const char *with,
                  bool transposed)
{
    const char *kept = ls__arena_text(&g->arena, name);
    const char *other = ls__arena_text(&g->arena, with);
    int *is_there, *tie, index;

    if (!kept || !other ||
        !(is_there = ls__names_number(&g->param_names, other)))
        return LS_ENOMEM;
    if (!(index = *is_there))
        return no_such(name, with);
    if (!(is_there = ls__names_number(&g->param_names, kept)) ||
        !(tie = ls__names_number(&g->ties.names, kept)))
        return LS_ENOMEM;
    if (*is_there || *tie)
        return ls__fail(LS_EINVAL, "ls_tie: parameter \"%s\" is %s already: "
                        "call it before the layer, and once", name,
                        *tie ? "tied" : "there");
    *tie = transposed ? -index : index;
    g->ties.open++;
    return 0;
}

int ls_tie(ls_graph *graph, const char *name, const char *with, bool transposed)
{
    LS__NEED(graph);

    int status;

    LS__NEED_STANDING(graph, name);
    LS__NEED_STANDING(graph, with);
    status = tie_to(graph, name, with, transposed);
    if (status < 0)
        ls__graph_failed(graph, status);
    return status;
}

int ls_rename(ls_graph *graph, const char *name, const char *as)
{
    LS__NEED(graph);

    const char *kept, *new;
    int *is_there, *which, status;

    LS__NEED_STANDING(graph, name);
    LS__NEED_STANDING(graph, as);
    if (!(kept = ls__arena_text(&graph->arena, name)) ||
        !(new = ls__arena_text(&graph->arena, as)) ||
        !(is_there = ls__names_number(&graph->param_names, kept)))
        status = LS_ENOMEM;
    else if (*is_there || !*new)
        status = ls__fail(LS_EINVAL, "ls_rename: parameter \"%s\" %s", name,
                          *new ? "is there already: call it before the layer"
                               : "needs a name");
    else if (!(which = ls__names_number(&graph->renames.names, kept)))
        status = LS_ENOMEM;
    else if ((status = ls__graph_append(
                  (void ***)(void *)&graph->renames.as, &graph->renames.count,
                  &graph->renames.capacity, (void *)(uintptr_t)new)) == 0)
        *which = graph->renames.count;
    if (status < 0)
        ls__graph_failed(graph, status);
    return status;
}

/* Take the name that the node, or ls_rename, has for a parameter. */
static int rename_param(const ls_node *n, ls__param *p)
{
    ls_graph *g = n->graph;
    int *which;

    if (n->called[n->params]) {
        p->name = n->called[n->params];
    } else if (g->renames.count) {
        if (!(which = ls__names_number(&g->renames.names, p->name)))
            return LS_ENOMEM;
        if (*which)
            p->name = g->renames.as[*which - 1];
    }
    return 0;
}

/* Is the other parameter, or its transpose, what the node declares? */
static int check_tie(const ls_node *n, const ls__param *p, bool transposed,
                     const ls__param *own)
{
    char is[LS__SHAPE_TEXT], wanted[LS__SHAPE_TEXT];
    bool same = p->rank == own->rank &&
                !memcmp(p->shape, own->shape,
                        (size_t)p->rank * sizeof *p->shape);

    if (transposed &&
        (n->params || !n->op->rare || !n->op->rare->may_transpose))
        return ls__fail(LS_EINVAL, "ls_tie: \"%s\" cannot be transposed: only "
                        "the weights of a dense layer can", own->name);
    if (transposed)
        same = p->rank == 2 && p->shape[0] == own->fan_out &&
               p->shape[1] == own->fan_in;
    if (!same)
        return ls__fail(LS_ESHAPE, "ls_tie: \"%s\" is %s, \"%s\" %s%s",
                        own->name,
                        ls__shape_text(wanted, own->rank, own->shape), p->name,
                        ls__shape_text(is, p->rank, p->shape),
                        transposed ? " before it is transposed" : "");
    for (int k = 0; k < n->params; k++)
        if (n->graph->params[n->param[k]] == p)
            return ls__fail(LS_EINVAL, "ls_tie: \"%s\" and \"%s\" belong to "
                            "one layer", own->name, p->name);
    return 0;
}

/* The parameter that another layer declared; tie as in ls_graph. */
static ls_node *take_tied(ls_node *n, int tie, const ls__param *own)
{
    ls_graph *g = n->graph;
    int index = (tie < 0 ? -tie : tie) - 1;
    int status = check_tie(n, g->params[index], tie < 0, own);

    if (status == 0)
        status = take_name(g, own->name, index);
    if (status < 0)
        return ls__graph_failed(g, status);
    LS__ASSERT(n->params < LS__MAX_PARAMS && index < g->param_count);
    n->tie[n->params] = tie;
    n->param[n->params++] = index;
    return n;
}

/* Find what ls_tie said of a name that is declared now. */
static int find_tie(ls_graph *g, const char *name, int *tie)
{
    int *said;

    if (!g->ties.open)
        return 0;
    if (!(said = ls__names_number(&g->ties.names, name)))
        return LS_ENOMEM;
    if (*said && ls__undo_note(g, &g->ties.names, name, *said) < 0)
        return LS_ENOMEM;
    *tie = *said;
    *said = 0;
    g->ties.open -= *tie != 0;
    LS__ASSERT(g->ties.open >= 0);
    return 0;
}

static ls_node *new_param(ls_node *node, ls__param *p)
{
    ls_graph *g = node->graph;
    int status;

    if (!(p->scope = scope_of(g, p->name)) ||
        !(p->count = count_in_scope(g, &g->param_scopes, p->scope)))
        return ls__graph_failed(g, LS_ENOMEM);
    p->request = g->requests++;
    if ((status = check_param(g, p)) < 0)
        return ls__graph_failed(g, status);
    LS__ASSERT(node->params < LS__MAX_PARAMS);
    node->param[node->params++] = g->param_count;
    if (ls__graph_append((void ***)&g->params, &g->param_count,
                         &g->param_capacity, p) < 0)
        return ls__graph_failed(g, LS_ENOMEM);
    return node;
}

ls_node *ls__node_param(ls_node *node, const char *name, ls__init init,
                        int64_t fan_in, int64_t fan_out, int rank,
                        const int64_t *shape)
{
    ls_graph *g = node->graph;
    ls__param *p = ls__arena_new(&g->arena, 1, sizeof *p);
    int tie = node->tie[node->params]; /* as the graph's file says */

    if (!p || !(p->name = ls__path(g, node->name, name)) ||
        (!tie && find_tie(g, p->name, &tie) < 0) || /* as ls_tie said */
        (!tie && rename_param(node, p) < 0))
        return ls__graph_failed(g, LS_ENOMEM);
    p->rank = rank;
    memcpy(p->shape, shape, (size_t)rank * sizeof *shape);
    p->size = ls__count(rank, shape);
    p->init = init;
    p->fan_in = fan_in;
    p->fan_out = fan_out;
    return tie ? take_tied(node, tie, p) : new_param(node, p);
}

ls_node *ls__node_table(ls_node *node, const char *name, ls__init init,
                        int64_t fan_in, int64_t fan_out, int64_t count,
                        int64_t width)
{
    node = ls__node_param(node, name, init, fan_in, fan_out, 2,
                          (int64_t[]){count, width});
    if (node)
        node->graph->params[node->param[node->params - 1]]->is_table = true;
    return node;
}

int ls__graph_stream(ls_graph *g, const char *scope)
{
    ls__stream *s = ls__arena_new(&g->arena, 1, sizeof *s);

    if (!s || !(s->scope = ls__arena_text(&g->arena, scope)) ||
        !(s->count = count_in_scope(g, &g->stream_scopes, s->scope)))
        return LS_ENOMEM;
    s->request = g->requests++;
    if (ls__graph_append((void ***)&g->streams, &g->stream_count,
                         &g->stream_capacity, s) < 0)
        return LS_ENOMEM;
    return g->stream_count - 1;
}
