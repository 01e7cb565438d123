/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that fail when a test wants them to: the n-th one while it watches.
 *
 * The functions here and in test_faults.c stand before the C library's and
 * hwloc's, which they call.  Only a call that a test counts can fail; in a
 * program with this header that is malloc's family, unless a sanitizer brings
 * its own.  Included by one file of a program. */
#ifndef TEST_FAULTS_H
#define TEST_FAULTS_H

#include "calls.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#if defined(__GLIBC__) && !UNDER_SANITIZER
#define OWN_MALLOC 1
#else
#define OWN_MALLOC 0
#endif

/* ------ What is counted, and which one fails ------ */

/* Counted while `watching`; number `failing` is refused, 0: none is. */
static atomic_bool watching;
static atomic_int count, failing;
static atomic_int live; /* blocks of memory, more than when it began */

static inline void watch_from(int fail)
{
    atomic_store(&count, 0);
    atomic_store(&live, 0);
    atomic_store(&failing, fail);
    atomic_store(&watching, true);
}

/* The calls of a thread that are neither counted nor refused. */
static _Thread_local bool spared;

static inline bool granted(void)
{
    return !atomic_load(&watching) || spared ||
           atomic_fetch_add(&count, 1) + 1 != atomic_load(&failing);
}

/* Was it called by this program, rather than by a library?  hwloc, for one,
 * does not survive a shortage of its own. */
static inline bool ours(const void *from)
{
    extern const char __executable_start[], etext[];

    return (uintptr_t)from >= (uintptr_t)__executable_start &&
           (uintptr_t)from < (uintptr_t)etext;
}

/* ------ Memory ------ */

#if OWN_MALLOC

/* Allocations that count: none, our own, those of libraries too. */
static enum { NO_MEMORY, OUR_MEMORY, ALL_MEMORY } fail_memory;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t align, size_t size);
void __libc_free(void *p);

#define VISIBLE __attribute__((visibility("default")))

#define CALLER __builtin_return_address(0)

static bool counts(const void *from)
{
    return fail_memory == ALL_MEMORY ||
           (fail_memory == OUR_MEMORY && ours(from));
}

/* Our own blocks among others': whoever calls free cannot be told (it is often
 * the last thing a library's function does, and then a jump). */
static _Atomic(void *) owned[256];

/* Put `to` where `from` is: false where that is nowhere. */
static bool replace(void *from, void *to)
{
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) {
        void *here = from;

        if (atomic_compare_exchange_strong(&owned[i], &here, to))
            return true;
    }
    return false;
}

static bool room(const void *from)
{
    if (!counts(from) || granted())
        return true;
    errno = ENOMEM;
    return false;
}

/* One block more; p again. */
static void *counted(const void *from, void *p)
{
    if (p && atomic_load(&watching) && counts(from) &&
        (fail_memory == ALL_MEMORY || replace(NULL, p)))
        atomic_fetch_add(&live, 1);
    return p;
}

VISIBLE void *malloc(size_t size)
{
    return room(CALLER) ? counted(CALLER, __libc_malloc(size)) : NULL;
}

VISIBLE void *calloc(size_t n, size_t size)
{
    return room(CALLER) ? counted(CALLER, __libc_calloc(n, size)) : NULL;
}

VISIBLE void *realloc(void *p, size_t size)
{
    if (!room(CALLER))
        return NULL;
    return p ? __libc_realloc(p, size) : counted(CALLER, __libc_malloc(size));
}

VISIBLE void *aligned_alloc(size_t align, size_t size)
{
    return room(CALLER) ? counted(CALLER, __libc_memalign(align, size)) : NULL;
}

VISIBLE int posix_memalign(void **p, size_t align, size_t size)
{
    if (!room(CALLER))
        return ENOMEM;
    *p = counted(CALLER, __libc_memalign(align, size));
    return *p ? 0 : ENOMEM;
}

VISIBLE void free(void *p)
{
    if (p && atomic_load(&watching) &&
        (fail_memory == ALL_MEMORY || replace(p, NULL)))
        atomic_fetch_sub(&live, 1);
    __libc_free(p);
}

#endif
#endif
