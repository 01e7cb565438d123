/* SPDX-License-Identifier: BSD-3-Clause */
/* Metrics beside the loss: the weighted mean of a node over each batch, or of
 * what a gradient function sums. */
#include "calls.h"
#include "models.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { ROWS = 24, IN = 9, OUT = 4, STEPS = 3 };

/* Dense, tanh, dense, and when asked a metric on the hidden layer, on the
 * output, and on a node that the loss does not need, made after it. */
static ls_graph *watched(bool metrics)
{
    ls_graph *g = empty_graph();
    ls_node *x, *y, *h, *loss;

    x = ls_input(g, "x", LS_F32, 1, (int64_t[]){IN});
    y = ls_input(g, "y", LS_F32, 1, (int64_t[]){OUT});
    h = ls_tanh(ls_dense(x, 7, "hidden"));
    x = ls_dense(h, OUT, "out");
    loss = ls_mean_squared_error(x, y);
    OK(ls_loss(g, loss));
    if (!metrics)
        return g;
    OK(ls_output(g, h, "h"));
    OK(ls_output(g, x, "x"));
    ck_assert_int_eq(ls_metric(g, h), 0);
    ck_assert_int_eq(ls_metric(g, x), 1);
    ck_assert_int_eq(ls_metric(g, ls_sigmoid(x)), 2);
    return g;
}

typedef struct session {
    run run;
    float *x, *y, *weights;
} session;

static session open_session(bool metrics, int devices, int workers, int micro)
{
    ls_trainer_options o = ls_trainer_defaults();
    session s = {.x = normals(1, (int64_t)ROWS * IN),
                 .y = normals(2, (int64_t)ROWS * OUT),
                 .weights = normals(3, ROWS)};

    o.accumulate = micro;
    s.run = open_run_on(devices, workers, watched(metrics), &o);
    for (int i = 0; i < ROWS; i++)
        s.weights[i] = (float)(i % 4) / 2;
    OK(ls_batch_set(s.run.batch, "x", LS_F32, s.x, ROWS));
    OK(ls_batch_set(s.run.batch, "y", LS_F32, s.y, ROWS));
    OK(ls_batch_set_weights(s.run.batch, s.weights, ROWS));
    return s;
}

static void close_session(session *s)
{
    close_run(&s->run);
    free(s->x);
    free(s->y);
    free(s->weights);
}

/* The weighted mean of a node that is an output too. */
static double mean_of(const session *s, const char *output, int64_t n)
{
    float y[ROWS * 7];
    double sum = 0, weight = 0;

    OK(ls_predict(s->run.trainer, s->run.batch, output, ROWS * n, y));
    for (int64_t i = 0; i < ROWS * n; i++) {
        double w = (double)s->weights[i / n];

        sum += w == 0 ? 0 : w * (double)y[i];
        weight += w;
    }
    return sum / weight;
}

static void near(float got, double want)
{
    ck_assert_msg(fabs((double)got - want) < 1e-6, "metric is %g, must be %g",
                  (double)got, want);
}

/* Proves that a metric is the weighted mean of its node before the update, in
 * training as in evaluation, with and without micro-batches. */
LOOP_TEST(means, 0, 3)
{
    session s = open_session(true, 4, 2, 1 + _i);
    ls_result r, seen;

    for (int i = 0; i < STEPS; i++) {
        double h = mean_of(&s, "h", 7), x = mean_of(&s, "x", OUT);

        OK(ls_evaluate(s.run.trainer, s.run.batch, &seen));
        r = step(&s.run);
        near(r.metric[0], h);
        near(r.metric[1], x);
        ck_assert(r.metric[2] > 0 && r.metric[2] < 1);
        ck_assert_mem_eq(seen.metric, r.metric, 3 * sizeof *r.metric);
        for (int k = 3; k < LS_METRICS; k++)
            ck_assert(isnan(r.metric[k]));
    }
    close_session(&s);
}

/* Proves that a metric changes no bit of the training, and has the same bits
 * itself on any number of workers. */
TEST(any_workers)
{
    static const int workers[] = {1, 2, 3, 7};
    session plain = open_session(false, 8, 2, 1);
    ls_result first[STEPS];
    char want[65], got[65];

    for (int i = 0; i < STEPS; i++)
        ck_assert(isnan(step(&plain.run).metric[0]));
    ls_trainer_hash(plain.run.trainer, want);
    for (size_t w = 0; w < COUNT(workers); w++) {
        session s = open_session(true, 8, workers[w], 1);

        for (int i = 0; i < STEPS; i++) {
            ls_result r = step(&s.run);

            if (w == 0)
                first[i] = r;
            ck_assert_mem_eq(r.metric, first[i].metric, 3 * sizeof *r.metric);
        }
        ls_trainer_hash(s.run.trainer, got);
        ck_assert_str_eq(got, want);
        close_session(&s);
    }
    close_session(&plain);
}

/* Proves that masked rows may hold anything, and that without any weight there
 * is no mean. */
TEST(masked)
{
    session s = open_session(true, 4, 2, 1);
    ls_result clean, r;

    OK(ls_evaluate(s.run.trainer, s.run.batch, &clean));
    for (int i = 0; i < ROWS * IN; i++)
        if (s.weights[i / IN] == 0)
            s.x[i] = 1e30f;
    OK(ls_evaluate(s.run.trainer, s.run.batch, &r));
    ck_assert_mem_eq(r.metric, clean.metric, 3 * sizeof *r.metric);
    memset(s.weights, 0, ROWS * sizeof *s.weights);
    OK(ls_evaluate(s.run.trainer, s.run.batch, &r));
    ck_assert(isnan(r.metric[0]));
    close_session(&s);
}

/* Counts rows above 0 for metric 0, and rows of each micro-batch's second half
 * for metric 1; its gradient is 0. */
static int count_rows(void *user, int device, const ls_shard *shard,
                      const float *const *params, float *const *grads,
                      ls_sums *sums)
{
    const float *x = shard->data[0];

    (void)device, (void)params;
    if (grads)
        grads[0][0] = 0;
    for (int64_t i = 0; i < shard->rows; i++) {
        sums->metric[0].sum += x[i] > 0;
        sums->metric[0].weight++;
        sums->metric[1].sum += shard->row + i >= *(int *)user;
        sums->metric[1].weight++;
        sums->weight++;
    }
    return 0;
}

/* Proves that what a gradient function sums is added over devices and
 * micro-batches, and that its shards are told their place in a micro-batch. */
TEST(own_gradient)
{
    static const ls_array_spec x = {"x", LS_F32, 0, {0}};
    static const ls_array_spec p = {"p", LS_F32, 0, {0}};
    int half = ROWS / 4;
    ls_gradient own = {count_rows, &half, 1, 1, &x, &p};
    ls_trainer_options o = {.size = sizeof o,
                            .optimizer = ls_sgd(1), .accumulate = 2};
    float rows[ROWS];
    ls_result r;
    run s;

    for (int i = 0; i < ROWS; i++)
        rows[i] = i % 3 ? 1 : -1;
    s = open_gradient_on(3, 2, &own, &o);
    OK(ls_batch_set(s.batch, "x", LS_F32, rows, ROWS));
    r = step(&s);
    near(r.metric[0], 2.0 / 3);
    near(r.metric[1], 0.5);
    ck_assert(isnan(r.metric[2]));
    close_run(&s);
}

/* Proves that what has no value, and one metric too many, are refused. */
TEST(refused)
{
    for (int i = 0; i < 4; i++) {
        ls_graph *g = empty_graph();
        ls_node *x, *y, *node[3];

        x = ls_input(g, "x", LS_F32, 1, (int64_t[]){IN});
        y = ls_dense(x, IN, "d");
        node[0] = x;
        node[1] = ls_mean_squared_error(y, x);
        node[2] = NULL;
        for (int k = 0; i == 3 && k < LS_METRICS; k++)
            ck_assert_int_eq(ls_metric(g, y), k);
        FAILS(ls_metric(g, i < 3 ? node[i] : y), LS_EINVAL,
              i < 2   ? "metric 0: the node is not"
              : i < 3 ? "ls_metric: node is NULL"
                      : "metric 8: there are");
        FAILS(ls_loss(g, node[1]), LS_EINVAL, "metric");
        ls_graph_free(g);
    }
    FAILS(ls_metric(NULL, NULL), LS_EINVAL, "ls_metric: graph is NULL");
}

MAIN()
