/* SPDX-License-Identifier: BSD-3-Clause */
/* The CPU quota (cgroup) of this process: CPUs' worth of time in a period, on
 * any number of cores.  Threads beyond that number do not share the time, they
 * are stopped together. */
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

/* Whole CPUs, at least one: a core beyond them is stopped for part of each
 * period, and all workers wait for it at the next barrier.  INT32_MAX for none.
 */
int ls__quota_cores(const ls__quota *quota);

#endif
