/* SPDX-License-Identifier: BSD-3-Clause */
/* The monotonic clock, once for all who measure. */
#define _GNU_SOURCE /* clock_gettime */
#include "base/clock.h"

#include <time.h>

int64_t ls__nanoseconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

double ls__seconds(void)
{
    return 1e-9 * (double)ls__nanoseconds();
}
