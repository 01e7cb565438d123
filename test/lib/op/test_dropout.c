/* SPDX-License-Identifier: BSD-3-Clause */
/* Dropout: Flax's masks, in training only, and the same bits for any number of
 * workers, on every instruction level and after a resume. */
#include "calls.h"
#include "models.h"
#include "train/trainer.h"

#include "golden/dropout.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { ROWS = 24, IN = 9, CLASSES = 5, STEPS = 6 };

/* ------ The model of make_dropout.py ------ */

typedef struct names {
    const char *a, *da, *b, *db, *c;
} names;

static const names nnx_names = {"a", "", "b", "", "c"};
static const names linen_names = {"block_3.Dense_0", "block_3.Dropout_0",
                                  "block_3.Dense_1", "block_3.Dropout_1",
                                  "head"};

/* Rates times `on`: 0 makes the same parameters without dropout. */
static ls_graph *net(const names *n, double on)
{
    ls_graph *g = empty_graph();
    ls_node *x = ls_input(g, "x", LS_F32, 1, (int64_t[]){IN});
    ls_node *y = ls_input(g, "y", LS_I32, 0, NULL);

    x = ls_dropout(ls_gelu(ls_dense(x, 33, n->a)), 0.25 * on, n->da);
    x = ls_dropout(ls_dense(x, 17, n->b), 0.5 * on, n->db);
    x = ls_dense(x, CLASSES, n->c);
    OK(ls_output(g, x, "logits"));
    OK(ls_loss(g, ls_cross_entropy(x, y)));
    return g;
}

typedef struct session {
    run run;
    float *x;
    int32_t *y;
} session;

static session open_session(ls_graph *g, const ls_trainer_options *o,
                            int devices, int workers)
{
    session s = {.x = normals(3, (int64_t)ROWS * IN),
                 .y = integers(4, CLASSES, ROWS)};

    s.run = open_run_on(devices, workers, g, o);
    OK(ls_batch_set(s.run.batch, "x", LS_F32, s.x, ROWS));
    OK(ls_batch_set(s.run.batch, "y", LS_I32, s.y, ROWS));
    return s;
}

static void close_session(session *s)
{
    close_run(&s->run);
    free(s->x);
    free(s->y);
}

/* ------ Flax's numbers ------ */

/* Proves that keys, calls and masks are Flax's, nnx and linen, with the model's
 * key and one of dropout's own, with micro-batches, cut over any devices. */
LOOP_TEST(flax, 0, COUNT(golden_dropouts))
{
    static const int devices[] = {1, 2, 4, 8};
    const golden_dropout *want = &golden_dropouts[_i];
    bool nnx = want->keys == LS_KEYS_NNX;
    ls_trainer_options o = ls_trainer_defaults();

    o.seed = want->seed;
    o.keys = want->keys;
    o.accumulate = want->micro;
    o.own_dropout_key = want->dropout >= 0;
    o.dropout_key = ls_key_new(want->dropout);
    for (size_t d = 0; d < COUNT(devices); d++) {
        session s = open_session(net(nnx ? &nnx_names : &linen_names, 1), &o,
                                 devices[d], 2);

        for (int i = 0; i < STEPS; i++) {
            float loss = step(&s.run).loss;

            ck_assert_msg(fabsf(loss - want->loss[i]) <= 2e-6f,
                          "%d devices, step %d: loss %.9g, Flax has %.9g",
                          devices[d], i, (double)loss, (double)want->loss[i]);
        }
        close_session(&s);
    }
}

/* ------ Bits ------ */

static ls_trainer_options adam(int micro)
{
    ls_trainer_options o = ls_trainer_defaults();

    o.optimizer = ls_adam(1e-2);
    o.accumulate = micro;
    return o;
}

/* Proves that workers and who updates change no bit, whichever devices a
 * worker runs in turn, with and without micro-batches. */
LOOP_TEST(any_workers, 0, 2)
{
    static const int workers[] = {1, 2, 3, 7};
    static const int devices[] = {8, 3};
    ls_trainer_options o = adam(_i ? 1 : 3);
    char want[65], got[65];

    for (size_t w = 0; w < COUNT(workers); w++) {
        session s;

        o.state = w % 2 ? LS_SHARD : LS_REPLICATE;
        s = open_session(net(&nnx_names, 1), &o, devices[_i], workers[w]);
        for (int i = 0; i < STEPS; i++)
            (void)step(&s.run);
        ls_trainer_hash(s.run.trainer, w ? got : want);
        if (w)
            ck_assert_str_eq(got, want);
        close_session(&s);
    }
}

/* Proves that the schedules of dropout and of weight decay count: in their
 * warm-up's first step there is none of either, in the third there is all, and
 * what was changed by the first two is another model. */
TEST(scheduled)
{
    ls_trainer_options o = adam(1);
    session with, without;
    float first[2], second[2];
    ls_pool *pool;
    ls_graph *g;

    o.optimizer = ls_adamw(1e-2);
    o.optimizer.weight_decay = 0.5;
    o.dropout_schedule.warmup = o.decay_schedule.warmup = 2;
    with = open_session(net(&nnx_names, 1), &o, 4, 2);
    o.optimizer.weight_decay = 0;
    without = open_session(net(&nnx_names, 0), &o, 4, 2);
    for (int i = 0; i < 2; i++) {
        first[i] = step(&with.run).loss;
        second[i] = step(&without.run).loss;
    }
    ck_assert(first[0] == second[0]);
    ck_assert(first[1] != second[1]);
    close_session(&with);
    close_session(&without);
    o.dropout_schedule = ls_schedule_defaults(LS_PIECEWISE);
    pool = open_pool(1, 1);
    g = net(&nnx_names, 1);
    FAILS(ls_trainer_open(&with.run.trainer, pool, g, &o), LS_EINVAL,
          "dropout_schedule: schedule piecewise: no boundaries");
    ls_graph_free(g);
    ls_pool_close(pool);
}

/* Copy parameters, moments and the step: all that a checkpoint holds. */
static void copy_state(const ls_trainer *from, ls_trainer *to)
{
    size_t bytes = (size_t)from->model.params.floats * sizeof(float);

    memcpy(to->model.value, from->model.value, bytes);
    for (int i = 0; i < 2; i++)
        if (from->moments.of[i])
            memcpy(to->moments.of[i], from->moments.of[i], bytes);
    to->step = from->step;
}

/* Proves that a run taken up at any step, with other workers, ends as the one
 * that went on: the step alone says which masks come next. */
TEST(resumed)
{
    ls_trainer_options o = adam(3);
    session whole = open_session(net(&nnx_names, 1), &o, 4, 2);
    session part = open_session(net(&nnx_names, 1), &o, 4, 3);
    char want[65], got[65];

    for (int at = 0; at < STEPS; at++) {
        copy_state(whole.run.trainer, part.run.trainer);
        (void)step(&whole.run);
        (void)step(&part.run);
        ls_trainer_hash(whole.run.trainer, want);
        ls_trainer_hash(part.run.trainer, got);
        ck_assert_str_eq(got, want);
    }
    close_session(&whole);
    close_session(&part);
}

/* Proves the kernel on every level against its definition: lengths with tails,
 * streams far along, and the gradient with and without an addend. */
TEST(levels_agree)
{
    static const uint64_t firsts[] = {0, 5, 0xfffffff3, 0x7ffffffff1};
    const float keep = 0.7f;
    ls_key key = ls_key_new(77);

    for (int64_t n = 1; n < 70; n += 1 + n / 20) {
        uint64_t first = firsts[n % 4];
        float *x = uniform(1, n), *dy = uniform(2, n), *addend = uniform(3, n);
        float *u = fenced(n);

        ls_random_uniform(key, first, n, 0, 1, u);
        for (int k = 0; k < levels(); k++) {
            const ls__kernel_table *t = level(k);
            float *y = fenced(n), *dx = fenced(n), *added = fenced(n);
            uint16_t mask[5];

            if (!t)
                continue;
            t->dropout(key.word, first, n, keep, x, y, mask);
            t->dropout_grad(n, keep, mask, dy, NULL, dx);
            t->dropout_grad(n, keep, mask, dy, addend, added);
            for (int64_t i = 0; i < n; i++) {
                float by = u[i] < keep ? 1 / keep : 0, d = dy[i] * by;

                ck_assert(y[i] == x[i] * by);
                ck_assert(dx[i] == d && added[i] == addend[i] + d);
            }
        }
        fences_free();
    }
}

/* A value that is dropped is +0, whatever it was. */
TEST(drops_anything)
{
    float x[64], y[64];
    ls_key key = ls_key_new(1);
    uint16_t mask[4];
    int dropped = 0;

    for (int i = 0; i < 64; i++)
        x[i] = i % 2 ? INFINITY : -NAN;
    for (int k = 0; k < levels(); k++) {
        if (!level(k))
            continue;
        level(k)->dropout(key.word, 0, 64, 0.5f, x, y, mask);
        for (int i = 0; i < 64; i++)
            if (mask[i / 16] >> i % 16 & 1)
                ck_assert(!isfinite(y[i]));
            else
                dropped += y[i] == 0 && !signbit(y[i]);
    }
    ck_assert_int_gt(dropped, 20);
}

/* ------ In training only ------ */

/* Proves that evaluation and prediction are those of the graph without
 * dropout, before, between and after steps, and leave no trace in them. */
TEST(passes_through)
{
    ls_trainer_options o = adam(1);
    session with = open_session(net(&nnx_names, 1), &o, 4, 2);
    session without = open_session(net(&nnx_names, 0), &o, 4, 2);
    session alone = open_session(net(&nnx_names, 1), &o, 4, 2);
    float a[ROWS * CLASSES], b[ROWS * CLASSES];
    ls_result r, plain;

    for (int i = 0; i < STEPS; i++) {
        copy_state(with.run.trainer, without.run.trainer);
        OK(ls_evaluate(with.run.trainer, with.run.batch, &r));
        OK(ls_evaluate(without.run.trainer, without.run.batch, &plain));
        ck_assert(r.loss == plain.loss && r.accuracy == plain.accuracy);
        OK(ls_predict(with.run.trainer, with.run.batch, "logits",
                      ROWS * CLASSES, a));
        OK(ls_predict(without.run.trainer, without.run.batch, "logits",
                      ROWS * CLASSES, b));
        ck_assert_mem_eq(a, b, sizeof a);
        ck_assert(step(&with.run).loss == step(&alone.run).loss);
    }
    close_session(&with);
    close_session(&without);
    close_session(&alone);
}

/* Proves that a layer of rate 0 is its input, and takes its request to nnx's
 * stream all the same: parameters start as those beside a real one. */
TEST(rate_zero)
{
    ls_trainer_options o = ls_trainer_defaults();
    session a = open_session(net(&nnx_names, 1), &o, 1, 1);
    session b = open_session(net(&nnx_names, 0), &o, 1, 1);
    char with[65], without[65];

    ls_trainer_hash(a.run.trainer, with);
    ls_trainer_hash(b.run.trainer, without);
    ck_assert_str_eq(with, without);
    ck_assert(step(&a.run).loss != step(&b.run).loss);
    close_session(&a);
    close_session(&b);
}

/* Proves that rates that are none are refused by name. */
TEST(refused)
{
    static const double rates[] = {1, -0.1, 1.5, (double)NAN, (double)INFINITY};

    for (size_t i = 0; i < COUNT(rates); i++) {
        ls_graph *g = empty_graph();
        ls_node *x = ls_input(g, "x", LS_F32, 1, (int64_t[]){IN});

        ck_assert_ptr_null(ls_dropout(x, rates[i], "drop"));
        FAILS(ls_loss(g, NULL), LS_EINVAL, "dropout \"drop\": rate");
        ls_graph_free(g);
    }
    ck_assert_ptr_null(ls_dropout(NULL, 0.5, "drop"));
}

/* Proves that the row named when a step fails is found with that step's mask:
 * a row alone is dropped as it was among the others. */
TEST(names_the_row)
{
    ls_trainer_options o = ls_trainer_defaults();
    session s = open_session(net(&nnx_names, 1), &o, 4, 2);
    ls_result r;

    s.x[13 * IN] = INFINITY;
    FAILS(ls_step(s.run.trainer, s.run.batch, &r), LS_ENONFINITE,
          "device 2, first in row 13 of the batch");
    close_session(&s);
}

MAIN()
