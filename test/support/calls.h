/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the library's calls in every test, and questions to its own build.
 * Asserts with Check. */
#ifndef TEST_CALLS_H
#define TEST_CALLS_H

#include "program.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A call that must succeed; the library's own words when it does not. */
#define OK(call) ck_assert_msg((call) == 0, "%s: %s", #call, ls_errmsg())

/* A condition on each of many numbers.  Check writes to a file whenever it is
 * asked, which takes a thousand times as long as to compare two numbers; it is
 * asked only when they differ. */
#define HOLDS(condition, ...) \
    do { \
        if (!(condition)) \
            ck_abort_msg(__VA_ARGS__); \
    } while (0)

/* A call that must fail with a status, and say so in these words. */
#define FAILS(call, status, words) \
    do { \
        ck_assert_int_eq((call), (status)); \
        ck_assert_msg(strstr(ls_errmsg(), (words)), \
                      "\"%s\" does not say \"%s\"", ls_errmsg(), (words)); \
    } while (0)

/* A graph without a node. */
static inline ls_graph *empty_graph(void)
{
    ls_graph *g;

    OK(ls_graph_new(&g));
    return g;
}

/* 1 or 0: sanitizers are slow, and keep malloc and its failures to themselves.
 */
/* clang-format off */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define UNDER_SANITIZER 1
#elif defined(__has_feature)
#define UNDER_SANITIZER (__has_feature(address_sanitizer) || \
                         __has_feature(thread_sanitizer) || \
                         __has_feature(memory_sanitizer))
#else
#define UNDER_SANITIZER 0
#endif
/* clang-format on */

/* Is this program emulated, by qemu for one, which has its own ways with memory
 * and forks?  test/architectures/run says so.  `what` is left out then. */
static inline bool emulated(const char *what)
{
    bool is = getenv("LS_EMULATED") != NULL;

    if (is)
        printf("skipped, emulated: %s\n", what);
    return is;
}

/* Says whether to make the runs that would double the time of make check. */
static inline bool long_run(void)
{
    const char *text = getenv("LS_LONG");

    return text && *text && strcmp(text, "0") != 0;
}

#endif
