/* SPDX-License-Identifier: BSD-3-Clause */
/* LSTM and GRU as ONNX has them. */
#ifndef LS_ONNX_ONNX_RECURRENT_H
#define LS_ONNX_ONNX_RECURRENT_H

#include "onnx/onnx.h"

typedef struct ls__onnx_cell {
    const char *type;
    int gates, states;
    int order[4]; /* which of ours are ONNX's gates */
} ls__onnx_cell;

/* That of a recurrent layer's node. */
const ls__onnx_cell *ls__onnx_cell_of(const ls__net_node *node);

/* Constants of layers of n units that go one way or two through the steps, as
 * ONNX orders the gates: (ways,G n,in) of each way's kernel (in,G n); and
 * (ways,2 G n) of each way's two biases, of the input and of the state, which
 * are 0 where a node is NULL or has none. */
const char *ls__onnx_kernels(ls__onnx *o, const char *name,
                             const ls__onnx_cell *cell, int ways,
                             const ls__net_node *const *of);
const char *ls__onnx_biases(ls__onnx *o, const char *name,
                            const ls__onnx_cell *cell, int64_t n, int ways,
                            const ls__net_node *const *of);

#endif
