/* SPDX-License-Identifier: BSD-3-Clause */
/* A core that errs: see kernel/fault.h. */
#define _GNU_SOURCE /* sched_getcpu */
#include "kernel/fault.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ls__fault fault = {.p = 0};
static bool is_set;
/* Relaxed: they count, and nothing is read through them. */
static atomic_llong calls, errors;
static _Thread_local int here = -1;

static const ls__kernel_table *right; /* what errs not */
static ls__kernel_table wrong;
static ls__products products; /* of f32 */

void ls__fault_here(int worker)
{
    here = worker;
}

void ls__fault_set(const ls__fault *f)
{
    fault = f ? *f : (ls__fault){.p = 0};
    is_set = true;
    atomic_store_explicit(&calls, 0, memory_order_relaxed);
    atomic_store_explicit(&errors, 0, memory_order_relaxed);
}

long long ls__fault_count(void)
{
    return atomic_load_explicit(&errors, memory_order_relaxed);
}

/* ------ does this call err? ------ */

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static bool is_here(const char *kernel)
{
    return fault.p > 0 && here >= 0 &&
           (fault.worker < 0 || fault.worker == here) &&
           (fault.pu < 0 || fault.pu == sched_getcpu()) &&
           (!*fault.kernel || strcmp(fault.kernel, kernel) == 0);
}

/* Its draw, or 0: it is right. */
static uint64_t errs(const char *kernel)
{
    long long call;
    uint64_t draw;

    if (!is_here(kernel))
        return 0;
    call = atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    draw = mix(((uint64_t)fault.seed << 40) + (uint64_t)call * 2 + 1);
    if (call < fault.first || call >= fault.last ||
        (double)(draw >> 11) * 0x1p-53 >= fault.p)
        return 0;
    atomic_fetch_add_explicit(&errors, 1, memory_order_relaxed);
    return mix(draw) | 1;
}

static void turn(float *x, uint64_t draw)
{
    unsigned bit = fault.bit < 0 ? draw >> 8 & 31 : (unsigned)fault.bit;
    uint32_t word, bits = UINT32_C(1) << bit;

    for (int i = 1; i < fault.bits; i++)
        bits |= UINT32_C(1) << (mix(draw + (uint64_t)i) & 31);
    memcpy(&word, x, sizeof word);
    word = fault.stuck ? word | bits : word ^ bits;
    memcpy(x, &word, sizeof word);
}

/* Element of rows of n that lie `row` apart. */
static void spoil(const char *kernel, int64_t rows, int64_t n, int64_t row,
                  float *x)
{
    uint64_t draw = rows > 0 && n > 0 ? errs(kernel) : 0;
    int64_t i;

    if (!draw)
        return;
    i = fault.lane < 0 ? (int64_t)((draw >> 16) % (uint64_t)(rows * n))
                       : fault.lane % (rows * n);
    for (int lanes = 0; lanes == 0 || (lanes < fault.lanes && i < rows * n);
         lanes++, i++)
        turn(x + i / n * row + i % n, draw);
}

/* ------ workers on other levels ------ */

enum { LEVELS = 8 };
static const ls__kernel_table *level[LEVELS];
static int levels; /* 0: all workers are on one */

void ls__fault_mix(bool mix)
{
    const ls__kernel_table *k;

    levels = 0;
    for (int i = 0; mix && levels < LEVELS && (k = ls__kernels_level(i)); i++)
        if (ls__kernels_by_name(k->name))
            level[levels++] = k;
    is_set = true;
}

static const ls__kernel_table *level_here(void)
{
    return levels && here >= 0 ? level[here % levels] : right;
}

static const ls__products *products_of(const ls__kernel_table *k)
{
    return k->native[LS_F32_LAYERS].products;
}

/* Panels of the same width, or else those of all. */
static const ls__products *products_here(void)
{
    const ls__kernel_table *k = level_here();
    bool fits = products_of(k)->packed_size(1, 1) ==
                products_of(right)->packed_size(1, 1);

    return products_of(fits ? k : right);
}

/* ------ the kernels ------ */

static void gemm(const ls__product *g, float *scratch)
{
    products_here()->gemm(g, scratch);
    spoil("gemm", g->m, g->n, g->c_row, g->c);
}

static void pack(int64_t k, int64_t n, const float *b, int64_t b_row,
                 int64_t b_col, void *packed)
{
    products_here()->pack(k, n, b, b_row, b_col, packed);
    spoil("pack", 1, k * n, 0, packed);
}

static void add(int64_t n, const float *a, const float *b, float *out)
{
    level_here()->add(n, a, b, out);
    spoil("add", 1, n, 0, out);
}

static void scale(int64_t n, float by, float *x)
{
    level_here()->scale(n, by, x);
    spoil("scale", 1, n, 0, x);
}

static void tree_sum(float *const *buffers, int devices, int64_t first,
                     int64_t last, float by, float *out)
{
    level_here()->tree_sum(buffers, devices, first, last, by, out);
    spoil("tree_sum", 1, last - first, 0, out);
}

static float square_sum(int64_t n, const float *x)
{
    float y = level_here()->square_sum(n, x);

    spoil("square_sum", 1, 1, 0, &y);
    return y;
}

static uint64_t digest(int64_t n, const void *x, uint64_t before)
{
    uint64_t y = level_here()->digest(n, x, before);

    return errs("digest") ? y ^ 1 : y;
}

static void update(const ls__rule *r, int64_t n, const float *g, float *p,
                   float *const moment[3])
{
    level_here()->update[r->of->kind](r, n, g, p, moment);
    spoil("update", 1, n, 0, p);
}

/* ------ the table ------ */

static void from_environment(void)
{
    const char *text = getenv("LS_FAULT");
    ls__fault f = {.pu = -1};

    if (!text || sscanf(text, "%15[a-z_],%d,%d,%d,%lf,%u,%lld,%lld,%d",
                        f.kernel, &f.worker, &f.bit, &f.lane, &f.p, &f.seed,
                        &f.first, &f.last, &f.pu) < 8)
        return;
    ls__fault_set(&f);
}

static void wrap(void)
{
    if (!is_set)
        from_environment();
    if (!is_set)
        return;
    wrong = *right;
    products = *right->native[LS_F32_LAYERS].products;
    products.gemm = gemm;
    if (products.pack)
        products.pack = pack;
    wrong.native[LS_F32_LAYERS].products = &products;
    wrong.add = add;
    wrong.scale = scale;
    wrong.tree_sum = tree_sum;
    wrong.square_sum = square_sum;
    wrong.digest = digest;
    for (int i = 0; i < LS__OPTIMIZERS; i++)
        wrong.update[i] = right->update[i] ? update : NULL;
}

const ls__kernel_table *ls__fault_wrap(const ls__kernel_table *k)
{
    /* Ranks that are threads ask for their kernels at the same moment. */
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

    pthread_mutex_lock(&lock);
    if (!right) {
        right = k;
        wrap();
    }
    k = is_set ? &wrong : k;
    pthread_mutex_unlock(&lock);
    return k;
}
