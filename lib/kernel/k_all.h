/* SPDX-License-Identifier: BSD-3-Clause */
/* Everything that is compiled once per instruction level.  v2.c, v3.c, v4.c
 * and neon.c include this one file under different compiler flags; all of it
 * is static, and only the table at the end leaves the file. */
#include "kernel/k_bag.h"
#include "kernel/k_batch_norm.h"
#include "kernel/k_bf16.h"
#include "kernel/k_bf16_conv.h"
#include "kernel/k_bf16_gemm.h"
#include "kernel/k_conv.h"
#include "kernel/k_depthwise.h"
#include "kernel/k_digest.h"
#include "kernel/k_dropout.h"
#include "kernel/k_elementwise.h"
#include "kernel/k_epilogue.h"
#include "kernel/k_formula.h"
#include "kernel/k_gemm.h"
#include "kernel/k_norm.h"
#include "kernel/k_optim.h"
#include "kernel/k_pooling.h"
#include "kernel/k_random.h"
#include "kernel/k_recurrent.h"
#include "kernel/k_reduce.h"
#include "kernel/k_roof.h"
#include "kernel/k_softmax.h"
#include "kernel/k_amx_split.h"
#include "kernel/kernel.h"

#if defined(__FMA__) || defined(__aarch64__)
#define F32_TEXT "f32 products"
#else
#define F32_TEXT "f32 products in software, slow"
#endif

#define LS__KERNEL_TABLE \
    .fma_loop = fma_loop, .round_bf16 = round_bf16, \
    .dropout = dropout, .dropout_grad = dropout_grad, \
    .random_bits = fill_bits, .random_uniform = fill_uniform, \
    .random_normal = fill_normal, .digest = digest, \
    .random_truncated_normal = fill_truncated_normal, .tree_sum = tree_sum, \
    .native = {[LS_F32_LAYERS] = {.name = "native", .text = F32_TEXT, \
                                  .products = &products, \
                                  .convs = &convs}, \
               [LS_BF16_LAYERS] = {.name = "native", \
                                   .text = "rounding, then f32 products, " \
                                           "slower than f32", \
                                   .bf16 = true, .products = &bf16_products, \
                                   .convs = &bf16_convs}, \
               [LS_F32X3_LAYERS] = {.name = "native", \
                                    .text = "f32x3 in software, slow", \
                                    .products = &x3_products}}, \
    .epilogue = epilogue, .transpose = transpose, \
    .depthwise = depthwise, .depthwise_grad = depthwise_grad, \
    .max_pool = max_pool, .max_pool_grad = max_pool_grad, \
    .avg_pool = avg_pool, .avg_pool_grad = avg_pool_grad, \
    .add = add, .scale = scale, \
    .activate = activate, .activate_grad = activate_grad, \
    .slope_grad = slope_grad, \
    .term_value = term_value, .term_grad = term_grad, \
    .column_sum = column_sum, .square_sum = square_sum, \
    .first_nonfinite = first_nonfinite, .layer_norm = layer_norm, \
    .layer_norm_grad = layer_norm_grad, .rms_norm = rms_norm, \
    .rms_norm_grad = rms_norm_grad, .batch_norm = batch_norm, \
    .batch_params = batch_params, .batch_moments = batch_moments, \
    .batch_join = join_moments, .batch_sums = batch_sums, \
    .batch_grad = batch_grad, .turn = turn, .softmax = softmax, \
    .softmax_grad = softmax_grad, .log_softmax = log_softmax, \
    .log_softmax_grad = log_softmax_grad, .row_sum = row_sum, \
    .cross_entropy = cross_entropy, \
    .lstm_step = lstm_step, .lstm_step_back = lstm_step_back, \
    .gru_step = gru_step, .gru_step_back = gru_step_back, \
    .bag_sum = bag_sum, .bag_grad = bag_grad, .bag_dots = bag_dots, \
    .squared_error = squared_error, .update = LS__UPDATES, .average = average, \
    .regularise = regularise, .clip_value = clip_value
