/* SPDX-License-Identifier: BSD-3-Clause */
/* See torch_layout.h. */
#include "torch/torch_layout.h"
#include "graph/op.h"

#include <string.h>

/* The node that has a parameter, if it is its weights. */
static const ls_node *node_of(const ls__model *m, int declared)
{
    for (int i = 0; i < m->graph->node_count; i++)
        if (m->graph->nodes[i]->params &&
            m->graph->nodes[i]->param[0] == declared)
            return m->graph->nodes[i];
    return NULL;
}

/* The image whose pixels x is, one after the other; NULL: it is none. */
static const ls_node *image_of(const ls_node *x)
{
    while (x->op && x->op->inputs == 1 &&
           (ls__term_of(x->op) || ls__is_op(x, "dropout")))
        x = x->in[0];
    return ls__is_op(x, "flatten") && x->in[0]->rank == 3 ? x->in[0] : NULL;
}

bool ls__torch_layout_of(const ls__model *m, const ls__slot *s,
                         ls__torch_layout *out)
{
    const ls_node *n = node_of(m, s->declared), *image;

    if (n && n->op->recurrent) { /* (n,G n) of G gates */
        *out = (ls__torch_layout){1, 1, s->shape[0], s->shape[1], false};
        return true;
    }
    if (!n || (!ls__is_op(n, "dense") && !ls__is_op(n, "conv2d")))
        return false;
    *out = (ls__torch_layout){1, 1, ls__width(n->in[0]), ls__width(n), false};
    if (ls__is_op(n, "conv2d"))
        *out = (ls__torch_layout){
            ls__attribute_integer(n, "height"),
            ls__attribute_integer(n, "width"),
            out->c / ls__attribute_integer(n, "groups"), out->n, true};
    else if ((image = image_of(n->in[0])))
        *out = (ls__torch_layout){image->shape[0], image->shape[1],
                                  image->shape[2], out->n, false};
    return true;
}

void ls__torch_arrange(const ls__torch_layout *a, const float *from, float *to)
{
    int64_t area = a->h * a->w;

    for (int64_t p = 0; p < area; p++)
        for (int64_t c = 0; c < a->c; c++)
            for (int64_t n = 0; n < a->n; n++)
                *to++ = from[(n * a->c + c) * area + p];
}
