/* SPDX-License-Identifier: BSD-3-Clause */
/* A save that is interrupted: by kill -9 at each of its system calls, a write
 * being half done, and by each of them failing.  What is left always goes on
 * to the hash of a run that was never interrupted.
 *
 * The C library's functions that a save calls are ours here, before its own.
 * The process that is killed is a child; the parent has no threads. */
#define _GNU_SOURCE
#include "folder.h"
#include "models.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define VISIBLE __attribute__((visibility("default")))

/* ------ System calls, counted ------ */

static atomic_int calls, target; /* number `target` is the one */
static int with;                 /* 0: kill; else the errno it fails with */

/* Is this the one?  Then it fails, or nothing comes after it. */
static bool hit(int fd, const void *data, size_t n)
{
    if (atomic_fetch_add(&calls, 1) + 1 != atomic_load(&target))
        return false;
    if (!with) {
        if (n > 1)
            (void)!syscall(SYS_write, fd, data, n / 2);
        kill(getpid(), SIGKILL);
        for (;;)
            pause();
    }
    errno = with;
    return true;
}

VISIBLE int open(const char *path, int flags, ...)
{
    va_list rest;
    int mode;

    va_start(rest, flags);
    mode = flags & O_CREAT ? va_arg(rest, int) : 0;
    va_end(rest);
    return hit(-1, NULL, 0)
               ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

VISIBLE ssize_t write(int fd, const void *data, size_t n)
{
    return hit(fd, data, n) ? -1 : syscall(SYS_write, fd, data, n);
}

VISIBLE int fsync(int fd)
{
    return hit(-1, NULL, 0) ? -1 : (int)syscall(SYS_fsync, fd);
}

/* Close the file, after a failure too. */
VISIBLE int close(int fd)
{
    bool fails = hit(-1, NULL, 0);

    return (int)syscall(SYS_close, fd) < 0 || fails ? -1 : 0;
}

VISIBLE int openat(int in, const char *path, int flags, ...)
{
    va_list rest;
    int mode;

    va_start(rest, flags);
    mode = flags & O_CREAT ? va_arg(rest, int) : 0;
    va_end(rest);
    return hit(-1, NULL, 0)
               ? -1 : (int)syscall(SYS_openat, in, path, flags, mode);
}

VISIBLE int mkdirat(int in, const char *path, mode_t mode)
{
    return hit(-1, NULL, 0) ? -1
                            : (int)syscall(SYS_mkdirat, in, path, mode);
}

VISIBLE int unlinkat(int fd, const char *path, int flags)
{
    return hit(-1, NULL, 0) ? -1
                            : (int)syscall(SYS_unlinkat, fd, path, flags);
}

VISIBLE int renameat(int from_fd, const char *from, int to_fd, const char *to)
{
    return hit(-1, NULL, 0) ? -1 : (int)syscall(SYS_renameat, from_fd, from,
                                                to_fd, to);
}

/* ------ A run ------ */

enum { LAST = 3 };

static ls_mesh *mesh;

typedef struct world {
    run r;
    ls_checkpoints *saved;
    float x[4 * 3], y[4 * 2];
} world;

static void open_world(world *w)
{
    ls_pool_options loose = {.size = sizeof loose, .no_pin = true};
    ls_trainer_options o = ls_trainer_defaults();
    ls_checkpoints_options c = {.size = sizeof c, .folder = in_folder("c"),
                                .keep = 1};
    ls_pool *pool;

    o.optimizer = ls_adam(0.01);
    OK(ls_pool_open(&pool, mesh, &loose));
    w->r = open_run(pool, linear_graph(3, 2), &o);
    w->r.pool = pool;
    OK(ls_checkpoints_open(&w->saved, w->r.trainer, &c));
}

static void close_world(world *w)
{
    ls_checkpoints_close(w->saved);
    close_run(&w->r);
}

static void one_step(world *w)
{
    ls_key key = ls_key_new(ls_trainer_step(w->r.trainer));

    ls_random_normal(key, 0, 12, w->x);
    ls_random_normal(key, 12, 8, w->y);
    OK(ls_batch_set(w->r.batch, "x", LS_F32, w->x, 4));
    OK(ls_batch_set(w->r.batch, "y", LS_F32, w->y, 4));
    step(&w->r);
}

/* Go on from what there is to the last step, saving after each; the first call
 * of the first save is number 1. */
static void go_on(world *w, char hex[65])
{
    int64_t at;

    open_world(w);
    OK(ls_checkpoints_load(w->saved, &at));
    atomic_store(&calls, 0);
    while (ls_trainer_step(w->r.trainer) < LAST) {
        one_step(w);
        OK(ls_checkpoints_save(w->saved, 0, NULL));
        OK(ls_checkpoints_wait(w->saved));
    }
    ls_trainer_hash(w->r.trainer, hex);
}

/* ------ Kills ------ */

/* A child that is killed at its call n: was it? */
static bool killed_at(int n)
{
    pid_t child = fork();
    int status;

    ck_assert_int_ge(child, 0);
    if (child == 0) {
        world w;
        char hex[65];

        atomic_store(&target, n);
        go_on(&w, hex);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status))
        ck_assert_int_eq(WTERMSIG(status), SIGKILL);
    else
        ck_assert_int_eq(WEXITSTATUS(status), 0);
    return WIFSIGNALED(status);
}

/* A child that goes on, unharmed, and compares the end. */
static void goes_on(int n, const char *want)
{
    pid_t child = fork();
    int status;

    ck_assert_int_ge(child, 0);
    if (child == 0) {
        world w;
        char hex[65];

        go_on(&w, hex);
        close_world(&w);
        _exit(strcmp(hex, want) != 0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0,
                  "killed at call %d, then status %d", n, status);
}

/* Steps with nothing saved: the hash a run must end with. */
static void unbroken(char hex[65])
{
    int out[2];
    pid_t child;

    ck_assert_int_eq(pipe(out), 0);
    child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        world w;

        open_world(&w);
        for (int s = 0; s < LAST; s++)
            one_step(&w);
        ls_trainer_hash(w.r.trainer, hex);
        close_world(&w);
        _exit(write(out[1], hex, 65) != 65);
    }
    ck_assert_int_eq(read(out[0], hex, 65), 65);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    close(out[0]);
    close(out[1]);
}

/* Killed at any of the calls of three saves, the second and third of which
 * delete the one before, a run goes on to the end of an unbroken one. */
TEST(each_call_killed)
{
    char want[65];
    int n = 1;

    unbroken(want);
    for (; killed_at(n); n += UNDER_SANITIZER ? 7 : 1) {
        goes_on(n, want);
        folder_close();
        ck_assert_int_eq(mkdir(folder, 0777), 0);
    }
    ck_assert_int_gt(n, 60);
}

/* ------ Failures ------ */

static const int errors[] = {ENOSPC, EIO, EACCES, EROFS};

/* Each call fails in turn: the save ends with a message or does without, the
 * training goes on, and the newest checkpoint that stands loads. */
LOOP_TEST(each_call_fails, 0, sizeof errors / sizeof *errors)
{
    char hex[65], of_step[4][65];
    int64_t at, stands = 1;
    bool reached = true;
    world w;

    open_world(&w);
    for (int s = 0; s < 4; s++, one_step(&w))
        ls_trainer_hash(w.r.trainer, of_step[s]);
    OK(ls_checkpoints_load(w.saved, &at));
    ck_assert_int_eq(at, -1);
    close_world(&w);
    open_world(&w);
    one_step(&w);
    OK(ls_checkpoints_save(w.saved, 0, NULL));
    OK(ls_checkpoints_wait(w.saved));
    for (int n = 1; reached; n++) {
        int status;

        if (ls_trainer_step(w.r.trainer) == LAST) { /* from the start again */
            close_world(&w);
            folder_close();
            ck_assert_int_eq(mkdir(folder, 0777), 0);
            open_world(&w);
            one_step(&w);
            OK(ls_checkpoints_save(w.saved, 0, NULL));
            OK(ls_checkpoints_wait(w.saved));
            stands = 1;
        }
        one_step(&w);
        with = errors[_i];
        atomic_store(&calls, 0);
        atomic_store(&target, n);
        status = ls_checkpoints_save(w.saved, 0, NULL);
        ck_assert_int_eq(status, 0);
        status = ls_checkpoints_wait(w.saved);
        atomic_store(&target, 0);
        reached = atomic_load(&calls) >= n;
        ck_assert(status == 0 || status == LS_EIO);
        if (status < 0)
            ck_assert_msg(strstr(ls_errmsg(), strerror(errors[_i])), "%s",
                          ls_errmsg());
        OK(ls_checkpoints_load(w.saved, &at));
        ck_assert(at == ls_trainer_step(w.r.trainer) && at >= stands);
        ck_assert(status < 0 || at == stands + 1);
        ls_trainer_hash(w.r.trainer, hex);
        ck_assert_str_eq(hex, of_step[at]);
        stands = at;
    }
    close_world(&w);
}

int main(void)
{
    ls_mesh_options m = {.size = sizeof m, .devices = 2, .workers = 1};
    int failed;

    if (ls_mesh_open(&mesh, &m) < 0)
        return EXIT_FAILURE;
    failed = RUN_TESTS(.setup = folder_open, .teardown = folder_close);
    ls_mesh_close(mesh);
    return failed;
}
