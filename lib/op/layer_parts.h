/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of layers, here and above the engine: operators without a public
 * function of their own. */
#ifndef LS_OP_LAYER_PARTS_H
#define LS_OP_LAYER_PARTS_H

#include <lockstep/ops.h>

/* The product of matrices whose leading axes are equal. */
ls_node *ls__matmul(ls_node *a, ls_node *b);

/* The sum, or the maximum, over `axes` axes that follow each other. */
ls_node *ls__reduction_node(bool sum, ls_node *x, int first, int axes);

ls_node *ls__joined(ls_node *first, ls_node *second, int axis);

/* The terms of losses that arithmetic alone would make less exactly. */
ls_node *ls__binary_entropy(ls_node *logits, ls_node *target);
ls_node *ls__divergence(ls_node *log_predicted, ls_node *target);

/* x where the condition is not 0, or where it is 0, and -0 elsewhere, which is
 * nothing in a sum. */
ls_node *ls__keep(ls_node *x, ls_node *condition);
ls_node *ls__keep_else(ls_node *x, ls_node *condition);

/* A dense layer "<name>.<part>", a part of the layer `name`.  Its weights are
 * the matrix (width of x, n) under another shape of the same size, `kernel`:
 * Flax's DenseGeneral.  NULL where x is, or where the graph has failed. */
ls_node *ls__projection(ls_node *x, int64_t n, const char *name,
                        const char *part, bool bias, int rank,
                        const int64_t *kernel);

/* Attention of q (T,D) to k and v, D being cut into heads; k and v may have
 * fewer of the same width.  Its weights are dropped at that rate. */
ls_node *ls__attention(ls_node *q, ls_node *k, ls_node *v, int heads,
                       bool causal, double dropout, const char *name);

/* Differences of the two cells of recurrent layers. */
typedef struct ls__rnn_cell {
    const char *name;
    int gates;      /* G */
    int states;     /* arrays of n: LSTM has c and h */
    bool bias_of_x; /* the bias is the dense layer's; else it is here.  A GRU
                       may have both: hn has its own then */
} ls__rnn_cell;

extern const ls__rnn_cell ls__lstm, ls__gru;

/* The steps of a recurrent layer, of a dense layer's value (T,G n).  Its value
 * holds the state after the last step, too, where o->last is not NULL. */
ls_node *ls__recurrent_node(ls_node *gates, const ls__rnn_cell *cell,
                            const ls_recurrent_options *o, const char *name);

#endif
