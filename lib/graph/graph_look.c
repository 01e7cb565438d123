/* Looking at a graph from outside. */
#include "graph/op.h"

#include <string.h>

int ls_graph_nodes(const ls_graph *g)
{
    return g ? g->node_count : 0;
}

const ls_node *ls_graph_node(const ls_graph *g, int i)
{
    return g && i >= 0 && i < g->node_count ? g->nodes[i] : NULL;
}

const ls_node *ls_graph_loss(const ls_graph *g)
{
    return g ? g->loss : NULL;
}

const ls_node *ls_graph_output(const ls_graph *g, int i, const char **name)
{
    if (!g || i < 0 || i >= g->output_count)
        return NULL;
    if (name)
        *name = g->outputs[i]->name;
    return g->outputs[i]->node;
}

const char *ls_node_op(const ls_node *n)
{
    return !n ? NULL : n->op ? n->op->name : "input";
}

const char *ls_node_name(const ls_node *n)
{
    return n ? n->name : NULL;
}

const ls_node *ls_node_input(const ls_node *n, int k)
{
    return n && n->op && k >= 0 && k < n->op->inputs ? n->in[k] : NULL;
}

bool ls_node_param(const ls_node *n, int k, ls_array_spec *param)
{
    const ls__param *p;

    if (!n || !param || k < 0 || k >= n->params)
        return false;
    p = n->graph->params[n->param[k]];
    *param = (ls_array_spec){p->name, LS_F32, p->rank, {0}};
    memcpy(param->shape, p->shape, sizeof p->shape);
    return true;
}
