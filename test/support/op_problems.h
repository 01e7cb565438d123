/* SPDX-License-Identifier: BSD-3-Clause */
/* An operator with everything it is given: a builder for each, and a table of
 * what they take and of what may be zero in what they give. */
#ifndef TEST_OP_PROBLEMS_H
#define TEST_OP_PROBLEMS_H

#include "backend/backend.h"
#include "alone.h"
#include "op/layer_parts.h"
#include "layers.h"
#include "op_samples.h"
#include "reference.h"
#include "support.h"

typedef struct problem {
    ls_graph *graph;
    const ls__op *op;
    ls_node *node;
    const reference *ref;
    int64_t rows;
    int inputs; /* with a dense's residual */
    bool through_slope;
    void *made; /* fusions, before its operator decides the rest */
    float *x[LS__MAX_INPUTS], *param[LS__MAX_PARAMS];
    float *dy, *addend[LS__MAX_INPUTS], *h;
    float *prior[LS__MAX_PARAMS]; /* gradients that `add` adds to */
    const float *weights;
    double *xd[LS__MAX_INPUTS], *pd[LS__MAX_PARAMS], *dyd;
    double *dxd[LS__MAX_INPUTS], *dpd[LS__MAX_PARAMS], *yd; /* right */
    int64_t nx[LS__MAX_INPUTS], np[LS__MAX_PARAMS], ny;
} problem;

static ls_node *input(problem *p, const char *name, ls_dtype dtype, int rank,
                      const int64_t *shape)
{
    return ls_input(p->graph, name, dtype, rank, shape);
}

static ls_node *input_x(problem *p, const sample *s)
{
    return input(p, "x", LS_F32, s->rank, s->dim);
}

static const float some_weights[] = {1, 0.5f, 0, 2, 0.75f};

/* Losses come without and with weights of rows. */
static void weigh(problem *p, int kind)
{
    float *w;

    if (kind == 0)
        return;
    w = fenced(p->rows);
    for (int64_t i = 0; i < p->rows; i++)
        w[i] = some_weights[i % 5];
    p->weights = w;
}

/* ------ One builder for each operator ------ */

enum {
    BIAS = 1, CURVED = 2, RESIDUAL = 4, SLOPE = 8, IS_PRE = 16, TURNED = 64
};

static const unsigned dense_kinds[] = {0,
                                       BIAS,
                                       BIAS | CURVED,
                                       BIAS | RESIDUAL,
                                       CURVED | RESIDUAL,
                                       BIAS | SLOPE,
                                       BIAS | CURVED | IS_PRE,
                                       TURNED,
                                       BIAS | CURVED | TURNED};

/* The fusion that a plan would ask of a product. */
static void take_in(problem *p, unsigned asked, ls__activation curve)
{
    ls_node *y = p->node;
    ls__product_made *m = p->made ? p->made : made_for(y);
    int64_t shape[LS_MAX_RANK];

    p->made = m;
    if (asked & RESIDUAL) {
        m->residual = m->closed = true;
        y->in[1] = input(p, "r", LS_F32, ls_node_shape(y, shape), y->shape);
    }
    m->activation = asked & CURVED ? curve : LS__NO_ACTIVATION;
    m->dy_is_pre = asked & IS_PRE;
    p->through_slope = asked & SLOPE;
}

/* The weights of the dense layer "d" are a table's, transposed. */
static void tie_to_table(problem *p, int64_t n, int64_t width)
{
    ls_node *i = input(p, "i", LS_I32, 0, NULL);

    ck_assert_ptr_nonnull(ls_embed(i, n, width, "e"));
    ck_assert_int_eq(ls_tie(p->graph, "d.kernel", "e.embedding", true), 0);
}

/* The kinds beyond the first two are what a plan makes of a dense node. */
static void build_dense(problem *p, const sample *s, int kind)
{
    static const int64_t widths[] = {1, 2, 3, 7, 8, 16, 17, 31, 33, 65, 5, 13};
    int64_t n = widths[(s - samples) % 12];
    ls__activation curve = LS__GELU + (s - samples) % 4; /* each in turn */
    unsigned asked = dense_kinds[kind];
    ls_node *x = input_x(p, s), *y;

    if (asked & TURNED)
        tie_to_table(p, n, ls__width(x));
    y = asked & BIAS ? ls_dense(x, n, "d") : dense_no_bias(x, n, "d");
    ck_assert_ptr_nonnull(y);
    p->node = y;
    take_in(p, asked, curve);
}

/* The sample is the shape of the output: tokens have one axis less. */
static void build_embed(problem *p, const sample *s, int kind)
{
    ls_node *x = input(p, "x", LS_I32, s->rank - 1, s->dim);
    int64_t count = x ? p->rows * x->size + 2 : 0;

    (void)kind;
    p->node =
        ls_embed(x, count < 1009 ? count : 1009, s->dim[s->rank - 1], "e");
}

/* The sample is the shape of the lists; kinds: with a bias, a mean. */
static void build_bag(problem *p, const sample *s, int kind)
{
    static const int64_t widths[] = {2, 3, 16, 17, 40, 5, 130};
    ls_node *x = input(p, "x", LS_I32, s->rank, s->dim), *v;
    int64_t width = widths[(s - samples) % 7];
    int64_t count = x ? 1 + p->rows * x->size / 2 : 0;

    count = count < 600 ? count : 600;
    if (p->op == &ls__op_embed_bag) {
        p->node = ls_embed_bag(x, kind ? LS_BAG_MEAN : LS_BAG_SUM, count, width,
                               "b");
        return;
    }
    v = p->op->inputs > 1 ? input(p, "v", LS_F32, s->rank, s->dim) : NULL;
    p->node = kind ? ls_sparse_dense(x, v, count, width, "d")
                   : sparse_dense_no_bias(x, v, count, width, "d");
}

static void build_position(problem *p, const sample *s, int kind)
{
    (void)kind;
    p->node = ls_position(input_x(p, s), "p");
}

static void build_parameter(problem *p, const sample *s, int kind)
{
    (void)kind;
    p->node = ls_parameter(p->graph, "p", s->rank, s->dim);
}

/* The second kind has another epsilon, the third two passes. */
static const ls_norm_options *norm_options(int kind)
{
    static ls_norm_options o;

    o = ls_norm_defaults();
    o.two_passes = kind == 2;
    if (kind == 1)
        o.epsilon = 0.0625;
    return kind ? &o : NULL;
}

static void build_norm(problem *p, const sample *s, int kind)
{
    p->node = ls_layer_norm_with(input_x(p, s), norm_options(kind), "n");
}

static void build_rms(problem *p, const sample *s, int kind)
{
    p->node = ls_rms_norm(input_x(p, s), kind ? 0.0625 : 1e-6, "n");
}

static void build_batch(problem *p, const sample *s, int kind)
{
    p->node = ls_batch_norm(input_x(p, s), kind ? 0.0625 : 1e-5, "n");
}

/* Two heads and several, of two elements and of more. */
static void build_rotary(problem *p, const sample *s, int kind)
{
    int64_t shape[] = {s->dim[0], 2 * s->dim[1]};
    int heads = kind == 1 ? (int)s->dim[1] : kind == 2 ? 2 : 1;

    if (kind == 2)
        shape[1] *= 2;
    p->node = ls_rotary(input(p, "x", LS_F32, 2, shape), heads,
                        kind ? 10000 : 50);
}

/* One head or several, without and with a causal mask; then several for one of
 * keys and values, or three times as many. */
static void build_attention(problem *p, const sample *s, int kind)
{
    int64_t d = s->dim[1];
    int64_t kv[] = {s->dim[0], d}, q[] = {s->dim[0], d};
    int heads = 2;

    while (d > 1 && d % heads)
        heads++;
    if (kind < 2 || d == 1)
        heads = 1;
    if (kind == 4)
        kv[1] = d / heads;
    if (kind == 5) {
        q[1] *= 3;
        heads *= 3;
    }
    p->node = ls__attention(
        input(p, "q", LS_F32, 2, q), input(p, "k", LS_F32, 2, kv),
        input(p, "v", LS_F32, 2, kv), heads, kind % 2, 0, "a");
}

static void build_gelu(problem *p, const sample *s, int kind)
{
    (void)kind;
    p->node = ls_gelu(input_x(p, s));
}

static void build_relu(problem *p, const sample *s, int kind)
{
    (void)kind;
    p->node = ls_relu(input_x(p, s));
}

static void build_tanh(problem *p, const sample *s, int kind)
{
    (void)kind;
    p->node = ls_tanh(input_x(p, s));
}

static void build_sigmoid(problem *p, const sample *s, int kind)
{
    (void)kind;
    p->node = ls_sigmoid(input_x(p, s));
}

static void build_add(problem *p, const sample *s, int kind)
{
    (void)kind;
    p->node = ls_add(input_x(p, s), input(p, "b", LS_F32, s->rank, s->dim));
}

static void build_dropout(problem *p, const sample *s, int kind)
{
    (void)kind;
    p->node = ls_dropout(input_x(p, s), REF_RATE, "o");
}

static void build_bf16(problem *p, const sample *s, int kind)
{
    (void)kind;
    p->node = ls_round_bf16(input_x(p, s));
}

/* Windows of many sizes and strides; VALID ones only where they fit. */
static ls_window window_of(const sample *s, int kind)
{
    static const ls_window windows[] = {
        {3, 3, 1, 1, LS_SAME}, {1, 1, 0, 0, LS_VALID}, {2, 2, 2, 2, LS_SAME},
        {5, 3, 2, 1, LS_SAME}, {3, 2, 1, 3, LS_VALID}, {2, 5, 1, 2, LS_SAME},
        {3, 3, 2, 2, LS_VALID}, {1, 3, 1, 1, LS_CAUSAL},
        {2, 3, 2, 2, LS_CAUSAL}, {3, 1, 1, 3, LS_CAUSAL}};
    ls_window w = windows[(s - samples + 3 * kind) % 10];

    if (s->dim[0] < w.height || s->dim[1] < w.width)
        w.padding = LS_SAME;
    return w;
}

enum { POOLING = 32, GROUPS = 64, DEPTHWISE = 128 };

static const unsigned conv_kinds[] = {0,
                                      BIAS,
                                      BIAS | CURVED,
                                      BIAS | RESIDUAL,
                                      CURVED | RESIDUAL,
                                      BIAS | SLOPE,
                                      BIAS | CURVED | IS_PRE,
                                      BIAS | POOLING,
                                      BIAS | CURVED | POOLING,
                                      GROUPS | BIAS | CURVED | RESIDUAL,
                                      GROUPS | BIAS | SLOPE | POOLING,
                                      DEPTHWISE | BIAS | CURVED | RESIDUAL,
                                      DEPTHWISE | BIAS | SLOPE | POOLING};

/* A max pooling as the plan folds it in; a pooling's curve is a relu. */
static void fold_pooling(problem *p, ls_node *y, const sample *s, int kind)
{
    ls_window w = window_of(s, kind + 1);
    ls_node *pooled;

    if (y->shape[0] < w.height || y->shape[1] < w.width)
        w.padding = LS_SAME;
    pooled = ls_max_pool(y, w);
    ck_assert_ptr_nonnull(pooled);
    p->made = alone_pooled(y, pooled).in.made;
}

/* One with gaps between taps, and groups of channels. */
static ls_node *build_groups(ls_node *x, int64_t n, const ls_window *w,
                             unsigned asked)
{
    ls_conv_options o = ls_conv_defaults();
    int64_t c = ls__width(x);

    o.stride_y = w->stride_y;
    o.stride_x = w->stride_x;
    o.dilation_x = 2;
    o.groups = asked & DEPTHWISE ? c : c % 2 ? 1 : 2;
    return ls_conv2d_with(x, asked & DEPTHWISE ? c : n * o.groups, w->height,
                          w->width, &o, "c");
}

static void build_conv(problem *p, const sample *s, int kind)
{
    static const int64_t channels[] = {1, 2, 3, 7, 16, 17, 33, 5, 64, 31};
    int64_t n = channels[(s - samples + kind) % 10];
    ls__activation curve = LS__GELU + (s - samples) % 4;
    unsigned asked = conv_kinds[kind];
    ls_window w = window_of(s, kind);
    ls_node *x = input_x(p, s), *y;

    if (asked & (GROUPS | DEPTHWISE))
        y = build_groups(x, n, &w, asked);
    else
        y = asked & BIAS ? ls_conv2d(x, n, w, "c")
                         : conv2d_no_bias(x, n, w, "c");
    ck_assert_ptr_nonnull(y);
    if (asked & POOLING) {
        fold_pooling(p, y, s, kind);
        curve = LS__RELU;
    }
    p->node = y;
    take_in(p, asked, curve);
}

/* Pixels around the image, gaps, windows that hang over and what a mean
 * counts; where a window would hold nothing, the usual padding. */
static ls_pooling_options more_of_pooling(const sample *s, int kind)
{
    ls_window w = window_of(s, kind);
    ls_pooling_options o = ls_pooling_defaults();
    int64_t turn = s - samples + kind;

    o.stride_y = w.stride_y;
    o.stride_x = w.stride_x;
    o.exclude_padding = turn % 2;
    if (s->dim[0] < 6 || s->dim[1] < 6)
        return o;
    o.ceil_mode = true;
    o.padding = LS_EXPLICIT;
    o.dilation_x = 1 + turn % 3 % 2;
    o.top = w.height / 2;
    o.left = w.width / 2;
    o.bottom = turn % 2;
    o.right = turn % 5 % 2;
    return o;
}

static void build_max_pool(problem *p, const sample *s, int kind)
{
    ls_window w = window_of(s, kind);
    ls_pooling_options o = more_of_pooling(s, kind);

    p->node = kind < 3 ? ls_max_pool(input_x(p, s), w)
                       : ls_max_pool_with(input_x(p, s), w.height, w.width, &o);
}

static void build_avg_pool(problem *p, const sample *s, int kind)
{
    ls_window w = window_of(s, kind);
    ls_pooling_options o = more_of_pooling(s, kind);

    o.dilation_x = 1;
    p->node = kind < 3 ? ls_avg_pool(input_x(p, s), w)
                       : ls_avg_pool_with(input_x(p, s), w.height, w.width, &o);
}

static void build_flatten(problem *p, const sample *s, int kind)
{
    (void)kind;
    p->node = ls_flatten(input_x(p, s));
}

/* One group, and more of two channels or more each: those, of alternating
 * signs, are what keeps a variance from being tiny. */
static void build_group(problem *p, const sample *s, int kind)
{
    int64_t c = s->dim[s->rank - 1], groups = kind ? 2 : 1;

    while (2 * groups < c && c % groups)
        groups++;
    if (c % groups || c < 2 * groups)
        groups = 1;
    p->node = ls_group_norm_with(input_x(p, s), (int)groups, norm_options(kind),
                                 "g");
}

static void build_squared(problem *p, const sample *s, int kind)
{
    p->node = ls_mean_squared_error(input_x(p, s),
                                    input(p, "t", LS_F32, s->rank, s->dim));
    weigh(p, kind);
}

static void build_entropy(problem *p, const sample *s, int kind)
{
    p->node = ls_cross_entropy(input_x(p, s),
                               input(p, "t", LS_I32, s->rank - 1, s->dim));
    weigh(p, kind);
}

static void build_next(problem *p, const sample *s, int kind)
{
    p->node =
        ls_next_token_loss(input_x(p, s), input(p, "t", LS_I32, 1, s->dim));
    weigh(p, kind);
}

/* The constants of the terms that have some, for each kind. */
static const struct {
    int term;
    double by[2][2];
} constants_used[] = {
    {LS__SCALE, {{-0.75, 0.25}, {3, 0}}},
    {LS__CLAMP, {{-0.5, 2}, {-2, 0.5}}},
    {LS__POW, {{2.5, 0}, {-3, 0}}},
    {LS__LEAKY_RELU, {{0.25, 0}, {-1, 0}}},
    {LS__ELU, {{0.75, 0}, {1.5, 0}}}};

static void set_constants(ls_node *n, const double *by)
{
    const ls__attribute *a = n->op->file.attributes;

    for (int i = 0; a[i].name; i++)
        *(double *)ls__attribute_in(n, &a[i]) = by[i];
}

static void build_term(problem *p, const sample *s, int kind)
{
    ls_node *a = input_x(p, s), *b = NULL;

    if (p->op->inputs > 1)
        b = input(p, "b", LS_F32, s->rank, s->dim);
    p->node = ls__node_unnamed(p->op, a, b);
    for (size_t i = 0; i < sizeof constants_used / sizeof *constants_used; i++)
        if (p->node && constants_used[i].term == p->op->term)
            set_constants(p->node, constants_used[i].by[kind]);
    p->node = ls__node_done(p->node);
}

static void build_mean(problem *p, const sample *s, int kind)
{
    ls_node *x = input_x(p, s);

    p->node = ls_mean_loss(x, p->op->inputs > 1
                                  ? input(p, "w", LS_F32, s->rank, s->dim)
                                  : NULL);
    weigh(p, kind);
}

static void build_reshape(problem *p, const sample *s, int kind)
{
    ls_node *x = input_x(p, s);
    int64_t shape[4] = {1};

    for (int k = 0; k < s->rank; k++) /* backwards, and one axis more */
        shape[k + 1] = s->dim[s->rank - 1 - k];
    p->node = ls_reshape(x, kind ? s->rank + 1 : 1, kind ? shape : &x->size);
}

/* The last two axes; then the first becomes the last. */
static void build_transpose(problem *p, const sample *s, int kind)
{
    int axes[3];

    for (int k = 0; k < s->rank; k++)
        axes[k] = (k + 1) % s->rank;
    p->node = ls_transpose(input_x(p, s), kind ? axes : NULL);
}

/* About the middle half of an axis, each axis in turn. */
static void build_slice(problem *p, const sample *s, int kind)
{
    int axis = (int)(s - samples) % s->rank;
    int64_t n = s->dim[axis];

    p->node = ls_slice(input_x(p, s), kind ? axis - s->rank : axis, n / 3,
                       (n + 1) / 2);
}

/* The sample is the value; x lacks its first axis, or has one of them once. */
static void build_broadcast(problem *p, const sample *s, int kind)
{
    int64_t shape[3];
    int cut = s->rank && !kind;

    memcpy(shape, s->dim, sizeof shape);
    if (s->rank && kind)
        shape[(s - samples) % s->rank] = 1;
    p->node = ls_broadcast_to(input(p, "x", LS_F32, s->rank - cut, shape + cut),
                              s->rank, s->dim);
}

static void build_concat(problem *p, const sample *s, int kind)
{
    int axis = (int)(s - samples) % s->rank;
    int64_t shape[3];
    ls_node *x[2] = {input_x(p, s)};

    memcpy(shape, s->dim, sizeof shape);
    shape[axis] = 1 + (s - samples) % 4;
    x[1] = input(p, "b", LS_F32, s->rank, shape);
    p->node = ls_concat(x, 2, kind ? axis - s->rank : axis);
}

/* The last axis, the first, all of them. */
static void build_over(problem *p, const sample *s, int kind)
{
    static const int axes[] = {-1, 0};
    ls_node *x = input_x(p, s);

    p->node = p->op == &ls__op_sum
                  ? ls_sum_over(x, kind < 2, kind < 2 ? &axes[kind] : NULL)
                  : ls_max_over(x, kind < 2, kind < 2 ? &axes[kind] : NULL);
}

static void build_softmax(problem *p, const sample *s, int kind)
{
    (void)kind;
    p->node = p->op == &ls__op_softmax ? ls_softmax(input_x(p, s))
                                       : ls_log_softmax(input_x(p, s));
}

static void build_matmul(problem *p, const sample *s, int kind)
{
    static const int64_t widths[] = {1, 2, 3, 5, 7, 11, 17};
    int64_t shape[3];

    (void)kind;
    memcpy(shape, s->dim, sizeof shape);
    shape[s->rank - 2] = s->dim[s->rank - 1];
    shape[s->rank - 1] = widths[(s - samples) % 7];
    p->node = ls_matmul(input_x(p, s), input(p, "b", LS_F32, s->rank, shape));
}

static void build_one_hot(problem *p, const sample *s, int kind)
{
    (void)kind;
    p->node = ls_one_hot(input(p, "x", LS_I32, s->rank, s->dim), 7);
}

/* Build a gather of as many indices as there are vectors, under two shapes. */
static void build_gather(problem *p, const sample *s, int kind)
{
    int64_t shape[] = {1, s->dim[0]};

    p->node = ls_gather(input_x(p, s), input(p, "i", LS_I32, 1 + kind,
                                             shape + 1 - kind));
}

static void build_reverse(problem *p, const sample *s, int kind)
{
    ls_node *x = input_x(p, s);

    (void)kind;
    p->node = ls_reverse(x, p->op->inputs > 1 ? input(p, "lengths", LS_I32, 0,
                                                      NULL) : NULL);
}

/* The sample is (steps, units), units being few; without and with the state
 * after the last step, and with a bias. */
static void build_recurrent(problem *p, const sample *s, int kind)
{
    int64_t units = s->dim[1] > 40 ? 1 + s->dim[1] % 40 : s->dim[1];
    int of = ls__recurrent_kind(p->op), k = 1;
    int states = of & LS__IS_LSTM ? 2 : 1, gates = states + 2;
    int64_t state[] = {states, units};
    ls_node *in[3] = {input(p, "x", LS_F32, 2,
                            (int64_t[]){s->dim[0], gates * units})};

    if (of & LS__FROM)
        in[k++] = input(p, "state", LS_F32, states, state + 2 - states);
    if (of & LS__LENGTHS)
        in[k] = input(p, "lengths", LS_I32, 0, NULL);
    p->node = ls__node_new(p->op, "r", in[0], in[1], in[2]);
    *(bool *)ls__attribute_named(p->node, "ends") = kind & 1;
    /* a GRU's second; an LSTM has it */
    *(bool *)ls__attribute_named(p->node, "bias") = kind & 2;
    p->node = ls__node_done(p->node);
}

typedef struct row {
    const ls__op *op;
    void (*build)(problem *p, const sample *s, int kind);
    int kinds, least_rank, most_rank;
    int64_t least_t;    /* of the first axis */
    float scale, apart; /* x = scale random +- apart, sign in turn, and the
                           other way round in every second input */
    bool products;      /* has matrix products: bits need FMA */
    float shift;        /* added to x */
} row;

#define TERM(kind, kinds, scale, apart, shift) \
    {&ls__op_term[kind], build_term, kinds, 0, 3, 1, scale, apart, false, \
     shift},
#define RECURRENT(cell, kind) \
    &ls__op_##cell[kind], build_recurrent, 4, 2, 2, 1, 1.5f, 0, true, 0

/* clang-format off */
static const row rows[] = {
    {&ls__op_dense,         build_dense,     9, 1, 3, 1, 1, 0,    true, 0},
    {&ls__op_embed,         build_embed,     1, 1, 3, 1, 1, 0,    false, 0},
    {&ls__op_position,      build_position,  1, 2, 3, 1, 1, 0,    false, 0},
    {&ls__op_parameter,     build_parameter, 1, 1, 3, 1, 1, 0,    false, 0},
    {&ls__op_layer_norm,    build_norm,      3, 1, 3, 1, 1, 1.5f, false, 0},
    {&ls__op_rms_norm,      build_rms,       2, 1, 3, 1, 1, 1.5f, false, 0},
    {&ls__op_batch_norm,    build_batch,     2, 1, 3, 1, 1, 1.5f, false, 0},
    {&ls__op_rotary,        build_rotary,    3, 2, 2, 1, 1, 0,    false, 0},
    {&ls__op_attention,     build_attention, 6, 2, 2, 1, 1.5f, 0, true, 0},
    {&ls__op_gelu,          build_gelu,      1, 0, 3, 1, 6, 0,    false, 0},
    {&ls__op_relu,          build_relu,      1, 0, 3, 1, 0.9f, 1, false, 0},
    {&ls__op_tanh,          build_tanh,      1, 0, 3, 1, 3, 0,    false, 0},
    {&ls__op_sigmoid,       build_sigmoid,   1, 0, 3, 1, 6, 0,    false, 0},
    {&ls__op_add,           build_add,       1, 0, 3, 1, 1, 0,    false, 0},
    {&ls__op_conv,          build_conv,     13, 3, 3, 1, 1, 0,    true, 0},
    {&ls__op_max_pool,      build_max_pool,  5, 3, 3, 1, 1, 0,    false, 0},
    {&ls__op_avg_pool,      build_avg_pool,  5, 3, 3, 1, 1, 0,    false, 0},
    {&ls__op_flatten,       build_flatten,   1, 0, 3, 1, 1, 0,    false, 0},
    {&ls__op_group_norm,    build_group,     3, 1, 3, 1, 1, 1.5f, false, 0},
    {&ls__op_squared_error, build_squared,   2, 0, 3, 1, 1, 0,    false, 0},
    {&ls__op_cross_entropy, build_entropy,   2, 1, 3, 1, 5, 0,    false, 0},
    {&ls__op_next_token,    build_next,      2, 2, 2, 2, 5, 0,    false, 0},
    {&ls__op_dropout,       build_dropout,   1, 0, 3, 1, 1, 0,    false, 0},
    {&ls__op_round_bf16,    build_bf16,      1, 0, 3, 1, 1, 0,    false, 0},
    {&ls__op_reshape,       build_reshape,   2, 0, 3, 1, 1, 0,    false, 0},
    {&ls__op_transpose,     build_transpose, 2, 2, 3, 1, 1, 0,    false, 0},
    {&ls__op_slice,         build_slice,     2, 1, 3, 1, 1, 0,    false, 0},
    {&ls__op_broadcast,     build_broadcast, 2, 0, 3, 1, 1, 0,    false, 0},
    {&ls__op_concat,        build_concat,    2, 1, 3, 1, 1, 0,    false, 0},
    {&ls__op_sum,           build_over,      3, 1, 3, 1, 1, 0,    false, 0},
    {&ls__op_max_over,      build_over,      3, 1, 3, 1, 1, 0,    false, 0},
    {&ls__op_softmax,       build_softmax,   1, 1, 3, 1, 5, 0,    false, 0},
    {&ls__op_log_softmax,   build_softmax,   1, 1, 3, 1, 5, 0,    false, 0},
    {&ls__op_matmul,        build_matmul,    1, 2, 3, 1, 1, 0,    true,  0},
    {&ls__op_one_hot,       build_one_hot,   1, 0, 3, 1, 1, 0,    false, 0},
    {&ls__op_gather,        build_gather,    2, 1, 3, 1, 1, 0,    false, 0},
    {&ls__op_mean_loss,     build_mean,      2, 0, 3, 1, 1, 0,    false, 1.5f},
    {&ls__op_weighted_loss, build_mean,      2, 0, 3, 1, 1, 0,    false, 1.5f},
    {&ls__op_sparse_dense,  build_bag,       2, 1, 3, 1, 1, 0,    true, 0},
    {&ls__op_sparse_dense_values, build_bag, 2, 1, 3, 1, 1, 0,    true, 0},
    {&ls__op_embed_bag,     build_bag,       2, 1, 3, 1, 1, 0,    true, 0},
    {&ls__op_reverse[0],    build_reverse,   1, 1, 3, 1, 1, 0,    false, 0},
    {&ls__op_reverse[1],    build_reverse,   1, 1, 3, 1, 1, 0,    false, 0},
    {RECURRENT(lstm, 0)}, {RECURRENT(lstm, 1)}, {RECURRENT(lstm, 2)},
    {RECURRENT(lstm, 3)}, {RECURRENT(gru, 0)}, {RECURRENT(gru, 1)},
    {RECURRENT(gru, 2)}, {RECURRENT(gru, 3)},
    TERM_RANGES(TERM)};
/* clang-format on */
enum { ROWS = sizeof rows / sizeof *rows };

static bool fits(const row *o, const sample *s)
{
    return s->rank >= o->least_rank && s->rank <= o->most_rank &&
           (s->rank < 2 || s->dim[0] >= o->least_t);
}

/* Elements of a group of a group norm. */
static int64_t of_group(const ls_node *n)
{
    return n->size / integer_of(n, "groups");
}

/* A comparison, or a half of ls_where, which give a condition no gradient. */
static bool is_choice(const ls__op *op)
{
    return op->term >= LS__LESS && op->term <= LS__KEEP_ELSE;
}

/* Gradients that are zero, or nearly so, whatever the input: `which` counts
 * inputs and then parameters. */
static bool vanishes(const problem *p, int which)
{
    const ls_node *n = p->node;
    int64_t width = n->in[0] ? ls__width(n->in[0]) : 0;
    int term = n->op->term;

    if (is_choice(n->op)) /* no numbers are equal, or 0, here */
        return which < LS__MAX_INPUTS ? which || term != LS__KEEP
                                      : term == LS__EQUAL ||
                                            term == LS__KEEP_ELSE;

    if (n->op == &ls__op_layer_norm)
        return (which == 0 && width <= 2) || /* x / |x|, shifted */
               (which == LS__MAX_INPUTS && width == 1);
    if (n->op == &ls__op_rms_norm)
        return which == 0 && width == 1; /* x / |x| */
    if (n->op == &ls__op_group_norm)
        return (which == 0 && of_group(n) <= 2) ||
               (which == LS__MAX_INPUTS && of_group(n) == 1);
    if (n->op == &ls__op_attention)
        return which < 2 && n->shape[0] == 1; /* nowhere else to look */
    if (ls__recurrent_kind(n->op)) /* a state of zeros */
        return which == LS__MAX_INPUTS && ls__recurrent_from(n) < 0 &&
               n->in[0]->shape[0] == 1;
    if (n->op == &ls__op_softmax)
        return width == 1 && which == 0;
    if (n->op == &ls__op_log_softmax)
        return width == 1;
    if (n->op == &ls__op_cross_entropy || n->op == &ls__op_next_token)
        return width == 1; /* only one answer */
    return false;
}

static ls__activation curve_of(const problem *p)
{
    const ls__product_made *m = p->made;

    return m ? m->activation : LS__NO_ACTIVATION;
}

/* Does dy come through its own slope? */
static inline bool is_pre(const problem *p)
{
    const ls__product_made *m = p->made;

    return m && m->dy_is_pre;
}

static bool is_pooled(const problem *p)
{
    const ls__conv_made *m = p->made;

    return p->node->op == &ls__op_conv && m && m->pooled;
}

/* Do lengths leave less than half of all steps, or of a row or two? */
static bool few_steps(const problem *p)
{
    const double *length = p->xd[p->op->inputs - 1];
    double sum = 0, steps = (double)p->node->in[0]->shape[0];

    for (int64_t i = 0; i < p->rows; i++)
        sum += length[i];
    return sum < 0.5 * steps * (double)p->rows || sum < 3;
}

/* A relu may well make a few numbers all zero, dropout too; a max pooling
 * leaves most of its input without a gradient, and most of a window may be
 * outside an image. */
static bool may_be_zero(const problem *p)
{
    const ls_node *n = p->node, *x = n->in[0];

    if (ls__recurrent_lengths(n) >= 0)
        return few_steps(p);
    if (n->op == &ls__op_max_pool || is_pooled(p) ||
        n->op == &ls__op_max_over || n->op == &ls__op_gather ||
        (n->op == &ls__op_conv &&
         ((ls__window_of(n)->kh - 1) * ls__window_of(n)->dy >= x->shape[0] ||
          (ls__window_of(n)->kw - 1) * ls__window_of(n)->dx >= x->shape[1])))
        return true;
    return p->ny < 32 &&
           (n->op == &ls__op_relu || n->op == &ls__op_dropout ||
            n->op->term == LS__CLAMP || n->op->term == LS__MIN ||
            n->op->term == LS__MAX ||
            curve_of(p) == LS__RELU);
}

/* ------ Making it ------ */

/* Every fifth place of a bag has no index. */
static void empty_places(int64_t n, int32_t *x)
{
    for (int64_t i = 3; i < n; i += 5)
        x[i] = i % 2 ? -1 : -100;
}

static void make_input(problem *p, const row *o, int k)
{
    const ls_node *x = p->node->in[k];
    int64_t n = p->nx[k] = p->rows * x->size;

    if (x->dtype == LS_I32) {
        p->x[k] = fenced(n);
        fill_indices(k, n, x->limit, (int32_t *)(void *)p->x[k]);
        if (ls__is_bag(p->op))
            empty_places(n, (int32_t *)(void *)p->x[k]);
    } else {
        p->x[k] = uniform(k, n);
        for (int64_t i = 0; i < n; i++)
            p->x[k][i] = p->x[k][i] * o->scale + o->shift +
                         ((i + k) % 2 ? o->apart : -o->apart);
        p->addend[k] = uniform(10 + k, n);
    }
    p->xd[k] = doubles(n, p->x[k], x->dtype);
    p->dxd[k] = doubles(n, NULL, LS_F32);
}

static int64_t fan_in_of(const ls_node *n, const ls__param *q)
{
    return ls__is_transposed(n) ? ls__width(n->in[0]) : q->fan_in;
}

/* Weights are as large as training has it: sums over it are near 1, where
 * activations bend. */
static void make_param(problem *p, int k)
{
    const ls__param *q = p->graph->params[p->node->param[k]];
    float by = q->init == LS__INIT_LECUN_NORMAL ||
                       ls__is_transposed(p->node) ? 3
               : q->init == LS__INIT_ORTHOGONAL ? 1.5f
                                                : 0;

    by = by > 0 ? by / __builtin_sqrtf((float)fan_in_of(p->node, q)) : 1;
    p->np[k] = q->size;
    p->param[k] = uniform(20 + k, q->size);
    for (int64_t i = 0; i < q->size; i++)
        p->param[k][i] *= by;
    if (q->is_stored && q->init == LS__INIT_ONES) /* a variance */
        for (int64_t i = 0; i < q->size; i++)
            p->param[k][i] += 1.5f;
    p->prior[k] = uniform(25 + k, q->size);
    p->pd[k] = doubles(q->size, p->param[k], LS_F32);
    p->dpd[k] = doubles(q->size, NULL, LS_F32);
}

static problem make_problem(const row *o, const sample *s, int kind)
{
    problem p = {.op = o->op, .rows = s->rows, .ref = reference_of(o->op)};

    ck_assert_ptr_nonnull(p.ref);
    ck_assert_int_eq(ls_graph_new(&p.graph), 0);
    o->build(&p, s, kind);
    ck_assert_msg(p.node != NULL, "%s: %s", o->op->name, ls_errmsg());
    p.inputs = ls__inputs_of(p.node);
    for (int k = 0; k < p.inputs; k++)
        make_input(&p, o, k);
    for (int k = 0; k < p.node->params; k++)
        make_param(&p, k);
    p.ny = o->op->is_loss ? 1 : p.rows * p.node->size;
    p.yd = doubles(p.ny, NULL, LS_F32);
    p.dy = o->op->is_loss ? NULL : uniform(30, p.ny);
    p.dyd = p.dy ? doubles(p.ny, p.dy, LS_F32) : NULL;
    p.h = uniform(31, p.nx[0]);
    return p;
}

static void free_problem(problem *p)
{
    for (int k = 0; k < LS__MAX_INPUTS; k++) {
        free(p->xd[k]);
        free(p->dxd[k]);
    }
    for (int k = 0; k < LS__MAX_PARAMS; k++) {
        free(p->pd[k]);
        free(p->dpd[k]);
    }
    free(p->yd);
    free(p->dyd);
    ls_graph_free(p->graph);
    fences_free();
}

#endif
