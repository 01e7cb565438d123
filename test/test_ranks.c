/* Proves that ranks that share the devices of one training have the bytes of
 * one machine: losses, norms, metrics, evaluation, predictions, weights and the
 * state hash, and that what differs between ranks, or dies, is named. */
#include "models.h"
#include "on_ranks.h"

#include <unistd.h>

enum { IN = 9, CLASSES = 5, ROWS = 48, STEPS = 4 };

/* ------ A training ------ */

/* How it is trained, and what one rank does otherwise. */
typedef struct plan {
    ls_trainer_options options;
    int devices;
    int rows;
    int odd;    /* the rank that is told something else, or -1 */
    void (*tell)(struct plan *p);
    const ls_graph *graph;
    const float *x;
    const int32_t *label;
    struct outcome *expected; /* NULL: none */
} plan;

/* Everything that comes out of it. */
typedef struct outcome {
    float loss[STEPS], norm[STEPS], accuracy[STEPS], metric[STEPS];
    float evaluated, predicted[ROWS * CLASSES];
    char hash[65];
} outcome;

static ls_graph *classifier(void)
{
    ls_graph *g;
    ls_node *x, *label, *h;

    OK(ls_graph_new(&g));
    x = ls_input(g, "x", LS_F32, 1, (int64_t[]){IN});
    label = ls_input(g, "label", LS_I32, 0, NULL);
    h = ls_gelu(ls_dense(x, 700, "hidden"));
    h = ls_layer_norm(ls_dropout(h, 0.25, "drop"), "norm");
    h = ls_dense(h, CLASSES, "out");
    OK(ls_output(g, h, "scores"));
    ck_assert_int_ge(ls_metric(g, ls_gelu(h)), 0);
    OK(ls_loss(g, ls_cross_entropy(h, label)));
    return g;
}

static int pool_of(ls_pool **pool, int devices)
{
    ls_mesh_options m = ls_mesh_defaults();
    ls_mesh *mesh;
    int status;

    m.devices = devices;
    m.workers = devices > 1 ? 2 : 1;
    if ((status = ls_mesh_open(&mesh, &m)) < 0)
        return status;
    status = ls_pool_open(pool, mesh, NULL);
    ls_mesh_close(mesh);
    return status;
}

static int set_batch(ls_batch *b, const plan *p)
{
    int status = ls_batch_set(b, "x", LS_F32, p->x, p->rows);

    return status < 0 ? status
                      : ls_batch_set(b, "label", LS_I32, p->label, p->rows);
}

static int take_steps(ls_trainer *t, ls_batch *b, const plan *p, outcome *o)
{
    ls_result r;
    int status = 0;

    for (int i = 0; i < STEPS && status == 0; i++) {
        if ((status = ls_step(t, b, &r)) < 0)
            return status;
        o->loss[i] = r.loss;
        o->norm[i] = r.grad_norm;
        o->accuracy[i] = r.accuracy;
        o->metric[i] = r.metric[0];
    }
    if ((status = ls_evaluate(t, b, &r)) < 0)
        return status;
    o->evaluated = r.loss;
    status = ls_predict(t, b, "scores", (int64_t)p->rows * CLASSES,
                        o->predicted);
    ls_trainer_hash(t, o->hash);
    return status == 0 && !o->hash[0] ? LS_EIO : status;
}

static int train(const plan *p, ls_pool *pool, outcome *o)
{
    ls_batch *b = NULL;
    ls_trainer *t = NULL;
    int status = ls_trainer_open(&t, pool, p->graph, &p->options);

    if (status == 0)
        status = ls_batch_open(&b, t);
    if (status == 0)
        status = set_batch(b, p);
    if (status == 0)
        status = take_steps(t, b, p, o);
    ls_batch_close(b);
    ls_trainer_close(t);
    return status;
}

/* What each rank runs: 1 where the outcome is not what is expected. */
static int train_rank(const ls_transport *transport, void *user)
{
    plan p = *(const plan *)user;
    outcome *o = calloc(1, sizeof *o);
    ls_pool *pool = NULL;
    int status;

    p.options.transport = transport;
    if (transport && transport->rank == p.odd)
        p.tell(&p);
    if ((status = pool_of(&pool, p.devices)) == 0)
        status = train(&p, pool, o);
    if (status == 0 && p.expected && memcmp(o, p.expected, sizeof *o))
        status = 1;
    ls_pool_close(pool);
    free(o);
    return status;
}

static plan new_plan(int devices)
{
    plan p = {.devices = devices, .rows = devices * 4, .odd = -1};

    p.options = ls_trainer_defaults();
    p.options.optimizer = ls_adam(1e-2);
    p.graph = classifier();
    p.x = normals(1, (int64_t)ROWS * IN);
    p.label = integers(2, CLASSES, ROWS);
    return p;
}

static void free_plan(plan *p)
{
    ls_graph_free((ls_graph *)p->graph);
    free((void *)p->x);
    free((void *)p->label);
}

/* ------ The same bytes ------ */

static void train_alone(plan *p, outcome *o)
{
    ls_pool *pool;

    memset(o, 0, sizeof *o);
    OK(pool_of(&pool, p->devices));
    OK(train(p, pool, o));
    ls_pool_close(pool);
    p->expected = o;
}

static void train_on(plan *p, int ranks, const ls_ranks_options *options)
{
    ls_ranks *all;

    OK(ls_ranks_open(&all, ranks, options));
    all_succeed(all, ranks, train_rank, p);
    ls_ranks_close(all);
}

static const struct {
    int devices, ranks;
} shape[] = {{4, 1}, {4, 2}, {4, 4}, {8, 3}, {6, 4}, {12, 5}, {1, 1}};

static const struct {
    ls_mean mean;
    ls_state state;
    double clip;
    int accumulate;
    ls_precision precision;
    int fewer; /* rows than divide */
} kind[] = {
    {LS_MEAN_EXACT, LS_REPLICATE, 0, 0, LS_F32_LAYERS, 0},
    {LS_MEAN_EXACT, LS_SHARD, 0.5, 2, LS_F32_LAYERS, 3},
    {LS_MEAN_OF_SHARDS, LS_REPLICATE, 0.5, 0, LS_F32_LAYERS, 1},
    {LS_SUM, LS_SHARD, 0, 2, LS_BF16_LAYERS, 0},
};

/* For cuts that are aligned and cuts that are not. */
START_TEST(test_bytes)
{
    static outcome expected;

    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
        plan p = new_plan(shape[i].devices);

        p.options.mean = kind[_i].mean;
        p.options.state = kind[_i].state;
        p.options.clip_norm = kind[_i].clip;
        p.options.accumulate = kind[_i].accumulate;
        p.options.precision = kind[_i].precision;
        p.rows -= kind[_i].fewer;
        train_alone(&p, &expected);
        train_on(&p, shape[i].ranks, NULL);
        free_plan(&p);
    }
}
END_TEST

/* Whatever the network does with the messages. */
START_TEST(test_network)
{
    static outcome expected;
    ls_ranks_options o = {.delay = 1e-4, .shuffle = 5, .bandwidth = 1e8};
    plan p = new_plan(6);

    train_alone(&p, &expected);
    train_on(&p, 4, &o);
    free_plan(&p);
}
END_TEST

/* ------ What differs ------ */

static void tell_seed(plan *p)
{
    p->options.seed = 7;
}

static void tell_lr(plan *p)
{
    p->options.optimizer.lr = 0.5;
}

static void tell_optimizer(plan *p)
{
    p->options.optimizer = ls_sgd(1e-2);
}

static void tell_clip(plan *p)
{
    p->options.clip_norm = 2;
}

static void tell_precision(plan *p)
{
    p->options.precision = LS_BF16_LAYERS;
}

static void tell_rows(plan *p)
{
    p->rows /= 2;
}

static ls_graph *other_graph; /* of the test that is running */

static void tell_graph(plan *p)
{
    p->graph = other_graph;
}

static const struct {
    void (*tell)(plan *p);
    int status;
    const char *words;
} difference[] = {
    {tell_seed, LS_EINVAL, "seed is 7 on rank 2, and 0 on rank 0"},
    {tell_lr, LS_EINVAL, "lr is 0.5 on rank 2"},
    {tell_optimizer, LS_EINVAL, "optimizer is sgd on rank 2, and adam on rank"},
    {tell_clip, LS_EINVAL, "clip_norm is 2 on rank 2, and 0 on rank 0"},
    {tell_precision, LS_EINVAL, "precision is "},
    {tell_graph, LS_EINVAL, "the number of parameters is "},
    {tell_rows, LS_ESHAPE, "the batch has 8 rows on rank 2, and 16 on rank 0"},
};

/* All ranks refuse to start, or to step, and name the first difference. */
START_TEST(test_differences)
{
    rank_body out[RANKS];
    plan p = new_plan(4);
    ls_ranks *all;

    other_graph = mlp_graph();
    p.odd = 2;
    p.tell = difference[_i].tell;
    OK(ls_ranks_open(&all, 3, NULL));
    on_ranks(all, 3, train_rank, &p, out);
    for (int r = 0; r < 3; r++) {
        ck_assert_int_eq(out[r].status, difference[_i].status);
        ck_assert_msg(strstr(out[r].message, difference[_i].words), "%s",
                      out[r].message);
    }
    ls_ranks_close(all);
    ls_graph_free(other_graph);
    free_plan(&p);
}
END_TEST

/* More ranks than devices are refused by all. */
START_TEST(test_too_many)
{
    rank_body out[RANKS];
    plan p = new_plan(2);
    ls_ranks *all;

    OK(ls_ranks_open(&all, 3, NULL));
    on_ranks(all, 3, train_rank, &p, out);
    for (int r = 0; r < 3; r++) {
        ck_assert_int_eq(out[r].status, LS_EINVAL);
        ck_assert_ptr_nonnull(strstr(out[r].message, "3 ranks are more than 2 "
                                     "devices"));
    }
    ls_ranks_close(all);
    free_plan(&p);
}
END_TEST

/* ------ What goes wrong ------ */

/* A row that is not finite stops all ranks, in the same step. */
START_TEST(test_bad_row)
{
    rank_body out[RANKS];
    plan p = new_plan(4);
    ls_ranks *all;

    ((float *)p.x)[(p.rows - 1) * IN] = (float)INFINITY;
    OK(ls_ranks_open(&all, 2, NULL));
    on_ranks(all, 2, train_rank, &p, out);
    for (int r = 0; r < 2; r++) {
        ck_assert_int_eq(out[r].status, LS_ENONFINITE);
        ck_assert_ptr_nonnull(strstr(out[r].message, "on device 3"));
    }
    ls_ranks_close(all);
    free_plan(&p);
}
END_TEST

/* A rank that dies, or falls silent, at any message: the others end, and name
 * a rank that did not answer. */
START_TEST(test_dead)
{
    for (int64_t posts = 3; posts < 48; posts += 11) {
        ls_ranks_options o = {.fault = LS_RANK_DIES, .rank = 1,
                              .posts = posts, .patience = 5};
        rank_body out[RANKS];
        plan p = new_plan(4);
        ls_ranks *all;

        OK(ls_ranks_open(&all, 3, &o));
        on_ranks(all, 3, train_rank, &p, out);
        for (int r = 0; r < 3; r++) {
            ck_assert_int_eq(out[r].status, LS_EIO);
            ck_assert_msg(strstr(out[r].message, "rank 1 has died"), "%s",
                          out[r].message);
        }
        ls_ranks_close(all);
        free_plan(&p);
    }
}
END_TEST

/* ------ Moments ------ */

static int read_moment(const ls_transport *transport, void *user)
{
    plan p = *(const plan *)user;
    float mu[700];
    char hash[65];
    ls_trainer *t = NULL;
    ls_batch *b = NULL;
    ls_pool *pool = NULL;
    ls_result r;
    int status = pool_of(&pool, p.devices);

    p.options.transport = transport;
    if (status == 0 &&
        (status = ls_trainer_open(&t, pool, p.graph, &p.options)) == 0 &&
        (status = ls_batch_open(&b, t)) == 0 &&
        (status = set_batch(b, &p)) == 0)
        status = ls_step(t, b, &r);
    if (status == 0 &&
        ls_trainer_get(t, "mu.hidden.bias", 700, mu) != LS_ENOTSUP)
        status = 1;
    if (status == 0) {
        ls_trainer_hash(t, hash);
        status = ls_trainer_get(t, "mu.hidden.bias", 700, mu);
    }
    ls_batch_close(b);
    ls_trainer_close(t);
    ls_pool_close(pool);
    return status;
}

/* Moments are spread over ranks until all ask for the state. */
START_TEST(test_moments)
{
    plan p = new_plan(4);
    ls_ranks *all;

    OK(ls_ranks_open(&all, 2, NULL));
    all_succeed(all, 2, read_moment, &p);
    ls_ranks_close(all);
    free_plan(&p);
}
END_TEST

/* ------ Checkpoints ------ */

static int open_checkpoints(const ls_transport *transport, void *user)
{
    plan p = *(const plan *)user;
    ls_checkpoints_options o = ls_checkpoints_defaults();
    ls_checkpoints *c = NULL;
    ls_trainer *t = NULL;
    ls_pool *pool = NULL;
    int status = pool_of(&pool, p.devices);

    o.folder = "never-made";
    p.options.transport = transport;
    if (status == 0 &&
        (status = ls_trainer_open(&t, pool, p.graph, &p.options)) == 0)
        status = ls_checkpoints_open(&c, t, &o) == LS_ENOTSUP ? 0 : 1;
    ls_checkpoints_close(c);
    ls_trainer_close(t);
    ls_pool_close(pool);
    return status;
}

/* A rank has only its part of the state, so checkpoints are refused. */
START_TEST(test_checkpoints)
{
    plan p = new_plan(4);
    ls_ranks *all;

    OK(ls_ranks_open(&all, 2, NULL));
    all_succeed(all, 2, open_checkpoints, &p);
    ls_ranks_close(all);
    ck_assert_int_ne(access("never-made", F_OK), 0);
    free_plan(&p);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("ranks");
    TCase *t = tcase_create("ranks");

    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, test_bytes, 0, sizeof kind / sizeof *kind);
    tcase_add_test(t, test_network);
    tcase_add_loop_test(t, test_differences, 0,
                        sizeof difference / sizeof *difference);
    tcase_add_test(t, test_too_many);
    tcase_add_test(t, test_bad_row);
    tcase_add_test(t, test_dead);
    tcase_add_test(t, test_moments);
    tcase_add_test(t, test_checkpoints);
    suite_add_tcase(s, t);
    return run_suite(s);
}
