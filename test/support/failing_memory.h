/* SPDX-License-Identifier: BSD-3-Clause */
/* malloc and its kin, which fail when told to and count what is live.  Only one
 * file of a program includes it. */
#ifndef TEST_FAILING_MEMORY_H
#define TEST_FAILING_MEMORY_H

#include "support.h"

static int allocations_left = -1; /* until one fails; -1: none does */
static int live;                  /* allocated and not yet freed */

#if defined(__GLIBC__) && !UNDER_SANITIZER
enum { COUNTS_MEMORY = 1 };

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t align, size_t size);
void __libc_free(void *p);

static bool may_allocate(void)
{
    if (allocations_left == 0)
        return false;
    allocations_left -= allocations_left > 0;
    return true;
}

static void *counted(void *p)
{
    live += p != NULL;
    return p;
}

void *malloc(size_t size)
{
    return may_allocate() ? counted(__libc_malloc(size)) : NULL;
}

void *calloc(size_t count, size_t size)
{
    return may_allocate() ? counted(__libc_calloc(count, size)) : NULL;
}

void *aligned_alloc(size_t align, size_t size)
{
    return may_allocate() ? counted(__libc_memalign(align, size)) : NULL;
}

void *realloc(void *p, size_t size)
{
    void *q = may_allocate() ? __libc_realloc(p, size) : NULL;

    return p ? q : counted(q);
}

void free(void *p)
{
    live -= p != NULL;
    __libc_free(p);
}
#else
enum { COUNTS_MEMORY = 0 };
#endif

#endif
