/* SPDX-License-Identifier: BSD-3-Clause */
/* Layers in f32x3: every way to compute them gives the referee's bytes, f32x3
 * is nearer to the exact products than bf16, and training follows.  (Whole
 * runs: isa.sh, verify.sh.) */
#include "asked_product.h"
#include "backends.h"
#include "base/fpmode.h"
#include "models.h"

/* ------ Products ------ */

typedef struct sizes {
    int64_t m, n, k;
} sizes;

static const sizes problems[] = {{1, 1, 1},    {3, 5, 7},    {32, 32, 32},
                                 {33, 17, 65}, {2, 67, 257}, {17, 31, 512},
                                 {40, 3, 300}, {5, 40, 513}};

/* A number of a sort: as they come; over 80 powers of two; with infinities, NaN
 * and what overflows; near 2^-110, where parts vanish; of both zeros. */
enum { SORTS = 5 };

static float number_of(int sort, float x, int64_t i)
{
    uint32_t r = (uint32_t)i * 2654435761u >> 7;

    switch (sort) {
    case 1: return ldexpf(x, (int)(r % 81) - 40);
    case 2: return r % 41 == 0 ? INFINITY : r % 43 == 0 ? NAN
                   : r % 47 == 0 ? 3.4e38f : x;
    case 3: return ldexpf(x, (int)(r % 30) - 120);
    case 4: return r % 3 == 0 ? x : r % 3 == 1 ? 0.0f : -0.0f;
    default: return x;
    }
}

static float *numbers(int seed, int sort, int64_t n)
{
    float *x = uniform(seed, n);

    for (int64_t i = 0; i < n; i++)
        x[i] = number_of(sort, x[i], i + seed);
    return x;
}

/* A and B by rows or by columns, C with numbers or without. */
static ls__product product_of(sizes s, int sort, int way)
{
    ls__product g = {.m = s.m, .n = s.n, .k = s.k, .c_row = s.n, .scale = 1};

    g.a = numbers(1, sort, s.m * s.k);
    g.b = numbers(2, sort, s.k * s.n);
    g.c = fenced(s.m * s.n);
    g.a_row = way & 1 ? 1 : s.k;
    g.a_col = way & 1 ? s.m : 1;
    g.b_row = way & 2 ? 1 : s.n;
    g.b_col = way & 2 ? s.k : 1;
    g.accumulate = way & 4;
    return g;
}

static void compute(const ls__backend *be, ls__product *g, bool pack)
{
    const ls__products *of = be->products;

    if (pack) {
        float *packed = fenced(of->packed_size(g->k, g->n));

        of->pack(g->k, g->n, g->b, g->b_row, g->b_col, packed);
        g->packed = packed;
    }
    of->gemm(g, fenced(of->scratch(g->k, g->n)));
}

static bool same_number(float a, float b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

static void check_ways(const ls__product *of, const float *before,
                       const float *want)
{
    const ls__backend *be;

    for (int i = 0; (be = maker(LS_F32X3_LAYERS, i)); i++) {
        ls__product g = *of;
        int64_t n = g.m * g.n;

        memcpy(g.c, before, (size_t)n * sizeof *g.c);
        compute(be, &g, i % 2);
        for (int64_t e = 0; e < n; e++)
            ck_assert_msg(same_number(g.c[e], want[e]),
                          "%s: %lld of (%lld,%lld), K %lld, is %a, not %a",
                          be->text, (long long)e, (long long)g.m,
                          (long long)g.n, (long long)g.k, (double)g.c[e],
                          (double)want[e]);
    }
}

/* Proves the bytes of products on every level and unit that this CPU has, for
 * numbers of all sorts, stored in all ways. */
LOOP_TEST(product_bits, 0, SORTS)
{
    ls__fpmode_set();
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        sizes s = problems[i];
        ls__product g = product_of(s, _i, (int)i + _i);
        float *before = uniform(3, s.m * s.n), *want = fenced(s.m * s.n);

        for (int64_t e = 0; e < s.m * s.n; e++)
            want[e] = asked_product(f32x3_product, &g, e / s.n, e % s.n,
                                    g.accumulate ? &before[e] : NULL);
        check_ways(&g, before, want);
        fences_free();
    }
}

/* ------ How near ------ */

/* The mean error of a product, as a share of the sum of sizes. */
static double mean_error(ls_precision precision, sizes s)
{
    ls__product g = product_of(s, 0, 0);
    double error = 0;

    compute(maker(precision, 0), &g, false);
    for (int64_t i = 0; i < s.m; i++)
        for (int64_t j = 0; j < s.n; j++) {
            double sum = 0, size = 0;

            for (int64_t p = 0; p < s.k; p++) {
                double t = (double)g.a[i * s.k + p] * (double)g.b[p * s.n + j];

                sum += t;
                size += fabs(t);
            }
            error += fabs((double)g.c[i * s.n + j] - sum) / size;
        }
    fences_free();
    return error / (double)(s.m * s.n);
}

/* Proves that f32x3 is a hundred times nearer than bf16. */
TEST(nearness)
{
    sizes s = {64, 64, 256};
    double whole, x3, bf16;

    ls__fpmode_set();
    whole = mean_error(LS_F32_LAYERS, s);
    x3 = mean_error(LS_F32X3_LAYERS, s);
    bf16 = mean_error(LS_BF16_LAYERS, s);
    printf("mean errors: f32 %.2g, f32x3 %.2g, bf16 %.2g\n", whole, x3, bf16);
    ck_assert(x3 < bf16 / 100 && x3 > whole);
}

/* ------ Training ------ */

enum { IN = 512, OUT = 8, BATCH = 512, STEPS = 12 };

/* Linear regression by gradient descent in double, from w on, in place. */
static void exact_steps(const float *x, const float *y, double lr, double *w)
{
    double *d = doubles(BATCH * OUT, NULL, LS_F32), b[OUT] = {0};

    for (int s = 0; s < STEPS; s++) {
        for (int i = 0; i < BATCH * OUT; i++) {
            d[i] = b[i % OUT] - (double)y[i];
            for (int k = 0; k < IN; k++)
                d[i] += (double)x[i / OUT * IN + k] * w[k * OUT + i % OUT];
            d[i] *= 2.0 / (BATCH * OUT);
        }
        for (int i = 0; i < BATCH * OUT; i++) {
            b[i % OUT] -= lr * d[i];
            for (int k = 0; k < IN; k++)
                w[k * OUT + i % OUT] -= lr * (double)x[i / OUT * IN + k] * d[i];
        }
    }
    free(d);
}

/* The distance of a run's weights from the exact ones, as a share. */
static double distance(ls_pool *pool, ls_precision precision, const float *x,
                       const float *y)
{
    ls_trainer_options o = ls_trainer_defaults();
    double *want, off = 0, size = 0;
    float w[IN * OUT];
    run r;

    o.optimizer = ls_sgd(0.5);
    o.precision = precision;
    r = open_run(pool, linear_graph(IN, OUT), &o);
    OK(ls_trainer_get(r.trainer, "kernel", IN * OUT, w));
    want = doubles(IN * OUT, w, LS_F32);
    exact_steps(x, y, 0.5, want);
    OK(ls_batch_set(r.batch, "x", LS_F32, x, BATCH));
    OK(ls_batch_set(r.batch, "y", LS_F32, y, BATCH));
    for (int s = 0; s < STEPS; s++)
        (void)step(&r);
    OK(ls_trainer_get(r.trainer, "kernel", IN * OUT, w));
    for (int i = 0; i < IN * OUT; i++) {
        off += ((double)w[i] - want[i]) * ((double)w[i] - want[i]);
        size += want[i] * want[i];
    }
    free(want);
    close_run(&r);
    return sqrt(off / size);
}

/* Proves that weights trained in f32x3 are nearer to those of double than
 * bf16's. */
TEST(training)
{
    ls_pool *pool = open_pool(2, 2);
    float *x = normals(1, BATCH * IN), *y = normals(2, BATCH * OUT);
    double x3 = distance(pool, LS_F32X3_LAYERS, x, y);
    double bf16 = distance(pool, LS_BF16_LAYERS, x, y);

    printf("weights off by: f32x3 %.2g, bf16 %.2g\n", x3, bf16);
    ck_assert(x3 < bf16 / 50);
    ls_pool_close(pool);
    free(x);
    free(y);
}

/* Proves that those without such products refuse. */
TEST(refused)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_pool *pool = open_pool(2, 1);
    ls_graph *g = linear_graph(3, 2);
    ls_trainer *t = NULL;

    o.precision = LS_F32X3_LAYERS;
    o.backend = "blis";
    FAILS(ls_trainer_open(&t, pool, g, &o), LS_ENOTSUP,
          "backend \"blis\" has no f32x3 products");
    ls_graph_free(g);
    ls_pool_close(pool);
}

MAIN()
