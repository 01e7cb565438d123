/* SPDX-License-Identifier: BSD-3-Clause */
/* Batch norms that train by the rows of a batch: PyTorch's and Flax's
 * gradients and running averages, the same bytes for any workers and ranks,
 * weights, micro-batches, what a step that fails leaves, and what is refused.
 * Stored statistics alone are test_batch_norm.c's. */
#include "agreement.h"
#include "golden.h"
#include "on_ranks.h"

enum { ROWS = 24, X = 24, OUT = 3, PARAMS = 7, STORED = 4 };

static const struct {
    const char *name;
    int64_t size;
} params[] = {{"pre.kernel", 6}, {"first.scale", 3}, {"first.bias", 3},
              {"hidden.kernel", 180}, {"second.scale", 5}, {"second.bias", 5},
              {"out.kernel", 15},
              {"first.mean", 3}, {"first.var", 3}, {"second.mean", 5},
              {"second.var", 5}};

static ls_node *norm(ls_node *x, ls_statistics of, const char *name)
{
    ls_batch_norm_options o = ls_batch_norm_defaults();

    o.statistics = of;
    return ls_batch_norm_with(x, &o, name);
}

static ls_graph *graph(ls_statistics of)
{
    ls_graph *g = empty_graph();
    ls_node *x = ls_input(g, "x", LS_F32, 3, (int64_t[]){4, 3, 2});
    ls_node *label = ls_input(g, "label", LS_I32, 0, NULL);

    x = norm(dense_no_bias(x, 3, "pre"), of, "first");
    x = dense_no_bias(ls_flatten(x), 5, "hidden");
    x = dense_no_bias(ls_tanh(norm(x, of, "second")), OUT, "out");
    OK(ls_output(g, x, "logits"));
    OK(ls_loss(g, ls_cross_entropy(x, label)));
    return g;
}

static void set_parameters(ls_trainer *t)
{
    for (int i = 0; i < PARAMS; i++) {
        float v[180];

        fill_uniform(50 + i, params[i].size, v);
        for (int64_t j = 0; strstr(params[i].name, "scale") &&
             j < params[i].size; j++)
            v[j] += 1.5f;
        OK(ls_trainer_set(t, params[i].name, params[i].size, v));
    }
}

/* Rows that are used while the batch is. */
typedef struct rows {
    float x[ROWS * X], weight[ROWS];
    int32_t label[ROWS];
} rows;

static void set_rows(ls_batch *b, rows *r, int64_t n, bool weighted)
{
    fill_uniform(90, (int64_t)ROWS * X, r->x);
    for (int i = 0; i < ROWS * X; i++)
        r->x[i] = r->x[i] * 2 + 0.5f;
    for (int i = 0; i < ROWS; i++) {
        r->label[i] = i % OUT;
        r->weight[i] = (float[]){0, 1, 2, 0.5f}[i % 4];
    }
    OK(ls_batch_set(b, "x", LS_F32, r->x, n));
    OK(ls_batch_set(b, "label", LS_I32, r->label, n));
    if (weighted)
        OK(ls_batch_set_weights(b, r->weight, n));
}

/* ------ others' numbers ------ */

static const struct {
    const char *name;
    const char *golden;
    ls_statistics of;
    int devices;
    bool weighted;
} kinds[] = {
    {"of batch", "of_batch", LS_STATISTICS_OF_BATCH, 4, false},
    {"of batch, one device", "of_batch", LS_STATISTICS_OF_BATCH, 1, false},
    {"of batch, odd", "of_batch", LS_STATISTICS_OF_BATCH, 5, false},
    {"of shard", "of_shard", LS_STATISTICS_OF_SHARD, 4, false},
    {"one shard", "of_batch", LS_STATISTICS_OF_SHARD, 1, false},
    {"weighted", "weighted", LS_STATISTICS_OF_BATCH, 4, true},
    {"one weighted shard", "weighted", LS_STATISTICS_OF_SHARD, 1, true}};

LOOP_TEST(test_golden, 0, COUNT(kinds))
{
    ls_trainer_options o = ls_trainer_defaults();
    const float *want = golden("batch_norm", 234, "%s", kinds[_i].golden);
    run r = open_run_on(kinds[_i].devices, 2, graph(kinds[_i].of), &o);
    ls_gradients *g;
    ls_result result;
    rows of;

    set_parameters(r.trainer);
    set_rows(r.batch, &of, ROWS, kinds[_i].weighted);
    OK(ls_gradients_open(&g, r.trainer, 1));
    OK(ls_gradients_compute(g, r.batch, &result));
    near((double)result.loss, (double)*want++, 1e-6, kinds[_i].name, -1);
    for (int i = 0; i < PARAMS + STORED; i++) {
        float v[180];

        if (i == PARAMS)
            OK(ls_gradients_apply(g, &result));
        OK(i < PARAMS ? ls_gradients_get(g, params[i].name, params[i].size, v)
                      : ls_trainer_get(r.trainer, params[i].name,
                                       params[i].size, v));
        for (int64_t j = 0; j < params[i].size; j++)
            near((double)v[j], (double)*want++, 2e-6, params[i].name, (int)j);
    }
    ls_gradients_close(g);
    close_run(&r);
}

/* ------ the same bytes ------ */

/* Convolutions, so that a shard is several chunks, and norms of both kinds; no
 * plan takes the relu and the add into norms whose values are put out. */
static ls_graph *images(bool both, bool out)
{
    const ls_window three = {3, 3, 1, 1, LS_SAME};
    ls_graph *g = empty_graph();
    ls_node *x, *y, *label;

    x = ls_input(g, "x", LS_F32, 3, (int64_t[]){4, 3, 2});
    label = ls_input(g, "label", LS_I32, 0, NULL);
    x = norm(conv2d_no_bias(x, 20, three, "one"), LS_STATISTICS_OF_BATCH,
             "first");
    if (out)
        OK(ls_output(g, x, "first"));
    x = ls_relu(x);
    y = norm(conv2d_no_bias(x, 20, three, "two"),
             both ? LS_STATISTICS_OF_SHARD : LS_STATISTICS_OF_BATCH, "second");
    if (out)
        OK(ls_output(g, y, "second"));
    x = ls_relu(ls_add(x, y));
    x = ls_dropout(ls_flatten(x), 0.25, "drop");
    x = ls_dense(x, OUT, "out");
    OK(ls_output(g, x, "logits"));
    OK(ls_loss(g, ls_cross_entropy(x, label)));
    return g;
}

typedef struct training {
    int devices, workers, accumulate;
    int64_t rows;
    double clip, average;
    bool both, out;
    char hash[65];
} training;

static int train(training *c, const ls_transport *transport)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_graph *g = images(c->both, c->out);
    ls_trainer *t = NULL;
    ls_batch *b = NULL;
    ls_pool *pool = NULL;
    ls_result result;
    rows of;
    int status;

    o.optimizer = ls_adam(1e-2);
    o.accumulate = c->accumulate;
    o.clip_norm = c->clip;
    o.average = c->average;
    o.transport = transport;
    if ((status = pool_with(&pool, c->devices, c->workers)) == 0 &&
        (status = ls_trainer_open(&t, pool, g, &o)) == 0 &&
        (status = ls_batch_open(&b, t)) == 0)
        set_rows(b, &of, c->rows, true);
    for (int i = 0; i < 3 && status == 0; i++)
        status = ls_step(t, b, &result);
    if (status == 0)
        ls_trainer_hash(t, c->hash);
    ls_graph_free(g);
    ls_batch_close(b);
    ls_trainer_close(t);
    ls_pool_close(pool);
    return status;
}

static const training trainings[] = {
    {.devices = 4, .accumulate = 1, .rows = 24},
    {.devices = 3, .accumulate = 2, .rows = 23, .both = true},
    {.devices = 6, .accumulate = 1, .rows = 17, .clip = 0.5, .both = true},
    {.devices = 5, .accumulate = 3, .rows = 21, .average = 0.9}};

LOOP_TEST(test_workers, 0, COUNT(trainings))
{
    training c = trainings[_i];
    char first[65];

    for (c.workers = 1; c.workers <= 3; c.workers++) {
        OK(train(&c, NULL));
        if (c.workers == 1)
            memcpy(first, c.hash, sizeof first);
        ck_assert_str_eq(c.hash, first);
    }
    c.out = true;
    OK(train(&c, NULL));
    ck_assert_str_eq(c.hash, first);
}

static int train_rank(const ls_transport *transport, void *user)
{
    training c = *(training *)user;
    int status;

    c.workers = transport->rank == 0 ? 2 : 1;
    if ((status = train(&c, transport)) < 0)
        return status;
    return transport->rank > 0 || !strcmp(c.hash, ((training *)user)->hash)
               ? 0 : 1;
}

LOOP_TEST(test_on_ranks, 0, COUNT(trainings))
{
    training c = trainings[_i];

    c.workers = 1;
    OK(train(&c, NULL));
    for (int n = 1; n <= 3; n++) {
        ranks_here *all;

        OK(ranks_open(&all, n, NULL));
        all_succeed(all, n, train_rank, &c);
        ranks_close(all);
    }
}

/* ------ what does not count, and what fails ------ */

static void stored(const ls_trainer *t, float *v)
{
    for (int i = PARAMS; i < PARAMS + STORED; v += params[i++].size)
        OK(ls_trainer_get(t, params[i].name, params[i].size, v));
}

/* Rows of weight 0 may hold anything. */
LOOP_TEST(test_no_weight, 0, 2)
{
    ls_trainer_options o = ls_trainer_defaults();
    float v[2][16];

    for (int i = 0; i < 2; i++) {
        run r = open_run_on(3, 2, graph(_i ? LS_STATISTICS_OF_SHARD
                                        : LS_STATISTICS_OF_BATCH), &o);
        ls_result result;
        rows of;

        set_parameters(r.trainer);
        set_rows(r.batch, &of, ROWS, true);
        for (int k = 0; k < ROWS * X; k++)
            if (of.weight[k / X] == 0)
                of.x[k] = i ? 1e30f : 1;
        OK(ls_step(r.trainer, r.batch, &result));
        ck_assert(result.updated);
        stored(r.trainer, v[i]);
        close_run(&r);
    }
    ck_assert_mem_eq(v[0], v[1], sizeof v[0]);
}

/* A step that fails, or has no weight, leaves what is stored. */
TEST(test_failure)
{
    ls_trainer_options o = ls_trainer_defaults();
    run r = open_run_on(2, 2, graph(LS_STATISTICS_OF_BATCH), &o);
    float before[16], after[16];
    ls_result result;
    rows of;

    set_rows(r.batch, &of, ROWS, true);
    OK(ls_step(r.trainer, r.batch, &result));
    stored(r.trainer, before);
    of.x[X] = NAN;
    ck_assert_int_lt(ls_step(r.trainer, r.batch, &result), 0);
    stored(r.trainer, after);
    ck_assert_mem_eq(before, after, sizeof before);
    of.x[X] = 0;
    memset(of.weight, 0, sizeof of.weight);
    OK(ls_step(r.trainer, r.batch, &result));
    ck_assert(!result.updated);
    stored(r.trainer, after);
    ck_assert_mem_eq(before, after, sizeof before);
    close_run(&r);
}

/* Evaluations and predictions have the bytes of stored statistics, also by the
 * average of the weights. */
TEST(test_evaluation)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_pool *pool = open_pool(2, 2);
    float logits[2][ROWS * OUT], v[180];
    run r, plain;
    ls_result result[2];
    rows of;

    o.average = 0.5;
    r = open_run(pool, graph(LS_STATISTICS_OF_BATCH), &o);
    plain = open_run(pool, graph(LS_STATISTICS_STORED), &o);
    set_rows(r.batch, &of, ROWS, false);
    set_rows(plain.batch, &of, ROWS, false);
    for (int i = 0; i < 3; i++)
        OK(ls_step(r.trainer, r.batch, result));
    stored(r.trainer, logits[0]);
    OK(ls_trainer_use_average(r.trainer, true));
    stored(r.trainer, logits[1]);
    ck_assert_mem_ne(logits[0], logits[1], 16 * sizeof(float));
    for (int i = 0; i < PARAMS + STORED; i++) {
        OK(ls_trainer_get(r.trainer, params[i].name, params[i].size, v));
        for (int64_t j = 0; i >= PARAMS && j < params[i].size; j++)
            ck_assert(v[j] != (strstr(params[i].name, "var") ? 1 : 0));
        OK(ls_trainer_set(plain.trainer, params[i].name, params[i].size, v));
    }
    OK(ls_evaluate(r.trainer, r.batch, &result[0]));
    OK(ls_evaluate(plain.trainer, plain.batch, &result[1]));
    ck_assert(result[0].loss == result[1].loss);
    OK(ls_predict(r.trainer, r.batch, "logits", ROWS * OUT, logits[0]));
    OK(ls_predict(plain.trainer, plain.batch, "logits", ROWS * OUT, logits[1]));
    ck_assert_mem_eq(logits[0], logits[1], sizeof logits[0]);
    close_run(&r);
    close_run(&plain);
    ls_pool_close(pool);
}

/* ------ what plans fuse, or leave to the readers of a value ------ */

enum { SIDE = 12, WIDE = SIDE * SIDE * 3, PARTS = 14, GRAPHS = 24 };

/* An earlier value of x's shape, counted back from a drawn one; x itself where
 * there is none. */
static ls_node *fitting(ls_node *const *made, int n, int32_t from, ls_node *x)
{
    int64_t shape[2][LS_MAX_RANK] = {{0}};

    ls_node_shape(x, shape[0]);
    for (int i = 0; i < n; i++) {
        ls_node *y = made[(from + i) % n];

        ls_node_shape(y, shape[1]);
        if (!memcmp(shape[0], shape[1], sizeof shape[0]))
            return y;
    }
    return x;
}

static ls_node *drawn(ls_node *x, const int32_t *by, const char *name)
{
    static const int64_t wide[] = {3, 16, 20, 32, 33};
    ls_window w = {1 + 2 * (by[1] % 2), 1 + 2 * (by[1] % 2), 1, 1, LS_SAME};

    if (by[0] < 3)
        return norm(x, (ls_statistics)(by[1] % 3), name);
    if (by[0] < 5)
        return ls_relu(x);
    if (by[0] == 5)
        return ls_max_pool(x, (ls_window){2, 2, 1, 1, LS_SAME});
    w.stride_y = w.stride_x = 1 + (by[3] % 5 == 0);
    return by[0] == 6 ? ls_conv2d(x, wide[by[2] % 5], w, name)
                      : conv2d_no_bias(x, wide[by[2] % 5], w, name);
}

/* A random graph of convolutions, norms and what follows them.  Plans fuse
 * nothing where all its values are put out, and write them all. */
static ls_graph *random_graph(int seed, bool out)
{
    int32_t by[PARTS][4];
    ls_node *x, *label, *made[PARTS];
    ls_graph *g = empty_graph();

    x = ls_input(g, "x", LS_F32, 3, (int64_t[]){SIDE, SIDE, 3});
    label = ls_input(g, "label", LS_I32, 0, NULL);
    fill_indices(seed, PARTS * 4, 1000, by[0]);
    for (int i = 0; i < PARTS; i++) {
        char name[8];

        snprintf(name, sizeof name, "v%d", i);
        by[i][0] = i ? by[i][0] % 11 : 7;
        x = by[i][0] > 8 ? ls_add(x, fitting(made, i, by[i][1], x))
                         : drawn(x, by[i], name);
        made[i] = x;
        if (out)
            OK(ls_output(g, x, name));
    }
    x = ls_dense(ls_flatten(x), OUT, "out");
    OK(ls_output(g, x, "logits"));
    OK(ls_loss(g, ls_cross_entropy(x, label)));
    return g;
}

LOOP_TEST(test_random_graphs, 0, GRAPHS)
{
    ls_trainer_options o = ls_trainer_defaults();
    char hash[2][65];
    float *x = uniform(91, (int64_t)ROWS * WIDE), logits[2][ROWS * OUT];
    rows of;

    o.optimizer = ls_sgd(1e-3);
    o.precision = _i % 3 == 2 ? LS_BF16_LAYERS : LS_F32_LAYERS;
    for (int k = 0; k < 2; k++) {
        run r = open_run_on(1 + _i % 2, 1 + _i % 3, random_graph(_i, k), &o);
        ls_result result;

        fill_indices(92, ROWS, OUT, of.label);
        OK(ls_batch_set(r.batch, "x", LS_F32, x, ROWS));
        OK(ls_batch_set(r.batch, "label", LS_I32, of.label, ROWS));
        for (int i = 0; i < 2; i++)
            OK(ls_step(r.trainer, r.batch, &result));
        ck_assert(result.updated);
        OK(ls_trainer_hash(r.trainer, hash[k]));
        OK(ls_predict(r.trainer, r.batch, "logits", ROWS * OUT, logits[k]));
        close_run(&r);
    }
    ck_assert_str_eq(hash[0], hash[1]);
    ck_assert_mem_eq(logits[0], logits[1], sizeof logits[0]);
    fences_free();
}

/* ------ what is refused ------ */

TEST(test_refused)
{
    ls_pool *pool = open_pool(2, 2);

    for (int i = 0; i < 4; i++) {
        ls_trainer_options o = ls_trainer_defaults();
        bool shard = i == 3;
        ls_graph *g = graph(shard ? LS_STATISTICS_OF_SHARD
                                  : LS_STATISTICS_OF_BATCH);
        ls_trainer *t;

        o.check = i == 0 || shard ? 0.5 : 0;
        o.check_divergence = i == 1;
        o.mean = i == 2 ? LS_MEAN_OF_SHARDS : LS_MEAN_EXACT;
        ck_assert_int_eq(ls_trainer_open(&t, pool, g, &o), LS_ENOTSUP);
        ck_assert_ptr_nonnull(strstr(ls_errmsg(), "do not go together with"));
        ls_graph_free(g);
    }
    ls_pool_close(pool);
}

MAIN()
