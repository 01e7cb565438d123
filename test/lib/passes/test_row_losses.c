/* SPDX-License-Identifier: BSD-3-Clause */
/* The loss of each row: to the byte what an evaluation of that row alone gives,
 * on any devices, workers and ranks, in any batch. */
#include "models.h"
#include "on_ranks.h"

enum { ROWS = 11, WIDTH = 9 };

static float x[ROWS * WIDTH];
static int32_t label[ROWS], token[ROWS * 10];
static const lm_sizes lm_size = {12, 10, 8, 2, 1, 16};

static void make_data(void)
{
    float *a = normals(3, ROWS * WIDTH);
    int32_t *b = integers(4, 5, ROWS), *c = integers(5, 12, ROWS * 10);

    memcpy(x, a, sizeof x);
    memcpy(label, b, sizeof label);
    memcpy(token, c, sizeof token);
    free(a);
    free(b);
    free(c);
}

static void set_rows(const run *r, bool lm, int first, int rows)
{
    if (lm) {
        OK(ls_batch_set(r->batch, "tokens", LS_I32, token + first * 10, rows));
        return;
    }
    OK(ls_batch_set(r->batch, "x", LS_F32, x + first * WIDTH, rows));
    OK(ls_batch_set(r->batch, "label", LS_I32, label + first, rows));
}

static run open_model(ls_pool *pool, bool lm, const ls_trainer_options *o)
{
    return open_run(pool, lm ? lm_graph(&lm_size) : mlp_graph(), o);
}

/* Each row evaluated alone, on one device. */
static void make_right(bool lm, float right[ROWS])
{
    ls_pool *pool = open_pool(1, 1);
    run r = open_model(pool, lm, NULL);

    for (int i = 0; i < ROWS; i++) {
        ls_result result;

        set_rows(&r, lm, i, 1);
        OK(ls_evaluate(r.trainer, r.batch, &result));
        right[i] = result.loss;
    }
    close_run(&r);
    ls_pool_close(pool);
}

/* Proves that weights, micro-batches, devices and workers do not matter, and
 * that a step after it is the step without it. */
LOOP_TEST(rows_alone, 0, 4)
{
    static const int devices[] = {1, 4, 8}, workers[] = {1, 3};
    bool lm = _i & 1;
    ls_trainer_options o = ls_trainer_defaults();
    float right[ROWS], got[ROWS], weights[ROWS] = {0, 0.5f, 2};

    o.accumulate = _i & 2 ? 2 : 1;
    make_right(lm, right);
    for (int d = 0; d < 3; d++)
        for (int w = 0; w < 2; w++) {
            ls_pool *pool = open_pool(devices[d], workers[w]);
            run r = open_model(pool, lm, &o), other = open_model(pool, lm, &o);

            set_rows(&r, lm, 0, ROWS);
            set_rows(&other, lm, 0, ROWS);
            OK(ls_batch_set_weights(r.batch, weights, ROWS));
            OK(ls_batch_set_weights(other.batch, weights, ROWS));
            OK(ls_row_losses(r.trainer, r.batch, ROWS, got));
            ck_assert_mem_eq(got, right, sizeof right);
            ck_assert(step(&r).loss == step(&other).loss);
            ck_assert_int_eq(ls_trainer_step(r.trainer), 1);
            close_run(&r);
            close_run(&other);
            ls_pool_close(pool);
        }
}

/* Compute on one rank: status, and the rows. */
static int on_rank(const ls_transport *transport, void *user)
{
    const float *right = user;
    ls_trainer_options o = ls_trainer_defaults();
    ls_pool *pool = open_pool(4, 1);
    float got[ROWS];
    run r;

    o.transport = transport;
    r = open_model(pool, false, &o);
    set_rows(&r, false, 0, ROWS);
    OK(ls_row_losses(r.trainer, r.batch, ROWS, got));
    ck_assert_mem_eq(got, right, sizeof got);
    close_run(&r);
    ls_pool_close(pool);
    return 0;
}

/* Proves that each rank gets the losses of all rows. */
LOOP_TEST(rows_over_ranks, 1, 5)
{
    float right[ROWS];
    ranks_here *all;

    make_right(false, right);
    OK(ranks_open(&all, _i, NULL));
    all_succeed(all, _i, on_rank, right);
    ranks_close(all);
}

/* Row i of weight 2 has the loss 3 i, from two terms; row 7 fails if asked. */
static int local_rows(void *user, int device, const ls_shard *shard,
                      const float *const *params, float *const *grads,
                      ls_sums *sums)
{
    const int *fails = user;

    (void)device, (void)params;
    ck_assert_ptr_null(grads);
    ck_assert_int_eq(shard->rows, 1);
    ck_assert_ptr_null(shard->weights);
    sums->loss = 6 * (double)*(const float *)shard->data[0];
    sums->weight = 2;
    return *fails && shard->first == 7 ? -5 : 0;
}

/* Proves that a gradient function is asked row by row, and its failure said. */
TEST(own_gradient)
{
    const ls_array_spec input = {"x", LS_F32, 0, {0}};
    const ls_array_spec param = {"w", LS_F32, 1, {2}};
    int fails = 0;
    ls_gradient own = {local_rows, &fails, 1, 1, &input, &param};
    float rows[ROWS], got[ROWS];
    run r;

    for (int i = 0; i < ROWS; i++)
        rows[i] = (float)i;
    r = open_gradient_on(3, 2, &own, NULL);
    OK(ls_batch_set(r.batch, "x", LS_F32, rows, ROWS));
    OK(ls_row_losses(r.trainer, r.batch, ROWS, got));
    for (int i = 0; i < ROWS; i++)
        ck_assert(got[i] == (float)(3 * i));
    fails = 1;
    FAILS(ls_row_losses(r.trainer, r.batch, ROWS, got), LS_EUSER, "-5");
    close_run(&r);
}

/* Proves that other sizes and inputs that are not set are refused, and that a
 * loss may be infinite. */
TEST(wrong_rows)
{
    ls_pool *pool = open_pool(2, 2);
    run r = open_model(pool, false, NULL);
    float got[ROWS];

    FAILS(ls_row_losses(r.trainer, r.batch, ROWS, got), LS_EINVAL, "\"x\"");
    set_rows(&r, false, 0, ROWS);
    FAILS(ls_row_losses(r.trainer, r.batch, ROWS - 1, got), LS_ESHAPE,
          "room for 10, and the batch has 11 rows");
    x[4 * WIDTH] = INFINITY;
    OK(ls_row_losses(r.trainer, r.batch, ROWS, got));
    ck_assert(isnan(got[4]) && isfinite(got[3]) && isfinite(got[5]));
    close_run(&r);
    ls_pool_close(pool);
}

MAIN(.setup = make_data)
