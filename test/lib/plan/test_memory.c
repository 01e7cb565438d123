/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory: blocks and their huge pages, sizes that overflow, the arena; and that
 * the pages of a trainer are first touched by the workers that will use them,
 * which on NUMA machines is where they come to lie. */
#define _GNU_SOURCE /* RUSAGE_THREAD */
#include "pages.h"
#include "small_model.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

static bool zeros(const char *p, size_t n)
{
    size_t i = 0;

    while (i < n && p[i] == 0)
        i++;
    return i == n;
}

/* Blocks are aligned to cache lines, from 4 MB on to huge pages; one byte less
 * than there is address space is refused with its size. */
TEST(test_block)
{
    static const struct {
        size_t bytes, align;
    } row[] = {{0, 64}, {1, 64}, {65, 64}, {(4 << 20) - 1, 64},
               {4 << 20, 2 << 20}, {(5 << 20) + 1, 2 << 20}};

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char *block = ls__block_zero(row[i].bytes, "block");

        ck_assert_ptr_nonnull(block);
        ck_assert_uint_eq((uintptr_t)block % row[i].align, 0);
        ck_assert(zeros(block, row[i].bytes));
        ls__block_free(block);
    }
    ck_assert_ptr_null(ls__block(SIZE_MAX, "everything"));
    ck_assert_ptr_nonnull(strstr(ls_errmsg(), "everything"));
}

/* Large blocks are advised to be huge pages, where Linux has any. */
TEST(test_huge_pages)
{
    char *block = ls__block(8 << 20, "large");

    ck_assert_ptr_nonnull(block);
    check_huge(block);
    ls__block_free(block);
}

/* Products and shapes that overflow are told from those that do not. */
TEST(test_sizes)
{
    size_t n = 7;

    ck_assert(ls__mul(SIZE_MAX, 1, &n) && n == SIZE_MAX);
    ck_assert(!ls__mul(SIZE_MAX / 2 + 1, 2, &n));
    ck_assert_int_eq(ls__count(0, NULL), 1);
    ck_assert_int_eq(ls__count(3, (int64_t[]){2, 0, 5}), 0);
    ck_assert_int_eq(ls__count(2, (int64_t[]){2, -1}), -1);
    ck_assert_int_eq(ls__count(2, (int64_t[]){INT64_MAX, 2}), -1);
    ck_assert_int_eq(ls__count(3, (int64_t[]){0, INT64_MAX, 2}), -1);
    ck_assert_int_eq(ls__count(3, (int64_t[]){INT64_MAX, 2, 0}), -1);
    ck_assert_int_eq(ls__count(2, (int64_t[]){0, INT64_MAX}), 0);
}

/* What an arena hands out is cleared, aligned, apart, and goes with it. */
TEST(test_arena)
{
    ls__arena arena = {NULL};
    char *before = NULL;

    for (size_t size = 1; size < 100000; size = size * 3 + 1) {
        char *p = ls__arena_new(&arena, 1, size);

        ck_assert_ptr_nonnull(p);
        ck_assert_uint_eq((uintptr_t)p % _Alignof(max_align_t), 0);
        ck_assert(zeros(p, size));
        memset(p, 1, size);
        ck_assert(!before || *before == 1);
        before = p;
    }
    ck_assert_str_eq(ls__arena_text(&arena, "text"), "text");
    ck_assert_ptr_null(ls__arena_new(&arena, SIZE_MAX, 2));
    ls__arena_free(&arena);
    ck_assert_ptr_null(arena.first);
}

/* ------ first touch ------ */

enum { DEVICES = 6, WORKERS = 3, FLOATS = 700000 }; /* no huge pages */

/* The pages this device's worker has faulted in so far. */
static int count_faults(void *user, int device, const void *const *in,
                        void *const *out)
{
    struct rusage usage;
    int64_t *faults = out[0];

    (void)user, (void)device, (void)in;
    if (getrusage(RUSAGE_THREAD, &usage) < 0)
        return -1;
    *faults = usage.ru_minflt;
    return 0;
}

static void faults_of(ls_pool *pool, int64_t faults[DEVICES])
{
    ls_array out = {"faults", LS_I64, 1, {DEVICES}, faults};

    OK(ls_pmap(pool, count_faults, NULL, 0, NULL, 1, &out));
}

/* The gradients of a worker's devices are touched by nobody before it: it pays
 * a page fault for every page of them (but for the first, where malloc's own
 * words are). */
TEST(test_first_touch)
{
    static const ls_array_spec x = {"x", LS_F32, 0, {0}};
    static const ls_array_spec p = {"p", LS_F32, 1, {FLOATS}};
    ls_gradient g = {no_gradient, NULL, 1, 1, &x, &p};
    ls_pool *pool = open_axes("data:6", WORKERS);
    int64_t pages = FLOATS * (int64_t)sizeof(float) / sysconf(_SC_PAGESIZE);
    int64_t before[DEVICES], after[DEVICES];
    ls_trainer *t;

    (void)prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); /* huge pages, few faults */
    faults_of(pool, before);
    OK(ls_trainer_open_gradient(&t, pool, &g, NULL));
    faults_of(pool, after);
    for (int d = 0; d < DEVICES; d++)
        ck_assert_int_ge(after[d] - before[d],
                         DEVICES / WORKERS * (pages - 2));
    ls_trainer_close(t);
    ls_pool_close(pool);
}

/* A loader's rows are touched by the workers of their devices on several nodes,
 * twice, since it has two batches; on one node by nobody. */
TEST(test_rows)
{
    enum { PAGES = 40 };
    static const char *const machine[] = {"numa:3 core:1", "core:3"};
    static const ls_array_spec p = {"p", LS_F32, 0, {0}};
    int64_t floats = PAGES * sysconf(_SC_PAGESIZE) / (int64_t)sizeof(float);
    ls_array_spec x = {"x", LS_F32, 1, {floats}};
    ls_gradient g = {no_gradient, NULL, 1, 1, &x, &p};
    float *data = calloc((size_t)floats, DEVICES * sizeof *data);
    ls_array rows = {"x", LS_F32, 2, {DEVICES, floats}, data};

    (void)prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    for (int one = 0; one < 2; one++) {
        ls_pool *pool = open_pool_on(
            &(ls_mesh_options){.size = sizeof(ls_mesh_options),
                               .topology = machine[one], .devices = DEVICES,
                               .workers = WORKERS});
        int64_t before[DEVICES], after[DEVICES];
        ls_source source;
        ls_loader *loader;
        ls_trainer *t;

        OK(ls_trainer_open_gradient(&t, pool, &g, NULL));
        OK(ls_source_arrays(&source, 1, &rows));
        faults_of(pool, before);
        OK(ls_loader_open(&loader, t, &source, NULL));
        faults_of(pool, after);
        for (int d = DEVICES / WORKERS; d < DEVICES; d++) /* not the caller's */
            if (one)
                ck_assert_int_lt(after[d] - before[d], PAGES);
            else
                ck_assert_int_ge(after[d] - before[d],
                                 2 * DEVICES / WORKERS * (PAGES - 1) - 4);
        ls_loader_close(loader);
        ls_trainer_close(t);
        ls_pool_close(pool);
    }
    free(data);
}

MAIN()
