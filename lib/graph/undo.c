/* SPDX-License-Identifier: BSD-3-Clause */
/* Undo of a failed builder, in a graph whose errors pass: the graph is then as
 * it was before the call.
 *
 * A mark remembers how long the graph's lists were when the outermost builder
 * began; a change remembers the number that a name had.  Memory stays in the
 * arena until the graph is freed. */
#include "base/assert.h"
#include "graph/graph.h"
#include "graph/undo.h"

void ls_graph_errors_pass(ls_graph *graph, bool pass)
{
    if (graph)
        graph->undo.passes = pass;
    else
        ls__null(__func__, "graph");
}

void ls__undo_mark(ls_graph *g, ls_node *const *in)
{
    ls__undo *u = &g->undo;

    if (u->depth)
        return;
    u->marked = u->passes;
    u->change = NULL;
    u->nodes = g->node_count;
    u->params = g->param_count;
    u->streams = g->stream_count;
    u->requests = g->requests;
    u->open_ties = g->ties.open;
    for (int i = 0; i < LS__MAX_INPUTS; i++) {
        u->in[i] = in ? in[i] : NULL;
        u->limit[i] = u->in[i] ? u->in[i]->limit : 0;
    }
}

void ls__undo_enter(ls_graph *g)
{
    ls__undo_mark(g, NULL);
    g->undo.depth++;
}

ls_node *ls__undo_leave(ls_graph *g, ls_node *node)
{
    LS__ASSERT(g->undo.depth > 0);
    if (--g->undo.depth == 0) {
        if (g->status)
            ls__undo_take_back(g);
        g->undo.marked = false;
    }
    return node;
}

int ls__undo_note(ls_graph *g, ls__names *names, const char *text, int was)
{
    ls__change *c;

    if (!g->undo.marked)
        return 0;
    if (!(c = ls__arena_new(&g->arena, 1, sizeof *c)))
        return LS_ENOMEM;
    *c = (ls__change){g->undo.change, names, text, was};
    g->undo.change = c;
    return 0;
}

/* The last change first, so that a name changed twice is what it was. */
static void take_back_names(const ls__undo *u)
{
    for (const ls__change *c = u->change; c; c = c->before) {
        int *number = ls__names_number(c->names, c->text);

        if (number) /* which is there, and needs no memory */
            *number = c->was;
    }
}

void ls__undo_take_back(ls_graph *g)
{
    ls__undo *u = &g->undo;

    if (!u->passes || u->depth || g->status == LS_ENOMEM)
        return;
    g->status = 0;
    if (!u->marked)
        return;
    u->marked = false;
    LS__ASSERT(u->nodes <= g->node_count && u->params <= g->param_count &&
               u->streams <= g->stream_count && u->requests <= g->requests);
    take_back_names(u);
    g->node_count = u->nodes;
    g->param_count = u->params;
    g->stream_count = u->streams;
    g->requests = u->requests;
    g->ties.open = u->open_ties;
    for (int i = 0; i < LS__MAX_INPUTS; i++)
        if (u->in[i])
            u->in[i]->limit = u->limit[i];
}
