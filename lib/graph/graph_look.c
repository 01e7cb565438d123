/* SPDX-License-Identifier: BSD-3-Clause */
/* Looking at a graph from outside. */
#include "graph/op.h"

#include <string.h>

int ls_graph_nodes(const ls_graph *g)
{
    LS__NEED_AS(g, "graph", 0);
    return g->node_count;
}

const ls_node *ls_graph_node(const ls_graph *g, int i)
{
    LS__NEED_AS(g, "graph", NULL);
    return i >= 0 && i < g->node_count ? g->nodes[i] : NULL;
}

const ls_node *ls_graph_loss(const ls_graph *g)
{
    LS__NEED_AS(g, "graph", NULL);
    return g->loss;
}

const ls_node *ls_graph_output(const ls_graph *g, int i, const char **name)
{
    LS__NEED_AS(g, "graph", NULL);
    if (i < 0 || i >= g->output_count)
        return NULL;
    if (name)
        *name = g->outputs[i]->name;
    return g->outputs[i]->node;
}

const char *ls_node_op(const ls_node *n)
{
    LS__NEED_AS(n, "node", NULL);
    return n->op ? n->op->name : "input";
}

const char *ls_node_name(const ls_node *n)
{
    LS__NEED_AS(n, "node", NULL);
    return n->name;
}

const ls_node *ls_node_input(const ls_node *n, int k)
{
    LS__NEED_AS(n, "node", NULL);
    return n->op && k >= 0 && k < n->op->inputs ? n->in[k] : NULL;
}

bool ls_node_param(const ls_node *n, int k, ls_array_spec *param)
{
    LS__NEED_AS(n, "node", false);
    LS__NEED_OR(param, false);

    const ls__param *p;

    if (k < 0 || k >= n->params)
        return false;
    p = n->graph->params[n->param[k]];
    *param = (ls_array_spec){p->name, LS_F32, p->rank, {0}};
    memcpy(param->shape, p->shape, sizeof p->shape);
    return true;
}
