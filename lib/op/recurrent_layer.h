/* SPDX-License-Identifier: BSD-3-Clause */
/* Recurrent layers: their cells, and what their nodes say. */
#ifndef LS_OP_RECURRENT_LAYER_H
#define LS_OP_RECURRENT_LAYER_H

#include "graph/op.h"
#include "op/layer_parts.h"

/* Each cell's operators: alone, from a state, with lengths, with both.
 * ls__recurrent_kind is a sum of these; 0: another operator. */
enum { LS__FROM = 1, LS__LENGTHS = 2, LS__IS_LSTM = 4, LS__IS_GRU = 8 };
int ls__recurrent_kind(const ls__op *op);

/* The attributes. */
typedef struct ls__recurrent_of {
    bool ends; /* the state after the last step stands behind the values */
    bool bias; /* a GRU's second one */
} ls__recurrent_of;

static inline bool ls__recurrent_ends(const ls_node *n)
{
    const ls__recurrent_of *of = n->of;

    return of->ends;
}

static inline const ls__rnn_cell *ls__cell_of(const ls_node *n)
{
    return ls__recurrent_kind(n->op) & LS__IS_GRU ? &ls__gru : &ls__lstm;
}

/* The input that is the state, and the one of lengths; -1: none. */
static inline int ls__recurrent_from(const ls_node *n)
{
    return ls__recurrent_kind(n->op) & LS__FROM ? 1 : -1;
}

static inline int ls__recurrent_lengths(const ls_node *n)
{
    if (!(ls__recurrent_kind(n->op) & LS__LENGTHS))
        return -1;
    return ls__recurrent_kind(n->op) & LS__FROM ? 2 : 1;
}

static inline int64_t ls__recurrent_steps(const ls_node *n)
{
    return n->in[0]->shape[0];
}

static inline int64_t ls__recurrent_units(const ls_node *n)
{
    return n->in[0]->shape[1] / ls__cell_of(n)->gates;
}

/* Check and set the shape; declare the parameters. */
int ls__recurrent_shape(ls_node *n);
ls_node *ls__recurrent_declare(ls_node *n);

#endif
