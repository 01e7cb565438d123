/* SPDX-License-Identifier: BSD-3-Clause */
/* Outputs: ls_predict gives the values that training sees, on any number of
 * workers, from the inputs it needs alone; declaring one changes no bit; and
 * what is refused.  Also the draw from logits, against JAX. */
#include "base/error.h"
#include "models.h"

#include <math.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

enum { T = 6, V = 7, D = 16, ROWS = 8, DEVICES = 4 };

typedef struct training {
    run run;
    int32_t tokens[ROWS * T];
} training;

/* A causal model; `outputs` of hidden values, logits and a head of its own. */
static ls_graph *build(int outputs)
{
    ls_node *tokens, *x, *h, *y;
    ls_graph *g = empty_graph();

    tokens = ls_input(g, "tokens", LS_I32, 1, (int64_t[]){T});
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
    return g;
}

static void open_training(training *t, int workers, int outputs)
{
    ls_trainer_options o = ls_trainer_defaults();

    o.optimizer = ls_adam(0.01);
    t->run = open_run_on(DEVICES, workers, build(outputs), &o);
    ls_random_randint(ls_key_new(3), 0, ROWS * T, 0, V, t->tokens);
    OK(ls_batch_set(t->run.batch, "tokens", LS_I32, t->tokens, ROWS));
}

static void values(const run *r, const char *name, int64_t n, float *out)
{
    OK(ls_predict(r->trainer, r->batch, name, n, out));
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
        step(&t.run);
    values(&t.run, "logits", COUNT(y), y);
    OK(ls_evaluate(t.run.trainer, t.run.batch, &r));
    for (int i = 0; i < ROWS; i++)
        for (int p = 0; p < T - 1; p++)
            loss += cross_entropy(y + (i * T + p) * V,
                                  t.tokens[i * T + p + 1]);
    ck_assert_double_eq_tol((double)r.loss, loss / (ROWS * (T - 1)), 1e-5);
    close_run(&t.run);
}

static void state_after(int workers, int outputs, char hash[65])
{
    training t;

    open_training(&t, workers, outputs);
    for (int s = 0; s < 3; s++)
        step(&t.run);
    ls_trainer_hash(t.run.trainer, hash);
    close_run(&t.run);
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
    ls_trainer_options o = ls_trainer_defaults();
    ls_graph *g = empty_graph();
    ls_node *in;
    run r;

    o.optimizer = ls_adam(0.01);
    in = ls_input(g, "x", LS_F32, 1, (int64_t[]){WIDE});
    OK(ls_loss(g, ls_mean_squared_error(ls_dense(in, WIDE, "d"), in)));
    if (head)
        OK(ls_output(g,
                     ls_dense(ls_reshape(in, 2, (int64_t[]){WIDE, 1}), 2, "h"),
                     "h"));
    r = open_run_on(1, 1, g, &o);
    ls_random_normal(ls_key_new(5), 0, COUNT(x), x);
    OK(ls_batch_set(r.batch, "x", LS_F32, x, WIDE));
    for (int s = 0; s < 3; s++)
        step(&r);
    OK(ls_trainer_get(r.trainer, "d.kernel", WIDE * WIDE, kernel));
    close_run(&r);
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
        values(&t.run, "logits", ROWS * T * V, now[0]);
        values(&t.run, "up", ROWS * T * 2 * D, now[1]);
        values(&t.run, "late", ROWS * T * 2 * D, now[2]);
        close_run(&t.run);
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
    values(&t.run, "logits", COUNT(before), before);
    for (int i = 0; i < ROWS; i++)
        t.tokens[i * T + 3] = (t.tokens[i * T + 3] + 1) % V;
    values(&t.run, "logits", COUNT(after), after);
    for (int i = 0; i < ROWS; i++) {
        size_t row = 3 * V * sizeof(float);

        ck_assert_mem_eq(before + i * T * V, after + i * T * V, row);
        ck_assert_mem_ne(before + i * T * V + 3 * V, after + i * T * V + 3 * V,
                         row);
    }
    close_run(&t.run);
}

/* Rows of weight 0 keep what was in out; the others are as without weights. */
TEST(test_masked)
{
    static const float weights[ROWS] = {0, 1, 0, 0, 0.5f, 0, 0, 0};
    training t;
    float all[ROWS * T * V], some[ROWS * T * V];

    open_training(&t, 3, 1);
    values(&t.run, "logits", COUNT(all), all);
    OK(ls_batch_set_weights(t.run.batch, weights, ROWS));
    for (int i = 0; i < COUNT(some); i++)
        some[i] = -77;
    values(&t.run, "logits", COUNT(some), some);
    for (int i = 0; i < COUNT(some); i++)
        ck_assert(some[i] == (weights[i / (T * V)] > 0 ? all[i] : -77));
    close_run(&t.run);
}

/* Labels need not be there for the logits, but for the loss. */
TEST(test_needed_inputs)
{
    static const float x[4] = {1, 2, 3, 4};
    ls_result result;
    ls_graph *g = empty_graph();
    ls_node *in, *label, *y;
    float out[8];
    run r;

    in = ls_input(g, "x", LS_F32, 1, (int64_t[]){1});
    label = ls_input(g, "y", LS_I32, 0, NULL);
    y = ls_dense(in, 2, "fc");
    OK(ls_output(g, y, "logits"));
    OK(ls_loss(g, ls_cross_entropy(y, label)));
    r = open_run_on(2, 2, g, NULL);
    FAILS(ls_predict(r.trainer, r.batch, "logits", 8, out), LS_EINVAL,
          "\"x\"");
    OK(ls_batch_set(r.batch, "x", LS_F32, x, 4));
    values(&r, "logits", 8, out);
    ck_assert_int_eq(ls_step(r.trainer, r.batch, &result), LS_EINVAL);
    close_run(&r);
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
    FAILS(ls_predict(t.run.trainer, t.run.batch, "logit", 1, y), LS_ENOTFOUND,
          "\"logits\"");
    FAILS(ls_predict(t.run.trainer, t.run.batch, "logits", 5, y), LS_ESHAPE,
          "8 rows of 42 elements");
    ck_assert_int_eq(ls_predict(t.run.trainer, NULL, "logits", COUNT(y), y),
                     LS_EINVAL);
    OK(ls_trainer_open_gradient(&other, t.run.pool, &own, NULL));
    ck_assert_int_eq(ls_predict(other, t.run.batch, "logits", COUNT(y), y),
                     LS_ENOTFOUND);
    ls_trainer_close(other);
    close_run(&t.run);
}

/* An output is a value, has one name, and the first error sticks. */
TEST(test_bad_outputs)
{
    for (int i = 0; i < 4; i++) {
        ls_graph *g = empty_graph();
        ls_node *x, *y, *bad[4];

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
