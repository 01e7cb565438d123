/* SPDX-License-Identifier: BSD-3-Clause */
/* Labels below 0 are ignored by cross entropy: PyTorch's numbers, the bytes of
 * rows without weight, and the same bytes on any number of workers. */
#include "golden/ignored.h"
#include "layers.h"
#include "models.h"

#include <math.h>

enum { ROWS = IGNORED_ROWS, TERMS = IGNORED_TERMS, ALL = ROWS * TERMS,
       CLASSES = IGNORED_CLASSES, WIDTH = IGNORED_WIDTH, STEPS = 3 };

/* A dense layer on each of `terms` vectors of a row. */
static ls_graph *classifier(int terms)
{
    ls_graph *g = empty_graph();
    ls_node *x = ls_input(g, "x", LS_F32, 2, (int64_t[]){terms, WIDTH});
    ls_node *y = ls_input(g, "label", LS_I32, 1, (int64_t[]){terms});

    OK(ls_loss(g, ls_cross_entropy(dense_no_bias(x, CLASSES, "out"), y)));
    return g;
}

static run opened(ls_pool *pool, int terms, ls_optimizer optimizer,
                  const int32_t *label, const float *weight)
{
    ls_trainer_options o = ls_trainer_defaults();
    run r;

    o.optimizer = optimizer;
    r = open_run(pool, classifier(terms), &o);
    OK(ls_trainer_set(r.trainer, "out.kernel", WIDTH * CLASSES, ignored_w));
    OK(ls_batch_set(r.batch, "x", LS_F32, ignored_x, ALL / terms));
    OK(ls_batch_set(r.batch, "label", LS_I32, label, ALL / terms));
    OK(ls_batch_set_weights(r.batch, weight, ALL / terms));
    return r;
}

/* Proves that loss, weight, accuracy and gradient are PyTorch's with
 * ignore_index, on one device and on several. */
TEST(torch_numbers)
{
    for (int devices = 1; devices <= 5; devices += 2) {
        ls_pool *pool = open_pool(devices, 2);
        run r = opened(pool, TERMS, ls_sgd(1), ignored_label, ignored_weight);
        ls_result result = step(&r);
        float w[WIDTH * CLASSES];

        ck_assert(fabsf(result.loss - ignored_loss[0]) < 1e-6f);
        ck_assert(result.weight == (double)ignored_loss[1]);
        ck_assert(fabsf(result.accuracy - ignored_loss[2]) < 1e-7f);
        OK(ls_trainer_get(r.trainer, "out.kernel", WIDTH * CLASSES, w));
        for (int i = 0; i < WIDTH * CLASSES; i++)
            ck_assert(fabsf(w[i] - ignored_after[i]) < 1e-6f);
        close_run(&r);
        ls_pool_close(pool);
    }
}

typedef struct outcome {
    ls_result result[STEPS];
    char hex[65];
} outcome;

static outcome train(int devices, int workers, const int32_t *label,
                     const float *weight)
{
    ls_pool *pool = open_pool(devices, workers);
    run r = opened(pool, 1, ls_adamw(0.1), label, weight);
    outcome o = {0};

    for (int i = 0; i < STEPS; i++) {
        ls_result one = step(&r);

        o.result[i] = (ls_result){.loss = one.loss, .weight = one.weight,
                                  .accuracy = one.accuracy};
    }
    ls_trainer_hash(r.trainer, o.hex);
    close_run(&r);
    ls_pool_close(pool);
    return o;
}

/* Proves that an ignored label has the bytes of a row of weight 0, whatever
 * number below 0 it is and however many workers there are. */
TEST(rows_without_weight)
{
    int32_t label[ALL];
    float weight[ALL], zero[ALL];

    for (int i = 0; i < ALL; i++) {
        weight[i] = ignored_weight[i / TERMS];
        zero[i] = ignored_label[i] < 0 ? 0 : weight[i];
        label[i] = ignored_label[i] < 0 ? 2 : ignored_label[i];
    }
    outcome want = train(4, 1, label, zero);
    for (int i = 0; i < ALL; i++)
        if (ignored_label[i] < 0)
            label[i] = i % 2 ? -1 : INT32_MIN;
    for (int workers = 1; workers <= 3; workers++) {
        outcome got = train(4, workers, label, weight);

        ck_assert_mem_eq(&got, &want, sizeof got);
    }
    ck_assert(want.result[0].loss != want.result[2].loss);
}

/* Proves that logits of an ignored label may be anything, that a batch of such
 * labels alone updates nothing and says why, and what losses of rows are. */
TEST(nothing_is_left)
{
    static int32_t none[ALL];
    static float bad[ALL * WIDTH], loss[ROWS];
    ls_pool *pool = open_pool(2, 2);
    run r = opened(pool, TERMS, ls_sgd(1), ignored_label, NULL);
    ls_result result;

    memcpy(bad, ignored_x, sizeof bad);
    for (int i = 0; i < TERMS * WIDTH; i++)
        bad[TERMS * WIDTH + i] = 3e38f; /* of row 1 */
    OK(ls_batch_set(r.batch, "x", LS_F32, bad, ROWS));
    OK(ls_evaluate(r.trainer, r.batch, &result));
    ck_assert(isfinite(result.loss) && result.weight == ALL - 6);
    OK(ls_row_losses(r.trainer, r.batch, ROWS, loss));
    for (int i = 0; i < ROWS; i++)
        ck_assert(i == 1 ? isnan(loss[i]) : isfinite(loss[i]));
    for (int i = 0; i < ALL; i++)
        none[i] = -1;
    OK(ls_batch_set(r.batch, "label", LS_I32, none, ROWS));
    OK(ls_step(r.trainer, r.batch, &result));
    ck_assert(!result.updated && isnan(result.loss) && result.weight == 0);
    ck_assert_ptr_nonnull(strstr(ls_errmsg(), "labels are ignored"));
    close_run(&r);
    ls_pool_close(pool);
}

/* Proves that labels which anything else reads are refused below 0. */
TEST(read_by_others)
{
    static const int32_t label[2] = {1, -1};

    for (int other = 0; other < 2; other++) {
        ls_graph *g = empty_graph();
        ls_node *x = ls_input(g, "x", LS_F32, 1, (int64_t[]){WIDTH});
        ls_node *y = ls_input(g, "label", LS_I32, 0, NULL);
        ls_node *logits = ls_dense(x, CLASSES, "out");

        if (other)
            ls_metric(g, ls_label_terms(logits, y, 0));
        OK(ls_loss(g, ls_cross_entropy(logits, y)));
        run r = open_run_on(1, 1, g, NULL);

        if (other)
            FAILS(ls_batch_set(r.batch, "label", LS_I32, label, 2), LS_ERANGE,
                  "row 1, element 0 is -1; it must be at least 0 and below 5");
        else
            OK(ls_batch_set(r.batch, "label", LS_I32, label, 2));
        close_run(&r);
    }
}

MAIN()
