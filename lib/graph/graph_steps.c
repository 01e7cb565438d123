/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes of a graph over sequences one whose rows are the positions of a
 * sequence (incremental decoding).  An operator on each position by itself is
 * the same on another shape; attention has one with a key/value cache. */
#include "base/assert.h"
#include "graph/edit.h"
#include "graph/op.h"

#include <stdlib.h>
#include <string.h>

static int no_steps(const ls_node *n, const char *why)
{
    return ls__fail(LS_ENOTSUP, "%s \"%s\" %s, so the output cannot be "
                    "computed position by position",
                    n->op ? n->op->name : "input", n->name, why);
}

/* A row (T,..) becomes (1,..); inputs are tokens (T). */
static int step_input(ls_node *n)
{
    if (n->dtype != LS_I32 || n->rank != 1)
        return no_steps(n, "is no sequence of indices");
    n->positions = n->shape[0];
    n->shape[0] = n->size = 1;
    return 0;
}

/* Elementwise operators are their own. */
static const ls__op *step_of(const ls__op *op)
{
    return op->step ? op->step : op->term ? op : NULL;
}

static int step_node(ls_node *n)
{
    if (!step_of(n->op))
        return no_steps(n, n->op->inputs ? "looks at several positions"
                                         : "is a value of all positions");
    if (n->rank < 2)
        return no_steps(n, "has no axis but the positions");
    for (int k = 0; k < n->op->inputs; k++)
        if (n->in[k]->positions != n->in[0]->positions)
            return no_steps(n, "has inputs of different lengths");
    n->op = step_of(n->op);
    n->positions = n->in[0]->positions;
    return n->op->shape(n);
}

static void mark_needed(const ls_graph *g, bool *needed, int last)
{
    LS__ASSERT(last >= 0 && last < g->node_count);
    needed[last] = true;
    for (int i = last; i >= 0; i--)
        for (int k = 0; needed[i] && g->nodes[i]->op &&
                        k < g->nodes[i]->op->inputs; k++)
            needed[g->nodes[i]->in[k]->id] = true;
}

static int step_nodes(ls_graph *g, int last)
{
    bool *needed = ls__new((size_t)g->node_count, sizeof *needed, "graph");
    int status = needed ? 0 : LS_ENOMEM, inputs = 0;

    if (status == 0)
        mark_needed(g, needed, last);
    for (int i = 0; i <= last && status == 0; i++) {
        ls_node *n = g->nodes[i];

        if (needed[i] && !n->op && inputs++)
            status = no_steps(n, "is not the only input");
        else if (needed[i])
            status = n->op ? step_node(n) : step_input(n);
    }
    free(needed);
    return status;
}

int ls__graph_steps(ls_graph **steps, const ls_graph *graph,
                    const ls__output *output)
{
    ls_graph *g;
    int status = ls__graph_copy(&g, graph);

    if (status < 0)
        return status;
    g->loss = NULL;
    g->metrics = 0;
    for (int i = 0; i < g->output_count; i++)
        if (!strcmp(g->outputs[i]->name, output->name))
            g->outputs[0] = g->outputs[i];
    g->output_count = 1;
    if ((status = step_nodes(g, g->outputs[0]->node->id)) < 0)
        ls_graph_free(g);
    else
        *steps = g;
    return status;
}
