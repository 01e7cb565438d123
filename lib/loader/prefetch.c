/* SPDX-License-Identifier: BSD-3-Clause */
/* The thread behind a loader: two gates and a claim, no locks.  It never spins,
 * since it waits for a whole step at a time, and neither does its owner, who
 * finds the work done as a rule.  On a machine with more to do than cores the
 * thread may not have had its turn; whoever claims the work first, by changing
 * ASKED, does it.  A thread that comes too late finds nothing to claim, and
 * waits on. */
#define _GNU_SOURCE /* pthread_setname_np */
#include "loader/prefetch.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/fpmode.h"
#include "pool/thread.h"
#include "state/trainer_state.h"

#include <string.h>

enum { IDLE, ASKED, CLAIMED, ENDS };

/* Acquire: all that the owner wrote before it asked is seen. */
static bool claim(ls__prefetch *p)
{
    int state = ASKED;

    return atomic_compare_exchange_strong_explicit(
        &p->state, &state, CLAIMED, memory_order_acquire,
        memory_order_acquire);
}

/* SCHED_BATCH: woken, it waits for its turn and does not push a worker off its
 * core.  (On two busy cores steps waited three times as long without.) */
static void settle(const ls_trainer *trainer)
{
    static const struct sched_param none;

    (void)pthread_setschedparam(pthread_self(), SCHED_BATCH, &none);
    (void)pthread_setname_np(pthread_self(), "lockstep-data");
    ls__state_roam(trainer);
    (void)ls__fpmode_set();
}

/* The first opening of `done` says that the thread has settled. */
static void *serve(void *arg)
{
    ls__prefetch *p = arg;
    unsigned seen = ls__gate_now(&p->asked);

    settle(p->trainer);
    ls__gate_open(&p->done);
    for (;;) {
        ls__gate_wait(&p->asked, seen, 0);
        seen = ls__gate_now(&p->asked);
        if (atomic_load_explicit(&p->state, memory_order_acquire) == ENDS)
            return NULL;
        if (claim(p)) {
            p->work(p->user);
            ls__gate_open(&p->done);
        }
    }
}

int ls__prefetch_open(ls__prefetch *p, const ls_trainer *trainer,
                      void (*work)(void *user), void *user)
{
    int error;

    *p = (ls__prefetch){.trainer = trainer, .work = work, .user = user,
                        .busy = true, .process = ls__process_open()};
    atomic_init(&p->state, IDLE);
    p->seen = ls__gate_now(&p->done);
    if ((error = ls__thread_start(&p->thread, serve, p))) {
        ls__process_close(&p->process);
        return ls__fail(LS_ETHREAD, "the thread that makes batches: %s",
                        strerror(error));
    }
    ls__prefetch_wait(p);
    return 0;
}

void ls__prefetch_close(ls__prefetch *p)
{
    if (ls__process_is_this(&p->process)) {
        ls__prefetch_wait(p);
        atomic_store_explicit(&p->state, ENDS, memory_order_release);
        ls__gate_open(&p->asked);
        pthread_join(p->thread, NULL);
    }
    ls__process_close(&p->process);
}

void ls__prefetch_ask(ls__prefetch *p)
{
    LS__ASSERT(!p->busy);
    p->seen = ls__gate_now(&p->done);
    p->busy = true;
    atomic_store_explicit(&p->state, ASKED, memory_order_release);
    ls__gate_open(&p->asked);
}

void ls__prefetch_wait(ls__prefetch *p)
{
    if (p->busy && (claim(p) || !ls__process_is_this(&p->process))) {
        ls__fpmode mode = ls__fpmode_set();

        p->work(p->user);
        ls__fpmode_restore(mode);
    } else if (p->busy) {
        ls__gate_wait(&p->done, p->seen, 0);
    }
    p->busy = false;
}
