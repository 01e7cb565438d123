/* Proves that ranks that share the devices of one training have the bytes of
 * one machine: losses, norms, metrics, evaluation, predictions, weights and the
 * state hash, and that what differs between ranks, or dies, is named. */
#include "models.h"
#include "on_ranks.h"
#include "reduce/reduce.h"
#include "train/leaving.h"
#include "train/trainer.h"

#include <malloc.h>

enum { IN = 9, CLASSES = 5, ROWS = 48, STEPS = 4 };

/* ------ A training ------ */

/* How it is trained, and what one rank does otherwise. */
typedef struct plan {
    ls_trainer_options options;
    int devices;
    int rows;
    int workers; /* of each rank; 0: as many as are of use */
    enum { ANY, NONE, SOME } early; /* sections that leave early */
    int odd;    /* the rank that is told something else, or -1 */
    void (*tell)(struct plan *p);
    int (*set)(ls_trainer *t); /* of the trainer, before the third step */
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

/* A wide one has so many parameters that ranks share several sections. */
static ls_graph *classifier(bool wide)
{
    ls_graph *g;
    ls_node *x, *label, *h;

    OK(ls_graph_new(&g));
    x = ls_input(g, "x", LS_F32, 1, (int64_t[]){IN});
    label = ls_input(g, "label", LS_I32, 0, NULL);
    h = ls_gelu(ls_dense(x, 700, "hidden"));
    if (wide)
        h = ls_relu(ls_dense(h, 500, "middle"));
    h = ls_layer_norm(ls_dropout(h, 0.25, "drop"), "norm");
    h = ls_dense(h, CLASSES, "out");
    OK(ls_output(g, h, "scores"));
    ck_assert_int_ge(ls_metric(g, ls_gelu(h)), 0);
    OK(ls_loss(g, ls_cross_entropy(h, label)));
    return g;
}

static int pool_with(ls_pool **pool, int devices, int workers)
{
    ls_mesh_options m = ls_mesh_defaults();
    ls_mesh *mesh;
    int status;

    m.devices = devices;
    m.workers = workers;
    if ((status = ls_mesh_open(&mesh, &m)) < 0)
        return status;
    status = ls_pool_open(pool, mesh, NULL);
    ls_mesh_close(mesh);
    return status;
}

static int pool_of(ls_pool **pool, int devices)
{
    return pool_with(pool, devices, devices > 1 ? 2 : 1);
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
        if (i == 2 && p->set)
            OK(p->set(t));
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

static bool left_as_planned(const plan *p, const ls_trainer *t)
{
    return p->early == ANY || !p->options.transport ||
           (ls__leaving_early(t) > 0) == (p->early == SOME);
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
    if (status == 0 && !left_as_planned(p, t))
        status = 2;
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
    status = p.workers ? pool_with(&pool, p.devices, p.workers)
                       : pool_of(&pool, p.devices);
    if (status == 0)
        status = train(&p, pool, o);
    if (status == 0 && p.expected && memcmp(o, p.expected, sizeof *o))
        status = 1;
    if (status == LS_EIO && transport) /* as a program would */
        transport->abort(transport->user, ls_errmsg());
    ls_pool_close(pool);
    free(o);
    return status;
}

static plan new_plan(int devices)
{
    plan p = {.devices = devices, .rows = devices * 4, .odd = -1};

    p.options = ls_trainer_defaults();
    p.options.optimizer = ls_adam(1e-2);
    p.graph = classifier(false);
    p.x = normals(1, (int64_t)ROWS * IN);
    p.label = integers(2, CLASSES, ROWS);
    return p;
}

static plan new_wide_plan(int devices)
{
    plan p = new_plan(devices);

    ls_graph_free((ls_graph *)p.graph);
    p.graph = classifier(true);
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
    bool adagrad; /* whose moments do not begin with zeros, l2, values clipped */
} kind[] = {
    {LS_MEAN_EXACT, LS_REPLICATE, 0, 0, LS_F32_LAYERS, 0, false},
    {LS_MEAN_EXACT, LS_SHARD, 0.5, 2, LS_F32_LAYERS, 3, false},
    {LS_MEAN_OF_SHARDS, LS_REPLICATE, 0.5, 0, LS_F32_LAYERS, 1, true},
    {LS_SUM, LS_SHARD, 0, 2, LS_BF16_LAYERS, 0, false},
};

/* For cuts that are aligned and cuts that are not. */
START_TEST(test_bytes)
{
    static outcome expected;

    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
        plan p = i % 2 ? new_wide_plan(shape[i].devices)
                       : new_plan(shape[i].devices);

        p.options.mean = kind[_i].mean;
        p.options.state = kind[_i].state;
        p.options.clip_norm = kind[_i].clip;
        p.options.accumulate = kind[_i].accumulate;
        p.options.precision = kind[_i].precision;
        p.rows -= kind[_i].fewer;
        if (kind[_i].adagrad) {
            p.options.optimizer = ls_adagrad(0.05);
            p.options.optimizer.l2 = 0.01;
            p.options.clip_value = 0.02;
        }
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

/* ------ Buckets ------ */

static const int64_t bucket[] = {-1, 1, 1 << 18, 0, INT64_MAX};

static void tell_bucket(plan *p)
{
    p->options.bucket = 3 << 16;
    p->early = ANY;
}

/* How much leaves at once, and when, shows in no bit: alone on a worker, where
 * it is known what leaves early, and with several, where it is not; with one
 * rank that has other buckets, and when messages overtake each other. */
START_TEST(test_buckets)
{
    static const struct {
        int devices, ranks, accumulate;
    } cut[] = {{4, 1, 1}, {4, 2, 2}, {6, 3, 1}, {6, 4, 1}, {12, 5, 2}};
    static outcome expected;
    ls_ranks_options slow = {.delay = 5e-5, .shuffle = 9, .bandwidth = 3e8};

    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++) {
        plan p = new_wide_plan(cut[i].devices);

        if (!getenv("LS_LONG") && ((int)i + _i) % 3 != 1) {
            free_plan(&p);
            continue;
        }
        p.options.clip_norm = 0.5;
        p.options.accumulate = cut[i].accumulate;
        train_alone(&p, &expected);
        p.options.bucket = bucket[_i];
        p.workers = 1;
        p.early = cut[i].ranks == 1 || _i == 0 || _i == 4 ? NONE : SOME;
        p.early = bucket[_i] == 0 ? ANY : p.early; /* as large as all */
        train_on(&p, cut[i].ranks, NULL);
        p.odd = 1;
        p.tell = tell_bucket;
        train_on(&p, cut[i].ranks, &slow);
        p.workers = 2;
        p.early = ANY;
        train_on(&p, cut[i].ranks, i % 2 ? &slow : NULL);
        free_plan(&p);
    }
}
END_TEST

/* The mean of shards is known late, and so nothing leaves early. */
START_TEST(test_late)
{
    static outcome expected;
    plan p = new_wide_plan(4);

    p.options.mean = LS_MEAN_OF_SHARDS;
    train_alone(&p, &expected);
    p.options.bucket = 1;
    p.workers = 1;
    p.early = NONE;
    train_on(&p, 2, NULL);
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

static int set_rate(ls_trainer *t)
{
    return ls_trainer_set_lr(t, 0.25);
}

static void tell_rate(plan *p)
{
    p->set = set_rate;
}

static int set_step(ls_trainer *t)
{
    return ls_trainer_set_step(t, 7);
}

static void tell_step(plan *p)
{
    p->set = set_step;
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
    {tell_rate, LS_EINVAL, "the learning rate is 0.25 on rank 2, and 0.01"},
    {tell_step, LS_EINVAL, "rank 2 is at step 7, and rank 0 at 2"},
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
        plan p = posts % 2 ? new_wide_plan(4) : new_plan(4);
        ls_ranks *all;

        p.options.bucket = 1; /* so that some messages leave early */
        p.workers = 1;
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

/* The ranks' share of a moment, which they have between them once. */
typedef struct shares {
    plan plan;
    int64_t of[RANKS], all;
} shares;

static int read_moment(const ls_transport *transport, void *user)
{
    shares *s = user;
    plan p = s->plan;
    float mu[700];
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
    if (status == 0) {
        s->of[transport->rank] = (int64_t)malloc_usable_size(t->moment[0]);
        if (transport->rank == 0)
            s->all = 4 * t->model.params.floats;
        if (transport->rank == 1 &&
            ls_trainer_get(t, "mu.hidden.bias", 700, mu) != LS_ENOTSUP)
            status = 1;
    }
    ls_batch_close(b);
    ls_trainer_close(t);
    ls_pool_close(pool);
    return status;
}

/* Moments are there once, over all ranks together, and nobody reads what
 * another one has. */
START_TEST(test_moments)
{
    shares s = {.plan = new_wide_plan(4)};
    int64_t sum = 0;
    ls_ranks *all;

    OK(ls_ranks_open(&all, 3, NULL));
    all_succeed(all, 3, read_moment, &s);
    ls_ranks_close(all);
    for (int r = 0; r < 3; r++)
        sum += s.of[r];
    ck_assert_int_ge(sum, s.all);
    ck_assert_int_le(sum, s.all + 3 * 4096 + 3 * 256); /* malloc rounds up */
    free_plan(&s.plan);
}
END_TEST

/* ------ What is sent ------ */

/* Bytes that each rank sends in a step. */
typedef struct traffic {
    plan plan;
    const ls_ranks *all;
    int64_t floats, blocks, sent[RANKS];
} traffic;

static int count_step(const ls_transport *transport, void *user)
{
    traffic *c = user;
    plan p = c->plan;
    int rank = transport->rank;
    ls_trainer *t = NULL;
    ls_batch *b = NULL;
    ls_pool *pool = NULL;
    ls_result r;
    int status = pool_of(&pool, p.devices);

    p.options.transport = transport;
    if (status == 0 &&
        (status = ls_trainer_open(&t, pool, p.graph, &p.options)) == 0 &&
        (status = ls_batch_open(&b, t)) == 0)
        status = set_batch(b, &p);
    c->sent[rank] = -ls_ranks_sent(c->all, rank);
    if (status == 0)
        status = ls_step(t, b, &r);
    c->sent[rank] += ls_ranks_sent(c->all, rank);
    if (status == 0 && rank == 0) {
        c->floats = t->model.params.floats;
        c->blocks = p.options.clip_norm > 0 ? ls__reduce_blocks(c->floats) : 0;
    }
    ls_batch_close(b);
    ls_trainer_close(t);
    ls_pool_close(pool);
    return status;
}

/* With ranks x 2^k devices a step as a whole sends 2 N (R-1)/R floats a
 * rank, and besides them a report for each device, what is not finite, and the
 * squares of blocks: no other byte. */
START_TEST(test_traffic)
{
    for (int ranks = 1; ranks <= 6; ranks++) {
        traffic c = {.plan = new_wide_plan(2 * ranks)};
        int64_t sum = 0, besides;
        ls_ranks *all;

        c.plan.options.clip_norm = _i ? 0.5 : 0;
        c.plan.options.accumulate = _i ? 2 : 1;
        OK(ls_ranks_open(&all, ranks, NULL));
        c.all = all;
        all_succeed(all, ranks, count_step, &c);
        ls_ranks_close(all);
        for (int r = 0; r < ranks; r++)
            sum += c.sent[r];
        besides = (int64_t)sizeof(ls__report) * c.plan.devices + 8 * ranks +
                  4 * c.blocks;
        ck_assert_int_eq(sum, (ranks - 1) * (4 * 2 * c.floats + besides));
        free_plan(&c.plan);
    }
}
END_TEST

/* ------ Data ------ */

/* A training from a source: one rank may have another one. */
typedef struct feed {
    plan plan;
    int64_t rows, batch;
    bool shuffle, spoilt; /* by the odd rank */
    int64_t asked[RANKS]; /* rows, by each rank */
    char hash[65]; /* by the first rank, or without ranks */
} feed;

/* Counts the rows that are asked for. */
typedef struct counted {
    ls_source inner;
    int64_t asked;
} counted;

static int fill_counted(void *user, int64_t n, const int64_t *index,
                        void *const *out)
{
    counted *c = user;

    c->asked += n;
    return c->inner.fill(c->inner.user, n, index, out);
}

static int steps_from(counted *c, ls_trainer *t, ls_source *source,
                      const ls_loader_options *o)
{
    ls_loader *loader = NULL;
    ls_batch *b = NULL;
    ls_result r;
    int status = ls_loader_open(&loader, t, source, o);

    if (status == 0)
        status = ls_batch_open(&b, t);
    c->asked = 0; /* those that were compared do not count */
    for (int64_t i = 0; i < 6 && status == 0; i++)
        if ((status = ls_loader_fill(loader, i, b, NULL)) == 0)
            status = ls_step(t, b, &r);
    ls_batch_close(b);
    ls_loader_close(loader);
    return status;
}

static int feed_rank(const ls_transport *transport, void *user)
{
    feed *f = user;
    plan p = f->plan;
    bool odd = transport && transport->rank == p.odd;
    ls_array a[] = {{"x", LS_F32, 2, {f->rows - (odd && f->rows > 40), IN},
                     (void *)p.x},
                    {"label", LS_I32, 1, {f->rows - (odd && f->rows > 40)},
                     (void *)p.label}};
    ls_loader_options o = ls_loader_defaults();
    counted c = {.asked = 0};
    ls_source s = {0};
    ls_trainer *t = NULL;
    ls_pool *pool = NULL;
    float *copy = NULL;
    char hash[65] = "";
    int status = pool_of(&pool, p.devices);

    o.batch = f->batch - 6 * (odd && f->batch == 12);
    o.shuffle = f->shuffle;
    o.key = ls_key_new(5);
    o.no_thread = true;
    o.uneven = LS_UNEVEN_PAD;
    p.options.transport = transport;
    if (odd && f->spoilt && (copy = malloc(ROWS * IN * sizeof *copy))) {
        memcpy(copy, p.x, ROWS * IN * sizeof *copy);
        copy[(f->rows - 1) * IN] += 1;
        a[0].data = copy;
    }
    if (status == 0 && (status = ls_source_arrays(&c.inner, 2, a)) == 0) {
        s = c.inner;
        s.fill = fill_counted;
        s.user = &c;
        s.close = NULL;
        status = ls_trainer_open(&t, pool, p.graph, &p.options);
    }
    if (status == 0)
        status = steps_from(&c, t, &s, &o);
    f->asked[transport ? transport->rank : 0] = c.asked;
    if (status < 0 && status != LS_EINVAL && transport)
        transport->abort(transport->user, ls_errmsg());
    if (status == 0)
        ls_trainer_hash(t, hash);
    if (status == 0 && (!transport || transport->rank == 0))
        memcpy(f->hash, hash, sizeof hash);
    ls_source_close(&c.inner);
    ls_trainer_close(t);
    ls_pool_close(pool);
    free(copy);
    return status;
}

/* Rows come to the rank whose devices need them, and to no other: in their
 * order and shuffled, with micro-batches, padded at the end of an epoch. */
START_TEST(test_feed)
{
    feed f = {.plan = new_plan(6), .rows = 40, .batch = 24};

    f.shuffle = _i & 1;
    f.plan.options.accumulate = _i & 2 ? 2 : 1;
    OK(feed_rank(NULL, &f));
    for (int ranks = 1; ranks <= 5; ranks += 2) {
        feed g = {.plan = f.plan, .rows = f.rows, .batch = f.batch,
                  .shuffle = f.shuffle};
        ls_ranks *all;

        OK(ls_ranks_open(&all, ranks, NULL));
        all_succeed(all, ranks, feed_rank, &g);
        ls_ranks_close(all);
        ck_assert_str_eq(g.hash, f.hash);
        for (int r = 1; r < ranks; r++) {
            ck_assert_int_lt(g.asked[r], f.asked[0]);
            g.asked[0] += g.asked[r];
        }
        ck_assert_int_eq(g.asked[0], f.asked[0]);
    }
    free_plan(&f.plan);
}
END_TEST

static const struct {
    int64_t rows, batch;
    bool spoilt;
    const char *words;
} other_data[] = {
    {41, 24, false, "number of rows of the data is 40 on rank 1, and 41 on"},
    {40, 12, false, "number of rows of a batch is 6 on rank 1, and 12 on"},
    {40, 24, true, "the hash of 24 rows of the data is "},
};

/* A rank with other data is found before the first step. */
START_TEST(test_other_data)
{
    rank_body out[RANKS];
    feed f = {.plan = new_plan(6), .rows = other_data[_i].rows,
              .batch = other_data[_i].batch, .spoilt = other_data[_i].spoilt};
    ls_ranks *all;

    f.plan.odd = 1;
    OK(ls_ranks_open(&all, 3, NULL));
    on_ranks(all, 3, feed_rank, &f, out);
    for (int r = 0; r < 3; r++) {
        ck_assert_msg(strstr(out[r].message, other_data[_i].words), "%s",
                      out[r].message);
        ck_assert_int_eq(out[r].status, LS_EINVAL);
    }
    ls_ranks_close(all);
    free_plan(&f.plan);
}
END_TEST

/* ------ Places ------ */

typedef struct places {
    char list[RANKS][256];
    int own[RANKS];
} places;

static int find_place(const ls_transport *t, void *user)
{
    places *p = user;

    p->own[t->rank] = ls_transport_cpus(t, NULL, p->list[t->rank], 256);
    return p->own[t->rank] < 0 ? p->own[t->rank] : 0;
}

/* Ranks of one process may all run on the same cores: each gets some of its own
 * while there are enough, and none where there are not. */
START_TEST(test_places)
{
    ls_mesh *mesh;
    ls_ranks *all;
    int cores;

    OK(ls_mesh_open(&mesh, NULL));
    cores = ls_mesh_usable_cores(mesh);
    for (int ranks = 1; ranks <= RANKS; ranks++) {
        places p = {0};

        OK(ls_ranks_open(&all, ranks, NULL));
        all_succeed(all, ranks, find_place, &p);
        ls_ranks_close(all);
        for (int r = 0; r < ranks; r++) {
            ck_assert_int_eq(p.own[r], ranks <= cores);
            ck_assert_int_eq(*p.list[r] != 0, ranks > 1 && ranks <= cores);
            for (int q = 0; q < r && *p.list[r]; q++)
                ck_assert_str_ne(p.list[q], p.list[r]);
        }
    }
    ls_mesh_close(mesh);
}
END_TEST

/* ------ Checkpoints ------ */

/* A part of a run: from the newest checkpoint on, to a step, saving after each
 * `every`th. */
typedef struct leg {
    plan plan;
    const char *folder;
    int64_t from, to; /* from: where it must go on, -1: at the beginning */
    int every;
    char hash[65];    /* by the first rank */
} leg;

static int save_step(ls_checkpoints *c, int64_t step)
{
    char text[32];

    snprintf(text, sizeof text, "%lld", (long long)step);
    return ls_checkpoints_save(c, 1, &(ls_setting){"cursor", text});
}

static int go_on(leg *l, ls_trainer *t, ls_checkpoints *c, int64_t *done)
{
    char text[32];
    int status = ls_checkpoints_load(c, done);

    if (status < 0)
        return status;
    if (l->from >= -1 && *done != l->from)
        return ls_error(LS_EIO, "it goes on from another step");
    snprintf(text, sizeof text, "%lld", (long long)*done);
    if (*done >= 0 && strcmp(ls_checkpoints_note(c, "cursor"), text))
        return ls_error(LS_EIO, "the note is another");
    *done = *done < 0 ? 0 : *done;
    return ls_trainer_step(t) == *done ? 0 : LS_EIO;
}

static int walk(leg *l, ls_trainer *t, ls_batch *b, ls_checkpoints *c)
{
    int64_t done = 0;
    ls_result r;
    int status = go_on(l, t, c, &done);

    for (; status == 0 && done < l->to; done++) {
        status = ls_step(t, b, &r);
        if (status == 0 && (done + 1) % l->every == 0)
            status = save_step(c, done + 1);
    }
    return status < 0 ? status : ls_checkpoints_wait(c);
}

static int walk_rank(const ls_transport *transport, void *user)
{
    leg *l = user;
    plan p = l->plan;
    ls_checkpoints_options o = ls_checkpoints_defaults();
    ls_setting which = {"which", transport && transport->rank == p.odd
                                     ? "odd" : "even"};
    ls_checkpoints *c = NULL;
    ls_trainer *t = NULL;
    ls_batch *b = NULL;
    ls_pool *pool = NULL;
    char hash[65] = "";
    int status = pool_of(&pool, p.devices);

    o.folder = l->folder;
    o.setting = &which;
    o.settings = 1;
    p.options.transport = transport;
    if (status == 0 &&
        (status = ls_trainer_open(&t, pool, p.graph, &p.options)) == 0 &&
        (status = ls_batch_open(&b, t)) == 0 &&
        (status = set_batch(b, &p)) == 0 &&
        (status = ls_checkpoints_open(&c, t, &o)) == 0)
        status = walk(l, t, b, c);
    if (status == 0) {
        ls_trainer_hash(t, hash);
        status = *hash ? 0 : LS_EIO;
    }
    if (!transport || transport->rank == 0)
        memcpy(l->hash, hash, sizeof hash);
    if (status == LS_EIO && transport)
        transport->abort(transport->user, ls_errmsg());
    ls_checkpoints_close(c);
    ls_batch_close(b);
    ls_trainer_close(t);
    ls_pool_close(pool);
    return status;
}

/* ranks 0: without a transport. */
static void walk_on(leg *l, int ranks)
{
    ls_ranks *all;

    if (ranks == 0) {
        OK(walk_rank(NULL, l));
        return;
    }
    OK(ls_ranks_open(&all, ranks, NULL));
    all_succeed(all, ranks, walk_rank, l);
    ls_ranks_close(all);
}

static const char *const kept[] = {"params.safetensors",
                                   "optimizer.safetensors", "checkpoint.json"};

static void same_checkpoint(const char *a, const char *b, int step)
{
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        char command[256];

        snprintf(command, sizeof command, "cmp %s/step-%012d/%s "
                 "%s/step-%012d/%s", a, step, kept[i], b, step, kept[i]);
        ck_assert_msg(system(command) == 0, "%s", command);
    }
}

/* Written by any number of ranks they are the files of one machine, and any
 * number goes on from them. */
START_TEST(test_checkpoints)
{
    static const int way[] = {0, 3, 1, 6, 0, 4, 2, 5};
    plan p = new_wide_plan(6);
    leg whole = {.plan = p, .folder = "c-alone", .from = -1, .to = 16,
                 .every = 2};
    leg l = {.plan = p, .folder = "c-ranks", .from = -1, .every = 2};

    ck_assert_int_eq(system("rm -rf c-alone c-ranks"), 0);
    walk_on(&whole, 0);
    for (int i = 0; i < 8; i++) {
        l.to = 2 * (i + 1);
        walk_on(&l, way[i]);
        l.from = l.to;
    }
    ck_assert_str_eq(l.hash, whole.hash);
    for (int step = 12; step <= 16; step += 2)
        same_checkpoint("c-alone", "c-ranks", step);
    ck_assert_int_eq(system("rm -rf c-alone c-ranks"), 0);
    free_plan(&p);
}
END_TEST

/* What only one rank sees, all fail by: a folder that cannot be made, a setting
 * that is another, a checkpoint of another seed. */
START_TEST(test_checkpoint_failures)
{
    rank_body out[RANKS];
    plan p = new_plan(4);
    leg l = {.plan = p, .folder = "none/c", .from = -1, .to = 2, .every = 1};
    ls_ranks *all;

    ck_assert_int_eq(system("rm -rf c-fail"), 0);
    for (int k = 0; k < 3; k++) {
        static const char *const words[] = {
            "cannot be made", "which is odd on rank 1, and even on rank 0",
            "seed is 9, but was 0 in the checkpoint"};

        OK(ls_ranks_open(&all, 3, NULL));
        on_ranks(all, 3, walk_rank, &l, out);
        for (int r = 0; r < 3; r++) {
            ck_assert_msg(strstr(out[r].message, words[k]), "%s",
                          out[r].message);
            ck_assert_int_eq(out[r].status, k ? LS_EINVAL : LS_EIO);
        }
        ls_ranks_close(all);
        l.folder = "c-fail";
        l.plan.odd = k == 0 ? 1 : -1;
        if (k == 1) {
            walk_on(&l, 2);
            l.plan.options.seed = 9;
        }
    }
    ck_assert_int_eq(system("rm -rf c-fail"), 0);
    free_plan(&p);
}
END_TEST

static uint32_t draw(uint32_t *state, uint32_t below)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % below;
}

/* A random rank dies at a random message, and a random number of ranks goes on
 * from the last checkpoint that stands, until the end: one hash. */
START_TEST(test_deaths)
{
    int runs = getenv("LS_LONG") ? 200 : 4, deaths = 0;
    uint32_t seed = 17;
    plan p = new_plan(6);
    leg whole = {.plan = p, .folder = "c-whole", .from = -1, .to = 12,
                 .every = 2};

    ck_assert_int_eq(system("rm -rf c-whole c-death"), 0);
    walk_on(&whole, 0);
    for (int i = 0; i < runs; i++) {
        leg l = {.plan = p, .folder = "c-death", .from = -2, .to = 12,
                 .every = 2};

        for (bool ended = false; !ended;) {
            int ranks = 2 + (int)draw(&seed, 4);
            ls_ranks_options o = {.fault = LS_RANK_DIES, .patience = 60,
                                  .rank = (int)draw(&seed, (uint32_t)ranks),
                                  .posts = draw(&seed, (uint32_t)(30 * ranks))};
            rank_body out[RANKS];
            ls_ranks *all;

            OK(ls_ranks_open(&all, ranks, &o));
            on_ranks(all, ranks, walk_rank, &l, out);
            ended = true;
            for (int r = 0; r < ranks; r++)
                ended = ended && out[r].status == 0;
            deaths += !ended;
            ls_ranks_close(all);
        }
        ck_assert_str_eq(l.hash, whole.hash);
        same_checkpoint("c-whole", "c-death", 12);
        ck_assert_int_eq(system("rm -rf c-death"), 0);
    }
    ck_assert_int_ge(deaths, runs);
    printf("%d runs, %d deaths, one hash\n", runs, deaths);
    ck_assert_int_eq(system("rm -rf c-whole"), 0);
    free_plan(&p);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("ranks");
    TCase *t = tcase_create("ranks");

    tcase_set_timeout(t, 3000);
    tcase_add_loop_test(t, test_bytes, 0, sizeof kind / sizeof *kind);
    tcase_add_test(t, test_network);
    tcase_add_loop_test(t, test_buckets, 0, sizeof bucket / sizeof *bucket);
    tcase_add_test(t, test_late);
    tcase_add_loop_test(t, test_differences, 0,
                        sizeof difference / sizeof *difference);
    tcase_add_test(t, test_too_many);
    tcase_add_test(t, test_bad_row);
    tcase_add_test(t, test_dead);
    tcase_add_test(t, test_moments);
    tcase_add_loop_test(t, test_traffic, 0, 2);
    tcase_add_loop_test(t, test_feed, 0, 4);
    tcase_add_loop_test(t, test_other_data, 0,
                        sizeof other_data / sizeof *other_data);
    tcase_add_test(t, test_places);
    tcase_add_test(t, test_checkpoints);
    tcase_add_test(t, test_checkpoint_failures);
    tcase_add_test(t, test_deaths);
    suite_add_tcase(s, t);
    return run_suite(s);
}
