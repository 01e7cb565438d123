/* SPDX-License-Identifier: BSD-3-Clause */
/* Workers on several NUMA nodes of described machines: who adds whose gradients
 * first and packs weights for whom, what of gradients is then read over links,
 * and that no bit depends on it; and that on one node nothing is copied.
 * Threads run wherever they may; what is counted follows from the plan. */
#include "mesh/node_sums.h"
#include "models.h"
#include "plan/team.h"
#include "pool/pool.h"
#include "train/copies.h"
#include "train/device.h"
#include "train/nodes.h"
#include "train/hooks.h"

#include <math.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static ls_mesh *open_mesh(const char *topology, int devices, int workers)
{
    ls_mesh_options o = ls_mesh_defaults();
    ls_mesh *mesh;

    o.topology = topology;
    o.devices = devices;
    o.workers = workers;
    OK(ls_mesh_open(&mesh, &o));
    return mesh;
}

/* ------ Counts ------ */

typedef struct counted {
    int nodes, outside;  /* groups; pairs of them in different packages */
    double flat, floats; /* over all links, for each parameter */
    double most;         /* over one, as it is */
} counted;

static counted count(const ls_mesh *mesh)
{
    counted c = {0};
    ls__node_sums s;

    OK(ls__node_sums_open(&s, mesh, ls_mesh_devices(mesh)));
    c.nodes = s.nodes;
    for (int k = 0; s.nodes > 1 && k < s.nodes * s.nodes; k++) {
        int from = k / s.nodes, to = k % s.nodes;
        double flat = ls__node_sums_flat(&s, from, to);
        double floats = s.pays ? ls__node_sums_read(&s, from, to) : flat;

        if (from == to)
            continue;
        c.outside += ls__mesh_place(mesh, s.node[from].worker)->package !=
                     ls__mesh_place(mesh, s.node[to].worker)->package;
        c.flat += flat;
        c.floats += floats;
        c.most = fmax(c.most, floats);
    }
    ls__node_sums_close(&s);
    return c;
}

/* Proves what of gradients is read over links at once and node by node: on one
 * node, two packages of 96 cores, four nodes a package, and three nodes; of
 * devices that are no power of two, of so few that all sit on one node, and of
 * a team across two. */
TEST(links)
{
    static const struct {
        const char *topology;
        int devices, workers;
        counted is;
    } of[] = {
        {"core:64", 64, 64, {1, 0, 0, 0, 0}},
        {"pack:2 numa:1 core:96", 192, 192, {2, 2, 96, 2 * .5 * 2, 1}},
        {"pack:2 numa:1 core:96", 8, 8, {1, 0, 0, 0, 0}}, /* all on the first */
        {"pack:2 numa:4 core:24", 192, 192, /* 24 devices: of 16 and of 8 */
         {8, 32, 24 * 56 / 8., 7 * 2, 2 * .125}},
        {"pack:2 numa:4 core:14 pu:2", 64, 64, /* four nodes of 14 in 3 parts */
         {5, 8, 50.75, 12 * 50. / 64 + 56. / 64, 3 * 14. / 64}},
        {"pack:2 numa:4 core:14 pu:2", 112, 112,
         {8, 32, 98, 8 * 3 * .875, 3 * .125}},
        {"numa:2 core:2", 4, 4, {2, 0, 2, 1, .5}},
        {"numa:2 core:1", 2, 2, {2, 0, 1, 1, .5}}, /* a device each */
        {"numa:3 core:4", 12, 12, {3, 0, 8, 2, 1. / 3}},
        {"numa:2 core:6", 3, 12, /* two of a team of four are on the other */
         {2, 0, 1.5, 1.5, 1}},
    };

    for (size_t i = 0; i < COUNT(of); i++) {
        ls_mesh *mesh = open_mesh(of[i].topology, of[i].devices,
                                  of[i].workers);
        counted c = count(mesh);

        ck_assert_int_eq(c.nodes, of[i].is.nodes);
        ck_assert_int_eq(ls__mesh_has_nodes(mesh), c.nodes > 1);
        ck_assert_int_eq(c.outside, of[i].is.outside);
        ck_assert_double_eq_tol(c.flat, of[i].is.flat, 1e-9);
        ck_assert_double_eq_tol(c.floats, of[i].is.floats, 1e-9);
        ck_assert_double_eq_tol(c.most, of[i].is.most, 1e-9);
        ck_assert_double_le(c.floats, c.flat);
        ls_mesh_close(mesh);
    }
}

/* Proves that the parts of all nodes are the shards, each once and in order,
 * and whole subtrees, for any numbers; and that each worker has a node. */
TEST(parts)
{
    for (int workers = 1; workers <= 13; workers++)
        for (int shards = 1; shards <= 20; shards++) {
            ls_mesh *mesh = open_mesh("numa:5 core:3", shards, workers);
            ls__node_sums s;
            int at = 0;

            OK(ls__node_sums_open(&s, mesh, shards));
            for (int k = 0; s.nodes > 1 && k < s.parts; k++) {
                ck_assert_int_eq(s.part[k].first, at);
                at += ls__subtree_items(s.part[k], shards);
            }
            ck_assert(s.nodes < 2 || at == shards);
            for (int w = 0; w < workers; w++)
                ck_assert_int_eq(s.of[w], w / 3);
            ls__node_sums_close(&s);
            ls_mesh_close(mesh);
        }
}

/* ------ Bits ------ */

enum { ROWS = 96, STEPS = 3 };

/* The weights that the workers of a node read are a copy of theirs, of the same
 * bytes. */
static void check_copies(const ls_trainer *t)
{
    const ls_mesh *mesh = ls__pool_mesh(t->pool);
    const float *first = t->model.weights.packed;
    size_t bytes = (size_t)t->model.plan->packs.floats * sizeof *first;

    for (int w = 0; w < t->workers; w++) {
        const float *packed = t->copies.of[w].packed;

        ck_assert_int_eq(memcmp(packed, first, bytes), 0);
        for (int i = 0; i <= w; i++)
            ck_assert((packed == t->copies.of[i].packed) ==
                      (ls__mesh_place(mesh, w)->numa ==
                       ls__mesh_place(mesh, i)->numa));
    }
}

/* The mean gradients that a hook was shown, one after the other. */
typedef struct seen {
    int step;
    float mean[STEPS + 1][1024];
} seen;

static int begin_seen(void *own, ls__step *step)
{
    seen *s = own;

    ck_assert_int_eq(step->calls, 1);
    s->step++;
    return 0;
}

static void see_block(void *own, const ls__step *step, ls__range block,
                      bool zeros)
{
    seen *s = own;

    ck_assert(!zeros);
    ck_assert_int_le(block.last, COUNT(s->mean[0]));
    memcpy(s->mean[s->step] + block.first, step->gradient + block.first,
           (size_t)(block.last - block.first) * sizeof *step->gradient);
}

static const ls__hook looks = {.name = "a test", .begin = begin_seen,
                                .summed = see_block};

/* What a training ends in, and whether its nodes added their own; s NULL:
 * nobody looks. */
static bool train_graph(ls_graph *graph, seen *s, const char *topology,
                        int devices, int workers, const ls_trainer_options *o,
                        const char *state, char hash[65])
{
    float *x = normals(1, ROWS * 9);
    int32_t label[ROWS];
    ls_mesh *mesh = open_mesh(topology, devices, workers);
    ls_pool *pool;
    ls_result result;
    bool added;
    run r;

    for (int i = 0; i < ROWS; i++)
        label[i] = i % 5;
    OK(ls_pool_open(&pool, mesh, NULL));
    r = open_run(pool, graph, o);
    if (s)
        OK(ls__hooks_add(r.trainer->hook, &looks, s));
    OK(ls_state_place(r.trainer, LS_STATE_ALL, state));
    OK(ls_batch_set(r.batch, "x", LS_F32, x, ROWS));
    OK(ls_batch_set(r.batch, "label", LS_I32, label, ROWS));
    for (int i = 0; i < STEPS; i++)
        OK(ls_step(r.trainer, r.batch, &result));
    ls_trainer_hash(r.trainer, hash);
    added = r.trainer->nodes != NULL;
    if (!(o->check > 0) && !o->check_divergence)
        check_copies(r.trainer);
    if (s)
        ls__hooks_drop(r.trainer->hook, s);
    close_run(&r);
    ls_pool_close(pool);
    ls_mesh_close(mesh);
    free(x);
    return added;
}

static bool train(const char *topology, int devices, int workers,
                  const ls_trainer_options *o, const char *state, char hash[65])
{
    return train_graph(mlp_graph(), NULL, topology, devices, workers, o, state,
                       hash);
}

/* Proves that the bytes are those of one worker on every machine, with numbers
 * of devices that are powers of two and others, with clipping, micro-batches
 * and means of shards, and for both placements. */
TEST(bits)
{
    static const char *const machine[] = {"numa:2 core:2", "numa:4 core:1",
                                          "pack:2 numa:2 core:2",
                                          "numa:3 core:2", "numa:2 core:3"};
    static const int devices[] = {4, 6, 12, 16};

    for (int kind = 0; kind < 4; kind++)
        for (size_t d = 0; d < COUNT(devices); d++) {
            ls_trainer_options o = ls_trainer_defaults();
            char one[65], many[65];

            o.optimizer = ls_adamw(1e-2);
            o.clip_norm = kind == 1 ? 0.1 : 0;
            o.accumulate = kind == 2 ? 2 : 1;
            o.mean = kind == 3 ? LS_MEAN_OF_SHARDS : LS_MEAN_EXACT;
            ck_assert(!train("core:1", devices[d], 1, &o, "replicate", one));
            for (size_t m = 0; m < COUNT(machine); m++) {
                int cores = m == 2 ? 8 : m == 1 || m == 0 ? 4 : 6;
                int workers = cores < devices[d] ? cores : devices[d];

                bool added = train(machine[m], devices[d], workers, &o,
                                   m % 2 ? "shard" : "replicate", many);

                ck_assert_str_eq(one, many);
                ck_assert(m != 0 || added == (kind < 3));
            }
        }
}

/* A classifier that norms by all rows of a batch and keeps statistics. */
static ls_graph *norms_graph(void)
{
    ls_batch_norm_options o = ls_batch_norm_defaults();
    ls_graph *g = empty_graph();
    ls_node *x = ls_input(g, "x", LS_F32, 1, (int64_t[]){9});
    ls_node *label = ls_input(g, "label", LS_I32, 0, NULL);

    o.statistics = LS_STATISTICS_OF_BATCH;
    x = ls_relu(ls_batch_norm_with(ls_dense(x, 33, "hidden"), &o, "norm"));
    OK(ls_loss(g, ls_cross_entropy(ls_dense(x, 5, "out"), label)));
    return g;
}

/* Proves that nodes add and copy where hooks are that need neither otherwise:
 * groups with an average, statistics, whoever looks at the mean, which is shown
 * to the bit; and do not where steps are computed a second time. */
TEST(hooks)
{
    enum { GROUPS, NORMS, LOOKER, CHECK, TWICE, KINDS };
    const ls_group group = ls_group_no_decay();

    for (int kind = 0; kind < KINDS; kind++) {
        ls_trainer_options o = ls_trainer_defaults();
        ls_graph *graph[2];
        static seen look[2];
        char hash[2][65];

        o.optimizer = ls_adamw(1e-2);
        o.groups = kind == GROUPS ? &group : NULL;
        o.n_groups = kind == GROUPS;
        o.average = kind == GROUPS ? 0.5 : 0;
        o.check = kind == CHECK ? 0.5 : 0;
        o.check_divergence = kind == TWICE;
        for (int i = 0; i < 2; i++) {
            graph[i] = kind == NORMS ? norms_graph() : mlp_graph();
            look[i].step = 0;
            ck_assert(train_graph(graph[i], kind == LOOKER ? &look[i] : NULL,
                                  i ? "numa:2 core:2" : "core:1", 12,
                                  i ? 4 : 1, &o, "shard", hash[i]) ==
                      (i && kind < CHECK));
        }
        ck_assert_str_eq(hash[0], hash[1]);
        ck_assert(memcmp(&look[0], &look[1], sizeof look[0]) == 0);
    }
}

/* Proves that workers who wrap around on two nodes share two copies, that on
 * one node there are none, and none where the weights are packed by a hook. */
TEST(copies)
{
    static const char *const machine[] = {"numa:2 core:1", "core:4"};
    ls_trainer_options o = ls_trainer_defaults();
    char one[65], many[65];

    train("core:1", 8, 1, &o, "replicate", one);
    for (int m = 0; m < 2; m++) {
        ls_mesh *mesh = open_mesh(machine[m], 8, 6);
        ls_pool *pool;
        run r;

        OK(ls_pool_open(&pool, mesh, NULL));
        for (int ride = 0; ride < 2; ride++) {
            o.check = ride ? 0.5 : 0;
            r = open_run(pool, mlp_graph(), &o);
            for (int w = 0; w < 6; w++)
                ck_assert((r.trainer->copies.of[w].packed ==
                           r.trainer->model.weights.packed) ==
                          (m == 1 || ride || w % 2 == 0));
            ck_assert((r.trainer->nodes != NULL) == (m == 0 && !ride));
            close_run(&r);
        }
        ls_pool_close(pool);
        ls_mesh_close(mesh);
        o.check = 0;
        train(machine[m], 8, 6, &o, "replicate", many);
        ck_assert_str_eq(one, many);
    }
}

/* ------ Teams ------ */

/* A team that runs one shard forward on its weights. */
typedef struct joined {
    const run *r;
    ls_shard shard;
    ls_sums sums;
} joined;

static void run_member(void *user, int worker)
{
    joined *j = user;
    const ls_trainer *t = j->r->trainer;
    ls__team *team = t->source.team[0];

    if (worker < t->workers - 1) { /* the leader is the last one */
        ls__team_help(team, t->workers - 1 - worker);
        return;
    }
    ls__team_gather(team, NULL, 0);
    OK(ls__exec_gradient(t->source.context[0], ls__device_weights(t, 0),
                         &j->shard, NULL, &j->sums));
    ls__team_dismiss(team);
}

static double loss_of(const run *r, const ls_shard *shard)
{
    joined j = {.r = r, .shard = *shard};

    OK(ls__pool_call(r->trainer->pool, NULL, run_member, &j));
    return j.sums.loss;
}

/* The loss with zeros in the weights that workers first .. last read. */
static double loss_without(const run *r, const ls_shard *shard, int first,
                           int last)
{
    const ls_trainer *t = r->trainer;
    size_t bytes = (size_t)t->model.plan->packs.floats * sizeof(float);

    for (int w = 0; w < t->workers; w++)
        ls__copies_pack(&t->copies, w, true);
    for (int w = first; w <= last; w++)
        memset(t->copies.of[w].packed, 0, bytes);
    return loss_of(r, shard);
}

/* Proves that a member of a team reads the weights of its own node: where a
 * shard's rows are cut among two, each node's show in the loss. */
TEST(members)
{
    ls_trainer_options o = ls_trainer_defaults();
    float *x = normals(1, ROWS * 9);
    int32_t *label = integers(2, 5, ROWS);
    const void *data[] = {x, label};
    ls_shard shard = {.rows = ROWS, .data = data};
    ls_mesh *mesh = open_mesh("numa:2 core:1", 1, 2);
    double whole, first, second, none;
    ls_pool *pool;
    run r;

    OK(ls_pool_open(&pool, mesh, NULL));
    r = open_run(pool, mlp_graph(), &o);
    for (int w = 0; w < 2; w++)
        ck_assert(ls__device_weights(r.trainer, 0)->near[1 - w] ==
                  r.trainer->copies.of[w].packed);
    ls__team_set_cut(r.trainer->source.team[0], (ls__team_cut){1, 2});
    whole = loss_without(&r, &shard, 0, -1);
    first = loss_without(&r, &shard, 0, 0);
    second = loss_without(&r, &shard, 1, 1);
    none = loss_without(&r, &shard, 0, 1);
    ck_assert_int_eq(ls__team_calls(r.trainer->source.team[0]), 4);
    ck_assert(first != whole && first != none && first != second);
    ck_assert(second != whole && second != none && whole != none);
    close_run(&r);
    ls_pool_close(pool);
    ls_mesh_close(mesh);
    free(x);
    free(label);
}

/* Proves that the bytes are those of one worker where teams sit on two nodes,
 * one team on both. */
TEST(teams)
{
    static const int workers[] = {4, 8, 12};
    ls_trainer_options o = ls_trainer_defaults();
    char one[65], many[65];

    o.optimizer = ls_adamw(1e-2);
    train("core:1", 3, 1, &o, "replicate", one);
    for (size_t w = 0; w < COUNT(workers); w++) {
        train("numa:2 core:6", 3, workers[w], &o, "shard", many);
        ck_assert_str_eq(one, many);
        train("numa:3 core:2", 3, workers[w] / 2, &o, "replicate", many);
        ck_assert_str_eq(one, many);
    }
}

/* ------ Failure ------ */

/* Proves that a gradient that is not finite stops the step there too. */
TEST(not_finite)
{
    ls_mesh *mesh = open_mesh("numa:2 core:2", 4, 4);
    ls_trainer_options o = ls_trainer_defaults();
    float *x = normals(1, ROWS * 9);
    int32_t label[ROWS] = {0};
    char before[65], after[65];
    ls_pool *pool;
    ls_result result;
    run r;

    o.optimizer = ls_sgd(1e-2);
    OK(ls_pool_open(&pool, mesh, NULL));
    r = open_run(pool, mlp_graph(), &o);
    x[ROWS * 9 - 1] = NAN;
    OK(ls_batch_set(r.batch, "x", LS_F32, x, ROWS));
    OK(ls_batch_set(r.batch, "label", LS_I32, label, ROWS));
    ls_trainer_hash(r.trainer, before);
    ck_assert_int_lt(ls_step(r.trainer, r.batch, &result), 0);
    ls_trainer_hash(r.trainer, after);
    ck_assert_str_eq(before, after);
    close_run(&r);
    ls_pool_close(pool);
    ls_mesh_close(mesh);
    free(x);
}

MAIN()
