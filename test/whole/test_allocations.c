/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory: a step allocates nothing, with a transcript or without, and whichever
 * allocation of a trainer's life fails, nothing stays allocated. */
#include "faults.h"
#include "lockstep/transcript.h"
#include "pool/pool_seats.h"
#include "regression.h"

#include <stdatomic.h>
#include <unistd.h>

#if OWN_MALLOC

static void watch(int fail)
{
    fail_memory = ALL_MEMORY;
    watch_from(fail);
}

/* Stop counting before any assertion: Check allocates too. */
static void unwatch(int *calls, int *left)
{
    atomic_store(&watching, false);
    *calls = atomic_load(&count);
    *left = atomic_load(&live);
}

static void steps_allocate_nothing(run *r)
{
    int calls, left;

    step(r); /* whatever is made once has been made */
    watch(0);
    for (int i = 0; i < 10; i++) {
        ls_result result;

        if (ls_step(r->trainer, r->batch, &result) < 0 ||
            ls_evaluate(r->trainer, r->batch, &result) < 0)
            break;
    }
    unwatch(&calls, &left);
    ck_assert_int_eq(ls_trainer_step(r->trainer), 11);
    ck_assert_int_eq(calls, 0);
}

/* Proves that the counters count, so that the next test can fail. */
TEST(allocations_are_counted)
{
    ls_graph *g = NULL;
    int status, calls, left;

    watch(0);
    status = ls_graph_new(&g);
    unwatch(&calls, &left);
    ck_assert(status == 0 && calls == 1 && left == 1);
    ls_graph_free(g);
    watch(1);
    status = ls_graph_new(&g);
    unwatch(&calls, &left);
    ck_assert(status == LS_ENOMEM && calls == 1 && left == 0);
}

static const lm_sizes tiny_lm = {37, 12, 24, 3, 2, 40};

/* Proves that a step and an evaluation allocate nothing, replicated and
 * sharded. */
LOOP_TEST(a_step_allocates_nothing, LS_REPLICATE, LS_SHARD + 1)
{
    ls_trainer_options o = ls_trainer_defaults();
    regression q = open_regression(LS_MEAN_EXACT, ls_adam(0.1));
    int32_t *tokens = integers(1, 37, ROWS * 12);
    run lm;

    o.optimizer = ls_adamw(1e-3);
    o.state = (ls_state)_i;
    o.backend = "native";
    lm = open_run(q.run.pool, lm_graph(&tiny_lm), &o);
    OK(ls_batch_set(lm.batch, "tokens", LS_I32, tokens, ROWS));
    steps_allocate_nothing(&q.run);
    steps_allocate_nothing(&lm);
    close_run(&lm);
    close_regression(&q);
    free(tokens);
}

/* ------ with a transcript ------ */

/* What ten steps take: allocations, meetings of the workers in a step, and jobs
 * that they were given. */
typedef struct taken {
    int allocations;
    unsigned meetings, jobs;
} taken;

static unsigned passed(const ls__barrier *b)
{
    return atomic_load(&b->all.gate.word) / 2;
}

/* Steps, the lines of a transcript if there is one, and its states. */
static int ten_steps(run *r, ls_transcript *t, int64_t *batch, bool states)
{
    ls_result result;
    int status = 0;

    for (int i = 0; i < 10 && status == 0; i++) {
        status = ls_step(r->trainer, r->batch, &result);
        if (status == 0 && t)
            status = ls_transcript_step(t, (*batch)++, &result);
        if (status == 0 && t && states)
            status = ls_transcript_state(t, 0, NULL);
    }
    return status;
}

static taken count_steps(ls_pool *pool, run *r, ls_transcript *t,
                         int64_t *batch, bool states)
{
    unsigned met = passed(&pool->meet), done = passed(&pool->done);
    taken n;
    int left, status;

    watch(0);
    status = ten_steps(r, t, batch, states);
    unwatch(&n.allocations, &left);
    ck_assert_msg(status == 0, "%s", ls_errmsg());
    n.meetings = passed(&pool->meet) - met;
    n.jobs = passed(&pool->done) - done;
    return n;
}

static ls_transcript *open_transcript(ls_trainer *t, const char *path,
                                      double flops, bool roots)
{
    ls_transcript_options o = ls_transcript_defaults();
    ls_transcript *r;

    o.path = path;
    o.program = "test";
    o.step_flops = flops;
    o.rows = o.gradient = roots;
    OK(ls_transcript_open(&r, t, &o, 0, NULL));
    return r;
}

/* Proves that a step with a transcript takes no memory, and no barrier or job
 * more than one without, whether each has a line, many have one, or each has
 * the roots of its rows and gradient; a state's root is one job more, and takes
 * no memory either. */
TEST(a_transcript_adds_nothing)
{
    static const struct {
        double flops;
        bool roots;
    } way[] = {{1e9, false}, {1e6, false}, {1e9, true}};
    regression q = open_regression(LS_MEAN_EXACT, ls_adam(0.1));
    taken none, with;

    step(&q.run);
    none = count_steps(q.run.pool, &q.run, NULL, NULL, false);
    ck_assert_int_eq(none.allocations, 0);
    ck_assert_uint_gt(none.meetings, 0);
    ck_assert_uint_eq(none.jobs, 10);
    for (size_t i = 0; i < COUNT(way); i++) {
        char path[] = "/tmp/lockstep-test-XXXXXX";
        int fd = mkstemp(path);
        int64_t batch = 0;
        ls_transcript *t;

        ck_assert_int_ge(fd, 0);
        close(fd);
        t = open_transcript(q.run.trainer, path, way[i].flops, way[i].roots);
        for (int states = 0; states < 2; states++) {
            with = count_steps(q.run.pool, &q.run, t, &batch, states);
            ck_assert_int_eq(with.allocations, 0);
            ck_assert_uint_eq(with.meetings, none.meetings);
            ck_assert_uint_eq(with.jobs, none.jobs + 10 * (unsigned)states);
        }
        OK(ls_transcript_close(t));
        unlink(path);
    }
    close_regression(&q);
}

/* Everything that allocates, from a graph to a saved file. */
static int whole_life(ls_pool *pool, const char *path)
{
    static const ls_gradient own = {nothing, NULL, 2, 2, linear_input,
                                    linear_param};
    ls_graph *g = NULL;
    ls_trainer *t[2] = {NULL, NULL};
    ls_batch *b = NULL;
    ls_node *x, *y;
    int status = ls_graph_new(&g);

    if (status == 0) {
        x = ls_input(g, "x", LS_F32, 1, (int64_t[]){IN});
        y = ls_input(g, "y", LS_F32, 1, (int64_t[]){OUT});
        x = ls_layer_norm(ls_gelu(ls_dense(x, 5, "fc")), "norm");
        status = ls_loss(g, ls_mean_squared_error(ls_dense(x, OUT, "out"), y));
    }
    if (status == 0)
        status = ls_trainer_open(&t[0], pool, g, NULL);
    if (status == 0)
        status = ls_trainer_open_gradient(&t[1], pool, &own, NULL);
    if (status == 0)
        status = ls_batch_open(&b, t[0]);
    if (status == 0)
        status = ls_trainer_save(t[0], path);
    ls_batch_close(b);
    ls_trainer_close(t[0]);
    ls_trainer_close(t[1]);
    ls_graph_free(g);
    return status;
}

/* Proves that memory may run out at any single allocation, on two NUMA nodes
 * too: a status comes back, everything half open is closed, nothing leaks. */
LOOP_TEST(each_allocation_fails_in_turn, 0, 2)
{
    ls_pool *pool = open_pool_on(
        &(ls_mesh_options){.size = sizeof(ls_mesh_options), .workers = 2,
                           .devices = DEVICES,
                           .topology = _i ? "numa:2 core:1" : NULL});
    char path[] = "/tmp/lockstep-test-XXXXXX";
    int fd = mkstemp(path), calls, left, status, ignored;

    ck_assert_int_ge(fd, 0);
    close(fd);
    OK(whole_life(pool, path)); /* whatever is made once has been made */
    watch(0);
    status = whole_life(pool, path);
    unwatch(&calls, &left);
    ck_assert_msg(status == 0 && calls > 20 && left == 0,
                  "status %d, %d allocations, %d left", status, calls, left);
    for (int i = 1; i <= calls; i++) {
        watch(i);
        status = whole_life(pool, path);
        unwatch(&ignored, &left);
        ck_assert_msg(status < 0 && left == 0,
                      "allocation %d of %d failed: status %d, %d left", i,
                      calls, status, left);
    }
    unlink(path);
    ls_pool_close(pool);
}

#endif /* else nothing can be counted */

MAIN()
