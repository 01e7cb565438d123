/* SPDX-License-Identifier: BSD-3-Clause */
/* How the elements of a parameter are ordered in PyTorch. */
#ifndef LS_TORCH_TORCH_LAYOUT_H
#define LS_TORCH_TORCH_LAYOUT_H

#include "net/net.h"

/* Ours (h,w,c,n), theirs (n,c,h,w). */
typedef struct ls__torch_layout {
    int64_t h, w, c, n;
    bool is_conv;
} ls__torch_layout;

/* False: the two have the same layout. */
bool ls__torch_layout_of(const ls__net *net, const ls__net_param *param,
                         ls__torch_layout *out);

/* Theirs into ours. */
void ls__torch_arrange(const ls__torch_layout *a, const float *from, float *to);

#endif
