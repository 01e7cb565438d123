/* SPDX-License-Identifier: BSD-3-Clause */
/* Start of the library's threads. */
#define _GNU_SOURCE
#include "pool/thread.h"

#include <signal.h>
#include <stddef.h>

enum { STACK = 2 << 20 }; /* a user's gradient function runs on it too */

/* Block all signals but those that a thread's own fault raises.  A new thread
 * inherits what its maker blocks. */
static void block_signals(sigset_t *old)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    sigset_t block;

    sigfillset(&block);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        sigdelset(&block, own[i]);
    pthread_sigmask(SIG_BLOCK, &block, old);
}

int ls__thread_start(pthread_t *thread, void *(*run)(void *user), void *user)
{
    pthread_attr_t attr;
    sigset_t old;
    int error = pthread_attr_init(&attr);

    if (error)
        return error;
    block_signals(&old);
    error = pthread_attr_setstacksize(&attr, STACK);
    if (!error)
        error = pthread_create(thread, &attr, run, user);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    return error;
}
