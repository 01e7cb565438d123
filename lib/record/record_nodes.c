/* SPDX-License-Identifier: BSD-3-Clause */
/* What a record says of the nodes of a step's plan. */
#include "record/record_nodes.h"
#include "base/real_text.h"
#include "graph/op.h"

#include <inttypes.h>
#include <string.h>

const char *ls__sizes_text(char out[LS__SIZES_TEXT], int rank,
                           const int64_t *sizes)
{
    size_t at = 0;

    *out = 0;
    for (int k = 0; k < rank; k++)
        at += (size_t)snprintf(out + at, LS__SIZES_TEXT - at, "%s%" PRId64,
                               k ? "x" : "", sizes[k]);
    return out;
}

static json_t *texts_of(const ls_node *n, const ls__plan *plan)
{
    json_t *all = json_object();

    for (int k = 0; k < (plan ? n->params : ls__inputs_of(n)); k++) {
        char number[20], id[20];

        snprintf(number, sizeof number, "%d", k);
        snprintf(id, sizeof id, "%d", plan ? 0 : n->in[k]->id);
        json_object_set_new(
            all, number,
            json_string(plan ? plan->param[n->param[k]].name : id));
    }
    return all;
}

/* Write one attribute as a text: a word by its number, sizes as "4x16". */
static json_t *attribute(const ls_node *n, const ls__attribute *a)
{
    const void *at = ls__attribute_in(n, a);
    const ls__extents *sizes = at;
    char text[LS__SIZES_TEXT + LS__REAL_TEXT];
    int word;

    switch (a->type) {
    case LS__INTEGER:
        snprintf(text, sizeof text, "%" PRId64, *(const int64_t *)at);
        break;
    case LS__NUMBER: ls__real_text(text, *(const double *)at); break;
    case LS__YES_NO:
        snprintf(text, sizeof text, "%d", *(const bool *)at);
        break;
    case LS__SIZES: ls__sizes_text(text, sizes->rank, sizes->of); break;
    case LS__WORD:
        memcpy(&word, at, sizeof word);
        snprintf(text, sizeof text, "%d", word);
        break;
    }
    return json_string(text);
}

/* List attributes by their names; those of an elementwise operator are the
 * constants p and q of its term. */
static json_t *attributes_of(const ls_node *n)
{
    const ls__attribute *rows = n->op ? n->op->attributes : NULL;
    bool is_term = n->op && ls__term_of(n->op);
    json_t *all = json_object();

    for (int i = 0; rows && rows[i].name; i++)
        json_object_set_new(all, !is_term ? rows[i].name : i ? "q" : "p",
                            attribute(n, &rows[i]));
    if (is_term)
        json_object_set_new(all, "term", json_string("1"));
    if (n->op && ls__is_transposed(n))
        json_object_set_new(all, "transposed", json_string("1"));
    return all;
}

/* Say what a node reads: other nodes by their numbers, parameters by name. */
static json_t *node_of(const ls__plan *plan, const ls_node *n)
{
    char shape[LS__SIZES_TEXT];

    return json_pack("{s:o,s:s,s:s,s:i,s:o,s:s,s:o,s:i,s:s,s:i}", "inputs",
                     texts_of(n, NULL), "kind", "node", "name", n->name,
                     "node", n->id, "of", attributes_of(n), "op",
                     n->op ? n->op->name : "input",
                     "params", texts_of(n, plan), "passes",
                     n->op ? (int)n->op->passes : 0, "shape",
                     ls__sizes_text(shape, n->rank, n->shape), "tied",
                     n->params > 0 && n->tie[0] != 0);
}

int ls__show_nodes(const ls__onlooker *show, const ls__plan *p)
{
    int status = 0;

    for (int i = 0; i < p->inputs && status == 0; i++)
        status = show->node(show->user, node_of(p, p->input[i]));
    for (int i = 0; i < p->count && status == 0; i++)
        status = show->node(show->user, node_of(p, p->instr[i].node));
    return status;
}
