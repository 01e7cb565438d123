/* SPDX-License-Identifier: BSD-3-Clause */
/* The gate and the barrier: the only waiting in lockstep.
 *
 * The barrier is the sense-reversing one of BLIS and of Mellor-Crummey and
 * Scott (1991, section 3.1), with a counter of generations in place of the
 * flipping sense, and with an end to spinning.
 *
 * How it works.  Each thread notes the generation, then adds one to `arrived`.
 * All but the last wait until the generation changes.  The last one sets
 * `arrived` back to 0 and starts the next generation, which lets the others
 * go.  A thread that runs ahead to the next crossing finds the counter already
 * reset, because it left only after the reset; it cannot lap the others,
 * because that crossing needs all n again.  The generation cannot change
 * between the noting and the arriving either: the change needs our arrival.
 *
 * Why plain variables written before are visible after.  Let A arrive k-th and
 * B pass.  A's fetch_add on `arrived` is acquire-release, and so are the later
 * ones, a chain of read-modify-writes on one variable; thus what A did before
 * happens before what the last thread does after its own fetch_add.  The last
 * thread then changes the gate's word with release order, and B reads that
 * word with acquire order.  So A's writes happen before B's reads.  Nothing
 * here needs sequential consistency or a fence of its own, which the thread
 * sanitizer would not understand.
 *
 * Sleeping.  A wake-up is lost when the sleeper looks, then the opener opens
 * and finds nobody asleep, then the sleeper sleeps.  With a separate count of
 * sleepers this needs a store-then-load order on both sides.  Here the
 * generation and the news that somebody sleeps share one word, which is only
 * changed by atomic read-modify-writes: a sleeper sets the lowest bit by
 * compare-and-exchange from the generation it has seen (this fails if the gate
 * opened meanwhile), and asks Linux to sleep only while the word is still
 * exactly that (Linux compares under its own lock).  The opener exchanges
 * the word for the next generation with the bit clear; if the old word had the
 * bit, it wakes everybody.  Whichever comes first in the order of changes of
 * that one word, nobody sleeps on an open gate, and when nobody slept there
 * was no system call.
 *
 * Generations wrap after 2^31; only "changed or not" is asked, of one
 * generation at most behind, so wrapping does no harm.
 *
 * Spinning.  When each thread has its own core, the others are at most
 * microseconds away and looking again is cheaper than the ~5 us of a sleep and
 * a wake-up.  When threads share cores, whoever spins takes the time of the
 * one waited for; such barriers are opened with spins 0 and sleep at once. */
#define _GNU_SOURCE /* syscall */
#include "pool/barrier.h"
#include "base/error.h"

#include <assert.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SLEEPERS = 1 }; /* the lowest bit of a gate's word */

/* Tell the core that this is a spin loop: saves power and, with SMT, leaves
 * the execution units to the sibling. */
static inline void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

/* Sleep while the word is `expected`; may also return for no reason. */
static void futex_sleep(atomic_uint *word, unsigned expected)
{
    (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, NULL, NULL,
                  0);
}

static void futex_wake_all(atomic_uint *word)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL,
                  0);
}

unsigned ls__gate_now(ls__gate *gate)
{
    return atomic_load_explicit(&gate->word, memory_order_acquire) |
           SLEEPERS;
}

static bool opened(ls__gate *gate, unsigned seen)
{
    return ls__gate_now(gate) != seen;
}

void ls__gate_open(ls__gate *gate)
{
    unsigned now =
        atomic_load_explicit(&gate->word, memory_order_relaxed) | SLEEPERS;
    unsigned old = atomic_exchange_explicit(&gate->word, now + 1,
                                            memory_order_acq_rel);

    if (old & SLEEPERS)
        futex_wake_all(&gate->word);
}

/* Announce a sleeper, then sleep, until the gate has opened. */
static void sleep_until_open(ls__gate *gate, unsigned seen)
{
    unsigned awake = seen - SLEEPERS;

    while (!opened(gate, seen)) {
        unsigned word = awake;

        if (atomic_compare_exchange_strong_explicit(
                &gate->word, &word, seen, memory_order_relaxed,
                memory_order_relaxed) ||
            word == seen)
            futex_sleep(&gate->word, seen);
    }
}

void ls__gate_wait(ls__gate *gate, unsigned seen, int spins)
{
    for (int i = 0; i < spins; i++) {
        if (opened(gate, seen))
            return;
        relax();
    }
    sleep_until_open(gate, seen);
}

void ls__gate_reach(ls__gate *gate, unsigned from, unsigned times, int spins)
{
    unsigned seen;

    while ((seen = ls__gate_now(gate)) - from < 2 * times)
        ls__gate_wait(gate, seen, spins);
}

int ls__barrier_open(ls__barrier *barrier, int n, int spins)
{
    if (n < 1 || spins < 0)
        return ls__fail(LS_EINVAL, "barrier: %d threads, %d spins", n, spins);
    atomic_init(&barrier->arrived, 0);
    atomic_init(&barrier->gate.word, 0);
    barrier->n = n;
    atomic_init(&barrier->spins, spins);
    return 0;
}

void ls__barrier_spin(ls__barrier *barrier, int spins)
{
    atomic_store_explicit(&barrier->spins, spins, memory_order_relaxed);
}

void ls__barrier_close(ls__barrier *barrier)
{
    assert(!atomic_load_explicit(&barrier->arrived, memory_order_relaxed));
    (void)barrier;
}

/* Count the caller in; the last one opens the gate and learns it. */
static bool arrive(ls__barrier *b)
{
    if (atomic_fetch_add_explicit(&b->arrived, 1, memory_order_acq_rel) !=
        b->n - 1)
        return false;
    atomic_store_explicit(&b->arrived, 0, memory_order_relaxed);
    ls__gate_open(&b->gate);
    return true;
}

void ls__barrier_wait(ls__barrier *barrier)
{
    unsigned seen = ls__gate_now(&barrier->gate);

    if (!arrive(barrier))
        ls__gate_wait(&barrier->gate, seen,
                      atomic_load_explicit(&barrier->spins,
                                           memory_order_relaxed));
}

void ls__barrier_arrive(ls__barrier *barrier)
{
    (void)arrive(barrier);
}
