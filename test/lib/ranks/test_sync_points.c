/* SPDX-License-Identifier: BSD-3-Clause */
/* Proves that ranks that meet in a step train the bytes that one process
 * trains: any cut of the devices, clipping, all kinds of mean, accumulation,
 * and that a failure on one of them changes nothing on any.  A rank is a thread
 * here, with a pool and a trainer of its own; it shares with the others only
 * what the transport moves. */
#include "models.h"
#include "on_ranks.h"
#include "train/trainer.h"

enum { IN = 37, HIDDEN = 131, OUT = 3, MOST = 5, STEPS = 3, ROWS_OF = 2 };

/* ------ What is computed ------ */

static ls_graph *new_graph(void)
{
    ls_graph *g = empty_graph();
    ls_node *x = ls_input(g, "x", LS_F32, 1, (int64_t[]){IN});
    ls_node *y = ls_input(g, "y", LS_F32, 1, (int64_t[]){OUT});
    ls_node *z = ls_relu(ls_dense(x, HIDDEN, "a"));

    OK(ls_loss(g, ls_mean_squared_error(ls_dense(z, OUT, "b"), y)));
    return g;
}

/* A run, and what came of it. */
typedef struct run_of {
    const ls_graph *graph;
    ls_trainer_options options;
    int devices;
    const float *x, *y, *weights;
    int64_t rows;
} run_of;

typedef struct outcome {
    int status; /* of the last step */
    char message[400];
    ls_result result, evaluation;
    int64_t floats;
    float *value;
} outcome;

static int set(ls_batch *b, const run_of *r)
{
    int status = ls_batch_set(b, "x", LS_F32, r->x, r->rows);

    if (status == 0)
        status = ls_batch_set(b, "y", LS_F32, r->y, r->rows);
    return status < 0 ? status : ls_batch_set_weights(b, r->weights, r->rows);
}

static void train(const run_of *r, ls_trainer *t, outcome *o)
{
    ls_batch *b = NULL;

    if ((o->status = ls_batch_open(&b, t)) == 0 &&
        (o->status = set(b, r)) == 0)
        o->status = ls_evaluate(t, b, &o->evaluation);
    for (int i = 0; i < STEPS && o->status == 0; i++)
        o->status = ls_step(t, b, &o->result);
    snprintf(o->message, sizeof o->message, "%s",
             o->status < 0 ? ls_errmsg() : "");
    o->floats = t->model.params.floats;
    o->value = malloc((size_t)o->floats * sizeof(float));
    if (o->value)
        memcpy(o->value, t->model.value,
               (size_t)o->floats * sizeof(float));
    ls_batch_close(b);
}

static outcome alone(const run_of *r)
{
    outcome o = {0};
    ls_trainer *t;
    ls_pool *pool;

    OK(pool_with(&pool, r->devices, 1));
    OK(ls_trainer_open(&t, pool, r->graph, &r->options));
    train(r, t, &o);
    ls_trainer_close(t);
    ls_pool_close(pool);
    return o;
}

/* ------ Ranks that meet ------ */

typedef struct world {
    const run_of *run;
    outcome *out; /* [rank] */
} world;

static int run_rank(const ls_transport *transport, void *user)
{
    const world *w = user;
    outcome *o = &w->out[transport->rank];
    run_of r = *w->run;
    int workers = r.devices > 1 ? 2 : 1;
    ls_trainer *t = NULL;
    ls_pool *pool = NULL;

    r.options.transport = transport;
    if ((o->status = pool_with(&pool, r.devices, workers)) == 0)
        o->status = ls_trainer_open(&t, pool, r.graph, &r.options);
    if (o->status < 0)
        abort(); /* the others would wait for ever */
    train(&r, t, o);
    ls_trainer_close(t);
    ls_pool_close(pool);
    return 0;
}

/* Rank k has devices kD/R .. (k+1)D/R. */
static void together(const run_of *of, int ranks, outcome *out)
{
    world w = {of, out};
    ranks_here *all;

    memset(out, 0, (size_t)ranks * sizeof *out);
    OK(ranks_open(&all, ranks, NULL));
    all_succeed(all, ranks, run_rank, &w);
    ranks_close(all);
}

/* ------ The tests ------ */

static bool same_float(float a, float b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static void check_same(const outcome *want, const outcome *got)
{
    ck_assert_int_eq(got->status, want->status);
    ck_assert_int_eq(got->floats, want->floats);
    ck_assert(got->value && want->value);
    ck_assert_mem_eq(got->value, want->value,
                     (size_t)want->floats * sizeof(float));
    ck_assert(same_float(got->evaluation.loss, want->evaluation.loss));
    if (want->status < 0)
        return;
    ck_assert(same_float(got->result.loss, want->result.loss));
    ck_assert(same_float(got->result.grad_norm, want->result.grad_norm));
    ck_assert(got->result.weight == want->result.weight);
}

static void compare(const run_of *r, int ranks)
{
    outcome want = alone(r), got[MOST];

    together(r, ranks, got);
    for (int k = 0; k < ranks; k++) {
        check_same(&want, &got[k]);
        free(got[k].value);
    }
    free(want.value);
}

static run_of new_run(ls_graph *g, int devices)
{
    run_of r = {.graph = g, .devices = devices};

    r.options = ls_trainer_defaults();
    r.options.optimizer = ls_adam(0.01);
    r.rows = (int64_t)devices * ROWS_OF * 2;
    r.x = normals(1, r.rows * IN);
    r.y = normals(2, r.rows * OUT);
    r.weights = NULL;
    return r;
}

static void free_run(run_of *r)
{
    free((void *)r->x);
    free((void *)r->y);
}

static const struct {
    ls_mean mean;
    double clip;
    int accumulate;
    bool weights;
} kind[] = {
    {LS_MEAN_EXACT, 0, 0, true},
    {LS_MEAN_EXACT, 0.01, 2, false},
    {LS_MEAN_OF_SHARDS, 0.01, 0, false},
    {LS_SUM, 0, 2, true},
};

/* Every number of processes for some numbers of devices, the kinds of mean,
 * clipping and accumulation. */
LOOP_TEST(test_same_bytes, 0, sizeof kind / sizeof *kind)
{
    static const int devices[] = {1, 2, 3, 5, 6, 8};
    float weights[8 * ROWS_OF * 2];
    ls_graph *g = new_graph();

    fill_uniform(3, 8 * ROWS_OF * 2, weights);
    for (int i = 0; i < 8 * ROWS_OF * 2; i++)
        weights[i] = fabsf(weights[i]);
    for (size_t d = 0; d < sizeof devices / sizeof *devices; d++)
        for (int ranks = 1; ranks <= devices[d] && ranks <= MOST; ranks++) {
            run_of r = new_run(g, devices[d]);

            r.options.mean = kind[_i].mean;
            r.options.clip_norm = kind[_i].clip;
            r.options.accumulate = kind[_i].accumulate;
            r.weights = kind[_i].weights ? weights : NULL;
            compare(&r, ranks);
            free_run(&r);
        }
    ls_graph_free(g);
}

/* A loss that is not finite on one device stops all processes before anything
 * changed; the one that runs the device names the row. */
TEST(test_bad_loss)
{
    ls_graph *g = new_graph();
    run_of r = new_run(g, 4);
    outcome out[2];

    ((float *)r.x)[(r.rows - 1) * IN] = (float)INFINITY;
    together(&r, 2, out);
    compare(&r, 2);
    ck_assert_int_eq(out[0].status, LS_ENONFINITE);
    ck_assert_msg(strstr(out[0].message, "device 3, which another process"),
                  "%s", out[0].message);
    ck_assert_msg(strstr(out[1].message, "row 15"), "%s", out[1].message);
    for (int k = 0; k < 2; k++)
        free(out[k].value);
    free_run(&r);
    ls_graph_free(g);
}

/* So does a gradient that is not finite once all are added, wherever its range
 * is finished. */
TEST(test_bad_gradient)
{
    ls_graph *g = new_graph();
    run_of r = new_run(g, 4);

    r.options.clip_norm = 1;
    for (int64_t i = 0; i < r.rows * OUT; i++)
        ((float *)r.y)[i] = 1e19f;
    compare(&r, 3);
    free_run(&r);
    ls_graph_free(g);
}

MAIN()
