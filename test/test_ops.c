/* Every operator of the table, on shapes with ones, primes and 2^n +- 1.
 *
 * An operator runs alone, through an ls__run, and is compared
 *     to reference.h, in double: values and gradients;
 *     that reference to central differences of itself;
 *     to itself, byte for byte: with and without addends, with dx written over
 *     what its struct allows, on every instruction level and on BLIS.
 * Arrays end where memory ends and begin as NaN; what the operator says that it
 * does not read is NaN too.  An array that is nearly all zeros fails, except
 * where mathematics wants it so (vanishes).  Each operator gets 200 shapes and
 * more: those chosen below, and as many of each rank whose extents are 1 and
 * primes. */
#include "backend/backend.h"
#include "backends.h"
#include "base/fpmode.h"
#include "op/layer.h"
#include "reference.h"
#include "support.h"

#include <stdio.h>

enum { MOST_ARRAYS = LS__MAX_INPUTS + LS__MAX_PARAMS };

/* ------ Shapes ------ */

typedef struct sample {
    int64_t rows;
    int rank;
    int64_t dim[3];
} sample;

/* clang-format off */
static const sample chosen[] = {
    {1, 0, {0}}, {17, 0, {0}}, {257, 0, {0}},
    {3, 1, {1}}, {5, 1, {2}}, {1, 1, {3}}, {7, 1, {5}}, {2, 1, {7}},
    {9, 1, {8}}, {3, 1, {15}}, {4, 1, {16}}, {5, 1, {17}}, {13, 1, {31}},
    {1, 1, {32}}, {2, 1, {33}}, {3, 1, {63}}, {1, 1, {64}}, {2, 1, {65}},
    {3, 1, {127}}, {1, 1, {128}}, {2, 1, {129}}, {2, 1, {255}},
    {3, 1, {257}}, {255, 1, {3}}, {256, 1, {5}}, {257, 1, {2}},
    {513, 1, {17}}, {300, 1, {70}}, {600, 1, {1}}, {1, 1, {4095}},
    {2, 1, {4097}}, {1, 1, {8191}}, {1, 1, {8193}},
    {1, 2, {1, 1}}, {2, 2, {1, 8}}, {3, 2, {2, 6}}, {2, 2, {3, 4}},
    {5, 2, {2, 1}}, {1, 2, {5, 12}}, {2, 2, {7, 15}}, {3, 2, {8, 16}},
    {1, 2, {15, 33}}, {2, 2, {16, 24}}, {2, 2, {17, 32}}, {1, 2, {31, 9}},
    {1, 2, {64, 64}}, {2, 2, {65, 20}}, {5, 2, {13, 30}}, {1, 2, {127, 10}},
    {3, 2, {129, 6}}, {1, 2, {257, 8}}, {2, 2, {300, 4}}, {171, 2, {3, 2}},
    {1, 2, {2, 4097}},
    {1, 3, {1, 1, 1}}, {2, 3, {2, 3, 4}}, {3, 3, {5, 1, 7}},
    {1, 3, {16, 17, 3}}, {7, 3, {3, 11, 13}}, {2, 3, {8, 8, 1}},
    {1, 3, {2, 300, 2}}, {1, 3, {4, 5, 65}}, {2, 3, {7, 9, 17}},
    {2, 3, {13, 6, 33}}};
/* clang-format on */
enum { CHOSEN = sizeof chosen / sizeof *chosen, OF_RANK = 200 };
enum { SAMPLES = CHOSEN + 4 * OF_RANK };

static sample samples[SAMPLES];

static void make_samples(void)
{
    static const int64_t extents[] = {1, 2, 3, 5, 7, 11, 13, 17, 19, 23};
    static const int64_t at_most[] = {1, 10, 8, 5}; /* of them, by rank */
    int32_t drawn[4];

    memcpy(samples, chosen, sizeof chosen);
    for (int i = CHOSEN; i < SAMPLES; i++) {
        sample *s = &samples[i];

        s->rank = (i - CHOSEN) / OF_RANK;
        ls_random_randint(ls_key_new(i), 0, 4, 0, 1 << 20, drawn);
        s->rows = s->rank ? 1 + drawn[3] % 7 : 1 + (i - CHOSEN);
        for (int k = 0; k < s->rank; k++)
            s->dim[k] = extents[drawn[k] % at_most[s->rank]];
    }
}

/* The chosen shapes are tried with every kind of an operator, the others with
 * one each. */
static bool has_turn(int i, int kind, int kinds)
{
    return i < CHOSEN || i % kinds == kind;
}

/* ------ A problem: an operator with everything it is given ------ */

typedef struct problem {
    ls_graph *graph;
    const ls__op *op;
    ls_node *node;
    const reference *ref;
    int64_t rows;
    int inputs; /* with a dense's residual */
    bool through_slope;
    bool dy_is_pre;
    float *x[LS__MAX_INPUTS], *param[LS__MAX_PARAMS];
    float *dy, *addend[LS__MAX_INPUTS], *h;
    float *prior[LS__MAX_PARAMS]; /* what `add` adds to */
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
    int64_t n = widths[(s - samples) % 12], shape[LS_MAX_RANK];
    ls__activation curve = LS__GELU + (s - samples) % 4; /* each in turn */
    unsigned asked = dense_kinds[kind];
    ls_node *x = input_x(p, s), *y;

    if (asked & TURNED)
        tie_to_table(p, n, ls__width(x));
    y = asked & BIAS ? ls_dense(x, n, "d") : ls_dense_no_bias(x, n, "d");
    ck_assert_ptr_nonnull(y);
    if (asked & RESIDUAL) {
        y->residual = true;
        y->in[1] = input(p, "r", LS_F32, ls_node_shape(y, shape), y->shape);
    }
    y->activation = asked & CURVED ? curve : LS__NO_ACTIVATION;
    p->through_slope = asked & SLOPE;
    p->dy_is_pre = asked & IS_PRE;
    p->node = y;
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

static void build_position(problem *p, const sample *s, int kind)
{
    (void)kind;
    p->node = ls_position(input_x(p, s), "p");
}

static void build_norm(problem *p, const sample *s, int kind)
{
    (void)kind;
    p->node = ls_layer_norm(input_x(p, s), "n");
}

static void build_rms(problem *p, const sample *s, int kind)
{
    p->node = ls_rms_norm(input_x(p, s), kind ? 0.0625 : 1e-6, "n");
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
        input(p, "v", LS_F32, 2, kv), heads, kind % 2, "a");
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

enum { POOLING = 32 };

static const unsigned conv_kinds[] = {0,
                                      BIAS,
                                      BIAS | CURVED,
                                      BIAS | RESIDUAL,
                                      CURVED | RESIDUAL,
                                      BIAS | SLOPE,
                                      BIAS | CURVED | IS_PRE,
                                      BIAS | POOLING,
                                      BIAS | CURVED | POOLING};

/* A max pooling as the plan folds it in; a pooling's curve is a relu. */
static void fold_pooling(problem *p, ls_node *y, const sample *s, int kind)
{
    ls_window w = window_of(s, kind + 1);
    ls_node *pooled;

    if (y->shape[0] < w.height || y->shape[1] < w.width)
        w.padding = LS_SAME;
    pooled = ls_max_pool(y, w);
    ck_assert_ptr_nonnull(pooled);
    y->pooled = true;
    y->pooling = pooled->window;
    y->size = pooled->size;
    memcpy(y->shape, pooled->shape, sizeof y->shape);
    (void)p;
}

static void build_conv(problem *p, const sample *s, int kind)
{
    static const int64_t channels[] = {1, 2, 3, 7, 16, 17, 33, 5, 64, 31};
    int64_t n = channels[(s - samples + kind) % 10], shape[LS_MAX_RANK];
    ls__activation curve = LS__GELU + (s - samples) % 4;
    unsigned asked = conv_kinds[kind];
    ls_window w = window_of(s, kind);
    ls_node *x = input_x(p, s), *y;

    y = asked & BIAS ? ls_conv2d(x, n, w, "c") : ls_conv2d_no_bias(x, n, w,
                                                                    "c");
    ck_assert_ptr_nonnull(y);
    if (asked & RESIDUAL) {
        y->residual = true;
        y->in[1] = input(p, "r", LS_F32, ls_node_shape(y, shape), y->shape);
    }
    if (asked & POOLING) {
        fold_pooling(p, y, s, kind);
        curve = LS__RELU;
    }
    y->activation = asked & CURVED ? curve : LS__NO_ACTIVATION;
    p->through_slope = asked & SLOPE;
    p->dy_is_pre = asked & IS_PRE;
    p->node = y;
}

static void build_max_pool(problem *p, const sample *s, int kind)
{
    p->node = ls_max_pool(input_x(p, s), window_of(s, kind));
}

static void build_avg_pool(problem *p, const sample *s, int kind)
{
    p->node = ls_avg_pool(input_x(p, s), window_of(s, kind));
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
    p->node = ls_group_norm(input_x(p, s), (int)groups, "g");
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

static void build_term(problem *p, const sample *s, int kind)
{
    ls_node *a = input_x(p, s), *b = NULL;

    if (p->op->inputs > 1)
        b = input(p, "b", LS_F32, s->rank, s->dim);
    p->node = ls__node_unnamed(p->op, a, b);
    for (size_t i = 0; i < sizeof constants_used / sizeof *constants_used; i++)
        if (p->node && constants_used[i].term == p->op->term)
            memcpy(p->node->by, constants_used[i].by[kind],
                   sizeof p->node->by);
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

/* As many indices as there are vectors, under two shapes. */
static void build_gather(problem *p, const sample *s, int kind)
{
    int64_t shape[] = {1, s->dim[0]};

    p->node = ls_gather(input_x(p, s), input(p, "i", LS_I32, 1 + kind,
                                             shape + 1 - kind));
}

/* The sample is (steps, units), units being few; without and with the state
 * after the last step. */
static void build_recurrent(problem *p, const sample *s, int kind)
{
    int64_t units = s->dim[1] > 40 ? 1 + s->dim[1] % 40 : s->dim[1];
    int states = p->op->recurrent & 4 ? 2 : 1, gates = states + 2, k = 1;
    int64_t state[] = {states, units};
    ls_node *in[3] = {input(p, "x", LS_F32, 2,
                            (int64_t[]){s->dim[0], gates * units})};

    if (p->op->recurrent & 1)
        in[k++] = input(p, "state", LS_F32, states, state + 2 - states);
    if (p->op->recurrent & 2)
        in[k] = input(p, "lengths", LS_I32, 0, NULL);
    p->node = ls__node_new(p->op, "r", in[0], in[1], in[2]);
    p->node->ends = kind;
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

#define TERM(kind) &ls__op_term[kind], build_term
#define RECURRENT(cell, kind) \
    &ls__op_##cell[kind], build_recurrent, 2, 2, 2, 1, 1.5f, 0, true, 0

/* clang-format off */
static const row rows[] = {
    {&ls__op_dense,         build_dense,     9, 1, 3, 1, 1, 0,    true, 0},
    {&ls__op_embed,         build_embed,     1, 1, 3, 1, 1, 0,    false, 0},
    {&ls__op_position,      build_position,  1, 2, 3, 1, 1, 0,    false, 0},
    {&ls__op_layer_norm,    build_norm,      1, 1, 3, 1, 1, 1.5f, false, 0},
    {&ls__op_rms_norm,      build_rms,       2, 1, 3, 1, 1, 1.5f, false, 0},
    {&ls__op_rotary,        build_rotary,    3, 2, 2, 1, 1, 0,    false, 0},
    {&ls__op_attention,     build_attention, 6, 2, 2, 1, 1.5f, 0, true, 0},
    {&ls__op_gelu,          build_gelu,      1, 0, 3, 1, 6, 0,    false, 0},
    {&ls__op_relu,          build_relu,      1, 0, 3, 1, 0.9f, 1, false, 0},
    {&ls__op_tanh,          build_tanh,      1, 0, 3, 1, 3, 0,    false, 0},
    {&ls__op_sigmoid,       build_sigmoid,   1, 0, 3, 1, 6, 0,    false, 0},
    {&ls__op_add,           build_add,       1, 0, 3, 1, 1, 0,    false, 0},
    {&ls__op_conv,          build_conv,      9, 3, 3, 1, 1, 0,    true, 0},
    {&ls__op_max_pool,      build_max_pool,  3, 3, 3, 1, 1, 0,    false, 0},
    {&ls__op_avg_pool,      build_avg_pool,  3, 3, 3, 1, 1, 0,    false, 0},
    {&ls__op_flatten,       build_flatten,   1, 0, 3, 1, 1, 0,    false, 0},
    {&ls__op_group_norm,    build_group,     2, 1, 3, 1, 1, 1.5f, false, 0},
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
    {RECURRENT(lstm, 0)}, {RECURRENT(lstm, 1)}, {RECURRENT(lstm, 2)},
    {RECURRENT(lstm, 3)}, {RECURRENT(gru, 0)}, {RECURRENT(gru, 1)},
    {RECURRENT(gru, 2)}, {RECURRENT(gru, 3)},
    {TERM(LS__SUB),                          1, 0, 3, 1, 1, 0,    false, 0},
    {TERM(LS__MUL),                          1, 0, 3, 1, 1, 0,    false, 0},
    {TERM(LS__DIV),                          1, 0, 3, 1, 1, 1.5f, false, 0},
    {TERM(LS__MIN),                          1, 0, 3, 1, 0.9f, 1, false, 0},
    {TERM(LS__MAX),                          1, 0, 3, 1, 0.9f, 1, false, 0},
    {TERM(LS__SCALE),                        2, 0, 3, 1, 1, 0,    false, 0},
    {TERM(LS__SQUARE),                       1, 0, 3, 1, 1, 0,    false, 0},
    {TERM(LS__SQRT),                         1, 0, 3, 1, 1, 0,    false, 1.5f},
    {TERM(LS__EXP),                          1, 0, 3, 1, 3, 0,    false, 0},
    {TERM(LS__LOG),                          1, 0, 3, 1, 1, 0,    false, 1.5f},
    {TERM(LS__ABS),                          1, 0, 3, 1, 0.9f, 1, false, 0},
    {TERM(LS__CLAMP),                        2, 0, 3, 1, 0.4f, 1, false, 0},
    {TERM(LS__POW),                          2, 0, 3, 1, 1, 0,    false, 1.5f},
    {TERM(LS__LEAKY_RELU),                   2, 0, 3, 1, 0.9f, 1, false, 0},
    {TERM(LS__ELU),                          2, 0, 3, 1, 0.9f, 1, false, 0},
    {TERM(LS__SOFTPLUS),                     1, 0, 3, 1, 6, 0,    false, 0},
    {TERM(LS__SILU),                         1, 0, 3, 1, 6, 0,    false, 0},
    {TERM(LS__BINARY_ENTROPY),               1, 0, 3, 1, 3, 0,    false, 0},
    {TERM(LS__DIVERGENCE),                   1, 0, 3, 1, 1, 0,    false, 1.5f}};
/* clang-format on */
enum { ROWS = sizeof rows / sizeof *rows };

static bool fits(const row *o, const sample *s)
{
    return s->rank >= o->least_rank && s->rank <= o->most_rank &&
           (s->rank < 2 || s->dim[0] >= o->least_t);
}

/* Gradients that are zero, or nearly so, whatever the input: `which` counts
 * inputs and then parameters. */
static bool vanishes(const problem *p, int which)
{
    const ls_node *n = p->node;
    int64_t width = ls__width(n->in[0]);

    if (n->op == &ls__op_layer_norm)
        return (which == 0 && width <= 2) || /* x / |x|, shifted */
               (which == LS__MAX_INPUTS && width == 1);
    if (n->op == &ls__op_rms_norm)
        return which == 0 && width == 1; /* x / |x| */
    if (n->op == &ls__op_group_norm)
        return (which == 0 && n->size / n->groups <= 2) ||
               (which == LS__MAX_INPUTS && n->size / n->groups == 1);
    if (n->op == &ls__op_attention)
        return which < 2 && n->shape[0] == 1; /* nowhere else to look */
    if (n->op->recurrent) /* a state of zeros */
        return which == LS__MAX_INPUTS && !(n->op->recurrent & 1) &&
               n->in[0]->shape[0] == 1;
    if (n->op == &ls__op_softmax)
        return width == 1 && which == 0;
    if (n->op == &ls__op_log_softmax)
        return width == 1;
    if (n->op == &ls__op_cross_entropy || n->op == &ls__op_next_token)
        return width == 1; /* only one answer */
    return false;
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

    if (n->op->recurrent & 2)
        return few_steps(p);
    if (n->op == &ls__op_max_pool || n->pooled ||
        n->op == &ls__op_max_over || n->op == &ls__op_gather ||
        (n->op == &ls__op_conv && (n->window.kh > x->shape[0] ||
                                   n->window.kw > x->shape[1])))
        return true;
    return p->ny < 32 &&
           (n->op == &ls__op_relu || n->op == &ls__op_dropout ||
            n->op->term == LS__CLAMP || n->op->term == LS__MIN ||
            n->op->term == LS__MAX ||
            n->activation == LS__RELU);
}

/* ------ Making it ------ */

static void make_input(problem *p, const row *o, int k)
{
    const ls_node *x = p->node->in[k];
    int64_t n = p->nx[k] = p->rows * x->size;

    if (x->dtype == LS_I32) {
        p->x[k] = fenced(n);
        fill_indices(k, n, x->limit, (int32_t *)(void *)p->x[k]);
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
    return n->transposed ? ls__width(n->in[0]) : q->fan_in;
}

/* Weights are as large as training has it: sums over it are near 1, where
 * activations bend. */
static void make_param(problem *p, int k)
{
    const ls__param *q = p->graph->params[p->node->param[k]];
    float by = q->init == LS__INIT_LECUN_NORMAL ||
                       p->node->transposed ? 3
               : q->init == LS__INIT_ORTHOGONAL ? 1.5f
                                                : 0;

    by = by > 0 ? by / __builtin_sqrtf((float)fan_in_of(p->node, q)) : 1;
    p->np[k] = q->size;
    p->param[k] = uniform(20 + k, q->size);
    for (int64_t i = 0; i < q->size; i++)
        p->param[k][i] *= by;
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
    if (o->op->table)
        p.node->table = o->op->table(p.node, &p.graph->arena);
    p.inputs = o->op->inputs + p.node->residual;
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

/* ------ What is right ------ */

static ref ref_of(const problem *p)
{
    ref r = {.node = p->node,
             .rows = p->rows,
             .weights = p->weights,
             .y = p->yd,
             .dy = p->dyd};

    memcpy(r.x, p->xd, sizeof r.x);
    memcpy(r.param, p->pd, sizeof r.param);
    memcpy(r.dx, p->dxd, sizeof r.dx);
    memcpy(r.dparam, p->dpd, sizeof r.dparam);
    return r;
}

static void make_right(problem *p)
{
    ref r = ref_of(p);
    ls__activation activation = p->node->activation;

    p->ref->forward(&r);
    if (p->dy_is_pre)
        p->node->activation = LS__NO_ACTIVATION;
    p->ref->backward(&r);
    p->node->activation = activation;
    for (int64_t i = 0; p->through_slope && i < p->nx[0]; i++)
        p->dxd[0][i] *= (double)p->h[i];
}

static double dot(int64_t n, const double *a, const double *b)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* sum of dy y, or the loss, with x moved by h along d. */
static double moved(const problem *p, int64_t n, double *x, const double *d,
                    double h)
{
    ref r = ref_of(p);
    double sum;

    for (int64_t i = 0; i < n; i++)
        x[i] += h * d[i];
    p->ref->forward(&r);
    sum = p->dyd ? dot(p->ny, p->dyd, p->yd) : p->yd[0];
    for (int64_t i = 0; i < n; i++)
        x[i] -= h * d[i];
    return sum;
}

/* The gradient g by x, along a random direction, is the slope of the value. */
static void check_slope(const problem *p, int which, int64_t n, double *x,
                        const double *g)
{
    const double h = fmin(1e-4, 1e-3 / sqrt((double)n));
    float *along = uniform(40 + which, n);
    double *d = doubles(n, along, LS_F32);
    double by_g = dot(n, g, d), size = sqrt(dot(n, g, g));
    double slope = (moved(p, n, x, d, h) - moved(p, n, x, d, -h)) / (2 * h);

    ck_assert_msg(fabs(slope - by_g) <= 1e-6 * (vanishes(p, which) ? 1 : size),
                  "%s: the reference's gradient %d is %.9g along a direction, "
                  "differences say %.9g",
                  p->node->op->name, which, by_g, slope);
    free(d);
}

static void check_reference(const problem *p)
{
    for (int k = 0; k < p->inputs; k++)
        if (p->node->in[k]->dtype == LS_F32)
            check_slope(p, k, p->nx[k], p->xd[k], p->dxd[k]);
    for (int k = 0; k < p->node->params; k++)
        check_slope(p, LS__MAX_INPUTS + k, p->np[k], p->pd[k], p->dpd[k]);
}

/* ------ Running ------ */

typedef struct machine {
    const ls__kernel_table *kernels;
    ls__backend backend;
} machine;

static machine machine_of(const ls__kernel_table *k)
{
    return (machine){k, k->native[LS_F32_LAYERS]};
}

typedef enum place { FRESH, OVER_ADDEND, OVER_DY, OVER_X } place;

typedef struct mode {
    place place; /* where dx is written */
    bool addend, add, no_dx;
} mode;

typedef struct outputs {
    float *y, *dx[LS__MAX_INPUTS], *dparam[LS__MAX_PARAMS];
    ls_sums sums, forward_sums;
} outputs;

static float *copy_of(int64_t n, const float *x)
{
    return memcpy(fenced(n), x, (size_t)n * sizeof *x);
}

static const float *packed(const problem *p, const machine *m, bool transposed)
{
    int64_t in = ls__width(p->node->in[0]), out = ls__width(p->node);
    int64_t k = transposed ? out : in, n = transposed ? in : out;
    bool turned;
    float *to;

    if (!p->node->op->is_product || !m->backend.products->pack)
        return NULL;
    if (p->node->op == &ls__op_conv) {
        ls__conv_weights of = {p->node->window.kh, p->node->window.kw, in, out,
                               transposed};

        to = fenced(m->backend.convs->packed_size(&of));
        m->backend.convs->pack(&of, p->param[0], to);
        return to;
    }
    to = fenced(m->backend.products->packed_size(k, n));
    turned = transposed != p->node->transposed; /* both: as they stand */
    m->backend.products->pack(k, n, p->param[0], turned ? 1 : n,
                              turned ? k : 1, to);
    return to;
}

static float *scratch(const problem *p, const machine *m)
{
    const ls__op *op = p->node->op;

    return op->scratch ? fenced(op->scratch(p->node, p->rows, &m->backend))
                       : NULL;
}

static ls__run start(const problem *p, const machine *m, outputs *o)
{
    const ls__op *op = p->node->op;
    ls__run r = {.node = p->node,
                 .rows = p->rows,
                 .weights = p->weights,
                 .backend = &m->backend,
                 .kernels = m->kernels,
                 .sums = &o->forward_sums,
                 .train = true,
                 .key = REF_KEY,
                 .first = REF_FIRST,
                 .scratch = scratch(p, m)};

    for (int k = 0; k < p->inputs; k++)
        r.x[k] = p->x[k];
    for (int k = 0; k < p->node->params; k++)
        r.param[k] = p->param[k];
    for (int k = 0; k < 2; k++)
        r.packed[k] = packed(p, m, k);
    r.y = o->y = op->is_loss ? NULL : fenced(p->ny);
    r.stash = op->stash ? fenced(p->rows * op->stash(p->node)) : NULL;
    return r;
}

/* The memory that dx[k] is written to, which may be an operand's copy. */
static float *dx_place(const problem *p, ls__run *r, const mode *how, int k)
{
    float *dx;

    if (how->place == OVER_ADDEND) {
        r->addend[k] = dx = copy_of(p->nx[k], p->addend[k]);
    } else if (how->place == OVER_DY && k == 0) {
        r->dy = dx = copy_of(p->ny, p->dy);
    } else if (how->place == OVER_X && k == 0) {
        r->x[0] = dx = copy_of(p->nx[0], p->x[0]);
    } else {
        dx = fenced(p->nx[k]);
    }
    return dx;
}

/* Prepare a run for backward: forward's scratch and value are gone, and inputs
 * that backward says it does not read. */
static void ready_backward(const problem *p, const machine *m, const mode *how,
                           ls__run *r, outputs *o)
{
    const ls__op *op = p->node->op;

    r->y = op->reads_y ? r->y : NULL;
    r->scratch = scratch(p, m);
    r->sums = &o->sums;
    r->dy = p->dy;
    r->add = how->add;
    r->slope_of_x = p->through_slope ? p->h : NULL;
    r->dy_is_pre = p->dy_is_pre;
    for (int k = 0; k < p->inputs; k++) {
        if (!(op->reads >> k & 1))
            r->x[k] = fenced(p->nx[k]);
        if (how->no_dx || op->passes >> k & 1 ||
            p->node->in[k]->dtype != LS_F32)
            continue;
        r->addend[k] = how->addend ? p->addend[k] : NULL;
        o->dx[k] = r->dx[k] = dx_place(p, r, how, k);
    }
    for (int k = 0; k < p->node->params; k++)
        o->dparam[k] = r->dparam[k] =
            how->add ? copy_of(p->np[k], p->prior[k]) : fenced(p->np[k]);
}

static outputs run(const problem *p, const machine *m, mode how)
{
    outputs o = {0};
    ls__run r = start(p, m, &o);

    p->node->op->forward(&r);
    ready_backward(p, m, &how, &r, &o);
    p->node->op->backward(&r);
    return o;
}

/* ------ Comparing ------ */

static void check_array(const problem *p, const char *what, int which,
                        int64_t n, const float *got, const double *want)
{
    bool none = vanishes(p, which);
    double error = none ? max_error(n, got, want) : max_relative(n, got, want);

    ck_assert_msg(error <= 1e-5, "%s %d of %lld elements: error %g", what,
                  which, (long long)n, error);
    ck_assert_msg(none || may_be_zero(p) || !mostly_zero(n, got),
                  "%s %d: nearly all zeros", what, which);
}

/* The sum of weights of rows x weights of terms. */
static double weighted(const problem *p)
{
    int64_t n = p->node->in[0]->size;
    double sum = 0;

    for (int64_t i = 0; i < p->rows * n; i++)
        sum += (p->weights ? (double)p->weights[i / n] : 1) * p->xd[1][i];
    return sum;
}

static void check_loss(const problem *p, const outputs *o)
{
    int64_t terms = p->node->in[0]->size;
    double weight = 0;

    if (p->node->in[p->inputs - 1]->dtype == LS_I32) /* labels */
        terms = p->node->in[1]->size - ahead(&(ref){.node = p->node});
    for (int64_t i = 0; i < p->rows; i++)
        weight += (p->weights ? (double)p->weights[i] : 1) * (double)terms;
    if (p->node->op == &ls__op_weighted_loss)
        weight = weighted(p);
    ck_assert(fabs(o->sums.weight - weight) <= 1e-12 * weight);
    ck_assert_msg(fabs(o->sums.loss - p->yd[0]) <= 1e-5 * fabs(p->yd[0]),
                  "loss is %.9g, must be %.9g", o->sums.loss, p->yd[0]);
    ck_assert_double_eq(o->sums.loss, o->forward_sums.loss);
    ck_assert_double_eq(o->sums.weight, o->forward_sums.weight);
}

/* Values and gradients against the reference; an input whose gradient is said
 * to be dy itself, against that. */
static void check_values(const problem *p, const outputs *o)
{
    if (p->node->op->is_loss)
        check_loss(p, o);
    else
        check_array(p, "value", MOST_ARRAYS, p->ny, o->y, p->yd);
    for (int k = 0; k < p->inputs; k++)
        if (p->node->op->passes >> k & 1)
            ck_assert_mem_eq(p->dxd[k], p->dyd, (size_t)p->ny * sizeof *p->dyd);
        else if (o->dx[k])
            check_array(p, "input gradient", k, p->nx[k], o->dx[k], p->dxd[k]);
    for (int k = 0; k < p->node->params; k++)
        check_array(p, "parameter gradient", LS__MAX_INPUTS + k, p->np[k],
                    o->dparam[k], p->dpd[k]);
}

static void check_same(const char *what, int64_t n, const float *a,
                       const float *b)
{
    ck_assert_msg(!memcmp(a, b, (size_t)n * sizeof *a), "%s differs", what);
}

/* The same bytes in all that both wrote. */
static void check_equal(const problem *p, const outputs *a, const outputs *b)
{
    if (p->node->op->is_loss)
        ck_assert(!memcmp(&a->sums.loss, &b->sums.loss, sizeof a->sums.loss));
    else
        check_same("value", p->ny, a->y, b->y);
    for (int k = 0; k < p->inputs; k++)
        if (a->dx[k] && b->dx[k])
            check_same("input gradient", p->nx[k], a->dx[k], b->dx[k]);
    for (int k = 0; k < p->node->params; k++)
        check_same("parameter gradient", p->np[k], a->dparam[k], b->dparam[k]);
}

/* dx with an addend is the addend plus dx without, rounded once. */
static void check_addend(const problem *p, const outputs *without,
                         const outputs *with)
{
    for (int k = 0; k < p->inputs; k++)
        for (int64_t i = 0; with->dx[k] && i < p->nx[k]; i++)
            if (with->dx[k][i] != without->dx[k][i] + p->addend[k][i])
                ck_abort_msg("addend %d, element %lld", k, (long long)i);
}

/* Parameter gradients added to what was there, which may cancel. */
static void check_added(const problem *p, const outputs *o)
{
    for (int k = 0; k < p->node->params; k++) {
        double *want = doubles(p->np[k], p->prior[k], LS_F32);

        double size = fmax(largest(p->np[k], want),
                           largest(p->np[k], p->dpd[k]));

        for (int64_t i = 0; i < p->np[k]; i++)
            want[i] += p->dpd[k][i];
        ck_assert(max_error(p->np[k], o->dparam[k], want) <= 1e-5 * size);
        free(want);
    }
}

/* ------ The checks of one problem ------ */

static void check_modes(const problem *p, const machine *m, const outputs *base)
{
    const ls__op *op = p->node->op;
    outputs addend = *base, other;

    if (!op->is_loss) {
        addend = run(p, m, (mode){.addend = true});
        check_addend(p, base, &addend);
    }
    if (op->dx_over_addend) {
        other = run(p, m, (mode){.addend = true, .place = OVER_ADDEND});
        check_equal(p, &addend, &other);
    }
    if (op->dx_over_dy) {
        other = run(p, m, (mode){.addend = true, .place = OVER_DY});
        check_equal(p, &addend, &other);
    }
    if (op->dx_over_x) {
        other = run(p, m, (mode){.place = OVER_X});
        check_equal(p, base, &other);
    }
    other = run(p, m, (mode){.add = true});
    check_added(p, &other);
    if (p->node->params || op->inputs > 1) { /* others do nothing else */
        other = run(p, m, (mode){.no_dx = true});
        check_equal(p, base, &other);
    }
}

static void check_machine(const problem *p, const machine *m, bool same,
                          const outputs *base)
{
    outputs o = run(p, m, (mode){0});

    check_values(p, &o);
    if (same)
        check_equal(p, base, &o);
}

static void check_machines(const problem *p, bool products, const outputs *base)
{
    machine blis = {ls__kernels(), ls__backend_blis};
    bool fma = fuses(ls__kernels());

    for (int i = 0; i < levels(); i++)
        if (level(i)) {
            machine m = machine_of(level(i));

            check_machine(p, &m, !products || (fma && fuses(level(i))), base);
        }
    if (products && ls__blis_check() == 0)
        check_machine(p, &blis, fma, base);
}

/* Fused kinds that are no functions of their own have nothing to differentiate;
 * a relu or max pooling inside cannot be moved past its corners, nor a maximum
 * of many, and rounding is all corners. */
static bool has_slope(const problem *p)
{
    const ls__op *op = p->node->op;

    return !p->through_slope && !p->dy_is_pre &&
           p->node->activation != LS__RELU && !p->node->pooled &&
           op != &ls__op_max_pool && op != &ls__op_round_bf16 &&
           (op != &ls__op_max_over || p->nx[0] < 500);
}

static void check_sample(const row *o, const sample *s, int kind)
{
    problem p = make_problem(o, s, kind);
    machine m = machine_of(ls__kernels());
    outputs base;

    make_right(&p);
    base = run(&p, &m, (mode){0});
    check_values(&p, &base);
    check_modes(&p, &m, &base);
    check_machines(&p, o->products, &base);
    if (has_slope(&p)) /* last: it moves the reference's value */
        check_reference(&p);
    free_problem(&p);
}

/* An operator's values and gradients are right on every shape it takes, and the
 * same bytes wherever and however it runs. */
START_TEST(test_operator)
{
    const row *o = &rows[_i];

    ls__fpmode_set();
    for (int i = 0; i < SAMPLES; i++)
        for (int kind = 0; fits(o, &samples[i]) && kind < o->kinds; kind++) {
            const sample *s = &samples[i];

            if (!has_turn(i, kind, o->kinds))
                continue;
            if (getenv("LS_TEST_TALK"))
                fprintf(stderr,
                        "%s kind %d: %lld rows of rank %d (%lld,%lld,"
                        "%lld)\n",
                        o->op->name, kind, (long long)s->rows, s->rank,
                        (long long)s->dim[0], (long long)s->dim[1],
                        (long long)s->dim[2]);
            check_sample(o, s, kind);
        }
}
END_TEST

/* Every operator of the library has its row here and its reference, no row is
 * of an operator that is gone, and the shapes are many. */
START_TEST(test_table)
{
    int found = 0;

    for (int i = 0; ls__ops[i]; i++, found++) {
        int o = 0, shapes = 0;

        while (o < ROWS && rows[o].op != ls__ops[i])
            o++;
        ck_assert_msg(o < ROWS && reference_of(ls__ops[i]),
                      "operator %s is not tested", ls__ops[i]->name);
        for (int s = 0; s < SAMPLES; s++)
            shapes += fits(&rows[o], &samples[s]);
        ck_assert_int_ge(shapes, 200);
    }
    ck_assert_int_eq(found, ROWS);
}
END_TEST

/* A row without elements is refused where it would come in. */
START_TEST(test_empty)
{
    static const int64_t shapes[][3] = {{0, 3, 5}, {3, 0, 5}, {3, 5, 0}};

    for (int i = 0; i < 9; i++) {
        ls_graph *g;

        ck_assert_int_eq(ls_graph_new(&g), 0);
        if (i % 3 < 1 + i / 3) { /* the first 1 + i / 3 axes hold the zero */
            ck_assert_ptr_null(ls_input(g, "x", i % 2 ? LS_F32 : LS_I32,
                                        1 + i / 3, shapes[i % 3]));
            ck_assert_ptr_nonnull(strstr(ls_errmsg(), "no shape of a row"));
        }
        ls_graph_free(g);
    }
}
END_TEST

/* ------ JAX's numbers ------ */

/* Of one sample: the value, and the gradients of two inputs (NULL: none). */
typedef struct golden {
    const char *op;
    int kind;
    sample sample;
    const float *y, *dx[2];
} golden;

#include "golden/ops.h"

enum { GOLDENS = sizeof goldens / sizeof *goldens };

static const row *row_named(const char *name)
{
    for (int i = 0; i < ROWS; i++)
        if (!strcmp(rows[i].op->name, name))
            return &rows[i];
    ck_abort_msg("no operator %s", name);
}

static void check_golden(const char *op, const char *what, int64_t n,
                         const float *got, const float *right)
{
    double *want = doubles(n, right, LS_F32);
    double error = max_relative(n, got, want);

    ck_assert_msg(error <= 1e-6, "%s: %s differs by %g", op, what, error);
    free(want);
}

/* Values and gradients are JAX's, to its last digits. */
START_TEST(test_golden)
{
    const golden *w = &goldens[_i];
    problem p = make_problem(row_named(w->op), &w->sample, w->kind);
    machine m = machine_of(ls__kernels());
    outputs o;

    ls__fpmode_set();
    o = run(&p, &m, (mode){0});
    check_golden(w->op, "value", p.ny, o.y, w->y);
    for (int k = 0; k < 2; k++)
        if (w->dx[k])
            check_golden(w->op, "gradient", p.nx[k], o.dx[k], w->dx[k]);
    free_problem(&p);
}
END_TEST

/* Rows of softmax longer than the 4096 entries that are summed at once, which
 * no attention here has: against double, the same bytes on every level, and
 * nothing written beyond each row's entries. */
START_TEST(test_long_softmax)
{
    static const int64_t sizes[] = {4095, 4096, 4097, 8193, 10000};
    int64_t n = sizes[_i], stride = n + 3;
    float *x = uniform(1, 2 * stride), *dp = uniform(2, 2 * stride);
    double *want = doubles(2 * stride, x, LS_F32);
    double *dwant = doubles(2 * stride, dp, LS_F32);
    const float *first = NULL, *dfirst = NULL;

    ls__fpmode_set();
    for (int64_t r = 0; r < 2 * stride; r += stride) {
        double sum = log_sum(n, want + r), mean;

        for (int64_t j = 0; j < n; j++)
            want[r + j] = exp(want[r + j] - sum);
        mean = dot(n, want + r, dwant + r);
        for (int64_t j = 0; j < n; j++)
            dwant[r + j] = want[r + j] * (dwant[r + j] - mean);
    }
    for (int i = 0; i < levels(); i++) {
        float *p = copy_of(2 * stride, x), *ds = copy_of(2 * stride, dp);

        if (!level(i))
            continue;
        level(i)->softmax(2, n, stride, p);
        level(i)->softmax_grad(2, n, stride, p, ds);
        for (int64_t r = 0; r < 2 * stride; r += stride) {
            ck_assert(max_relative(n, p + r, want + r) <= 1e-5);
            ck_assert(max_relative(n, ds + r, dwant + r) <= 1e-5);
            ck_assert_mem_eq(p + r + n, x + r + n, 3 * sizeof *x);
            ck_assert_mem_eq(ds + r + n, dp + r + n, 3 * sizeof *x);
        }
        if (first) {
            check_same("softmax", 2 * stride, p, first);
            check_same("softmax gradient", 2 * stride, ds, dfirst);
        }
        first = p;
        dfirst = ds;
    }
    free(want);
    free(dwant);
    fences_free();
}
END_TEST

static Suite *ops_suite(void)
{
    Suite *s = suite_create("ops");
    TCase *t = tcase_create("ops");

    tcase_set_timeout(t, 600);
    tcase_add_test(t, test_table);
    tcase_add_test(t, test_empty);
    tcase_add_loop_test(t, test_operator, 0, ROWS);
    tcase_add_loop_test(t, test_golden, 0, GOLDENS);
    tcase_add_loop_test(t, test_long_softmax, 0, 5);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    make_samples();
    return run_suite(ops_suite());
}
