/* SPDX-License-Identifier: BSD-3-Clause */
/* A walk over the JSON of a graph (graph_write.c): all that a model file says
 * of a node is compared. */
#include "model/graph_facts.h"
#include "base/real_text.h"
#include "model/graph_json.h"
#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Attributes have the short names: what every node has is called otherwise. */
static const struct {
    const char *in_json, *name;
} others[] = {{"dtype", "type"},
              {"inputs", "nodes it reads"},
              {"parameters", "names of parameters"},
              {"tied", "parameters of another node"},
              {"transposed", "weights are transposed"},
              {"skipped", "keys taken before it"},
              {"shape", "shape of a row"}};

static void put(ls__facts *f, const char *name, const json_t *value)
{
    char *text;

    if (json_is_real(value)) {
        ls__facts_put_real(f, name, json_real_value(value));
    } else if (json_is_string(value)) {
        ls__facts_put(f, name, "%s", json_string_value(value));
    } else if ((text = ls__json_text(value, JSON_ENCODE_ANY | JSON_COMPACT))) {
        ls__facts_put(f, name, "%s", text);
        free(text);
    } else {
        f->failed = true;
    }
}

/* Put a value as "<title>: <name>". */
static void put_of(ls__facts *f, const char *title, const char *name,
                   const json_t *value)
{
    size_t room = strlen(title) + strlen(name) + 3;
    char *text = ls__new(room, 1, "a fact");

    if (text) {
        snprintf(text, room, "%s: %s", title, name);
        put(f, text, value);
    }
    f->failed |= !text;
    free(text);
}

static void put_node(ls__facts *f, const char *title, json_t *node)
{
    const char *name;
    json_t *value;

    json_object_foreach(json_object_get(node, "attributes"), name, value)
        put_of(f, title, name, value);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if ((value = json_object_get(node, others[i].in_json)))
            put_of(f, title, others[i].name, value);
}

/* `leaky_relu "act"` */
static char *called(const json_t *node)
{
    const char *op = json_string_value(json_object_get(node, "op"));
    const char *name = json_string_value(json_object_get(node, "name"));
    size_t room = strlen(op) + strlen(name) + 4;
    char *text = ls__new(room, 1, "a fact");

    if (text && *name)
        snprintf(text, room, "%s \"%s\"", op, name);
    else if (text)
        snprintf(text, room, "%s", op);
    return text;
}

static void put_nodes(ls__facts *f, const json_t *nodes)
{
    size_t i;
    json_t *node;

    json_array_foreach(nodes, i, node) {
        char number[32], *call = called(node), *title = NULL;
        size_t room = sizeof number + (call ? strlen(call) : 0) + 4;

        snprintf(number, sizeof number, "node %zu", i);
        if (call && (title = ls__new(room, 1, "a fact"))) {
            snprintf(title, room, "%s (%s)", number, call);
            ls__facts_put(f, number, "%s", call);
            put_node(f, title, node);
        }
        f->failed |= !title;
        free(title);
        free(call);
    }
}

static void put_outputs(ls__facts *f, const json_t *outputs)
{
    size_t i;
    json_t *output;

    json_array_foreach(outputs, i, output) {
        char number[32];

        snprintf(number, sizeof number, "output %zu", i);
        put_of(f, number, "name", json_object_get(output, "name"));
        put_of(f, number, "node", json_object_get(output, "node"));
    }
}

void ls__graph_facts(const ls_graph *g, bool trained, ls__facts *f)
{
    json_t *said = ls__graph_said(g, trained);

    f->failed |= !said;
    if (!said)
        return;
    put_nodes(f, json_object_get(said, "nodes"));
    put(f, "the node of the loss", json_object_get(said, "loss"));
    if (!trained) {
        put_outputs(f, json_object_get(said, "outputs"));
        put(f, "the nodes of metrics", json_object_get(said, "metrics"));
    }
    json_decref(said);
}
