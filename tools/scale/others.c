/* SPDX-License-Identifier: BSD-3-Clause */
/* Processor time of all programs, from the first line of /proc/stat ("cpu user
 * nice system idle iowait irq softirq steal .."), less our own. */
#define _GNU_SOURCE
#include "scale/others.h"
#include "opt/opt.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static double of_all(void)
{
    double user, nice, system, irq, soft;
    FILE *f = fopen("/proc/stat", "r");
    int n;

    if (!f)
        return 0;
    n = fscanf(f, "cpu %lf %lf %lf %*f %*f %lf %lf", &user, &nice, &system,
               &irq, &soft);
    fclose(f);
    return n == 5 ? (user + nice + system + irq + soft) /
                        (double)sysconf(_SC_CLK_TCK)
                  : 0;
}

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

static double of_others(void)
{
    struct rusage own;

    getrusage(RUSAGE_SELF, &own);
    return of_all() - seconds(own.ru_utime) - seconds(own.ru_stime);
}

void others_start(others *o)
{
    *o = (others){opt_seconds(), of_others()};
}

double others_used(const others *o)
{
    double time = opt_seconds() - o->began, used = of_others() - o->theirs;

    return time > 0 && used > 0 ? used / time : 0;
}
