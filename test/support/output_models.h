/* SPDX-License-Identifier: BSD-3-Clause */
/* Models that predict, of every kind of layer: for tests of what is computed
 * apart from training. */
#ifndef TEST_OUTPUT_MODELS_H
#define TEST_OUTPUT_MODELS_H

#include "layers.h"
#include "models.h"

/* ------ Models: each has an output "y", and a loss where asked for ------ */

static inline void build_mlp(ls_graph *g, bool loss)
{
    ls_node *x = ls_input(g, "x", LS_F32, 1, (int64_t[]){20}), *y;

    x = ls_dropout(ls_gelu(ls_dense(x, 33, "fc1")), 0.3, "drop");
    x = ls_tanh(ls_dense(x, 17, "fc2"));
    y = ls_dense(x, 5, "fc3");
    OK(ls_output(g, y, "y"));
    if (loss) {
        OK(ls_output(g, x, "hidden"));
        ls_metric(g, y);
        x = ls_input(g, "labels", LS_I32, 0, NULL);
        OK(ls_loss(g, ls_cross_entropy(y, x)));
    }
}

static inline void build_lm(ls_graph *g, bool loss)
{
    ls_node *tokens = ls_input(g, "tokens", LS_I32, 1, (int64_t[]){7});
    lm_sizes s = {.width = 16, .heads = 2, .ff = 24};
    ls_node *x = ls_position(ls_embed(tokens, 11, 16, "embed"), "position");

    for (int i = 0; i < 3; i++)
        x = lm_block(x, i, &s);
    x = dense_no_bias(ls_layer_norm(x, "norm"), 11, "head");
    OK(ls_output(g, x, "y"));
    if (loss)
        OK(ls_loss(g, ls_next_token_loss(x, tokens)));
}

static inline void build_images(ls_graph *g, bool loss)
{
    ls_window three = {3, 3, 1, 1, LS_SAME}, two = {2, 2, 2, 2, LS_VALID};
    ls_node *x = ls_input(g, "x", LS_F32, 3, (int64_t[]){9, 8, 3}), *y;

    x = ls_max_pool(ls_relu(ls_conv2d(x, 6, three, "conv1")), two);
    x = ls_relu(ls_conv2d(x, 8, three, "conv2"));
    x = ls_group_norm(ls_add(x, conv2d_no_bias(x, 8, three, "conv3")), 2,
                      "norm");
    x = ls_flatten(ls_avg_pool(ls_max_pool(x, two), two));
    y = ls_sigmoid(ls_dense(x, 3, "dense"));
    OK(ls_output(g, y, "y"));
    if (loss) {
        x = ls_input(g, "target", LS_F32, 1, (int64_t[]){3});
        OK(ls_loss(g, ls_mean_squared_error(y, x)));
    }
}

/* Both recurrent layers. */
static inline void build_steps(ls_graph *g, bool loss)
{
    ls_node *x = ls_input(g, "x", LS_F32, 2, (int64_t[]){6, 4}), *y;

    x = ls_gru(ls_lstm(x, 5, "lstm"), 7, "gru");
    y = ls_dense(ls_flatten(x), 3, "dense");
    OK(ls_output(g, y, "y"));
    if (loss) {
        x = ls_input(g, "target", LS_F32, 1, (int64_t[]){3});
        OK(ls_loss(g, ls_mean_squared_error(y, x)));
    }
}

static const struct {
    void (*build)(ls_graph *g, bool loss);
    ls_precision precision;
} models[] = {
    {build_mlp, LS_F32_LAYERS},    {build_lm, LS_F32_LAYERS},
    {build_images, LS_F32_LAYERS}, {build_mlp, LS_BF16_LAYERS},
    {build_lm, LS_BF16_LAYERS},    {build_images, LS_BF16_LAYERS},
    {build_steps, LS_F32_LAYERS},
};
enum { MODELS = sizeof models / sizeof *models };

#endif
