/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies of graphs: what was built may go on to be built or be freed. */
#include "base/assert.h"
#include "graph/edit.h"
#include "graph/op.h"

#include <stdlib.h>
#include <string.h>

/* Lists of `count` pointers, as large as they must be. */
static bool make_lists(ls_graph *to, const ls_graph *g)
{
    size_t nodes = (size_t)g->node_count, params = (size_t)g->param_count;
    size_t streams = (size_t)g->stream_count;
    size_t inputs = (size_t)g->input_count;
    size_t outputs = (size_t)g->output_count;

    return (to->nodes = ls__new(nodes, sizeof *to->nodes, "graph")) &&
           (to->params = ls__new(params, sizeof *to->params, "graph")) &&
           (to->streams = ls__new(streams, sizeof *to->streams, "graph")) &&
           (to->inputs = ls__new(inputs, sizeof *to->inputs, "graph")) &&
           (to->outputs = ls__new(outputs, sizeof *to->outputs, "graph"));
}

/* A copy of `size` bytes in the arena; NULL: no memory. */
static void *same(ls_graph *to, const void *from, size_t size)
{
    void *copy = ls__arena_new(&to->arena, 1, size);

    return copy ? memcpy(copy, from, size) : NULL;
}

static ls_node *copy_node(ls_graph *to, const ls_node *from)
{
    ls_node *n = same(to, from, sizeof *n);

    if (!n || !(n->name = ls__arena_text(&to->arena, from->name)) ||
        !ls__node_own(n, &to->arena))
        return NULL;
    n->graph = to;
    memset(n->called, 0, sizeof n->called); /* texts of the other's */
    for (int k = 0; k < LS__MAX_INPUTS; k++)
        LS__ASSERT(!from->in[k] || from->in[k]->id < from->id);
    for (int k = 0; k < LS__MAX_INPUTS; k++)
        n->in[k] = from->in[k] ? to->nodes[from->in[k]->id] : NULL;
    return n;
}

static bool copy_nodes(ls_graph *to, const ls_graph *g)
{
    for (int i = 0; i < g->node_count; i++, to->node_count++)
        if (!(to->nodes[i] = copy_node(to, g->nodes[i])))
            return false;
    for (int i = 0; i < g->input_count; i++, to->input_count++)
        to->inputs[i] = to->nodes[g->inputs[i]->id];
    for (int i = 0; i < g->metrics; i++, to->metrics++)
        to->metric[i] = to->nodes[g->metric[i]->id];
    to->loss = g->loss ? to->nodes[g->loss->id] : NULL;
    return true;
}

static bool copy_params(ls_graph *to, const ls_graph *g)
{
    for (int i = 0; i < g->param_count; i++, to->param_count++) {
        ls__param *p = same(to, g->params[i], sizeof *p);

        if (!p || !(p->name = ls__arena_text(&to->arena, p->name)) ||
            !(p->scope = ls__arena_text(&to->arena, p->scope)))
            return false;
        if (!ls__names_number(&to->param_names, p->name) ||
            !ls__names_number(&to->param_scopes, p->scope))
            return false;
        *ls__names_number(&to->param_names, p->name) = i + 1;
        ++*ls__names_number(&to->param_scopes, p->scope);
        to->params[i] = p;
    }
    return true;
}

static bool copy_streams(ls_graph *to, const ls_graph *g)
{
    for (int i = 0; i < g->stream_count; i++, to->stream_count++) {
        ls__stream *s = same(to, g->streams[i], sizeof *s);

        if (!s || !(s->scope = ls__arena_text(&to->arena, s->scope)))
            return false;
        if (!ls__names_number(&to->stream_scopes, s->scope))
            return false;
        ++*ls__names_number(&to->stream_scopes, s->scope);
        to->streams[i] = s;
    }
    return true;
}

static bool copy_outputs(ls_graph *to, const ls_graph *g)
{
    for (int i = 0; i < g->output_count; i++, to->output_count++) {
        ls__output *o = same(to, g->outputs[i], sizeof *o);

        if (!o || !(o->name = ls__arena_text(&to->arena, o->name)))
            return false;
        o->node = to->nodes[o->node->id];
        to->outputs[i] = o;
    }
    return true;
}

int ls__graph_copy(ls_graph **copy, const ls_graph *g)
{
    ls_graph *to;
    int status = ls_graph_new(&to);

    if (status < 0)
        return status;
    if (!make_lists(to, g) || !copy_nodes(to, g) || !copy_params(to, g) ||
        !copy_streams(to, g) || !copy_outputs(to, g)) {
        ls_graph_free(to);
        return LS_ENOMEM;
    }
    to->node_capacity = g->node_count;
    to->param_capacity = g->param_count;
    to->stream_capacity = g->stream_count;
    to->input_capacity = g->input_count;
    to->output_capacity = g->output_count;
    to->requests = g->requests;
    to->status = g->status;
    memcpy(to->message, g->message, sizeof g->message);
    *copy = to;
    return 0;
}
