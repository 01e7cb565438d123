/* SPDX-License-Identifier: BSD-3-Clause */
/* See edit.h. */
#include "graph/edit.h"
#include "graph/op.h"

#include <string.h>

void ls__edit_redirect(ls_graph *g, ls_node *from, ls_node *to)
{
    for (int i = 0; i < g->node_count; i++)
        for (int k = 0; k < LS__MAX_INPUTS; k++)
            if (g->nodes[i]->in[k] == from && g->nodes[i] != to)
                g->nodes[i]->in[k] = to;
    for (int i = 0; i < g->output_count; i++)
        if (g->outputs[i]->node == from)
            g->outputs[i]->node = to;
    for (int i = 0; i < g->metrics; i++)
        if (g->metric[i] == from)
            g->metric[i] = to;
}

void ls__edit_number_nodes(ls_graph *g)
{
    for (int i = 0; i < g->node_count; i++)
        g->nodes[i]->id = i;
}

void ls__edit_drop_node(ls_graph *g, const ls_node *node)
{
    int kept = 0;

    for (int i = 0; i < g->node_count; i++)
        if (g->nodes[i] != node)
            g->nodes[kept++] = g->nodes[i];
    g->node_count = kept;
    ls__edit_number_nodes(g);
}

void ls__edit_shift_requests(ls_graph *g, int from, int by)
{
    for (int i = 0; i < g->param_count; i++)
        if (g->params[i]->request >= from)
            g->params[i]->request += by;
    for (int i = 0; i < g->stream_count; i++)
        if (g->streams[i]->request >= from)
            g->streams[i]->request += by;
}

void ls__edit_drop_param(ls_graph *g, int index)
{
    int request = g->params[index]->request;

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
    ls__edit_shift_requests(g, request, -1);
    g->requests--;
}

int ls__edit_users(const ls_graph *g, int param)
{
    int users = 0;

    for (int i = 0; i < g->node_count; i++)
        for (int k = 0; k < g->nodes[i]->params; k++)
            users += g->nodes[i]->param[k] == param;
    return users;
}
