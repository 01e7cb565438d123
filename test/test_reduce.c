/* The reduction against a reference of a few lines, at every instruction
 * level this CPU has, and on pools of every size. */
#include "base/memory.h"
#include "calls.h"
#include "kernel/kernel.h"
#include "mesh/mesh.h"
#include "reduce/reduce.h"

#include <check.h>
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

/* Of very different sizes, so that another order shows. */
static float random_float(void)
{
    uint64_t w = random_word();
    float x = (float)(int32_t)w * 0x1p-31f;

    return x * (float)(1 << ((w >> 32) & 15));
}

/* The definition, in place in a copy. */
static void reference(inputs *in, float scale)
{
    float *g[MOST];

    for (int d = 0; d < in->devices; d++) {
        g[d] = ls__block((size_t)in->n * sizeof **g, "copy");
        ck_assert_ptr_nonnull(g[d]);
        memcpy(g[d], in->buffer[d], (size_t)in->n * sizeof **g);
    }
    for (int s = 1; s < in->devices; s *= 2)
        for (int d = 0; d + s < in->devices; d += 2 * s)
            for (int64_t i = 0; i < in->n; i++)
                g[d][i] += g[d + s][i];
    for (int64_t i = 0; i < in->n; i++)
        in->expected[i] = scale * g[0][i];
    for (int d = 0; d < in->devices; d++)
        ls__block_free(g[d]);
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

/* A table of this CPU, from the loop's index; NULL when it lacks it. */
static const ls__kernel_table *level(int i)
{
    return ls__kernels_by_name(ls__kernel_levels[i]->name);
}

static int levels(void)
{
    int n = 0;

    while (ls__kernel_levels[n])
        n++;
    return n;
}

/* Every level gives the reference's bytes for every number of devices, and
 * writes nothing outside its range. */
START_TEST(test_levels)
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
END_TEST

/* Ranges at any place, one after the other and in place, give the same bytes
 * as one sweep. */
START_TEST(test_ranges_in_place)
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
            k->tree_sum(in.buffer, in.devices, at, next, 0.125f, out);
        }
        ck_assert_mem_eq(out, in.expected, (size_t)in.n * sizeof *out);
        free_inputs(&in);
    }
}
END_TEST

/* An empty range does nothing. */
START_TEST(test_empty)
{
    float x = 1.0f, *buffers[] = {&x, &x};

    ls__reduce_range(buffers, 2, 0, 0, 2.0f, &x);
    ck_assert(x == 1.0f);
}
END_TEST

static ls_pool *open_pool(int workers)
{
    ls_mesh_options o = {.workers = workers};
    ls_mesh *mesh;
    ls_pool *pool;

    ck_assert_int_eq(ls_mesh_open(&mesh, &o), 0);
    ck_assert_int_eq(ls_pool_open(&pool, mesh, NULL), 0);
    ls_mesh_close(mesh);
    return pool;
}

/* Any number of workers gives the reference's bytes. */
START_TEST(test_workers)
{
    static const int workers[] = {1, 2, 3, 4, 7, 8};
    static const struct {
        int devices;
        int64_t n;
    } row[] = {{1, 1}, {2, 7}, {3, 1023}, {5, 1025}, {8, 4097}, {7, 100003},
               {13, 50001}, {64, 12345}, {2, 1000001}};

    for (size_t w = 0; w < sizeof workers / sizeof *workers; w++) {
        ls_pool *pool = open_pool(workers[w]);

        for (size_t r = 0; r < sizeof row / sizeof *row; r++) {
            inputs in = make_inputs(row[r].devices, row[r].n, 1.0f / 3.0f);

            ls__reduce(pool, in.buffer, in.devices, in.n, 1.0f / 3.0f);
            ck_assert_mem_eq(in.buffer[0], in.expected,
                             (size_t)in.n * sizeof(float));
            free_inputs(&in);
        }
        ls_pool_close(pool);
    }
}
END_TEST

/* Integers times powers of two are exact, whatever the order, so the sum of a
 * large gradient is known without a reference. */
START_TEST(test_exact)
{
    const int64_t n = (INT64_C(4) << 20) + 3;
    ls_pool *pool = open_pool(2);
    int devices = 4;
    inputs in = {.devices = devices, .n = n};

    for (int d = 0; d < devices; d++) {
        in.buffer[d] = ls__block((size_t)n * sizeof(float), "input");
        ck_assert_ptr_nonnull(in.buffer[d]);
        for (int64_t i = 0; i < n; i++)
            in.buffer[d][i] = (float)((d + 1) * (i % 1000)) * 0x1p-10f;
    }
    ls__reduce(pool, in.buffer, devices, n, 0.25f);
    int64_t wrong = 0;
    for (int64_t i = 0; i < n; i++)
        wrong += in.buffer[0][i] != (float)(10 * (i % 1000)) * 0x1p-12f;
    ck_assert_int_eq(wrong, 0);
    free_inputs(&in);
    ls_pool_close(pool);
}
END_TEST

/* Parts of a range cover it once, end at whole units, and are balanced; parts
 * of a part of it lie where that lies. */
START_TEST(test_range)
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
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("reduce");
    TCase *t = tcase_create("reduce");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, test_levels, 0, levels());
    tcase_add_loop_test(t, test_ranges_in_place, 0, levels());
    tcase_add_test(t, test_empty);
    tcase_add_test(t, test_workers);
    tcase_add_test(t, test_exact);
    tcase_add_test(t, test_range);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return run_suite(suite());
}
