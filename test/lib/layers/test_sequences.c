/* SPDX-License-Identifier: BSD-3-Clause */
/* Recurrent layers: Flax's numbers; rows of different lengths; states handed
 * on; any workers; and what the builder refuses.  (test_ops.c has values and
 * gradients on many shapes, test_referee_ops.c their bits.) */
#include "base/fpmode.h"
#include "fixture.h"
#include "golden.h"
#include "layers.h"
#include "models.h"
#include "op/op_table.h"
#include "op/recurrent_layer.h"
#include "random/init.h"
#include "random/lane.h"

#include <math.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

typedef ls_node *layer_fn(ls_node *x, int64_t n, ls_node *state,
                          ls_node *lengths, ls_node **last, const char *name);

static layer_fn *const layers[] = {lstm_from, gru_from};

/* ------ Flax's numbers: see golden/make_sequences.py ------ */

enum { ROWS = 6, STEPS = 5, IN = 3, UNITS = 4, OUT = 2, UPDATES = 6 };

static const int32_t lengths[ROWS] = {5, 1, 0, 3, 4, 5};

static const struct {
    const char *name;
    int count; /* of parameters */
} flax[] = {{"lstm", 282}, {"gru", 214}};

static ls_graph *flax_graph(layer_fn *layer)
{
    ls_graph *g = empty_graph();
    ls_node *x = ls_input(g, "x", LS_F32, 2, (int64_t[]){STEPS, IN});
    ls_node *target = ls_input(g, "target", LS_F32, 2, (int64_t[]){STEPS, OUT});
    ls_node *length = ls_input(g, "length", LS_I32, 0, NULL);

    x = layer(x, UNITS, NULL, length, NULL, "one");
    x = layer(x, UNITS, NULL, length, NULL, "two");
    OK(ls_loss(g, ls_mean_squared_error(ls_dense(x, OUT, "out"), target)));
    return g;
}

/* All parameters, one after the other, in the order of their names. */
static void check_params(const ls_trainer *t, int count, const float *want,
                         double error)
{
    float *got = malloc((size_t)count * sizeof *got);
    int at = 0;

    ck_assert_ptr_nonnull(got);
    for (int i = 0; i < ls_trainer_params(t); i++) {
        int64_t shape[LS_MAX_RANK];
        int64_t n = ls__count(ls_trainer_param_shape(t, i, shape), shape);

        ck_assert_int_le(at + n, count);
        OK(ls_trainer_get(t, ls_trainer_param_name(t, i), n, got + at));
        at += (int)n;
    }
    ck_assert_int_eq(at, count);
    for (int i = 0; i < count; i++)
        ck_assert_msg(fabs((double)got[i] - (double)want[i]) <= error,
                      "parameter %d is %.9g, not %.9g", i, (double)got[i],
                      (double)want[i]);
    free(got);
}

/* nnx's initial parameters of the seed, its losses and what it learns. */
LOOP_TEST(test_flax, 0, 2)
{
    ls_trainer_options o = ls_trainer_defaults();
    float *x = uniform(1, ROWS * STEPS * IN);
    float *target = uniform(2, ROWS * STEPS * OUT);
    const char *name = flax[_i].name;
    const float *first = golden("sequences", flax[_i].count, "%s/first", name);
    const float *last = golden("sequences", flax[_i].count, "%s/last", name);
    const float *loss = golden("sequences", UPDATES, "%s/loss", name);
    run r;

    for (int i = 0; i < ROWS * STEPS * IN; i++)
        x[i] *= 2;
    o.seed = 7;
    o.optimizer = ls_sgd(0.5);
    r = open_run_on(2, 2, flax_graph(layers[_i]), &o);
    check_params(r.trainer, flax[_i].count, first, 1e-6);
    OK(ls_batch_set(r.batch, "x", LS_F32, x, ROWS));
    OK(ls_batch_set(r.batch, "target", LS_F32, target, ROWS));
    OK(ls_batch_set(r.batch, "length", LS_I32, lengths, ROWS));
    for (int s = 0; s < UPDATES; s++)
        ck_assert_double_eq_tol((double)step(&r).loss, (double)loss[s], 1e-6);
    check_params(r.trainer, flax[_i].count, last, 2e-6);
    close_run(&r);
    fences_free();
}

/* jax.nn.initializers.orthogonal. */
TEST(test_orthogonal)
{
    static const int64_t shapes[][2] = {{3, 12}, {12, 3}, {5, 5}};
    float got[36];

    for (int i = 0; i < COUNT(shapes); i++) {
        const int64_t *s = shapes[i];
        const float *want = golden("sequences", s[0] * s[1], "orthogonal/%d/%d",
                                   (int)s[0], (int)s[1]);

        ls__init_values(ls__init_of(LS__INIT_ORTHOGONAL), ls_key_new(11), 1, 2,
                        s, got);
        for (int64_t k = 0; k < s[0] * s[1]; k++)
            ck_assert_double_eq_tol((double)got[k], (double)want[k], 1e-6);
    }
}

enum { N = 19, R = 5 };

static void same(const char *what, int64_t n, const float *got,
                 const float *want)
{
    for (int64_t i = 0; i < n; i++)
        HOLDS(!memcmp(got + i, want + i, sizeof *got), "%s %lld: %a, not %a",
              what, (long long)i, (double)got[i], (double)want[i]);
}

/* ------ States and lengths ------ */

/* A graph of `steps` steps that predicts "y" and "state", from a state and of
 * lengths where asked for. */
static run open_stream(ls_pool *pool, int cell, int64_t steps, bool from,
                       bool of_lengths)
{
    ls_trainer_options o = ls_trainer_defaults();
    int states = 2 - cell;
    ls_graph *g = empty_graph();
    ls_node *x, *state = NULL, *length = NULL, *last;

    x = ls_input(g, "x", LS_F32, 2, (int64_t[]){steps, IN});
    if (from)
        state =
            ls_input(g, "from", LS_F32, states, (int64_t[]){cell ? N : 2, N});
    if (of_lengths)
        length = ls_input(g, "length", LS_I32, 0, NULL);
    x = layers[cell](x, N, state, length, &last, "cell");
    OK(ls_output(g, x, "y"));
    OK(ls_output(g, last, "state"));
    OK(ls_loss(g, ls_mean_loss(x, NULL)));
    return open_run(pool, g, &o);
}

/* Rows `from` .. of x (rows,12,IN) cut into pieces of 4 steps. */
static void piece(const float *x, int first, float *out)
{
    for (int r = 0; r < R; r++)
        memcpy(out + r * 4 * IN, x + (r * 12 + first) * IN,
               4 * IN * sizeof *out);
}

/* Twelve steps at once, and four by four with the state handed on: the same
 * bytes. */
LOOP_TEST(test_stream, 0, 2)
{
    ls_pool *pool = open_pool(1, 1);
    run all = open_stream(pool, _i, 12, false, false);
    run part = open_stream(pool, _i, 4, true, false);
    int size = (2 - _i) * N;
    float *x = uniform(1, R * 12 * IN), *y = fenced(R * 12 * N);
    float *last = fenced(R * size), *state = fenced(R * size);
    float *some = fenced(R * 4 * IN), *got = fenced(R * 4 * N);

    OK(ls_batch_set(all.batch, "x", LS_F32, x, R));
    OK(ls_predict(all.trainer, all.batch, "y", R * 12 * N, y));
    OK(ls_predict(all.trainer, all.batch, "state", R * size, last));
    memset(state, 0, (size_t)(R * size) * sizeof *state);
    for (int t = 0; t < 12; t += 4) {
        piece(x, t, some);
        OK(ls_batch_set(part.batch, "x", LS_F32, some, R));
        OK(ls_batch_set(part.batch, "from", LS_F32, state, R));
        OK(ls_predict(part.trainer, part.batch, "y", R * 4 * N, got));
        for (int r = 0; r < R; r++)
            same("y", 4 * N, got + r * 4 * N, y + (r * 12 + t) * N);
        OK(ls_predict(part.trainer, part.batch, "state", R * size, state));
    }
    same("state", R * size, state, last);
    ck_assert(!mostly_zero(R * size, last));
    close_run(&all);
    close_run(&part);
    ls_pool_close(pool);
    fences_free();
}

/* A row of a length is that many steps of the row, then zeros. */
LOOP_TEST(test_lengths, 0, 2)
{
    static const int32_t length[R] = {12, 4, 0, 7, 4};
    ls_pool *pool = open_pool(1, 1);
    run all = open_stream(pool, _i, 12, false, true);
    run part = open_stream(pool, _i, 4, false, false);
    int size = (2 - _i) * N;
    float *x = uniform(1, R * 12 * IN), *y = fenced(R * 12 * N);
    float *last = fenced(R * size), *state = fenced(R * size);
    float *some = fenced(R * 4 * IN), *got = fenced(R * 4 * N);
    float zeros[12 * N] = {0};

    OK(ls_batch_set(all.batch, "x", LS_F32, x, R));
    OK(ls_batch_set(all.batch, "length", LS_I32, length, R));
    OK(ls_predict(all.trainer, all.batch, "y", R * 12 * N, y));
    OK(ls_predict(all.trainer, all.batch, "state", R * size, last));
    piece(x, 0, some);
    OK(ls_batch_set(part.batch, "x", LS_F32, some, R));
    OK(ls_predict(part.trainer, part.batch, "y", R * 4 * N, got));
    OK(ls_predict(part.trainer, part.batch, "state", R * size, state));
    for (int r = 0; r < R; r++) {
        int steps = length[r] < 4 ? length[r] : 4;

        same("y", steps * N, y + r * 12 * N, got + r * 4 * N);
        same("zeros", (12 - length[r]) * N, y + (r * 12 + length[r]) * N,
             zeros);
        if (length[r] == 4)
            same("state", size, last + r * size, state + r * size);
    }
    same("no step", size, last + 2 * size, zeros);
    FAILS(ls_batch_set(all.batch, "length", LS_I32, (int32_t[]){1, 2, 3, 13, 4},
                       R),
          LS_ERANGE, "13");
    FAILS(ls_batch_set(all.batch, "length", LS_I32, (int32_t[]){1, 2, 3, -1, 4},
                       R),
          LS_ERANGE, "-1");
    close_run(&all);
    close_run(&part);
    ls_pool_close(pool);
    fences_free();
}

/* ------ Convolutions of steps: nnx.Conv's values ------ */

static const struct {
    int64_t stride;
    ls_padding padding;
    int count;
    const char *name;
} convs[] = {{0, LS_CAUSAL, ROWS * 5 * UNITS, "causal"},
             {2, LS_CAUSAL, ROWS * 3 * UNITS, "causal_2"},
             {2, LS_SAME, ROWS * 3 * UNITS, "same_2"},
             {1, LS_VALID, ROWS * 3 * UNITS, "valid"}};

LOOP_TEST(test_conv, 0, COUNT(convs))
{
    ls_trainer_options o = ls_trainer_defaults();
    float *x = uniform(1, ROWS * STEPS * IN), *y = fenced(convs[_i].count);
    const float *want = golden("sequences", convs[_i].count, "conv/%s",
                               convs[_i].name);
    ls_graph *g = empty_graph();
    ls_node *n;
    run r;

    o.seed = 7;
    n = ls_input(g, "x", LS_F32, 2, (int64_t[]){STEPS, IN});
    n = ls_conv1d(n, UNITS, 3, convs[_i].stride, convs[_i].padding, "conv");
    OK(ls_output(g, n, "y"));
    OK(ls_loss(g, ls_mean_loss(n, NULL)));
    r = open_run_on(1, 1, g, &o);
    OK(ls_batch_set(r.batch, "x", LS_F32, x, ROWS));
    OK(ls_predict(r.trainer, r.batch, "y", convs[_i].count, y));
    for (int i = 0; i < convs[_i].count; i++)
        ck_assert_double_eq_tol((double)y[i], (double)want[i], 1e-6);
    close_run(&r);
    fences_free();
}

static ls_node *bad_steps(ls_graph *g, layer_fn *layer)
{
    (void)layer;
    return ls_conv1d(ls_input(g, "x", LS_F32, 1, (int64_t[]){7}), 3, 2, 1,
                     LS_CAUSAL, "c");
}

static ls_node *bad_padding(ls_graph *g, layer_fn *layer)
{
    (void)layer;
    return ls_conv1d(ls_input(g, "x", LS_F32, 2, (int64_t[]){7, 2}), 3, 8, 1,
                     LS_VALID, "c");
}

/* ------ Workers ------ */

enum { MANY = 280 }; /* rows: chunks of 64 in each of two shards */

/* Let somebody else read the gates' shares of the inputs: then the layers may
 * not write over them. */
static void read_gates(ls_graph *g)
{
    for (int i = 0; i < g->node_count; i++)
        if (g->nodes[i]->op && ls__recurrent_kind(g->nodes[i]->op))
            OK(ls_output(g, g->nodes[i]->in[0], g->nodes[i]->name));
}

static void hash_of(int cell, int workers, ls_precision precision, bool read,
                    char hash[65])
{
    ls_trainer_options o = ls_trainer_defaults();
    float *x = uniform(1, MANY * STEPS * IN);
    float *target = uniform(2, MANY * STEPS * OUT);
    static int32_t length[MANY];
    ls_graph *g = flax_graph(layers[cell]);
    run r;

    o.optimizer = ls_adam(0.01);
    o.precision = precision;
    if (read)
        read_gates(g);
    r = open_run_on(2, workers, g, &o);
    for (int i = 0; i < MANY; i++)
        length[i] = lengths[i % ROWS];
    OK(ls_batch_set(r.batch, "x", LS_F32, x, MANY));
    OK(ls_batch_set(r.batch, "target", LS_F32, target, MANY));
    OK(ls_batch_set(r.batch, "length", LS_I32, length, MANY));
    for (int s = 0; s < 3; s++)
        step(&r);
    ls_trainer_hash(r.trainer, hash);
    close_run(&r);
    fences_free();
}

/* Shards of several chunks: the bytes of one worker and of two, and of gates
 * that are kept by themselves, in every precision. */
LOOP_TEST(test_workers, 0, 2)
{
    static const ls_precision precisions[] = {LS_F32_LAYERS, LS_BF16_LAYERS,
                                              LS_F32X3_LAYERS};
    char one[65], two[65], apart[65];

    for (int i = 0; i < COUNT(precisions); i++) {
        hash_of(_i, 1, precisions[i], false, one);
        hash_of(_i, 2, precisions[i], false, two);
        hash_of(_i, 1, precisions[i], true, apart);
        ck_assert_str_eq(one, two);
        ck_assert_str_eq(one, apart);
    }
}

/* ------ What the builder refuses ------ */

static ls_node *bad_rank(ls_graph *g, layer_fn *layer)
{
    return layer(ls_input(g, "x", LS_F32, 1, (int64_t[]){7}), 3, NULL, NULL,
                 NULL, "r");
}

static ls_node *steps(ls_graph *g)
{
    return ls_input(g, "x", LS_F32, 2, (int64_t[]){7, 2});
}

static ls_node *bad_units(ls_graph *g, layer_fn *layer)
{
    return layer(steps(g), 0, NULL, NULL, NULL, "r");
}

static ls_node *bad_dtype(ls_graph *g, layer_fn *layer)
{
    return layer(ls_input(g, "x", LS_I32, 2, (int64_t[]){7, 2}), 3, NULL, NULL,
                 NULL, "r");
}

static ls_node *bad_state(ls_graph *g, layer_fn *layer)
{
    return layer(steps(g), 3, ls_input(g, "s", LS_F32, 2, (int64_t[]){2, 4}),
                 NULL, NULL, "r");
}

static ls_node *bad_lengths(ls_graph *g, layer_fn *layer)
{
    ls_node *last = ls_input(g, "y", LS_F32, 0, NULL);
    ls_node *y = layer(steps(g), 3, NULL,
                       ls_input(g, "l", LS_I32, 1, (int64_t[]){7}), &last, "r");

    ck_assert_ptr_null(last);
    return y;
}

static ls_node *float_lengths(ls_graph *g, layer_fn *layer)
{
    return layer(steps(g), 3, NULL, ls_input(g, "l", LS_F32, 0, NULL), NULL,
                 "r");
}

static const struct {
    ls_node *(*build)(ls_graph *g, layer_fn *layer);
    const char *says[2];
} bad[] = {{bad_rank, {"3 units", "(7)"}},
           {bad_units, {"0 units", "(7,2)"}},
           {bad_dtype, {"r.dense_i", "LS_I32"}},
           {bad_state, {"r.dense_h", "(2,4)"}},
           {bad_lengths, {"lengths", "(7)"}},
           {float_lengths, {"lengths", "one LS_I32"}},
           {bad_steps, {"conv1d \"c\"", "(7)"}},
           {bad_padding, {"conv2d \"c\"", "8"}}};

LOOP_TEST(test_refused, 0, COUNT(bad))
{
    for (int cell = 0; cell < 2; cell++) {
        ls_graph *g = empty_graph();

        ck_assert_ptr_null(bad[_i].build(g, layers[cell]));
        for (int k = 0; k < 2; k++)
            FAILS(ls_loss(g, NULL), LS_ESHAPE, bad[_i].says[k]);
        ls_graph_free(g);
    }
}

/* Options must have a size, and a layer units; `last` is NULL where it has
 * none. */
TEST(test_options)
{
    ls_graph *g[2];
    ls_node *last;

    for (int i = 0; i < 2; i++) {
        ls_recurrent_options o = ls_recurrent_defaults();

        OK(ls_graph_new(&g[i]));
        last = ls_input(g[i], "y", LS_F32, 0, NULL);
        o.last = &last;
        o.size = i == 0 ? sizeof o : 0;
        ck_assert_ptr_null(ls_lstm_with(steps(g[i]), i == 0 ? 0 : 3, &o, "r"));
        FAILS(ls_loss(g[i], NULL), i == 0 ? LS_ESHAPE : LS_EINVAL,
              i == 0 ? "0 units" : "recurrent");
        ck_assert(i == 1 || !last);
        ls_graph_free(g[i]);
    }
}

/* Two biases: x's product has one, too, in either layer. */
TEST(test_two_biases)
{
    for (int i = 0; i < 4; i++) {
        ls_recurrent_options o = ls_recurrent_defaults();
        ls_array_spec p;
        ls_graph *g = empty_graph();
        int found = 0;

        o.two_biases = i & 1;
        ck_assert_ptr_nonnull((i & 2 ? ls_lstm_with : ls_gru_with)(
            steps(g), 3, &o, "r"));
        for (int n = 0; n < ls_graph_nodes(g); n++)
            for (int k = 0; ls_node_param(ls_graph_node(g, n), k, &p); k++)
                found += strstr(p.name, "bias") != NULL;
        ck_assert_int_eq(found, i & 1 ? 2 : 1);
        ls_graph_free(g);
    }
}

/* FLOP: the input's product, the state's, and each twice in backward. */
LOOP_TEST(test_cost, 0, 2)
{
    ls_pool *pool = open_pool(1, 1);
    run r = open_stream(pool, _i, 12, false, false);
    const double gates = 4 - _i;
    double forward = 0, backward = 0;
    ls_cost c;

    for (int i = 0; ls_trainer_cost(r.trainer, i, &c); i++) {
        forward += c.forward;
        backward += c.backward;
    }
    ck_assert_double_eq(forward, 2 * 12 * gates * N * (IN + N));
    ck_assert_double_eq(backward, 2 * 12 * gates * N * (IN + 2 * N));
    close_run(&r);
    ls_pool_close(pool);
}

MAIN()
