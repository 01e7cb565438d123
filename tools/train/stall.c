/* SPDX-License-Identifier: BSD-3-Clause */
/* The watchdog sleeps until a step is overdue, so it costs few wake-ups.  It
 * reports after S seconds, then after 2 S, 4 S and so on, and when steps finish
 * again: during a stall it looks ten times in S seconds, so that neither that
 * nor the next stall is told late. */
#define _GNU_SOURCE

#include "train/stall.h"
#include "opt/characters.h"
#include "opt/opt.h"

#include <math.h>
#include <signal.h>

static double last(const stall *s)
{
    return atomic_load_explicit(&s->last, memory_order_relaxed);
}

static long long done(const stall *s)
{
    return atomic_load_explicit(&s->done, memory_order_relaxed);
}

/* ------ What is said ------ */

/* "gradients of device 5, in dense". */
static void say_doing(FILE *out, const ls_doing *d)
{
    const char *before = d->phase ? ", in " : "";

    if (d->waits)
        fprintf(out, "%s%s, waits for the others",
                d->phase ? "done with " : "done", d->phase ? d->phase : "");
    else if (d->phase)
        fprintf(out, "%s", d->phase);
    else if (!d->what)
        fprintf(out, "nothing");
    if (d->device >= 0)
        fprintf(out, " of device %d", d->device);
    if (d->what)
        fprintf(out, "%s%s", before, characters_shown(d->what));
}

static void say_stalled(const stall *s, double seconds)
{
    int workers = ls_pool_workers(s->pool);
    ls_doing doing;

    flockfile(s->out);
    fprintf(s->out, "%s: no step finished for %.1f s; %lld %s done\n",
            opt_program_name, seconds, done(s), done(s) == 1 ? "is" : "are");
    for (int w = 0; w < workers; w++) {
        ls_pool_doing(s->pool, w, &doing);
        fprintf(s->out, "  worker %d (PU %d): ", w,
                ls_mesh_worker_pu(s->mesh, w));
        say_doing(s->out, &doing);
        fputc('\n', s->out);
    }
    fflush(s->out);
    funlockfile(s->out);
}

static void say_goes_on(const stall *s)
{
    fprintf(s->out, "%s: goes on; %lld step%s done\n", opt_program_name,
            done(s), done(s) == 1 ? " is" : "s are");
    fflush(s->out);
}

/* ------ The thread ------ */

/* The time of the next look. */
static double next_look(const stall *s, double now, double overdue,
                        bool stalled)
{
    double soon = now + s->seconds / 10;

    return stalled && soon < overdue ? soon : overdue;
}

/* Waits until then, or until it shall end. */
static void sleep_until(stall *s, double when)
{
    struct timespec t = {.tv_sec = (time_t)when};

    t.tv_nsec = (long)(1e9 * (when - floor(when)));
    pthread_cond_timedwait(&s->wake, &s->lock, &t);
}

static void *watch(void *arg)
{
    stall *s = arg;
    double seen = last(s), patience = s->seconds;

    pthread_mutex_lock(&s->lock);
    while (!s->ends) {
        double now = opt_seconds();

        if (last(s) != seen) {
            if (patience > s->seconds)
                say_goes_on(s);
            seen = last(s);
            patience = s->seconds;
        } else if (now - seen >= patience) {
            say_stalled(s, now - seen);
            patience *= 2;
        }
        sleep_until(s, next_look(s, now, seen + patience,
                                 patience > s->seconds));
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* Signals are the main thread's. */
static int start(stall *s)
{
    sigset_t all, old;
    int error;

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    error = pthread_create(&s->thread, NULL, watch, s);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return error;
}

int stall_open(stall *s, const ls_pool *pool, const ls_mesh *mesh,
               double seconds, FILE *out)
{
    pthread_condattr_t attr;
    int error;

    *s = (stall){.mesh = mesh, .seconds = seconds, .out = out};
    if (!(seconds > 0))
        return 0;
    s->pool = pool;
    stall_step(s, 0);
    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&s->wake, &attr);
    pthread_condattr_destroy(&attr);
    if ((error = start(s)) != 0)
        s->pool = NULL;
    return error;
}

void stall_step(stall *s, int64_t steps)
{
    if (!s->pool)
        return;
    atomic_store_explicit(&s->done, steps, memory_order_relaxed);
    atomic_store_explicit(&s->last, opt_seconds(), memory_order_relaxed);
}

void stall_close(stall *s)
{
    if (!s->pool)
        return;
    pthread_mutex_lock(&s->lock);
    s->ends = true;
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    pthread_cond_destroy(&s->wake);
    pthread_mutex_destroy(&s->lock);
    s->pool = NULL;
}
