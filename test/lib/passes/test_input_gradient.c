/* SPDX-License-Identifier: BSD-3-Clause */
/* Gradients by inputs: JAX's numbers; the same bytes on any devices, workers,
 * micro-batches and ranks; and nothing of it shows in the steps around it. */
#include "golden.h"
#include "layers.h"
#include "models.h"
#include "on_ranks.h"

#include <malloc.h>

enum { ROWS = 7, MOST = ROWS * 72 };

static const float weights[ROWS] = {1, 0.5f, 0, 2, 1, 3, 0.25f};

/* ------ the models of the numbers ------ */

static ls_node *input(ls_graph *g, const char *name, int rank, int64_t a,
                      int64_t b, int64_t c)
{
    return ls_input(g, name, LS_F32, rank, (int64_t[]){a, b, c});
}

static void tower(ls_graph *g)
{
    ls_node *x = input(g, "x", 1, 6, 0, 0), *t = input(g, "t", 1, 6, 0, 0);
    ls_node *y = ls_dense(ls_tanh(ls_dense(x, 16, "a")), 6, "b");

    OK(ls_loss(g, ls_mean_squared_error(ls_mul(ls_add(y, x), x), t)));
}

static void image(ls_graph *g)
{
    ls_node *x = input(g, "x", 3, 6, 6, 2);
    ls_node *label = ls_input(g, "label", LS_I32, 0, NULL);
    ls_node *y = ls_conv2d(x, 3, (ls_window){3, 3, 1, 1, LS_SAME}, "c");

    y = ls_max_pool(ls_relu(y), (ls_window){2, 2, 2, 2, LS_VALID});
    OK(ls_loss(g, ls_cross_entropy(ls_dense(ls_flatten(y), 3, "d"), label)));
}

static void sequence(ls_graph *g)
{
    ls_node *x = input(g, "x", 2, 5, 8, 0), *t = input(g, "t", 2, 5, 8, 0);
    ls_node *y = ls_self_attention(ls_layer_norm(x, "n"), 2, true, "s");

    OK(ls_loss(g, ls_mean_squared_error(ls_add(x, y), t)));
}

static const struct {
    const char *name; /* in golden/by_input.txt */
    void (*build)(ls_graph *g);
    const char *input[2]; /* in the order of their names */
    int64_t size;         /* of a row of each */
} models[] = {
    {"tower", tower, {"t", "x"}, 6},
    {"image", image, {"x"}, 72},
    {"sequence", sequence, {"t", "x"}, 40},
};
enum { MODELS = sizeof models / sizeof *models };

/* ------ a run of one of them ------ */

typedef struct session {
    run run;
    float x[2][MOST];
    int32_t label[ROWS];
} session;

static void set_parameters(const run *r)
{
    for (int i = 0; i < ls_trainer_params(r->trainer); i++) {
        int64_t shape[LS_MAX_RANK], n = 1;
        int rank = ls_trainer_param_shape(r->trainer, i, shape);
        float p[256];

        for (int k = 0; k < rank; k++)
            n *= shape[k];
        ck_assert_int_le(n, 256);
        fill_uniform(100 + i, n, p);
        for (int64_t k = 0; k < n; k++)
            p[k] /= 2;
        OK(ls_trainer_set(r->trainer, ls_trainer_param_name(r->trainer, i), n,
                          p));
    }
}

static void set_batch(session *s, int model)
{
    for (int i = 0; i < 2 && models[model].input[i]; i++) {
        fill_uniform(10 + i, ROWS * models[model].size, s->x[i]);
        OK(ls_batch_set(s->run.batch, models[model].input[i], LS_F32, s->x[i],
                        ROWS));
    }
    for (int i = 0; i < ROWS; i++)
        s->label[i] = i % 3;
    if (!models[model].input[1])
        OK(ls_batch_set(s->run.batch, "label", LS_I32, s->label, ROWS));
    OK(ls_batch_set_weights(s->run.batch, weights, ROWS));
}

static void open_session(session *s, int model, int devices, int workers,
                         const ls_trainer_options *o)
{
    ls_graph *g = empty_graph();

    models[model].build(g);
    s->run = open_run_on(devices, workers, g, o);
    set_parameters(&s->run);
    set_batch(s, model);
}

static void gradient(const session *s, int model, int i, float *out)
{
    OK(ls_input_gradient(s->run.trainer, s->run.batch, false,
                         models[model].input[i], ROWS * models[model].size,
                         out));
}

/* ------ */

/* Proves JAX's numbers, by every float input, a target too. */
LOOP_TEST(numbers, 0, MODELS)
{
    int64_t n = ROWS * models[_i].size;
    double want[MOST];
    float got[MOST];
    session s;

    open_session(&s, _i, 2, 2, NULL);
    for (int i = 0; i < 2 && models[_i].input[i]; i++) {
        gradient(&s, _i, i, got);
        golden_wider(n, golden("by_input", n, "%s_by_%s", models[_i].name,
                               models[_i].input[i]), want);
        ck_assert_double_le(max_relative(n, got, want), 2e-6);
        for (int64_t k = 0; k < models[_i].size; k++)
            ck_assert(got[2 * models[_i].size + k] == 0); /* weight 0 */
    }
    close_run(&s.run);
}

/* Proves that a row's bytes depend on nothing but the batch. */
LOOP_TEST(same_bytes, 0, MODELS)
{
    static const int devices[] = {1, 2, 3, 8}, workers[] = {1, 2, 4};
    int64_t n = ROWS * models[_i].size;
    float right[MOST], got[MOST];
    ls_trainer_options o = ls_trainer_defaults();
    session s;

    open_session(&s, _i, 1, 1, NULL);
    gradient(&s, _i, 0, right);
    close_run(&s.run);
    for (int d = 0; d < 4; d++)
        for (int w = 0; w < 3; w++) {
            o.accumulate = 1 + w;
            o.state = w ? LS_SHARD : LS_REPLICATE;
            open_session(&s, _i, devices[d], workers[w], &o);
            gradient(&s, _i, 0, got);
            ck_assert_mem_eq(got, right, (size_t)n * sizeof *got);
            close_run(&s.run);
        }
}

/* Compute all rows on one rank. */
static int on_rank(const ls_transport *transport, void *user)
{
    ls_trainer_options o = ls_trainer_defaults();
    float got[MOST];
    session s;

    o.transport = transport;
    o.accumulate = 2;
    open_session(&s, 0, 4, 1, &o);
    gradient(&s, 0, 1, got);
    ck_assert_mem_eq(got, user, ROWS * 6 * sizeof *got);
    close_run(&s.run);
    return 0;
}

LOOP_TEST(over_ranks, 1, 5)
{
    float right[MOST];
    ranks_here *all;
    session s;

    open_session(&s, 0, 1, 1, NULL);
    gradient(&s, 0, 1, right);
    close_run(&s.run);
    OK(ranks_open(&all, _i, NULL));
    all_succeed(all, _i, on_rank, right);
    ranks_close(all);
}

/* Proves that the three ways to take a mean are those of a step: 3, 3 and 1
 * rows of three devices. */
TEST(means)
{
    ls_trainer_options o = ls_trainer_defaults();
    float sum[MOST], exact[MOST], shards[MOST];
    float all = 0, own[3] = {0};
    session s;

    o.mean = LS_SUM;
    open_session(&s, 0, 3, 2, &o);
    gradient(&s, 0, 1, sum);
    close_run(&s.run);
    open_session(&s, 0, 3, 2, NULL);
    gradient(&s, 0, 1, exact);
    close_run(&s.run);
    o.mean = LS_MEAN_OF_SHARDS;
    open_session(&s, 0, 3, 2, &o);
    gradient(&s, 0, 1, shards);
    close_run(&s.run);
    for (int i = 0; i < ROWS; i++) {
        own[i / 3] += 6 * weights[i]; /* terms of a row */
        all += 6 * weights[i];
    }
    for (int k = 0; k < ROWS * 6; k++) {
        ck_assert(exact[k] == sum[k] * (1 / all));
        ck_assert(shards[k] == sum[k] * (1 / own[k / 18]) * (1.0f / 3));
    }
}

/* ------ dropout ------ */

/* The mean of what dropout leaves of x, with a parameter that adds nothing. */
static void dropped(ls_graph *g)
{
    ls_node *x = input(g, "x", 1, 40, 0, 0);
    ls_node *zero = ls_scale_shift(dense_no_bias(x, 40, "d"), 0, 0);

    OK(ls_loss(g, ls_mean_loss(ls_dropout(ls_add(x, zero), 0.25, "drop"),
                               NULL)));
}

/* Proves that the mask is the one that the next step draws, and that there is
 * none where not asked for. */
TEST(dropout)
{
    session s;
    float got[ROWS * 40], off[ROWS * 40];
    ls_graph *g = empty_graph();

    dropped(g);
    s.run = open_run_on(2, 2, g, NULL);
    fill_uniform(3, ROWS * 40, s.x[0]);
    OK(ls_batch_set(s.run.batch, "x", LS_F32, s.x[0], ROWS));
    for (int i = 0; i < 3; i++) {
        double dot = 0;
        int zeros = 0;

        OK(ls_input_gradient(s.run.trainer, s.run.batch, true, "x", ROWS * 40,
                             got));
        OK(ls_input_gradient(s.run.trainer, s.run.batch, false, "x", ROWS * 40,
                             off));
        for (int k = 0; k < ROWS * 40; k++) {
            dot += (double)got[k] * (double)s.x[0][k];
            zeros += got[k] == 0;
            ck_assert(off[k] == 1.0f / (ROWS * 40));
        }
        ck_assert(zeros > 40 && zeros < 100);
        ck_assert_double_eq_tol((double)step(&s.run).loss, dot, 1e-7);
    }
    close_run(&s.run);
}

/* ------ what is around it ------ */

/* Proves that steps and their bytes are the same with it, and that gradients in
 * hand whose memory it took are refused. */
TEST(steps_around)
{
    session a, b;
    ls_gradients *g;
    ls_result r;
    float got[MOST];
    char ha[65], hb[65];

    open_session(&a, 2, 3, 2, NULL);
    open_session(&b, 2, 3, 1, NULL);
    OK(ls_gradients_open(&g, b.run.trainer, 2));
    for (int i = 0; i < 3; i++) {
        gradient(&a, 2, 1, got);
        step(&a.run);
        OK(ls_gradients_compute(g, b.run.batch, &r));
        gradient(&b, 2, 1, got);
        FAILS(ls_gradients_get_device(g, 0, "n.bias", 8, got), LS_EINVAL,
              "none were computed since");
        OK(ls_gradients_apply(g, &r));
    }
    OK(ls_gradients_add(g, b.run.batch));
    gradient(&b, 2, 0, got);
    FAILS(ls_gradients_add(g, b.run.batch), LS_EINVAL, "has taken the memory");
    ls_gradients_close(g);
    ls_trainer_hash(a.run.trainer, ha);
    ls_trainer_hash(b.run.trainer, hb);
    ck_assert_str_eq(ha, hb);
    ck_assert_int_eq(ls_trainer_step(a.run.trainer), 3);
    close_run(&a.run);
    close_run(&b.run);
}

/* An input that the loss does not read, and one that is passed on as it is. */
static void aside(ls_graph *g)
{
    ls_node *x = input(g, "x", 1, 6, 0, 0), *t = input(g, "t", 1, 6, 0, 0);
    ls_node *y = ls_add(ls_add(ls_dense(t, 6, "a"), x), x);

    OK(ls_output(g, ls_mul(x, input(g, "z", 1, 6, 0, 0)), "other"));
    OK(ls_loss(g, ls_mean_loss(ls_add(y, t), NULL)));
}

TEST(passed_on)
{
    session s;
    float got[ROWS * 6];
    ls_graph *g = empty_graph();

    aside(g);
    s.run = open_run_on(2, 1, g, NULL);
    fill_uniform(3, ROWS * 6, s.x[0]);
    OK(ls_batch_set(s.run.batch, "x", LS_F32, s.x[0], ROWS));
    OK(ls_batch_set(s.run.batch, "t", LS_F32, s.x[0], ROWS));
    OK(ls_batch_set(s.run.batch, "z", LS_F32, s.x[0], ROWS));
    OK(ls_input_gradient(s.run.trainer, s.run.batch, true, "x", ROWS * 6, got));
    for (int k = 0; k < ROWS * 6; k++)
        ck_assert(got[k] == 2 * (1.0f / (ROWS * 6)));
    OK(ls_input_gradient(s.run.trainer, s.run.batch, true, "z", ROWS * 6, got));
    for (int k = 0; k < ROWS * 6; k++)
        ck_assert(got[k] == 0);
    close_run(&s.run);
}

/* ------ what is refused ------ */

/* A graph without parameters has gradients, losses and outputs; there is
 * nothing to train. */
LOOP_TEST(no_parameters, 0, 2)
{
    enum { IN = 5, ALL = ROWS * IN };
    float x[ALL], t[ALL], dx[ALL], y[ALL];
    ls_result result;
    ls_node *node;
    ls_graph *g = empty_graph();
    run r;

    fill_uniform(1, ALL, x);
    fill_uniform(2, ALL, t);
    node = ls_sin(input(g, "x", 1, IN, 0, 0));
    OK(ls_output(g, node, "y"));
    OK(ls_loss(g, ls_mean_squared_error(node, input(g, "t", 1, IN, 0, 0))));
    r = open_run_on(3, 1 + _i, g, NULL);
    OK(ls_batch_set(r.batch, "x", LS_F32, x, ROWS));
    OK(ls_batch_set(r.batch, "t", LS_F32, t, ROWS));
    OK(ls_input_gradient(r.trainer, r.batch, true, "x", ALL, dx));
    OK(ls_predict(r.trainer, r.batch, "y", ALL, y));
    OK(ls_evaluate(r.trainer, r.batch, &result));
    for (int i = 0; i < ALL; i++)
        ck_assert(fabs((double)dx[i] - 2 * (sin((double)x[i]) - (double)t[i]) *
                                           cos((double)x[i]) / ALL) < 1e-7);
    ck_assert(result.loss > 0);
    FAILS(ls_step(r.trainer, r.batch, &result), LS_EINVAL, "nothing to train");
    close_run(&r);
}

TEST(refused)
{
    static const float none[ROWS];
    const ls_array_spec spec = {"x", LS_F32, 1, {6}};
    ls_gradient own = {no_gradient, NULL, 1, 1, &spec, &spec};
    float got[MOST];
    session s;

#ifdef M_PERTURB
    mallopt(M_PERTURB, 0x80); /* what nobody has written is 3e38 */
#endif
    open_session(&s, 1, 2, 1, NULL);
    FAILS(ls_input_gradient(s.run.trainer, s.run.batch, true, "q", 1, got),
          LS_ENOTFOUND, "no input is named \"q\"");
    FAILS(ls_input_gradient(s.run.trainer, s.run.batch, true, "label", 7, got),
          LS_EINVAL, "\"label\": its numbers are integers");
    FAILS(ls_input_gradient(s.run.trainer, s.run.batch, true, "x", 71, got),
          LS_ESHAPE, "7 rows of 72 elements do not fill 71");
    OK(ls_batch_set_weights(s.run.batch, none, ROWS));
    gradient(&s, 1, 0, got);
    for (int k = 0; k < ROWS * 72; k++)
        ck_assert(got[k] == 0);
    OK(ls_batch_set_weights(s.run.batch, NULL, 0));
    s.x[0][2 * 72 + 5] = INFINITY;
    FAILS(ls_input_gradient(s.run.trainer, s.run.batch, true, "x", ROWS * 72,
                            got), LS_ENONFINITE, "first in row 2 of the batch");
    close_run(&s.run);
    s.run = open_gradient_on(2, 1, &own, NULL);
    FAILS(ls_input_gradient(s.run.trainer, s.run.batch, true, "x", 6, got),
          LS_ENOTSUP, "a gradient function of your own");
    close_run(&s.run);
}

MAIN()
