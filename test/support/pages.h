/* SPDX-License-Identifier: BSD-3-Clause */
/* Pages of an array, as Linux tells them. */
#ifndef TEST_PAGES_H
#define TEST_PAGES_H

#include "calls.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The flags of the mapping that holds an address, "rd wr mr ..". */
static inline bool flags_of(const void *at, char flags[256])
{
    FILE *file = fopen("/proc/self/smaps", "r");
    unsigned long first, last;
    bool here = false, found = false;
    char line[512];

    while (file && !found && fgets(line, sizeof line, file)) {
        if (sscanf(line, "%lx-%lx ", &first, &last) == 2)
            here = (uintptr_t)at >= first && (uintptr_t)at < last;
        found = here && sscanf(line, "VmFlags: %255[^\n]", flags) == 1;
    }
    if (file)
        fclose(file);
    return found;
}

/* An address in a large block is advised to be in huge pages, where Linux has
 * any. */
static inline void check_huge(const void *at)
{
    char flags[256];

    if (access("/sys/kernel/mm/transparent_hugepage", F_OK) == 0 &&
        !emulated("huge pages") && flags_of(at, flags))
        ck_assert_msg(strstr(flags, "hg"), "%s", flags);
}

/* Pages of an array that take memory. */
static inline int pages_of(const float *array, int64_t floats)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = ((uintptr_t)array + page - 1) / page * page;
    size_t count = ((uintptr_t)(array + floats) - first) / page;
    unsigned char *there = malloc(count);
    int n = 0;

    ck_assert_int_eq(mincore((void *)first, count * page, there), 0);
    for (size_t i = 0; i < count; i++)
        n += there[i] & 1;
    free(there);
    return n;
}

#endif
