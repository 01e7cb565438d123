/* SPDX-License-Identifier: BSD-3-Clause */
/* See edit.h.  Parameters and requests for keys follow the order of nodes, as
 * they do in a graph that is read from a file. */
#include "graph/edit.h"
#include "base/assert.h"
#include "graph/op.h"

#include <string.h>

ls_node *ls__edit_node(const ls_node *n)
{
    LS__ASSERT(n->graph->nodes[n->id] == n);
    return n->graph->nodes[n->id];
}

double ls__edit_number(const ls_node *n, const char *attribute)
{
    const double *at = ls__attribute_named(n, attribute);

    return at ? *at : 0;
}

void ls__edit_start(const ls_node *n, int k, ls_init init)
{
    n->graph->params[n->param[k]]->chosen = init;
}

void ls__edit_redirect(const ls_node *from, const ls_node *to)
{
    ls_graph *g = from->graph;
    ls_node *now = ls__edit_node(to);

    for (int i = 0; i < g->node_count; i++)
        for (int k = 0; k < LS__MAX_INPUTS; k++)
            if (g->nodes[i]->in[k] == from && g->nodes[i] != to)
                g->nodes[i]->in[k] = now;
    for (int i = 0; i < g->output_count; i++)
        if (g->outputs[i]->node == from)
            g->outputs[i]->node = now;
    for (int i = 0; i < g->metrics; i++)
        if (g->metric[i] == from)
            g->metric[i] = now;
}

static void number_nodes(ls_graph *g)
{
    for (int i = 0; i < g->node_count; i++)
        g->nodes[i]->id = i;
}

/* Shift requests from number `from` on by `by`. */
static void shift_requests(ls_graph *g, int from, int by)
{
    for (int i = 0; i < g->param_count; i++)
        if (g->params[i]->request >= from)
            g->params[i]->request += by;
    for (int i = 0; i < g->stream_count; i++)
        if (g->streams[i]->request >= from)
            g->streams[i]->request += by;
}

/* ------ moving ------ */

/* A node's last parameter that is its own. */
static int last_param(const ls_node *n)
{
    int last = n->param[0];

    for (int k = 1; k < n->params; k++)
        if (!n->tie[k])
            last = n->param[k];
    return last;
}

/* The place of a parameter once the newest stand behind number `last`. */
static int place(const ls_graph *g, int last, int params, int index)
{
    int newest = g->param_count - params;

    LS__ASSERT(index >= 0 && index < g->param_count && last < newest);
    if (index >= newest)
        return last + 1 + index - newest;
    return index > last ? index + params : index;
}

/* The same of a number that counts from 1, negative for a transpose, or 0. */
static int tie_place(const ls_graph *g, int last, int params, int tie)
{
    int index = (tie < 0 ? -tie : tie) - 1;

    if (!tie)
        return 0;
    index = place(g, last, params, index) + 1;
    return tie < 0 ? -index : index;
}

static void place_names(const ls_graph *g, int last, int params,
                        ls__names *names)
{
    for (size_t i = 0; i < names->capacity; i++)
        if (names->at[i].text)
            names->at[i].number =
                tie_place(g, last, params, names->at[i].number);
}

/* The requests of the newest parameters are those behind parameter `last`. */
static void move_requests(ls_graph *g, int last, int params)
{
    ls__param **own = g->params + g->param_count - params;
    int first = g->params[last]->request + 1;

    shift_requests(g, first, params);
    for (int i = 0; i < params; i++)
        own[i]->request = first + i;
}

static void move_params(ls_graph *g, int last, int params)
{
    for (int i = 0; i < g->node_count; i++)
        for (int k = 0; k < g->nodes[i]->params; k++) {
            ls_node *n = g->nodes[i];

            n->param[k] = place(g, last, params, n->param[k]);
            n->tie[k] = tie_place(g, last, params, n->tie[k]);
        }
    place_names(g, last, params, &g->param_names);
    place_names(g, last, params, &g->ties.names);
    for (int i = 0; i < params; i++) {
        ls__param **to = g->params + last + 1, *own =
            g->params[g->param_count - 1];

        memmove(to + 1, to, (size_t)(g->param_count - 2 - last) * sizeof *to);
        *to = own;
    }
}

void ls__edit_move_behind(const ls_node *n, int nodes, int params)
{
    ls_graph *g = n->graph;
    int last = last_param(n);

    move_requests(g, last, params);
    move_params(g, last, params);
    for (int i = 0; i < nodes; i++) {
        ls_node **to = g->nodes + n->id + 1, *own =
            g->nodes[g->node_count - 1];

        memmove(to + 1, to, (size_t)(g->node_count - 2 - n->id) * sizeof *to);
        *to = own;
    }
    number_nodes(g);
}

/* ------ taking out ------ */

/* A parameter goes; numbers of later ones are one less. */
static void drop_param(ls_graph *g, int index)
{
    int request = g->params[index]->request;

    LS__ASSERT(index >= 0 && index < g->param_count);
    for (int i = 0; i < g->node_count; i++)
        for (int k = 0; k < g->nodes[i]->params; k++) {
            ls_node *n = g->nodes[i];
            int tie = n->tie[k] < 0 ? -n->tie[k] : n->tie[k];

            n->param[k] -= n->param[k] > index;
            if (tie > index + 1)
                n->tie[k] += n->tie[k] < 0 ? 1 : -1;
        }
    memmove(g->params + index, g->params + index + 1,
            (size_t)(--g->param_count - index) * sizeof *g->params);
    shift_requests(g, request, -1);
    g->requests--;
}

void ls__edit_drop(const ls_node *node)
{
    ls_graph *g = node->graph;
    int kept = 0;

    for (int i = 0; i < g->node_count; i++)
        if (g->nodes[i] != node)
            g->nodes[kept++] = g->nodes[i];
    g->node_count = kept;
    number_nodes(g);
    for (int k = node->params; k-- > 0;)
        drop_param(g, node->param[k]);
}
