/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of models, in the order of --help. */
#include "model/model.h"

const opt_model *const models[MODELS] = {
    &model_linear, &model_lm,  &model_mlp, &model_table,
    &model_gpt,    &model_rnn, &model_cnn,
    &model_resnet, &model_onnx,
};
