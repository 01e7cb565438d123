/* SPDX-License-Identifier: BSD-3-Clause */
/* A step makes no system call, for every kind of model, but for the futex of a
 * worker that waited for more than a millisecond, as happens where others use
 * the cores too; alone, a worker has nobody to wait for.
 *
 * Linux hands a thread's system calls back to it as SIGSYS while its selector
 * says so (Syscall User Dispatch).  The handler counts the call, then makes it.
 * Under a sanitizer, which makes calls of its own, and where Linux has no
 * such thing, there is nothing to run. */
#define _GNU_SOURCE
#include "calls.h"
#include "models.h"

#include <stdio.h>
#include <sys/prctl.h>

#if defined(PR_SET_SYSCALL_USER_DISPATCH) && defined(__x86_64__) && \
    !UNDER_SANITIZER

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { DEVICES = 4, MOST = 16, LENGTH = 12, SIDE = 8, PIXELS = SIDE * SIDE };

/* ------ Models ------ */

static ls_graph *cnn_graph(void)
{
    ls_window w = {3, 3, 1, 1, LS_SAME}, two = {2, 2, 2, 2, LS_VALID};
    ls_graph *g = empty_graph();
    ls_node *x = ls_input(g, "x", LS_F32, 3, (int64_t[]){SIDE, SIDE, 1});
    ls_node *label = ls_input(g, "label", LS_I32, 0, NULL);

    x = ls_max_pool(ls_relu(ls_conv2d(x, 6, w, "conv1")), two);
    x = ls_group_norm(ls_conv2d(x, 4, w, "conv2"), 2, "norm");
    x = ls_dropout(ls_flatten(ls_avg_pool(x, two)), 0.2, "dropout");
    x = ls_dense(x, 3, "dense");
    OK(ls_output(g, x, "logits"));
    OK(ls_loss(g, ls_cross_entropy(x, label)));
    return g;
}

static ls_graph *transformer_graph(void)
{
    return lm_graph(&(lm_sizes){32, LENGTH, 32, 4, 2, 40});
}

static const struct {
    ls_graph *(*graph)(void);
    struct {
        const char *name;
        ls_dtype dtype;
    } input[2];
} models[] = {
    {mlp_graph, {{"x", LS_F32}, {"label", LS_I32}}},
    {cnn_graph, {{"x", LS_F32}, {"label", LS_I32}}},
    {transformer_graph, {{"tokens", LS_I32}}},
};
enum { MODELS = sizeof models / sizeof *models };

typedef struct session {
    int model;
    ls_pool *pool;
    ls_trainer *trainer;
    ls_batch *batch;
    ls_trace *trace;
    float floats[MOST * PIXELS], weights[MOST];
    int32_t bits[MOST * LENGTH];
} session;

static void open_session(session *s, int model, int workers)
{
    ls_trace_options t = {.size = sizeof t, .level = 2, .events = 64};
    ls_trainer_options o = ls_trainer_defaults();
    ls_graph *g = models[model].graph();

    o.optimizer = ls_adamw(1e-6);
    o.clip_norm = 1;
    o.accumulate = 2;
    o.state = LS_SHARD;
    s->model = model;
    s->pool = open_pool(DEVICES, workers);
    OK(ls_trainer_open(&s->trainer, s->pool, g, &o));
    ls_graph_free(g);
    OK(ls_batch_open(&s->batch, s->trainer));
    OK(ls_trace_open(&s->trace, s->pool, &t));
    fill_uniform(1, MOST * PIXELS, s->floats);
    fill_indices(2, MOST * LENGTH, 2, s->bits);
    for (int i = 0; i < MOST; i++)
        s->weights[i] = (float)(i % 3);
}

static void close_session(session *s)
{
    ls_trace_close(s->trace);
    ls_batch_close(s->batch);
    ls_trainer_close(s->trainer);
    ls_pool_close(s->pool);
}

static int set(session *s, int64_t rows, bool weights)
{
    int status = 0;

    for (int i = 0; i < 2 && status == 0 && models[s->model].input[i].name;
         i++) {
        ls_dtype dtype = models[s->model].input[i].dtype;

        status = ls_batch_set(s->batch, models[s->model].input[i].name, dtype,
                              dtype == LS_F32 ? (void *)s->floats
                                              : (void *)s->bits, rows);
    }
    if (status == 0)
        status = ls_batch_set_weights(s->batch, weights ? s->weights : NULL,
                                      rows);
    return status;
}

/* Steps of changing sizes, with weights and without, and evaluations. */
static int take(session *s, int first, int last)
{
    int status = 0;

    for (int i = first; i < last && status == 0; i++) {
        int64_t rows = 2 * DEVICES * (1 + i % (MOST / 2 / DEVICES));
        ls_result r;

        if ((status = set(s, rows, i % 2)) == 0)
            status = ls_step(s->trainer, s->batch, &r);
        if (status == 0 && i % 5 == 0)
            status = ls_evaluate(s->trainer, s->batch, &r);
    }
    return status;
}

/* ------ Watching ------ */

static _Thread_local volatile char selector;
static atomic_int calls, sleeps, last_call;

static void on_call(int number, siginfo_t *info, void *context)
{
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;

    (void)number;
    selector = SYSCALL_DISPATCH_FILTER_ALLOW;
    if (info->si_syscall == SYS_futex)
        atomic_fetch_add(&sleeps, 1);
    else
        atomic_fetch_add(&calls, 1), atomic_store(&last_call, info->si_syscall);
    r[REG_RAX] = syscall(r[REG_RAX], r[REG_RDI], r[REG_RSI], r[REG_RDX],
                         r[REG_R10], r[REG_R8], r[REG_R9]);
    if (r[REG_RAX] < 0)
        r[REG_RAX] = -errno;
}

static int dispatch(bool on)
{
    return prctl(PR_SET_SYSCALL_USER_DISPATCH,
                 on ? PR_SYS_DISPATCH_ON : PR_SYS_DISPATCH_OFF, 0, 0,
                 on ? &selector : NULL);
}

/* Let this worker's next system call be seen; the ones after it are not: one is
 * too many. */
static int arm(void *user, int device, const void *const *in, void *const *out)
{
    const atomic_bool *on = user;

    (void)device, (void)in, (void)out;
    selector = SYSCALL_DISPATCH_FILTER_ALLOW;
    if (dispatch(*on) < 0)
        return -1;
    if (*on)
        selector = SYSCALL_DISPATCH_FILTER_BLOCK;
    return 0;
}

static int arm_all(session *s, bool on)
{
    atomic_bool flag = on;

    selector = SYSCALL_DISPATCH_FILTER_ALLOW;
    return ls_pmap(s->pool, arm, &flag, 0, NULL, 0, NULL);
}

/* Steps while every worker is watched; a status. */
static int watched_steps(session *s, int first, int last)
{
    int status = arm_all(s, true), off;

    if (status == 0)
        status = take(s, first, last);
    off = arm_all(s, false);
    return status < 0 ? status : off;
}

/* ------ Tests ------ */

/* A call that is made is seen. */
TEST(test_watching)
{
    static session s;

    open_session(&s, 0, 2);
    OK(arm_all(&s, true));
    atomic_store(&calls, 0);
    selector = SYSCALL_DISPATCH_FILTER_BLOCK; /* it may have slept */
    (void)syscall(SYS_getppid);
    OK(arm_all(&s, false));
    ck_assert_int_eq(atomic_load(&calls), 1);
    ck_assert_int_eq(atomic_load(&last_call), SYS_getppid);
    close_session(&s);
}

/* No call is made, each model on one worker and on two. */
LOOP_TEST(test_steps, 0, 2 * MODELS)
{
    static session s;
    int workers = 1 + _i % 2;

    open_session(&s, _i / 2, workers);
    OK(take(&s, 0, 10));
    atomic_store(&calls, 0);
    atomic_store(&sleeps, 0);
    for (int i = 1; i <= 20; i++)
        OK(watched_steps(&s, 10 * i, 10 * i + 10));
    ck_assert_msg(atomic_load(&calls) == 0, "system call %d",
                  atomic_load(&last_call));
    if (workers == 1)
        ck_assert_int_eq(atomic_load(&sleeps), 0);
    close_session(&s);
}

/* Nor by a predictor's calls, for any number of rows, nor a sleep.  (That they
 * allocate nothing, test_predictor.c proves.) */
TEST(test_predictions)
{
    static session s;
    static float logits[3 * MOST];
    ls_predictor *p;
    ls_context *c;
    int status = 0;

    open_session(&s, 1, 1);
    OK(ls_predictor_open(&p, s.trainer));
    OK(ls_context_open(&c, p, NULL));
    atomic_store(&calls, 0);
    atomic_store(&sleeps, 0);
    for (int i = 0; i < 100 && status == 0; i++) {
        int64_t rows = 1 + i % MOST;

        selector = SYSCALL_DISPATCH_FILTER_ALLOW;
        status = dispatch(true);
        selector = SYSCALL_DISPATCH_FILTER_BLOCK;
        if (status == 0)
            status = ls_context_set(c, "x", LS_F32, s.floats, rows);
        if (status == 0)
            status = ls_context_predict(c, "logits", 3 * rows, logits);
        selector = SYSCALL_DISPATCH_FILTER_ALLOW;
        dispatch(false);
    }
    ck_assert_msg(status == 0, "%s", ls_errmsg());
    ck_assert_msg(atomic_load(&calls) == 0, "system call %d",
                  atomic_load(&last_call));
    ck_assert_int_eq(atomic_load(&sleeps), 0);
    ls_context_close(c);
    ls_predictor_close(p);
    close_session(&s);
}

int main(void)
{
    struct sigaction act = {.sa_sigaction = on_call,
                            .sa_flags = SA_SIGINFO | SA_NODEFER};

    if (dispatch(false) < 0) {
        perror("skipped: Syscall User Dispatch");
        return 77;
    }
    sigaction(SIGSYS, &act, NULL);
    return RUN_TESTS();
}

#else

int main(void)
{
    puts("skipped: a sanitizer is there, or Syscall User Dispatch is not");
    return 77;
}

#endif
