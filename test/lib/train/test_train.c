/* SPDX-License-Identifier: BSD-3-Clause */
/* A step: the three means, a gradient function that is the graph's equal, and
 * steps that do not update, and how they say why.  test_determinism.c has the
 * contract of bits, test_agreement.c the numbers of other programs. */
#include "regression.h"

static void check_mean(ls_mean mean, const float *weights)
{
    regression q = open_regression(mean, ls_sgd(0.01));
    float p[KERNEL + OUT], after[KERNEL + OUT];
    sums want;
    ls_result r;

    OK(ls_batch_set_weights(q.run.batch, weights, ROWS));
    get_linear(q.run.trainer, p);
    want = expected(&q, mean, p, weights);
    r = step(&q.run);
    near((double)r.loss, want.loss, 1e-6);
    near(r.weight, want.weight, 1e-12);
    ck_assert(r.updated && r.rows == ROWS && r.step == 0);
    ck_assert(r.lr == 0.01f);
    get_linear(q.run.trainer, after);
    for (int i = 0; i < KERNEL + OUT; i++)
        near((double)after[i], (double)p[i] - 0.01 * want.grad[i], 1e-6);
    close_regression(&q);
}

/* Proves that each mean is what lockstep.h says, loss and gradient, where rows
 * weigh differently and where all weigh 1. */
LOOP_TEST(three_means, LS_MEAN_EXACT, LS_SUM + 1)
{
    check_mean((ls_mean)_i, uneven);
    check_mean((ls_mean)_i, NULL);
}

/* Proves that the means differ on uneven weights, so that the test above can
 * tell them apart. */
TEST(means_differ)
{
    regression q = open_regression(LS_SUM, ls_sgd(0.1));
    float p[KERNEL + OUT];
    double loss[3];

    get_linear(q.run.trainer, p);
    for (int i = LS_MEAN_EXACT; i <= LS_SUM; i++)
        loss[i] = expected(&q, (ls_mean)i, p, uneven).loss;
    ck_assert(fabs(loss[0] - loss[1]) > 1e-3);
    ck_assert(fabs(loss[0] - loss[2]) > 1e-3);
    close_regression(&q);
}

/* Proves that a trainer around a gradient function of one's own learns as the
 * graph's does: losses and parameters to 1e-6 over 10 steps. */
TEST(own_gradient_as_graph)
{
    regression q = open_regression(LS_MEAN_EXACT, ls_momentum(0.02, 0.9));
    run own = open_own(q.run.pool, own_linear, NULL, ls_momentum(0.02, 0.9));
    float p[KERNEL + OUT], want[KERNEL + OUT];

    get_linear(own.trainer, p);
    for (int i = 0; i < KERNEL + OUT; i++)
        ck_assert(p[i] == 0); /* own parameters start as zeros */
    get_linear(q.run.trainer, p);
    OK(ls_trainer_set(own.trainer, "kernel", KERNEL, p));
    OK(ls_batch_set(own.batch, "x", LS_F32, q.x, ROWS));
    OK(ls_batch_set(own.batch, "y", LS_F32, q.y, ROWS));
    OK(ls_batch_set_weights(own.batch, uneven, ROWS));
    OK(ls_batch_set_weights(q.run.batch, uneven, ROWS));
    for (int i = 0; i < 10; i++)
        near((double)step(&own).loss, (double)step(&q.run).loss, 1e-6);
    get_linear(own.trainer, p);
    get_linear(q.run.trainer, want);
    for (int i = 0; i < KERNEL + OUT; i++)
        near((double)p[i], (double)want[i], 1e-6);
    close_run(&own);
    close_regression(&q);
}

/* ------ Steps that do not update ------ */

/* Proves that a batch of weight 0 updates nothing and is no failure: status 0,
 * no loss, the step stays; and that training then goes on. */
LOOP_TEST(weight_zero_everywhere, 0, 2)
{
    static const float nothing[ROWS];
    regression q = open_regression(_i ? LS_SUM : LS_MEAN_EXACT, ls_adam(0.1));
    before b;
    ls_result r;

    step(&q.run);
    b = remember(q.run.trainer);
    OK(ls_batch_set_weights(q.run.batch, nothing, ROWS));
    r = step(&q.run);
    ck_assert(isnan(r.loss) && isnan(r.accuracy) && !r.updated);
    ck_assert(r.weight == 0 && r.step == 1 && r.rows == ROWS);
    ck_assert_ptr_nonnull(strstr(ls_errmsg(), "12 rows are 0"));
    unchanged(q.run.trainer, &b);
    OK(ls_batch_set_weights(q.run.batch, NULL, 0));
    r = step(&q.run);
    ck_assert(r.updated && r.step == 1 && isfinite(r.loss));
    close_regression(&q);
}

/* Proves that a mean of shards refuses a shard without weight, by number,
 * where the exact mean goes on. */
TEST(empty_shard)
{
    float weights[ROWS];

    for (int mean = LS_MEAN_EXACT; mean <= LS_SUM; mean++) {
        regression q = open_regression((ls_mean)mean, ls_adam(0.1));

        memcpy(weights, uneven, sizeof weights);
        memset(weights + 2 * PER_DEVICE, 0, PER_DEVICE * sizeof *weights);
        OK(ls_batch_set_weights(q.run.batch, weights, ROWS));
        if (mean == LS_MEAN_OF_SHARDS)
            fails(&q.run, LS_EINVAL, "device 2", "weight 0");
        else
            ck_assert(step(&q.run).updated);
        close_regression(&q);
    }
}

/* Proves that a loss that is not finite stops the step, naming device and row,
 * in training and in evaluation, and harms nothing. */
TEST(nonfinite_loss)
{
    static const float bad[] = {NAN, INFINITY, -INFINITY, 1e30f};
    regression q = open_regression(LS_MEAN_EXACT, ls_adam(0.1));
    ls_result r;

    step(&q.run);
    for (size_t i = 0; i < COUNT(bad); i++) {
        float was = q.x[7 * IN + 1];

        q.x[7 * IN + 1] = bad[i];
        fails(&q.run, LS_ENONFINITE, "device 2", "row 7 ");
        ck_assert_ptr_nonnull(strstr(ls_errmsg(), "step 1"));
        FAILS(ls_evaluate(q.run.trainer, q.run.batch, &r), LS_ENONFINITE,
              "row 7 ");
        q.x[7 * IN + 1] = was;
    }
    ck_assert(step(&q.run).updated);
    close_regression(&q);
}

/* Proves that the culprit is named, not a device before it whose rows are all
 * masked. */
TEST(nonfinite_after_masked)
{
    regression q = open_regression(LS_MEAN_EXACT, ls_adam(0.1));
    float weights[ROWS];

    for (int i = 0; i < ROWS; i++)
        weights[i] = i < PER_DEVICE ? 0 : uneven[i];
    OK(ls_batch_set_weights(q.run.batch, weights, ROWS));
    q.x[7 * IN] = NAN;
    fails(&q.run, LS_ENONFINITE, "device 2", "row 7 ");
    close_regression(&q);
}

/* What goes wrong in a gradient function, and where. */
typedef struct trouble {
    int status, device; /* returned on that device */
    float marker;       /* an x whose row makes the bias's gradient ... */
    float value;        /* ... this */
} trouble;

static int troubled(void *user, int device, const ls_shard *shard,
                    const float *const *params, float *const *grads,
                    ls_sums *out)
{
    const trouble *t = user;
    const float *x = shard->data[0];

    own_linear(NULL, device, shard, params, grads, out);
    for (int64_t i = 0; grads && t->value != 0 && i < shard->rows; i++)
        if (x[i * IN] == t->marker)
            grads[1][1] += t->value;
    return device == t->device ? t->status : 0;
}

static run open_troubled(regression *q, trouble *t)
{
    run r = open_own(q->run.pool, troubled, t, ls_adam(0.1));

    OK(ls_batch_set(r.batch, "x", LS_F32, q->x, ROWS));
    OK(ls_batch_set(r.batch, "y", LS_F32, q->y, ROWS));
    step(&r);
    return r;
}

/* Proves that a gradient that is not finite under a finite loss stops the
 * step, naming parameter, device and row. */
TEST(nonfinite_gradient)
{
    regression q = open_regression(LS_MEAN_EXACT, ls_sgd(0.1));
    trouble t = {0, -1, 13, 0};
    run r = open_troubled(&q, &t);

    q.x[10 * IN] = t.marker;
    t.value = INFINITY;
    fails(&r, LS_ENONFINITE, "\"bias\"", "device 3, first in row 10 ");
    t.value = NAN;
    fails(&r, LS_ENONFINITE, "\"bias\"", "device 3, first in row 10 ");
    t.value = 0;
    ck_assert(step(&r).updated);
    close_run(&r);
    close_regression(&q);
}

enum { MANY = 70 };

/* The sum of the last input. */
static int last_of_many(void *user, int device, const ls_shard *shard,
                        const float *const *params, float *const *grads,
                        ls_sums *out)
{
    const float *x = shard->data[MANY - 1];

    (void)user;
    (void)device;
    (void)params;
    for (int64_t i = 0; i < shard->rows; i++)
        out->loss += (double)x[i];
    out->weight = (double)shard->rows;
    if (grads)
        grads[0][0] = 1;
    return 0;
}

/* Proves that the row is found in the last of many inputs. */
TEST(nonfinite_of_many)
{
    regression q = open_regression(LS_MEAN_EXACT, ls_sgd(0.1));
    static const ls_array_spec w = {"w", LS_F32, 1, {1}};
    static char name[MANY][8];
    ls_array_spec input[MANY];
    ls_gradient g = {last_of_many, NULL, MANY, 1, input, &w};
    float x[ROWS] = {0}, bad[ROWS] = {[10] = NAN};
    run r;

    for (int i = 0; i < MANY; i++) {
        snprintf(name[i], sizeof name[i], "x%d", i);
        input[i] = (ls_array_spec){name[i], LS_F32, 0, {0}};
    }
    r = open_gradient(q.run.pool, &g, NULL);
    for (int i = 0; i < MANY; i++)
        OK(ls_batch_set(r.batch, name[i], LS_F32, i < MANY - 1 ? x : bad,
                        ROWS));
    fails(&r, LS_ENONFINITE, "loss", "device 3, first in row 10 ");
    close_run(&r);
    close_regression(&q);
}

/* Proves that a gradient which only overflows when rows are added is refused
 * too, and not blamed on a row. */
TEST(overflow_in_the_sum)
{
    regression q = open_regression(LS_MEAN_EXACT, ls_sgd(0.1));
    trouble t = {0, -1, 13, 0};
    run r = open_troubled(&q, &t);

    q.x[1 * IN] = q.x[10 * IN] = t.marker;
    t.value = 3e38f;
    fails(&r, LS_ENONFINITE, "\"bias\"", "added");
    close_run(&r);
    close_regression(&q);
}

/* Proves that a gradient function's own failure comes back as LS_EUSER with
 * its device and status. */
TEST(user_failure)
{
    regression q = open_regression(LS_MEAN_EXACT, ls_sgd(0.1));
    trouble t = {0, 2, 0, 0};
    run r = open_troubled(&q, &t);
    ls_result result;

    t.status = -77;
    fails(&r, LS_EUSER, "device 2", "-77");
    FAILS(ls_evaluate(r.trainer, r.batch, &result), LS_EUSER, "device 2");
    t.status = 0;
    ck_assert(step(&r).updated);
    close_run(&r);
    close_regression(&q);
}

/* Proves that evaluation changes nothing and gives the loss that the next step
 * reports, to the bit; of shards' means, which are the training's alone, it
 * gives the exact mean. */
LOOP_TEST(evaluate_is_pure, LS_MEAN_EXACT, LS_SUM + 1)
{
    regression q = open_regression((ls_mean)_i, ls_adam(0.1));

    OK(ls_batch_set_weights(q.run.batch, uneven, ROWS));
    for (int i = 0; i < 3; i++) {
        before b = remember(q.run.trainer);
        ls_result seen, done;

        OK(ls_evaluate(q.run.trainer, q.run.batch, &seen));
        unchanged(q.run.trainer, &b);
        ck_assert(!seen.updated && seen.step == i && seen.rows == ROWS);
        done = step(&q.run);
        ck_assert((memcmp(&seen.loss, &done.loss, sizeof seen.loss) != 0) ==
                  (_i == LS_MEAN_OF_SHARDS));
        ck_assert(seen.weight == done.weight);
        ck_assert_int_eq(ls_trainer_step(q.run.trainer), i + 1);
    }
    close_regression(&q);
}

MAIN()
