/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that share out items of work for as long as one call lasts.  What an
 * item gives depends on it alone, so nothing depends on how many there are. */
#ifndef LS_IMAGE_CREW_H
#define LS_IMAGE_CREW_H

#include <stdint.h>

/* The number of threads that a program may run at once here. */
int ls__crew_cpus(void);

/* Do items 0 to n - 1, with the calling thread and up to threads - 1 others,
 * which have its cores and no signals.  Returns the status of the first item
 * that failed, in their order, with its message; those after it may not have
 * been done. */
int ls__crew_run(int threads, int64_t n, int (*work)(void *user, int64_t i),
                 void *user);

#endif
