/* SPDX-License-Identifier: BSD-3-Clause */
/* Rounding to bfloat16: to the nearest, ties to even, NaN kept, on every
 * instruction level; as an operator it is a cast's, values and gradient. */
#include "calls.h"
#include "models.h"

static float of_bits(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t bits_of(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* The size of a number, infinity being the power of two after the largest. */
static double size_of(uint32_t bits)
{
    uint32_t size = bits & 0x7fffffff;

    return size == 0x7f800000 ? 0x1p128 : (double)of_bits(size);
}

/* The nearer of the two neighbours, of two as near the one whose last bit is
 * 0. */
static uint32_t nearest(uint32_t bits)
{
    uint32_t low = bits & 0xffff0000, high = low + 0x10000;
    double x = size_of(bits);
    double below = x - size_of(low), above = size_of(high) - x;

    if ((bits & 0x7fffffff) >= 0x7f800000) /* infinity */
        return bits;
    if (below == above)
        return low >> 16 & 1 ? high : low;
    return below < above ? low : high;
}

/* Proves the rounding for all 65536 upper halves, with lower halves around
 * those where it turns. */
LOOP_TEST(every_upper_half, 0, levels())
{
    static const uint32_t lower[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};
    enum { N = 6 << 10 };
    static float x[N], y[N];
    const ls__kernel_table *k = level(_i);

    for (uint32_t first = 0; k && first < 65536; first += N / 6) {
        for (uint32_t i = 0; i < N; i++)
            x[i] = of_bits((first + i / 6) << 16 | lower[i % 6]);
        k->round_bf16(N, x, NULL, y);
        for (int i = 0; i < N; i++) {
            uint32_t from = bits_of(x[i]), to = bits_of(y[i]);

            if (isnan(x[i]))
                HOLDS(isnan(y[i]) && !(to & 0xffff) && from >> 31 == to >> 31,
                      "%08x becomes %08x", from, to);
            else
                HOLDS(to == nearest(from), "%08x becomes %08x", from, to);
        }
    }
}

/* Proves that tails touch what they should, with and without an addend. */
TEST(tails)
{
    for (int64_t n = 1; n < 40; n++) {
        float *x = uniform(1, n), *addend = uniform(2, n);

        for (int i = 0; i < levels(); i++) {
            float *y = fenced(n), *sum = fenced(n);

            if (!level(i))
                continue;
            level(i)->round_bf16(n, x, NULL, y);
            level(i)->round_bf16(n, x, addend, sum);
            for (int64_t j = 0; j < n; j++) {
                ck_assert_uint_eq(bits_of(y[j]), nearest(bits_of(x[j])));
                ck_assert(sum[j] == addend[j] + y[j]);
            }
        }
        fences_free();
    }
}

static ls_graph *rounding_graph(bool rounds)
{
    ls_graph *g = empty_graph();
    ls_node *x = ls_input(g, "x", LS_F32, 1, (int64_t[]){7});
    ls_node *y = ls_input(g, "y", LS_F32, 1, (int64_t[]){3});

    x = ls_dense(rounds ? ls_round_bf16(x) : x, 3, "d");
    OK(ls_loss(g, ls_mean_squared_error(x, y)));
    return g;
}

/* Proves that rounding inputs in the graph is rounding them beforehand. */
TEST(in_a_graph)
{
    enum { ROWS = 24 };
    float *x = normals(1, ROWS * 7), *y = normals(2, ROWS * 3), z[ROWS * 7];
    char hash[2][65];

    ls__kernels()->round_bf16(ROWS * 7, x, NULL, z);
    ck_assert(memcmp(x, z, sizeof z) != 0);
    for (int k = 0; k < 2; k++) {
        run r = open_run_on(4, 2, rounding_graph(k == 0), NULL);

        OK(ls_batch_set(r.batch, "x", LS_F32, k ? z : x, ROWS));
        OK(ls_batch_set(r.batch, "y", LS_F32, y, ROWS));
        for (int i = 0; i < 5; i++)
            (void)step(&r);
        ls_trainer_hash(r.trainer, hash[k]);
        close_run(&r);
    }
    ck_assert_str_eq(hash[0], hash[1]);
    free(x);
    free(y);
}

MAIN()
