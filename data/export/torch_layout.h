/* SPDX-License-Identifier: BSD-3-Clause */
/* The order of a parameter's elements in PyTorch. */
#ifndef LS_EXPORT_TORCH_LAYOUT_H
#define LS_EXPORT_TORCH_LAYOUT_H

#include "export/torch_order.h"

/* Ours (h,w,c,n), theirs (n,c,h,w), or turned: (c,n,h,w) with the window the
 * other way round along both axes. */
typedef struct ls__torch_layout {
    int64_t h, w, c, n;
    int rank; /* of theirs; 2: all of (c,h,w) is one axis, 1: n is 1 and none */
    bool turned;
} ls__torch_layout;

/* The node that has a parameter, or NULL. */
const ls__net_node *ls__torch_node_of(const ls__net *net,
                                      const ls__net_param *param);

/* False: the two have the same layout. */
bool ls__torch_layout_of(const ls__net *net, const ls__torch_order *order,
                         const ls__net_param *param, ls__torch_layout *out);

/* Check that a tensor of a file has the shape of a parameter there, which tells
 * its order, too: LS_ESHAPE, LS_ENOTSUP. */
int ls__torch_check(const ls__net *net, const ls__torch_order *order,
                    const ls_archive *file, const char *path,
                    const ls__net_param *param, const ls_entry *tensor);

/* A hint about a tensor that should be (rows,wide): that it is the transpose,
 * if it is. */
const char *ls__torch_hint(const ls_entry *tensor, int64_t rows, int64_t wide);

/* Theirs into ours. */
void ls__torch_arrange(const ls__torch_layout *a, const float *from, float *to);

#endif
