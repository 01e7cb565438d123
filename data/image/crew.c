/* SPDX-License-Identifier: BSD-3-Clause */
/* See crew.h. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "image/crew.h"
#include "base/error.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>

enum { THREADS = 64, STACK = 1 << 20 };

typedef struct crew {
    int (*work)(void *user, int64_t i);
    void *user;
    int64_t n;
    pthread_mutex_t lock; /* of the rest */
    int64_t next;
    int64_t failed; /* the first item that did; n: none */
    int status;
    char message[LS__MESSAGE];
} crew;

int ls__crew_cpus(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

/* The next item, or n.  Items are handed out in order, so all before one that
 * failed are done by somebody. */
static int64_t next_item(crew *c)
{
    int64_t i;

    pthread_mutex_lock(&c->lock);
    i = c->failed < c->n ? c->n : c->next;
    c->next = i < c->n ? i + 1 : i;
    pthread_mutex_unlock(&c->lock);
    return i;
}

static void note_failure(crew *c, int64_t i, int status)
{
    pthread_mutex_lock(&c->lock);
    if (i < c->failed) {
        c->failed = i;
        c->status = status;
        snprintf(c->message, sizeof c->message, "%s", ls_errmsg());
    }
    pthread_mutex_unlock(&c->lock);
}

static void *run(void *user)
{
    crew *c = user;

    for (int64_t i; (i = next_item(c)) < c->n;) {
        int status = c->work(c->user, i);

        if (status < 0)
            note_failure(c, i, status);
    }
    return NULL;
}

/* Start up to n threads; how many there are.  Where there can be none the
 * caller does all. */
static int start(crew *c, pthread_t *thread, int n)
{
    pthread_attr_t attr;
    sigset_t all, old;
    int started = 0;

    if (n < 1 || pthread_attr_init(&attr) != 0)
        return 0;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    pthread_attr_setstacksize(&attr, STACK);
    while (started < n &&
           pthread_create(&thread[started], &attr, run, c) == 0)
        started++;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    return started;
}

int ls__crew_run(int threads, int64_t n, int (*work)(void *user, int64_t i),
                 void *user)
{
    crew c = {.work = work, .user = user, .n = n, .failed = n,
              .lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t thread[THREADS];
    int64_t others = threads < n ? threads - 1 : n - 1;
    int started = start(&c, thread, (int)(others < THREADS ? others : THREADS));

    run(&c);
    for (int i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
    pthread_mutex_destroy(&c.lock);
    return c.status < 0 ? ls__fail(c.status, "%s", c.message) : 0;
}
