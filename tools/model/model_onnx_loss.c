/* SPDX-License-Identifier: BSD-3-Clause */
/* --loss: the loss of a network in ONNX. */
#include "model/model_parts.h"

#include <string.h>

static ls_node *huber(ls_node *y, ls_node *target)
{
    return ls_huber_loss(y, target, 1);
}

const opt_word model_losses[] = {
    {"cross-entropy", MODEL_CROSS_ENTROPY}, {"mse", MODEL_MSE},
    {"mae", MODEL_MAE}, {"huber", MODEL_HUBER}, {"bce", MODEL_BCE},
    {"kl", MODEL_KL}, {"none", MODEL_NONE}, {NULL, 0}};

static ls_node *(*const losses[])(ls_node *, ls_node *) = {
    [MODEL_MSE] = ls_mean_squared_error, [MODEL_MAE] = ls_mean_absolute_error,
    [MODEL_HUBER] = huber, [MODEL_BCE] = ls_binary_cross_entropy,
    [MODEL_KL] = ls_kl_divergence};

/* Exporters put a softmax or a sigmoid last; losses of logits take what it is
 * of. */
static ls_node *logits_of(ls_node *y, int64_t loss)
{
    const char *last = loss == MODEL_CROSS_ENTROPY ? "softmax"
                       : loss == MODEL_BCE ? "sigmoid" : "";

    return strcmp(ls_node_op(y), last)
               ? y : (ls_node *)(uintptr_t)ls_node_input(y, 0);
}

/* (classes,..) as (..,classes). */
static ls_node *classes_last(ls_node *y)
{
    int64_t shape[LS_MAX_RANK];
    int axes[LS_MAX_RANK], rank = ls_node_shape(y, shape);

    for (int i = 0; i < rank; i++)
        axes[i] = (i + 1) % rank;
    return ls_transpose(y, axes);
}

static ls_node *target(ls_graph *g, ls_node *y, const model_settings *s)
{
    int64_t shape[LS_MAX_RANK];
    int rank = ls_node_shape(y, shape);

    return s->loss == MODEL_CROSS_ENTROPY
               ? ls_input(g, s->y, LS_I32, rank - 1, shape)
               : ls_input(g, s->y, LS_F32, rank, shape);
}

void model_onnx_build(ls_graph *g, const model_settings *s)
{
    ls_onnx *onnx = s->network.onnx;
    ls_node *y = ls_onnx_node(onnx, s->output);

    if (s->loss == MODEL_NONE) {
        ls_loss(g, ls_mean_loss(y, NULL));
        return;
    }
    y = logits_of(y, s->loss);
    if (s->classes_first)
        y = classes_last(y);
    if (!s->y)
        ls_loss(g, ls_next_token_loss(y, ls_onnx_node(onnx, s->x)));
    else if (s->loss == MODEL_CROSS_ENTROPY)
        ls_loss(g, model_label_loss(g, y, target(g, y, s), 0, s));
    else
        ls_loss(g, losses[s->loss](y, target(g, y, s)));
}
