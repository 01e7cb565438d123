/* SPDX-License-Identifier: BSD-3-Clause */
/* LSTM and GRU as ONNX has them. */
#ifndef LS_EXPORT_ONNX_RECURRENT_H
#define LS_EXPORT_ONNX_RECURRENT_H

#include "export/onnx.h"

typedef struct ls__onnx_cell {
    const char *type;
    int gates, states;
    int order[4]; /* our gates in ONNX's order */
} ls__onnx_cell;

/* The cell of a recurrent layer's node. */
const ls__onnx_cell *ls__onnx_cell_of(const ls__net_node *node);

/* Constants of layers of n units, one way or bidirectional, in ONNX's order of
 * gates: (ways,G n,in) of each way's kernel (in,G n); and (ways,2 G n) of each
 * way's two biases, of the input and of the state: 0 where a node is NULL or
 * has none. */
const char *ls__onnx_kernels(ls__onnx *o, const char *name,
                             const ls__onnx_cell *cell, int ways,
                             const ls__net_node *const *of);
const char *ls__onnx_biases(ls__onnx *o, const char *name,
                            const ls__onnx_cell *cell, int64_t n, int ways,
                            const ls__net_node *const *of);

#endif
