/* SPDX-License-Identifier: BSD-3-Clause */
/* The nodes that a graph's first output needs, and the memory of values. */
#include "base/error.h"
#include "base/memory.h"
#include "export/writer.h"

/* ------ reading ------ */

/* Marks what the output needs, and numbers its inputs. */
static int mark_needed(ls__writer *w)
{
    w->node[w->output].needed = true;
    for (int i = w->output; i >= 0; i--) {
        ls__cnode *n = &w->node[i];

        if (!n->needed)
            continue;
        for (int k = 0; k < n->of->inputs; k++)
            w->node[n->of->in[k]->id].needed = true;
    }
    for (int i = 0; i <= w->output; i++)
        if (w->node[i].needed && !w->node[i].of->op)
            w->node[i].number = w->inputs++;
    return w->inputs == 0
               ? ls__fail(LS_EFORMAT, "%s: its output needs no input", w->path)
               : 0;
}

int ls__cgraph_read(ls__writer *w)
{
    const ls__net *net = &w->net;
    int status = ls__net_open(&w->net, w->archive);

    if (status < 0)
        return status;
    if (!net->outputs)
        return ls__fail(LS_EFORMAT, "%s: it has no output", w->path);
    if (!(w->node = ls__new((size_t)net->nodes, sizeof *w->node, "a graph")))
        return LS_ENOMEM;
    w->output = net->output[0].node->id;
    for (int i = 0; i < net->nodes; i++) {
        w->node[i].of = &net->node[i];
        w->node[i].as = i;
        w->node[i].size = ls__net_width(&net->node[i]) *
                          ls__net_vectors(&net->node[i]);
    }
    return mark_needed(w);
}

const ls__cnode *ls__cinput(const ls__writer *w, int i)
{
    for (; i <= w->output; i++)
        if (w->node[i].needed && !w->node[i].of->op)
            return &w->node[i];
    return NULL;
}

/* ------ memory ------ */

/* Has node k memory of its own that node i may not take: written before node
 * i, and read at it or behind it?  Inputs are written before all. */
static bool is_alive(const ls__writer *w, int k, int i)
{
    const ls__cnode *o = &w->node[k];

    return o->needed && o->as == k && !o->of->is_i32 && o->last >= i &&
           (k < i || !o->of->op);
}

/* Does place `at` of n floats meet one that is still read at node i?  Returns
 * where that ends, or -1. */
static int64_t meets(const ls__writer *w, int i, int64_t at, int64_t n)
{
    int64_t end = -1;

    for (int k = 0; k <= w->output; k++) {
        const ls__cnode *o = &w->node[k];

        if (is_alive(w, k, i) && at < o->at + o->size && o->at < at + n &&
            o->at + o->size > end)
            end = o->at + o->size;
    }
    return end;
}

/* The lowest place that is free while the value is read. */
static void place(ls__writer *w, int i)
{
    ls__cnode *n = &w->node[i];
    int64_t end;

    n->at = n->of->op ? 0 : w->rows_floats;
    while (n->of->op && (end = meets(w, i, n->at, n->size)) >= 0)
        n->at = end;
    if (n->at + n->size > w->rows_floats)
        w->rows_floats = n->at + n->size;
}

void ls__cgraph_place(ls__writer *w)
{
    for (int i = 0; i <= w->output; i++) {
        ls__cnode *n = &w->node[i];
        const ls__crow *row;

        if (n->needed && n->of->op && (row = ls__crow_of(n->of->op)) &&
            row->is_view)
            n->as = w->node[n->of->in[0]->id].as;
        for (int k = 0; n->needed && k < n->of->inputs; k++)
            w->node[w->node[n->of->in[k]->id].as].last = i;
    }
    w->node[w->node[w->output].as].last = w->net.nodes;
    for (int others = 0; others < 2; others++) /* behind all inputs */
        for (int i = 0; i <= w->output; i++) {
            const ls__cnode *n = &w->node[i];

            if (n->needed && n->as == i && !n->of->is_i32 &&
                (n->of->op != NULL) == others)
                place(w, i);
        }
}
