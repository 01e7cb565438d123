/* SPDX-License-Identifier: BSD-3-Clause */
/* Building graphs: nodes, inputs, outputs, and the error that sticks. */
#include "graph/graph.h"
#include "base/assert.h"
#include "base/sized.h"
#include "graph/op.h"
#include "graph/undo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int ls_graph_new(ls_graph **graph)
{
    LS__NEED(graph);

    ls_graph *g = ls__new(1, sizeof *g, "graph");

    if (!g)
        return LS_ENOMEM;
    *graph = g;
    return 0;
}

void ls_graph_free(ls_graph *graph)
{
    if (!graph)
        return;
    free(graph->nodes);
    free(graph->params);
    free(graph->streams);
    free(graph->inputs);
    free(graph->outputs);
    ls__names_free(&graph->param_names);
    ls__names_free(&graph->ties.names);
    ls__names_free(&graph->renames.names);
    free(graph->renames.as);
    ls__names_free(&graph->param_scopes);
    ls__names_free(&graph->stream_scopes);
    ls__arena_free(&graph->arena);
    free(graph);
}

ls_node *ls__graph_failed(ls_graph *graph, int status)
{
    if (!graph->status) {
        graph->status = status;
        snprintf(graph->message, sizeof graph->message, "%s", ls_errmsg());
    }
    ls__undo_take_back(graph);
    return NULL;
}

int ls__graph_stands(ls_graph *graph, const void *argument,
                     const char *function, const char *name)
{
    if (graph->status)
        return ls__fail(graph->status, "%s", graph->message);
    if (argument)
        return 0;
    ls__graph_null(graph, function, name);
    return LS_EINVAL;
}

ls_node *ls__graph_null(ls_graph *graph, const char *function,
                        const char *argument)
{
    if (!graph->status)
        ls__graph_failed(graph, ls__null(function, argument));
    return NULL;
}

ls_graph *ls__graph_of(const ls_node *x)
{
    return x->graph;
}

bool ls__node_stands(const ls_node *x)
{
    return x && !x->graph->status;
}

bool ls__node_takes(const ls_node *x, const char *what, void *ours, size_t n,
                    const void *theirs)
{
    int status;

    if (!ls__node_stands(x))
        return false;
    if ((status = ls__sized_take(what, ours, n, theirs)) < 0)
        ls__graph_failed(x->graph, status);
    return status == 0;
}

int ls__graph_append(void ***list, int *count, int *capacity, void *p)
{
    if (*count == *capacity) {
        int more = *capacity ? 2 * *capacity : 16;
        void **grown = realloc(*list, (size_t)more * sizeof *grown);

        if (!grown)
            return ls__no_memory("graph", (size_t)more * sizeof *grown);
        *list = grown;
        *capacity = more;
    }
    LS__ASSERT(*count < *capacity);
    (*list)[(*count)++] = p;
    return 0;
}

static ls_node *new_node(ls_graph *g, const char *name)
{
    ls_node *n = ls__arena_new(&g->arena, 1, sizeof *n);

    if (!n || !(n->name = ls__arena_text(&g->arena, name)))
        return ls__graph_failed(g, LS_ENOMEM);
    n->graph = g;
    n->id = g->node_count;
    n->input = n->stream = -1;
    if (ls__graph_append((void ***)&g->nodes, &g->node_count, &g->node_capacity,
                         n) < 0)
        return ls__graph_failed(g, LS_ENOMEM);
    return n;
}

/* NULL for an input is what a builder that failed returned.  Where no error
 * sticks it is the caller's, to the graph of another input; one that passed is
 * told again. */
static ls_node *no_input(const ls__op *op, ls_node *const *in, int missing)
{
    for (int i = 0; i < op->inputs; i++)
        if (in[i] && !in[i]->graph->status) {
            if (in[i]->graph->undo.passes && *in[i]->graph->message)
                ls__fail(LS_EINVAL, "%s", in[i]->graph->message);
            else
                ls__fail(LS_EINVAL, "%s: input %d is NULL", op->name, missing);
            return ls__graph_failed(in[i]->graph, LS_EINVAL);
        }
    return NULL;
}

ls_node *ls__node_source(ls_graph *graph, const ls__op *op, const char *name)
{
    ls_node *n = new_node(graph, name);

    if (!n)
        return NULL;
    n->op = op;
    if (op->of && !(n->of = ls__arena_new(&graph->arena, 1, op->of)))
        return ls__graph_failed(graph, LS_ENOMEM);
    return n;
}

/* Refuse an input of a node that was to be made. */
static ls_node *misread(const ls__op *op, const char *name, ls_graph *graph,
                        const char *how)
{
    return ls__graph_failed(graph, ls__fail(LS_EINVAL, "%s \"%s\": %s",
                                            op->name, name ? name : "", how));
}

ls_node *ls__node_new(const ls__op *op, const char *name, ls_node *a,
                      ls_node *b, ls_node *c)
{
    ls_node *in[LS__MAX_INPUTS] = {a, b, c}, *n;

    LS__ASSERT(op->inputs >= 1 && op->inputs <= 3);
    for (int i = 0; i < op->inputs; i++) {
        if (!in[i])
            return no_input(op, in, i);
        if (in[i]->graph->status)
            return NULL;
        if (in[i]->op && in[i]->op->is_loss)
            return misread(op, name, a->graph,
                           "a loss is no input to anything");
        if (in[i]->graph != a->graph)
            return misread(op, name, a->graph,
                           "its inputs belong to two graphs");
    }
    ls__undo_mark(a->graph, in);
    if ((n = ls__node_source(a->graph, op, name ? name : "")))
        memcpy(n->in, in, sizeof in);
    return n;
}

ls_node *ls__node_unnamed(const ls__op *op, ls_node *a, ls_node *b)
{
    return ls__node_new(op, a ? a->name : "", a, b, NULL);
}

int ls__node_set_shape(ls_node *node, ls_dtype dtype, int rank,
                       const int64_t *shape)
{
    int64_t size = ls__count(rank, shape);
    char text[LS__SHAPE_TEXT];

    if (size <= 0 || size > INT32_MAX)
        return ls__fail(LS_ESHAPE, "%s \"%s\": %s is no shape of a row; it "
                        "has 1 to 2147483647 elements",
                        node->op ? node->op->name : "input", node->name,
                        ls__shape_text(text, rank, shape));
    node->dtype = dtype;
    node->rank = rank;
    if (rank > 0) /* a shape of rank 0 may be NULL */
        memmove(node->shape, shape, (size_t)rank * sizeof *shape);
    node->size = size;
    return 0;
}

ls_node *ls__node_done(ls_node *node)
{
    int status = node ? node->op->shape(node) : 0;
    ls_graph *g = node ? node->graph : NULL;

    if (status < 0)
        return ls__graph_failed(g, status);
    if (node && node->op->declare)
        node = node->op->declare(node);
    LS__ASSERT(!node || node->params <= LS__MAX_PARAMS);
    if (node && !g->undo.depth)
        g->undo.marked = false;
    return node;
}

ls_node *ls__node_with(ls_node *node, const void *of)
{
    LS__ASSERT(!node || node->op->of);
    if (node)
        memcpy(node->of, of, node->op->of);
    return ls__node_done(node);
}

ls_node *ls_input(ls_graph *graph, const char *name, ls_dtype dtype, int rank,
                  const int64_t *shape)
{
    LS__NEED_OR(graph, NULL);

    ls_node *n;

    if (!name)
        return ls__graph_null(graph, __func__, "name");
    if (graph->status)
        return NULL;
    if (rank < 0 || rank >= LS_MAX_RANK ||
        (dtype != LS_F32 && dtype != LS_I32))
        return ls__graph_failed(
            graph, ls__fail(LS_EINVAL, "input \"%s\": rank %d, dtype %d: rank "
                            "must be 0..%d and dtype LS_F32 or LS_I32", name,
                            rank, (int)dtype, LS_MAX_RANK - 1));
    for (int i = 0; i < graph->input_count; i++)
        if (!strcmp(graph->inputs[i]->name, name))
            return ls__graph_failed(
                graph, ls__fail(LS_EINVAL, "input \"%s\" stands there twice",
                                name));
    ls__undo_mark(graph, NULL);
    if (!(n = new_node(graph, name)))
        return NULL;
    if (ls__node_set_shape(n, dtype, rank, shape) < 0)
        return ls__graph_failed(graph, LS_ESHAPE);
    graph->undo.marked = false;
    n->limit = INT64_C(1) << 31;
    n->input = graph->input_count;
    if (ls__graph_append((void ***)&graph->inputs, &graph->input_count,
                         &graph->input_capacity, n) < 0)
        return ls__graph_failed(graph, LS_ENOMEM);
    return n;
}

int ls_node_shape(const ls_node *node, int64_t shape[LS_MAX_RANK])
{
    LS__NEED(node);
    LS__NEED(shape);
    memcpy(shape, node->shape, (size_t)node->rank * sizeof *shape);
    return node->rank;
}

int ls_loss(ls_graph *graph, ls_node *loss)
{
    LS__NEED(graph);

    int status = 0;

    LS__NEED_STANDING(graph, loss);
    if (!loss->op || !loss->op->is_loss || loss->graph != graph)
        status = ls__fail(LS_EINVAL, "ls_loss: the node is not a loss of this "
                          "graph; ls_mean_loss makes one of any terms");
    else if (graph->loss)
        status = ls__fail(LS_EINVAL, "ls_loss: the graph has a loss; several "
                          "are added, as ls_mean_loss tells");
    else
        graph->loss = loss;
    if (status < 0)
        ls__graph_failed(graph, status);
    return status;
}

static bool has_value(const ls_graph *g, const ls_node *n)
{
    return n && n->op && !n->op->is_loss && n->graph == g &&
           n->dtype == LS_F32;
}

/* Refuse what has no value to read, and a name that is taken. */
static int check_output(const ls_graph *g, const ls_node *n, const char *name)
{
    if (!has_value(g, n))
        return ls__fail(LS_EINVAL, "output \"%s\": the node is not the value "
                        "of an operator of this graph", name);
    for (int i = 0; i < g->output_count; i++)
        if (!strcmp(g->outputs[i]->name, name))
            return ls__fail(LS_EINVAL, "output \"%s\" stands there twice",
                            name);
    return 0;
}

int ls_output(ls_graph *graph, ls_node *node, const char *name)
{
    LS__NEED(graph);

    ls__output *o;
    int status;

    LS__NEED_STANDING(graph, node);
    LS__NEED_STANDING(graph, name);
    status = check_output(graph, node, name);
    if (status == 0) {
        o = ls__arena_new(&graph->arena, 1, sizeof *o);
        if (!o || !(o->name = ls__arena_text(&graph->arena, name)))
            status = LS_ENOMEM;
        else
            o->node = node;
    }
    if (status == 0)
        status = ls__graph_append((void ***)&graph->outputs,
                                  &graph->output_count,
                                  &graph->output_capacity, o);
    if (status < 0)
        ls__graph_failed(graph, status);
    return status;
}

int ls_metric(ls_graph *graph, ls_node *node)
{
    LS__NEED(graph);

    int status = 0;

    LS__NEED_STANDING(graph, node);
    if (!has_value(graph, node))
        status = ls__fail(LS_EINVAL, "metric %d: the node is not the value of "
                          "an operator of this graph", graph->metrics);
    else if (graph->metrics == LS_METRICS)
        status = ls__fail(LS_EINVAL, "metric %d: there are at most %d",
                          graph->metrics, LS_METRICS);
    if (status < 0) {
        ls__graph_failed(graph, status);
        return status;
    }
    graph->metric[graph->metrics] = node;
    return graph->metrics++;
}
