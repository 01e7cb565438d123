/* SPDX-License-Identifier: BSD-3-Clause */
/* Gradient functions that misbehave: one that fails, gives NaN, traps or never
 * returns.  The first two stop the step and change nothing, the third reaches
 * the process, the fourth is named by the watchdog, with its worker, its device
 * and what the others do meanwhile. */
#define _GNU_SOURCE
#include "small_model.h"

#include "train/stall.c"
#include "base/clock.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

const char opt_program_name[] = "test";

double opt_seconds(void)
{
    return 1e-9 * (double)ls__nanoseconds();
}

/* ------ The function: y = w x, and what goes wrong ------ */

enum { DEVICES = 4, BAD_DEVICE = 3, BAD_STEP = 2 };

typedef enum kind { NONE, FAILS, NAN_LOSS, NAN_GRADIENT, TRAPS, SLEEPS } kind;

typedef struct hook {
    kind trouble;
    int status; /* of run_steps */
    ls_pool *pool;
    ls_trainer *trainer;
    ls_batch *batch;
    atomic_bool asleep, free; /* SLEEPS: it is; it may go on */
} hook;

static void doze(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void sleep_forever(hook *h)
{
    ls_mark mark = ls_mark_begin(h->pool, "a sleep");

    atomic_store(&h->asleep, true);
    while (!atomic_load(&h->free))
        doze();
    ls_mark_end(h->pool, mark);
}

static int gradient(void *user, int device, const ls_shard *shard,
                    const float *const *params, float *const *grads,
                    ls_sums *sums)
{
    hook *h = user;
    bool bad = device == BAD_DEVICE && ls_trainer_step(h->trainer) == BAD_STEP;
    const float *x = shard->data[0];
    float nan = __builtin_nanf("");

    if (grads)
        grads[0][0] = 0;
    for (int64_t i = 0; i < shard->rows; i++) {
        sums->loss += (double)(params[0][0] * x[i]);
        sums->weight++;
        if (grads)
            grads[0][0] += x[i];
    }
    if (bad && h->trouble == TRAPS)
        __builtin_trap();
    if (bad && h->trouble == SLEEPS)
        sleep_forever(h);
    if (bad && h->trouble == NAN_LOSS)
        sums->loss = (double)nan;
    if (bad && h->trouble == NAN_GRADIENT && grads)
        grads[0][0] = nan;
    return bad && h->trouble == FAILS ? -7 : 0;
}

static void open_hook(hook *h, kind trouble)
{
    static float x[2 * DEVICES] = {1, 2, 3, 4, 5, 6, 7, 8};
    static const ls_array_spec in = {.name = "x", .dtype = LS_F32};
    static const ls_array_spec w = {.name = "w", .dtype = LS_F32};
    ls_gradient g = {gradient, h, 1, 1, &in, &w};

    memset(h, 0, sizeof *h);
    h->trouble = trouble;
    h->pool = open_axes("data:4", 2);
    OK(ls_trainer_open_gradient(&h->trainer, h->pool, &g, NULL));
    OK(ls_batch_open(&h->batch, h->trainer));
    OK(ls_batch_set(h->batch, "x", LS_F32, x, 2 * DEVICES));
}

static void close_hook(hook *h)
{
    ls_batch_close(h->batch);
    ls_trainer_close(h->trainer);
    ls_pool_close(h->pool);
}

static int step(hook *h)
{
    ls_result r;

    return ls_step(h->trainer, h->batch, &r);
}

/* ------ Failures and NaN: within the step, and nothing has changed ------ */

static const struct {
    kind trouble;
    int status;
    const char *message;
} stops[] = {
    {FAILS, LS_EUSER,
     "step 2: the gradient function failed on device 3 with "
     "status -7"},
    {NAN_LOSS, LS_ENONFINITE,
     "step 2: the loss is not finite on device 3, "
     "first in row 6 of the batch"},
    {NAN_GRADIENT, LS_ENONFINITE,
     "step 2: the gradient of \"w\" is not finite "
     "on device 3, first in row 6 of the batch"},
};

/* The bad step names the device and leaves all state as it was; once the
 * trouble is over, the trainer goes on as if it had never been. */
LOOP_TEST(test_stops, 0, sizeof stops / sizeof *stops)
{
    char before[65], after[65], other[65];
    hook bad, good;

    open_hook(&bad, stops[_i].trouble);
    open_hook(&good, NONE);
    for (int i = 0; i < BAD_STEP; i++) {
        OK(step(&bad));
        OK(step(&good));
    }
    ls_trainer_hash(bad.trainer, before);
    for (int again = 0; again < 2; again++) {
        FAILS(step(&bad), stops[_i].status, stops[_i].message);
        ls_trainer_hash(bad.trainer, after);
        ck_assert_str_eq(before, after);
    }
    bad.trouble = NONE;
    OK(step(&bad));
    OK(step(&good));
    ls_trainer_hash(bad.trainer, after);
    ls_trainer_hash(good.trainer, other);
    ck_assert_str_eq(after, other);
    close_hook(&bad);
    close_hook(&good);
}

/* A trap on a worker is the process's: it dies of that signal, in that step.
 * (The pool is opened by the child, since threads do not survive a fork.) */
TEST(test_traps)
{
    int status;
    pid_t child = fork();

    ck_assert_int_ge(child, 0);
    if (child == 0) {
        hook h;

        signal(SIGILL, SIG_DFL); /* sanitizers catch it */
        signal(SIGTRAP, SIG_DFL);
        open_hook(&h, TRAPS);
        for (int i = 0; i <= BAD_STEP; i++)
            (void)step(&h);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status));
    ck_assert(WTERMSIG(status) == SIGILL || WTERMSIG(status) == SIGTRAP);
}

/* ------ Sleeping forever ------ */

static void *run_steps(void *user)
{
    hook *h = user;

    for (int i = 0; i <= BAD_STEP && h->status == 0; i++)
        h->status = step(h);
    return NULL;
}

/* A thread that steps until device 3's function sleeps; the pool's caller is
 * that thread from now on. */
static pthread_t stand_still(hook *h)
{
    pthread_t caller;

    open_hook(h, SLEEPS);
    ck_assert_int_eq(pthread_create(&caller, NULL, run_steps, h), 0);
    while (!atomic_load(&h->asleep))
        doze();
    return caller;
}

static void wake(hook *h, pthread_t caller)
{
    atomic_store(&h->free, true);
    pthread_join(caller, NULL);
    OK(h->status);
}

/* Any thread can ask, while a step stands still, where each worker is. */
TEST(test_doing)
{
    hook h;
    pthread_t caller = stand_still(&h);
    ls_doing d;

    OK(ls_pool_doing(h.pool, 1, &d));
    ck_assert_str_eq(d.phase, "gradients");
    ck_assert_str_eq(d.what, "a sleep");
    ck_assert_int_eq(d.device, BAD_DEVICE);
    ck_assert(!d.waits);
    do
        OK(ls_pool_doing(h.pool, 0, &d));
    while (!d.waits);
    ck_assert_str_eq(d.phase, "gradients");
    ck_assert_int_eq(d.device, -1);
    ck_assert_ptr_null(d.what);
    FAILS(ls_pool_doing(h.pool, 2, &d), LS_EINVAL, "worker 2; the pool has 2");
    wake(&h, caller);
    OK(ls_pool_doing(h.pool, 1, &d));
    ck_assert_ptr_null(d.what);
    close_hook(&h);
}

/* How often a part stands in what was written so far. */
static int times(FILE *out, const char *part)
{
    static char text[1 << 16];
    ssize_t n = pread(fileno(out), text, sizeof text - 1, 0);
    int found = 0;

    text[n > 0 ? n : 0] = 0;
    for (const char *at = text; (at = strstr(at, part)); at++)
        found++;
    return found;
}

static void await(FILE *out, const char *part, int count)
{
    while (times(out, part) < count)
        doze();
}

/* The watchdog says it, again and again, and when steps finish again. */
TEST(test_watchdog)
{
    hook h;
    pthread_t caller = stand_still(&h);
    ls_mesh_options o = {.size = sizeof o, .axes = "data:4", .workers = 2};
    FILE *out = tmpfile();
    ls_mesh *mesh;
    stall dog;

    ck_assert_ptr_nonnull(out);
    OK(ls_mesh_open(&mesh, &o));
    ck_assert_int_eq(stall_open(&dog, h.pool, mesh, 0.05, out), 0);
    stall_step(&dog, BAD_STEP);
    await(out, "test: no step finished for 0.", 1);
    await(out, " s; 2 are done\n", 2);
    await(out, "): gradients of device 3, in a sleep\n", 2);
    await(out, "): done with gradients, waits for the others\n", 1);
    wake(&h, caller);
    stall_step(&dog, BAD_STEP + 1);
    await(out, "test: goes on; 3 steps are done\n", 1);
    stall_close(&dog);
    fclose(out);
    ls_mesh_close(mesh);
    close_hook(&h);
}

/* Nobody asked: there is no thread. */
TEST(test_off)
{
    stall dog;

    ck_assert_int_eq(stall_open(&dog, NULL, NULL, 0, stderr), 0);
    stall_step(&dog, 1);
    stall_close(&dog);
}

MAIN()
