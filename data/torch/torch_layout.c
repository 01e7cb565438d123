/* SPDX-License-Identifier: BSD-3-Clause */
/* See torch_layout.h. */
#include "torch/torch_layout.h"

/* The node that has a parameter, if it is its weights. */
static const ls__net_node *node_of(const ls__net *net, const ls__net_param *p)
{
    for (int i = 0; i < net->nodes; i++)
        if (net->node[i].params && net->node[i].param[0] == p)
            return &net->node[i];
    return NULL;
}

/* Does a node leave the numbers of a row where they are? */
static bool keeps_places(const ls__net_node *n)
{
    return n->op && n->inputs == 1 && !n->params && n->rank == 1 &&
           n->in[0]->rank == 1 && n->shape[0] == n->in[0]->shape[0];
}

/* The image whose pixels x is, one after the other; NULL: it is none. */
static const ls__net_node *image_of(const ls__net_node *x)
{
    while (keeps_places(x))
        x = x->in[0];
    return ls__net_is(x, "flatten") && x->in[0]->rank == 3 ? x->in[0] : NULL;
}

bool ls__torch_layout_of(const ls__net *net, const ls__net_param *p,
                         ls__torch_layout *out)
{
    const ls__net_node *n = node_of(net, p), *image;
    bool is_conv = n && ls__net_is(n, "conv2d");

    if (!n || (!is_conv && !ls__net_is(n, "dense") && !ls__net_is_recurrent(n)))
        return false;
    if (ls__net_is_recurrent(n)) /* (n,G n) of G gates */
        *out = (ls__torch_layout){1, 1, p->of.shape[0], p->of.shape[1], false};
    else if (is_conv) /* (h,w,C,n), C of a group */
        *out = (ls__torch_layout){p->of.shape[0], p->of.shape[1],
                                  p->of.shape[2], p->of.shape[3], true};
    else if ((image = image_of(n->in[0])))
        *out = (ls__torch_layout){image->shape[0], image->shape[1],
                                  image->shape[2], ls__net_width(n), false};
    else
        *out = (ls__torch_layout){1, 1, ls__net_width(n->in[0]),
                                  ls__net_width(n), false};
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
