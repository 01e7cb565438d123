/* SPDX-License-Identifier: BSD-3-Clause */
/* A graph that has a node of each operator of the library, for what is to be
 * true of all of them and of their attributes. */
#ifndef TEST_ALL_OPERATORS_H
#define TEST_ALL_OPERATORS_H

#include "calls.h"
#include "layers.h"
#include "graph/op.h"
#include "op/op_table.h"

/* A term on x, or on x and y, with constants 0.1 and 0.2. */
static inline ls_node *term_node(int kind, ls_node *x, ls_node *y)
{
    const ls__op *op = &ls__op_term[kind];
    ls_node *n = ls__node_unnamed(op, x, op->inputs > 1 ? y : NULL);
    double by = 0.1;

    for (const ls__attribute *a = op->file.attributes; n && a->name;
         a++, by += 0.1)
        *(double *)ls__attribute_in(n, a) = by;
    return ls__node_done(n);
}

/* All arithmetic on x (7) and indices (5) below 7, with constants of all
 * sorts. */
static inline void all_arithmetic(ls_node *x, ls_node *indices)
{
    ls_node *y = x, *z, *both[2];

    for (int kind = LS__ADD + 1; kind < LS__TERM_KINDS; kind++)
        y = term_node(kind, y, x);
    y = ls_leaky_relu(ls_clamp(y, -2, (double)INFINITY), -0.5);
    y = ls_log(ls_softmax(y));
    y = ls_mul(y, ls_parameter(y->graph, "columns", 1, (int64_t[]){7}));
    both[0] = y;
    both[1] = ls_gather(x, indices);
    z = ls_concat(both, 2, 0);
    z = ls_transpose(ls_broadcast_to(z, 2, (int64_t[]){3, 12}), NULL);
    z = ls_slice(ls_matmul(ls_one_hot(indices, 12), z), -1, 1, 2);
    z = ls_log_softmax(ls_reshape(z, 2, (int64_t[]){2, 5}));
    z = ls_add(ls_sum_over(z, 1, (int[]){0}), ls_max_over(z, 1, (int[]){0}));
    ck_assert_msg(z != NULL, "%s", ls_errmsg());
}

/* Both cells: alone, from a state, with lengths, and with both. */
static inline void all_recurrent(ls_graph *g, ls_node *lengths)
{
    ls_node *x = ls_input(g, "steps", LS_F32, 2, (int64_t[]){6, 3}), *last;
    ls_node *carry = ls_input(g, "carry", LS_F32, 2, (int64_t[]){2, 4});
    ls_node *hidden = ls_input(g, "hidden", LS_F32, 1, (int64_t[]){4});

    ls_lstm(ls_gru(x, 2, "gru"), 3, "lstm");
    lstm_from(x, 4, carry, NULL, &last, "lstm_2");
    lstm_from(x, 4, NULL, lengths, NULL, "lstm_3");
    lstm_from(x, 4, last, lengths, &last, "lstm_4");
    gru_from(x, 4, hidden, NULL, &last, "gru_2");
    gru_from(x, 4, NULL, lengths, NULL, "gru_3");
    gru_two_biases(x, 4, NULL, NULL, NULL, "gru_5");
    x = gru_from(x, 4, last, lengths, NULL, "gru_4");
    ls_reverse(x, NULL);
    x = ls_reverse(x, lengths);
    ck_assert_msg(x != NULL, "%s", ls_errmsg());
}

/* Bags of both kinds, and lists with values and without. */
static inline void all_bags(ls_graph *g)
{
    ls_node *x = ls_input(g, "list", LS_I32, 1, (int64_t[]){4});
    ls_node *v = ls_input(g, "values", LS_F32, 1, (int64_t[]){4});

    ls_sparse_dense(x, v, 300, 3, "wide");
    sparse_dense_no_bias(x, NULL, 300, 3, "wide_2");
    ls_embed_bag(x, LS_BAG_SUM, 300, 2, "bag");
    x = ls_embed_bag(x, LS_BAG_MEAN, 300, 2, "bag_2");
    ck_assert_msg(x != NULL, "%s", ls_errmsg());
}

/* One of each: what an operator's row leaves out does not come back. */
static inline ls_graph *all_operators(void)
{
    ls_window odd = {3, 2, 2, 1, LS_VALID}, two = {2, 2, 0, 0, LS_SAME};
    ls_pooling_options more = ls_pooling_defaults();
    ls_graph *g = empty_graph();
    ls_node *x = ls_input(g, "image", LS_F32, 3, (int64_t[]){9, 8, 3});
    ls_node *t = ls_input(g, "tokens", LS_I32, 1, (int64_t[]){5});
    ls_node *labels = ls_input(g, "label", LS_I32, 0, NULL);

    x = conv2d_no_bias(ls_conv2d(x, 6, odd, "conv"), 4, two, "bare");
    x = ls_max_pool(ls_group_norm(x, 2, "groups"), two);
    x = ls_dropout(ls_dropout(x, 0, "none"), 0.125, "drop");
    more.padding = LS_EXPLICIT;
    more.dilation_x = 2;
    more.top = more.bottom = more.left = more.right = 1;
    more.ceil_mode = more.exclude_padding = true;
    x = ls_max_pool_with(x, 2, 2, &more);
    more.dilation_x = 1;
    x = ls_avg_pool_with(x, 2, 2, &more);
    x = ls_flatten(ls_avg_pool(ls_round_bf16(x), two));
    x = ls_sigmoid(ls_tanh(ls_relu(ls_gelu(ls_dense(x, 7, "fc")))));
    OK(ls_output(g, ls_add(x, dense_no_bias(x, 7, "fc2")), "sum"));
    ck_assert_int_eq(ls_metric(g, x), 0);
    all_recurrent(g, labels);
    all_bags(g);
    ls_mean_loss(x, x);
    ls_mean_loss(x, NULL);
    ls_mean_squared_error(x, x);
    ls_cross_entropy(x, labels);
    t = ls_position(ls_embed(t, 11, 8, "embed"), "table");
    t = ls_self_attention(ls_layer_norm(t, "norm"), 2, true, "attend");
    OK(ls_output(g, t, "seen"));
    t = ls_batch_norm(ls_rms_norm(t, 1e-5, "rms"), 1e-3, "stored");
    t = ls_grouped_attention(t, 4, 2, 500, true, "grouped");
    t = dense_no_bias(ls_swiglu(t, 8, "unit"), 8, "down");
    OK(ls_tie(g, "head.kernel", "embed.embedding", true));
    t = ls_dense(t, 11, "head");
    all_arithmetic(x, g->inputs[1]);
    OK(ls_loss(g, ls_next_token_loss(t, g->inputs[1])));
    return g;
}

static inline bool has_op(const ls_graph *g, const ls__op *op)
{
    for (int i = 0; i < g->node_count; i++)
        if (g->nodes[i]->op == op)
            return true;
    return false;
}

#endif
