/* SPDX-License-Identifier: BSD-3-Clause */
/* Recurrent layers of PyTorch: nn.LSTM and nn.GRU name the parameters of layer
 * K, whose gates are in our order,
 *
 *     ours                              PyTorch's
 *     dense_i.kernel (I,G n)            weight_ih_lK (G n,I)
 *     dense_h.kernel (n,G n)            weight_hh_lK (G n,n)
 *     lstm  dense_h.bias                bias_ih_lK + bias_hh_lK
 *     gru   dense_i.bias                the same, if the last n of bias_hh_lK,
 *                                       which r multiplies there, are zeros
 *     gru of two biases: each           bias_ih_lK, bias_hh_lK
 *     reverse.dense_i.kernel, ..        weight_ih_lK_reverse, .. */
#ifndef LS_EXPORT_TORCH_STEPS_H
#define LS_EXPORT_TORCH_STEPS_H

#include "export/net.h"

/* A parameter of a recurrent layer. */
typedef struct ls__torch_steps {
    const ls__net_node *node; /* of the layer; NULL: it is none */
    bool of_x;           /* of the input's share of the gates */
    bool bias;           /* not weights */
    bool both;           /* a bias that is two of PyTorch's */
} ls__torch_steps;

ls__torch_steps ls__torch_steps_of(const ls__net *net,
                                   const ls__net_param *param);

/* The layer's own name, without that of its parts. */
void ls__torch_steps_layer(const ls__torch_steps *s, char *out, size_t size);

/* PyTorch's name of it in a module: "MODULE.weight_ih_l0", or with a module
 * named "MODULE_lK" that of layer K. other: the second bias. */
void ls__torch_steps_name(const ls__torch_steps *s, const char *module,
                          bool other, char *out, size_t size);

/* LS_ENOTSUP: a second bias, (n) and named `other`, has values where ours has
 * none. */
int ls__torch_steps_check(const ls__torch_steps *s, int64_t n,
                          const float *values, const char *other,
                          const char *path);

#endif
