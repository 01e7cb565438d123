/* SPDX-License-Identifier: BSD-3-Clause */
/* Invariants, which hold whatever a program does: LS__ASSERT(x) states one, and
 * ends the program with file, line and condition where it is not so.  A call
 * that a program gets wrong is a status (base/error.h), never this.
 *
 * Asserted in builds for tests alone: configure's --enable-assertions, which
 * sanitizers and --enable-test-level bring.  What is installed does nothing
 * here: no condition is computed, no symbol of this is in it. */
#ifndef LS_BASE_ASSERT_H
#define LS_BASE_ASSERT_H

#ifdef LS_ASSERTIONS

#include <stdio.h>
#include <stdlib.h>

__attribute__((noreturn, cold, noinline, unused)) static void
ls__assert_failed(const char *file, int line, const char *condition)
{
    fprintf(stderr, "%s:%d: not so: %s\n", file, line, condition);
    abort();
}

#define LS__ASSERT(condition) \
    ((condition) ? (void)0 : \
     ls__assert_failed(__FILE__, __LINE__, #condition))

#else

/* (sizeof computes nothing; what only a condition names is used all the
 * same.) */
#define LS__ASSERT(condition) ((void)sizeof((condition) ? 1 : 0))

#endif

/* Is x a power of two? */
#define LS__IS_POWER(x) ((x) > 0 && ((x) & ((x) - 1)) == 0)

/* Do two parts of memory, each of so many bytes, lie apart? */
#define LS__APART(a, b, bytes_a, bytes_b) \
    ((const char *)(a) + (bytes_a) <= (const char *)(b) || \
     (const char *)(b) + (bytes_b) <= (const char *)(a))

#endif
