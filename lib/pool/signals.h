/* Signals and the threads of the library: those sent to the process belong to
 * the host's threads.  Whoever makes a thread blocks them meanwhile, and the
 * thread inherits that. */
#ifndef LS_POOL_SIGNALS_H
#define LS_POOL_SIGNALS_H

#include <signal.h>
#include <stddef.h>

/* Block all signals but those that a thread's own fault raises. */
static inline void ls__signals_block(sigset_t *old)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    sigset_t block;

    sigfillset(&block);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        sigdelset(&block, own[i]);
    pthread_sigmask(SIG_BLOCK, &block, old);
}

#endif
