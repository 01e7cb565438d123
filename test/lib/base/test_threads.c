/* SPDX-License-Identifier: BSD-3-Clause */
/* Who may use a pool when: several trainers, several threads, functions that
 * call back, children of a fork, and ends in any order.  The main thread
 * asserts; others leave statuses. */
#define _GNU_SOURCE /* fork */
#include "small_model.h"

#include "base/process.h"
#include "pool/thread.h"
#include "tasks.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STEPS = 12 };

/* ------ a trainer of a graph, stepped ------ */

typedef struct model {
    ls_trainer *t;
    ls_batch *b;
} model;

static model open_model(ls_pool *pool, int64_t seed)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_graph *g = small_graph();
    model m = {0};

    o.seed = seed;
    o.optimizer = seed % 2 ? ls_adam(1e-2) : ls_momentum(1e-2, 0.9);
    o.state = seed % 2 ? LS_SHARD : LS_REPLICATE;
    OK(ls_trainer_open(&m.t, pool, g, &o));
    m.b = small_batch(m.t);
    ls_graph_free(g);
    return m;
}

static void close_model(model *m)
{
    ls_batch_close(m->b);
    ls_trainer_close(m->t);
}

/* Step until done, waiting for others that have the pool; a status. */
static int steps(const model *m, int n)
{
    ls_result r;
    int status = 0;

    while (n > 0 && (status == 0 || status == LS_EBUSY)) {
        status = ls_step(m->t, m->b, &r);
        n -= status == 0;
    }
    return status;
}

/* The state after STEPS steps, on a pool of its own. */
static void alone(int64_t seed, int workers, char hex[65])
{
    ls_pool *pool = open_axes("data:4", workers);
    model m = open_model(pool, seed);

    OK(steps(&m, STEPS));
    ls_trainer_hash(m.t, hex);
    close_model(&m);
    ls_pool_close(pool);
}

static void is_like_alone(const model *m, int64_t seed)
{
    char hex[65], expected[65];

    alone(seed, 1, expected);
    ls_trainer_hash(m->t, hex);
    ck_assert_str_eq(hex, expected);
}

/* ------ several trainers, several threads ------ */

/* Two trainers that take turns on one pool, and two on a pool each, make the
 * bytes that each makes alone. */
TEST(test_interleaved)
{
    ls_pool *pool[2] = {open_axes("data:4", 2), open_axes("data:4", 3)};

    for (int pools = 1; pools <= 2; pools++) {
        model a = open_model(pool[0], 1), b = open_model(pool[pools - 1], 2);

        for (int i = 0; i < STEPS; i++) {
            OK(steps(&a, 1));
            OK(steps(&b, 1));
        }
        is_like_alone(&a, 1);
        is_like_alone(&b, 2);
        close_model(&a);
        close_model(&b);
    }
    ls_pool_close(pool[0]);
    ls_pool_close(pool[1]);
}

typedef struct job {
    model model;
    int n, status;
} job;

static void *step_there(void *arg)
{
    job *j = arg;

    j->status = steps(&j->model, j->n);
    return NULL;
}

/* Steps from threads that did not open the pool, one after the other, go on
 * where the last one stopped. */
TEST(test_another_thread)
{
    ls_pool *pool = open_axes("data:4", 2);
    model m = open_model(pool, 1);
    pthread_t thread;

    for (int done = 0; done < STEPS; done += STEPS / 4) {
        job j = {m, STEPS / 4, -1};

        pthread_create(&thread, NULL, step_there, &j);
        pthread_join(thread, NULL);
        ck_assert_int_eq(j.status, 0);
    }
    is_like_alone(&m, 1);
    close_model(&m);
    ls_pool_close(pool);
}

/* Threads that want one pool at the same time get it in turn or LS_EBUSY, and
 * trainers make the bytes that each makes alone. */
TEST(test_at_once)
{
    ls_pool *pool = open_axes("data:4", 2);
    pthread_t thread[3];
    job j[3];

    for (int i = 0; i < 3; i++)
        j[i] = (job){open_model(pool, i), STEPS, -1};
    for (int i = 0; i < 3; i++)
        pthread_create(&thread[i], NULL, step_there, &j[i]);
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(j[i].status, 0);
        is_like_alone(&j[i].model, i);
        close_model(&j[i].model);
    }
    ls_pool_close(pool);
}

typedef struct life {
    const ls_graph *graph;
    const float *x, *y;
    int status;
    char hex[65];
} life;

static int live(life *l)
{
    ls_mesh_options mo = {.size = sizeof mo, .devices = 4, .workers = 2};
    ls_mesh *mesh = NULL;
    ls_pool *pool = NULL;
    model m = {0};
    int status;

    if ((status = ls_mesh_open(&mesh, &mo)) == 0 &&
        (status = ls_pool_open(&pool, mesh, NULL)) == 0 &&
        (status = ls_trainer_open(&m.t, pool, l->graph, NULL)) == 0 &&
        (status = ls_batch_open(&m.b, m.t)) == 0 &&
        (status = ls_batch_set(m.b, "x", LS_F32, l->x, ROWS)) == 0 &&
        (status = ls_batch_set(m.b, "y", LS_F32, l->y, ROWS)) == 0 &&
        (status = steps(&m, STEPS)) == 0)
        ls_trainer_hash(m.t, l->hex);
    close_model(&m);
    ls_pool_close(pool);
    ls_mesh_close(mesh);
    return status;
}

static void *live_there(void *arg)
{
    life *l = arg;

    l->status = live(l);
    return NULL;
}

/* A whole life, from the mesh to its end, in a thread that is not main, and two
 * at once, is no different from one in main. */
TEST(test_not_main)
{
    float x[ROWS * IN], y[ROWS * OUT];
    ls_graph *g = small_graph();
    life l[3];
    pthread_t thread[2];

    ls_random_normal(ls_key_new(1), 0, ROWS * IN, x);
    ls_random_normal(ls_key_new(2), 0, ROWS * OUT, y);
    for (int i = 0; i < 3; i++)
        l[i] = (life){g, x, y, -1, ""};
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, live_there, &l[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    live_there(&l[2]);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(l[i].status, 0);
        ck_assert_str_eq(l[i].hex, l[2].hex);
    }
    ls_graph_free(g);
}

/* ------ functions that call back ------ */

/* What a user's function tries, and what came of it: the first status that is
 * not LS_EBUSY, or 0.  A slot for each device, written by its worker. */
typedef struct caller {
    ls_pool *pool;
    model *model;   /* of a graph, on the same pool */
    ls_trainer *self; /* the trainer whose gradient function it is */
    ls_batch *batch;
    bool closes; /* the pool */
    int status[8];
} caller;

static int nothing(void *user, int device, const void *const *in,
                   void *const *out)
{
    (void)user, (void)device, (void)in, (void)out;
    return 0;
}

static int gradient(void *arg, int device, const ls_shard *shard,
                    const float *const *params, float *const *grads,
                    ls_sums *sums);

static const ls_array_spec one[] = {{"x", LS_F32, 1, {1}}};

static int try_trainers(const caller *c)
{
    ls_gradient g = {gradient, NULL, 1, 1, one, one};
    ls_trainer *t = NULL;
    float out[ROWS * OUT];
    ls_result r;
    int status;

    if ((status = ls_step(c->model->t, c->model->b, &r)) != LS_EBUSY ||
        (status = ls_evaluate(c->model->t, c->model->b, &r)) != LS_EBUSY ||
        (status = ls_predict(c->model->t, c->model->b, "y", ROWS * OUT,
                             out)) != LS_EBUSY ||
        (c->self && (status = ls_step(c->self, c->batch, &r)) != LS_EBUSY))
        return status;
    return ls_trainer_open_gradient(&t, c->pool, &g, NULL);
}

static int try_all(const caller *c)
{
    float x[4] = {1, 2, 3, 4};
    void *at[4] = {x, x + 1, x + 2, x + 3};
    ls_buffers b = {"b", LS_F32, 1, at, NULL};
    ls_trace *trace = NULL;
    double rate;
    int status = try_trainers(c);

    if (status != LS_EBUSY ||
        (status = ls_all_reduce(c->pool, NULL, LS_REDUCE_SUM, 1, &b)) !=
            LS_EBUSY ||
        (status = ls_broadcast(c->pool, NULL, 0, 1, &b)) != LS_EBUSY ||
        (status = ls_pmap(c->pool, nothing, NULL, 0, NULL, 0, NULL)) !=
            LS_EBUSY ||
        (status = ls_trace_open(&trace, c->pool, NULL)) != LS_EBUSY ||
        (status = ls_measure_flops(c->pool, 1, NULL, &rate)) != LS_EBUSY)
        return status;
    return strstr(ls_errmsg(), "the pool is in use") ? 0 : -1;
}

static int gradient(void *arg, int device, const ls_shard *shard,
                    const float *const *params, float *const *grads,
                    ls_sums *sums)
{
    caller *c = arg;

    (void)params;
    sums->loss = 0;
    sums->weight = (double)shard->rows;
    if (grads)
        grads[0][0] = 1;
    if (c->closes)
        ls_pool_close(c->pool);
    else
        c->status[device] = try_all(c);
    return 0;
}

static int mapped(void *arg, int device, const void *const *in,
                  void *const *out)
{
    caller *c = arg;

    (void)in, (void)out;
    c->status[device] = try_all(c);
    return 0;
}

static void none_wrong(caller *c)
{
    for (int d = 0; d < 4; d++) {
        ck_assert_int_eq(c->status[d], 0);
        c->status[d] = -100;
    }
}

static void open_own(caller *c, bool check)
{
    static const float rows[4] = {1, 2, 3, 4};
    ls_trainer_options o = ls_trainer_defaults();
    ls_gradient g = {gradient, c, 1, 1, one, one};

    o.check_divergence = check;
    OK(ls_trainer_open_gradient(&c->self, c->pool, &g, &o));
    OK(ls_batch_open(&c->batch, c->self));
    OK(ls_batch_set(c->batch, "x", LS_F32, rows, 4));
}

/* Whatever needs the pool gets LS_EBUSY from inside a gradient function and a
 * pmap, on the caller and on other workers, and also where the divergence check
 * calls it; what was under way goes on. */
TEST(test_reentry)
{
    for (int workers = 1; workers <= 3; workers++) {
        caller c = {.pool = open_axes("data:4", workers)};
        model m = open_model(c.pool, 1);
        ls_result r;

        c.model = &m;
        open_own(&c, workers == 2);
        OK(ls_step(c.self, c.batch, &r));
        none_wrong(&c);
        OK(ls_evaluate(c.self, c.batch, &r));
        none_wrong(&c);
        OK(ls_pmap(c.pool, mapped, &c, 0, NULL, 0, NULL));
        none_wrong(&c);
        OK(steps(&m, STEPS));
        is_like_alone(&m, 1);
        ls_batch_close(c.batch);
        ls_trainer_close(c.self);
        close_model(&m);
        ls_pool_close(c.pool);
    }
}

/* ------ closing ------ */

/* A pool may be closed before its trainers, twice: they can still be read. */
TEST(test_pool_first)
{
    ls_gradient g = {gradient, NULL, 1, 1, one, one};
    float w[IN * 8], out[ROWS * OUT];
    ls_pool *pool = open_axes("data:4", 3);
    model m[2] = {open_model(pool, 1), open_model(pool, 2)};
    ls_trainer *t = NULL;
    ls_result r;

    OK(steps(&m[0], STEPS));
    ls_pool_close(pool);
    ls_pool_close(pool);
    is_like_alone(&m[0], 1);
    OK(ls_trainer_get(m[0].t, "hidden.kernel", IN * 8, w));
    OK(ls_trainer_set(m[0].t, "hidden.kernel", IN * 8, w));
    FAILS(ls_step(m[0].t, m[0].b, &r), LS_EINVAL, "the pool is closed");
    FAILS(ls_step(m[0].t, m[0].b, &r), LS_EINVAL, "the pool is closed");
    FAILS(ls_predict(m[0].t, m[0].b, "y", ROWS * OUT, out), LS_EINVAL,
            "the pool is closed");
    FAILS(ls_trainer_open_gradient(&t, pool, &g, NULL), LS_EINVAL,
            "the pool is closed");
    ck_assert_int_eq(ls_pool_workers(pool), 3);
    ck_assert_ptr_null(t);
    close_model(&m[0]);
    FAILS(ls_step(m[1].t, m[1].b, &r), LS_EINVAL, "the pool is closed");
    close_model(&m[1]);
}

/* Closed from inside a step, by the caller and by others, a pool ends after
 * that step. */
TEST(test_closed_inside)
{
    for (int workers = 1; workers <= 3; workers++) {
        caller c = {.pool = open_axes("data:4", workers), .closes = true};
        ls_result r;

        open_own(&c, false);
        OK(ls_step(c.self, c.batch, &r));
        ck_assert(r.updated);
        FAILS(ls_step(c.self, c.batch, &r), LS_EINVAL, "the pool is closed");
        ck_assert_int_eq(ls_trainer_step(c.self), 1);
        ls_batch_close(c.batch);
        ls_trainer_close(c.self);
    }
}

static void *close_there(void *pool)
{
    ls_pool_close(pool);
    return NULL;
}

/* A pool whose opener is pinned may be closed by another thread, which keeps
 * its own affinity. */
TEST(test_closed_elsewhere)
{
    ls_pool_options o = {.size = sizeof o, .pin_caller = true};
    pthread_t thread;
    ls_mesh *mesh;
    ls_pool *pool;

    OK(ls_mesh_open(&mesh, NULL));
    OK(ls_pool_open(&pool, mesh, &o));
    pthread_create(&thread, NULL, close_there, pool);
    pthread_join(thread, NULL);
    ls_mesh_close(mesh);
}

/* ------ a function that ends its thread ------ */

typedef struct ender {
    pthread_t caller;
    bool on_caller, ends;
} ender;

static bool is_the_one(const ender *e)
{
    return e->ends &&
           !pthread_equal(pthread_self(), e->caller) == !e->on_caller;
}

static int ending_gradient(void *user, int device, const ls_shard *shard,
                           const float *const *params, float *const *grads,
                           ls_sums *sums)
{
    const ender *e = user;

    (void)device, (void)params;
    if (is_the_one(e))
        pthread_exit(NULL);
    if (grads)
        grads[0][0] = 1;
    sums->weight = (double)shard->rows;
    return 0;
}

static int ending_map(void *user, int device, const void *const *in,
                      void *const *out)
{
    (void)device, (void)in, (void)out;
    if (is_the_one(user))
        pthread_exit(NULL);
    return 0;
}

static ls_trainer *open_ending(ls_pool *pool, ender *e, ls_batch **batch)
{
    static const ls_array_spec input = {"x", LS_F32, 0, {0}};
    static const ls_array_spec param = {"a", LS_F32, 1, {1}};
    static const float x[ROWS];
    ls_gradient g = {ending_gradient, e, 1, 1, &input, &param};
    ls_trainer *t;

    OK(ls_trainer_open_gradient(&t, pool, &g, NULL));
    OK(ls_batch_open(batch, t));
    OK(ls_batch_set(*batch, "x", LS_F32, x, ROWS));
    return t;
}

/* One worker of two others: that one is made anew, and it alone.  A pool may be
 * closed while a worker is gone. */
TEST(test_one_thread_ends)
{
    ls_pool *pool = open_axes("data:3", 3);

    for (int i = 0; i < 3; i++)
        for (int device = 1; device < 3; device++) {
            FAILS(ls_pmap(pool, ending_device, &device, 0, NULL, 0, NULL),
                  LS_EUSER, "ended the thread of device");
            if (i < 2)
                OK(ls_pmap(pool, nothing, NULL, 0, NULL, 0, NULL));
        }
    ls_pool_close(pool);
}

/* A thread that ends on a worker fails the step and changes nothing, as often
 * as it is done, and the pool works as before. */
TEST(test_thread_ends)
{
    ender e = {pthread_self(), false, true};
    ls_pool *pool = open_pool(8, 3);
    ls_batch *b;
    ls_trainer *t = open_ending(pool, &e, &b);
    ls_result r;

    for (int i = 0; i < 3; i++) {
        e.ends = true;
        FAILS(ls_step(t, b, &r), LS_EUSER, "ended the thread");
        FAILS(ls_evaluate(t, b, &r), LS_EUSER, "ended the thread");
        FAILS(ls_pmap(pool, ending_map, &e, 0, NULL, 0, NULL), LS_EUSER,
              "ended the thread of device");
        ck_assert_int_eq(ls_trainer_step(t), i);
        e.ends = false;
        OK(ls_step(t, b, &r));
        OK(ls_pmap(pool, ending_map, &e, 0, NULL, 0, NULL));
    }
    ls_batch_close(b);
    ls_trainer_close(t);
    ls_pool_close(pool);
}

typedef struct leaver {
    ender e;
    ls_trainer *t;
    const ls_batch *b;
} leaver;

static void *step_and_leave(void *user)
{
    leaver *l = user;
    ls_result r;

    l->e.caller = pthread_self();
    ls_step(l->t, l->b, &r);
    return user; /* not reached */
}

/* A thread that ends and is the caller's is gone, and others have the pool. */
TEST(test_caller_ends)
{
    leaver l = {.e = {.on_caller = true, .ends = true}};
    ls_pool *pool = open_pool(8, 3);
    ls_batch *b;
    ls_trainer *t = open_ending(pool, &l.e, &b);
    ls_result r;

    l.t = t;
    l.b = b;
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        void *result = &l;

        l.e.ends = true;
        ck_assert_int_eq(pthread_create(&thread, NULL, step_and_leave, &l), 0);
        ck_assert_int_eq(pthread_join(thread, &result), 0);
        ck_assert_ptr_null(result);
        l.e.ends = false;
        ck_assert_int_eq(ls_trainer_step(t), i);
        OK(ls_step(t, b, &r));
    }
    ls_batch_close(b);
    ls_trainer_close(t);
    ls_pool_close(pool);
}

/* ------ fork and exit ------ */

static int status_of(pid_t child)
{
    int status = 0;

    ck_assert_int_gt(child, 0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

/* What a child of fork may do with a pool; 0 or the number of a surprise. */
static int in_child(ls_pool *pool, model *m, const char *parent)
{
    ls_gradient g = {gradient, NULL, 1, 1, one, one};
    float out[ROWS * OUT];
    char hex[65], before[65];
    ls_trainer *t = NULL;
    ls_trace *trace = NULL;
    ls_result r;

    ls_trainer_hash(m->t, before);
    if (ls_step(m->t, m->b, &r) != LS_ETHREAD ||
        !strstr(ls_errmsg(), parent))
        return 1;
    if (ls_predict(m->t, m->b, "y", ROWS * OUT, out) != LS_ETHREAD)
        return 2;
    if (ls_pmap(pool, nothing, NULL, 0, NULL, 0, NULL) != LS_ETHREAD)
        return 3;
    if (ls_trainer_open_gradient(&t, pool, &g, NULL) != LS_ETHREAD || t)
        return 4;
    if (ls_trace_open(&trace, pool, NULL) != LS_ETHREAD || trace)
        return 5;
    ls_trainer_hash(m->t, hex);
    if (strcmp(hex, before))
        return 6;
    ls_pool_close(pool);
    ls_trainer_hash(m->t, hex);
    close_model(m);
    return strcmp(hex, before) ? 7 : 0;
}

/* A child of fork is told whose the pool is, reads parameters and closes all;
 * the parent goes on. */
TEST(test_fork)
{
    ls_pool *pool = open_axes("data:4", 3);
    char parent[64];
    pid_t child;
    model m;

    m = open_model(pool, 1);
    snprintf(parent, sizeof parent, "the pool belongs to process %ld",
             (long)getpid());
    OK(steps(&m, STEPS / 2));
    child = fork();
    if (child == 0)
        _exit(in_child(pool, &m, parent));
    ck_assert_int_eq(status_of(child), 0);
    OK(steps(&m, STEPS - STEPS / 2));
    is_like_alone(&m, 1);
    close_model(&m);
    ls_pool_close(pool);
}

/* Device 0's function makes a child, when another worker is done already. */
static int child_inside(void *user, int device, const void *const *in,
                        void *const *out)
{
    ls_pool *pool = user;
    pid_t child;

    (void)in, (void)out;
    if (device > 0)
        return 0;
    nanosleep(&(struct timespec){0, 20000000}, NULL);
    child = fork();
    if (child == 0) {
        ls_pool_close(pool);
        _exit(0);
    }
    return status_of(child) ? -1 : 0;
}

/* A child closes a pool that is in use; the parent goes on. */
TEST(test_fork_inside)
{
    ls_pool *pool = open_axes("data:2", 2);

    for (int i = 0; i < 2; i++)
        OK(ls_pmap(pool, child_inside, pool, 0, NULL, 0, NULL));
    ls_pool_close(pool);
}

/* A child is known with and without pages that forks clear. */
TEST(test_process)
{
    ls__process p = ls__process_open(), plain = {.id = (long)getpid()};
    pid_t child;

    ck_assert(ls__process_is_this(&p) && ls__process_is_this(&plain));
    child = fork();
    if (child == 0)
        _exit(ls__process_is_this(&p) || ls__process_is_this(&plain));
    ck_assert_int_eq(status_of(child), 0);
    ls__process_close(&p);
}

/* A gradient function that ends the process, or waits for its end. */
static int leave(void *arg, int device, const ls_shard *shard,
                 const float *const *params, float *const *grads,
                 ls_sums *sums)
{
    (void)shard, (void)params, (void)grads, (void)sums;
    if (device == *(int *)arg)
        exit(7);
    for (;;)
        pause();
}

/* exit() by device's worker in the middle of a step. */
static void exit_inside(int device)
{
    static const float rows[4] = {1, 2, 3, 4};
    static ls_pool *pool; /* reachable, so that no leak is reported */
    static ls_trainer *t;
    static ls_batch *b;
    ls_gradient g = {leave, &device, 1, 1, one, one};
    ls_result r;

    pool = open_axes("data:4", 4);
    if (ls_trainer_open_gradient(&t, pool, &g, NULL) == 0 &&
        ls_batch_open(&b, t) == 0 &&
        ls_batch_set(b, "x", LS_F32, rows, 4) == 0)
        ls_step(t, b, &r);
    _exit(99);
}

/* exit() in the middle of a step, by the caller and by another worker, ends
 * the process with its status. */
TEST(test_exit)
{
    for (int device = 0; device < 4; device += 3) {
        pid_t child = fork();

        if (child == 0)
            exit_inside(device);
        ck_assert_int_eq(status_of(child), 7);
    }
}

/* ------ devices that begin when they like ------ */

/* loss = (w.x - 1)^2 / 2 of each row, begun after up to 0.1 ms that nobody can
 * foresee. */
static int delayed(void *user, int device, const ls_shard *s,
                   const float *const *params, float *const *grads,
                   ls_sums *sums)
{
    const float *x = s->data[0], *w = params[0];
    struct timespec now;

    (void)user, (void)device;
    clock_gettime(CLOCK_MONOTONIC, &now);
    nanosleep(&(struct timespec){0, now.tv_nsec % 100000}, NULL);
    memset(grads[0], 0, IN * sizeof(float));
    for (int64_t r = 0; r < s->rows; r++, x += IN) {
        float e = w[0] * x[0] + w[1] * x[1] + w[2] * x[2] - 1;

        for (int j = 0; j < IN; j++)
            grads[0][j] += e * x[j];
        sums->loss += (double)(e * e) / 2;
    }
    sums->weight = (double)s->rows;
    return 0;
}

static void train_delayed(int workers, int n, char hex[65])
{
    enum { MANY = 48 };
    ls_array_spec x = {"x", LS_F32, 1, {IN}}, w = {"w", LS_F32, 1, {IN}};
    ls_gradient g = {delayed, NULL, 1, 1, &x, &w};
    ls_trainer_options o = ls_trainer_defaults();
    ls_pool *pool = open_pool(8, workers);
    float data[MANY * IN];
    model m;

    ls_random_uniform(ls_key_new(3), 0, MANY * IN, 0, 1, data);
    o.optimizer = ls_adam(1e-2);
    OK(ls_trainer_open_gradient(&m.t, pool, &g, &o));
    OK(ls_batch_open(&m.b, m.t));
    OK(ls_batch_set(m.b, "x", LS_F32, data, MANY));
    OK(steps(&m, n));
    ls_trainer_hash(m.t, hex);
    close_model(&m);
    ls_pool_close(pool);
}

/* Fifty steps in which every device begins at a random time give the same bytes
 * for any number of workers. */
TEST(test_delays)
{
    char want[65], got[65];

    train_delayed(1, 50, want);
    for (int workers = 2; workers <= 8; workers++) {
        train_delayed(workers, 50, got);
        ck_assert_str_eq(got, want);
    }
    train_delayed(1, 49, got);
    ck_assert_str_ne(got, want);
}

static void *stack_of(void *bytes)
{
    pthread_attr_t attr;

    pthread_getattr_np(pthread_self(), &attr);
    pthread_attr_getstacksize(&attr, bytes);
    pthread_attr_destroy(&attr);
    return NULL;
}

/* Threads of the library have room for a user's function on their stack, and no
 * more, whatever RLIMIT_STACK makes the default. */
TEST(test_stack)
{
    static const size_t defaults[] = {64 << 10, 64 << 20};
    pthread_attr_t attr;

    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        size_t bytes = 0;

        pthread_attr_init(&attr);
        pthread_attr_setstacksize(&attr, defaults[i]);
        ck_assert_int_eq(pthread_setattr_default_np(&attr), 0);
        pthread_attr_destroy(&attr);
        ck_assert_int_eq(ls__thread_start(&thread, stack_of, &bytes), 0);
        pthread_join(thread, NULL);
        ck_assert_uint_ge(bytes, 1 << 20);
        ck_assert_uint_le(bytes, 4 << 20);
    }
}

MAIN()
