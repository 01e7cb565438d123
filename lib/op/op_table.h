/* SPDX-License-Identifier: BSD-3-Clause */
/* All operators of the library, by their structs and as a list. */
#ifndef LS_OP_OP_TABLE_H
#define LS_OP_OP_TABLE_H

#include "graph/op.h"

extern const ls__op ls__op_dense, ls__op_embed, ls__op_position,
    ls__op_layer_norm, ls__op_rms_norm, ls__op_batch_norm, ls__op_rotary,
    ls__op_attention,
    ls__op_gelu, ls__op_relu, ls__op_tanh,
    ls__op_sigmoid, ls__op_add, ls__op_conv, ls__op_max_pool, ls__op_avg_pool,
    ls__op_flatten, ls__op_group_norm,
    ls__op_squared_error, ls__op_cross_entropy, ls__op_next_token,
    ls__op_dropout, ls__op_round_bf16, ls__op_reshape, ls__op_transpose,
    ls__op_slice, ls__op_broadcast, ls__op_concat, ls__op_sum,
    ls__op_max_over, ls__op_softmax, ls__op_log_softmax, ls__op_matmul,
    ls__op_one_hot, ls__op_gather, ls__op_mean_loss, ls__op_weighted_loss,
    ls__op_sparse_dense, ls__op_sparse_dense_values, ls__op_embed_bag,
    ls__op_parameter;

/* n floats of dx[input], from `at` on, = d + addend. */
void ls__give_back(const ls__run *r, int input, int64_t at, int64_t n,
                   const float *d);

/* dx[input] = dy + addend: values passed through unchanged. */
void ls__pass_back(const ls__run *r, int input);

/* The function that builds a node of an operator of one input. */
#define LS__BUILD_UNARY(function, op) \
    ls_node *function(ls_node *x) \
    { \
        return ls__node_done(ls__node_unnamed(op, x, NULL)); \
    }

/* A dense layer, or a sum of rows of a table, given by lists of indices. */
static inline bool ls__is_bag(const ls__op *op)
{
    return op == &ls__op_sparse_dense || op == &ls__op_sparse_dense_values ||
           op == &ls__op_embed_bag;
}

/* Recurrent layers, lib/op/op_recurrent.c: alone, from a state, with lengths,
 * with both. */
enum { LS__RECURRENT = 4 };
extern const ls__op ls__op_lstm[LS__RECURRENT], ls__op_gru[LS__RECURRENT];

/* The first axis turned round, without and with lengths. */
extern const ls__op ls__op_reverse[2];

/* Elementwise operators by their kinds of term, from LS__SUB on; and a chain
 * of them, which only a plan makes: the second where it is whole. */
extern const ls__op ls__op_term[LS__TERM_KINDS], ls__op_formula[2];

/* An elementwise node as a term of the values at places a and b; b counts where
 * it has two inputs. */
ls__term ls__term_from(const ls_node *n, int a, int b);

/* Operands of a term: 1 or 2. */
int ls__term_inputs(int kind);

/* All of them, ended by NULL: what the tests walk over.  (But for the users',
 * in op_own.c, which have no formula to test.) */
extern const ls__op *const ls__ops[];

#endif
