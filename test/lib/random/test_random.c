/* SPDX-License-Identifier: BSD-3-Clause */
/* Lanes, vector math, random streams, initialisers and hashes, against the
 * referee's and golden/random.h. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fma.h"
#include "base/fpmode.h"
#include "base/little.h"
#include "base/memory.h"
#include "base/scalar.h"
#include "base/sha.h"
#include "calls.h"
#include "golden/random.h"
#include "kernel/k_vmath.h"
#include "kernel/kernel.h"
#include "lockstep.h"
#include "random/init.h"
#include "random/keys.h"
#include "random/lane.h"
#include "referee/numbers.h"

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))

/* Tests that loop over these pass over what this CPU or build does not have. */
static const char *const levels[] = {"x86-64-v2", "x86-64-v3", "x86-64-v4",
                                     "neon", "test"};

static const ls_key key42 = {{0, 42}};

static float of_bits(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Equal bits, or both NaN. */
static bool same(float a, float b)
{
    return f_of(a) == f_of(b) || (a != a && b != b);
}

/* Is a number the referee's?  Where no mode makes zeros of denormals, one that
 * only passes through may be there. */
static bool is(float x, f32 referees)
{
    return same(ls__flushed(x), of_bits(referees));
}

/* ck_assert for loops: it tells the runner only of a failure. */
static void expect(bool holds, const char *what, double at)
{
    HOLDS(holds, "%s at %a", what, at);
}

static void expect_floats(int n, const float *got, const float *want)
{
    for (int i = 0; i < n; i++)
        ck_assert_msg(same(got[i], want[i]), "element %d is %a, not %a", i,
                      (double)got[i], (double)want[i]);
}

static void expect_key(ls_key key, const uint32_t *want)
{
    ck_assert_uint_eq(key.word[0], want[0]);
    ck_assert_uint_eq(key.word[1], want[1]);
}

/* The hash of n numbers of `size` bytes, little end first. */
static const char *sha256_of(const void *data, size_t n, size_t size)
{
    static char hex[65];
    void *copy = malloc(n * size + 1);
    ls__sha256 sha;
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, data, n * size);
    ls__little(copy, n, size);
    ls__sha256_init(&sha);
    ls__sha256_update(&sha, copy, n * size);
    ls__sha256_hex(&sha, hex);
    free(copy);
    return hex;
}

/* ====== lanes and vector math ====== */

/* Loads and stores of n lanes touch exactly n floats: the next page is not
 * mapped for reading or writing. */
TEST(partial_lanes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *map = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert(map != MAP_FAILED);
    ck_assert_int_eq(mprotect(map + page, page, PROT_NONE), 0);
    for (int n = 0; n <= 16; n++) {
        float *p = (float *)(map + page) - n, lane[16];
        for (int i = 0; i < n; i++)
            p[i] = (float)i + 1;
        v16_store(lane, v16_load_n(p, n));
        for (int i = 0; i < 16; i++)
            ck_assert(same(lane[i], i < n ? (float)i + 1 : 0));
        p[-1] = 7;
        v16_store_n(p, v16_set(3), n);
        ck_assert(p[-1] == 7 && (n == 0 || (p[0] == 3 && p[n - 1] == 3)));
        w16_store_n((uint32_t *)p, w16_load_n((uint32_t *)p, n), n);
        ck_assert(m16_any(m16_first(n)) == (n > 0));
    }
    munmap(map, 2 * page);
}

/* The sum and the maximum over lanes follow the tree of the contract. */
TEST(lane_trees)
{
    uint32_t bits[16];
    float x[16], s[16], t[16];
    for (uint64_t k = 0; k < 1000; k++) {
        ls_random_bits(key42, 16 * k, 16, bits);
        for (int i = 0; i < 16; i++)
            s[i] = t[i] = x[i] = of_bits((bits[i] & 0x83ffffff) | 0x3c000000);
        for (int half = 8; half > 0; half /= 2)
            for (int i = 0; i < half; i++) {
                s[i] += s[i + half];
                t[i] = t[i] > t[i + half] ? t[i] : t[i + half];
            }
        expect(same(v16_sum(v16_load(x)), s[0]), "sum", (double)k);
        expect(same(v16_top(v16_load(x)), t[0]), "top", (double)k);
    }
}

/* The kept lanes stand side by side, whichever they are. */
TEST(lanes_kept)
{
    float x[16], y[16];

    for (int i = 0; i < 16; i++)
        x[i] = (float)i;
    for (unsigned word = 0; word < 1u << 16; word += 5) {
        int n = 0;

        v16_store_kept(y, v16_load(x), m16_of_word(word));
        for (int i = 0; i < 16; i++)
            if (word >> i & 1)
                expect(y[n++] == x[i], "kept", word);
    }
}

/* Minimum, maximum, floor, choice and conversions are what their comments
 * say, zeros and NaN included; a denormal is compared as the zero that the mode
 * reads, also where no mode does. */
TEST(lane_operations)
{
    static const float x[] = {0.0f, -0.0f, 1.5f, -1.5f, -0.25f, 0x1p23f,
                              -0x1.000002p22f, 3e9f, -1e30f, INFINITY,
                              -INFINITY, NAN, 1, -1, 0x1p-140f, 2.5f};
    float y[16], z[16];
    w16 k = w16_rotl(w16_set(0x80000001u), 4);
    for (int i = 0; i < 16; i++) {
        v16 a = v16_load(x), b = v16_set(x[i]);
        v16_store(y, v16_min(a, b));
        v16_store(z, v16_max(a, b));
        for (int j = 0; j < 16; j++) {
            float p = ls__flushed(x[j]), q = ls__flushed(x[i]);

            ck_assert(same(y[j], p < q ? x[j] : x[i]));
            ck_assert(same(z[j], p > q ? x[j] : x[i]));
        }
        v16_store(y, v16_select(v16_ge(a, b), a, b));
        for (int j = 0; j < 16; j++)
            ck_assert(same(y[j], ls__flushed(x[j]) >= ls__flushed(x[i])
                                     ? x[j] : x[i]));
    }
    v16_store(y, v16_floor(v16_load(x)));
    v16_store(z, v16_of_int(v16_to_int(v16_min(v16_load(x), v16_set(9)))));
    for (int i = 0; i < 16; i++)
        ck_assert(same(y[i], floorf(x[i])));
    ck_assert(z[2] == 1 && z[3] == -1 && z[15] == 2);
    v16_store(y, v16_gather(x, w16_sub(w16_set(15), w16_iota())));
    ck_assert(y[0] == 2.5f && y[13] == 1.5f);
    v16_store(y, v16_of_int(w16_shr(w16_shl(k, 1), 2)));
    ck_assert(y[5] == 12);
}

/* The fma without the instruction equals the C library's, in the cases that
 * twice rounding gets wrong too. */
TEST(soft_fma)
{
    uint32_t bits[3];
    for (uint64_t i = 0; i < 300000; i++) {
        ls_random_bits(key42, 3 * i, 3, bits);
        float a = ls__flushed(of_bits(bits[0]));
        float b = ls__flushed(of_bits(bits[1])), c = of_bits(bits[2]);
        if (i % 3 > 0) /* c near a b: cancellation and ties */
            c = -a * b * (1 + 0x1p-23f * (float)(int)(bits[2] % 7 - 3));
        if (i % 3 > 1)
            c = c * 0x1p24f;
        c = ls__flushed(c);
        expect(same(ls__fmaf_soft(a, b, c), ls__flushed(fmaf(a, b, c))), "fma",
               (double)i);
    }
}

typedef struct function {
    const char *name;
    v16 (*lanes)(v16);
    f32 (*one)(f32);
} function;

static const function functions[] = {
    {"exp", v16_exp, e_exp},         {"tanh", v16_tanh, e_tanh},
    {"log", v16_log, e_log_any},     {"log1p", v16_log1p, e_log1p},
    {"erf_inv", v16_erf_inv, erf_inverse},
};

/* Each function on lanes is the referee's on a million floats spread over all
 * bit patterns, and on as many between -1 and 1. */
LOOP_TEST(vector_math, 0, COUNT(functions))
{
    const function *f = &functions[_i];
    ls__fpmode mode = ls__fpmode_set();
    float x[16], y[16];

    for (uint64_t bits = 0; bits < UINT64_C(1) << 33; bits += 16 * 4099) {
        for (uint32_t i = 0; i < 16; i++) {
            x[i] = of_bits((uint32_t)bits + i * 4099);
            if (bits >> 32)
                x[i] = (float)(int32_t)f_of(x[i]) * 0x1p-31f;
        }
        v16_store(y, f->lanes(v16_load(x)));
        for (int i = 0; i < 16; i++)
            expect(is(y[i], f->one(f_of(x[i]))), f->name, (double)x[i]);
    }
    ls__fpmode_restore(mode);
}

/* NaN stays NaN and infinities go where they belong. */
TEST(special_values)
{
    float y[16];
    for (int i = 0; i < COUNT(functions); i++) {
        v16_store(y, functions[i].lanes(v16_set(NAN)));
        ck_assert_msg(y[0] != y[0], "%s(NaN)", functions[i].name);
    }
    ck_assert(ls__expf(INFINITY) == INFINITY && ls__expf(0) == 1);
    ck_assert(ls__expf(-INFINITY) == 0 && ls__logf(0) == -INFINITY);
    ck_assert(ls__logf(INFINITY) == INFINITY && ls__logf(1) == 0);
    v16_store(y, v16_erf_inv(v16_set(-1)));
    ck_assert(y[3] == -INFINITY);
}

/* erf_inv and log1p meet the values taken from JAX. */
TEST(jax_math)
{
    float y[16];
    for (int i = 0; i < COUNT(golden_erf_inv); i++) {
        v16_store(y, v16_erf_inv(v16_set(golden_erf_inv[i][0])));
        expect_floats(1, y, &golden_erf_inv[i][1]);
    }
    for (int i = 0; i < COUNT(golden_log1p); i++) {
        v16_store(y, v16_log1p(v16_set(golden_log1p[i][0])));
        expect_floats(1, y, &golden_log1p[i][1]);
    }
}

/* ====== keys and streams ====== */

/* Keys are JAX's: seeds cut to 32 bits, fold_in and split on known answers,
 * Random123's published blocks, and fold_in is split one by one. */
TEST(keys)
{
    static const struct {
        int64_t seed;
        uint32_t word[2];
    } seeds[] = {{0, {0, 0}}, {42, {0, 42}}, {-1, {0, 0xffffffff}},
                 {INT64_C(1) << 31, {0, 0x80000000}},
                 {(INT64_C(1) << 32) + 5, {0, 5}},
                 {INT64_MAX, {0, 0xffffffff}}};
    for (int i = 0; i < COUNT(seeds); i++)
        expect_key(ls_key_new(seeds[i].seed), seeds[i].word);
    for (uint64_t i = 0; i < 3; i++)
        expect_key(ls_key_split(key42, i), golden_split + 2 * i);
    expect_key(ls_key_fold_in(key42, 7), golden_fold_in_7);
    ls_key zero = {{0, 0}}, pi = {{0x13198a2e, 0x03707344}};
    expect_key(ls_key_split(zero, 0), (uint32_t[]){0x6b200159, 0x99ba4efe});
    expect_key(ls_key_split(pi, 0x243f6a8885a308d3),
               (uint32_t[]){0xc4923a9c, 0x483df7a0});
    for (uint32_t i = 0; i < 20; i++)
        expect_key(ls_key_fold_in(pi, i), ls_key_split(pi, i).word);
}

/* Every stream of PRNGKey(42) starts as JAX's. */
TEST(jax_streams)
{
    uint32_t bits[4];
    float x[4];
    ls_random_bits(key42, 0, 4, bits);
    ck_assert_mem_eq(bits, golden_bits, sizeof bits);
    ls_random_uniform(key42, 0, 4, 0, 1, x);
    expect_floats(4, x, golden_uniform);
    ls_random_uniform(key42, 0, 4, -1, 1, x);
    expect_floats(4, x, golden_uniform_1_1);
    ls_random_normal(key42, 0, 4, x);
    expect_floats(4, x, golden_normal);
    ls_random_truncated_normal(key42, 0, 4, x);
    expect_floats(4, x, golden_truncated);
}

/* Element i of a fill depends on the key and i alone, on each level: any start
 * (across 2^32 too) and length give the same elements, and nothing more is
 * written. */
LOOP_TEST(any_range, 0, COUNT(levels))
{
    static const uint64_t starts[] = {0, 1, 13, (UINT64_C(1) << 32) - 9,
                                      (UINT64_C(1) << 32) - 16,
                                      (UINT64_C(1) << 40) + 5};
    const char *level = levels[_i];
    if (!ls__kernels_by_name(level))
        return;
    for (int s = 0; s < COUNT(starts); s++)
        for (int n = 0; n < 50; n++) {
            uint32_t bits[51];
            float x[51];
            bits[n] = 0xabcdef;
            x[n] = -77;
            ls__kernels_by_name(level)->random_bits(key42.word, starts[s], n,
                                                    bits);
            ls__kernels_by_name(level)->random_normal(key42.word, starts[s], n,
                                                      x);
            ck_assert(bits[n] == 0xabcdef && x[n] == -77);
            for (int i = 0; i < n; i++) {
                ls_key k = ls_key_split(key42, starts[s] + (uint64_t)i);
                expect(bits[i] == (k.word[0] ^ k.word[1]), "bits", i);
                expect(is(x[i], normal_of_bits(bits[i])), "normal", i);
            }
        }
}

/* 200,003 draws of each distribution equal the formulas, on each level. */
LOOP_TEST(distributions, 0, COUNT(levels))
{
    enum { N = 200003 };
    const char *level = levels[_i];
    if (!ls__kernels_by_name(level))
        return;
    uint32_t *bits = malloc(N * sizeof *bits);
    float *x = malloc(3 * N * sizeof *x), *y = x + N, *z = y + N;
    ck_assert(bits && x);
    ls_key key = ls_key_new(_i);
    ls__fpmode old = ls__fpmode_set();
    ls__kernels_by_name(level)->random_bits(key.word, 3, N, bits);
    ls__kernels_by_name(level)->random_uniform(key.word, 3, N, -0.1f, 0.7f, x);
    ls__kernels_by_name(level)->random_normal(key.word, 3, N, y);
    ls__kernels_by_name(level)->random_truncated_normal(key.word, 3, N, z);
    ls__fpmode_restore(old);
    for (int i = 0; i < N; i++) {
        expect(is(x[i], uniform_of(bits[i], F(-0.1f), F(0.7f))), "uniform",
               i);
        expect(is(y[i], normal_of_bits(bits[i])), "normal", i);
        expect(is(z[i], truncated_of(bits[i])), "truncated", i);
    }
    free(bits);
    free(x);
}

/* bernoulli and randint meet JAX, any range equals one long fill, and randint
 * reaches both ends of int32. */
TEST(jax_integers)
{
    uint8_t coin[600], part[300];
    int32_t x[600], y[300];
    ls_random_bernoulli(key42, 0, 600, 0.5f, coin);
    ls_random_randint(key42, 0, 600, 0, 100, x);
    for (int i = 0; i < 8; i++) {
        ck_assert_int_eq(coin[i], golden_bernoulli[i]);
        ck_assert_int_eq(x[i], golden_randint[i]);
    }
    ls_random_bernoulli(key42, 299, 300, 0.5f, part);
    ck_assert_mem_eq(part, coin + 299, sizeof part);
    ls_random_randint(key42, 299, 300, 0, 100, y);
    ck_assert_mem_eq(y, x + 299, sizeof y);
    ls_random_randint(key42, 0, 300, 5, 5, y);
    ck_assert(y[0] == 5 && y[299] == 5);
    ls_random_randint(key42, 0, 300, INT32_MIN, INT32_MAX, y);
    bool below = false, above = false;
    for (int i = 0; i < 300; i++) {
        below = below || y[i] < -2000000000;
        above = above || y[i] > 2000000000;
    }
    ck_assert(below && above);
}

/* permutation meets JAX; with two rounds it is still a permutation; an
 * impossible length is refused by name. */
TEST(permutation)
{
    int32_t x[10], one = 7;
    ck_assert_int_eq(ls_random_permutation(key42, 10, x), 0);
    for (int i = 0; i < 10; i++)
        ck_assert_int_eq(x[i], golden_permutation[i]);
    enum { N = 5000 };
    static int32_t y[N];
    static bool seen[N];
    ck_assert_int_eq(ls_random_permutation(key42, N, y), 0);
    for (int i = 0; i < N; i++)
        seen[y[i]] = true;
    for (int i = 0; i < N; i++)
        expect(seen[i], "missing", i);
    ck_assert_int_eq(ls_random_permutation(key42, 0, NULL), 0);
    ck_assert_int_eq(ls_random_permutation(key42, 1, &one), 0);
    ck_assert_int_eq(one, 0);
    ck_assert_int_eq(ls_random_permutation(key42, -1, &one), LS_EINVAL);
    ck_assert_ptr_nonnull(strstr(ls_errmsg(), "permutation of -1"));
}

/* ====== NumPy ====== */

/* RandomState's raw words, integers of 32 and 64 bits, reals and permutation
 * are NumPy's. */
TEST(numpy_streams)
{
    ls_numpy rs;
    int64_t x[8];
    int32_t y[8];
    double d[3];
    ls_numpy_seed(&rs, 1234);
    ls_numpy_randint(&rs, 0, INT64_C(1) << 32, 4, x);
    ck_assert_mem_eq(x, golden_mt_raw_1234, 4 * sizeof *x);
    ls_numpy_seed(&rs, 1234);
    ls_numpy_randint32(&rs, 0, 512, 8, y);
    for (int i = 0; i < 8; i++)
        ck_assert_int_eq(y[i], golden_mt_randint_1234[i]);
    ls_numpy_seed(&rs, 5);
    ls_numpy_randint(&rs, -(INT64_C(1) << 40), (INT64_C(1) << 41) + 12345, 8,
                     x);
    ck_assert_mem_eq(x, golden_mt_wide_5, sizeof x);
    ls_numpy_seed(&rs, 7);
    ls_numpy_rand(&rs, 3, d);
    for (int i = 0; i < 3; i++)
        ck_assert(same((float)d[i], golden_mt_rand_7[i]));
    ls_numpy_seed(&rs, 100);
    ls_numpy_randn(&rs, 1, d);
    ls_numpy_randn(&rs, 2, d + 1); /* the first of them was kept */
    for (int i = 0; i < 3; i++)
        ck_assert(same((float)d[i], golden_mt_randn_100[i]));
    ls_numpy_seed(&rs, 0);
    ls_numpy_permutation(&rs, 8, x);
    ck_assert_mem_eq(x, golden_mt_permutation_0, sizeof x);
}

/* Long streams are NumPy's, by their hashes: doubles, a permutation, and seed
 * 003's tokens; however a stream is cut into calls. */
TEST(numpy_hashes)
{
    enum { REALS = 5001, CARDS = 4001, TOKENS = 8192 * 64 };
    static double d[REALS];
    static int64_t x[CARDS];
    int32_t *t = malloc(TOKENS * sizeof *t);
    ls_numpy rs;
    ck_assert_ptr_nonnull(t);
    ls_numpy_seed(&rs, 0);
    ls_numpy_rand(&rs, 1000, d);
    ls_numpy_rand(&rs, REALS - 1000, d + 1000);
    ck_assert_str_eq(sha256_of(d, REALS, sizeof *d), golden_mt_sha[0]);
    ls_numpy_seed(&rs, 0);
    ls_numpy_permutation(&rs, CARDS, x);
    ck_assert_str_eq(sha256_of(x, CARDS, sizeof *x), golden_mt_sha[1]);
    ls_numpy_seed(&rs, 1234);
    ls_numpy_randint32(&rs, 0, 512, TOKENS, t);
    ck_assert_str_eq(sha256_of(t, TOKENS, sizeof *t), golden_mt_sha[2]);
    free(t);
}

/* A real is 53 bits of the next two words, the first of which may be the last
 * before the state is twisted. */
TEST(numpy_words)
{
    enum { REALS = 700 };
    static int64_t x[2 * REALS + 1];
    static double d[REALS];
    ls_numpy rs;
    ls_numpy_seed(&rs, 11);
    ls_numpy_randint(&rs, 0, INT64_C(1) << 32, 2 * REALS + 1, x);
    ls_numpy_seed(&rs, 11);
    ls_numpy_randint(&rs, 0, INT64_C(1) << 32, 1, x);
    ls_numpy_rand(&rs, REALS, d);
    for (int i = 0; i < REALS; i++) {
        double a = (double)(x[2 * i + 1] >> 5), b = (double)(x[2 * i + 2] >> 6);
        expect(d[i] == (a * 0x1p26 + b) / 0x1p53, "real", i);
    }
}

/* Numbers between the smallest and the largest int64 do not overflow. */
TEST(numpy_extremes)
{
    ls_numpy rs;
    int64_t x[100];
    int32_t y[100];
    ls_numpy_seed(&rs, 3);
    ls_numpy_randint(&rs, INT64_MIN, INT64_MAX, 100, x);
    ls_numpy_randint(&rs, INT64_MAX - 1, INT64_MAX, 1, x);
    ck_assert_int_eq(x[0], INT64_MAX - 1);
    ls_numpy_randint32(&rs, INT32_MIN, INT32_MAX, 100, y);
    ls_numpy_permutation(&rs, 1, x);
    ck_assert_int_eq(x[0], 0);
}

/* ====== numbers one at a time ====== */

/* sine and cosine are within an ulp of the C library's (on glibc they equal
 * those of a CPU with FMA, which this test does not ask for). */
TEST(sine_and_cosine)
{
    for (uint32_t bits = 0; bits < 0x7f800000; bits += 2999) {
        float x = of_bits(bits | (bits % 2) << 31);
        float s = sinf(x), c = cosf(x);
        float sd = fabsf(nextafterf(s, 2) - s);
        float cd = fabsf(nextafterf(c, 2) - c);
        expect(fabsf(ls__sinf(x) - s) <= sd, "sin", (double)x);
        expect(fabsf(ls__cosf(x) - c) <= cd, "cos", (double)x);
    }
    ck_assert(same(ls__sinf(-0.0f), -0.0f) && ls__cosf(0) == 1);
    ck_assert(same(ls__sinf(INFINITY), NAN) && same(ls__cosf(NAN), NAN));
}

/* The logarithm of a double is within an ulp of the C library's, equal in
 * nearly all cases, and right at the ends. */
TEST(logarithm)
{
    int other = 0;
    for (int i = 1; i < 100000; i++) {
        double x = i % 2 ? i * 1e-5 : ldexp(i * 1e-5, i % 2000 - 1000);
        double y = ls__log(x), want = log(x);
        double ulp = nextafter(fabs(want), 1e9) - fabs(want);
        expect(fabs(y - want) <= ulp, "log", x);
        other += y < want || y > want;
    }
    ck_assert_int_lt(other, 200);
    ck_assert(ls__log(1) == 0 && isinf(ls__log(0)) && isnan(ls__log(-1)));
    ck_assert(isinf(ls__log((double)INFINITY)));
}

/* Powers of the decay rates give optax's bias corrections, and agree with a
 * long double power for many exponents. */
TEST(powers)
{
    static const int64_t n[] = {1, 2, 10};
    const float b = 0.999f;
    for (int i = 0; i < 3; i++) {
        ck_assert(same(1 - ls__pow_n(0.9f, n[i]), golden_bias_0_9[i]));
        ck_assert(same(1 - ls__pow_n(0.999f, n[i]), golden_bias_0_999[i]));
    }
    for (int i = 0; i < 5000; i++)
        expect(same(ls__pow_n(b, i), (float)powl((long double)b, i)), "b^n", i);
    ck_assert(ls__pow_n(0, 0) == 1 && ls__pow_n(0, 5) == 0);
    ck_assert(ls__pow_n(1, INT64_MAX) == 1);
    ck_assert(ls__pow_n(0.999f, INT64_MAX) == 0);
    for (int i = 0; i < 5000; i++) {
        float x = (float)(i - 2500) / 77;
        long double want = powl((long double)b, (long double)x);
        expect(same(ls__powf(b, x), (float)want), "b^x", (double)x);
    }
    ck_assert(ls__powf(2, 0) == 1 && ls__powf(2, 128) == INFINITY);
    ck_assert(ls__powf(0, 2) == 0 && ls__powf(0.5f, 1000) == 0);
}

/* ====== initial parameters ====== */

/* NNX counts requests and linen hashes paths, as Flax does. */
TEST(flax_keys)
{
    for (uint64_t i = 0; i < 3; i++)
        expect_key(ls__key_nnx(ls_key_new(0), i),
                   golden_nnx_keys_of_0 + 2 * i);
    for (int i = 0; i < COUNT(golden_linen); i++)
        expect_key(ls__key_linen(key42, golden_linen[i].scope, 1),
                   golden_linen[i].word);
}

/* Layers made with nnx.Rngs(0) start as Flax's. */
TEST(nnx_layers)
{
    ls_key key = ls__key_nnx(ls_key_new(0), 0);
    float x[12];
    ls__init_values(ls__init_of(LS__INIT_LECUN_NORMAL), key, 3, 2,
                    (int64_t[]){3, 2}, x);
    expect_floats(6, x, golden_nnx_linear_3_2);
    ls__init_values(ls__init_of(LS__INIT_NORMAL), key, 3, 2,
                    (int64_t[]){4, 3}, x);
    expect_floats(12, x, golden_nnx_embed_4_3);
}

/* Each variance scaling is its distribution times the float that
 * JAX's variance_scaling multiplies by, for fans 30 and 50. */
TEST(init_scales)
{
    enum { N = 1500 };
    static const struct {
        const char *name;
        float by;
    } rows[] = {
        {"lecun-truncated", 0x1.a914aep-3f},
        {"lecun-uniform", 0x1.43d138p-2f},
        {"glorot-truncated", 0x1.702176p-3f},
        {"glorot-uniform", 0x1.186f18p-2f},
        {"he-truncated", 0x1.2c93d6p-2f},
        {"he-uniform", 0x1.c9f25ep-2f},
    };
    static float x[N], y[N];
    for (int r = 0; r < COUNT(rows); r++) {
        ls_init init;
        OK(ls_init_named(&init, rows[r].name));
        ls__init_values(&init, key42, ls__init_fan(&init, 30, 50), 2,
                        (int64_t[]){30, 50}, x);
        if (init.distribution == LS_TRUNCATED_NORMAL)
            ls_random_truncated_normal(key42, 0, N, y);
        else
            ls_random_uniform(key42, 0, N, -1, 1, y);
        for (int i = 0; i < N; i++)
            expect(same(x[i], y[i] * rows[r].by), rows[r].name, i);
    }
}

static void expect_sha(const char *what, const float *x, int64_t n,
                       const char *want)
{
    const char *got = sha256_of(x, (size_t)n, sizeof *x);
    ck_assert_msg(!strcmp(got, want), "%s: %s, not %s", what, got, want);
}

/* NumPy's normals as floats, hashed. */
static void expect_randn(ls_numpy *rs, int64_t n, const char *sha)
{
    double *d = malloc((size_t)n * sizeof *d);
    float *x = malloc((size_t)n * sizeof *x);
    ck_assert(d && x);
    ls_numpy_randn(rs, n, d);
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)d[i];
    expect_sha("randn", x, n, sha);
    free(d);
    free(x);
}

/* Linear regression, 11 cases: the initial weights and the data. */
LOOP_TEST(linear_starts, 0, COUNT(golden_linear))
{
    static float x[64 * 64];
    int64_t n = golden_linear[_i].n, in = golden_linear[_i].d_in;
    int64_t out = golden_linear[_i].d_out;
    ls_key key = ls__key_nnx(ls_key_new(golden_linear[_i].seed), 0);
    ls_numpy rs;
    ck_assert(in * out <= COUNT(x));
    ls__init_values(ls__init_of(LS__INIT_LECUN_NORMAL), key, (double)in, 2,
                    (int64_t[]){in, out}, x);
    expect_sha("kernel", x, in * out, golden_linear[_i].kernel);
    ls_numpy_seed(&rs, golden_linear[_i].data_seed);
    expect_randn(&rs, n * in, golden_linear[_i].x);
    expect_randn(&rs, n * out, golden_linear[_i].y);
}

static ls__init kind_of(const char *name)
{
    static const struct {
        const char *end;
        ls__init kind;
    } ends[] = {{"bias", LS__INIT_ZEROS}, {"scale", LS__INIT_ONES},
                {"pos_emb", LS__INIT_SINUSOID},
                {"embedding", LS__INIT_NORMAL}};
    const char *dot = strrchr(name, '.');
    for (int i = 0; i < COUNT(ends); i++)
        if (!strcmp(dot ? dot + 1 : name, ends[i].end))
            return ends[i].kind;
    return LS__INIT_LECUN_NORMAL;
}

static void expect_init(const char *name, ls_key key, int64_t fan_in, int rank,
                        const int64_t *shape, const char *sha)
{
    int64_t n = ls__count(rank, shape);
    float *x = malloc((size_t)n * sizeof *x);
    ck_assert_ptr_nonnull(x);
    ls__init_values(ls__init_of(kind_of(name)), key, (double)fan_in, rank,
                    shape, x);
    expect_sha(name, x, n, sha);
    free(x);
}

/* The cnn: two convolutions and a dense layer, a key for each array
 * and each bias. */
TEST(cnn_starts)
{
    static const char *const layers[] = {"conv1", "conv2", "dense"};
    for (int i = 0; i < COUNT(golden_cnn); i++) {
        const char *name = golden_cnn[i].name;
        const int64_t *shape = golden_cnn[i].shape;
        int rank = golden_cnn[i].rank;
        uint64_t count = 0;
        while (strncmp(name, layers[count / 2], 5))
            count += 2;
        expect_init(name, ls__key_nnx(ls_key_new(0), count),
                    ls__count(rank - 1, shape), rank, shape,
                    golden_cnn[i].sha);
    }
}

/* The lm, each of its 53 parameters. */
TEST(lm_starts)
{
    ck_assert_int_eq(COUNT(golden_lm), 53);
    for (int i = 0; i < COUNT(golden_lm); i++) {
        const char *name = golden_lm[i].name, *dot = strrchr(name, '.');
        const int64_t *shape = golden_lm[i].shape;
        char scope[100];
        snprintf(scope, sizeof scope, "%.*s", dot ? (int)(dot - name) : 0,
                 name);
        int64_t fan = strstr(name, "embedding") ? shape[1]
                      : strstr(name, ".out.")   ? shape[0] * shape[1]
                                                : shape[0];
        expect_init(name, ls__key_linen(key42, scope, 1), fan,
                    golden_lm[i].rank, shape, golden_lm[i].sha);
    }
}

/* ====== hashes ====== */

static void expect_sha1(const char *text, const char *want)
{
    uint8_t d[20];
    char hex[41];
    ls__sha1 sha;
    ls__sha1_init(&sha);
    ls__sha1_update(&sha, text, strlen(text));
    ls__sha1_final(&sha, d);
    for (int i = 0; i < 20; i++)
        snprintf(hex + 2 * i, 3, "%02x", d[i]);
    ck_assert_str_eq(hex, want);
}

/* FIPS 180's known answers. */
TEST(sha_answers)
{
    const char *two_blocks =
        "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    expect_sha1("", "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    expect_sha1("abc", "a9993e364706816aba3e25717850c26c9cd0d89d");
    expect_sha1(two_blocks, "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
    ck_assert_str_eq(sha256_of("", 0, 1), "e3b0c44298fc1c149afbf4c8996fb924"
                                       "27ae41e4649b934ca495991b7852b855");
    ck_assert_str_eq(sha256_of("abc", 3, 1), "ba7816bf8f01cfea414140de5dae2223"
                                          "b00361a396177a9cb410ff61f20015ad");
    ck_assert_str_eq(sha256_of(two_blocks, 56, 1),
                     "248d6a61d20638b8e5c026930c3e6039"
                     "a33ce45964ff2167f6ecedd419db06c1");
}

/* A million letters give the known answer in pieces of any size. */
TEST(sha_pieces)
{
    static char a[1000000];
    memset(a, 'a', sizeof a);
    for (size_t piece = 1; piece < 300; piece += 49) {
        ls__sha256 sha;
        char hex[65];
        ls__sha256_init(&sha);
        for (size_t at = 0; at < sizeof a; at += piece) {
            size_t left = sizeof a - at;
            ls__sha256_update(&sha, a + at, left < piece ? left : piece);
        }
        ls__sha256_hex(&sha, hex);
        ck_assert_str_eq(hex, "cdc76e5c9914fb9281a1c7e284d73e67"
                              "f1809a48a497200e046d39ccc7112cd0");
    }
}

/* The CPU's own instructions, where it has them, mix as plain C does. */
TEST(sha_mixes)
{
    uint32_t a[8], b[8], block[16];
    for (uint64_t i = 0; i < 1000 && ls__sha256_fast(); i++) {
        ls_random_bits(ls_key_new(1), 16 * i, 16, block);
        ls_random_bits(ls_key_new(2), 8 * i, 8, a);
        memcpy(b, a, sizeof a);
        ls__sha256_mix(a, (const uint8_t *)block);
        ls__sha256_mix_fast(b, (const uint8_t *)block);
        ck_assert_mem_eq(a, b, sizeof a);
    }
}

MAIN()
