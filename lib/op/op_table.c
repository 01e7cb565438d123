/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of all operators. */
#include "op/op_table.h"

#define OF_KIND(kind, ...) &ls__op_term[kind],

const ls__op *const ls__ops[] = {
    &ls__op_dense, &ls__op_embed, &ls__op_position, &ls__op_layer_norm,
    &ls__op_rms_norm, &ls__op_batch_norm, &ls__op_rotary, &ls__op_attention,
    &ls__op_gelu, &ls__op_relu, &ls__op_tanh,
    &ls__op_sigmoid, &ls__op_add, &ls__op_conv, &ls__op_max_pool,
    &ls__op_avg_pool, &ls__op_flatten, &ls__op_group_norm,
    &ls__op_squared_error, &ls__op_cross_entropy, &ls__op_next_token,
    &ls__op_dropout, &ls__op_round_bf16, &ls__op_reshape,
    &ls__op_transpose, &ls__op_slice, &ls__op_broadcast, &ls__op_concat,
    &ls__op_sum, &ls__op_max_over, &ls__op_softmax, &ls__op_log_softmax,
    &ls__op_matmul, &ls__op_one_hot, &ls__op_gather,
    &ls__op_mean_loss, &ls__op_weighted_loss,
    &ls__op_sparse_dense, &ls__op_sparse_dense_values, &ls__op_embed_bag,
    &ls__op_parameter,
    &ls__op_reverse[0], &ls__op_reverse[1],
    &ls__op_lstm[0], &ls__op_lstm[1], &ls__op_lstm[2], &ls__op_lstm[3],
    &ls__op_gru[0], &ls__op_gru[1], &ls__op_gru[2], &ls__op_gru[3],
    LS__TERMS_BY_KIND(OF_KIND) NULL};
