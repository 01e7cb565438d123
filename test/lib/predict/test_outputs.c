/* SPDX-License-Identifier: BSD-3-Clause */
/* Outputs: ls_predict gives the values that training sees, on any number of
 * workers, from the inputs it needs alone; declaring one changes no bit; and
 * what is refused.  Also the draw from logits, against JAX. */
#include "base/error.h"
#include "fixture.h"
#include "layers.h"
#include "lockstep.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

enum { T = 6, V = 7, D = 16, ROWS = 8, DEVICES = 4 };

typedef struct training {
    ls_pool *pool;
    ls_graph *graph;
    ls_trainer *trainer;
    ls_batch *batch;
    int32_t tokens[ROWS * T];
} training;

static void begin(training *t, int devices, int workers)
{
    t->pool = open_pool(devices, workers);
    OK(ls_graph_new(&t->graph));
}

static void close_all(training *t)
{
    ls_batch_close(t->batch);
    ls_trainer_close(t->trainer);
    ls_graph_free(t->graph);
    ls_pool_close(t->pool);
}

/* A causal model; `outputs` of hidden values, logits and a head of its own. */
static void build(ls_graph *g, int outputs)
{
    ls_node *tokens = ls_input(g, "tokens", LS_I32, 1, (int64_t[]){T});
    ls_node *x, *h, *y;

    x = ls_position(ls_embed(tokens, V, D, "embed"), "position");
    x = ls_add(x, ls_self_attention(ls_layer_norm(x, "norm"), 2, true, "see"));
    h = ls_dense(x, 2 * D, "up");
    if (outputs > 1)
        OK(ls_output(g, h, "up"));
    h = ls_gelu(h);
    y = dense_no_bias(ls_add(x, ls_dense(h, D, "down")), V, "head");
    if (outputs > 0)
        OK(ls_output(g, y, "logits"));
    OK(ls_loss(g, ls_next_token_loss(y, tokens)));
    if (outputs > 2)
        OK(ls_output(g, ls_tanh(ls_add(h, h)), "late"));
}

static void open_training(training *t, int workers, int outputs)
{
    ls_trainer_options o = ls_trainer_defaults();

    o.optimizer = ls_adam(0.01);
    begin(t, DEVICES, workers);
    build(t->graph, outputs);
    OK(ls_trainer_open(&t->trainer, t->pool, t->graph, &o));
    OK(ls_batch_open(&t->batch, t->trainer));
    ls_random_randint(ls_key_new(3), 0, ROWS * T, 0, V, t->tokens);
    OK(ls_batch_set(t->batch, "tokens", LS_I32, t->tokens, ROWS));
}

/* -log softmax(x)[label] in double. */
static double cross_entropy(const float *x, int label)
{
    double sum = 0;

    for (int i = 0; i < V; i++)
        sum += exp((double)x[i]);
    return log(sum) - (double)x[label];
}

/* The logits are those the loss was made of, after some training. */
LOOP_TEST(test_logits, 1, 4)
{
    training t;
    ls_result r;
    float y[ROWS * T * V];
    double loss = 0;

    open_training(&t, _i, 1);
    for (int s = 0; s < 3; s++)
        OK(ls_step(t.trainer, t.batch, &r));
    OK(ls_predict(t.trainer, t.batch, "logits", COUNT(y), y));
    OK(ls_evaluate(t.trainer, t.batch, &r));
    for (int i = 0; i < ROWS; i++)
        for (int p = 0; p < T - 1; p++)
            loss += cross_entropy(y + (i * T + p) * V,
                                  t.tokens[i * T + p + 1]);
    ck_assert_double_eq_tol((double)r.loss, loss / (ROWS * (T - 1)), 1e-5);
    close_all(&t);
}

static void state_after(int workers, int outputs, char hash[65])
{
    training t;
    ls_result r;

    open_training(&t, workers, outputs);
    for (int s = 0; s < 3; s++)
        OK(ls_step(t.trainer, t.batch, &r));
    ls_trainer_hash(t.trainer, hash);
    close_all(&t);
}

/* Training has the same bits with outputs declared, whatever was not folded
 * or runs for them only. */
TEST(test_no_trace)
{
    char plain[65], watched[65];

    state_after(1, 0, plain);
    for (int outputs = 1; outputs <= 3; outputs++) {
        state_after(2, outputs, watched);
        ck_assert_str_eq(watched, plain);
    }
}

enum { WIDE = 64 };

/* Train a layer, beside which an output may have one of its own that wants
 * fewer rows in a chunk. */
static void train_beside(bool head, float kernel[WIDE * WIDE])
{
    static float x[WIDE * WIDE];
    training t;
    ls_trainer_options o = ls_trainer_defaults();
    ls_node *in;
    ls_result r;

    o.optimizer = ls_adam(0.01);
    begin(&t, 1, 1);
    in = ls_input(t.graph, "x", LS_F32, 1, (int64_t[]){WIDE});
    OK(ls_loss(t.graph, ls_mean_squared_error(ls_dense(in, WIDE, "d"), in)));
    if (head)
        OK(ls_output(t.graph,
                     ls_dense(ls_reshape(in, 2, (int64_t[]){WIDE, 1}), 2, "h"),
                     "h"));
    OK(ls_trainer_open(&t.trainer, t.pool, t.graph, &o));
    OK(ls_batch_open(&t.batch, t.trainer));
    ls_random_normal(ls_key_new(5), 0, COUNT(x), x);
    OK(ls_batch_set(t.batch, "x", LS_F32, x, WIDE));
    for (int s = 0; s < 3; s++)
        OK(ls_step(t.trainer, t.batch, &r));
    OK(ls_trainer_get(t.trainer, "d.kernel", WIDE * WIDE, kernel));
    close_all(&t);
}

TEST(test_beside)
{
    static float alone[WIDE * WIDE], beside[WIDE * WIDE];

    train_beside(false, alone);
    train_beside(true, beside);
    ck_assert_mem_eq(alone, beside, sizeof alone);
}

/* Each output has the same bytes on any number of workers, and a node before a
 * folded activation is the value before it. */
TEST(test_workers)
{
    static float first[3][ROWS * T * 2 * D], now[3][ROWS * T * 2 * D];
    training t;

    for (int workers = 1; workers <= 7; workers++) {
        open_training(&t, workers, 3);
        OK(ls_predict(t.trainer, t.batch, "logits", ROWS * T * V, now[0]));
        OK(ls_predict(t.trainer, t.batch, "up", ROWS * T * 2 * D, now[1]));
        OK(ls_predict(t.trainer, t.batch, "late", ROWS * T * 2 * D, now[2]));
        close_all(&t);
        if (workers == 1)
            memcpy(first, now, sizeof first);
        ck_assert_mem_eq(first, now, sizeof first);
    }
    for (int i = 0; i < ROWS * T * 2 * D; i++) {
        double x = (double)first[1][i], u = x + 0.044715 * x * x * x;

        ck_assert_double_eq_tol((double)first[2][i],
                                tanh(x * (1 + tanh(sqrt(2 / M_PI) * u))),
                                1e-6);
    }
}

/* Later tokens do not reach earlier positions: the mask is causal. */
TEST(test_causal)
{
    training t;
    float before[ROWS * T * V], after[ROWS * T * V];

    open_training(&t, 2, 1);
    OK(ls_predict(t.trainer, t.batch, "logits", COUNT(before), before));
    for (int i = 0; i < ROWS; i++)
        t.tokens[i * T + 3] = (t.tokens[i * T + 3] + 1) % V;
    OK(ls_predict(t.trainer, t.batch, "logits", COUNT(after), after));
    for (int i = 0; i < ROWS; i++) {
        size_t row = 3 * V * sizeof(float);

        ck_assert_mem_eq(before + i * T * V, after + i * T * V, row);
        ck_assert_mem_ne(before + i * T * V + 3 * V, after + i * T * V + 3 * V,
                         row);
    }
    close_all(&t);
}

/* Rows of weight 0 keep what was in out; the others are as without weights. */
TEST(test_masked)
{
    static const float weights[ROWS] = {0, 1, 0, 0, 0.5f, 0, 0, 0};
    training t;
    float all[ROWS * T * V], some[ROWS * T * V];

    open_training(&t, 3, 1);
    OK(ls_predict(t.trainer, t.batch, "logits", COUNT(all), all));
    OK(ls_batch_set_weights(t.batch, weights, ROWS));
    for (int i = 0; i < COUNT(some); i++)
        some[i] = -77;
    OK(ls_predict(t.trainer, t.batch, "logits", COUNT(some), some));
    for (int i = 0; i < COUNT(some); i++)
        ck_assert(some[i] == (weights[i / (T * V)] > 0 ? all[i] : -77));
    close_all(&t);
}

/* Labels need not be there for the logits, but for the loss. */
TEST(test_needed_inputs)
{
    static const float x[4] = {1, 2, 3, 4};
    training t;
    ls_result r;
    ls_node *in, *label, *y;
    float out[8];

    begin(&t, 2, 2);
    in = ls_input(t.graph, "x", LS_F32, 1, (int64_t[]){1});
    label = ls_input(t.graph, "y", LS_I32, 0, NULL);
    y = ls_dense(in, 2, "fc");
    OK(ls_output(t.graph, y, "logits"));
    OK(ls_loss(t.graph, ls_cross_entropy(y, label)));
    OK(ls_trainer_open(&t.trainer, t.pool, t.graph, NULL));
    OK(ls_batch_open(&t.batch, t.trainer));
    ck_assert_int_eq(ls_predict(t.trainer, t.batch, "logits", 8, out),
                     LS_EINVAL);
    ck_assert_ptr_nonnull(strstr(ls_errmsg(), "\"x\""));
    OK(ls_batch_set(t.batch, "x", LS_F32, x, 4));
    OK(ls_predict(t.trainer, t.batch, "logits", 8, out));
    ck_assert_int_eq(ls_step(t.trainer, t.batch, &r), LS_EINVAL);
    close_all(&t);
}

/* What cannot be is refused with the names and sizes. */
TEST(test_refused)
{
    static const ls_array_spec one = {"x", LS_F32, 0, {0}};
    ls_gradient own = {no_gradient, NULL, 1, 1, &one, &one};
    training t;
    ls_trainer *other;
    float y[ROWS * T * V];

    open_training(&t, 1, 1);
    ck_assert_int_eq(ls_predict(t.trainer, t.batch, "logit", 1, y),
                     LS_ENOTFOUND);
    ck_assert_ptr_nonnull(strstr(ls_errmsg(), "\"logits\""));
    ck_assert_int_eq(ls_predict(t.trainer, t.batch, "logits", 5, y), LS_ESHAPE);
    ck_assert_ptr_nonnull(strstr(ls_errmsg(), "8 rows of 42 elements"));
    ck_assert_int_eq(ls_predict(t.trainer, NULL, "logits", COUNT(y), y),
                     LS_EINVAL);
    OK(ls_trainer_open_gradient(&other, t.pool, &own, NULL));
    ck_assert_int_eq(ls_predict(other, t.batch, "logits", COUNT(y), y),
                     LS_ENOTFOUND);
    ls_trainer_close(other);
    close_all(&t);
}

/* An output is a value, has one name, and the first error sticks. */
TEST(test_bad_outputs)
{
    for (int i = 0; i < 4; i++) {
        ls_graph *g;
        ls_node *x, *y, *bad[4];

        OK(ls_graph_new(&g));
        x = ls_input(g, "x", LS_F32, 1, (int64_t[]){1});
        y = ls_dense(x, 1, "fc");
        OK(ls_output(g, y, "y"));
        bad[0] = x;
        bad[1] = ls_mean_squared_error(y, x);
        bad[2] = y;
        bad[3] = NULL;
        ck_assert_int_eq(ls_output(g, bad[i], i == 2 ? "y" : "z"), LS_EINVAL);
        ck_assert_int_eq(ls_loss(g, bad[1]), LS_EINVAL);
        ls_graph_free(g);
    }
    ck_assert_int_eq(ls_output(NULL, NULL, "z"), LS_EINVAL);
}

/* jax 0.10.2: [int(categorical(fold_in(key(5), i), l / float32(0.8))) for i in
 * range(20)] with l = normal(key(1), (256,)); temperature 0 is the argmax. */
TEST(test_categorical)
{
    static const int want[] = {132, 158, 155, 36,  131, 204, 183,
                               166, 42,  30,  242, 193, 76,  202,
                               156, 76,  164, 114, 78,  196};
    static const float equal[] = {1, 5, 2, 5, 0};
    float logits[300];

    ls_random_normal(ls_key_new(1), 0, 256, logits);
    for (int i = 0; i < COUNT(want); i++)
        ck_assert_int_eq(
            ls_random_categorical(ls_key_fold_in(ls_key_new(5), (uint32_t)i),
                                  256, logits, 0.8f), want[i]);
    ck_assert_int_eq(ls_random_categorical(ls_key_new(1), 5, equal, 0), 1);
    for (int i = 0; i < 300; i++)
        logits[i] = i == 299 ? 100 : 0;
    ck_assert_int_eq(ls_random_categorical(ls_key_new(1), 300, logits, 1), 299);
}

MAIN()
