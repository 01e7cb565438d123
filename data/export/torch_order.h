/* SPDX-License-Identifier: BSD-3-Clause */
/* The order of a node's row in PyTorch: is it ours?  It has images as (C,H,W),
 * so what becomes of an image, or becomes one, has another order there, unless
 * a node makes all of it anew.  A file does not tell: what this cannot follow
 * is unknown, and refused. */
#ifndef LS_EXPORT_TORCH_ORDER_H
#define LS_EXPORT_TORCH_ORDER_H

#include "export/net.h"

typedef enum ls__torch_kind {
    LS__TORCH_SAME,
    LS__TORCH_SPLIT, /* the same, if it is not read as an image */
    LS__TORCH_EACH,  /* the same along the last axis */
    LS__TORCH_GIVEN, /* an input of the graph that may be an image */
    LS__TORCH_IMAGE, /* (H,W,C) here */
    LS__TORCH_FLAT,  /* of an image, one after the other */
    LS__TORCH_UNKNOWN
} ls__torch_kind;

typedef struct ls__torch_order {
    ls__torch_kind kind;
    int64_t c; /* LS__TORCH_FLAT: channels */
} ls__torch_order;

/* Returns the orders of all nodes, which live as long as the net; NULL: there
 * is no memory. */
const ls__torch_order *ls__torch_orders(ls__net *net);

/* May a node's parameters be read as PyTorch has them, or rearranged? */
bool ls__torch_is_known(const ls__net *net, const ls__torch_order *order,
                        const ls__net_node *node);

#endif
