/* The list of all operators. */
#include "op/op_table.h"

const ls__op *const ls__ops[] = {
    &ls__op_dense, &ls__op_embed, &ls__op_position, &ls__op_layer_norm,
    &ls__op_attention, &ls__op_gelu, &ls__op_relu, &ls__op_tanh,
    &ls__op_sigmoid, &ls__op_add, &ls__op_conv, &ls__op_max_pool,
    &ls__op_avg_pool, &ls__op_flatten, &ls__op_group_norm,
    &ls__op_squared_error, &ls__op_cross_entropy, &ls__op_next_token,
    &ls__op_dropout, &ls__op_round_bf16, NULL};
