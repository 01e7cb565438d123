/* SPDX-License-Identifier: BSD-3-Clause */
/* A small model and its rows, for tests of what surrounds a training. */
#ifndef TEST_SMALL_MODEL_H
#define TEST_SMALL_MODEL_H

#include "fixture.h"
#include "layers.h"

enum { ROWS = 8, IN = 3, OUT = 2 };

/* dense 8, gelu, dense: "hidden.kernel" (3,8), "out.kernel" (8,2), biases. */
static inline ls_graph *small_graph(void)
{
    ls_graph *g = empty_graph();

    ls_node *x = ls_input(g, "x", LS_F32, 1, (int64_t[]){IN});
    ls_node *y = ls_input(g, "y", LS_F32, 1, (int64_t[]){OUT});
    ls_node *h = ls_gelu(ls_dense(x, 8, "hidden"));
    OK(ls_loss(g, ls_mean_squared_error(ls_dense(h, OUT, "out"), y)));
    return g;
}

enum { SIDE = 9, CHANNELS = 3, PIXELS = SIDE * SIDE * CHANNELS };

/* Nodes for images: "x" (9,9,3), "y" a label below 2, all operators on them.
 * Errors stick to the graph. */
static inline void image_nodes(ls_graph *g)
{
    ls_window three = {3, 3, 1, 1, LS_SAME}, two = {2, 2, 2, 2, LS_VALID};
    ls_node *x = ls_input(g, "x", LS_F32, 3,
                          (int64_t[]){SIDE, SIDE, CHANNELS});
    ls_node *y = ls_input(g, "y", LS_I32, 0, NULL);

    x = ls_max_pool(ls_relu(ls_conv2d(ls_round_bf16(x), 6, three, "conv1")),
                    two);
    x = ls_relu(ls_group_norm(conv2d_no_bias(x, 4, three, "conv2"), 2,
                              "norm"));
    x = ls_dropout(ls_flatten(ls_avg_pool(x, two)), 0.2, "dropout");
    ls_metric(g, x);
    ls_loss(g, ls_cross_entropy(ls_dense(x, 2, "dense"), y));
}

/* ROWS rows of x and y for the small graph. */
static inline ls_batch *small_batch(const ls_trainer *t)
{
    static float x[ROWS * IN], y[ROWS * OUT];
    ls_batch *b;

    ls_random_normal(ls_key_new(1), 0, ROWS * IN, x);
    ls_random_normal(ls_key_new(2), 0, ROWS * OUT, y);
    OK(ls_batch_open(&b, t));
    OK(ls_batch_set(b, "x", LS_F32, x, ROWS));
    OK(ls_batch_set(b, "y", LS_F32, y, ROWS));
    return b;
}

#endif
