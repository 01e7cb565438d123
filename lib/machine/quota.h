/* SPDX-License-Identifier: BSD-3-Clause */
/* The CPU quota of this process: how many CPUs' worth of time Linux lets it
 * have in a period, whatever the number of cores it may run on.  Threads beyond
 * that number do not share the time, they are stopped together. */
#ifndef LS_MACHINE_QUOTA_H
#define LS_MACHINE_QUOTA_H

#include <stdint.h>

enum { LS__QUOTA_WHERE = 256 };

typedef struct ls__quota {
    int64_t time, period;        /* microseconds; period 0: no quota */
    char where[LS__QUOTA_WHERE]; /* the file that sets it, cut if too long */
} ls__quota;

/* The least quota of this process's group and of all groups above it, cgroup
 * v1 and v2, read below root ("" for this machine; a folder that holds proc/
 * and sys/ in tests).  What cannot be read sets no quota. */
ls__quota ls__quota_read(const char *root);

/* CPUs, rounded up: half of one still needs a core.  INT32_MAX for none. */
int ls__quota_cores(const ls__quota *quota);

#endif
