/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of a measurement, which fails as the library does: with a negative
 * status, and the calling thread's ls_errmsg(). */
#ifndef TOOLS_SCALING_FAIL_H
#define TOOLS_SCALING_FAIL_H

#include <lockstep.h>

/* Set the message and return the status. */
__attribute__((format(printf, 2, 3)))
int scaling_fail(int status, const char *format, ...);

/* Cleared memory for n things, to be freed; NULL, with a message that says what
 * they are. */
void *scaling_new(size_t n, size_t size, const char *what);

#endif
