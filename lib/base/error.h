/* Status codes become sentences here.  A function that fails returns a
 * negative status and leaves one message in thread-local storage, naming the
 * thing, both shapes or sizes, and the place. */
#ifndef LS_BASE_ERROR_H
#define LS_BASE_ERROR_H

#include "lockstep.h"

/* Format the calling thread's message and return status, so that a failure is
 * one line: return ls__fail(LS_ESHAPE, "dense \"%s\": ...", name). */
int ls__fail(int status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ls__fail(LS_ENOMEM) for an allocation of `bytes` for `what`. */
int ls__no_memory(const char *what, size_t bytes);

/* The message of a failure that another thread found travels as text. */
enum { LS__MESSAGE = 512 };

/* Write a shape as "(2,3,4)" into out and return out. */
enum { LS__SHAPE_TEXT = 200 };
const char *ls__shape_text(char out[LS__SHAPE_TEXT], int rank,
                           const int64_t *shape);

#endif
