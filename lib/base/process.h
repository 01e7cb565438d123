/* SPDX-License-Identifier: BSD-3-Clause */
/* Is this still the process that made an object, or a child that a fork left
 * without its threads?  Asked before every step, so without a system call:
 * Linux clears the page of the mark in children. */
#ifndef LS_BASE_PROCESS_H
#define LS_BASE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct ls__process {
    long id;
    const bool *mark; /* true here, false in a child; NULL: the system has no
                         such pages, and id is compared */
    size_t bytes;     /* of the mark's page */
} ls__process;

/* The calling process.  Cannot fail. */
ls__process ls__process_open(void);
void ls__process_close(ls__process *process);

bool ls__process_is_this(const ls__process *process);

#endif
