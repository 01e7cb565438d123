/* SPDX-License-Identifier: BSD-3-Clause */
/* How fast the collectives move memory, against the copy that the same workers
 * make of the same bytes.
 *
 *     bench-collectives [--workers W] [--devices D] [--megabytes M]
 *
 * M is the size of each device's buffer (16).  GB/s count every byte that must
 * be read and every byte that must be written, once; "of copy" is their share
 * of the copy loop's, which is the roof.  All take turns, a run each, so that a
 * slow moment of the machine hits all of them; the share is the median over
 * rounds of each round's own.  Buffers that fit the caches are measured there.
 * Results are verified: values are such that every sum is exact.
 *
 * Uses the public header only and links the shared library. */
#include "bench.h"

#include <string.h>

enum { ROUNDS = 31, MOST = 64 };

typedef struct bench {
    ls_pool *pool;
    int devices;
    int64_t n;      /* floats of a device */
    float *a, *b;   /* [device * n] each */
    void *in[MOST]; /* a of each device */
    void *out[MOST];
} bench;

/* ------ what is measured ------ */

static int copy_part(void *user, int device, const void *const *in,
                     void *const *out)
{
    const bench *x = user;

    (void)device;
    memcpy(out[0], in[0], (size_t)x->n * sizeof(float));
    return 0;
}

static void copy(bench *x)
{
    ls_array a = {"a", LS_F32, 2, {x->devices, x->n}, x->a};
    ls_array b = {"b", LS_F32, 2, {x->devices, x->n}, x->b};

    must(ls_pmap(x->pool, copy_part, x, 1, &a, 1, &b));
}

static void all_reduce(bench *x)
{
    ls_buffers r = {"a", LS_F32, x->n, x->in, x->out};

    must(ls_all_reduce(x->pool, NULL, LS_REDUCE_MEAN, 1, &r));
}

static void reduce_scatter(bench *x)
{
    ls_buffers r = {"a", LS_F32, x->n, x->in, x->out};

    must(ls_reduce_scatter(x->pool, NULL, LS_REDUCE_MEAN, 1, &r));
}

static void all_gather(bench *x)
{
    ls_buffers r = {"a", LS_F32, x->n / x->devices, x->in, x->out};

    must(ls_all_gather(x->pool, NULL, 1, &r));
}

static void broadcast(bench *x)
{
    ls_buffers r = {"a", LS_F32, x->n, x->in, x->out};

    must(ls_broadcast(x->pool, NULL, 0, 1, &r));
}

/* Device d holds d + i mod 64; mean over devices: (devices-1)/2 + i mod 64. */
static float mean_at(const bench *x, int d, int64_t i)
{
    (void)d;
    return (float)(x->devices - 1) / 2 + (float)(i % 64);
}

static float scattered_at(const bench *x, int d, int64_t i)
{
    return i < x->n / x->devices
               ? mean_at(x, d, d * (x->n / x->devices) + i) : -1;
}

static float gathered_at(const bench *x, int d, int64_t i)
{
    int64_t m = x->n / x->devices;

    (void)d;
    return (float)(i / m) + (float)(i % m % 64);
}

static float root_at(const bench *x, int d, int64_t i)
{
    (void)x;
    (void)d;
    return (float)(i % 64);
}

static float same_at(const bench *x, int d, int64_t i)
{
    (void)x;
    return (float)d + (float)(i % 64);
}

/* One buffer of n floats is read, or written, for each device or in all. */
static const struct {
    const char *name;
    void (*run)(bench *x);
    float (*at)(const bench *x, int device, int64_t i);
    bool one_read, one_write;
} rows[] = {
    {"copy", copy, same_at, false, false},
    {"all-reduce", all_reduce, mean_at, false, false},
    {"reduce-scatter", reduce_scatter, scattered_at, false, true},
    {"all-gather", all_gather, gathered_at, true, false},
    {"broadcast", broadcast, root_at, true, false},
};
enum { ROWS = sizeof rows / sizeof *rows };

/* ------ */

static void fill(bench *x)
{
    for (int d = 0; d < x->devices; d++) {
        x->in[d] = x->a + d * x->n;
        x->out[d] = x->b + d * x->n;
        for (int64_t i = 0; i < x->n; i++) {
            ((float *)x->in[d])[i] = (float)d + (float)(i % 64);
            ((float *)x->out[d])[i] = -1;
        }
    }
}

static void verify(const bench *x, size_t r)
{
    for (int d = 0; d < x->devices; d++)
        for (int64_t i = 0; i < x->n; i++) {
            float want = rows[r].at(x, d, i);

            if (want >= 0 && ((float *)x->out[d])[i] != want) {
                fprintf(stderr, "bench-collectives: %s: device %d, element "
                        "%lld is wrong\n", rows[r].name, d, (long long)i);
                exit(EXIT_FAILURE);
            }
        }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Sorts v. */
static double median(double v[ROUNDS])
{
    qsort(v, ROUNDS, sizeof *v, by_value);
    return v[ROUNDS / 2];
}

/* GB that a row moves. */
static double moved(const bench *x, size_t r)
{
    return 4e-9 * (double)x->n * ((rows[r].one_read ? 1 : x->devices) +
                                  (rows[r].one_write ? 1 : x->devices));
}

static void take_turns(bench *x, double speed[ROWS][ROUNDS])
{
    for (int round = -1; round < ROUNDS; round++) /* the first warms up */
        for (size_t r = 0; r < ROWS; r++) {
            double t = seconds();

            rows[r].run(x);
            t = seconds() - t;
            if (round < 0)
                verify(x, r);
            else
                speed[r][round] = moved(x, r) / t;
        }
}

static void measure(bench *x)
{
    static double speed[ROWS][ROUNDS], share[ROWS][ROUNDS];

    take_turns(x, speed);
    for (size_t r = 0; r < ROWS; r++)
        for (int i = 0; i < ROUNDS; i++)
            share[r][i] = speed[r][i] / speed[0][i];
    printf("%-15s %9s %9s %8s\n", "", "best GB/s", "median", "of copy");
    for (size_t r = 0; r < ROWS; r++) {
        double middle = median(speed[r]); /* the best is now the last */

        printf("%-15s %9.2f %9.2f %8.2f\n", rows[r].name,
               speed[r][ROUNDS - 1], middle, median(share[r]));
    }
}

int main(int argc, char **argv)
{
    ls_mesh_options m = ls_mesh_defaults();
    ls_pool_options p = ls_pool_defaults();
    int64_t mb = number(argc, argv, "--megabytes", 16);
    bench x = {0};
    ls_mesh *mesh;
    size_t bytes;

    m.devices = number(argc, argv, "--devices", 8);
    m.workers = number(argc, argv, "--workers", 0);
    p.pin_caller = true;
    if (m.devices < 1 || m.devices > MOST || mb < 1 || mb > 4096) {
        fprintf(stderr, "bench-collectives: 1 to %d devices, 1 to 4096 "
                "megabytes\n", MOST);
        return EXIT_FAILURE;
    }
    must(ls_mesh_open(&mesh, &m));
    must(ls_pool_open(&x.pool, mesh, &p));
    printf("lockstep %s, %s, %lld MB of floats on each\n", ls_version(),
           ls_mesh_text(mesh), (long long)mb);
    x.devices = m.devices;
    x.n = mb * 250000 / m.devices * m.devices;
    bytes = (size_t)x.n * (size_t)x.devices * sizeof(float);
    x.a = malloc(bytes);
    x.b = malloc(bytes);
    if (!x.a || !x.b) {
        fprintf(stderr, "bench-collectives: no memory for 2 x %zu bytes\n",
                bytes);
        return EXIT_FAILURE;
    }
    fill(&x);
    measure(&x);
    free(x.a);
    free(x.b);
    ls_pool_close(x.pool);
    ls_mesh_close(mesh);
    return EXIT_SUCCESS;
}
