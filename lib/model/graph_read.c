/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads JSON into a graph, through the same doors as a program that builds
 * one: a whole graph, or what its first output needs, behind the nodes of
 * another. */
#include "model/graph_json.h"
#include "base/error.h"
#include "base/json.h"
#include "graph/op.h"
#include "op/op_table.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    ls_graph *graph;
    const char *where;
    const char *scope;  /* before the names of nodes and parameters; "" */
    ls_node *input;     /* in the place of the only input; NULL: all is read */
    ls_node **made;     /* [nodes], once they are read */
    int node;           /* that is being read */
    const json_t *json; /* of it */
} reader;

static int bad(const reader *r, const char *what)
{
    return ls__fail(LS_EFORMAT, "%s: node %d of the graph: %s", r->where,
                    r->node, what);
}

/* The builder's message, with the place before it. */
static int refused(const reader *r)
{
    char message[LS__MESSAGE];

    snprintf(message, sizeof message, "%s", r->graph->message);
    return ls__fail(r->graph->status, "%s: node %d of the graph: %s", r->where,
                    r->node, message);
}

static const char *text_at(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* A name in the scope, which the graph owns; NULL: there is no memory. */
static char *scoped(const reader *r, const char *name)
{
    return ls__path(r->graph, r->scope, name);
}

/* An integer from 0 to below `below`, else -1. */
static int64_t index_of(const json_t *value, int64_t below)
{
    json_int_t i = json_integer_value(value);

    return json_is_integer(value) && i >= 0 && i < below ? i : -1;
}

static bool read_sizes(const json_t *list, ls__extents *sizes)
{
    size_t n = json_array_size(list);

    if (!json_is_array(list) || n > LS_MAX_RANK)
        return false;
    *sizes = (ls__extents){.rank = (int)n};
    for (size_t i = 0; i < n; i++)
        if ((sizes->of[i] = index_of(json_array_get(list, i), INT64_MAX)) < 0)
            return false;
    return true;
}

/* ------ attributes ------ */

static bool read_number(const json_t *value, double *x)
{
    const char *text = json_string_value(value);

    *x = json_number_value(value);
    if (!text)
        return json_is_number(value);
    *x = *text == '-' ? -__builtin_inf() : __builtin_inf();
    return !strcmp(text, "infinity") || !strcmp(text, "-infinity");
}

static bool read_word(const json_t *value, const char *const *words, void *at)
{
    const char *text = json_string_value(value);

    for (int i = 0; text && words[i]; i++)
        if (!strcmp(words[i], text)) {
            memcpy(at, &i, sizeof i);
            return true;
        }
    return false;
}

static bool read_value(const json_t *value, const ls__attribute *a, void *at)
{
    switch (a->type) {
    case LS__INTEGER:
        *(int64_t *)at = json_integer_value(value);
        return json_is_integer(value);
    case LS__NUMBER:
        return read_number(value, at);
    case LS__YES_NO:
        *(bool *)at = json_is_true(value);
        return json_is_boolean(value);
    case LS__SIZES:
        return read_sizes(value, at);
    case LS__WORD:
        return read_word(value, a->words, at);
    }
    return false;
}

static int read_attributes(const reader *r, ls_node *n)
{
    const json_t *object = json_object_get(r->json, "attributes");
    size_t known = 0;

    for (const ls__attribute *a = n->op->file.attributes; a && a->name; a++) {
        const json_t *value = json_object_get(object, a->name);
        void *at = ls__attribute_in(n, a);

        if (!value && a->may_lack) {
            if (a->type == LS__YES_NO)
                *(bool *)at = false;
            else if (a->type == LS__NUMBER)
                *(double *)at = a->usual;
            else if (a->type == LS__WORD)
                *(int *)at = (int)a->usual;
            else
                *(int64_t *)at = (int64_t)a->usual;
            continue;
        }
        if (!read_value(value, a, at))
            return ls__fail(LS_EFORMAT, "%s: node %d of the graph: attribute "
                            "\"%s\" of %s is missing or not what it should be",
                            r->where, r->node, a->name, n->op->name);
        known++;
    }
    if (json_object_size(object) == known)
        return 0;
    return ls__fail(LS_ENOTSUP, "%s: node %d of the graph: %s has an attribute "
                    "that this lockstep does not know", r->where, r->node,
                    n->op->name);
}

/* ------ nodes ------ */

static const ls__op *find_op(const char *name)
{
    for (int i = 0; ls__ops[i]; i++)
        if (!strcmp(ls__ops[i]->name, name))
            return ls__ops[i];
    return NULL;
}

static int read_inputs(const reader *r, const ls__op *op, ls_node **in)
{
    const json_t *list = json_object_get(r->json, "inputs");

    if (json_array_size(list) != (size_t)op->inputs)
        return bad(r, "it has another number of inputs than its operator");
    for (int k = 0; k < op->inputs; k++) {
        int64_t i = index_of(json_array_get(list, (size_t)k), r->node);

        if (i < 0)
            return bad(r, "an input is not the number of a node before it");
        in[k] = r->made[i];
    }
    return 0;
}

static int skip_requests(const reader *r)
{
    const json_t *skipped = json_object_get(r->json, "skipped");
    int64_t n = skipped ? index_of(skipped, 1 << 20) : 0;

    if (n < 0)
        return bad(r, "\"skipped\" is no number of requests");
    if (r->graph->requests > INT_MAX / 2 - n)
        return bad(r, "more requests were skipped than are counted");
    r->graph->requests += (int)n;
    return 0;
}

/* What parameters of the node are called, which ls_rename may have said. */
static int read_names(const reader *r, ls_node *n)
{
    const json_t *names = json_object_get(r->json, "parameters");

    for (int k = 0; k < LS__MAX_PARAMS; k++) {
        const char *name = json_string_value(json_array_get(names, (size_t)k));

        if (name && *name && !n->tie[k] &&
            !(n->called[k] = scoped(r, name)))
            return LS_ENOMEM;
    }
    return 0;
}

/* Parameters of the node that are those of nodes before it. */
static int read_tied(const reader *r, ls_node *n)
{
    const json_t *places = json_object_get(r->json, "tied"), *place;
    const json_t *names = json_object_get(r->json, "parameters");
    bool transposed = json_is_true(json_object_get(r->json, "transposed"));
    ls_graph *g = r->graph;
    size_t i;

    if (places && !json_is_array(places))
        return bad(r, "\"tied\" is no list");
    json_array_foreach((json_t *)places, i, place) {
        int64_t k = index_of(place, LS__MAX_PARAMS);
        const char *name = k < 0 ? NULL
                                 : json_string_value(
                                       json_array_get(names, (size_t)k));
        int *index;

        if (name && !(name = scoped(r, name)))
            return LS_ENOMEM;
        if (name && !(index = ls__names_number(&g->param_names, name)))
            return LS_ENOMEM;
        if (!name || !*index)
            return bad(r, "a tied parameter is not that of a node before it");
        n->tie[k] = transposed && k == 0 ? -*index : *index;
    }
    return 0;
}

static int read_operator(const reader *r, const char *op_name, const char *name)
{
    const ls__op *op = find_op(op_name);
    ls_node *in[LS__MAX_INPUTS] = {NULL}, *n;
    int status;

    if (!op)
        return ls__fail(LS_ENOTSUP, "%s: node %d of the graph: operator \"%s\" "
                        "is not known here", r->where, r->node, op_name);
    if ((status = read_inputs(r, op, in)) < 0 ||
        (status = skip_requests(r)) < 0)
        return status;
    if (*name && !(name = scoped(r, name)))
        return LS_ENOMEM;
    n = op->inputs ? ls__node_new(op, name, in[0], in[1], in[2])
                   : ls__node_source(r->graph, op, name);
    if (!n)
        return refused(r);
    if ((status = read_attributes(r, n)) < 0 ||
        (status = read_tied(r, n)) < 0 || (status = read_names(r, n)) < 0)
        return status;
    if (!ls__node_done(n))
        return refused(r);
    r->made[r->node] = n;
    return 0;
}

/* The node that stands in the place of an input. */
static int take_input(const reader *r, const ls__extents *shape, ls_dtype dtype)
{
    const ls_node *n = r->input;

    if (n->dtype != dtype || n->rank != shape->rank ||
        memcmp(n->shape, shape->of, (size_t)n->rank * sizeof *n->shape))
        return bad(r, "the input is of another shape or type than the node "
                   "that takes its place");
    for (int i = 0; i < r->node; i++)
        if (r->made[i] == n)
            return bad(r, "the output has a second input");
    r->made[r->node] = r->input;
    return 0;
}

static int read_input(const reader *r, const char *name)
{
    const char *dtype = text_at(r->json, "dtype");
    bool is_f32 = dtype && !strcmp(dtype, "f32");
    ls__extents shape;

    if (!read_sizes(json_object_get(r->json, "shape"), &shape))
        return bad(r, "its shape is no list of sizes");
    if (!is_f32 && (!dtype || strcmp(dtype, "i32")))
        return bad(r, "its dtype is neither f32 nor i32");
    if (r->input)
        return take_input(r, &shape, is_f32 ? LS_F32 : LS_I32);
    r->made[r->node] = ls_input(r->graph, name, is_f32 ? LS_F32 : LS_I32,
                                shape.rank, shape.of);
    return r->made[r->node] ? 0 : refused(r);
}

/* Has the node come to what the text says?  If not, then the text is not of the
 * model that its weights belong to. */
static int compare(const reader *r, const ls_node *n)
{
    const json_t *names = json_object_get(r->json, "parameters");
    ls__extents shape;

    if (!read_sizes(json_object_get(r->json, "shape"), &shape) ||
        shape.rank != n->rank ||
        memcmp(shape.of, n->shape, (size_t)n->rank * sizeof *n->shape))
        return bad(r, "its shape is another one than its inputs give");
    if (json_array_size(names) != (size_t)n->params)
        return bad(r, "it has other parameters than its operator");
    for (int k = 0; k < n->params; k++) {
        const char *name = json_string_value(json_array_get(names, (size_t)k));

        if (name && !(name = scoped(r, name)))
            return LS_ENOMEM;
        if (!name || strcmp(name, r->graph->params[n->param[k]]->name))
            return bad(r, "it has other parameters than its operator");
    }
    return 0;
}

static int read_node(const reader *r)
{
    const char *op = text_at(r->json, "op"), *name = text_at(r->json, "name");
    int status;

    if (!op || !name)
        return bad(r, "it has no \"op\" or no \"name\"");
    status = strcmp(op, "input") ? read_operator(r, op, name)
                                 : read_input(r, name);
    return status < 0 || r->made[r->node] == r->input
               ? status : compare(r, r->made[r->node]);
}

/* ------ the rest of a graph ------ */

/* A shortage of memory is none of the file's. */
static int bad_part(const reader *r, const char *part)
{
    if (r->graph->status == LS_ENOMEM)
        return LS_ENOMEM;
    return ls__fail(LS_EFORMAT, "%s: \"%s\" of the graph is not what it should "
                    "be", r->where, part);
}

static ls_node *node_at(const reader *r, const json_t *value)
{
    int64_t i = index_of(value, r->node);

    return i < 0 ? NULL : r->made[i];
}

static int read_outputs(const reader *r, const json_t *list)
{
    size_t i;
    json_t *value;

    if (!json_is_array(list))
        return bad_part(r, "outputs");
    json_array_foreach((json_t *)list, i, value) {
        const char *name = text_at(value, "name");
        ls_node *n = node_at(r, json_object_get(value, "node"));

        if (!n || !name || ls_output(r->graph, n, name) < 0)
            return bad_part(r, "outputs");
    }
    return 0;
}

static int read_metrics(const reader *r, const json_t *list)
{
    size_t i;
    json_t *value;

    if (!json_is_array(list))
        return bad_part(r, "metrics");
    json_array_foreach((json_t *)list, i, value)
        if (ls_metric(r->graph, node_at(r, value)) < 0)
            return bad_part(r, "metrics");
    return 0;
}

static int read_loss(const reader *r, const json_t *value)
{
    if (json_is_null(value))
        return 0;
    return ls_loss(r->graph, node_at(r, value)) < 0 ? bad_part(r, "loss") : 0;
}

/* The rest, of a graph that is read whole. */
static int read_rest(reader *r, const json_t *root)
{
    int status = read_outputs(r, json_object_get(root, "outputs"));

    if (status == 0)
        status = read_metrics(r, json_object_get(root, "metrics"));
    return status == 0 ? read_loss(r, json_object_get(root, "loss")) : status;
}

/* Mark what node i needs; those behind it are marked or not. */
static void mark(const json_t *nodes, size_t i, bool *needed)
{
    const json_t *in = json_object_get(json_array_get(nodes, i), "inputs");

    for (size_t k = 0; needed[i] && k < json_array_size(in); k++) {
        int64_t at = index_of(json_array_get(in, k), (int64_t)i);

        if (at >= 0)
            needed[at] = true;
    }
}

/* The nodes, or those that the first output needs; *output: its number. */
static int read_nodes(reader *r, const json_t *root, int64_t *output)
{
    const json_t *nodes = json_object_get(root, "nodes");
    const json_t *first = json_array_get(json_object_get(root, "outputs"), 0);
    size_t count = json_array_size(nodes);
    bool *needed = ls__new(count, 1, r->where);
    int status = needed ? 0 : LS_ENOMEM;

    *output = index_of(json_object_get(first, "node"), (int64_t)count);
    if (needed && *output >= 0)
        needed[*output] = true;
    for (size_t i = count; needed && i-- > 0;)
        mark(nodes, i, needed);
    for (; r->node < (int)count && status == 0; r->node++) {
        r->json = json_array_get(nodes, (size_t)r->node);
        if (!r->input || needed[r->node])
            status = read_node(r);
    }
    free(needed);
    return status;
}

static int read_graph(reader *r, const json_t *root, ls_node **output)
{
    const json_t *nodes = json_object_get(root, "nodes");
    json_int_t version = json_integer_value(json_object_get(root, "version"));
    int64_t at;
    int status;

    if (version != LS__GRAPH_VERSION)
        return ls__fail(version > 0 ? LS_ENOTSUP : LS_EFORMAT, "%s: version "
                        "%lld of a graph; this lockstep reads version %d",
                        r->where, (long long)version, LS__GRAPH_VERSION);
    if (!json_is_array(nodes) || json_array_size(nodes) > INT32_MAX)
        return bad_part(r, "nodes");
    r->made = ls__new(json_array_size(nodes), sizeof *r->made, r->where);
    status = r->made ? read_nodes(r, root, &at) : LS_ENOMEM;
    if (status == 0 && !r->input)
        status = read_rest(r, root);
    else if (status == 0 && (at < 0 || r->made[at] == r->input))
        status = bad_part(r, "outputs");
    else if (status == 0)
        *output = r->made[at];
    free(r->made);
    return status;
}

static int read_text(reader *r, const char *text, ls_node **output)
{
    json_error_t error;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    int status;

    if (!root)
        return ls__json_fail(r->where, "the graph is no JSON", 0, &error);
    status = r->graph ? 0 : ls_graph_new(&r->graph);
    if (status == 0)
        status = read_graph(r, root, output);
    json_decref(root);
    return status;
}

int ls__graph_read(ls_graph **graph, const char *text, const char *where)
{
    reader r = {.where = where, .scope = ""};
    int status = read_text(&r, text, NULL);

    if (status < 0)
        ls_graph_free(r.graph);
    else
        *graph = r.graph;
    return status;
}

int ls__graph_read_on(ls_node *x, const char *scope, const char *text,
                      const char *where, ls_node **output)
{
    reader r = {.graph = x->graph, .where = where, .scope = scope, .input = x};

    return read_text(&r, text, output);
}

bool ls__graph_exceeds(const ls_graph *g, int64_t elements)
{
    int64_t all = 0;

    for (int i = 0; i < g->param_count && all <= elements; i++)
        all += g->params[i]->size;
    return all > elements;
}
