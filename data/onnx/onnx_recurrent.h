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

/* The place of ONNX's place i of the gates of n units. */
static inline int64_t ls__onnx_gate(const ls__onnx_cell *cell, int64_t n,
                                    int64_t i)
{
    return cell->order[i / n] * n + i % n;
}

/* Room for a constant of so many numbers, which are 0; NULL: no memory. */
float *ls__onnx_room(ls__onnx *o, int64_t n);

#endif
