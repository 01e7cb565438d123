/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes that cannot be: each is refused with its status, and words. */
#ifndef TEST_BAD_NODES_H
#define TEST_BAD_NODES_H

#include "lockstep.h"

#include <math.h>

/* The leaves that bad nodes are made of. */
typedef struct leaves {
    ls_graph *graph;
    ls_node *x, *y, *one, *i, *scalar, *image, *deep;
} leaves;

static leaves leaves_of(ls_graph *g)
{
    leaves l;

    l.graph = g;
    l.x = ls_input(g, "x", LS_F32, 2, (int64_t[]){6, 4});
    l.y = ls_input(g, "y", LS_F32, 2, (int64_t[]){5, 3});
    l.one = ls_input(g, "one", LS_F32, 1, (int64_t[]){7});
    l.i = ls_input(g, "i", LS_I32, 2, (int64_t[]){6, 4});
    l.scalar = ls_input(g, "s", LS_F32, 0, NULL);
    l.image = ls_input(g, "image", LS_F32, 3, (int64_t[]){8, 6, 4});
    l.deep = ls_input(g, "deep", LS_I32, 6, (int64_t[]){1, 1, 1, 1, 1, 2});
    return l;
}

/* A convolution of 6 channels with these options. */
/* A window of 2 by 2 with pixels of zeros around. */
static ls_node *pooled(ls_node *x, int64_t top, int64_t bottom)
{
    ls_pooling_options o = ls_pooling_defaults();

    o.padding = LS_EXPLICIT;
    o.top = top;
    o.bottom = bottom;
    return ls_max_pool_with(x, 2, 2, &o);
}

static ls_node *mean_with_gaps(ls_node *x)
{
    ls_pooling_options o = ls_pooling_defaults();

    o.dilation_y = 2;
    return ls_avg_pool_with(x, 2, 2, &o);
}

static const ls_norm_options *epsilon(double of)
{
    static ls_norm_options o;

    o = ls_norm_defaults();
    o.epsilon = of;
    return &o;
}

static ls_node *both_ways(ls_node *x, ls_node *state)
{
    ls_recurrent_options o = ls_recurrent_defaults();

    o.bidirectional = true;
    o.state = state;
    return ls_lstm_with(x, 3, &o, "both");
}

static ls_node *conv(const leaves *l, ls_conv_options o)
{
    return ls_conv2d_with(l->image, 6, 3, 3, &o, "conv");
}

static ls_node *padded(const leaves *l, ls_padding padding, int64_t top,
                       int64_t right, int64_t bottom)
{
    return conv(l, (ls_conv_options){.size = sizeof(ls_conv_options),
                                     .padding = padding,
                                     .top = top,
                                     .right = right,
                                     .bottom = bottom});
}

static ls_window window_of(int64_t h, int64_t w, int64_t sy, int64_t sx,
                           int padding)
{
    return (ls_window){h, w, sy, sx, (ls_padding)padding};
}

/* A row: a function of the leaves, its status, and what is said. */
#define BAD_NODES(ROW) \
    ROW(no_name, ls_parameter(l.graph, "", 1, (int64_t[]){3}), LS_EINVAL, \
        "no name") \
    ROW(no_extent, ls_parameter(l.graph, "p", 1, (int64_t[]){0}), \
        LS_ESHAPE, "no shape") \
    ROW(no_rank, ls_parameter(l.graph, "p", 8, (int64_t[8]){1}), LS_EINVAL, \
        "rank 8") \
    ROW(leading_axes, ls_matmul(l.image, ls_reshape(l.image, 3, \
                                (int64_t[]){4, 4, 12})), LS_ESHAPE, \
        "(8,6,4) by (4,4,12)") \
    ROW(epsilon_below, ls_layer_norm_with(l.x, epsilon(-1), "n"), LS_EINVAL, \
        "epsilon -1") \
    ROW(epsilon_infinite, ls_group_norm_with(l.image, 2, \
        epsilon((double)INFINITY), "n"), LS_EINVAL, "epsilon inf") \
    ROW(reverse_i32, ls_reverse(l.i, NULL), LS_ESHAPE, "LS_I32") \
    ROW(reverse_lengths, ls_reverse(l.x, l.i), LS_ESHAPE, "one LS_I32 a row") \
    ROW(one_state, both_ways(l.x, l.x), LS_ESHAPE, \
        "the state is (6,4); of a bidirectional layer it must be LS_F32 " \
       "(2,2,3)") \
    ROW(axes_twice, ls_transpose(l.x, (int[]){1, 1}), LS_EINVAL, "once") \
    ROW(axis_below, ls_transpose(l.x, (int[]){0, -1}), LS_EINVAL, "once") \
    ROW(axis_above, ls_transpose(l.x, (int[]){0, 2}), LS_EINVAL, "once") \
    ROW(slice_axis, ls_slice(l.x, 2, 0, 1), LS_ESHAPE, "axis 2") \
    ROW(slice_i32, ls_slice(l.i, 0, 0, 1), LS_ESHAPE, "LS_I32") \
    ROW(slice_first, ls_slice(l.x, 0, -1, 1), LS_ESHAPE, "from -1") \
    ROW(slice_none, ls_slice(l.x, 0, 1, 0), LS_ESHAPE, "0 elements") \
    ROW(slice_far, ls_slice(l.x, 0, 4, 3), LS_ESHAPE, "3 elements from 4") \
    ROW(reshape_i32, ls_reshape(l.i, 1, (int64_t[]){24}), LS_ESHAPE, "LS_I32") \
    ROW(reshape_size, ls_reshape(l.x, 1, (int64_t[]){25}), LS_ESHAPE, "(25)") \
    ROW(reshape_zero, ls_reshape(l.x, 1, (int64_t[]){0}), LS_ESHAPE, "(0)") \
    ROW(reshape_rank, ls_reshape(l.x, -1, NULL), LS_EINVAL, "rank -1") \
    ROW(reshape_ranks, \
        ls_reshape(l.x, LS_MAX_RANK, (int64_t[LS_MAX_RANK]){0}), LS_EINVAL, \
        "rank 8") \
    ROW(spread_i32, ls_broadcast_to(l.i, 2, (int64_t[]){6, 4}), LS_ESHAPE, \
        "LS_I32") \
    ROW(spread_less, ls_broadcast_to(l.x, 1, (int64_t[]){4}), LS_ESHAPE, \
        "(4)") \
    ROW(spread_other, ls_broadcast_to(l.x, 2, (int64_t[]){6, 5}), LS_ESHAPE, \
        "(6,5)") \
    ROW(concat_ranks, ls_concat((ls_node *[]){l.x, l.one}, 2, 0), LS_ESHAPE, \
        "(7)") \
    ROW(concat_sizes, ls_concat((ls_node *[]){l.x, l.y}, 2, 0), LS_ESHAPE, \
        "(5,3)") \
    ROW(concat_axis, ls_concat((ls_node *[]){l.x, l.x}, 2, 3), LS_ESHAPE, \
        "axis 3") \
    ROW(concat_i32, ls_concat((ls_node *[]){l.i, l.x}, 2, 0), LS_ESHAPE, \
        "LS_I32") \
    ROW(concat_i32s, ls_concat((ls_node *[]){l.x, l.i}, 2, 0), LS_ESHAPE, \
        "LS_I32") \
    ROW(sum_axis, ls_sum_over(l.x, 1, (int[]){2}), LS_ESHAPE, "axis 2") \
    ROW(sum_below, ls_sum_over(l.x, 1, (int[]){-3}), LS_ESHAPE, "axis -3") \
    ROW(sum_twice, ls_max_over(l.x, 2, (int[]){1, -1}), LS_ESHAPE, "twice") \
    ROW(sum_count, ls_mean_over(l.x, -1, NULL), LS_EINVAL, "-1 axes") \
    ROW(sum_i32, ls_sum_over(l.i, 0, NULL), LS_ESHAPE, "LS_I32") \
    ROW(soft_i32, ls_softmax(l.i), LS_ESHAPE, "LS_I32") \
    ROW(matmul_i32, ls_matmul(l.i, l.x), LS_ESHAPE, "LS_I32") \
    ROW(matmul_i32s, ls_matmul(l.x, l.i), LS_ESHAPE, "LS_I32") \
    ROW(matmul_sizes, ls_matmul(l.x, l.x), LS_ESHAPE, "(6,4)") \
    ROW(matmul_ranks, ls_matmul(l.image, l.x), LS_ESHAPE, "(8,6,4)") \
    ROW(hot_f32, ls_one_hot(l.x, 3), LS_ESHAPE, "LS_F32") \
    ROW(hot_none, ls_one_hot(l.i, 0), LS_ESHAPE, "0") \
    ROW(gather_i32, ls_gather(l.i, l.i), LS_ESHAPE, "LS_I32") \
    ROW(gather_f32, ls_gather(l.x, l.x), LS_ESHAPE, "LS_F32") \
    ROW(gather_deep, ls_gather(l.image, l.deep), LS_ESHAPE, "") \
    ROW(steps_rank, ls_lstm(l.one, 3, "cell"), LS_ESHAPE, "(7)") \
    ROW(steps_none, ls_gru(l.x, 0, "cell"), LS_ESHAPE, "0 units") \
    ROW(steps_many, ls_gru(l.x, 1LL << 40, "cell"), LS_ESHAPE, "units") \
    ROW(steps_i32, ls_gru(l.i, 3, "cell"), LS_ESHAPE, "LS_I32") \
    ROW(bag_values, ls_sparse_dense(l.i, l.y, 9, 2, "bag"), LS_ESHAPE, \
        "their values (5,3)") \
    ROW(bag_i32, ls_sparse_dense(l.i, l.i, 9, 2, "bag"), LS_ESHAPE, "LS_I32") \
    ROW(bag_none, ls_embed_bag(l.i, LS_BAG_SUM, 0, 2, "bag"), LS_ESHAPE, \
        "0 inputs") \
    ROW(bag_many, ls_embed_bag(l.i, LS_BAG_SUM, 1LL << 40, 2, "bag"), \
        LS_ESHAPE, "inputs") \
    ROW(turn_rank, ls_rotary(l.one, 1, 10000), LS_ESHAPE, "(7)") \
    ROW(turn_none, ls_rotary(l.x, 0, 10000), LS_ESHAPE, "0 heads") \
    ROW(turn_heads, ls_rotary(l.x, 3, 10000), LS_ESHAPE, "3 heads") \
    ROW(turn_odd, ls_rotary(l.x, 4, 10000), LS_ESHAPE, "even") \
    ROW(turn_base, ls_rotary(l.x, 2, 0), LS_EINVAL, "base 0") \
    ROW(turn_i32, ls_rotary(l.i, 2, 10000), LS_ESHAPE, "LS_I32") \
    ROW(see_heads, ls_dot_product_attention(l.x, l.x, l.x, 3, true), \
        LS_ESHAPE, "3 heads") \
    ROW(see_others, ls_dot_product_attention(l.x, l.y, l.y, 2, true), \
        LS_ESHAPE, "(6,4) and (5,3)") \
    ROW(shared_none, ls_grouped_attention(l.x, 2, 0, 0, true, "mix"), \
        LS_ESHAPE, "") \
    ROW(groups_none, ls_group_norm(l.image, 0, "norm"), LS_ESHAPE, "0") \
    ROW(groups_odd, ls_group_norm(l.image, 3, "norm"), LS_ESHAPE, "3") \
    ROW(groups_i32, ls_group_norm(l.i, 2, "norm"), LS_ESHAPE, "LS_I32") \
    ROW(batch_i32, ls_batch_norm(l.i, 1e-5, "norm"), LS_ESHAPE, "LS_I32") \
    ROW(pool_gaps, mean_with_gaps(l.image), LS_EINVAL, "only max_pool") \
    ROW(pool_outside, pooled(l.image, 2, 0), LS_ESHAPE, "no pixel") \
    ROW(pool_pixels, pooled(l.image, 0, -1), LS_EINVAL, "-1 at the bottom") \
    ROW(pool_rank, ls_max_pool(l.x, window_of(2, 2, 2, 2, LS_SAME)), \
        LS_ESHAPE, "(6,4)") \
    ROW(pool_height, ls_max_pool(l.image, window_of(0, 2, 2, 2, LS_SAME)), \
        LS_EINVAL, "0 by 2") \
    ROW(pool_width, ls_max_pool(l.image, window_of(2, -2, 2, 2, LS_SAME)), \
        LS_EINVAL, "2 by -2") \
    ROW(pool_stride, ls_avg_pool(l.image, window_of(2, 2, -1, 2, LS_SAME)), \
        LS_EINVAL, "strides -1") \
    ROW(pool_strides, ls_avg_pool(l.image, window_of(2, 2, 2, -1, LS_SAME)), \
        LS_EINVAL, "and -1") \
    ROW(pool_padding, ls_avg_pool(l.image, window_of(2, 2, 2, 2, 77)), \
        LS_EINVAL, "padding 77") \
    ROW(pool_pad, ls_avg_pool(l.image, window_of(2, 2, 2, 2, -1)), LS_EINVAL, \
        "padding -1") \
    ROW(conv_given, padded(&l, LS_SAME, 0, 0, 1), LS_EINVAL, \
        "not LS_EXPLICIT") \
    ROW(conv_top, padded(&l, LS_SAME, 1, 0, 0), LS_EINVAL, \
        "not LS_EXPLICIT") \
    ROW(conv_right, padded(&l, LS_VALID, 0, 1, 0), LS_EINVAL, \
        "not LS_EXPLICIT") \
    ROW(conv_below, padded(&l, LS_EXPLICIT, 0, 0, -1), LS_EINVAL, \
        "-1 at the bottom") \
    ROW(conv_beside, padded(&l, LS_EXPLICIT, 0, -2, 0), LS_EINVAL, \
        "-2 right") \
    ROW(conv_groups, \
        conv(&l, (ls_conv_options){.size = sizeof(ls_conv_options), \
                                   .padding = LS_SAME, \
                                   .groups = 4}), \
        LS_ESHAPE, "4") \
    ROW(error_i32, ls_mean_squared_error(l.i, l.x), LS_ESHAPE, "LS_I32") \
    ROW(error_i32s, ls_mean_squared_error(l.x, l.i), LS_ESHAPE, "LS_I32") \
    ROW(error_rank, ls_mean_squared_error(l.x, l.one), LS_ESHAPE, "(7)") \
    ROW(class_rank, ls_cross_entropy(l.image, l.deep), LS_ESHAPE, "(8,6,4)") \
    ROW(terms_i32, ls_mean_loss(l.i, NULL), LS_ESHAPE, "LS_I32") \
    ROW(not_a_number, ls_scale_shift(l.x, 1, (double)NAN), LS_EINVAL, "NaN") \
    ROW(nothing_after, (ls_rotary(l.x, 3, 1), ls_sum_over(l.x, 0, NULL)), \
        LS_ESHAPE, "3 heads") \
    ROW(no_view_after, \
        (ls_rotary(l.x, 3, 1), ls_reshape(l.x, 1, (int64_t[]){24})), \
        LS_ESHAPE, "3 heads") \
    ROW(no_steps_after, (ls_rotary(l.x, 3, 1), ls_gru(l.x, 2, "cell")), \
        LS_ESHAPE, "3 heads") \
    ROW(no_scale_after, (ls_rotary(l.x, 3, 1), ls_scale_shift(l.x, 1, 1)), \
        LS_ESHAPE, "3 heads") \
    ROW(no_conv_after, (ls_rotary(l.x, 3, 1), conv(&l, ls_conv_defaults())), \
        LS_ESHAPE, "3 heads") \
    ROW(no_heads_after, \
        (ls_rotary(l.x, 3, 1), ls_self_attention(l.x, 2, true, "mix")), \
        LS_ESHAPE, "3 heads") \
    ROW(no_memory_after, \
        (ls_rotary(l.x, 3, 1), ls_cross_attention(l.x, l.y, NULL, 2, "mix")), \
        LS_ESHAPE, "3 heads")

#define FUNCTION(name, node, status, words) \
    static ls_node *name(leaves l) \
    { \
        return node; \
    }
BAD_NODES(FUNCTION)
#undef FUNCTION

#define ENTRY(name, node, status, words) {#name, name, status, words},
static const struct {
    const char *name;
    ls_node *(*build)(leaves l);
    int status;
    const char *words;
} bad_nodes[] = {BAD_NODES(ENTRY)};
#undef ENTRY

#endif
