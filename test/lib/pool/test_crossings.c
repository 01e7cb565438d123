/* SPDX-License-Identifier: BSD-3-Clause */
/* How often cache lines go from one last-level cache to another while threads
 * cross a barrier, counted and not timed: the barrier's own code runs, thread
 * after thread in many orders, with each of its atomic accesses counted.  A
 * line that a cache reads after another one wrote to it, or writes to while
 * others have it, has gone there once.  In groups a crossing moves lines a few
 * times for each cache; without them, for each thread where they arrive in
 * turn. */
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

/* ------ Counting ------ */

static int here;    /* the cache of the thread that runs */
static long moves;

static void touch(const volatile void *address, int writes);

#undef atomic_load_explicit
#undef atomic_store_explicit
#undef atomic_exchange_explicit
#undef atomic_fetch_add_explicit
#define atomic_load_explicit(p, o) (touch(p, 0), *(p))
#define atomic_store_explicit(p, x, o) (touch(p, 1), *(p) = (x))
#define atomic_exchange_explicit(p, x, o) exchange(p, x)
#define atomic_fetch_add_explicit(p, x, o) add(p, x)

static unsigned exchange(atomic_uint *p, unsigned x)
{
    unsigned was = *p;

    touch(p, 1);
    *p = x;
    return was;
}

static int add(atomic_int *p, int x)
{
    int was = *p;

    touch(p, 1);
    *p = was + x;
    return was;
}

/* The library has these too. */
#define ls__gate_now counted_gate_now
#define ls__gate_open counted_gate_open
#define ls__gate_wait counted_gate_wait
#define ls__gate_reach counted_gate_reach
#define ls__barrier_open counted_open
#define ls__barrier_split counted_split
#define ls__barrier_spin counted_spin
#define ls__barrier_close counted_close
#define ls__barrier_wait counted_wait
#define ls__barrier_arrive counted_arrive
#include "pool/barrier.c"

#include "program.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 192, CACHES = 64, LINES = 256 };

/* Which caches have a line. */
static struct {
    uintptr_t at;
    uint64_t has;
} line[LINES];

static void touch(const volatile void *address, int writes)
{
    uintptr_t at = (uintptr_t)address / 64;
    uint64_t me = UINT64_C(1) << here;
    int i = 0;

    while (line[i].at != at && line[i].at)
        i++;
    ck_assert_int_lt(i, LINES - 1);
    if (!line[i].at) { /* nobody has it: memory gives it to the first one */
        line[i].at = at;
        line[i].has = me;
        return;
    }
    moves += writes ? line[i].has != me : !(line[i].has & me);
    line[i].has = writes ? me : line[i].has | me;
}

/* ------ Crossings ------ */

typedef struct crowd {
    ls__barrier barrier;
    ls__meeting group[CACHES];
    int of[MOST], order[MOST];
    int n, caches;
} crowd;

static void open_crowd(crowd *c, int n, int caches, bool split)
{
    memset(c, 0, sizeof *c);
    c->n = n;
    c->caches = caches;
    ck_assert_int_eq(ls__barrier_open(&c->barrier, n, 0), 0);
    for (int i = 0; i < n; i++) {
        c->of[i] = (int)((int64_t)i * caches / n);
        c->group[c->of[i]].n++;
    }
    if (split)
        ls__barrier_split(&c->barrier, caches, c->group, c->of);
    memset(line, 0, sizeof line);
}

/* The moves of a crossing in the order of c->order: everybody looks at the
 * gate, arrives, and, once it is open, looks again. */
static long cross(crowd *c)
{
    ls__gate *gate[MOST];
    unsigned seen[MOST];

    moves = 0;
    for (int i = 0; i < c->n; i++) {
        int t = c->order[i];

        here = c->of[t];
        gate[t] = &meeting_of(&c->barrier, t)->gate;
        seen[t] = ls__gate_now(gate[t]);
        ck_assert(!opened(gate[t], seen[t]));
        ls__barrier_arrive(&c->barrier, t);
    }
    for (int t = 0; t < c->n; t++) {
        here = c->of[t];
        ck_assert(opened(gate[t], seen[t]));
    }
    return moves;
}

/* Thread 0 of each cache, thread 1 of each, and so on. */
static void in_turn(crowd *c)
{
    int n = 0;

    for (int k = 0; n < c->n; k++)
        for (int g = 0, at = 0; g < c->caches; at += c->group[g++].n)
            if (k < c->group[g].n)
                c->order[n++] = at + k;
}

static void at_random(crowd *c, unsigned *seed)
{
    for (int i = 0; i < c->n; i++) {
        int k = (int)((*seed >> 16) % ((unsigned)i + 1));

        *seed = *seed * 1103515245 + 12345; /* alike with every libc */
        c->order[i] = c->order[k];
        c->order[k] = i;
    }
}

/* The most of a few crossings. */
static long most(int n, int caches, bool split)
{
    unsigned seed = 1;
    long found = 0;
    crowd c;

    open_crowd(&c, n, caches, split);
    for (int i = 0; i < 8; i++) {
        long m;

        if (i % 2 == 0)
            in_turn(&c);
        else
            at_random(&c, &seed);
        m = cross(&c);
        found = m > found ? m : found;
    }
    return found;
}

/* Proves the counts of 2 to 192 threads below caches of so many cores: flat at
 * least a move for each thread where all arrive in turn, in groups at most five
 * for each cache, whatever the number of threads. */
TEST(counts)
{
    static const int cores[] = {1, 2, 4, 8, 16, 48};

    for (int n = 2; n <= MOST; n = n < 8 ? n + 1 : n + n / 2)
        for (size_t i = 0; i < sizeof cores / sizeof *cores; i++) {
            int caches = n / cores[i];

            if (caches < 2 || caches > CACHES)
                continue;
            ck_assert_int_ge(most(n, caches, false), n);
            ck_assert_int_le(most(n, caches, true), 5 * caches);
        }
}

/* Proves the numbers of docs/scaling.md, of caches of eight cores and of other
 * machines. */
TEST(named)
{
    static const struct {
        int threads, caches;
        long flat, split;
    } of[] = {{2, 2, 4, 5},       {4, 2, 6, 5},     {8, 2, 10, 5},
              {16, 2, 18, 5},     {32, 4, 38, 14},  {64, 8, 78, 30},
              {96, 12, 118, 46},  {112, 2, 114, 5}, {112, 8, 126, 30},
              {128, 16, 158, 62}, {192, 2, 194, 4}, {192, 24, 238, 94}};

    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        long flat = most(of[i].threads, of[i].caches, false);
        long split = most(of[i].threads, of[i].caches, true);

        ck_assert_msg(flat == of[i].flat && split == of[i].split,
                      "%d threads below %d L3: %ld moves at one counter and "
                      "%ld below each first", of[i].threads, of[i].caches,
                      flat, split);
    }
}

/* Proves that a single cache costs what it did: one meeting moves nothing
 * between caches, and touches two lines. */
TEST(one_cache)
{
    crowd c;
    int lines = 0;

    open_crowd(&c, 8, 1, false);
    in_turn(&c);
    ck_assert_int_eq(cross(&c), 0);
    for (int i = 0; i < LINES; i++)
        lines += line[i].at != 0;
    ck_assert_int_eq(lines, 2);
}

MAIN()
