/* SPDX-License-Identifier: BSD-3-Clause */
/* The barrier and the pool.  What threads tell each other goes through plain
 * variables on purpose: the thread sanitizer then proves the ordering.  Threads
 * only count what is wrong; the main thread asserts. */
#define _GNU_SOURCE /* sched_getcpu, pthread_getname_np */
#include "base/clock.h"
#include "base/error.h"
#include "calls.h"
#include "pool/barrier.h"
#include "mesh/mesh.h"
#include "pool/pool.h"
#include "tasks.h"

#include <check.h>
#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 8 };

/* ------ Barrier ------ */

typedef struct crowd {
    ls__barrier barrier;
    ls__meeting group[MOST];
    int of[MOST];
    int n, rounds;
    bool preempted; /* threads give up their processor now and then */
    long slot[MOST]; /* written by its thread between two crossings */
} crowd;

typedef struct member {
    crowd *crowd;
    int me;
    long wrong;
} member;

/* Be away, one time in sixteen, for no time anybody can foresee. */
static void leave(const crowd *c, unsigned *seed)
{
    struct timespec now;

    if (!c->preempted || rand_r(seed) % 16)
        return;
    clock_gettime(CLOCK_MONOTONIC, &now);
    *seed ^= (unsigned)now.tv_nsec;
    if (*seed % 4)
        sched_yield();
    else
        nanosleep(&(struct timespec){0, *seed % 50000}, NULL);
}

/* Two crossings a round: one after writing, one after reading. */
static void *cross(void *arg)
{
    member *m = arg;
    crowd *c = m->crowd;
    unsigned seed = (unsigned)m->me;

    for (long round = 1; round <= c->rounds; round++) {
        leave(c, &seed);
        c->slot[m->me] = round;
        ls__barrier_wait(&c->barrier, m->me);
        leave(c, &seed);
        for (int i = 0; i < c->n; i++)
            m->wrong += c->slot[i] != round;
        ls__barrier_wait(&c->barrier, m->me);
    }
    return NULL;
}

/* Threads in so many groups, of which the last ones may be larger. */
static long cross_in(int groups, int n, int rounds, int spins, bool preempted)
{
    crowd c = {.n = n, .rounds = rounds, .preempted = preempted};
    member m[MOST];
    pthread_t thread[MOST];
    long wrong = 0;

    ck_assert_int_eq(ls__barrier_open(&c.barrier, n, spins), 0);
    for (int i = 0; i < n; i++) {
        c.of[i] = i * groups / n;
        c.group[c.of[i]].n++;
    }
    if (groups > 1)
        ls__barrier_split(&c.barrier, groups, c.group, c.of);
    for (int i = 0; i < n; i++) {
        m[i] = (member){&c, i, 0};
        ck_assert_int_eq(pthread_create(&thread[i], NULL, cross, &m[i]), 0);
    }
    for (int i = 0; i < n; i++) {
        pthread_join(thread[i], NULL);
        wrong += m[i].wrong;
    }
    ls__barrier_close(&c.barrier);
    return wrong;
}

static long cross_all(int n, int rounds, int spins, bool preempted)
{
    return cross_in(1, n, rounds, spins, preempted);
}

/* PUs this thread may use: on a single one, a long spin is only waste. */
static int cpus(void)
{
    cpu_set_t mask;

    return sched_getaffinity(0, sizeof mask, &mask) ? 1 : CPU_COUNT(&mask);
}

/* What a crossing takes, beside whatever else runs: two a round. */
static void say_time(int n, int spins, int rounds, int64_t nanoseconds)
{
    if (long_run())
        printf("%d threads, %d spins: %.0f ns a crossing, of %d\n", n, spins,
               (double)nanoseconds / (2.0 * rounds), 2 * rounds);
}

/* A million crossings (a tenth where the sanitizers slow them down, ten
 * times as many with LS_LONG, which prints their times), from one thread to
 * four times as many as two cores hold: nobody passes early, nobody sleeps
 * for ever. */
TEST(test_barrier)
{
    static const struct {
        int n, rounds, spins;
    } row[] = {
        {1, 100000, 0},   {2, 370000, 2000}, {2, 5000, 0}, {2, 5000, 20},
        {3, 8000, 0},     {4, 4000, 0},       {4, 4000, 50},
        {5, 2000, 1},     {8, 2000, 0},
    };

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        int rounds = row[i].rounds * (long_run() ? 10 : 1) /
                     (UNDER_SANITIZER ? 10 : 1);
        int spins = cpus() < row[i].n && row[i].spins > 100 ? 0 : row[i].spins;
        int64_t start = ls__nanoseconds();

        ck_assert_int_eq(cross_all(row[i].n, rounds, spins, false), 0);
        say_time(row[i].n, spins, rounds, ls__nanoseconds() - start);
    }
}

/* The same where threads are taken off their processors at random, before they
 * write and before they read: 48,000 crossings, a quarter of them under a
 * sanitizer, with LS_LONG ten million.  A test for each number of threads:
 * Check counts the microseconds of a test in an int, which holds 35 minutes. */
LOOP_TEST(test_barrier_preempted, 0, MOST / 2)
{
    int rounds = (long_run() ? 420000 : 2000) / (UNDER_SANITIZER ? 4 : 1);
    int n = 2 + 2 * _i;

    for (int spins = 0; spins <= 2000; spins += 1000) {
        int64_t start = ls__nanoseconds();

        ck_assert_int_eq(cross_all(n, rounds, spins, true), 0);
        say_time(n, spins, rounds, ls__nanoseconds() - start);
    }
}

/* The same where threads meet in groups first, of one thread and of several. */
TEST(test_barrier_groups)
{
    for (int groups = 2; groups <= 4; groups++)
        for (int n = groups; n <= MOST; n += 2) {
            ck_assert_int_eq(cross_in(groups, n, 1000, 20, false), 0);
            ck_assert_int_eq(cross_in(groups, n, 200, 0, true), 0);
        }
}

/* A barrier nobody could pass is refused. */
TEST(test_barrier_refused)
{
    ls__barrier barrier;

    ck_assert_int_eq(ls__barrier_open(&barrier, 0, 0), LS_EINVAL);
    ck_assert_int_eq(ls__barrier_open(&barrier, 1, -1), LS_EINVAL);
}

/* Options of an impossible size are refused. */
TEST(test_options_refused)
{
    ls_pool_options o = ls_pool_defaults();
    ls_pool *pool = NULL;
    ls_mesh *mesh;

    o.size = 1;
    OK(ls_mesh_open(&mesh, NULL));
    FAILS(ls_pool_open(&pool, mesh, &o), LS_EINVAL, "size is 1");
    ck_assert_ptr_null(pool);
    ls_mesh_close(mesh);
}

typedef struct letter {
    ls__gate gate;
    int text;
} letter;

static void *read_letter(void *arg)
{
    letter *l = arg;

    ls__gate_wait(&l->gate, 1, 0);
    return l->text == 42 ? NULL : arg;
}

/* A gate wakes sleepers and shows them what was written before it opened, also
 * when it opened before they came. */
TEST(test_gate)
{
    for (int late = 0; late < 2; late++) {
        letter l = {.text = 0};
        pthread_t thread[3];
        void *wrong;

        for (int i = 0; !late && i < 3; i++)
            pthread_create(&thread[i], NULL, read_letter, &l);
        usleep(20000);
        l.text = 42;
        ls__gate_open(&l.gate);
        for (int i = 0; late && i < 3; i++)
            pthread_create(&thread[i], NULL, read_letter, &l);
        for (int i = 0; i < 3; i++) {
            pthread_join(thread[i], &wrong);
            ck_assert_ptr_null(wrong);
        }
    }
}

/* ------ Pool ------ */

static ls_pool *pool_of(int workers, ls_pool_options options)
{
    ls_mesh_options o = ls_mesh_defaults();
    ls_mesh *mesh = NULL;
    ls_pool *pool = NULL;

    o.workers = workers;
    ck_assert_msg(ls_mesh_open(&mesh, &o) == 0, "%s", ls_errmsg());
    ck_assert_msg(ls_pool_open(&pool, mesh, &options) == 0, "%s", ls_errmsg());
    ls_mesh_close(mesh); /* the pool has a copy */
    return pool;
}

typedef struct tally {
    ls_pool *pool;
    long given;        /* by the caller, before the run */
    long seen[MOST];   /* by each worker */
    long calls[MOST];
    long wrong[MOST];
} tally;

static void count(void *user, int worker)
{
    tally *t = user;

    t->calls[worker]++;
    t->seen[worker] = t->given;
}

/* Every worker runs each job exactly once, sees what the caller wrote, and the
 * caller sees what it wrote. */
TEST(test_run)
{
    for (int workers = 1; workers <= MOST; workers++) {
        tally t = {.pool = pool_of(workers, ls_pool_defaults())};

        ck_assert_int_eq(ls_pool_workers(t.pool), workers);
        ck_assert_int_eq(ls_pool_devices(t.pool), 8);
        for (t.given = 1; t.given <= 500; t.given++) {
            ls__pool_call(t.pool, NULL, count, &t);
            for (int w = 0; w < MOST; w++) {
                ck_assert_int_eq(t.calls[w], w < workers ? t.given : 0);
                ck_assert_int_eq(t.seen[w], w < workers ? t.given : 0);
            }
        }
        ls_pool_close(t.pool);
    }
}

/* Workers sleep between jobs that are far apart, and still run the next. */
TEST(test_sleep)
{
    tally t = {.pool = pool_of(3, ls_pool_defaults())};

    for (int i = 1; i <= 5; i++) {
        usleep(30000);
        ls__pool_call(t.pool, NULL, count, &t);
        for (int w = 0; w < 3; w++)
            ck_assert_int_eq(t.calls[w], i);
    }
    ls_pool_close(t.pool);
}

/* Each phase adds up what all wrote in the one before. */
static void phases(void *user, int worker)
{
    tally *t = user;
    int n = ls_pool_workers(t->pool);

    for (long phase = 1; phase <= 200; phase++) {
        t->seen[worker] = phase;
        ls__pool_barrier(t->pool);
        for (int w = 0; w < n; w++)
            t->wrong[worker] += t->seen[w] != phase;
        ls__pool_barrier(t->pool);
    }
}

/* The barrier inside a job holds for any number of workers. */
TEST(test_pool_barrier)
{
    for (int workers = 1; workers <= MOST; workers++) {
        tally t = {.pool = pool_of(workers, ls_pool_defaults())};

        ls__pool_call(t.pool, NULL, phases, &t);
        ls__pool_call(t.pool, NULL, phases, &t);
        for (int w = 0; w < workers; w++)
            ck_assert_int_eq(t.wrong[w], 0);
        ls_pool_close(t.pool);
    }
}

/* Workers' devices are contiguous, in order, complete, and balanced. */
TEST(test_devices_of)
{
    for (int devices = 1; devices <= 20; devices++) {
        for (int workers = 1; workers <= 24; workers += 1 + workers / 3) {
            ls_mesh_options o = {.size = sizeof o,
                                 .devices = devices, .workers = workers,
                                 .topology = "core:4 pu:1"};
            int at = 0, first, last;
            ls_mesh *mesh;
            ls_pool *pool;

            ck_assert_int_eq(ls_mesh_open(&mesh, &o), 0);
            ck_assert_int_eq(ls_pool_open(&pool, mesh, NULL), 0);
            for (int w = 0; w < workers; w++) {
                ls__pool_devices_of(pool, w, &first, &last);
                ck_assert_int_eq(first, at);
                ck_assert_int_ge(last - first, devices / workers);
                ck_assert_int_le(last - first,
                                 (devices + workers - 1) / workers);
                at = last;
            }
            ck_assert_int_eq(at, devices);
            ls_pool_close(pool);
            ls_mesh_close(mesh);
        }
    }
}

typedef struct census {
    cpu_set_t mask[MOST];
    int cpu[MOST];
    float above[MOST];
    float tiny[MOST];
    sigset_t blocked[MOST];
    char name[MOST][16];
} census;

/* Probes of the mode; the empty assembly keeps them for run time.
 * Not 0: denormals are kept. */
static float tiny_product(void)
{
    float small = 1e-30f;

    __asm__("" : "+m"(small));
    return small * 1e-10f;
}

/* Not 0: rounding is upwards.  (On x86-64 fegetround asks another register.) */
static float above_one(void)
{
    float one = 1.0f;

    __asm__("" : "+m"(one));
    return (one + 1e-10f) - 1.0f;
}

/* What a worker is, asked from inside. */
static void ask(void *user, int w)
{
    census *c = user;

    c->tiny[w] = tiny_product();
    c->above[w] = above_one();
    c->cpu[w] = sched_getcpu();
    sched_getaffinity(0, sizeof c->mask[w], &c->mask[w]);
    pthread_sigmask(SIG_SETMASK, NULL, &c->blocked[w]);
    pthread_getname_np(pthread_self(), c->name[w], sizeof c->name[w]);
}

static void check_pinned(const census *c, const ls_mesh *mesh, int worker)
{
    int pu = ls_mesh_worker_pu(mesh, worker);

    ck_assert_int_eq(CPU_COUNT(&c->mask[worker]), 1);
    ck_assert(CPU_ISSET((size_t)pu, &c->mask[worker]));
    ck_assert_int_eq(c->cpu[worker], pu);
}

/* Created workers sit on their PUs, round robin when there are too few; the
 * caller stays where it may be, unless asked, and then gets it back. */
TEST(test_pinning)
{
    cpu_set_t before, after;

    sched_getaffinity(0, sizeof before, &before);
    for (int pin_caller = 0; pin_caller < 2; pin_caller++) {
        ls_pool_options o = {.size = sizeof o, .pin_caller = pin_caller};
        ls_pool *pool = pool_of(5, o);
        const ls_mesh *mesh = ls__pool_mesh(pool);
        census c;

        ls__pool_call(pool, NULL, ask, &c);
        for (int w = 1; w < 5; w++)
            check_pinned(&c, mesh, w);
        if (pin_caller)
            check_pinned(&c, mesh, 0);
        else
            ck_assert(CPU_EQUAL(&c.mask[0], &before));
        ls_pool_close(pool);
        sched_getaffinity(0, sizeof after, &after);
        ck_assert(CPU_EQUAL(&before, &after));
    }
}

/* The pool of one worker, the caller, on these processors; counts where it may
 * run, and leaves it as it was. */
static int seats_of_one(const char *cpus, bool pin, char text[128])
{
    ls_mesh_options m = {.size = sizeof m, .devices = 2, .workers = 1,
                         .cpus = cpus, .pin = pin};
    ls_pool_options o = {.size = sizeof o, .pin_caller = true};
    ls_mesh *mesh;
    ls_pool *pool;
    cpu_set_t before, within, after;

    sched_getaffinity(0, sizeof before, &before);
    OK(ls_mesh_open(&mesh, &m));
    snprintf(text, 128, "%s", ls_mesh_text(mesh));
    OK(ls_pool_open(&pool, mesh, &o));
    sched_getaffinity(0, sizeof within, &within);
    ls_pool_close(pool);
    ls_mesh_close(mesh);
    sched_getaffinity(0, sizeof after, &after);
    ck_assert(CPU_EQUAL(&before, &after));
    return CPU_COUNT(&within);
}

/* Two programs that leave cores free must not meet on the first ones: a worker
 * has a core of its own where all are taken, those named, or if it asks. */
TEST(test_shared_machine)
{
    ls_mesh_options m = {.size = sizeof m, .devices = 2, .workers = 2,
                         .pin = true};
    char text[128], all[32], one[16];
    int pu[2];
    ls_mesh *mesh;

    OK(ls_mesh_open(&mesh, &m));
    if (ls_mesh_usable_cores(mesh) > 1) {
        pu[0] = ls_mesh_worker_pu(mesh, 0);
        pu[1] = ls_mesh_worker_pu(mesh, 1);
        snprintf(all, sizeof all, "%d,%d", pu[0], pu[1]);
        snprintf(one, sizeof one, "%d", pu[1]);
        ck_assert_int_eq(seats_of_one(all, false, text), 2);
        ck_assert_str_eq(text, "2 devices on 1 worker (any of 2 cores)");
        ck_assert_int_gt(seats_of_one(NULL, false, text), 1);
        ck_assert_int_eq(seats_of_one(all, true, text), 1);
        ck_assert_int_eq(seats_of_one(one, false, text), 1);
        ck_assert_ptr_nonnull(strstr(text, " (PU "));
    }
    ls_mesh_close(mesh);
}

/* Workers that are not to be pinned may run where the caller could, also when
 * the caller is pinned. */
TEST(test_no_pin)
{
    ls_pool_options o = {.size = sizeof o, .no_pin = true, .pin_caller = true};
    cpu_set_t before;
    census c;

    sched_getaffinity(0, sizeof before, &before);
    ls_pool *pool = pool_of(3, o);
    ls__pool_call(pool, NULL, ask, &c);
    ck_assert(CPU_EQUAL(&c.mask[1], &before));
    ck_assert(CPU_EQUAL(&c.mask[2], &before));
    check_pinned(&c, ls__pool_mesh(pool), 0);
    ls_pool_close(pool);
}

/* Nobody is pinned on a machine that is only described, whoever asks. */
TEST(test_described)
{
    ls_mesh_options m = {.size = sizeof m, .devices = 2, .workers = 2,
                         .topology = "pack:2 core:2 pu:2"};
    ls_pool_options o = {.size = sizeof o, .pin_caller = true};
    cpu_set_t before;
    ls_mesh *mesh;
    ls_pool *pool;
    census c;

    sched_getaffinity(0, sizeof before, &before);
    OK(ls_mesh_open(&mesh, &m));
    OK(ls_pool_open(&pool, mesh, &o));
    ls_mesh_close(mesh);
    ls__pool_call(pool, NULL, ask, &c);
    for (int w = 0; w < 2; w++)
        ck_assert(CPU_EQUAL(&c.mask[w], &before));
    ls_pool_close(pool);
}

/* Jobs run with denormals flushed and rounding to nearest everywhere; the
 * caller's own mode, here upwards and with denormals, is kept. */
TEST(test_fpmode)
{
    ls_pool *pool = pool_of(4, ls_pool_defaults());
    census c;

    ck_assert_int_eq(fesetround(FE_UPWARD), 0);
    ls__pool_call(pool, NULL, ask, &c);
    ls__pool_call(pool, NULL, ask, &c);
    float above = above_one(), tiny = tiny_product();
    fesetround(FE_TONEAREST);
    ck_assert(above > 0.0f && tiny > 0.0f);
    for (int w = 0; w < 4; w++) {
        ck_assert(c.above[w] == 0.0f && c.tiny[w] == 0.0f);
    }
    ls_pool_close(pool);
}

/* A host's signals are not taken by workers, but faults are; the caller's mask
 * is left alone; threads can be told apart by name. */
TEST(test_signals_and_names)
{
    ls_pool *pool = pool_of(3, ls_pool_defaults());
    census c;

    ls__pool_call(pool, NULL, ask, &c);
    for (int w = 0; w < 3; w++) {
        ck_assert_int_eq(sigismember(&c.blocked[w], SIGTERM), w > 0);
        ck_assert_int_eq(sigismember(&c.blocked[w], SIGUSR1), w > 0);
        ck_assert_int_eq(sigismember(&c.blocked[w], SIGSEGV), 0);
    }
    ck_assert_str_eq(c.name[1], "lockstep-1");
    ck_assert_str_eq(c.name[2], "lockstep-2");
    ls_pool_close(pool);
}

/* Two pools of one caller keep their jobs apart. */
TEST(test_two_pools)
{
    tally a = {.pool = pool_of(2, ls_pool_defaults())};
    tally b = {.pool = pool_of(3, ls_pool_defaults())};

    for (int i = 0; i < 200; i++) {
        a.given = i;
        b.given = -i;
        ls__pool_call(a.pool, NULL, count, &a);
        ls__pool_call(b.pool, NULL, count, &b);
        ck_assert_int_eq(a.seen[1], i);
        ck_assert_int_eq(b.seen[2], -i);
    }
    ls_pool_close(a.pool);
    ck_assert_int_eq(b.calls[1], 200);
    ls_pool_close(b.pool);
}

/* Opens, runs and closes a pool of its own; returns NULL when all is right. */
static void *live(void *arg)
{
    ls_mesh_options o = {.size = sizeof o, .workers = 2};
    tally t = {0};
    ls_mesh *mesh;

    (void)arg;
    if (ls_mesh_open(&mesh, &o) < 0)
        return "mesh";
    if (ls_pool_open(&t.pool, mesh, NULL) < 0)
        return "pool";
    for (int i = 0; i < 300; i++)
        ls__pool_call(t.pool, NULL, count, &t);
    ls_pool_close(t.pool);
    ls_mesh_close(mesh);
    return t.calls[0] == 300 && t.calls[1] == 300 ? NULL : "calls";
}

/* Any thread may be a pool's caller, several at the same time. */
TEST(test_callers)
{
    pthread_t thread[3];
    void *wrong;

    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(pthread_create(&thread[i], NULL, live, NULL), 0);
    for (int i = 0; i < 3; i++) {
        pthread_join(thread[i], &wrong);
        ck_assert_ptr_null(wrong);
    }
}

/* Opening and closing leaves nothing behind. */
TEST(test_open_close)
{
    int before = settled_tasks();
    ls_mesh_options o = {.size = sizeof o, .workers = 3};
    ls_mesh *mesh;

    ck_assert_int_eq(ls_mesh_open(&mesh, &o), 0);
    for (int i = 0; i < 1000; i++) {
        ls_pool *pool = NULL;

        ck_assert_msg(!ls_pool_open(&pool, mesh, NULL), "%s", ls_errmsg());
        ls_pool_close(pool);
    }
    ls_mesh_close(mesh);
    ls_pool_close(NULL);
    await_tasks(before);
}

/* A worker that cannot be placed is named, all others are ended, and the
 * caller is where it was. */
TEST(test_not_placed)
{
    static const struct {
        int worker;
        bool pin_caller;
        const char *message;
    } row[] = {
        {2, false, "worker 2 of 3, PU 99999: not placed: "},
        {0, true, "worker 0 of 3, PU 99999: the caller is not placed: "},
    };
    int before = settled_tasks();

    for (int i = 0; i < 2; i++) {
        ls_mesh_options o = {.size = sizeof o, .workers = 3,
                             .topology = "core:3 pu:1"};
        ls_pool_options po = {.size = sizeof po,
                              .pin_caller = row[i].pin_caller};
        ls_mesh *mesh, *here;
        ls_pool *pool = NULL;

        /* A plan for three cores on a machine that may have fewer. */
        ck_assert_int_eq(ls_mesh_open(&mesh, &o), 0);
        ck_assert_int_eq(ls_mesh_open(&here, NULL), 0);
        for (int w = 0; w < 3; w++)
            mesh->topology.pu[w] = ls_mesh_worker_pu(here, 0);
        mesh->topology.pu[row[i].worker] = 99999;
        struct hwloc_topology *plan = mesh->topology.handle;
        mesh->topology.handle = here->topology.handle;
        mesh->topology.bindable = true;
        ck_assert_int_eq(ls_pool_open(&pool, mesh, &po), LS_ETHREAD);
        ck_assert_msg(strstr(ls_errmsg(), row[i].message) != NULL, "%s",
                      ls_errmsg());
        ck_assert_ptr_null(pool);
        await_tasks(before);
        mesh->topology.handle = plan;
        ls_mesh_close(mesh);
        ls_mesh_close(here);
    }
}

static rlim_t address_space(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    long pages = 0;

    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fscanf(file, "%ld", &pages), 1);
    fclose(file);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

/* A thread that cannot be created is named, and those before it are ended.
 * Sanitizers need all of the address space. */
LOOP_TEST(test_no_thread, 0, !UNDER_SANITIZER)
{
    ls_mesh_options o = {.size = sizeof o,
                         .workers = 4000, .topology = "core:1 pu:1"};
    struct rlimit old, tight;
    int before = settled_tasks(), status;
    ls_pool *pool = NULL;
    ls_mesh *mesh;

    if (emulated("a limit on memory"))
        return;
    ck_assert_int_eq(ls_mesh_open(&mesh, &o), 0);
    getrlimit(RLIMIT_AS, &old);
    tight = old;
    tight.rlim_cur = address_space() + (100 << 20); /* some fifty stacks */
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &tight), 0);
    status = ls_pool_open(&pool, mesh, NULL);
    setrlimit(RLIMIT_AS, &old);
    ck_assert_int_eq(status, LS_ETHREAD);
    ck_assert_msg(strstr(ls_errmsg(), " of 4000, PU 0: no thread: ") != NULL,
                  "%s", ls_errmsg());
    ck_assert_ptr_null(pool);
    await_tasks(before);
    ls_mesh_close(mesh);
}

MAIN(.timeout = 3000)
