/* SPDX-License-Identifier: BSD-3-Clause */
/* Layers with options, in one line each. */
#ifndef TEST_LAYERS_H
#define TEST_LAYERS_H

#include <lockstep.h>

static inline ls_dense_options without_bias(void)
{
    ls_dense_options o = ls_dense_defaults();

    o.no_bias = true;
    return o;
}

static inline ls_node *dense_no_bias(ls_node *x, int64_t n, const char *name)
{
    ls_dense_options o = without_bias();

    return ls_dense_with(x, n, &o, name);
}

static inline ls_node *sparse_dense_no_bias(ls_node *indices, ls_node *values,
                                            int64_t inputs, int64_t n,
                                            const char *name)
{
    ls_dense_options o = without_bias();

    return ls_sparse_dense_with(indices, values, inputs, n, &o, name);
}

static inline ls_node *conv2d_no_bias(ls_node *x, int64_t n, ls_window w,
                                      const char *name)
{
    ls_conv_options o = ls_conv_defaults();

    o.no_bias = true;
    o.padding = w.padding;
    o.stride_y = w.stride_y;
    o.stride_x = w.stride_x;
    return ls_conv2d_with(x, n, w.height, w.width, &o, name);
}

static inline ls_recurrent_options recurrent(ls_node *state, ls_node *lengths,
                                             ls_node **last)
{
    ls_recurrent_options o = ls_recurrent_defaults();

    o.state = state;
    o.lengths = lengths;
    o.last = last;
    return o;
}

static inline ls_node *lstm_from(ls_node *x, int64_t n, ls_node *state,
                                 ls_node *lengths, ls_node **last,
                                 const char *name)
{
    ls_recurrent_options o = recurrent(state, lengths, last);

    return ls_lstm_with(x, n, &o, name);
}

static inline ls_node *gru_from(ls_node *x, int64_t n, ls_node *state,
                                ls_node *lengths, ls_node **last,
                                const char *name)
{
    ls_recurrent_options o = recurrent(state, lengths, last);

    return ls_gru_with(x, n, &o, name);
}

static inline ls_node *gru_two_biases(ls_node *x, int64_t n, ls_node *state,
                                      ls_node *lengths, ls_node **last,
                                      const char *name)
{
    ls_recurrent_options o = recurrent(state, lengths, last);

    o.two_biases = true;
    return ls_gru_with(x, n, &o, name);
}

#endif
