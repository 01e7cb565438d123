/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives and ls_pmap.  Values are small integers times powers of two, so
 * that sums are exact and known without a reference, or random floats
 * against the tree in a few lines. */
#include "small_model.h"

#include "parallel/overlap.h"

#include <stdlib.h>

/* Buffers of `devices` devices, `skew` elements off the alignment of malloc,
 * each with a guard element at its end. */
typedef struct set {
    int devices;
    int64_t n;
    size_t size; /* of an element */
    void *base[16], *at[16];
} set;

enum { GUARD = 0x5a };

static set new_set(int devices, int64_t n, size_t size, size_t skew)
{
    set s = {.devices = devices, .n = n, .size = size};

    for (int d = 0; d < devices; d++) {
        s.base[d] = malloc(((size_t)n + skew + 1) * size);
        ck_assert_ptr_nonnull(s.base[d]);
        s.at[d] = (char *)s.base[d] + skew * size;
        memset(s.at[d], GUARD, ((size_t)n + 1) * size);
    }
    return s;
}

/* Free, and prove that nothing was written behind the end. */
static void free_set(set *s)
{
    for (int d = 0; d < s->devices; d++) {
        const unsigned char *end = (unsigned char *)s->at[d] +
                                   (size_t)s->n * s->size;

        for (size_t i = 0; i < s->size; i++)
            ck_assert_uint_eq(end[i], GUARD);
        free(s->base[d]);
    }
}

static float *f32(const set *s, int d)
{
    return s->at[d];
}

static double *f64(const set *s, int d)
{
    return s->at[d];
}

/* Integers below 2^13 times 2^-6: any sum of 16 of them is exact. */
static float exact(int d, int64_t i)
{
    return (float)((d + 1) * (i % 499) - 100) * 0x1p-6f;
}

static void fill_exact(set *s)
{
    for (int d = 0; d < s->devices; d++)
        for (int64_t i = 0; i < s->n; i++)
            if (s->size == 4)
                f32(s, d)[i] = exact(d, i);
            else
                f64(s, d)[i] = (double)exact(d, i);
}

static float exact_sum(int devices, int64_t i)
{
    float sum = 0;

    for (int d = 0; d < devices; d++)
        sum += exact(d, i);
    return sum;
}

static ls_buffers buffers(const char *name, ls_dtype dtype, int64_t n,
                          const set *in, const set *out)
{
    return (ls_buffers){name, dtype, n, in->at, out ? out->at : NULL};
}

static const int64_t sizes[] = {1, 3, 16, 17, 1023, 1024, 4097, 100003};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* Devices of the mesh and workers, of each loop of a test. */
static const struct {
    const char *axes;
    int devices, workers;
} meshes[] = {
    {"data:1", 1, 1}, {"data:2", 2, 2}, {"data:3", 3, 2},
    {"data:8", 8, 1}, {"data:8", 8, 3}, {"data:13", 13, 2},
};
enum { MESHES = sizeof meshes / sizeof *meshes };

/* Every device has the exact sum or mean, for every size and alignment, in
 * place and not, in float and double; inputs are left alone. */
LOOP_TEST(test_all_reduce, 0, MESHES)
{
    int D = meshes[_i].devices;
    ls_pool *pool = open_axes(meshes[_i].axes, meshes[_i].workers);

    for (int k = 0; k < SIZES * 4; k++) {
        int64_t n = sizes[k / 4], wrong = 0;
        bool in_place = k & 1, mean = k & 2;
        float by = mean ? 1.0f / (float)D : 1.0f;
        set a = new_set(D, n, 4, (size_t)(k % 5));
        set b = new_set(D, n, 4, (size_t)(k % 3));
        set c = new_set(D, n, 8, (size_t)(k % 3));
        ls_buffers list[] = {
            buffers("a", LS_F32, n, &a, in_place ? NULL : &b),
            buffers("c", LS_F64, n, &c, NULL),
        };

        fill_exact(&a);
        fill_exact(&c);
        OK(ls_all_reduce(pool, NULL, mean ? LS_REDUCE_MEAN : LS_REDUCE_SUM, 2,
                         list));
        for (int d = 0; d < D; d++)
            for (int64_t i = 0; i < n; i++) {
                float sum = exact_sum(D, i);
                double big = (double)sum * (mean ? 1.0 / D : 1.0);

                wrong += f32(in_place ? &a : &b, d)[i] != sum * by;
                wrong += !in_place && f32(&a, d)[i] != exact(d, i);
                wrong += f64(&c, d)[i] != big;
            }
        ck_assert_int_eq(wrong, 0);
        free_set(&a);
        free_set(&b);
        free_set(&c);
    }
    ls_pool_close(pool);
}

/* Device k has part k of the sum, also written over its own input. */
LOOP_TEST(test_reduce_scatter, 0, MESHES)
{
    int D = meshes[_i].devices;
    ls_pool *pool = open_axes(meshes[_i].axes, meshes[_i].workers);

    for (int k = 0; k < SIZES * 2; k++) {
        int64_t m = sizes[k / 2], n = m * D, wrong = 0;
        set a = new_set(D, n, 4, (size_t)(k % 3));
        set b = new_set(D, m, 4, (size_t)(k % 5));
        void *own[16];
        ls_buffers r = buffers("a", LS_F32, n, &a, &b);

        fill_exact(&a);
        for (int d = 0; d < D; d++)
            own[d] = f32(&a, d) + d * m;
        r.out = k & 1 ? own : b.at;
        OK(ls_reduce_scatter(pool, NULL, LS_REDUCE_SUM, 1, &r));
        for (int d = 0; d < D; d++)
            for (int64_t i = 0; i < m; i++)
                wrong += ((float *)r.out[d])[i] != exact_sum(D, d * m + i);
        ck_assert_int_eq(wrong, 0);
        free_set(&a);
        free_set(&b);
    }
    ls_pool_close(pool);
}

static uint8_t byte(int d, int64_t i)
{
    return (uint8_t)(31 * d + i * 7 + (i >> 8));
}

static void fill_bytes(set *s)
{
    for (int d = 0; d < s->devices; d++)
        for (int64_t i = 0; i < s->n * (int64_t)s->size; i++)
            ((uint8_t *)s->at[d])[i] = byte(d, i);
}

static const ls_dtype types[] = {LS_U8, LS_I32, LS_F32, LS_I64, LS_F64};
static const size_t type_size[] = {1, 4, 4, 8, 8};

/* Every device has everybody's bytes, in device order, for every type and from
 * one byte on; also where its own part is in its place already. */
LOOP_TEST(test_all_gather, 0, MESHES)
{
    int D = meshes[_i].devices;
    ls_pool *pool = open_axes(meshes[_i].axes, meshes[_i].workers);

    for (int k = 0; k < SIZES * 5; k++) {
        size_t size = type_size[k % 5];
        int64_t n = sizes[k / 5], bytes = n * (int64_t)size;
        set a = new_set(D, n, size, (size_t)(k % 3));
        set b = new_set(D, n * D, size, (size_t)(k % 4));
        ls_buffers r = buffers("a", types[k % 5], n, &a, &b);
        void *own[16];

        fill_bytes(&a);
        for (int d = 0; d < D; d++) {
            own[d] = (char *)b.at[d] + d * bytes;
            memcpy(own[d], a.at[d], (size_t)bytes);
        }
        r.in = k & 1 ? own : a.at;
        OK(ls_all_gather(pool, NULL, 1, &r));
        for (int d = 0; d < D; d++)
            for (int part = 0; part < D; part++)
                ck_assert_mem_eq((char *)b.at[d] + part * bytes, a.at[part],
                                 (size_t)bytes);
        free_set(&a);
        free_set(&b);
    }
    ls_pool_close(pool);
}

/* Every device has the root's bytes, whoever is root. */
LOOP_TEST(test_broadcast, 0, MESHES)
{
    int D = meshes[_i].devices;
    ls_pool *pool = open_axes(meshes[_i].axes, meshes[_i].workers);

    for (int k = 0; k < SIZES * 5; k++) {
        size_t size = type_size[k % 5];
        int64_t n = sizes[k / 5], wrong = 0;
        int root = k % D;
        set a = new_set(D, n, size, (size_t)(k % 3));
        set b = new_set(D, n, size, (size_t)(k % 4));
        const set *out = k & 1 ? &a : &b;
        ls_buffers r = buffers("a", types[k % 5], n, &a, k & 1 ? NULL : &b);

        fill_bytes(&a);
        OK(ls_broadcast(pool, NULL, root, 1, &r));
        for (int d = 0; d < D; d++)
            for (int64_t i = 0; i < n * (int64_t)size; i++)
                wrong += ((uint8_t *)out->at[d])[i] != byte(root, i);
        ck_assert_int_eq(wrong, 0);
        free_set(&a);
        free_set(&b);
    }
    ls_pool_close(pool);
}

/* Random floats and doubles are added in the order of the tree, to the bit,
 * for any number of workers. */
LOOP_TEST(test_order, 0, 4)
{
    enum { D = 11, N = 9001 };
    ls_pool *pool = open_axes("data:11", 1 + _i);
    set a = new_set(D, N, 4, 1), b = new_set(D, N, 8, 1);
    set ra = new_set(D, N, 4, 0), rb = new_set(D, N, 8, 0);
    ls_buffers list[] = {buffers("a", LS_F32, N, &a, NULL),
                         buffers("b", LS_F64, N, &b, NULL)};

    for (int d = 0; d < D; d++) {
        ls_random_normal(ls_key_new(d), 0, N, f32(&a, d));
        memcpy(f32(&ra, d), f32(&a, d), N * sizeof(float));
        for (int i = 0; i < N; i++)
            f64(&rb, d)[i] = f64(&b, d)[i] = (double)f32(&a, d)[i] / 3;
    }
    for (int s = 1; s < D; s *= 2)
        for (int d = 0; d + s < D; d += 2 * s)
            for (int i = 0; i < N; i++) {
                f32(&ra, d)[i] += f32(&ra, d + s)[i];
                f64(&rb, d)[i] += f64(&rb, d + s)[i];
            }
    for (int i = 0; i < N; i++) {
        f32(&ra, 0)[i] *= 1.0f / D;
        f64(&rb, 0)[i] *= 1.0 / D;
    }
    OK(ls_all_reduce(pool, "data", LS_REDUCE_MEAN, 2, list));
    for (int d = 0; d < D; d++) {
        ck_assert_mem_eq(a.at[d], ra.at[0], N * sizeof(float));
        ck_assert_mem_eq(b.at[d], rb.at[0], N * sizeof(double));
    }
    free_set(&a);
    free_set(&b);
    free_set(&ra);
    free_set(&rb);
    ls_pool_close(pool);
}

/* A gradient of some megabytes, in the long form of 256, whose
 * sum is known. */
TEST(test_large)
{
    const int64_t n = (INT64_C(1) << (long_run() ? 26 : 20)) + 5;
    ls_pool *pool = open_axes("data:4", 2);
    set a = new_set(4, n, 4, 1);
    ls_buffers r = buffers("a", LS_F32, n, &a, NULL);
    int64_t wrong = 0;

    fill_exact(&a);
    OK(ls_all_reduce(pool, NULL, LS_REDUCE_MEAN, 1, &r));
    for (int d = 0; d < 4; d++)
        for (int64_t i = 0; i < n; i++)
            wrong += f32(&a, d)[i] != exact_sum(4, i) / 4;
    ck_assert_int_eq(wrong, 0);
    free_set(&a);
    ls_pool_close(pool);
}

/* Along an axis, devices that differ along another stay among themselves. */
TEST(test_groups)
{
    static const struct {
        const char *axes, *axis;
        int group[6]; /* of each device */
    } row[] = {
        {"data:3,model:2", "data", {0, 1, 0, 1, 0, 1}},
        {"data:3,model:2", "model", {0, 0, 1, 1, 2, 2}},
        {"model:2,data:3", "data", {0, 0, 0, 1, 1, 1}},
        {"data:3,model:2", NULL, {0, 0, 0, 0, 0, 0}},
    };

    for (size_t r = 0; r < sizeof row / sizeof *row; r++) {
        ls_pool *pool = open_axes(row[r].axes, 2);
        set a = new_set(6, 5000, 4, 0);
        ls_buffers list = buffers("a", LS_F32, 5000, &a, NULL);

        for (int d = 0; d < 6; d++)
            for (int i = 0; i < 5000; i++)
                f32(&a, d)[i] = (float)(1 << d);
        OK(ls_all_reduce(pool, row[r].axis, LS_REDUCE_SUM, 1, &list));
        for (int d = 0; d < 6; d++) {
            int sum = 0;

            for (int e = 0; e < 6; e++)
                sum += row[r].group[e] == row[r].group[d] ? 1 << e : 0;
            ck_assert(f32(&a, d)[0] == (float)sum);
            ck_assert(f32(&a, d)[4999] == (float)sum);
        }
        free_set(&a);
        ls_pool_close(pool);
    }
}

/* Whether two of some pieces overlap, as comparing each with each finds it. */
TEST(test_pieces)
{
    enum { MOST = 12 };

    for (int64_t k = 0; k < 20000; k++) {
        ls__byte_range piece[MOST];
        int32_t at[2 * MOST];
        int n = 1 + (int)(k % MOST);
        bool want = false;

        ls_random_randint(ls_key_new(k), 0, 2 * MOST, 0, 60, at);
        for (int i = 0; i < n; i++)
            piece[i] = (ls__byte_range){(uintptr_t)at[2 * i],
                                   (uintptr_t)(at[2 * i] + 1 +
                                               at[2 * i + 1] % 9), 0, i};
        for (int i = 0; i < n; i++)
            for (int j = 0; j < i; j++)
                want |= piece[i].first < piece[j].last &&
                        piece[j].first < piece[i].last;
        ck_assert_int_eq(ls__pieces_sort(piece, n) >= 0, want);
    }
}

/* Buffers of different devices, or of different arrays, that overlap are
 * refused by every collective, and nothing is written. */
TEST(test_collective_overlaps)
{
    enum { N = 64 };
    static float all[3][4 * N * 4];
    float copy[4 * N * 4];
    void *in[4], *out[4], *more[4];
    ls_pool *pool = open_axes("data:4", 2);
    ls_buffers r[2] = {{"w", LS_F32, N, in, NULL},
                       {"b", LS_F32, N, more, NULL}};

    for (int i = 0; i < 4 * N * 4; i++)
        all[0][i] = (float)(i * 7919 % 1000);
    memcpy(copy, all[0], sizeof copy);
    for (int shift = 1; shift <= N; shift++) {
        for (int d = 0; d < 4; d++)
            in[d] = all[0] + d * shift;
        if (shift == N)
            continue;
        FAILS(ls_all_reduce(pool, NULL, LS_REDUCE_SUM, 1, r), LS_EINVAL,
              "all-reduce \"w\": the buffers of devices 0 and 1 overlap");
        FAILS(ls_broadcast(pool, NULL, 0, 1, r), LS_EINVAL, "0 and 1 overlap");
    }
    for (int d = 0; d < 4; d++)
        in[d] = all[0] + (3 - d) * (N - 1);
    FAILS(ls_all_reduce(pool, NULL, LS_REDUCE_SUM, 1, r), LS_EINVAL,
          "\"w\": the buffers of devices 2 and 3 overlap");
    ck_assert_mem_eq(all[0], copy, sizeof copy);
    for (int d = 0; d < 4; d++) {
        in[d] = all[0] + d * N;
        out[d] = all[1] + d * N * 4;
        more[d] = all[2] + d * N;
    }
    more[2] = all[0] + 3 * N + N - 1;
    FAILS(ls_all_reduce(pool, NULL, LS_REDUCE_SUM, 2, r), LS_EINVAL,
          "\"w\" of device 3 and \"b\" of device 2 overlap");
    more[2] = all[2] + 2 * N;
    OK(ls_all_reduce(pool, NULL, LS_REDUCE_SUM, 2, r));
    r[0].out = out;
    out[3] = in[0];
    FAILS(ls_all_gather(pool, NULL, 1, r), LS_EINVAL, "overlap");
    FAILS(ls_reduce_scatter(pool, NULL, LS_REDUCE_SUM, 1, r), LS_EINVAL,
          "devices 0 and 3 overlap");
    out[3] = (float *)in[3] + 3 * N / 4;
    OK(ls_reduce_scatter(pool, NULL, LS_REDUCE_SUM, 1, r));
    out[3] = all[1] + 3 * N * 4;
    OK(ls_all_gather(pool, NULL, 1, r));
    ls_pool_close(pool);
}

/* Wrong kinds, types, sizes, axes and buffers are refused by name, and nothing
 * is written. */
TEST(test_collective_refused)
{
    ls_pool *pool = open_axes("data:2,model:2", 2);
    set a = new_set(4, 10, 8, 0), copy = new_set(4, 10, 8, 0);
    ls_buffers r = buffers("w", LS_F32, 10, &a, NULL);
    void *table[4];

    fill_bytes(&a);
    fill_bytes(&copy);
    for (int kind = -1; kind < 5; kind++)
        if (kind != LS_REDUCE_MEAN && kind != LS_REDUCE_SUM) {
            FAILS(ls_all_reduce(pool, NULL, (ls_reduction)kind, 1, &r),
                  LS_EINVAL, "is unknown; there are LS_REDUCE_MEAN (1) and "
                  "LS_REDUCE_SUM (2)");
            FAILS(ls_reduce_scatter(pool, NULL, (ls_reduction)kind, 1, &r),
                    LS_EINVAL, "reduce-scatter: kind");
        }
    FAILS(ls_all_reduce(pool, "batch", LS_REDUCE_SUM, 1, &r), LS_ENOTFOUND,
            "no axis \"batch\"");
    FAILS(ls_broadcast(pool, "data", 2, 1, &r), LS_EINVAL,
            "root 2 is not one of 2 devices");
    FAILS(ls_broadcast(pool, NULL, -1, 1, &r), LS_EINVAL, "root -1");
    FAILS(ls_all_gather(pool, NULL, 1, &r), LS_EINVAL,
            "all-gather \"w\": out is NULL");
    r.out = a.at;
    FAILS(ls_reduce_scatter(pool, NULL, LS_REDUCE_SUM, 1, &r), LS_ESHAPE,
            "\"w\": 10 elements do not divide by 4 devices");
    r.n = 8;
    FAILS(ls_reduce_scatter(pool, NULL, LS_REDUCE_SUM, 1, &r), LS_EINVAL,
            "in and out of device ");
    FAILS(ls_all_gather(pool, NULL, 1, &r), LS_EINVAL,
            "in and out of device ");
    r.out = NULL;
    r.dtype = LS_I32;
    FAILS(ls_all_reduce(pool, NULL, LS_REDUCE_SUM, 1, &r), LS_EINVAL,
            "\"w\": LS_I32 is not summed");
    r.dtype = (ls_dtype)0;
    FAILS(ls_broadcast(pool, NULL, 0, 1, &r), LS_EINVAL, "is not known");
    r.dtype = LS_F64;
    r.n = -1;
    FAILS(ls_all_reduce(pool, NULL, LS_REDUCE_SUM, 1, &r), LS_ESHAPE,
          "-1 elements");
    r.n = INT64_MAX / 8;
    FAILS(ls_all_reduce(pool, NULL, LS_REDUCE_SUM, 1, &r), LS_ESHAPE,
          "elements on");
    r.n = 9;
    memcpy(table, a.at, sizeof table);
    r.in = table;
    table[2] = NULL;
    FAILS(ls_all_reduce(pool, NULL, LS_REDUCE_SUM, 1, &r), LS_EINVAL,
            "\"w\": the buffer of device 2 is NULL");
    r.n = 8;
    r.in = a.at;
    r.out = table;
    FAILS(ls_all_gather(pool, NULL, 1, &r), LS_EINVAL,
            "\"w\": the buffer of device 2 is NULL");
    r.in = NULL;
    FAILS(ls_all_gather(pool, NULL, 1, &r), LS_EINVAL, "\"w\": in is NULL");
    r.in = table;
    r.out = NULL;
    r.name = NULL;
    FAILS(ls_all_gather(pool, NULL, 1, &r), LS_EINVAL, "the name is NULL");
    r.name = "w";
    r.n = 9;
    table[2] = (char *)a.at[2] + 2;
    FAILS(ls_all_reduce(pool, NULL, LS_REDUCE_SUM, 1, &r), LS_EINVAL,
            "device 2 is not aligned");
    for (int d = 0; d < 4; d++)
        ck_assert_mem_eq(a.at[d], copy.at[d], 80);
    r.n = 0;
    OK(ls_all_reduce(pool, NULL, LS_REDUCE_SUM, 1, &r));
    OK(ls_all_reduce(pool, NULL, LS_REDUCE_SUM, 0, NULL));
    FAILS(ls_all_reduce(pool, NULL, LS_REDUCE_SUM, -1, &r), LS_EINVAL,
            "all-reduce: -1 arrays");
    FAILS(ls_broadcast(pool, NULL, 0, 2, NULL), LS_EINVAL,
            "ls_broadcast: arrays is NULL");
    free_set(&a);
    free_set(&copy);
    ls_pool_close(pool);
}

/* ------ pmap ------ */

/* out0[d] = user x sum of in0's part; out1 = the device and in1's rows. */
static int work(void *user, int device, const void *const *in,
                void *const *out)
{
    const float *x = in[0];
    const int32_t *label = in[1];
    double *sum = out[0];
    int32_t *pair = out[1];

    if (device >= *(int *)user)
        return -device;
    *sum = (double)(x[0] + x[1] + x[2] + x[3] + x[4] + x[5]);
    pair[0] = device;
    pair[1] = label[0];
    return 0;
}

/* Each device sees its part of the inputs, and the outputs come out stacked. */
LOOP_TEST(test_pmap, 0, 4)
{
    float x[8][2][3];
    int32_t label[4] = {9, 8, 7, 6}, pair[4][2];
    double sum[4];
    int fails_from = 4;
    ls_pool *pool = open_axes("data:2,model:2", 1 + _i);
    ls_array in[] = {{"x", LS_F32, 3, {8, 2, 3}, x},
                     {"label", LS_I32, 1, {4}, label}};
    ls_array out[] = {{"sum", LS_F64, 1, {4}, sum},
                      {"pair", LS_I32, 2, {4, 2}, pair}};

    for (int i = 0; i < 48; i++)
        (&x[0][0][0])[i] = (float)(i / 12);
    OK(ls_pmap(pool, work, &fails_from, 2, in, 2, out));
    for (int d = 0; d < 4; d++) {
        ck_assert(sum[d] == 6 * d);
        ck_assert_int_eq(pair[d][0], d);
        ck_assert_int_eq(pair[d][1], 9 - d);
    }
    in[0].shape[0] = 7;
    FAILS(ls_pmap(pool, work, &fails_from, 2, in, 2, out), LS_ESHAPE,
            "array \"x\": a leading axis of 7 does not divide by 4 devices");
    in[0].shape[0] = 8;
    out[1].shape[0] = 2;
    FAILS(ls_pmap(pool, work, &fails_from, 2, in, 2, out), LS_ESHAPE,
            "array \"pair\": a leading axis of 2 does not divide");
    out[1].shape[0] = 4;
    out[0].rank = 0;
    FAILS(ls_pmap(pool, work, &fails_from, 2, in, 2, out), LS_ESHAPE,
            "array \"sum\": rank 0");
    out[0].rank = 1;
    FAILS(ls_pmap(pool, work, &fails_from, -1, in, 2, out), LS_EINVAL,
            "-1 inputs");
    FAILS(ls_pmap(pool, work, &fails_from, 2, in, -3, out), LS_EINVAL,
            "-3 outputs");
    FAILS(ls_pmap(pool, NULL, NULL, 2, in, 2, out), LS_EINVAL,
            "ls_pmap: fn is NULL");
    FAILS(ls_pmap(pool, work, &fails_from, 2, NULL, 2, out), LS_EINVAL,
            "ls_pmap: inputs is NULL");
    FAILS(ls_pmap(pool, work, &fails_from, 2, in, 2, NULL), LS_EINVAL,
            "ls_pmap: outputs is NULL");
    fails_from = 2;
    FAILS(ls_pmap(pool, work, &fails_from, 2, in, 2, out), LS_EUSER,
            "failed on device 2 with status -2");
    ls_pool_close(pool);
}

MAIN()
