/* SPDX-License-Identifier: BSD-3-Clause */
/* The reduction against the referee's, at every instruction level this CPU has,
 * and on pools of every size. */
#include "asked_record.h"
#include "base/memory.h"
#include "support.h"
#include "kernel/kernel.h"
#include "mesh/mesh.h"
#include "pool/pool.h"
#include "reduce/reduce.h"
#include "referee/numbers.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64 };

typedef struct inputs {
    int devices;
    int64_t n;
    float *buffer[MOST], *expected;
} inputs;

/* splitmix64: numbers that do not depend on the C library. */
static uint64_t random_word(void)
{
    static uint64_t state = 1;
    uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Numbers of very different sizes, so that another order shows. */
static float random_float(void)
{
    uint64_t w = random_word();
    float x = (float)(int32_t)w * 0x1p-31f;

    return x * (float)(1 << ((w >> 32) & 15));
}

/* The referee's numbers. */
static void reference(inputs *in, float scale)
{
    for (int64_t i = 0; i < in->n; i++) {
        f32 x[MOST];

        for (int d = 0; d < in->devices; d++)
            x[d] = f_of(in->buffer[d][i]);
        in->expected[i] = asked_word(f_mul(tree(x, in->devices), f_of(scale)));
    }
}

static inputs make_inputs(int devices, int64_t n, float scale)
{
    inputs in = {.devices = devices, .n = n};
    size_t bytes = (size_t)n * sizeof(float);

    for (int d = 0; d < devices; d++) {
        in.buffer[d] = ls__block(bytes, "input");
        ck_assert_ptr_nonnull(in.buffer[d]);
        for (int64_t i = 0; i < n; i++)
            in.buffer[d][i] = random_float();
    }
    in.expected = ls__block(bytes, "expected");
    ck_assert_ptr_nonnull(in.expected);
    reference(&in, scale);
    return in;
}

static void free_inputs(inputs *in)
{
    for (int d = 0; d < in->devices; d++)
        ls__block_free(in->buffer[d]);
    ls__block_free(in->expected);
}

/* Every level gives the reference's bytes for every number of devices, and
 * writes nothing outside its range. */
LOOP_TEST(test_levels, 0, levels())
{
    static const int64_t sizes[] = {1, 15, 16, 17, 511, 512, 513, 1500};
    const ls__kernel_table *k = level(_i);
    float out[1502];

    if (!k)
        return;
    for (int devices = 1; devices <= MOST; devices++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            int64_t n = sizes[s];
            inputs in = make_inputs(devices, n, 0.3f);

            out[0] = out[n + 1] = 5.0f;
            k->tree_sum(in.buffer, devices, 0, n, 0.3f, out + 1);
            ck_assert_mem_eq(out + 1, in.expected, (size_t)n * sizeof *out);
            ck_assert(out[0] == 5.0f && out[n + 1] == 5.0f);
            free_inputs(&in);
        }
}

/* Ranges at any place, one after the other and in place, give the same bytes
 * as one sweep. */
LOOP_TEST(test_ranges_in_place, 0, levels())
{
    static const int devices[] = {1, 2, 3, 5, 8, 16, 17, 33, 48, 64};
    const ls__kernel_table *k = level(_i);

    if (!k)
        return;
    for (size_t s = 0; s < sizeof devices / sizeof *devices; s++) {
        inputs in = make_inputs(devices[s], 5000, 0.125f);
        float *out = in.buffer[s % 2 ? devices[s] - 1 : 0];

        for (int64_t at = 0, next; at < in.n; at = next) {
            next = at + 1 + (int64_t)(random_word() % 900);
            next = next < in.n ? next : in.n;
            k->tree_sum(in.buffer, in.devices, at, next, 0.125f, out + at);
        }
        ck_assert_mem_eq(out, in.expected, (size_t)in.n * sizeof *out);
        free_inputs(&in);
    }
}

/* An empty range does nothing. */
TEST(test_empty)
{
    float x = 1.0f, *buffers[] = {&x, &x};
    ls__reduction r = {.buffer = buffers, .count = 2, .of = 2, .factor = 2.0f,
                       .out = &x};

    ck_assert_int_eq(ls__reduce(&r, (ls__range){0, 0}), -1);
    ck_assert(x == 1.0f);
}

/* A reduction on all workers of a pool, as a step does it. */
typedef struct job {
    ls__reduction r;
    int workers;
    int64_t n, bad[8];
} job;

static void reduce_part(void *user, int worker)
{
    job *j = user;
    ls__range all = {0, j->n};

    j->bad[worker] = ls__reduce(&j->r, ls__range_part(all, j->workers, worker,
                                                      LS__REDUCE_BLOCK));
}

/* Reduce into buffer 0; returns the first element that is not finite, or -1. */
static int64_t reduce(ls_pool *pool, const inputs *in, float factor,
                      float *square)
{
    job j = {{.buffer = in->buffer, .count = in->devices, .of = in->devices,
              .factor = factor, .out = in->buffer[0], .square = square},
             ls_pool_workers(pool), in->n, {0}};

    ck_assert_int_eq(ls__pool_take(pool), 0);
    ls__pool_run(pool, reduce_part, &j);
    ls__pool_give(pool);
    for (int w = 0; w < j.workers; w++)
        if (j.bad[w] >= 0)
            return j.bad[w];
    return -1;
}

/* Any number of workers gives the reference's bytes. */
TEST(test_workers)
{
    static const int workers[] = {1, 2, 3, 4, 7, 8};
    static const struct {
        int devices;
        int64_t n;
    } row[] = {{1, 1}, {2, 7}, {3, 1023}, {5, 1025}, {8, 4097}, {7, 100003},
               {13, 50001}, {64, 12345}, {2, 1000001}};

    for (size_t w = 0; w < sizeof workers / sizeof *workers; w++) {
        ls_pool *pool = open_pool(8, workers[w]);

        for (size_t r = 0; r < sizeof row / sizeof *row; r++) {
            inputs in = make_inputs(row[r].devices, row[r].n, 1.0f / 3.0f);

            ck_assert_int_eq(reduce(pool, &in, 1.0f / 3.0f, NULL), -1);
            ck_assert_mem_eq(in.buffer[0], in.expected,
                             (size_t)in.n * sizeof(float));
            free_inputs(&in);
        }
        ls_pool_close(pool);
    }
}

/* Integers times powers of two are exact, whatever the order, so the sum of a
 * large gradient is known without a reference. */
TEST(test_exact)
{
    const int64_t n = (INT64_C(4) << 20) + 3;
    ls_pool *pool = open_pool(8, 2);
    int devices = 4;
    inputs in = {.devices = devices, .n = n};

    for (int d = 0; d < devices; d++) {
        in.buffer[d] = ls__block((size_t)n * sizeof(float), "input");
        ck_assert_ptr_nonnull(in.buffer[d]);
        for (int64_t i = 0; i < n; i++)
            in.buffer[d][i] = (float)((d + 1) * (i % 1000)) * 0x1p-10f;
    }
    ck_assert_int_eq(reduce(pool, &in, 0.25f, NULL), -1);
    int64_t wrong = 0;
    for (int64_t i = 0; i < n; i++)
        wrong += in.buffer[0][i] != (float)(10 * (i % 1000)) * 0x1p-12f;
    ck_assert_int_eq(wrong, 0);
    free_inputs(&in);
    ls_pool_close(pool);
}

/* Squares are those of each block of the sum, and the first element that is
 * not finite is found, on any number of workers. */
TEST(test_squares_and_bad)
{
    enum { N = 5 * LS__REDUCE_BLOCK + 100 };

    for (int workers = 1; workers <= 8; workers++) {
        ls_pool *pool = open_pool(8, workers);
        inputs in = make_inputs(3, N, 0.5f);
        float square[6] = {0};

        ck_assert_int_eq(reduce(pool, &in, 0.5f, square), -1);
        for (int64_t b = 0; b < 6; b++)
            ck_assert(square[b] ==
                      ls__kernels()->square_sum(
                          b < 5 ? LS__REDUCE_BLOCK : 100,
                          in.expected + b * LS__REDUCE_BLOCK));
        in.buffer[1][N - 1] = (float)INFINITY;
        in.buffer[2][9000] = -(float)NAN;
        ck_assert_int_eq(reduce(pool, &in, 0.5f, NULL), 9000);
        free_inputs(&in);
        ls_pool_close(pool);
    }
}

/* The tree completed from the partial sums of parts of the devices gives the
 * bytes of the tree over all of them, for every cut into up to three parts. */
static void complete(int devices, int one, int two)
{
    enum { N = LS__REDUCE_BLOCK + 77 };
    const int border[] = {0, one, two, devices};
    inputs in = make_inputs(devices, N, 0.3f);
    ls__range all = {0, N};
    ls__subtree part[3 * LS__TREE_PARTS];
    float *partial[3 * LS__TREE_PARTS];
    int n = 0;

    for (int k = 0; k < 3; k++) {
        ls__span s = {border[k], border[k + 1] - border[k], devices};
        int more = ls__tree_parts(s, part + n);

        ls__reduce_partials(in.buffer + s.first, s, all);
        for (int i = n; i < n + more; i++)
            partial[i] = in.buffer[part[i].first];
        n += more;
    }
    ls__reduction r = {.buffer = partial, .count = n, .part = part,
                       .of = devices, .factor = 0.3f, .out = in.buffer[0]};
    ck_assert_int_eq(ls__reduce(&r, all), -1);
    ck_assert_mem_eq(in.buffer[0], in.expected, N * sizeof(float));
    free_inputs(&in);
}

TEST(test_partials)
{
    static const int devices[] = {1, 2, 3, 5, 6, 8, 12, 13, 17, 24};

    for (size_t d = 0; d < sizeof devices / sizeof *devices; d++)
        for (int one = 0; one <= devices[d]; one++)
            complete(devices[d], one, one + (devices[d] - one) / 2);
}

/* Parts of a range cover it once, end at whole units, and are balanced; parts
 * of a part of it lie where that lies. */
TEST(test_range)
{
    static const int64_t sizes[] = {0, 1, 15, 16, 17, 160, 1000, 1000003,
                                    INT64_MAX};
    static const int64_t units[] = {1, 16, 1000};

    for (int parts = 1; parts <= 70; parts++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (size_t u = 0; u < 3; u++) {
                int64_t n = sizes[s], unit = units[u], at = 0;
                int64_t each = n / unit / parts;

                for (int p = 0; p < parts; p++) {
                    ls__range r = ls__range_part((ls__range){0, n}, parts, p,
                                                 unit);

                    ck_assert_int_eq(r.first, at);
                    ck_assert_int_ge(r.last, r.first);
                    ck_assert(r.first % unit == 0 || r.first == n);
                    ck_assert_int_le((r.last - r.first) / unit - each, 1);
                    at = r.last;
                }
                ck_assert_int_eq(at, n);
            }
    ls__range r = ls__range_part((ls__range){96, 200}, 3, 1, 16);
    ck_assert_int_eq(r.first, 96 + 3 * 16);
    ck_assert_int_eq(r.last, 96 + 5 * 16);
    r = ls__range_part((ls__range){96, 200}, 3, 2, 16);
    ck_assert_int_eq(r.last, 200);
}

MAIN()
