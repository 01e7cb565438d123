/* A long run stands still in everything but its parameters: no memory, no
 * allocation and no system call, whatever the sizes of the batches.
 *
 * LS_SOAK says how many steps test_memory takes; LS_LONG takes 10^5. */
#define _GNU_SOURCE
#include "small.h"

#include "faults.h"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { DEVICES = 4, MOST = 64 }; /* rows */

typedef struct soak {
    ls_pool *pool;
    ls_graph *graph;
    ls_trainer *trainer;
    ls_batch *batch;
    ls_trace *trace;
    float x[MOST * IN], y[MOST * OUT], w[MOST], out[MOST * OUT];
} soak;

static void open_soak(soak *s, int workers, int micro, ls_optimizer optimizer)
{
    ls_trace_options t = {.level = 2, .events = 64};
    ls_trainer_options o = ls_trainer_defaults();

    o.optimizer = optimizer;
    o.clip_norm = 1;
    o.accumulate = micro;
    o.state = LS_SHARD;
    s->pool = open_pool("data:4", workers);
    s->graph = small_graph();
    OK(ls_trainer_open(&s->trainer, s->pool, s->graph, &o));
    OK(ls_batch_open(&s->batch, s->trainer));
    OK(ls_trace_open(&s->trace, s->pool, &t));
    ls_random_normal(ls_key_new(1), 0, MOST * IN, s->x);
    ls_random_normal(ls_key_new(2), 0, MOST * OUT, s->y);
    for (int i = 0; i < MOST; i++)
        s->w[i] = (float)(i % 3);
}

static void close_soak(soak *s)
{
    ls_trace_close(s->trace);
    ls_batch_close(s->batch);
    ls_trainer_close(s->trainer);
    ls_graph_free(s->graph);
    ls_pool_close(s->pool);
}

/* Another size for each step, with weights and without. */
static int set(soak *s, int64_t rows, bool weights)
{
    int status = ls_batch_set(s->batch, "x", LS_F32, s->x, rows);

    if (status == 0)
        status = ls_batch_set(s->batch, "y", LS_F32, s->y, rows);
    if (status == 0)
        status = ls_batch_set_weights(s->batch, weights ? s->w : NULL, rows);
    return status;
}

static int take(soak *s, int64_t i, int unit)
{
    ls_result r;
    int64_t rows = unit * (1 + i * 7 % (MOST / unit));
    int status = set(s, rows, i % 2);

    if (status == 0)
        status = ls_step(s->trainer, s->batch, &r);
    if (status == 0 && i % 5 == 0)
        status = ls_evaluate(s->trainer, s->batch, &r);
    return status;
}

static int take_many(soak *s, int64_t first, int64_t last, int unit)
{
    int status = 0;

    for (int64_t i = first; i < last && status == 0; i++)
        status = take(s, i, unit);
    return status;
}

/* ------ Memory ------ */

/* In kB, counted page by page: statm may be some pages behind. */
static long resident(void)
{
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    long kb = 0;

    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "Rss: %ld", &kb) == 1)
            break;
    if (file)
        fclose(file);
    return kb;
}

static int64_t steps(void)
{
    const char *text = getenv("LS_SOAK");

    return text ? atoll(text) : getenv("LS_LONG") ? 100000 : 2000;
}

/* After a warm-up that saw every size, not a page more. */
START_TEST(test_memory)
{
    static soak s;
    long before;

    open_soak(&s, 2, 1, ls_adamw(1e-6));
    OK(take_many(&s, 0, 200, DEVICES));
    resident(); /* its buffers too */
    before = resident();
    OK(take_many(&s, 200, 200 + steps(), DEVICES));
    ck_assert_int_le(resident(), before + (UNDER_SANITIZER ? 1024 : 0));
    close_soak(&s);
}
END_TEST

/* ------ Sizes ------ */

static void copy_params(const ls_trainer *from, ls_trainer *to)
{
    static float value[64];

    for (int i = 0; i < ls_trainer_params(from); i++) {
        const char *name = ls_trainer_param_name(from, i);
        int64_t shape[LS_MAX_RANK], n = 1;

        for (int k = ls_trainer_param_shape(from, i, shape); k > 0; k--)
            n *= shape[k - 1];
        OK(ls_trainer_get(from, name, n, value));
        OK(ls_trainer_set(to, name, n, value));
    }
}

static void hash_params(const soak *s, char hex[65])
{
    static soak fresh; /* whose step is always 0 */

    open_soak(&fresh, 1, 1, ls_sgd(0.1));
    copy_params(s->trainer, fresh.trainer);
    ls_trainer_hash(fresh.trainer, hex);
    close_soak(&fresh);
}

/* A step of a trainer that took steps of other sizes before has the bits of one
 * that a new trainer takes. */
START_TEST(test_sizes)
{
    static soak one, other;
    char hex[2][65];

    open_soak(&one, 2, 2, ls_sgd(0.1));
    for (int i = 0; i < 8; i++) {
        open_soak(&other, 1 + i % 3, 2, ls_sgd(0.1));
        copy_params(one.trainer, other.trainer);
        OK(take(&one, i, 2 * DEVICES));
        OK(take(&other, i, 2 * DEVICES));
        hash_params(&one, hex[0]);
        hash_params(&other, hex[1]);
        ck_assert_str_eq(hex[0], hex[1]);
        close_soak(&other);
    }
    close_soak(&one);
}
END_TEST

/* ------ Allocations ------ */

#if OWN_MALLOC

/* None, with the first step among those that are watched, since it may be of
 * the smallest size. */
START_TEST(test_allocations)
{
    static soak s;
    int status;

    open_soak(&s, 2, _i, ls_adamw(1e-6));
    fail_memory = ALL_MEMORY;
    watch_from(0);
    status = take_many(&s, 0, 300, _i * DEVICES);
    atomic_store(&watching, false);
    OK(status);
    ck_assert_int_eq(atomic_load(&count), 0);
    close_soak(&s);
}
END_TEST

#endif

#if OWN_MALLOC

/* Batches of images of changing sizes; a status. */
static int take_images(ls_trainer *t, ls_batch *b, const float *x,
                       const int32_t *y, int unit)
{
    int status = 0;

    for (int i = 0; i < 40 && status == 0; i++) {
        int64_t rows = unit * (1 + i * 5 % (MOST / unit));
        ls_result r;

        status = ls_batch_set(b, "x", LS_F32, x, rows);
        if (status == 0)
            status = ls_batch_set(b, "y", LS_I32, y, rows);
        if (status == 0)
            status = i % 4 ? ls_step(t, b, &r) : ls_evaluate(t, b, &r);
    }
    return status;
}

/* The same for networks of images, from the first step on. */
START_TEST(test_images)
{
    static float x[MOST * PIXELS];
    static int32_t y[MOST];
    ls_trainer_options o = ls_trainer_defaults();
    ls_pool *pool = open_pool("data:4", 2);
    ls_trainer *t;
    ls_batch *b;
    ls_graph *g;
    int status;

    o.accumulate = _i;
    o.optimizer = ls_adam(1e-4);
    OK(ls_graph_new(&g));
    image_nodes(g);
    OK(ls_trainer_open(&t, pool, g, &o));
    OK(ls_batch_open(&b, t));
    ls_random_normal(ls_key_new(1), 0, MOST * PIXELS, x);
    ls_random_randint(ls_key_new(2), 0, MOST, 0, 2, y);
    fail_memory = ALL_MEMORY;
    watch_from(0);
    status = take_images(t, b, x, y, _i * DEVICES);
    atomic_store(&watching, false);
    OK(status);
    ck_assert_int_eq(atomic_load(&count), 0);
    ls_batch_close(b);
    ls_trainer_close(t);
    ls_graph_free(g);
    ls_pool_close(pool);
}
END_TEST

#endif

/* ------ System calls ------ */

#if defined(PR_SET_SYSCALL_USER_DISPATCH) && defined(__x86_64__) && !UNDER_SANITIZER

/* Linux hands a thread's system calls back to it as SIGSYS while its selector
 * says so.  The handler counts the call, then makes it. */
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

/* From now on this worker's next system call is seen; the ones after it are
 * not: one is too many. */
static int arm(void *user, int device, const void *const *in, void *const *out)
{
    const atomic_bool *on = user;

    (void)device, (void)in, (void)out;
    selector = SYSCALL_DISPATCH_FILTER_ALLOW;
    if (prctl(PR_SET_SYSCALL_USER_DISPATCH,
              *on ? PR_SYS_DISPATCH_ON : PR_SYS_DISPATCH_OFF, 0, 0,
              *on ? &selector : NULL) < 0)
        return -1;
    if (*on)
        selector = SYSCALL_DISPATCH_FILTER_BLOCK;
    return 0;
}

/* Steps while every worker is watched; a status. */
static int watched_steps(soak *s, int64_t first, int64_t last)
{
    atomic_bool on = true;
    int status, off;

    status = ls_pmap(s->pool, arm, &on, 0, NULL, 0, NULL);
    if (status == 0)
        status = take_many(s, first, last, DEVICES);
    selector = SYSCALL_DISPATCH_FILTER_ALLOW;
    on = false;
    off = ls_pmap(s->pool, arm, &on, 0, NULL, 0, NULL);
    return status < 0 ? status : off;
}

/* The watching itself: false where the kernel has none. */
static bool is_seen(soak *s)
{
    atomic_bool on = true;

    if (ls_pmap(s->pool, arm, &on, 0, NULL, 0, NULL) < 0)
        return false;
    atomic_store(&calls, 0);
    selector = SYSCALL_DISPATCH_FILTER_BLOCK; /* it may have slept */
    (void)syscall(SYS_getppid);
    selector = SYSCALL_DISPATCH_FILTER_ALLOW;
    on = false;
    OK(ls_pmap(s->pool, arm, &on, 0, NULL, 0, NULL));
    ck_assert_int_eq(atomic_exchange(&calls, 0), 1);
    ck_assert_int_eq(atomic_load(&last_call), SYS_getppid);
    atomic_store(&sleeps, 0);
    return true;
}

/* A step makes no system call, but for the futex of a worker that waited for
 * more than a millisecond, as happens where others use the cores too; alone, a
 * worker has nobody to wait for. */
START_TEST(test_system_calls)
{
    struct sigaction act = {.sa_sigaction = on_call,
                            .sa_flags = SA_SIGINFO | SA_NODEFER};
    static soak s;
    int workers = 1 + _i;

    ck_assert_int_eq(sigaction(SIGSYS, &act, NULL), 0);
    open_soak(&s, workers, 1, ls_adamw(1e-6));
    OK(take_many(&s, 0, 10, DEVICES));
    for (int i = 0; i < 20 && is_seen(&s); i++)
        OK(watched_steps(&s, 10 * i, 10 * i + 10));
    ck_assert_msg(atomic_load(&calls) == 0, "system call %d",
                  atomic_load(&last_call));
    if (workers == 1)
        ck_assert_int_eq(atomic_load(&sleeps), 0);
    close_soak(&s);
}
END_TEST

#define COUNTS_CALLS 1
#else
#define COUNTS_CALLS 0
#endif

int main(void)
{
    Suite *s = suite_create("soak");
    TCase *t = tcase_create("soak");

    tcase_set_timeout(t, 600);
    tcase_add_test(t, test_memory);
    tcase_add_test(t, test_sizes);
#if OWN_MALLOC
    tcase_add_loop_test(t, test_allocations, 1, 3);
    tcase_add_loop_test(t, test_images, 1, 3);
#endif
#if COUNTS_CALLS
    tcase_add_loop_test(t, test_system_calls, 0, 2);
#endif
    suite_add_tcase(s, t);
    return run_suite(s);
}
