/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes a graph as JSON: a loop over nodes around a loop over attributes.
 * Files get the text; what must be equal is told from the same
 * (graph_facts.c). */
#include "model/graph_json.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/utf8.h"
#include "base/json.h"
#include "graph/op.h"

#include <stdlib.h>
#include <string.h>

/* The nodes that are written: their number among those, else -1. */
typedef struct writer {
    const ls_graph *g;
    int *number;  /* [node] */
    bool trained; /* only what the loss needs */
    bool every;   /* attribute, though it be as usual */
} writer;

static json_t *integers(int count, const int64_t *of)
{
    json_t *list = json_array();

    for (int i = 0; i < count; i++)
        list = ls__json_and(list, json_integer(of[i]));
    return list;
}

/* JSON has no word for infinity; NaN is no attribute's value. */
static json_t *number(double x)
{
    LS__ASSERT(x == x);
    if (x - x == 0)
        return json_real(x);
    return json_string(x > 0 ? "infinity" : "-infinity");
}

static json_t *value_of(const ls_node *n, const ls__attribute *a)
{
    const void *at = ls__attribute_in(n, a);
    const ls__extents *sizes = at;
    int word;

    switch (a->type) {
    case LS__INTEGER:
        return json_integer(*(const int64_t *)at);
    case LS__NUMBER:
        return number(*(const double *)at);
    case LS__YES_NO:
        return json_boolean(*(const bool *)at);
    case LS__SIZES:
        return integers(sizes->rank, sizes->of);
    case LS__WORD:
        memcpy(&word, at, sizeof word);
        return json_string(a->words[word]);
    }
    return NULL;
}

static bool is_usual(const ls_node *n, const ls__attribute *a)
{
    const void *at = ls__attribute_in(n, a);
    double x = a->type == LS__NUMBER   ? *(const double *)at
               : a->type == LS__WORD   ? *(const int *)at
               : a->type == LS__YES_NO ? *(const bool *)at
                                       : (double)*(const int64_t *)at;

    return a->may_lack && x == a->usual;
}

static json_t *attributes(const writer *w, const ls_node *n)
{
    json_t *list = json_object();

    for (const ls__attribute *a = n->op->file.attributes; a && a->name; a++)
        if (w->every || !is_usual(n, a))
            list = ls__json_with(list, a->name, value_of(n, a));
    return list;
}

static json_t *inputs(const writer *w, const ls_node *n)
{
    int64_t id[LS__MAX_INPUTS] = {0};

    for (int k = 0; k < n->op->inputs; k++)
        id[k] = w->number[n->in[k]->id];
    return integers(n->op->inputs, id);
}

static json_t *parameters(const ls_node *n)
{
    json_t *list = json_array();

    for (int k = 0; k < n->params; k++) {
        const ls__param *p = n->graph->params[n->param[k]];

        list = ls__json_and(list, ls__json_string(p->name));
    }
    return list;
}

static bool has_tied(const ls_node *n)
{
    bool has = false;

    for (int k = 0; k < n->params; k++)
        has |= n->tie[k] != 0;
    return has;
}

/* The parameters tied to another node's: their places among the node's. */
static json_t *tied(const ls_node *n)
{
    int64_t of[LS__MAX_PARAMS];
    int count = 0;

    for (int k = 0; k < n->params; k++)
        if (n->tie[k])
            of[count++] = k;
    return integers(count, of);
}

/* Adds what an operator's node has besides op, name and shape. */
static json_t *with_operator(json_t *object, const writer *w, const ls_node *n,
                             int64_t skipped)
{
    object = ls__json_with(object, "inputs", inputs(w, n));
    object = ls__json_with(object, "attributes", attributes(w, n));
    object = ls__json_with(object, "parameters", parameters(n));
    if (has_tied(n))
        object = ls__json_with(object, "tied", tied(n));
    if (ls__is_transposed(n))
        object = ls__json_with(object, "transposed", json_true());
    return skipped ? ls__json_with(object, "skipped", json_integer(skipped))
                   : object;
}

static json_t *node(const writer *w, const ls_node *n, int64_t skipped)
{
    const char *dtype = n->dtype == LS_F32 ? "f32" : "i32";
    json_t *object = json_pack("{s:s, s:o, s:o}", "op",
                               n->op ? n->op->name : "input", "name",
                               ls__json_string(n->name), "shape",
                               integers(n->rank, n->shape));

    return n->op ? with_operator(object, w, n, skipped)
                 : ls__json_with(object, "dtype", json_string(dtype));
}

/* ------ the parts of a graph ------ */

/* Requests for keys before this node's that belong to no node: a dropout of
 * rate 0 takes one and leaves no node. */
static int64_t skipped_before(const ls_graph *g, const ls_node *n,
                              int64_t *requests)
{
    int64_t first = *requests, own = n->stream >= 0, skipped;

    if (n->stream >= 0)
        first = g->streams[n->stream]->request;
    for (int k = n->params - 1; k >= 0; k--) /* tied ones take none */
        if (!n->tie[k]) {
            first = g->params[n->param[k]]->request;
            own++;
        }
    skipped = first - *requests;
    LS__ASSERT(skipped >= 0);
    *requests = first + own;
    return skipped;
}

static json_t *nodes(const writer *w)
{
    json_t *list = json_array();
    int64_t requests = 0, skipped;

    for (int i = 0; i < w->g->node_count; i++) {
        if (w->number[i] < 0)
            continue;
        skipped = skipped_before(w->g, w->g->nodes[i], &requests);
        list = ls__json_and(list, node(w, w->g->nodes[i], skipped));
    }
    return list;
}

static json_t *outputs(const writer *w)
{
    json_t *list = json_array();

    for (int i = 0; i < w->g->output_count && !w->trained; i++) {
        const ls__output *o = w->g->outputs[i];

        list = ls__json_and(list, json_pack("{s:o, s:i}", "name",
                                            ls__json_string(o->name), "node",
                                            w->number[o->node->id]));
    }
    return list;
}

static json_t *metrics(const writer *w)
{
    int64_t id[LS_METRICS];
    int count = w->trained ? 0 : w->g->metrics;

    for (int i = 0; i < count; i++)
        id[i] = w->number[w->g->metric[i]->id];
    return integers(count, id);
}

static json_t *graph(const writer *w)
{
    const ls_node *loss = w->g->loss;

    return json_pack("{s:i, s:o, s:o, s:o, s:o}", "version", LS__GRAPH_VERSION,
                     "nodes", nodes(w), "outputs", outputs(w), "metrics",
                     metrics(w), "loss",
                     loss ? json_integer(w->number[loss->id]) : json_null());
}

/* ------ which nodes ------ */

/* 1 for what is written, from the loss back or all. */
static void mark(const writer *w)
{
    for (int i = w->g->node_count - 1; i >= 0; i--) {
        const ls_node *n = w->g->nodes[i];

        w->number[i] |= !w->trained || n == w->g->loss;
        for (int k = 0; w->number[i] && n->op && k < n->op->inputs; k++)
            w->number[n->in[k]->id] = 1;
    }
}

static void number_them(const writer *w)
{
    int next = 0;

    for (int i = 0; i < w->g->node_count; i++)
        w->number[i] = w->number[i] ? next++ : -1;
}

static json_t *written(const ls_graph *g, bool trained, bool every)
{
    writer w = {g, ls__new((size_t)g->node_count + 1, sizeof(int), "nodes"),
                trained, every};
    json_t *root = NULL;

    if (w.number) {
        mark(&w);
        number_them(&w);
        root = graph(&w);
    }
    free(w.number);
    return root;
}

json_t *ls__graph_said(const ls_graph *g, bool trained)
{
    return written(g, trained, true);
}

json_t *ls__graph_as_filed(const ls_graph *g)
{
    return written(g, false, false);
}

/* ------ what cannot be written ------ */

static int check_text(const char *text)
{
    return ls__utf8_is(text)
               ? 0 : ls__fail(LS_EINVAL, "a name is not UTF-8: \"%s\"", text);
}

static int check(const ls_graph *g)
{
    int status = g->status;

    if (status)
        return ls__fail(status, "%s", g->message);
    for (int i = 0; i < g->node_count && status == 0; i++) {
        const ls_node *n = g->nodes[i];

        if (n->op && ls__is_own(n->op))
            return ls__fail(LS_ENOTSUP, "\"%s\" is an operator of your own: "
                            "its functions cannot be written", n->name);
        status = check_text(n->name);
    }
    for (int i = 0; i < g->output_count && status == 0; i++)
        status = check_text(g->outputs[i]->name);
    return status;
}

int ls__graph_write(const ls_graph *g, char **text)
{
    int status = check(g);
    json_t *root;

    if (status < 0)
        return status;
    if (!(root = ls__graph_as_filed(g)))
        status = ls__no_memory("a graph's JSON", 0);
    else if (!(*text = ls__json_text(root, JSON_COMPACT)))
        status = LS_ENOMEM;
    json_decref(root);
    return status;
}
