/* SPDX-License-Identifier: BSD-3-Clause */
/* Gradient accumulation: which rows, in which order, and the same bits on any
 * number of workers. */
#include "models.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------ the order ------ */

enum { DEVICES = 3, ROWS = 24 };

/* The gradient is the sum of the shard's x, in order; the loss too. */
static int sum_of_rows(void *user, int device, const ls_shard *shard,
                       const float *const *params, float *const *grads,
                       ls_sums *sums)
{
    const float *x = shard->data[0];
    float sum = 0;

    (void)user, (void)device, (void)params;
    for (int64_t i = 0; i < shard->rows; i++)
        sum += x[i] * (shard->weights ? shard->weights[i] : 1);
    if (grads)
        grads[0][0] = sum;
    sums->loss = (double)sum;
    for (int64_t i = 0; i < shard->rows; i++)
        sums->weight += shard->weights ? (double)shard->weights[i] : 1;
    return shard->rows == 1 && x[0] == 77 ? -1 : 0;
}

static run open_sum(const ls_trainer_options *o)
{
    static const ls_array_spec input = {"x", LS_F32, 0, {0}};
    static const ls_array_spec param = {"p", LS_F32, 0, {0}};
    ls_gradient gradient = {sum_of_rows, NULL, 1, 1, &input, &param};

    return open_gradient_on(DEVICES, 2, &gradient, o);
}

/* Micro-batch i is rows iB/K on, cut over the devices; device d adds them in
 * order: (acc + g), then comes the tree. */
static float expected_sum(const float *x, int k)
{
    int64_t n = ROWS / DEVICES / k;
    float device[DEVICES];

    for (int d = 0; d < DEVICES; d++)
        for (int m = 0; m < k; m++) {
            float sum = 0;

            for (int64_t i = 0; i < n; i++)
                sum += x[(m * DEVICES + d) * n + i];
            device[d] = m ? device[d] + sum : sum;
        }
    return (device[0] + device[1]) + device[2];
}

/* Rows and additions are those of the definition, for every K that divides. */
TEST(test_order)
{
    static const int micro[] = {0, 1, 2, 4, 8};
    float x[ROWS];

    fill_sizes(x, ROWS, 1);
    for (int i = 0; i < 5; i++) {
        ls_trainer_options o = ls_trainer_defaults();
        float want = expected_sum(x, micro[i] ? micro[i] : 1), p;
        ls_result r;

        o.accumulate = micro[i];
        o.optimizer = ls_sgd(1);
        o.mean = LS_SUM;
        run s = open_sum(&o);
        OK(ls_batch_set(s.batch, "x", LS_F32, x, ROWS));
        OK(ls_evaluate(s.trainer, s.batch, &r));
        ck_assert_double_eq_tol((double)r.loss, (double)want, 1e-4);
        OK(ls_step(s.trainer, s.batch, &r));
        OK(ls_trainer_get(s.trainer, "p", 1, &p));
        ck_assert_msg(p == -want, "K %d: %a is not %a", micro[i], (double)-p,
                      (double)want);
        ck_assert_int_eq(r.rows, ROWS);
        ck_assert(r.weight == ROWS && isnan(r.accuracy));
        ck_assert_int_eq(ls_trainer_step(s.trainer), 1);
        close_run(&s);
    }
}

/* The mean is over all rows of the step by weight, or over devices, each with
 * the weight of all its micro-batches; never over micro-batches. */
TEST(test_means)
{
    static const float x[6] = {1, 2, 3, 10, 20, 30};
    static const float w[6] = {1, 0, 1, 1, 1, 0};
    static const double want[] = {(1 + 3 + 10 + 20) / 4.0,
                                  (11 / 2.0 + 20 / 1.0 + 3 / 1.0) / 3};

    for (int mean = LS_MEAN_EXACT; mean <= LS_MEAN_OF_SHARDS; mean++) {
        ls_trainer_options o = ls_trainer_defaults();
        ls_result r;
        float p;

        o.accumulate = 2;
        o.optimizer = ls_sgd(1);
        o.mean = (ls_mean)mean;
        run s = open_sum(&o);
        OK(ls_batch_set(s.batch, "x", LS_F32, x, 6));
        OK(ls_batch_set_weights(s.batch, w, 6));
        OK(ls_step(s.trainer, s.batch, &r));
        OK(ls_trainer_get(s.trainer, "p", 1, &p));
        ck_assert_double_eq_tol((double)r.loss, want[mean], 1e-6);
        ck_assert_double_eq_tol((double)-p, want[mean], 1e-6);
        ck_assert(r.weight == 4.0);
        close_run(&s);
    }
}

/* A count that makes no sense, rows that do not divide, and a row that is not
 * finite or fails in a later micro-batch are named. */
TEST(test_refused)
{
    ls_trainer_options o = ls_trainer_defaults();
    static const ls_array_spec spec = {"x", LS_F32, 0, {0}};
    ls_gradient gradient = {sum_of_rows, NULL, 1, 1, &spec, &spec};
    float x[ROWS] = {0};
    ls_trainer *t = NULL;
    ls_result r;

    o.accumulate = 4;
    o.even_rows = true;
    run s = open_sum(&o);
    FAILS(ls_batch_set(s.batch, "x", LS_F32, x, 18), LS_ESHAPE,
            "18 rows do not divide by 3 devices x 4 micro-batches");
    OK(ls_batch_set(s.batch, "x", LS_F32, x, ROWS));
    x[17] = NAN;
    FAILS(ls_step(s.trainer, s.batch, &r), LS_ENONFINITE,
            "device 2, first in row 17 of the batch");
    OK(ls_batch_set(s.batch, "x", LS_F32, x, 12));
    x[8] = 77;
    FAILS(ls_step(s.trainer, s.batch, &r), LS_EUSER, "on device 2");
    o.accumulate = -1;
    FAILS(ls_trainer_open_gradient(&t, s.pool, &gradient, &o), LS_EINVAL,
            "-1 micro-batches");
    o.accumulate = 65537;
    FAILS(ls_trainer_open_gradient(&t, s.pool, &gradient, &o), LS_EINVAL,
            "65537 micro-batches");
    ck_assert_ptr_null(t);
    close_run(&s);
}

/* ------ bits ------ */

enum { WIDE = 70, MANY = 7 * 3 * 4 };

static float rows_x[MANY * WIDE], rows_y[MANY * 3];

typedef struct outcome {
    float loss[5], norm[5];
    char hex[65];
} outcome;

static run open_graph(int workers, ls_state state, int accumulate)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_graph *g = empty_graph();
    run s;

    ls_node *x = ls_input(g, "x", LS_F32, 1, (int64_t[]){WIDE});
    ls_node *y = ls_input(g, "y", LS_F32, 1, (int64_t[]){3});
    ls_node *h = ls_gelu(ls_dense(x, WIDE, "hidden"));
    ls_loss(g, ls_mean_squared_error(ls_dense(h, 3, "out"), y));
    o.optimizer = ls_adam(1e-2);
    o.accumulate = accumulate;
    o.clip_norm = 2;
    o.state = state;
    s = open_run_on(7, workers, g, &o);
    OK(ls_batch_set(s.batch, "x", LS_F32, rows_x, MANY));
    OK(ls_batch_set(s.batch, "y", LS_F32, rows_y, MANY));
    return s;
}

static outcome train(int workers, ls_state state, int accumulate)
{
    run s = open_graph(workers, state, accumulate);
    outcome out = {0};

    for (int i = 0; i < 5; i++) {
        ls_result r;

        OK(ls_step(s.trainer, s.batch, &r));
        out.loss[i] = r.loss;
        out.norm[i] = r.grad_norm;
    }
    ls_trainer_hash(s.trainer, out.hex);
    close_run(&s);
    return out;
}

/* Any number of workers and both placements give the same bytes. */
TEST(test_workers)
{
    static const int workers[] = {1, 2, 3, 7};
    outcome first = train(1, LS_REPLICATE, 3);

    for (int i = 0; i < 4; i++)
        for (int state = LS_REPLICATE; state <= LS_SHARD; state++) {
            outcome o = train(workers[i], (ls_state)state, 3);

            ck_assert_mem_eq(&o, &first, sizeof o);
        }
}

/* The same training as without, but for the order of additions. */
TEST(test_near_plain)
{
    outcome plain = train(2, LS_REPLICATE, 1), three = train(2, LS_SHARD, 3);

    ck_assert_str_ne(plain.hex, three.hex);
    for (int i = 0; i < 5; i++) {
        ck_assert(fabsf(three.loss[i] / plain.loss[i] - 1) < 1e-5f);
        ck_assert(fabsf(three.norm[i] / plain.norm[i] - 1) < 1e-5f);
    }
}

int main(void)
{
    fill_sizes(rows_x, MANY * WIDE, 2);
    fill_sizes(rows_y, MANY * 3, 3);
    return RUN_TESTS();
}
