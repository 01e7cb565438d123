/* SPDX-License-Identifier: BSD-3-Clause */
/* Random models for records of a step, each with a stream of random numbers of
 * its own, so that one that is added or that draws more changes no other.
 * Between them they have every operator that there is evidence of. */
#ifndef TEST_RECORD_MODELS_H
#define TEST_RECORD_MODELS_H

#include "graph/graph.h"
#include "models.h"

typedef enum model {
    MLP, CNN, LM, RNN, HEADS, BAGS, SHAPES, POOLS, ROW_SUMS, LENGTHS, NORMS,
    DROPS, CHANNELS, STATES, MODELS
} model;

enum { MOST_INPUTS = 4 };

enum { VOCAB = 32 };

/* The next numbers of a stream of random ones. */
static inline uint32_t draw(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static inline int64_t between(uint32_t *state, int64_t least, int64_t most)
{
    return least + draw(state) % (most - least + 1);
}

static ls_node *cnn_of(ls_graph *g, uint32_t *r)
{
    int64_t side = between(r, 6, 9), c = 4 * between(r, 1, 3);
    ls_window w = {.height = 3, .width = 3, .padding = LS_SAME};
    ls_window two = {.height = 2, .width = 2, .stride_y = 2, .stride_x = 2};
    ls_norm_options o = ls_norm_defaults();
    ls_node *x = ls_input(g, "x", LS_F32, 3, (int64_t[]){side, side, 3});

    x = ls_max_pool(ls_relu(ls_conv2d(x, c, w, "c1")), two);
    o.epsilon = 0.25;
    o.two_passes = between(r, 0, 1);
    x = ls_group_norm_with(ls_conv2d(x, c, w, "c2"), 2, &o, "n");
    return ls_dense(ls_flatten(ls_gelu(x)), 5, "out");
}

static ls_node *rnn_of(ls_graph *g, uint32_t *r)
{
    int64_t t = between(r, 3, 7), n = between(r, 5, 20);
    ls_node *x = ls_input(g, "x", LS_F32, 2, (int64_t[]){t, 4});
    ls_recurrent_options o = ls_recurrent_defaults();

    o.bidirectional = between(r, 0, 1);
    x = between(r, 0, 1) ? ls_lstm_with(x, n, &o, "cell")
                         : ls_gru_with(x, n, &o, "cell");
    return ls_dense(ls_flatten(x), 5, "out");
}

static ls_node *mlp_of(ls_graph *g, uint32_t *r)
{
    int64_t in = between(r, 3, 30), n = between(r, 5, 90);
    ls_node *x = ls_input(g, "x", LS_F32, 1, &in), *h;
    ls_norm_options o = ls_norm_defaults();

    o.epsilon = between(r, 0, 1) ? 0.25 : 1e-6;
    o.two_passes = between(r, 0, 1);
    h = ls_layer_norm_with(ls_dense(x, n, "h1"), &o, "n");
    if (between(r, 0, 1))
        h = ls_dropout(h, 0.25, "drop");
    h = ls_add(h, ls_tanh(ls_dense(ls_gelu(h), n, "h2")));
    return ls_dense(h, 5, "out");
}

/* Heads that share keys and values, rotary positions, gated units. */
static ls_node *heads_of(ls_graph *g, uint32_t *r)
{
    int64_t t = between(r, 3, 6), d = 16;
    int kv = (int)between(r, 1, 2);
    ls_node *x = ls_input(g, "x", LS_F32, 2, (int64_t[]){t, 4});

    x = ls_rms_norm(ls_dense(x, d, "in"), 1e-5, "n");
    x = ls_add(x, ls_grouped_attention(x, 4, kv, between(r, 0, 1) ? 10000 : 0,
                                       between(r, 0, 1), "a"));
    x = ls_swiglu(x, 12, "g");
    return ls_dense(ls_flatten(x), 5, "out");
}

/* Rows of a table that are looked up, in lists too. */
static ls_node *bags_of(ls_graph *g, uint32_t *r)
{
    int64_t k = between(r, 2, 5), n = between(r, 3, 9);
    ls_node *i = ls_input(g, "list", LS_I32, 1, &k);
    ls_node *v = ls_input(g, "values", LS_F32, 1, &k);
    ls_node *bag = ls_embed_bag(i, between(r, 0, 1) ? LS_BAG_SUM : LS_BAG_MEAN,
                                VOCAB, n, "bag");
    ls_node *x = ls_sparse_dense(i, between(r, 0, 1) ? v : NULL, VOCAB, n, "s");
    ls_node *e = ls_flatten(ls_embed(i, VOCAB, 4, "e"));

    x = ls_concat((ls_node *[]){ls_add(bag, ls_silu(x)), e, v}, 3, 0);
    return ls_dense(x, 5, "out");
}

/* The same numbers under other shapes, and products of two values. */
static ls_node *shapes_of(ls_graph *g, uint32_t *r)
{
    int64_t m = 2 * between(r, 1, 3), n = between(r, 3, 6);
    int64_t picks = 3;
    ls_node *x = ls_input(g, "x", LS_F32, 2, (int64_t[]){m, n}), *y, *p;
    ls_node *at = ls_input(g, "picks", LS_I32, 1, &picks);

    x = ls_tanh(ls_dense(x, n, "in"));
    y = ls_softmax(ls_matmul(x, ls_transpose(x, NULL)));
    y = ls_log_softmax(ls_matmul(y, x));
    p = ls_parameter(g, "p", 1, &n);
    y = ls_mul(y, ls_broadcast_to(p, 2, (int64_t[]){m, n}));
    x = ls_concat((ls_node *[]){ls_slice(y, 0, 1, m / 2), ls_reverse(x, NULL)},
                  2, 0);
    x = ls_gather(x, at);
    x = ls_reshape(x, 1, (int64_t[]){3 * n});
    y = ls_flatten(ls_one_hot(at, m + m / 2));
    return ls_dense(ls_concat((ls_node *[]){x, y}, 2, 0), 5, "out");
}

/* Poolings, convolutions in groups and with gaps, batch norm. */
static ls_node *pools_of(ls_graph *g, uint32_t *r)
{
    int64_t side = between(r, 7, 10);
    ls_window two = {.height = 3, .width = 2, .stride_y = 2, .stride_x = 2,
                     .padding = LS_SAME};
    ls_conv_options o = ls_conv_defaults();
    ls_node *x = ls_input(g, "x", LS_F32, 3, (int64_t[]){side, side, 4});

    o.groups = 2;
    o.dilation_y = between(r, 1, 2);
    o.no_bias = between(r, 0, 1);
    x = ls_batch_norm(ls_conv2d_with(x, 6, 3, 2, &o, "c"), 1e-3, "b");
    x = between(r, 0, 1) ? ls_avg_pool(ls_relu(x), two)
                         : ls_max_pool(ls_leaky_relu(x, 0.1), two);
    return ls_dense(ls_flatten(ls_avg_pool(x, two)), 5, "out");
}

/* Sums and maxima over axes, and arithmetic. */
static ls_node *row_sums_of(ls_graph *g, uint32_t *r)
{
    int64_t m = between(r, 3, 6), n = between(r, 3, 6);
    int first = 0, last = 1;
    ls_node *x = ls_input(g, "x", LS_F32, 2, (int64_t[]){m, n}), *a, *b;

    x = ls_dense(x, n, "in");
    a = ls_sum_over(ls_square(x), 1, &first);
    b = ls_mean_over(ls_exp(ls_clamp(x, -2, 2)), 1, &first);
    a = ls_sub(ls_where(ls_less(b, a), ls_max(a, b), b),
               ls_div(a, ls_softplus(b)));
    b = ls_max_over(ls_elu(x, 1), 1, &last);
    x = ls_concat((ls_node *[]){a, b}, 2, 0);
    return ls_dense(ls_dropout(x, 0.25, "drop"), 5, "out");
}

/* Rows of different lengths, forward and backward. */
static ls_node *lengths_of(ls_graph *g, uint32_t *r)
{
    int64_t t = between(r, 3, 5), n = between(r, 4, 9);
    ls_node *x = ls_input(g, "x", LS_F32, 2, (int64_t[]){t, 3});
    ls_recurrent_options o = ls_recurrent_defaults();

    o.lengths = ls_input(g, "length", LS_I32, 0, NULL);
    x = between(r, 0, 1) ? ls_lstm_with(x, n, &o, "cell")
                         : ls_gru_with(x, n, &o, "cell");
    x = ls_reverse(x, o.lengths);
    return ls_dense(ls_flatten(ls_sigmoid(x)), 5, "out");
}

/* Batch norms by the rows of a batch or a shard, after orthogonal kernels. */
static ls_node *norms_of(ls_graph *g, uint32_t *r)
{
    int64_t side = between(r, 4, 6), c = between(r, 3, 20);
    ls_window w = {.height = 3, .width = 3, .padding = LS_SAME};
    ls_init start = ls_init_orthogonal(0.75);
    ls_batch_norm_options o = ls_batch_norm_defaults();
    ls_node *x = ls_input(g, "x", LS_F32, 3, (int64_t[]){side, side, 3});

    o.statistics = between(r, 0, 1) ? LS_STATISTICS_OF_BATCH
                                    : LS_STATISTICS_OF_SHARD;
    o.momentum = 0.75;
    x = ls_relu(ls_batch_norm_with(ls_conv2d(x, c, w, "c"), &o, "n1"));
    if (between(r, 0, 1))
        o.statistics = LS_STATISTICS_STORED;
    x = ls_batch_norm_with(ls_dense(ls_flatten(x), 9, "d"), &o, "n2");
    x = ls_dense(ls_tanh(x), 5, "out");
    OK(ls_init_params(g, "*kernel", &start));
    return x;
}

/* Attention with dropout of its weights, of heads of their own or not. */
static ls_node *drops_of(ls_graph *g, uint32_t *r)
{
    int64_t t = between(r, 3, 9);
    ls_attention_options o = ls_attention_defaults();
    ls_node *x = ls_input(g, "x", LS_F32, 2, (int64_t[]){t, 4});

    o.causal = between(r, 0, 1);
    o.kv_heads = (int)between(r, 1, 2);
    o.dropout = 0.25;
    x = ls_dense(x, 16, "in");
    x = ls_add(x, ls_attention_with(x, 4, &o, "a"));
    return ls_dense(ls_flatten(x), 5, "out");
}

/* Convolutions of each channel by itself. */
static ls_node *channels_of(ls_graph *g, uint32_t *r)
{
    int64_t side = between(r, 4, 17), c = between(r, 2, 20);
    ls_conv_options o = ls_conv_defaults();
    ls_node *x = ls_input(g, "x", LS_F32, 3, (int64_t[]){side, side, 3});

    o.groups = c;
    o.padding = between(r, 0, 1) ? LS_SAME : LS_VALID;
    o.stride_y = between(r, 1, 2);
    o.dilation_x = between(r, 1, 2);
    x = ls_gelu(ls_conv2d_with(ls_dense(x, c, "in"), c, 3, 2, &o, "c"));
    return ls_dense(ls_flatten(x), 5, "out");
}

/* Two recurrent layers from one state, which a layer gives. */
static ls_node *states_of(ls_graph *g, uint32_t *r)
{
    int64_t n = between(r, 4, 9), two[] = {2, n};
    bool lstm = between(r, 0, 1);
    ls_node *x = ls_input(g, "x", LS_F32, 2, (int64_t[]){4, 3}), *y[2];
    ls_recurrent_options o = ls_recurrent_defaults();

    o.state = ls_dense(ls_flatten(x), lstm ? 2 * n : n, "first");
    if (lstm)
        o.state = ls_reshape(o.state, 2, two);
    for (int i = 0; i < 2; i++)
        y[i] = (lstm ? ls_lstm_with : ls_gru_with)(x, n, &o, i ? "b" : "a");
    return ls_dense(ls_flatten(ls_hard_swish(ls_add(y[0], y[1]))), 5, "out");
}

static ls_node *(*const graph_outputs[MODELS])(ls_graph *, uint32_t *) = {
    [MLP] = mlp_of, [CNN] = cnn_of, [RNN] = rnn_of, [HEADS] = heads_of,
    [BAGS] = bags_of, [SHAPES] = shapes_of, [POOLS] = pools_of,
    [ROW_SUMS] = row_sums_of, [LENGTHS] = lengths_of,
    [NORMS] = norms_of, [DROPS] = drops_of, [CHANNELS] = channels_of,
    [STATES] = states_of};

static ls_graph *graph_of(model m, uint32_t seed)
{
    uint32_t r = seed * 2654435761u + 40503u * (uint32_t)m;
    ls_graph *g;
    ls_node *y;

    if (m == LM) {
        lm_sizes s = {VOCAB, between(&r, 4, 9), 8 * between(&r, 1, 3), 2,
                      between(&r, 1, 2), between(&r, 9, 40)};
        return lm_graph(&s);
    }
    OK(ls_graph_new(&g));
    y = graph_outputs[m](g, &r);
    OK(ls_loss(g, between(&r, 0, 3)
                      ? ls_cross_entropy(y, ls_input(g, "label", LS_I32, 0,
                                                     NULL))
                      : ls_mean_squared_error(
                            y, ls_input(g, "target", LS_F32, 1,
                                        (int64_t[]){5}))));
    return g;
}

#endif
