/* SPDX-License-Identifier: BSD-3-Clause */
/* The graph of a model file, and where values lie.  The file was opened by the
 * library before, which checked that it says what its operators say. */
#include "base/error.h"
#include "base/memory.h"
#include "csource/writer.h"

#include <stdlib.h>
#include <string.h>

static int wrong(const ls__writer *w)
{
    return ls__fail(LS_EFORMAT, "%s: its graph is not what it should be",
                    w->path);
}

/* ------ attributes ------ */

static const json_t *attribute(const ls__cnode *n, const char *name)
{
    return json_object_get(json_object_get(n->json, "attributes"), name);
}

int64_t ls__attribute_int(const ls__cnode *n, const char *name, int64_t usual)
{
    const json_t *value = attribute(n, name);

    return json_is_boolean(value) ? json_is_true(value)
           : value                ? json_integer_value(value)
                                  : usual;
}

double ls__attribute_real(const ls__cnode *n, const char *name)
{
    const json_t *value = attribute(n, name);
    const char *text = json_string_value(value);

    return text ? (*text == '-' ? -1 : 1) * __builtin_inf()
                : json_number_value(value);
}

int64_t ls__attribute_at(const ls__cnode *n, const char *name, int i)
{
    return json_integer_value(json_array_get(attribute(n, name), (size_t)i));
}

int64_t ls__cnode_width(const ls__cnode *n)
{
    return n->rank ? n->shape[n->rank - 1] : 1;
}

int64_t ls__cnode_vectors(const ls__cnode *n)
{
    return n->size / ls__cnode_width(n);
}

/* ------ reading ------ */

static int find_entry(const ls__writer *w, const char *name)
{
    ls_entry e;

    for (int i = 0; ls_archive_entry(w->archive, i, &e); i++)
        if (!strcmp(e.name, name))
            return i;
    return -1;
}

static int read_lists(ls__writer *w, ls__cnode *n, int number)
{
    const json_t *inputs = json_object_get(n->json, "inputs");
    const json_t *params = json_object_get(n->json, "parameters");

    n->inputs = (int)json_array_size(inputs);
    n->params = (int)json_array_size(params);
    if (n->inputs > LS__NODE_INPUTS || n->params > LS__NODE_PARAMS)
        return wrong(w);
    for (int k = 0; k < n->inputs; k++) {
        n->in[k] = (int)json_integer_value(json_array_get(inputs, (size_t)k));
        if (n->in[k] < 0 || n->in[k] >= number)
            return wrong(w);
    }
    for (int k = 0; k < n->params; k++) {
        const char *name =
            json_string_value(json_array_get(params, (size_t)k));

        n->param[k] = name ? find_entry(w, name) : -1;
        if (n->param[k] < 0)
            return wrong(w);
    }
    return 0;
}

static int read_node(ls__writer *w, int number)
{
    ls__cnode *n = &w->node[number];
    const json_t *shape = json_object_get(n->json, "shape");
    const char *type = json_string_value(json_object_get(n->json, "dtype"));

    n->op = json_string_value(json_object_get(n->json, "op"));
    n->rank = (int)json_array_size(shape);
    n->is_i32 = type && !strcmp(type, "i32");
    n->size = 1;
    n->as = number;
    if (!n->op || n->rank > LS_MAX_RANK)
        return wrong(w);
    for (int k = 0; k < n->rank; k++) {
        n->shape[k] = json_integer_value(json_array_get(shape, (size_t)k));
        n->size *= n->shape[k];
    }
    return read_lists(w, n, number);
}

/* What the output needs; one input. */
static int mark_needed(ls__writer *w)
{
    w->input = -1;
    w->node[w->output].needed = true;
    for (int i = w->output; i >= 0; i--) {
        ls__cnode *n = &w->node[i];

        if (!n->needed)
            continue;
        for (int k = 0; k < n->inputs; k++)
            w->node[n->in[k]].needed = true;
        if (strcmp(n->op, "input"))
            continue;
        if (w->input >= 0)
            return ls__fail(LS_ENOTSUP, "%s: the model has more than one "
                            "input, which C source does not take", w->path);
        w->input = i;
    }
    return w->input < 0 ? wrong(w) : 0;
}

int ls__cgraph_read(ls__writer *w)
{
    const json_t *nodes = json_object_get(w->graph, "nodes");
    const json_t *outputs = json_object_get(w->graph, "outputs");
    const json_t *first = json_array_get(outputs, 0);

    w->nodes = (int)json_array_size(nodes);
    w->output = (int)json_integer_value(json_object_get(first, "node"));
    if (!first || w->output < 0 || w->output >= w->nodes)
        return wrong(w);
    if (!(w->node = ls__new((size_t)w->nodes, sizeof *w->node, "a graph")))
        return LS_ENOMEM;
    for (int i = 0; i <= w->output; i++) {
        int status;

        w->node[i].json = json_array_get(nodes, (size_t)i);
        if ((status = read_node(w, i)) < 0)
            return status;
    }
    return mark_needed(w);
}

/* ------ memory ------ */

/* Does place `at` of n floats meet one that is still read at node i? */
static int64_t meets(const ls__writer *w, int i, int64_t at, int64_t n)
{
    int64_t end = -1;

    for (int k = 0; k < i; k++) {
        const ls__cnode *o = &w->node[k];

        if (o->needed && o->as == k && o->last >= i && at < o->at + o->size &&
            o->at < at + n && o->at + o->size > end)
            end = o->at + o->size;
    }
    return end;
}

/* The lowest place that is free while the value is read. */
static void place(ls__writer *w, int i)
{
    ls__cnode *n = &w->node[i];
    int64_t end;

    n->at = 0;
    while ((end = meets(w, i, n->at, n->size)) >= 0)
        n->at = end;
    if (n->at + n->size > w->rows_floats)
        w->rows_floats = n->at + n->size;
}

void ls__cgraph_place(ls__writer *w)
{
    for (int i = 0; i <= w->output; i++) {
        ls__cnode *n = &w->node[i];

        if (n->needed && n->inputs > 0 && ls__crow_is_view(n->op))
            n->as = w->node[n->in[0]].as;
        for (int k = 0; n->needed && k < n->inputs; k++)
            w->node[w->node[n->in[k]].as].last = i;
    }
    w->node[w->node[w->output].as].last = w->nodes;
    for (int i = 0; i <= w->output; i++)
        if (w->node[i].needed && w->node[i].as == i && !w->node[i].is_i32)
            place(w, i);
}
