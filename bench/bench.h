/* SPDX-License-Identifier: BSD-3-Clause */
/* What the programs that are timed share. */
#ifndef BENCH_H
#define BENCH_H

#include <lockstep.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A status below 0 ends the program with the library's words. */
static inline void must(int status)
{
    if (status < 0) {
        fprintf(stderr, "bench: %s\n", ls_errmsg());
        exit(EXIT_FAILURE);
    }
}

static inline double seconds_by(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline double now_ms(void)
{
    return 1e3 * seconds_by(CLOCK_MONOTONIC);
}

/* Processor time of all threads of this process. */
static inline double processor_ms(void)
{
    return 1e3 * seconds_by(CLOCK_PROCESS_CPUTIME_ID);
}

/* What follows an option on the command line, or `absent`. */
static inline const char *option(int argc, char **argv, const char *name,
                                 const char *absent)
{
    for (int i = 1; i + 1 < argc; i += 2)
        if (!strcmp(argv[i], name))
            return argv[i + 1];
    return absent;
}

static inline int number(int argc, char **argv, const char *name, int absent)
{
    const char *text = option(argc, argv, name, NULL);

    return text ? atoi(text) : absent;
}

/* Where `--metrics F` has the lines go, or standard output. */
static inline FILE *metrics(int argc, char **argv)
{
    const char *path = option(argc, argv, "--metrics", NULL);
    FILE *out = path ? fopen(path, "w") : stdout;

    if (!out) {
        perror(path);
        exit(EXIT_FAILURE);
    }
    return out;
}

#endif
