/* SPDX-License-Identifier: BSD-3-Clause */
/* The graph in a record's head, as the referee understands it by itself:
 * operators by their names, with their attributes as texts. */
#include "record.h"
#include "verdict.h"

enum { MOST_NODES = 1 << 20 };

/* ------ shapes ------ */

/* "4x16" of [4,16]; NULL: it is no list of sizes. */
static const char *sizes_text(const json *list)
{
    char text[MOST_RANK * 24] = "";
    int rank = 0;

    if (!list || list->type != JSON_LIST)
        return NULL;
    for (const json *j = list->first; j; j = j->next) {
        if (j->type != JSON_NUMBER || rank++ == MOST_RANK ||
            strlen(j->text) > 20)
            return NULL;
        strcat(strcat(text, rank > 1 ? "x" : ""), j->text);
    }
    return text_of("%s", text);
}

/* ------ attributes ------ */

/* Constants of elementwise operators, in their order: p, then q. */
static const char *const constants[][3] = {
    {"scale", "scale", "shift"}, {"clamp", "low", "high"},
    {"pow", "power", NULL}, {"leaky_relu", "slope", NULL},
    {"elu", "alpha", NULL}};

/* Words that count from 0. */
static const char *const words_of[][5] = {
    {"padding", "same", "valid", "causal", "explicit"},
    {"statistics", "stored", "of_shard", "of_batch", NULL}};

static const char *constant_of(const said *n, int k)
{
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
        if (!strcmp(n->op, constants[i][0]))
            return constants[i][1 + k];
    return NULL;
}

static const char *word_of(const json *j)
{
    for (size_t i = 0; i < sizeof words_of / sizeof *words_of; i++)
        for (int k = 1; k < 5 && !strcmp(j->key, words_of[i][0]); k++)
            if (words_of[i][k] && !strcmp(j->text, words_of[i][k]))
                return text_of("%d", k - 1);
    return j->text;
}

/* An attribute as a text: yes and no as 1 and 0, sizes as "4x16". */
const char *attribute(const said *n, const char *name)
{
    const json *j;

    if (!strcmp(name, "transposed"))
        return json_get(n->line, "transposed") ? "1" : NULL;
    if (!strcmp(name, "p") || !strcmp(name, "q"))
        name = constant_of(n, *name == 'q');
    j = name ? json_get(json_get(n->line, "attributes"), name) : NULL;
    if (!j)
        return NULL;
    switch (j->type) {
    case JSON_TRUE: return "1";
    case JSON_FALSE: return "0";
    case JSON_NUMBER: return j->text;
    case JSON_TEXT: return word_of(j);
    case JSON_LIST: return sizes_text(j);
    default: return NULL;
    }
}

static const json *item(const json *list, int k)
{
    const json *j = list && list->type == JSON_LIST ? list->first : NULL;

    while (j && k-- > 0)
        j = j->next;
    return j;
}

int64_t input(const said *n, int k)
{
    return json_as_whole(item(json_get(n->line, "inputs"), k), -1);
}

const said *param(const said *n, int k)
{
    const json *name = item(json_get(n->line, "parameters"), k);

    for (int i = 0; name && name->type == JSON_TEXT && i < slot_count; i++)
        if (!strcmp(slots[i].name, name->text))
            return &slots[i];
    return NULL;
}

/* ------ nodes ------ */

/* Inputs whose gradient is the node's own. */
static int64_t passes_of(const char *op)
{
    return !strcmp(op, "add") ? 3
           : !strcmp(op, "reshape") || !strcmp(op, "flatten") ||
                   !strcmp(op, "position") ? 1 : 0;
}

static void read_nodes(const json *list)
{
    said *all;

    for (const json *j = list ? list->first : NULL; j; j = j->next)
        node_count++;
    if (!node_count || node_count > MOST_NODES)
        refuse("%s: its graph has no nodes", records[0].path);
    nodes = all = room_of((size_t)node_count * sizeof *all);
    for (const json *j = list->first; j; j = j->next, all++) {
        all->op = json_text(j, "op");
        all->name = json_text(j, "name");
        all->shape = sizes_text(json_get(j, "shape"));
        if (!all->op || !all->name || !all->shape)
            refuse("%s: its graph has a node without op, name or shape",
                   records[0].path);
        all->node = all - nodes;
        all->passes = passes_of(all->op);
        all->line = j;
        for (int k = 0; k < 64 && input(all, k) >= 0; k++)
            if (input(all, k) >= all->node)
                refuse("%s: node %lld of its graph reads a later one",
                       records[0].path, (long long)all->node);
    }
}

/* ------ gradients ------ */

/* The number of paths along which gradients go back is exponential: give up at
 * so many. */
enum { MOST_WALKS = 4096 };

static place walk(int64_t node, int64_t above, int *walks)
{
    const said *n = node_of(node);
    int64_t each = n ? size(n->shape) : 0;
    place found = 0;

    if (++*walks > MOST_WALKS)
        return 0;
    for (int i = node_count - 1; i > above && i > node; i--) {
        int k = 0;

        for (int64_t in; (in = input(&nodes[i], k)) >= 0; k++) {
            const array *dx;

            if (in != node)
                continue;
            dx = array_of("backward", "dx", i, k);
            if (dx && has_rows(dx, of->rows, each))
                found = dx->x;
            else if (!found && k < 32 && nodes[i].passes >> k & 1)
                found = walk(i, i, walks);
        }
    }
    return found;
}

place gradient(int64_t node, int64_t above)
{
    int walks = 0;

    return walk(node, above, &walks);
}

/* ------ parameters ------ */

static void add_layout(sha *s, const said *slot)
{
    int64_t extent[MOST_RANK];
    int rank = axes(slot->shape, extent);

    sha_add(s, slot->name, strlen(slot->name) + 1);
    sha_number(s, (uint64_t)rank);
    for (int k = 0; k < rank; k++)
        sha_number(s, (uint64_t)extent[k]);
    sha_number(s, (uint64_t)slot->at);
}

/* Slots are bound by the hash of the layout, which transcripts have. */
const char *slots_differ(const record *r)
{
    const json *list = json_get(r->head, "slots");
    const char *layout = json_text(r->head, "layout");
    const array *all_of = array_in(r, "before", "parameters");
    uint8_t hash[HASH];
    said *all;
    sha s;

    slot_count = 0;
    for (const json *j = list ? list->first : NULL; j; j = j->next)
        slot_count++;
    if (slot_count > MOST_NODES)
        return "too many parameters";
    slots = all = room_of((size_t)(slot_count + 1) * sizeof *all);
    sha_begin(&s);
    for (const json *j = list ? list->first : NULL; j; j = j->next, all++) {
        all->name = json_text(j, "name");
        all->shape = json_text(j, "shape");
        all->op = "";
        all->at = json_whole(j, "at", -1);
        all->floats = all->shape ? size(all->shape) : 0;
        if (!all->name || all->floats < 1 || all->at < 0 ||
            json_whole(j, "floats", 0) != all->floats)
            return "a parameter without name, shape or place";
        add_layout(&s, all);
    }
    sha_number(&s, all_of ? (uint64_t)all_of->n : 0);
    sha_end(&s, hash);
    return layout && sha_is(hash, layout)
               ? NULL : "its parameters are not those of its layout";
}

void graph_read(void)
{
    node_count = 0;
    read_nodes(json_get(json_get(records[0].head, "graph"), "nodes"));
}
