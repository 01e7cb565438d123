/* SPDX-License-Identifier: BSD-3-Clause */
/* Proves that ranks that share the devices of one training have the bytes of
 * one machine: losses, norms, metrics, evaluation, predictions and the state
 * hash, and that what differs between ranks, or dies, is named. */
#include "rank_plans.h"
#include "ranks/all_gather.h"
#include "ranks/reduce_scatter.h"
#include "ranks/ranks.h"
#include "train/trainer.h"

/* ------ A training ------ */

/* Everything that comes out of it. */
typedef struct outcome {
    float loss[STEPS], norm[STEPS], accuracy[STEPS], metric[STEPS];
    float evaluated, predicted[ROWS * CLASSES];
    char hash[65];
} outcome;

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

/* A rank with one worker gives each section before it updates the next one. */
static bool given_as_planned(const plan *p, const ls_trainer *t)
{
    int sections = ls__sections(t->owned.floats, t->owned.ranks);

    return p->workers != 1 ||
           ls__all_gather_early(t->ranks->all_gather) == sections - 1;
}

static bool left_as_planned(const plan *p, const ls_trainer *t)
{
    if (!p->options.transport)
        return true;
    return given_as_planned(p, t) &&
           (p->early == ANY ||
            (ls__reduce_scatter_early(t->ranks->reduce_scatter) > 0) ==
                (p->early == SOME));
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

static void train_on(plan *p, int ranks, const ranks_options *options)
{
    ranks_here *all;

    OK(ranks_open(&all, ranks, options));
    all_succeed(all, ranks, train_rank, p);
    ranks_close(all);
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
    bool adagrad; /* moments that begin above 0, l2, clipped values */
} kind[] = {
    {LS_MEAN_EXACT, LS_REPLICATE, 0, 0, LS_F32_LAYERS, 0, false},
    {LS_MEAN_EXACT, LS_SHARD, 0.5, 2, LS_F32_LAYERS, 3, false},
    {LS_MEAN_OF_SHARDS, LS_REPLICATE, 0.5, 0, LS_F32_LAYERS, 1, true},
    {LS_SUM, LS_SHARD, 0, 2, LS_BF16_LAYERS, 0, false},
};

/* Bytes are the same for cuts that are aligned and cuts that are not. */
LOOP_TEST(test_bytes, 0, sizeof kind / sizeof *kind)
{
    static outcome expected;

    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
        plan p;

        if (UNDER_SANITIZER && ((int)i + _i) % 2)
            continue;
        p = i % 2 ? new_wide_plan(shape[i].devices)
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

/* Whatever the network does with the messages. */
TEST(test_network)
{
    static outcome expected;
    ranks_options o = {.delay = 1e-4, .shuffle = 5, .bandwidth = 1e8};
    plan p = new_plan(6);

    train_alone(&p, &expected);
    train_on(&p, 4, &o);
    free_plan(&p);
}

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
LOOP_TEST(test_buckets, 0, sizeof bucket / sizeof *bucket)
{
    static const struct {
        int devices, ranks, accumulate;
    } cut[] = {{4, 1, 1}, {4, 2, 2}, {6, 3, 1}, {6, 4, 1}, {12, 5, 2}};
    static outcome expected;
    ranks_options slow = {.delay = 5e-5, .shuffle = 9, .bandwidth = 3e8};
    int one_in = long_run() ? 1 : UNDER_SANITIZER ? 5 : 3;

    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++) {
        plan p;

        if (((int)i + _i) % one_in != one_in / 2)
            continue;
        p = new_wide_plan(cut[i].devices);
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

/* The mean of shards is known late, and so nothing leaves early. */
TEST(test_late)
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

static void tell_nonsense(plan *p)
{
    p->options.clip_norm = -1;
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
    {tell_nonsense, LS_EINVAL, "clip norm -1: it must be"}, /* by rank 2 */
    {tell_precision, LS_EINVAL, "precision is "},
    {tell_graph, LS_EINVAL, "the number of parameters is "},
    {tell_rows, LS_ESHAPE, "the batch has 8 rows on rank 2, and 16 on rank 0"},
    {tell_rate, LS_EINVAL, "the learning rate is 0.25 on rank 2, and 0.01"},
    {tell_step, LS_EINVAL, "rank 2 is at step 7, and rank 0 at 2"},
};

/* All ranks refuse to start, or to step, and name the first difference. */
LOOP_TEST(test_differences, 0, sizeof difference / sizeof *difference)
{
    rank_body out[RANKS];
    plan p = new_plan(4);
    ranks_here *all;

    other_graph = mlp_graph();
    p.odd = 2;
    p.tell = difference[_i].tell;
    OK(ranks_open(&all, 3, &(ranks_options){.patience = 60}));
    on_ranks(all, 3, train_rank, &p, out);
    for (int r = 0; r < 3; r++) {
        ck_assert_int_eq(out[r].status, difference[_i].status);
        ck_assert_msg(strstr(out[r].message, difference[_i].words), "%s",
                      out[r].message);
    }
    ranks_close(all);
    ls_graph_free(other_graph);
    free_plan(&p);
}

/* ------ A call that is wrong on one rank ------ */

/* A model whose devices meet on the way, too; two outputs of one size. */
static ls_graph *meeting_graph(bool meets)
{
    ls_graph *g = empty_graph();
    ls_node *h;

    h = ls_dense(ls_input(g, "x", LS_F32, 1, (int64_t[]){IN}), 7, "hidden");
    h = meets ? ls_batch_norm_with(h, NULL, "norm") : ls_tanh(h);
    h = ls_dense(h, CLASSES, "out");
    OK(ls_output(g, h, "scores"));
    OK(ls_output(g, ls_tanh(h), "others"));
    OK(ls_loss(g, ls_cross_entropy(h, ls_input(g, "label", LS_I32, 0, NULL))));
    return g;
}

/* A call of all ranks, of which the last one makes a mistake. */
typedef int wrong_fn(rank_run *r, const plan *p, bool odd, float *out);

static int wrong_count(rank_run *r, const plan *p, bool odd, float *out)
{
    return ls_predict(r->trainer, r->batch, "scores",
                      (int64_t)p->rows * CLASSES - odd, out);
}

static int wrong_name(rank_run *r, const plan *p, bool odd, float *out)
{
    return ls_predict(r->trainer, r->batch, odd ? "scopes" : "scores",
                      (int64_t)p->rows * CLASSES, out);
}

static int wrong_output(rank_run *r, const plan *p, bool odd, float *out)
{
    return ls_predict(r->trainer, r->batch, odd ? "others" : "scores",
                      (int64_t)p->rows * CLASSES, out);
}

static int wrong_input(rank_run *r, const plan *p, bool odd, float *out)
{
    return ls_input_gradient(r->trainer, r->batch, true, odd ? "label" : "x",
                             (int64_t)p->rows * IN, out);
}

static int wrong_layers(rank_run *r, const plan *p, bool odd, float *out)
{
    return ls_input_gradient(r->trainer, r->batch, odd, "x",
                             (int64_t)p->rows * IN, out);
}

static int wrong_room(rank_run *r, const plan *p, bool odd, float *out)
{
    return ls_row_losses(r->trainer, r->batch, p->rows + odd, out);
}

static int wrong_call(rank_run *r, const plan *p, bool odd, float *out)
{
    return odd ? ls_evaluate(r->trainer, r->batch, &(ls_result){0})
               : ls_row_losses(r->trainer, r->batch, p->rows, out);
}

/* A batch without labels, an input that nobody set. */
static int with_empty(rank_run *r, const plan *p, bool odd, bool steps)
{
    ls_batch *b;
    ls_result result;
    int status = ls_batch_open(&b, r->trainer);

    if (status == 0)
        status = ls_batch_set(b, "x", LS_F32, p->x, p->rows);
    if (status == 0)
        status = steps ? ls_step(r->trainer, odd ? b : r->batch, &result)
                       : ls_evaluate(r->trainer, odd ? b : r->batch, &result);
    ls_batch_close(b);
    return status;
}

static int wrong_step(rank_run *r, const plan *p, bool odd, float *out)
{
    (void)out;
    return with_empty(r, p, odd, true);
}

static int wrong_look(rank_run *r, const plan *p, bool odd, float *out)
{
    (void)out;
    return with_empty(r, p, odd, false);
}

static const struct {
    wrong_fn *call;
    int status;
    const char *odd, *other;
} wrong[] = {
    {wrong_step, LS_EINVAL, "\"label\" of the batch is not set",
     "rank 2 failed: invalid argument"},
    {wrong_look, LS_EINVAL, "\"label\" of the batch is not set",
     "rank 2 failed: invalid argument"},
    {wrong_count, LS_ESHAPE, "do not fill 79", "rank 2 failed: shapes do"},
    {wrong_name, LS_ENOTFOUND, "\"scopes\"", "rank 2 failed: no such name"},
    {wrong_output, LS_EINVAL, "rank 2 asks for another thing", "than rank 0"},
    {wrong_input, LS_EINVAL, "its numbers are integers", "rank 2 failed"},
    {wrong_layers, LS_EINVAL, "rank 2 asks for another thing", "than rank 0"},
    {wrong_room, LS_ESHAPE, "room for 17", "rank 2 failed: shapes do"},
    {wrong_call, LS_EINVAL, "rank 2 asks for another thing", "than rank 0"},
};

/* Every mistake, between steps whose bytes tell nothing of it. */
static int make_mistakes(rank_run *r, const plan *p, bool odd, char hex[65])
{
    float *out = calloc(ROWS * IN, sizeof *out);
    int status = 0;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong && status == 0; i++) {
        int got = p->odd < 0 ? wrong[i].status
                             : wrong[i].call(r, p, odd, out);

        if (got != wrong[i].status ||
            (p->odd >= 0 && !strstr(ls_errmsg(), odd ? wrong[i].odd
                                                     : wrong[i].other))) {
            fprintf(stderr, "mistake %d: status %d, %s\n", (int)i, got,
                    ls_errmsg());
            status = got < 0 ? got : 1;
        }
        if (status == 0)
            status = ls_step(r->trainer, r->batch, &(ls_result){0});
    }
    free(out);
    return status < 0 ? status : status + ls_trainer_hash(r->trainer, hex);
}

static int mistake_rank(const ls_transport *transport, void *user)
{
    plan p = *(const plan *)user;
    rank_run r;
    char hex[65] = "";
    int status;

    p.options.transport = transport;
    status = rank_open(&r, &p);
    if (status == 0)
        status = make_mistakes(&r, &p, transport->rank == p.odd, hex);
    if (status != 0)
        transport->abort(transport->user, ls_errmsg());
    rank_close(&r);
    return status == 0 && strcmp(hex, (const char *)p.expected) ? 2 : status;
}

/* A mistake that one rank makes is told to all, in the same call, and leaves no
 * trace, also where the step is checked, has micro-batches, or its devices meet
 * on the way. */
LOOP_TEST(test_mistakes, 0, 5)
{
    plan p = new_plan(4);
    char hex[65];
    ranks_here *all;
    rank_run r;

    ls_graph_free((ls_graph *)p.graph);
    p.graph = meeting_graph(_i == 1);
    p.options.check = _i == 2 ? 1 : 0;
    p.options.accumulate = _i == 3 ? 2 : 1;
    p.options.check_divergence = _i == 4;
    OK(rank_open(&r, &p));
    OK(make_mistakes(&r, &p, false, hex));
    rank_close(&r);
    p.odd = 2;
    p.expected = (struct outcome *)hex;
    OK(ranks_open(&all, 3, &(ranks_options){.patience = 20}));
    all_succeed(all, 3, mistake_rank, &p);
    ranks_close(all);
    free_plan(&p);
}

/* More ranks than devices are refused by all. */
TEST(test_too_many)
{
    rank_body out[RANKS];
    plan p = new_plan(2);
    ranks_here *all;

    OK(ranks_open(&all, 3, NULL));
    on_ranks(all, 3, train_rank, &p, out);
    for (int r = 0; r < 3; r++) {
        ck_assert_int_eq(out[r].status, LS_EINVAL);
        ck_assert_ptr_nonnull(strstr(out[r].message, "3 ranks are more than 2 "
                                     "devices"));
    }
    ranks_close(all);
    free_plan(&p);
}

/* ------ What goes wrong ------ */

/* A row that is not finite stops all ranks, in the same step. */
TEST(test_bad_row)
{
    rank_body out[RANKS];
    plan p = new_plan(4);
    ranks_here *all;

    ((float *)p.x)[(p.rows - 1) * IN] = (float)INFINITY;
    OK(ranks_open(&all, 2, NULL));
    on_ranks(all, 2, train_rank, &p, out);
    for (int r = 0; r < 2; r++) {
        ck_assert_int_eq(out[r].status, LS_ENONFINITE);
        ck_assert_ptr_nonnull(strstr(out[r].message, "on device 3"));
    }
    ranks_close(all);
    free_plan(&p);
}

/* A rank that dies, or falls silent, at any message: the others end, and name
 * a rank that did not answer. */
TEST(test_dead)
{
    for (int64_t posts = 3; posts < 48; posts += 11) {
        ranks_options o = {.fault = RANK_DIES, .rank = 1,
                              .posts = posts, .patience = 5};
        rank_body out[RANKS];
        plan p = posts % 2 ? new_wide_plan(4) : new_plan(4);
        ranks_here *all;

        p.options.bucket = 1; /* so that some messages leave early */
        p.workers = 1;
        OK(ranks_open(&all, 3, &o));
        on_ranks(all, 3, train_rank, &p, out);
        for (int r = 0; r < 3; r++) {
            ck_assert_int_eq(out[r].status, LS_EIO);
            ck_assert_msg(strstr(out[r].message, "rank 1 has died"), "%s",
                          out[r].message);
        }
        ranks_close(all);
        free_plan(&p);
    }
}

MAIN(.timeout = 3000)
