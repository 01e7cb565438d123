/* SPDX-License-Identifier: BSD-3-Clause */
/* See net.h.  The library wrote the text, or checked it with the file that it
 * is from; here only what would lead astray is refused. */
#include "export/net.h"
#include "base/error.h"

#include <string.h>

static int wrong(const char *what)
{
    return ls__fail(LS_EFORMAT, "a graph: %s is not what it should be", what);
}

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* ------ reading ------ */

static int list_params(ls__net *net, const ls_archive *a)
{
    net->params = ls_archive_entries(a);
    net->param = ls__arena_new(&net->arena, (size_t)net->params + 1,
                               sizeof *net->param);
    if (!net->param)
        return LS_ENOMEM;
    for (int i = 0; i < net->params; i++) {
        net->param[i].id = i;
        ls_archive_entry(a, i, &net->param[i].of);
    }
    return 0;
}

static const ls__net_param *param_of(const ls__net *net, const char *name)
{
    for (int i = 0; name && i < net->params; i++)
        if (!strcmp(net->param[i].of.name, name))
            return &net->param[i];
    return NULL;
}

/* Reads the numbers of the nodes that one reads, which stand before it. */
static int link_inputs(ls__net *net, ls__net_node *n, const json_t *list)
{
    n->inputs = (int)json_array_size(list);
    if (n->inputs > LS__NET_INPUTS)
        return wrong("the number of a node's inputs");
    for (int k = 0; k < n->inputs; k++) {
        json_int_t of = json_integer_value(json_array_get(list, (size_t)k));

        if (of < 0 || of >= n->id)
            return wrong("a node's input");
        n->in[k] = &net->node[of];
    }
    return 0;
}

static int link_params(ls__net *net, ls__net_node *n, const json_t *list)
{
    n->params = (int)json_array_size(list);
    if (n->params > LS__NET_PARAMS)
        return wrong("the number of a node's parameters");
    for (int k = 0; k < n->params; k++) {
        const json_t *name = json_array_get(list, (size_t)k);

        if (!(n->param[k] = param_of(net, json_string_value(name))))
            return wrong("the name of a parameter");
    }
    return 0;
}

static int read_node(ls__net *net, int id, const json_t *json)
{
    ls__net_node *n = &net->node[id];
    const json_t *shape = json_object_get(json, "shape");
    const char *op = text_of(json, "op"), *type = text_of(json, "dtype");
    int status;

    n->id = id;
    n->name = text_of(json, "name");
    n->rank = (int)json_array_size(shape);
    if (!op || !n->name || n->rank > LS_MAX_RANK)
        return wrong("a node");
    n->op = strcmp(op, "input") ? op : NULL;
    n->is_i32 = type && !strcmp(type, "i32");
    n->is_transposed = json_is_true(json_object_get(json, "transposed"));
    n->attributes = json_object_get(json, "attributes");
    for (int k = 0; k < n->rank; k++)
        n->shape[k] = json_integer_value(json_array_get(shape, (size_t)k));
    status = link_inputs(net, n, json_object_get(json, "inputs"));
    return status < 0 ? status : link_params(
        net, n, json_object_get(json, "parameters"));
}

static int read_nodes(ls__net *net, const json_t *list)
{
    int status = 0;

    net->nodes = (int)json_array_size(list);
    net->node = ls__arena_new(&net->arena, (size_t)net->nodes + 1,
                              sizeof *net->node);
    if (!net->node)
        return LS_ENOMEM;
    for (int i = 0; i < net->nodes && status == 0; i++)
        status = read_node(net, i, json_array_get(list, (size_t)i));
    return status;
}

static int read_outputs(ls__net *net, const json_t *list)
{
    net->outputs = (int)json_array_size(list);
    net->output = ls__arena_new(&net->arena, (size_t)net->outputs + 1,
                                sizeof *net->output);
    if (!net->output)
        return LS_ENOMEM;
    for (int i = 0; i < net->outputs; i++) {
        const json_t *json = json_array_get(list, (size_t)i);
        json_int_t of = json_integer_value(json_object_get(json, "node"));

        net->output[i].name = text_of(json, "name");
        if (!net->output[i].name || of < 0 || of >= net->nodes)
            return wrong("an output");
        net->output[i].node = &net->node[of];
    }
    return 0;
}

const char *ls__net_note(const ls_archive *a, const char *want)
{
    const char *name, *value;

    for (int i = 0; ls_archive_note(a, i, &name, &value); i++)
        if (!strcmp(name, want))
            return value;
    return NULL;
}

int ls__net_open(ls__net *net, const ls_archive *a)
{
    const char *text = ls__net_note(a, "lockstep.graph");
    int status;

    *net = (ls__net){0};
    if (!text)
        return ls__fail(LS_ENOTFOUND, "there is no graph");
    if (!(net->text = json_loads(text, 0, NULL)))
        return ls__no_memory("a graph", strlen(text));
    if ((status = list_params(net, a)) == 0 &&
        (status = read_nodes(net, json_object_get(net->text, "nodes"))) == 0)
        status = read_outputs(net, json_object_get(net->text, "outputs"));
    return status;
}

void ls__net_close(ls__net *net)
{
    json_decref(net->text);
    ls__arena_free(&net->arena);
    *net = (ls__net){0};
}

/* ------ asking ------ */

bool ls__net_word(const char *op, const char *words)
{
    size_t n = strlen(op);

    for (const char *at = words; (at = strstr(at, op)); at += n)
        if (n && (at == words || at[-1] == ' ') && (!at[n] || at[n] == ' ') &&
            !strchr(op, ' '))
            return true;
    return false;
}

bool ls__net_is(const ls__net_node *n, const char *words)
{
    return n->op && ls__net_word(n->op, words);
}

/* The operators of recurrent layers begin with "lstm" and "gru". */
bool ls__net_is_recurrent(const ls__net_node *n)
{
    return n->op && (!strncmp(n->op, "lstm", 4) || !strncmp(n->op, "gru", 3));
}

int64_t ls__net_integer(const ls__net_node *n, const char *name)
{
    return ls__net_integer_or(n, name, 0);
}

int64_t ls__net_integer_or(const ls__net_node *n, const char *name,
                           int64_t usual)
{
    const json_t *value = json_object_get(n->attributes, name);

    return !value                ? usual
           : json_is_true(value) ? 1 : json_integer_value(value);
}

/* Infinities are words. */
double ls__net_number(const ls__net_node *n, const char *name)
{
    const json_t *value = json_object_get(n->attributes, name);
    const char *word = json_string_value(value);

    return word ? (*word == '-' ? -1 : 1) * __builtin_inf()
                : json_number_value(value);
}

float ls__net_epsilon(const ls__net_node *n)
{
    return json_object_get(n->attributes, "epsilon")
               ? (float)ls__net_number(n, "epsilon") : 1e-6f;
}

int64_t ls__net_size(const ls__net_node *n, const char *name, int i)
{
    const json_t *list = json_object_get(n->attributes, name);

    return json_integer_value(json_array_get(list, (size_t)i));
}

static bool says(const ls__net_node *n, const char *name, const char *word)
{
    const char *said = text_of(n->attributes, name);

    return said && !strcmp(said, word);
}

/* Padding along axis 0 or 1. */
static void pad(const ls__net_node *n, int axis, int64_t of[LS__WINDOW])
{
    int64_t *before = &of[LS__PADS + axis];
    int64_t reach = (of[LS__TAPS + axis] - 1) * of[LS__GAPS + axis] + 1;
    int64_t missing = (n->shape[axis] - 1) * of[LS__STRIDES + axis] + reach -
                      n->in[0]->shape[axis];

    *before = 0;
    if (says(n, "padding", "explicit"))
        *before = ls__net_integer(n, axis ? "left" : "top");
    else if (says(n, "padding", "causal"))
        *before = reach - 1;
    else if (says(n, "padding", "same") && missing > 0)
        *before = missing / 2;
    before[2] = missing > *before ? missing - *before : 0;
}

void ls__net_window(const ls__net_node *n, int64_t of[LS__WINDOW])
{
    static const char *const names[] = {"dilation_y", "dilation_x", "height",
                                        "width", "stride_y", "stride_x"};

    for (int k = 0; k < LS__PADS; k++)
        of[k] = ls__net_integer_or(n, names[k], 1);
    for (int axis = 0; axis < 2; axis++)
        pad(n, axis, of);
}

int64_t ls__net_width(const ls__net_node *n)
{
    return n->rank ? n->shape[n->rank - 1] : 1;
}

int64_t ls__net_vectors(const ls__net_node *n)
{
    return ls__count(n->rank ? n->rank - 1 : 0, n->shape);
}
