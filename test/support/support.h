/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared parts of tests.  Everything is static inline, so that a test stays one
 * program made of one .c file. */
#ifndef LS_TEST_SUPPORT_H
#define LS_TEST_SUPPORT_H

#include "base/memory.h"
#include "fixture.h"
#include "kernel/kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* How many optimizers there are, by their numbers from 0. */
static inline int optimizer_kinds(void)
{
    int n = 0;

    while (ls_optimizer_name((ls_optimizer_kind)n))
        n++;
    return n;
}

/* ------ Numbers ------ */

/* n floats in [-1,1), the same on every machine. */
static inline void fill_uniform(int64_t seed, int64_t n, float *out)
{
    ls_random_uniform(ls_key_new(seed), 0, n, -1, 1, out);
}

/* n indices in [0,limit). */
static inline void fill_indices(int64_t seed, int64_t n, int64_t limit,
                                int32_t *out)
{
    ls_random_randint(ls_key_new(seed), 0, n, 0, (int32_t)limit, out);
}

static inline double largest(int64_t n, const double *x)
{
    double top = 0;

    for (int64_t i = 0; i < n; i++)
        top = fabs(x[i]) > top ? fabs(x[i]) : top;
    return top;
}

/* The largest |got - want|; infinite when a value is not finite. */
static inline double max_error(int64_t n, const float *got, const double *want)
{
    double top = 0;

    for (int64_t i = 0; i < n; i++) {
        double e = fabs((double)got[i] - want[i]);

        if (!(e <= top))
            top = e == e ? e : (double)INFINITY;
    }
    return top;
}

/* The largest error relative to the largest magnitude of what is wanted. */
static inline double max_relative(int64_t n, const float *got,
                                  const double *want)
{
    double error = max_error(n, got, want), size = largest(n, want);

    return error == 0 ? 0 : error / size;
}

/* An array of nearly only zeros proves little: true above nine in ten. */
static inline bool mostly_zero(int64_t n, const float *x)
{
    int64_t zeros = 0;

    for (int64_t i = 0; i < n; i++)
        zeros += x[i] == 0;
    return 10 * zeros > 9 * n;
}

/* ------ Memory that ends where it should ------ */

static struct {
    char *end;
    size_t room;
    bool used;
} fences[512];
static int fence_count;

/* The least of the fences nobody uses with room for so many bytes, or a new
 * one: asking Linux for each would take most of a test's time. */
static inline int fence_of(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), room = page;
    int best = -1;
    char *base;

    for (int i = 0; i < fence_count; i++)
        if (!fences[i].used && fences[i].room >= bytes &&
            (best < 0 || fences[i].room < fences[best].room))
            best = i;
    if (best >= 0)
        return best;
    while (room < bytes)
        room *= 2;
    base = mmap(NULL, room + page, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED || fence_count == 512 ||
        mprotect(base + room, page, PROT_NONE) < 0)
        abort(); /* not an assertion: used outside of Check's runs too */
    fences[fence_count].end = base + room;
    fences[fence_count].room = room;
    return fence_count++;
}

/* Room for n floats (or int32), filled with NaN (-1), that ends at a page
 * nobody may touch: reading or writing beyond its end is a fault, with and
 * without a sanitizer.  Lives until fences_free. */
static inline void *fenced(int64_t n)
{
    size_t bytes = (size_t)n * sizeof(float);
    int i = fence_of(bytes);

    fences[i].used = true;
    return memset(fences[i].end - bytes, 0xff, bytes);
}

static inline void fences_free(void)
{
    for (int i = 0; i < fence_count; i++)
        fences[i].used = false;
}

/* The same filled with uniform random numbers. */
static inline float *uniform(int64_t seed, int64_t n)
{
    float *x = fenced(n);

    fill_uniform(seed, n, x);
    return x;
}

/* n numbers of x, of either dtype, in double; zeros without an x.  To be
 * freed. */
static inline double *doubles(int64_t n, const void *x, ls_dtype dtype)
{
    double *d = n < 0 ? NULL : calloc((size_t)n, sizeof *d);

    if (!d)
        abort();
    for (int64_t i = 0; x && i < n; i++)
        d[i] = dtype == LS_F32 ? (double)((const float *)x)[i]
                               : (double)((const int32_t *)x)[i];
    return d;
}

/* ------ Levels ------ */

/* The number of instruction levels that are compiled in. */
static inline int levels(void)
{
    int n = 0;

    while (ls__kernels_level(n))
        n++;
    return n;
}

/* A level by number; NULL when this CPU lacks it. */
static inline const ls__kernel_table *level(int i)
{
    return ls__kernels_by_name(ls__kernels_level(i)->name);
}

#endif
