/* SPDX-License-Identifier: BSD-3-Clause */
/* The gate and the barrier: where workers wait for each other.
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
 * Groups.  Where many threads sit below several last-level caches, each arrival
 * of a flat barrier fetches the counter's line from wherever the last one was,
 * mostly another cache.  In groups, threads below one cache count themselves in
 * on a line of theirs, and the last of each group counts the group in on the
 * line of all; the last of these opens the gate of each group.  So a crossing
 * moves lines between caches a few times for each group and not for each
 * thread.  The chain above holds on both levels: what a thread did before it
 * arrived happens before the last of its group goes on, and that before the
 * last of all, who opens each gate with release order.  A group's counter is
 * reset before its last thread goes on to all, so before the group's gate can
 * open; and a group's gate is opened by one thread in a generation, the last of
 * all.
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
#include "base/assert.h"
#include "base/error.h"

#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SLEEPERS = 1 }; /* the lowest bit of a gate's word */

_Static_assert(sizeof(ls__meeting) % 64 == 0 &&
               offsetof(ls__meeting, gate) % 64 == 0, "lines of their own");

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

    LS__ASSERT(times <= 1u << 30);
    while ((seen = ls__gate_now(gate)) - from < 2 * times)
        ls__gate_wait(gate, seen, spins);
}

int ls__barrier_open(ls__barrier *barrier, int n, int spins)
{
    if (n < 1 || spins < 0)
        return ls__fail(LS_EINVAL, "barrier: %d threads, %d spins", n, spins);
    *barrier = (ls__barrier){.all = {.n = n}, .groups = 1};
    atomic_init(&barrier->spins, spins);
    return 0;
}

void ls__barrier_split(ls__barrier *barrier, int groups, ls__meeting *group,
                       const int *of)
{
    LS__ASSERT(groups >= 1 && groups <= barrier->all.n && group && of);
    barrier->all.n = groups;
    barrier->groups = groups;
    barrier->group = group;
    barrier->of = of;
}

void ls__barrier_spin(ls__barrier *barrier, int spins)
{
    atomic_store_explicit(&barrier->spins, spins, memory_order_relaxed);
}

void ls__barrier_close(ls__barrier *barrier)
{
    LS__ASSERT(!atomic_load_explicit(&barrier->all.arrived,
                                     memory_order_relaxed));
}

/* The meeting at which a thread is counted first, and waits. */
static ls__meeting *meeting_of(ls__barrier *b, int thread)
{
    LS__ASSERT(!b->group ||
               (b->of[thread] >= 0 && b->of[thread] < b->groups));
    return b->group ? &b->group[b->of[thread]] : &b->all;
}

/* Count one in; the last one learns it. */
static bool is_last(ls__meeting *m)
{
    int before = atomic_fetch_add_explicit(&m->arrived, 1,
                                           memory_order_acq_rel);

    LS__ASSERT(before < m->n);
    if (before != m->n - 1)
        return false;
    atomic_store_explicit(&m->arrived, 0, memory_order_relaxed);
    return true;
}

/* Count the caller in; the last one of all opens the gates and learns it. */
static bool arrive(ls__barrier *b, int thread)
{
    if (b->group && !is_last(meeting_of(b, thread)))
        return false;
    if (!is_last(&b->all))
        return false;
    if (!b->group)
        ls__gate_open(&b->all.gate);
    for (int i = 0; b->group && i < b->groups; i++)
        ls__gate_open(&b->group[i].gate);
    return true;
}

void ls__barrier_wait(ls__barrier *barrier, int thread)
{
    ls__gate *gate = &meeting_of(barrier, thread)->gate;
    unsigned seen = ls__gate_now(gate);

    if (!arrive(barrier, thread))
        ls__gate_wait(gate, seen, atomic_load_explicit(&barrier->spins,
                                                       memory_order_relaxed));
}

void ls__barrier_arrive(ls__barrier *barrier, int thread)
{
    (void)arrive(barrier, thread);
}
