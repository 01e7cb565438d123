/* SPDX-License-Identifier: BSD-3-Clause */
/* Status codes become sentences here.  A function that fails returns a
 * negative status and leaves one message in thread-local storage, naming the
 * thing, both shapes or sizes, and the place. */
#ifndef LS_BASE_ERROR_H
#define LS_BASE_ERROR_H

#include <lockstep/base.h>

/* Format the calling thread's message and return status, so that a failure is
 * one line: return ls__fail(LS_ESHAPE, "dense \"%s\": ...", name). */
int ls__fail(int status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The one rule for NULL: a public function begins with what it needs, and
 * leaves with LS_EINVAL, or where it returns no status with `nothing`, when an
 * argument is NULL.  test/whole/test_null.c calls all of them. */
#define LS__NEED(argument) LS__NEED_AS(argument, #argument, LS_EINVAL)
#define LS__NEED_OR(argument, nothing) \
    LS__NEED_AS(argument, #argument, nothing)
/* The same for an argument that has another name in the header. */
#define LS__NEED_AS(argument, name, nothing) \
    do { \
        if (!(argument)) { \
            ls__null(__func__, name); \
            return nothing; \
        } \
    } while (0)

/* "ls_step: batch is NULL", for ls_step_bytes too; returns LS_EINVAL. */
int ls__null(const char *function, const char *argument);

/* ls__fail(LS_ENOMEM) for an allocation of `bytes` for `what`. */
int ls__no_memory(const char *what, size_t bytes);

/* The plural's end: "%lld row%s", n, ls__s(n). */
static inline const char *ls__s(int64_t n)
{
    return n == 1 ? "" : "s";
}

/* The message of a failure that another thread found travels as text. */
enum { LS__MESSAGE = 512 };

/* Write a shape as "(2,3,4)" into out and return out. */
enum { LS__SHAPE_TEXT = 200 };
const char *ls__shape_text(char out[LS__SHAPE_TEXT], int rank,
                           const int64_t *shape);

#endif
