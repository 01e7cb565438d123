/* SPDX-License-Identifier: BSD-3-Clause */
/* The mistakes that data-parallel programs make, a test each: ruled out by the
 * interface, refused with a message, or, where a user's own gradient
 * function can still make them, found by LS_CHECK_DIVERGENCE.
 *
 * The model is loss = w.x + b, whose gradient is the sum of the rows: small
 * integers, so that every number below is exact. */
#define _GNU_SOURCE /* setenv */
#include "small_model.h"

#include <pthread.h>
#include <stdlib.h>

enum { WIDTH = 4, MANY = 16 };

typedef enum bug {
    NONE, WRITES_PARAM, WRITES_OTHER, WRITES_BEYOND, WRITES_BEFORE,
    WRITES_PAST, SKIPS, ADDS, COUNTS, COUNTS_LOSS, FAILS_AGAIN,
    DEPENDS_ON_THREAD, FAILS, NEGATIVE
} bug;

typedef struct user {
    bug bug;
    int calls;              /* counted by the bugs that need it */
    pthread_t caller;
    float *grad[MANY];      /* of each device: its gradient of w */
    const float *seen[MANY]; /* of each device: w */
} user;

static int misbehave(user *u, int device, const float *const *params,
                     float *const *grads, ls_sums *sums)
{
    float *g = grads[0];

    switch (u->bug) {
    case WRITES_PARAM: ((float *)params[0])[1] += 1; break;
    case WRITES_OTHER: u->grad[0][2] = 5; break;
    case WRITES_BEYOND: g[WIDTH] = 1; break;
    case WRITES_BEFORE: grads[1][-1] = 1; break; /* "b" is the first */
    case WRITES_PAST: g[16] = 1; break;          /* "w" is the last, padded */
    case COUNTS: g[3] += (float)u->calls++; break;
    case COUNTS_LOSS: sums->loss += u->calls++; break;
    case FAILS_AGAIN: return -(u->calls++ % 2);
    case FAILS: return device == 1 ? -7 : 0;
    case DEPENDS_ON_THREAD:
        g[0] += !pthread_equal(pthread_self(), u->caller);
        break;
    default: break;
    }
    return 0;
}

static int gradient(void *arg, int device, const ls_shard *shard,
                    const float *const *params, float *const *grads,
                    ls_sums *sums)
{
    user *u = arg;
    const float *x = shard->data[0];

    u->seen[device] = params[0];
    sums->loss = 0;
    sums->weight = u->bug == NEGATIVE && device == 3 ? -1
                                                     : (double)shard->rows;
    if (!grads)
        return 0;
    u->grad[device] = grads[0];
    for (int j = 0; j < WIDTH - (u->bug == SKIPS); j++) {
        float sum = u->bug == ADDS ? grads[0][j] : 0;

        for (int64_t r = 0; r < shard->rows; r++)
            sum += x[r * WIDTH + j];
        grads[0][j] = sum;
    }
    grads[1][0] = (float)shard->rows;
    return misbehave(u, device, params, grads, sums);
}

typedef struct fixture {
    user user;
    ls_pool *pool;
    ls_trainer *t;
    ls_batch *b;
    float x[MANY * WIDTH];
} fixture;

/* Rows i with elements i + j; the mean of element j over 16 rows: 7.5 + j. */
static void open_fixture(fixture *f, const char *axes, int workers,
                         const ls_trainer_options *o, bug wrong)
{
    static const ls_array_spec input = {"x", LS_F32, 1, {WIDTH}};
    static const ls_array_spec param[] = {{"w", LS_F32, 1, {WIDTH}},
                                          {"b", LS_F32, 1, {1}}};
    ls_gradient g = {gradient, &f->user, 1, 2, &input, param};

    f->user = (user){.bug = wrong, .caller = pthread_self()};
    f->pool = open_axes(axes, workers);
    OK(ls_trainer_open_gradient(&f->t, f->pool, &g, o));
    OK(ls_batch_open(&f->b, f->t));
    for (int i = 0; i < MANY * WIDTH; i++)
        f->x[i] = (float)(i / WIDTH + i % WIDTH);
    OK(ls_batch_set(f->b, "x", LS_F32, f->x, MANY));
}

static void close_fixture(fixture *f)
{
    ls_batch_close(f->b);
    ls_trainer_close(f->t);
    ls_pool_close(f->pool);
}

static ls_trainer_options with(ls_optimizer optimizer)
{
    ls_trainer_options o = ls_trainer_defaults();

    o.optimizer = optimizer;
    return o;
}

static const struct {
    const char *axes;
    int devices;
} meshes[] = {{"data:1", 1}, {"data:2", 2}, {"data:4,model:2", 4},
              {"data:16", 16}};

/* Updating per shard: a step makes one update, however many devices there are.
 * Momentum would show each one: after two steps w is -(1 + 1.5) lr g. */
LOOP_TEST(test_update_per_shard, 0, sizeof meshes / sizeof *meshes)
{
    ls_trainer_options o = with(ls_momentum(0.5, 0.5));
    fixture f;
    ls_result r;
    float w[WIDTH];

    open_fixture(&f, meshes[_i].axes, 2, &o, NONE);
    OK(ls_step(f.t, f.b, &r));
    OK(ls_step(f.t, f.b, &r));
    ck_assert_int_eq(ls_trainer_step(f.t), 2);
    OK(ls_trainer_get(f.t, "w", WIDTH, w));
    for (int j = 0; j < WIDTH; j++)
        ck_assert(w[j] == -1.25f * (7.5f + (float)j));
    close_fixture(&f);
}

/* Summing instead of averaging: the mean is the default and does not depend on
 * the devices; the sum has to be asked for by name, and is MANY times it. */
LOOP_TEST(test_sum_for_mean, 0, sizeof meshes / sizeof *meshes)
{
    static const struct {
        ls_mean mean;
        float times;
    } row[] = {{LS_MEAN_EXACT, 1}, {LS_MEAN_OF_SHARDS, 1}, {LS_SUM, MANY}};

    ck_assert_int_eq(ls_trainer_defaults().mean, LS_MEAN_EXACT);
    for (size_t i = 0; i < 3; i++) {
        ls_trainer_options o = with(ls_sgd(0.5));
        fixture f;
        ls_result r;
        float w[WIDTH];

        o.mean = row[i].mean;
        open_fixture(&f, meshes[_i].axes, 2, &o, NONE);
        OK(ls_step(f.t, f.b, &r));
        OK(ls_trainer_get(f.t, "w", WIDTH, w));
        for (int j = 0; j < WIDTH; j++)
            ck_assert(w[j] == -0.5f * row[i].times * (7.5f + (float)j));
        close_fixture(&f);
    }
}

/* Rebuilding the optimizer every step: a trainer has one for life.  What a new
 * one would lose is its moments: with them carried over it goes on the same,
 * without them it does not. */
TEST(test_optimizer_rebuilt)
{
    ls_trainer_options o = with(ls_momentum(0.5, 0.5));
    float w[WIDTH], trace[WIDTH], next[WIDTH], lost[WIDTH], kept[WIDTH];
    ls_result r;
    fixture f;

    open_fixture(&f, "data:2", 1, &o, NONE);
    OK(ls_step(f.t, f.b, &r));
    OK(ls_trainer_get(f.t, "w", WIDTH, w));
    OK(ls_trainer_get(f.t, "trace.w", WIDTH, trace));
    OK(ls_step(f.t, f.b, &r));
    OK(ls_trainer_get(f.t, "w", WIDTH, next));
    close_fixture(&f);
    for (int carry = 0; carry < 2; carry++) {
        open_fixture(&f, "data:2", 1, &o, NONE);
        OK(ls_trainer_set(f.t, "w", WIDTH, w));
        if (carry)
            OK(ls_trainer_set(f.t, "trace.w", WIDTH, trace));
        OK(ls_step(f.t, f.b, &r));
        OK(ls_trainer_get(f.t, "w", WIDTH, carry ? kept : lost));
        close_fixture(&f);
    }
    ck_assert_mem_eq(kept, next, sizeof next);
    ck_assert(memcmp(lost, next, sizeof next) != 0);
}

/* A missing reduction: there is no step without one, and no copy of the
 * parameters that could drift: all devices read the same memory. */
TEST(test_missing_reduction)
{
    ls_trainer_options o = with(ls_sgd(0.5));
    ls_result r;
    fixture f;

    open_fixture(&f, "data:4", 3, &o, NONE);
    for (int i = 0; i < 3; i++)
        OK(ls_step(f.t, f.b, &r));
    for (int d = 0; d < 4; d++)
        ck_assert_ptr_eq(f.user.seen[d], f.user.seen[0]);
    close_fixture(&f);
}

/* Bad sharding: unknown axes and axes that do not divide are refused when they
 * are named, long before a step. */
TEST(test_bad_sharding)
{
    ls_trainer_options o = with(ls_sgd(0.5));
    ls_mesh_options m = {.size = sizeof m, .axes = "data:3"};
    ls_sharding s;
    ls_mesh *mesh;
    fixture f;

    OK(ls_mesh_open(&mesh, &m));
    FAILS(ls_sharding_data_parallel(&s, mesh, "batch"), LS_ENOTFOUND,
            "no axis \"batch\"; its axes are \"data\" (3)");
    ls_mesh_close(mesh);
    open_fixture(&f, "data:8", 2, &o, NONE);
    FAILS(ls_state_place(f.t, LS_STATE_ALL, "w=0"), LS_ESHAPE,
            "parameter \"w\" (4): axis 0 does not divide by the 8 devices");
    FAILS(ls_state_place(f.t, LS_STATE_ALL, "w=1"), LS_EINVAL,
            "parameter \"w\" (4) has no axis 1");
    close_fixture(&f);
}

/* A wrong batch size: rows that do not divide, are none, or are not as many as
 * the weights. */
TEST(test_wrong_batch_size)
{
    ls_trainer_options o = with(ls_sgd(0.5));
    float weight[8] = {0};
    ls_result r;
    fixture f;

    o.even_rows = true;
    open_fixture(&f, "data:8", 2, &o, NONE);
    for (int64_t rows = -1; rows < 16; rows++)
        if (rows != 8)
            FAILS(ls_batch_set(f.b, "x", LS_F32, f.x, rows),
                    rows < 1 ? LS_EINVAL : LS_ESHAPE,
                    rows < 1 ? "is empty" : "divide by 8 devices");
    OK(ls_batch_set_weights(f.b, weight, 8));
    FAILS(ls_step(f.t, f.b, &r), LS_ESHAPE,
            "the batch has 16 rows, its weights 8");
    close_fixture(&f);
}

/* A weight below zero is no empty batch but a mistake, whose device is named;
 * nothing is updated. */
TEST(test_negative_weight)
{
    ls_trainer_options o = with(ls_sgd(0.5));
    char before[65], after[65];
    ls_result r;
    fixture f;

    open_fixture(&f, "data:4", 2, &o, NEGATIVE);
    ls_trainer_hash(f.t, before);
    FAILS(ls_step(f.t, f.b, &r), LS_EINVAL, "step 0: the weight of device 3 is "
          "-1, and a weight is not negative");
    FAILS(ls_evaluate(f.t, f.b, &r), LS_EINVAL, "the weight of device 3 is -1");
    ls_trainer_hash(f.t, after);
    ck_assert_str_eq(before, after);
    close_fixture(&f);
}

/* ------ what a gradient function can get wrong ------ */

static const struct {
    bug bug;
    const char *message;
} bugs[] = {
    {WRITES_PARAM, "step 1: the gradient function of device 0 wrote to the "
                   "parameter, which all devices share: \"w\", element 1 of 4"},
    {WRITES_OTHER, "device 1 wrote to device 0's gradient of \"w\", element 2"},
    {WRITES_BEYOND, "device 0 wrote beyond the gradient of \"w\", element 4"},
    {WRITES_BEFORE, "device 0 wrote before all gradients of device 0: \"b\", "
                    "element -1 of 1"},
    {WRITES_PAST, "device 0 wrote beyond all gradients of device 0: \"w\", "
                  "element 16 of 4"},
    {SKIPS, "device 0 did not write the gradient of \"w\", element 3 of 4"},
    {ADDS, "device 0 did not write the gradient of \"w\", element 0 of 4"},
    {COUNTS, "device 0 when called again made another gradient of \"w\", "
             "element 3"},
    {COUNTS_LOSS, "when called again, made other sums: loss 0, then 1"},
    {FAILS_AGAIN, "device 0 failed when called again"},
    {DEPENDS_ON_THREAD, "device 1 is another when devices run at the same "
                        "time"},
    {FAILS, "the gradient function failed on device 1 with status -7"},
};
enum { BUGS = sizeof bugs / sizeof *bugs };

/* Each bug is found and named, and the trainer is as it was before. */
LOOP_TEST(test_divergence, 0, BUGS)
{
    ls_trainer_options o = with(ls_adam(0.5));
    char before[65], after[65];
    ls_result r;
    fixture f;

    o.check_divergence = true;
    open_fixture(&f, "data:2", 2, &o, NONE);
    OK(ls_step(f.t, f.b, &r));
    ls_trainer_hash(f.t, before);
    f.user.bug = bugs[_i].bug;
    FAILS(ls_step(f.t, f.b, &r), LS_EUSER, bugs[_i].message);
    ls_trainer_hash(f.t, after);
    ck_assert_str_eq(before, after);
    f.user.bug = NONE;
    OK(ls_step(f.t, f.b, &r));
    ck_assert_int_eq(ls_trainer_step(f.t), 2);
    close_fixture(&f);
}

static void hash_of(bool check, bool own, int workers, char hex[65])
{
    ls_trainer_options o = with(ls_adam(1e-2));
    ls_graph *g = small_graph();
    fixture f = {0};
    ls_result r;

    o.check_divergence = check;
    if (own) {
        open_fixture(&f, "data:4", workers, &o, NONE);
    } else {
        f.pool = open_axes("data:4", workers);
        OK(ls_trainer_open(&f.t, f.pool, g, &o));
        f.b = small_batch(f.t);
    }
    for (int i = 0; i < 3; i++)
        OK(ls_step(f.t, f.b, &r));
    ls_trainer_hash(f.t, hex);
    close_fixture(&f);
    ls_graph_free(g);
}

/* A sound function and a graph train to the same bits with the check on. */
TEST(test_sound)
{
    for (int own = 0; own < 2; own++) {
        char expected[65], hex[65];

        hash_of(false, own, 1, expected);
        for (int workers = 1; workers <= 3; workers++) {
            hash_of(true, own, workers, hex);
            ck_assert_str_eq(hex, expected);
        }
    }
}

/* The environment turns the check on; "0" and nothing do not. */
TEST(test_environment)
{
    static const char *const values[] = {"1", "0", ""};
    ls_trainer_options o = with(ls_sgd(0.5));

    for (size_t i = 0; i < 3; i++) {
        fixture f;
        ls_result r;

        setenv("LS_CHECK_DIVERGENCE", values[i], 1);
        open_fixture(&f, "data:2", 1, &o, SKIPS);
        unsetenv("LS_CHECK_DIVERGENCE");
        ck_assert_int_eq(ls_step(f.t, f.b, &r), i == 0 ? LS_EUSER : 0);
        close_fixture(&f);
    }
}

MAIN()
