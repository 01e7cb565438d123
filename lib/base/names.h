/* SPDX-License-Identifier: BSD-3-Clause */
/* A hash table of names, each with a number, so that a graph of many layers
 * opens in time linear in them. */
#ifndef LS_BASE_NAMES_H
#define LS_BASE_NAMES_H

#include <stddef.h>

typedef struct ls__name {
    const char *text; /* NULL: nothing lies here */
    int number;
} ls__name;

typedef struct ls__names {
    size_t count, capacity; /* a power of two, or 0 */
    ls__name *at;
    size_t looks; /* a count of probed places, for tests */
} ls__names;

/* The number of a name, which may be changed: 0 when it is new.  The text is
 * borrowed as long as the set is.  NULL with a message: no memory. */
int *ls__names_number(ls__names *names, const char *text);

void ls__names_free(ls__names *names);

#endif
