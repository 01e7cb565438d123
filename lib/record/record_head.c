/* SPDX-License-Identifier: BSD-3-Clause */
/* The lines that a record begins with: what the trainer is, its parameters, and
 * the nodes of its graph. */
#include "record/record_head.h"
#include "base/real_text.h"
#include "graph/op.h"
#include "train/trainer.h"
#include "transcript/head.h"

#include <inttypes.h>
#include <string.h>

typedef struct writer {
    ls__record_file *file;
    const ls_trainer *trainer;
    const ls__plan *plan;
    int device;
} writer;

const char *ls__shape_sizes(char out[LS__SHAPE_TEXT], int rank,
                            const int64_t *shape)
{
    size_t at = 0;

    *out = 0;
    for (int k = 0; k < rank; k++)
        at += (size_t)snprintf(out + at, LS__SHAPE_TEXT - at, "%s%" PRId64,
                               k ? "x" : "", shape[k]);
    return out;
}

static json_t *head_line(const writer *r)
{
    const ls_trainer *t = r->trainer;
    char graph[LS__HEX], layout[LS__HEX], device[20] = "all";

    if (ls__head_graph(t, graph) < 0)
        return NULL;
    ls__head_layout(&t->model.params, layout);
    if (r->device >= 0)
        snprintf(device, sizeof device, "%d", r->device);
    return json_pack("{s:i,s:s,s:i,s:s,s:s,s:s,s:s,s:s,s:i,s:o,s:I,s:s,s:I,s:i"
                     ",s:i}",
                     "bits", LS_BITS, "device", device, "devices",
                     t->devices.of, "graph", graph, "kind", "record", "layout",
                     layout, "lockstep", ls_version(), "maker",
                     "any", "micro", t->micro, "options",
                     ls__head_options(t), "plan",
                     (json_int_t)r->plan->chunk_rows, "prev",
                     r->file->chain.prev, "step", (json_int_t)t->step, "values",
                     (int)r->file->values, "version", LS__RECORD_VERSION);
}

static json_t *slot_line(const writer *r, const ls__slot *s)
{
    char shape[LS__SHAPE_TEXT];

    return json_pack("{s:I,s:I,s:s,s:s,s:s,s:s}", "at", (json_int_t)s->offset,
                     "floats", (json_int_t)s->size, "kind", "slot", "name",
                     s->name, "prev", r->file->chain.prev, "shape",
                     ls__shape_sizes(shape, s->rank, s->shape));
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
    char text[LS__SHAPE_TEXT + LS__REAL_TEXT];
    int word;

    switch (a->type) {
    case LS__INTEGER:
        snprintf(text, sizeof text, "%" PRId64, *(const int64_t *)at);
        break;
    case LS__NUMBER: ls__real_text(text, *(const double *)at); break;
    case LS__YES_NO:
        snprintf(text, sizeof text, "%d", *(const bool *)at);
        break;
    case LS__SIZES: ls__shape_sizes(text, sizes->rank, sizes->of); break;
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

/* Write what a node reads: other nodes by their numbers, parameters by name. */
static json_t *node_line(const writer *r, const ls_node *n)
{
    char shape[LS__SHAPE_TEXT];

    return json_pack("{s:o,s:s,s:s,s:i,s:o,s:s,s:o,s:i,s:s,s:s,s:i}", "inputs",
                     texts_of(n, NULL), "kind", "node", "name", n->name,
                     "node", n->id, "of", attributes_of(n), "op",
                     n->op ? n->op->name : "input",
                     "params", texts_of(n, r->plan), "passes",
                     n->op ? (int)n->op->passes : 0, "prev",
                     r->file->chain.prev, "shape",
                     ls__shape_sizes(shape, n->rank, n->shape), "tied",
                     n->params > 0 && n->tie[0] != 0);
}

static int write_nodes(const writer *r)
{
    const ls__plan *p = r->plan;
    int status = 0;

    for (int i = 0; i < p->inputs && status == 0; i++)
        status = ls__record_line(r->file, node_line(r, p->input[i]));
    for (int i = 0; i < p->count && status == 0; i++)
        status = ls__record_line(r->file, node_line(r, p->instr[i].node));
    return status;
}

int ls__record_head(ls__record_file *f, const ls_trainer *t,
                    const ls__plan *plan, int device)
{
    const writer r = {f, t, plan, device};
    const ls__params *p = &t->model.params;
    int status = ls__record_line(f, head_line(&r));

    for (int i = 0; i < p->count && status == 0; i++)
        status = ls__record_line(f, slot_line(&r, &p->slot[i]));
    return status < 0 ? status : write_nodes(&r);
}
