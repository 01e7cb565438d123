/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads of the library.  Signals sent to the process belong to the host's
 * threads, so ours have them blocked; and their stack is the size we need, not
 * RLIMIT_STACK's (64 KB are too few, "unlimited" too many). */
#ifndef LS_POOL_THREAD_H
#define LS_POOL_THREAD_H

#include <pthread.h>

/* Start a thread.  Returns 0 or an errno. */
int ls__thread_start(pthread_t *thread, void *(*run)(void *user), void *user);

#endif
