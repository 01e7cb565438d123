/* SPDX-License-Identifier: BSD-3-Clause */
/* Attention in PyTorch, whose layers have other names than ours, and often one
 * tensor for queries, keys and values, below each other:
 *
 *     ours                          PyTorch's
 *     query, key, value.kernel      in_proj_weight (nn.MultiheadAttention),
 *                                   c_attn.weight (nanoGPT), the weight of a
 *                                   layer that stands for all of it, or
 *                                   q_proj, k_proj, v_proj.weight, and
 *                                   q_proj_weight .. of other widths
 *     .bias                         in_proj_bias, c_attn.bias, ..
 *     out.kernel                    out_proj, c_proj or o_proj.weight */
#ifndef LS_EXPORT_TORCH_HEADS_H
#define LS_EXPORT_TORCH_HEADS_H

#include "export/net.h"

/* A parameter of the dense layers query, key, value and out of one name, as
 * each attention has them. */
typedef struct ls__torch_heads {
    const ls__net_node *layer; /* that has it; NULL: it is of no attention */
    int part;                 /* query, key, value, out */
    bool bias;
    int64_t first, rows; /* of one tensor for three: its part begins there */
} ls__torch_heads;

ls__torch_heads ls__torch_heads_of(const ls__net *net,
                                   const ls__net_param *param);

/* Give name i of what it may be called in module "at.", and whether that is of
 * three in one; false past the last. */
bool ls__torch_heads_name(const ls__torch_heads *h, const char *module, int i,
                          char *out, size_t size, bool *of_three);

/* LS_ESHAPE: the tensor of three has not their rows, of that width. */
int ls__torch_heads_check(const ls__torch_heads *h, int64_t wide,
                          const ls_entry *tensor, const char *path);

#endif
