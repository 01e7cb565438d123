/* SPDX-License-Identifier: BSD-3-Clause */
/* Batches: what they refuse and how they say it, sizes that change from step
 * to step, and shards that are views of the caller's rows. */
#include "regression.h"

/* Proves that a batch refuses what does not fit when it is set, in words that
 * name the input, the sizes and the place. */
TEST(batch_set_errors)
{
    static const int32_t labels[ROWS] = {0, 1, 2, 3, 4, 0, 1, 5, 3, 4, 0, 1};
    static const int32_t negative[ROWS] = {0, 1, -1};
    ls_trainer_options o = ls_trainer_defaults();
    float *x = normals(1, ROWS * 9);
    ls_batch *b;
    run r;

    o.even_rows = true;
    r = open_run_on(DEVICES, 2, mlp_graph(), &o);
    b = r.batch;
    FAILS(ls_batch_set(b, "x", LS_F32, x, 10), LS_ESHAPE,
          "x: 10 rows do not divide by 4 devices");
    FAILS(ls_batch_set(b, "x", LS_F32, x, 0), LS_EINVAL, "0 rows");
    FAILS(ls_batch_set(b, "x", LS_F32, x, -4), LS_EINVAL, "-4 rows");
    FAILS(ls_batch_set(b, "x", LS_F32, x, INT64_MAX / DEVICES * DEVICES),
          LS_ESHAPE, "more than memory has");
    FAILS(ls_batch_set(b, "x", LS_I32, x, ROWS), LS_EINVAL,
          "\"x\" takes LS_F32");
    FAILS(ls_batch_set(b, "label", LS_F32, x, ROWS), LS_EINVAL,
          "\"label\" takes LS_I32");
    FAILS(ls_batch_set(b, "x", LS_F32, NULL, ROWS), LS_EINVAL, "NULL");
    FAILS(ls_batch_set(b, "labels", LS_I32, labels, ROWS), LS_ENOTFOUND,
          "\"labels\"");
    FAILS(ls_batch_set(b, "label", LS_I32, labels, ROWS), LS_ERANGE,
          "\"label\": row 7, element 0 is 5; it must be below 5");
    OK(ls_batch_set(b, "label", LS_I32, negative, ROWS)); /* ignored */
    free(x);
    close_run(&r);
}

/* Proves that a token out of range is named by row and element. */
TEST(token_out_of_range)
{
    static const lm_sizes sizes = {37, 12, 8, 2, 1, 16};
    run r = open_run_on(DEVICES, 2, lm_graph(&sizes), NULL);
    int32_t *tokens = integers(3, 37, ROWS * 12);

    tokens[5 * 12 + 9] = 37;
    FAILS(ls_batch_set(r.batch, "tokens", LS_I32, tokens, ROWS), LS_ERANGE,
          "row 5, element 9 is 37");
    tokens[5 * 12 + 9] = -1; /* the loss would ignore it: not so the table */
    FAILS(ls_batch_set(r.batch, "tokens", LS_I32, tokens, ROWS), LS_ERANGE,
          "row 5, element 9 is -1; it must be at least 0 and below 37");
    tokens[5 * 12 + 9] = 36;
    OK(ls_batch_set(r.batch, "tokens", LS_I32, tokens, ROWS));
    ck_assert(step(&r).updated);
    free(tokens);
    close_run(&r);
}

/* Proves that weights are refused when they are no weights. */
TEST(weight_errors)
{
    static const float bad[] = {-1, NAN, INFINITY};
    regression q = open_regression(LS_MEAN_EXACT, ls_sgd(0.1));
    float weights[ROWS];

    for (size_t i = 0; i < COUNT(bad); i++) {
        memcpy(weights, uneven, sizeof weights);
        weights[5] = bad[i];
        FAILS(ls_batch_set_weights(q.run.batch, weights, ROWS), LS_ERANGE,
              "weights: row 5 ");
    }
    FAILS(ls_batch_set_weights(q.run.batch, uneven, 0), LS_EINVAL,
          "weights: a batch of 0 rows is empty");
    ck_assert(step(&q.run).weight == ROWS * OUT); /* none of them was taken */
    close_regression(&q);
}

/* Proves that a step refuses a batch that is not complete or not its own. */
TEST(incomplete_batches)
{
    regression q = open_regression(LS_MEAN_EXACT, ls_adam(0.1));
    run other = open_run(q.run.pool, linear_graph(IN, OUT), NULL);
    run mixed = {.trainer = q.run.trainer, .batch = other.batch};
    run none = {.trainer = q.run.trainer};

    fails(&other, LS_EINVAL, "\"x\"", "not set");
    OK(ls_batch_set(other.batch, "x", LS_F32, q.x, ROWS));
    fails(&other, LS_EINVAL, "\"y\"", "not set");
    OK(ls_batch_set(other.batch, "y", LS_F32, q.y, 8));
    fails(&other, LS_ESHAPE, "\"x\" has 12 rows", "\"y\" has 8");
    OK(ls_batch_set(other.batch, "x", LS_F32, q.x, 8));
    OK(ls_batch_set_weights(other.batch, uneven, ROWS));
    fails(&other, LS_ESHAPE, "8 rows", "weights 12");
    OK(ls_batch_set_weights(other.batch, NULL, 0));
    fails(&mixed, LS_EINVAL, "another trainer", "batch");
    fails(&none, LS_EINVAL, "", "batch");
    ck_assert(step(&other).updated);
    close_run(&other);
    close_regression(&q);
}

/* Proves that a batch may grow and shrink from step to step, as a trainer that
 * never saw another size does. */
TEST(batch_sizes_change)
{
    static const int64_t sizes[] = {4, 12, 8, 12, 4};
    regression q = open_regression(LS_MEAN_EXACT, ls_sgd(0));

    for (size_t i = 0; i < COUNT(sizes); i++) {
        regression fresh = open_regression(LS_MEAN_EXACT, ls_sgd(0));
        const regression *both[] = {&q, &fresh};
        ls_result r[2];

        for (int k = 0; k < 2; k++) {
            ls_batch *b = both[k]->run.batch;

            OK(ls_batch_set(b, "x", LS_F32, q.x, sizes[i]));
            OK(ls_batch_set(b, "y", LS_F32, q.y, sizes[i]));
            r[k] = step(&both[k]->run);
            ck_assert_int_eq(r[k].rows, sizes[i]);
        }
        ck_assert_mem_eq(&r[0].loss, &r[1].loss, sizeof r[0].loss);
        close_regression(&fresh);
    }
    close_regression(&q);
}

/* What each device was given. */
typedef struct seen {
    int calls[DEVICES];
    ls_shard shard[DEVICES];
    const void *data[DEVICES][2];
} seen;

static int look(void *user, int device, const ls_shard *shard,
                const float *const *params, float *const *grads,
                ls_sums *out)
{
    seen *s = user;

    s->calls[device]++;
    s->shard[device] = *shard;
    s->data[device][0] = shard->data[0];
    s->data[device][1] = shard->data[1];
    if (out->loss != 0 || out->weight != 0 || !isnan(out->correct))
        return -1;
    own_linear(NULL, device, shard, params, grads, out);
    out->correct = out->weight * (device + 1) / 8;
    return 0;
}

/* What look() counts as right, over all weight. */
static double share_right(bool weighted)
{
    double right = 0, weight = 0;

    for (int i = 0; i < ROWS; i++) {
        double w = weighted ? (double)uneven[i] : 1;

        right += w * (i / PER_DEVICE + 1) / 8;
        weight += w;
    }
    return right / weight;
}

/* Proves that each device is called once a step with its rows of the caller's
 * own arrays, no copies, and that accuracy is the weighted share. */
TEST(shards_are_views)
{
    regression q = open_regression(LS_MEAN_EXACT, ls_sgd(0.1));
    seen s = {{0}, {{0}}, {{NULL}}};
    run r = open_own(q.run.pool, look, &s, ls_sgd(0.1));

    OK(ls_batch_set(r.batch, "x", LS_F32, q.x, ROWS));
    OK(ls_batch_set(r.batch, "y", LS_F32, q.y, ROWS));
    for (int weighted = 0; weighted < 2; weighted++) {
        if (weighted)
            OK(ls_batch_set_weights(r.batch, uneven, ROWS));
        near((double)step(&r).accuracy, share_right(weighted), 1e-6);
        for (int d = 0; d < DEVICES; d++) {
            int first = d * PER_DEVICE;

            ck_assert_int_eq(s.calls[d], weighted + 1);
            ck_assert_int_eq(s.shard[d].first, first);
            ck_assert_int_eq(s.shard[d].rows, PER_DEVICE);
            ck_assert_ptr_eq(s.data[d][0], q.x + first * IN);
            ck_assert_ptr_eq(s.data[d][1], q.y + first * OUT);
            ck_assert_ptr_eq(s.shard[d].weights,
                             weighted ? uneven + first : NULL);
        }
    }
    close_run(&r);
    close_regression(&q);
}

/* Proves that a batch knows when its trainer is closed, and is not taken for
 * that of another trainer, wherever that lies in memory. */
TEST(closed_trainer)
{
    ls_pool *pool = open_pool(DEVICES, 2);
    run r = open_run(pool, mlp_graph(), NULL), other;
    ls_batch *b = r.batch;
    float *x = normals(1, ROWS * 9);
    ls_result out;

    ls_trainer_close(r.trainer);
    FAILS(ls_batch_set(b, "x", LS_F32, x, ROWS), LS_EINVAL,
          "trainer is closed");
    FAILS(ls_batch_set_weights(b, NULL, 0), LS_EINVAL, "trainer is closed");
    other = open_run(pool, mlp_graph(), NULL);
    FAILS(ls_step(other.trainer, b, &out), LS_EINVAL, "another trainer");
    close_run(&other);
    ls_batch_close(b);
    free(x);
    ls_pool_close(pool);
}

/* Proves that rows are not read behind the elements that there are. */
TEST(short_views)
{
    static const int32_t labels[ROWS] = {0};
    run r = open_run_on(DEVICES, 2, mlp_graph(), NULL);
    float *x = normals(1, ROWS * 9);

    FAILS(ls_batch_set_view(r.batch, "x", LS_F32, ROWS * 9 - 1, x, ROWS),
          LS_ESHAPE, "12 rows of 9 elements need 108, and the data has 107");
    FAILS(ls_batch_set_view(r.batch, "label", LS_I32, -1, labels, 1), LS_ESHAPE,
          "has -1");
    OK(ls_batch_set_view(r.batch, "x", LS_F32, ROWS * 9, x, ROWS));
    OK(ls_batch_set_view(r.batch, "label", LS_I32, ROWS, labels, ROWS - 1));
    free(x);
    close_run(&r);
}

MAIN()
