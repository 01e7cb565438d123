/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups of parameters, the average of the weights, and what may be set between
 * steps: optax's numbers, the same bytes whoever works, and a resumed run. */
#define _GNU_SOURCE
#include "folder.h"
#include "golden.h"
#include "models.h"
#include "on_ranks.h"
#include "pages.h"
#include "reduce/reduce.h"
#include "train/trainer.h"

enum { ARRAYS = 4, FLOATS = 28, UPDATES = 5, ROWS = 24, STEPS = 4 };

/* ------ optax ------ */

static const ls_array_spec arrays[ARRAYS] = {
    {"a.bias", LS_F32, 1, {4}},
    {"a.kernel", LS_F32, 2, {3, 4}},
    {"b.kernel", LS_F32, 2, {4, 2}},
    {"norm.scale", LS_F32, 1, {4}}};
static const int64_t size[ARRAYS] = {4, 12, 8, 4};

static int all_ones(void *user, int device, const ls_shard *shard,
                    const float *const *params, float *const *grads,
                    ls_sums *sums)
{
    (void)user, (void)device, (void)shard, (void)params;
    for (int i = 0; grads && i < ARRAYS; i++)
        for (int64_t k = 0; k < size[i]; k++)
            grads[i][k] = 1;
    sums->weight = 1;
    return 0;
}

static void set_all(const float *values, ls_trainer *t, ls_gradients *g)
{
    for (int i = 0; i < ARRAYS; values += size[i++])
        if (g) /* the frozen one is no part of the norm */
            OK(ls_gradients_set(g, arrays[i].name, size[i], values));
        else
            OK(ls_trainer_set(t, arrays[i].name, size[i], values));
}

static void check_all(const ls_trainer *t, const char *prefix,
                      const float *want)
{
    for (int i = 0; i < ARRAYS; want += size[i++]) {
        char name[32];
        float got[12];

        snprintf(name, sizeof name, "%s%s", prefix, arrays[i].name);
        OK(ls_trainer_get(t, name, size[i], got));
        for (int64_t k = 0; k < size[i]; k++)
            ck_assert_msg(fabsf(got[k] - want[k]) <= 1e-6f * fabsf(want[k]),
                          "%s[%d]: %.9g, not %.9g", name, (int)k,
                          (double)got[k], (double)want[k]);
    }
}

/* Numbers after update i. */
static const float *after(const char *what, int i)
{
    return golden("group_updates", FLOATS, "%s/%d", what, i);
}

TEST(optax)
{
    ls_gradient gradient = {all_ones, NULL, 1, ARRAYS, arrays, arrays};
    ls_trainer_options o = ls_trainer_defaults();
    ls_group group[] = {ls_group_no_decay(), ls_group_of("b.*"),
                        ls_group_frozen("a.k*")};
    ls_pool *pool = open_pool(2, 2);
    ls_gradients *g;
    ls_trainer *t;
    ls_result r;

    group[1].rate = 0.5;
    o.optimizer = ls_adamw(0.01);
    o.optimizer.weight_decay = 0.1;
    o.clip_norm = 1.5;
    o.average = 0.9;
    o.n_groups = 3;
    o.groups = group;
    OK(ls_trainer_open_gradient(&t, pool, &gradient, &o));
    OK(ls_gradients_open(&g, t, 1));
    set_all(golden("group_updates", FLOATS, "start"), t, NULL);
    for (int i = 0; i < UPDATES; i++) {
        set_all(after("gradient", i), NULL, g);
        OK(ls_gradients_apply(g, &r));
        check_all(t, "", after("params", i));
        check_all(t, "average.", after("average", i));
    }
    OK(ls_trainer_use_average(t, true));
    check_all(t, "", after("average", UPDATES - 1));
    FAILS(ls_gradients_apply(g, &r), LS_EINVAL, "nothing was computed");
    OK(ls_trainer_use_average(t, false));
    check_all(t, "", after("params", UPDATES - 1));
    ls_gradients_close(g);
    ls_trainer_close(t);
    ls_pool_close(pool);
}

/* ------ a graph ------ */

typedef struct outcome {
    float loss[STEPS], norm[STEPS], averaged;
    char hash[65];
} outcome;

/* What is frozen of mlp_graph: its first layer, whose gradient nobody needs;
 * one in the middle; and parts of a layer. */
static const char *const frozen[] = {"hidden.*", "norm.*", "out.kernel",
                                     "hidden.kernel"};
enum { FROZEN = sizeof frozen / sizeof *frozen };

typedef struct plan {
    ls_trainer_options options;
    ls_group group[3];
    int devices, workers;
    const ls_transport *transport;
    const float *x;
    const int32_t *label;
    const outcome *expected;
} plan;

static plan new_plan(int which)
{
    plan p = {.devices = 4, .workers = 1};

    p.options = ls_trainer_defaults();
    p.options.optimizer = ls_adamw(1e-2);
    p.options.clip_norm = 0.5;
    p.options.average = 0.8;
    p.options.state = which % 2 ? LS_SHARD : LS_REPLICATE;
    p.group[0] = ls_group_no_decay();
    p.group[1] = ls_group_frozen(frozen[which]);
    p.group[2] = ls_group_of("out.*");
    p.group[2].rate = 0.5;
    p.options.n_groups = 3;
    p.x = normals(1, ROWS * 9);
    p.label = integers(2, 5, ROWS);
    return p;
}

static void free_plan(plan *p)
{
    free((void *)p->x);
    free((void *)p->label);
}

static int open_plan(const plan *p, ls_pool **pool, run *r)
{
    ls_trainer_options o = p->options;
    ls_graph *g = mlp_graph();
    int status = pool_with(pool, p->devices, p->workers);

    o.groups = p->group;
    o.transport = p->transport;
    if (status == 0)
        status = ls_trainer_open(&r->trainer, *pool, g, &o);
    ls_graph_free(g);
    if (status == 0)
        status = ls_batch_open(&r->batch, r->trainer);
    if (status == 0)
        status = ls_batch_set(r->batch, "x", LS_F32, p->x, ROWS - 1);
    return status < 0 ? status : ls_batch_set(r->batch, "label", LS_I32,
                                              p->label, ROWS - 1);
}

static int take_steps(const run *r, int from, outcome *o)
{
    ls_result result;
    int status = 0;

    for (int i = from; i < STEPS && status == 0; i++) {
        if (i == 2)
            status = ls_trainer_set_lr(r->trainer, 5e-3);
        if (status == 0)
            status = ls_step(r->trainer, r->batch, &result);
        o->loss[i] = result.loss;
        o->norm[i] = result.grad_norm;
    }
    if (status == 0)
        status = ls_trainer_use_average(r->trainer, true);
    if (status == 0)
        status = ls_evaluate(r->trainer, r->batch, &result);
    o->averaged = result.loss;
    if (status == 0)
        status = ls_trainer_use_average(r->trainer, false);
    ls_trainer_hash(r->trainer, o->hash);
    return status;
}

static int train(const plan *p, outcome *o)
{
    ls_pool *pool = NULL;
    run r = {0};
    int status = open_plan(p, &pool, &r);

    if (status == 0)
        status = take_steps(&r, 0, o);
    close_run(&r);
    ls_pool_close(pool);
    return status;
}

static int train_rank(const ls_transport *transport, void *user)
{
    plan p = *(const plan *)user;
    outcome o = {0};
    int status;

    p.transport = transport;
    status = train(&p, &o);
    return status == 0 && memcmp(&o, p.expected, sizeof o) ? 1 : status;
}

/* The same bytes for all workers and ranks. */
LOOP_TEST(bytes, 0, FROZEN)
{
    plan p = new_plan(_i);
    outcome first = {0}, other = {0};

    OK(train(&p, &first));
    p.workers = 3;
    OK(train(&p, &other));
    ck_assert_mem_eq(&first, &other, sizeof first);
    p.expected = &first;
    for (int ranks = 2; ranks <= 3; ranks++) {
        ranks_here *all;

        OK(ranks_open(&all, ranks, NULL));
        all_succeed(all, ranks, train_rank, &p);
        ranks_close(all);
    }
    free_plan(&p);
}

/* What is frozen stays, the rest moves as if the frozen gradients were 0: the
 * norm is the same whether they are left out or computed and cleared. */
LOOP_TEST(stays, 0, FROZEN)
{
    plan p = new_plan(_i);
    ls_pool *pool = NULL;
    run r = {0};

    OK(open_plan(&p, &pool, &r));
    for (int i = 0; i < ls_trainer_params(r.trainer); i++) {
        const char *name = ls_trainer_param_name(r.trainer, i);
        bool still = strncmp(name, frozen[_i], strcspn(frozen[_i], "*")) == 0;
        int64_t shape[LS_MAX_RANK], n = 1;
        float before[400], after[400];

        for (int a = ls_trainer_param_shape(r.trainer, i, shape); a > 0; a--)
            n *= shape[a - 1];
        OK(ls_trainer_get(r.trainer, name, n, before));
        step(&r);
        OK(ls_trainer_get(r.trainer, name, n, after));
        ck_assert_msg(still == !memcmp(before, after, (size_t)n * 4), "%s",
                      name);
    }
    close_run(&r);
    ls_pool_close(pool);
    free_plan(&p);
}

/* A run that goes on from a checkpoint has the rate that was set, the average
 * and the groups; other groups are refused. */
TEST(resumed)
{
    ls_checkpoints_options c = ls_checkpoints_defaults();
    plan p = new_plan(0);
    outcome whole = {0}, again = {0};
    ls_checkpoints *all;
    ls_pool *pool = NULL;
    run r = {0};
    int64_t step_now;

    folder_open();
    c.folder = folder;
    OK(train(&p, &whole));
    OK(open_plan(&p, &pool, &r));
    OK(ls_checkpoints_open(&all, r.trainer, &c));
    for (int i = 0; i < 3; i++) {
        if (i == 2)
            OK(ls_trainer_set_lr(r.trainer, 5e-3));
        again.loss[i] = step(&r).loss;
        again.norm[i] = whole.norm[i];
    }
    OK(ls_checkpoints_save(all, 0, NULL));
    OK(ls_trainer_use_average(r.trainer, true));
    FAILS(ls_checkpoints_save(all, 0, NULL), LS_EINVAL, "the average stands");
    ls_checkpoints_close(all);
    close_run(&r);
    ls_pool_close(pool);

    OK(open_plan(&p, &pool, &r));
    OK(ls_checkpoints_open(&all, r.trainer, &c));
    OK(ls_checkpoints_load(all, &step_now));
    ck_assert_int_eq(step_now, 3);
    OK(take_steps(&r, 3, &again));
    ck_assert_mem_eq(&whole, &again, sizeof whole);
    ls_checkpoints_close(all);
    close_run(&r);
    ls_pool_close(pool);

    p.options.n_groups = 2;
    OK(open_plan(&p, &pool, &r));
    OK(ls_checkpoints_open(&all, r.trainer, &c));
    FAILS(ls_checkpoints_load(all, &step_now), LS_EINVAL, "group");
    ls_checkpoints_close(all);
    close_run(&r);
    ls_pool_close(pool);
    folder_close();
    free_plan(&p);
}

/* A program that sets the step, for a schedule, has an average that begins with
 * the parameters all the same, unless it sets that, too. */
TEST(average_of_a_later_step)
{
    plan p = new_plan(0);
    ls_pool *pool = NULL;
    run r = {0};
    float out[5], average[5], set[5] = {1, 2, 3, 4, 5};

    OK(open_plan(&p, &pool, &r));
    OK(ls_trainer_set(r.trainer, "out.bias", 5, set));
    OK(ls_trainer_set_step(r.trainer, 7));
    OK(ls_trainer_set_lr(r.trainer, 0));
    for (int i = 0; i < 3; i++)
        step(&r);
    OK(ls_trainer_get(r.trainer, "average.out.bias", 5, average));
    for (int i = 0; i < 5; i++)
        ck_assert_double_eq_tol((double)average[i], (double)set[i], 1e-6);
    OK(ls_trainer_get(r.trainer, "out.bias", 5, out));
    ck_assert_mem_eq(out, set, sizeof set);
    close_run(&r);
    ls_pool_close(pool);

    OK(open_plan(&p, &pool, &r));
    OK(ls_trainer_set(r.trainer, "average.out.bias", 5, set));
    OK(ls_trainer_set_step(r.trainer, 7));
    OK(ls_trainer_set_lr(r.trainer, 0));
    step(&r);
    OK(ls_trainer_get(r.trainer, "average.out.bias", 5, average));
    for (int i = 0; i < 5; i++)
        ck_assert_double_eq_tol((double)average[i], 0.8 * (double)set[i],
                                1e-6);
    close_run(&r);
    ls_pool_close(pool);
    free_plan(&p);
}

/* What makes no sense is refused by name. */
TEST(refused)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_pool *pool = open_pool(2, 1);
    ls_graph *graph = mlp_graph();
    ls_group g = ls_group_frozen("nobody.*");
    ls_trainer *t;
    run r;

    o.n_groups = 1;
    FAILS(ls_trainer_open(&t, pool, graph, &o), LS_EINVAL, "groups is NULL");
    o.groups = &g;
    FAILS(ls_trainer_open(&t, pool, graph, &o), LS_ENOTFOUND,
          "\"nobody.*\": matches no parameter");
    g = ls_group_frozen("*");
    FAILS(ls_trainer_open(&t, pool, graph, &o), LS_EINVAL, "are frozen");
    g = ls_group_of(NULL);
    FAILS(ls_trainer_open(&t, pool, graph, &o), LS_EINVAL, "names is NULL");
    g = ls_group_of("out.*");
    g.rate = -1;
    FAILS(ls_trainer_open(&t, pool, graph, &o), LS_EINVAL, "rate -1");
    o.n_groups = 0;
    o.average = 1;
    FAILS(ls_trainer_open(&t, pool, graph, &o), LS_EINVAL, "average is 1");
    o.average = 0;
    r = open_run(pool, graph, &o);
    FAILS(ls_trainer_use_average(r.trainer, true), LS_EINVAL, "no average");
    FAILS(ls_trainer_set_lr(r.trainer, (double)NAN), LS_EINVAL, "rate is nan");
    FAILS(ls_trainer_set_lr(r.trainer, 1e39), LS_EINVAL, "rate is 1e+39");
    FAILS(ls_trainer_set_step(r.trainer, -1), LS_EINVAL, "step -1");
    FAILS(ls_trainer_set_step(r.trainer, INT64_MAX), LS_EINVAL,
          "more than a run can make");
    OK(ls_trainer_set_step(r.trainer, 7));
    ck_assert_int_eq(ls_trainer_step(r.trainer), 7);
    close_run(&r);
    ls_pool_close(pool);
}

/* ------ What is frozen ------ */

enum { WIDE = 1 << 15 };

/* A graph with a layer of 8 MB. */
static ls_graph *wide_graph(void)
{
    ls_graph *g = empty_graph();
    ls_node *in = ls_input(g, "x", LS_F32, 1, (int64_t[]){64});
    ls_node *y = ls_dense(ls_tanh(ls_dense(in, WIDE, "wide")), 1, "out");

    OK(ls_loss(g, ls_mean_squared_error(y, ls_slice(in, 0, 0, 1))));
    return g;
}

static int step_wide(const ls_transport *transport, void *user)
{
    ls_group group = ls_group_frozen(user);
    ls_trainer_options o = ls_trainer_defaults();
    ls_graph *g = wide_graph();
    float *x = normals(3, 64 * 8);
    ls_pool *pool = NULL;
    ls_result result;
    run r = {0};
    int status = pool_with(&pool, 2, 1);

    o.transport = transport;
    o.n_groups = user != NULL;
    o.groups = &group;
    if (status == 0)
        status = ls_trainer_open(&r.trainer, pool, g, &o);
    if (status == 0)
        status = ls_batch_open(&r.batch, r.trainer);
    if (status == 0)
        status = ls_batch_set(r.batch, "x", LS_F32, x, 8);
    if (status == 0)
        status = ls_step(r.trainer, r.batch, &result);
    close_run(&r);
    ls_pool_close(pool);
    ls_graph_free(g);
    free(x);
    return status;
}

/* Bytes that a rank sends when two of them open a trainer and take a step. */
static int64_t sent(const char *freeze)
{
    ranks_here *all;
    int64_t n;

    OK(ranks_open(&all, 2, NULL));
    all_succeed(all, 2, step_wide, (void *)freeze);
    n = ranks_sent(all, 0);
    ranks_close(all);
    return n;
}

/* Layers with several parameters each, and one that takes another's value into
 * its own. */
static ls_graph *layers_graph(void)
{
    ls_graph *g = empty_graph();
    ls_node *x = ls_input(g, "x", LS_F32, 2, (int64_t[]){4, 6});
    ls_node *y = ls_input(g, "y", LS_F32, 2, (int64_t[]){4, 2});
    ls_node *z = ls_dense(x, 6, "one");

    z = ls_add(z, ls_dense(x, 6, "two"));
    z = ls_gru(ls_position(z, "at"), 5, "gru");
    z = ls_lstm(ls_batch_norm(z, 1e-5, "norm"), 3, "lstm");
    OK(ls_loss(g, ls_mean_squared_error(ls_dense(z, 2, "out"), y)));
    return g;
}

/* The gradients of a trainer in which one parameter alone is trained, by its
 * number of declaration, or where that is -1 all that are not stored. */
static run open_alone(int trained, ls_pool **pool)
{
    ls_group group[40];
    ls_trainer_options o = ls_trainer_defaults();
    ls_graph *g = layers_graph();

    for (int i = 0; trained >= 0 && i < g->param_count; i++)
        if (i != trained)
            group[o.n_groups++] = ls_group_frozen(g->params[i]->name);
    o.groups = group;
    *pool = open_pool(2, 2);
    return open_run(*pool, g, &o);
}

static float *gradients_of(int trained)
{
    ls_pool *pool;
    run r = open_alone(trained, &pool);
    const ls__params *p = &r.trainer->model.params;
    float *x = normals(3, 8 * 24), *y = normals(4, 8 * 8);
    float *out = calloc((size_t)p->floats, sizeof *out);
    ls_gradients *gradients;
    ls_result result;

    OK(ls_batch_set(r.batch, "x", LS_F32, x, 8));
    OK(ls_batch_set(r.batch, "y", LS_F32, y, 8));
    OK(ls_gradients_open(&gradients, r.trainer, 1));
    OK(ls_gradients_compute(gradients, r.batch, &result));
    for (int i = 0; i < p->count; i++)
        OK(ls_gradients_get(gradients, p->slot[i].name, p->slot[i].size,
                            out + p->slot[i].offset));
    ls_gradients_close(gradients);
    close_run(&r);
    ls_pool_close(pool);
    free(x);
    free(y);
    return out;
}

static void check_alone(const ls__params *p, int trained, const float *all)
{
    float *one = gradients_of(trained), none[512] = {0};

    for (int i = 0; i < p->count; i++) {
        const ls__slot *s = &p->slot[i];
        const float *want = s->declared == trained ? all + s->offset : none;

        ck_assert_int_lt(s->size, 512);
        ck_assert_mem_eq(one + s->offset, want,
                         (size_t)s->size * sizeof *one);
    }
    free(one);
}

/* What one parameter gets does not depend on which others are frozen, and these
 * get nothing; nor is it computed. */
TEST(each_alone)
{
    ls_pool *pool;
    run r = open_alone(-1, &pool);
    const ls__params *p = &r.trainer->model.params;
    float *all = gradients_of(-1);

    for (int i = 0; i < p->count; i++) {
        int declared = p->slot[i].declared;

        if (!r.trainer->model.graph->params[declared]->is_stored)
            check_alone(p, declared, all);
        else
            ck_assert(r.trainer->model.plan->left_out[declared]);
    }
    free(all);
    close_run(&r);
    ls_pool_close(pool);
}

/* Ranks send each other neither gradients nor values of what is frozen. */
TEST(messages)
{
    ck_assert_int_gt(sent(NULL), 8 << 20);
    ck_assert_int_lt(sent("wide.*"), 2 << 20);
    ck_assert_int_lt(sent("*.kernel"), 2 << 20);
}

/* ------ Memory ------ */

#if !UNDER_SANITIZER

/* Two steps in which a layer of 8 MB is frozen, or its kernel alone, or
 * nothing: pages of each array of its gradients and moments, without the blocks
 * that it shares with others. */
static int pages_after_steps(const char *freeze, bool accumulate)
{
    enum { SHARED = LS__REDUCE_BLOCK };
    ls_group group = ls_group_frozen(freeze);
    ls_trainer_options o = ls_trainer_defaults();
    const ls__slot *slot;
    float *x = normals(3, 64 * 8);
    int pages = 0;
    ls_result result;
    run r;

    o.optimizer = ls_adam(1e-2);
    o.clip_norm = 0.5;
    o.accumulate = accumulate ? 2 : 1;
    o.n_groups = freeze != NULL;
    o.groups = &group;
    r = open_run_on(2, 2, wide_graph(), &o);
    OK(ls_batch_set(r.batch, "x", LS_F32, x, 8));
    for (int i = 0; i < 2; i++)
        OK(ls_step(r.trainer, r.batch, &result));
    slot = ls__params_find(&r.trainer->model.params, "wide.kernel");
    for (int i = 0; i < 2; i++) {
        int64_t first = slot->offset + SHARED, n = slot->size - 2 * SHARED;

        pages += pages_of(r.trainer->grad.device[i] + first, n);
        pages += pages_of(r.trainer->moments.of[i] + first, n);
        if (accumulate)
            pages += pages_of(r.trainer->grad.later[i] + first, n);
        if (!freeze) {
            check_huge(r.trainer->grad.device[i] + first);
            check_huge(r.trainer->moments.of[i] + first);
        }
    }
    free(x);
    close_run(&r);
    return pages;
}

/* What is frozen takes no memory but its own, and what is not has huge pages.
 */
LOOP_TEST(room, 0, 2)
{
    if (emulated("which pages take memory"))
        return;
    ck_assert_int_eq(pages_after_steps("wide.*", _i), 0);
    ck_assert_int_eq(pages_after_steps("wide.kernel", _i), 0);
    ck_assert_int_gt(pages_after_steps(NULL, _i), 4 * 1024);
}

#endif

MAIN()
