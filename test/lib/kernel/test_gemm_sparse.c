/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrix products with zeros in one operand, byte for byte against the ten
 * lines of reference() below, on every instruction level that keeps the
 * contract of bits.
 *
 * The other operand is NaN and infinite wherever only zeros meet it: a product
 * that takes the zeros along shows, so it is known that this kernel ran. */
#include "backends.h"
#include "base/fpmode.h"
#include "kernel/product.h"
#include "support.h"

#include <stdio.h>

enum {
    MOST = 400,
    PAD = 5, /* columns of NaN between rows */
    THIN = UNDER_SANITIZER ? 3 : 1
};

typedef struct problem {
    int64_t m, n, k;
    bool transposed;   /* A is given by columns: a weight's gradient */
    bool in_b;         /* the zeros are in B */
    bool packed;
    int kept;          /* numbers of a hundred that are not zero */
    bool tiny;         /* all products underflow, and no NaN shows zeros */
    unsigned pieces;   /* of the epilogue */
} problem;

enum { ACCUMULATE = 1, BIAS = 2, RELU = 4, KEEP = 8, TIMES = 16, ADD = 32,
       SCALE = 64, PIECES = 128 };

typedef struct operands {
    float *a, *b;      /* (m,k), (k,n), rows of MOST */
    float *right;      /* (m,n), rows of n + PAD, as all that follow */
    float *slope, *slope_right, *times, *add, *bias;
} operands;

/* ------ The contract ------ */

/* c (+)= a b: K in chunks of 256, each a chain of fused multiply-adds from +0
 * in rising k, then +0; without the steps whose factor on the sparse side is 0,
 * but where the test is that this does not show. */
static float reference(const problem *p, const operands *o, float c, int64_t i,
                       int64_t j)
{
    for (int64_t first = 0; first < p->k; first += 256) {
        float sum = 0;

        for (int64_t q = first; q < p->k && q < first + 256; q++) {
            float x = o->a[i * MOST + q], y = o->b[q * MOST + j];

            if (p->tiny || (p->in_b ? y : x) != 0)
                sum = __builtin_fmaf(x, y, sum);
        }
        c = first || p->pieces & ACCUMULATE ? c + sum : sum;
    }
    return c + 0.0f;
}

/* ------ Numbers ------ */

static const float no_number[] = {NAN, INFINITY, -INFINITY};

/* A side with zeros of both signs, in some rows more than in others; step 3 of
 * K is zeros alone. */
static void make_sparse(const problem *p, float *x)
{
    float *chance = malloc(sizeof(float) * MOST * MOST);

    fill_uniform(11, MOST * MOST, chance);
    for (int64_t i = 0; i < MOST; i++)
        for (int64_t j = 0; j < MOST; j++) {
            float *at = x + i * MOST + j;
            bool zero = (chance[i * MOST + j] + 1) * 50 >=
                        (float)p->kept * (i % 7 < 3 ? 1.2f : 0.8f);

            if (zero || (p->in_b ? i : j) == 3)
                *at = (i + j) % 2 ? 0.0f : -0.0f;
        }
    free(chance);
}

/* What only the zeros of step 3 meet. */
static void make_wild(const problem *p, float *x)
{
    for (int64_t i = 0; i < MOST; i++)
        x[p->in_b ? i * MOST + 3 : 3 * MOST + i] = no_number[i % 3];
}

static void make_tiny(float *a, float *b)
{
    for (int64_t i = 0; i < MOST * MOST; i++) {
        a[i] *= 1e-20f;
        b[i] *= 1e-20f;
    }
}

static operands make(const problem *p)
{
    int64_t c = p->m * (p->n + PAD);
    operands o = {.a = malloc(sizeof(float) * MOST * MOST),
                  .b = malloc(sizeof(float) * MOST * MOST),
                  .right = uniform(3, c), .slope = fenced(c),
                  .slope_right = fenced(c), .times = uniform(4, c),
                  .add = uniform(5, c), .bias = uniform(6, p->n)};

    fill_uniform(1, MOST * MOST, o.a);
    fill_uniform(2, MOST * MOST, o.b);
    make_sparse(p, p->in_b ? o.b : o.a);
    if (p->tiny)
        make_tiny(o.a, o.b);
    else
        make_wild(p, p->in_b ? o.a : o.b);
    return o;
}

/* A copy (rows,cols) of x whose rows are `row` floats apart, or whose columns
 * are, NaN between; its last number is the last before a fence. */
static float *lay_out(const float *x, int64_t rows, int64_t cols, int64_t row,
                      int64_t col)
{
    float *to = fenced((rows - 1) * row + (cols - 1) * col + 1);

    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            to[i * row + j * col] = x[i * MOST + j];
    return to;
}

static ls__product product(const ls__kernel_table *kernel, const problem *p,
                           const operands *o)
{
    unsigned pieces = p->pieces;
    ls__product g = {.m = p->m, .n = p->n, .k = p->k, .c_row = p->n + PAD,
                     .a_row = p->transposed ? 1 : p->k + PAD,
                     .a_col = p->transposed ? p->m + PAD : 1,
                     .b_row = p->n + PAD, .b_col = 1,
                     .accumulate = pieces & ACCUMULATE,
                     .scale = pieces & SCALE ? 0.3f : 1,
                     .bias = pieces & BIAS ? o->bias : NULL,
                     .activation = pieces & RELU ? LS__RELU : LS__NO_ACTIVATION,
                     .slope = pieces & RELU && pieces & KEEP ? o->slope : NULL,
                     .times = pieces & TIMES ? o->times : NULL,
                     .add = pieces & ADD ? o->add : NULL};

    const ls__products *of = products_of(kernel);

    g.a = lay_out(o->a, p->m, p->k, g.a_row, g.a_col);
    g.b = lay_out(o->b, p->k, p->n, g.b_row, g.b_col);
    g.c = uniform(3, p->m * g.c_row); /* what right begins as */
    if (p->packed) {
        float *packed = fenced(of->packed_size(p->k, p->n));

        of->pack(p->k, p->n, g.b, g.b_row, g.b_col, packed);
        g.packed = packed;
        g.b = NULL;
    }
    return g;
}

/* ------ One product ------ */

/* The reference, then the epilogue kernel, which test_gemm.c holds. */
static void make_right(const ls__kernel_table *kernel, const problem *p,
                       const operands *o, ls__product g)
{
    g.c = o->right;
    g.slope = g.slope ? o->slope_right : NULL;
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            float *c = o->right + i * g.c_row + j;

            *c = reference(p, o, *c, i, j);
        }
    kernel->epilogue(&g);
}

static bool is_right(const ls__kernel_table *kernel, const problem *p)
{
    const ls__products *of = products_of(kernel);
    operands o = make(p);
    ls__product g = product(kernel, p, &o);
    size_t bytes = (size_t)(p->m * g.c_row) * sizeof *g.c;
    bool right;

    make_right(kernel, p, &o, g);
    of->gemm(&g, fenced(of->scratch(p->k, p->n)));
    right = !memcmp(g.c, o.right, bytes) &&
            !memcmp(o.slope, o.slope_right, bytes);
    free(o.a);
    free(o.b);
    fences_free();
    return right;
}

#define RIGHT(kernel, ...) \
    do { \
        problem p_ = __VA_ARGS__; \
        ck_assert_msg(is_right(kernel, &p_), \
                      "%s: m %d n %d k %d, %s, zeros in %s, %s, %d kept, " \
                      "pieces 0x%x", (kernel)->name, (int)p_.m, (int)p_.n, \
                      (int)p_.k, p_.transposed ? "transposed" : "by rows", \
                      p_.in_b ? "B" : "A", p_.packed ? "packed" : "as it is", \
                      p_.kept, p_.pieces); \
    } while (0)

/* Every size around what lists, blocks and bands end at, stored in each way
 * that a layer has, gives the reference's bytes. */
LOOP_TEST(test_sizes, 0, levels())
{
    static const int sizes[] = {64, 65, 79, 96, 127, 128, 129, 144, 273};
    static const int depths[] = {64, 65, 80, 128, 200, 256, 257, 300};
    const ls__kernel_table *kernel = level(_i);

    if (!kernel)
        return;
    ls__fpmode_set();
    for (int m = 0; m < 9; m++)
        for (int n = m % THIN; n < 9; n += THIN) {
            int depth = depths[(m + n) % 8], kept = (m * 9 + n) * 7 % 28;

            RIGHT(kernel, {sizes[m], sizes[n], depth, .packed = true,
                           .kept = kept});
            RIGHT(kernel, {sizes[m], sizes[n], depth, .transposed = true,
                           .kept = kept});
            RIGHT(kernel, {sizes[m], sizes[n], depth, .transposed = true,
                           .in_b = true, .kept = kept});
        }
}

/* Every combination of what a product may end with. */
LOOP_TEST(test_epilogues, 0, levels())
{
    const ls__kernel_table *kernel = level(_i);

    if (!kernel)
        return;
    ls__fpmode_set();
    for (unsigned pieces = 0; pieces < PIECES; pieces += THIN) {
        int depth = pieces & ACCUMULATE ? 100 : 260;

        RIGHT(kernel, {70, 150, depth, .packed = true, .kept = 30,
                       .pieces = pieces});
        RIGHT(kernel, {150, 70, depth, .transposed = true, .in_b = true,
                       .kept = 30, .pieces = pieces});
    }
}

/* Zeros that were left out do not show in the sign of a sum that underflows. */
LOOP_TEST(test_tiny, 0, levels())
{
    const ls__kernel_table *kernel = level(_i);

    if (!kernel)
        return;
    ls__fpmode_set();
    for (int kept = 0; kept < 28; kept += 9) {
        RIGHT(kernel, {70, 150, 300, .packed = true, .kept = kept,
                       .tiny = true});
        RIGHT(kernel, {150, 70, 100, .transposed = true, .in_b = true,
                       .kept = kept, .tiny = true, .pieces = ACCUMULATE});
    }
}

/* All zeros, and what is nearly all zeros. */
LOOP_TEST(test_empty, 0, levels())
{
    const ls__kernel_table *kernel = level(_i);

    if (!kernel)
        return;
    ls__fpmode_set();
    for (int kept = 0; kept < 3; kept++) {
        RIGHT(kernel, {64, 64, 300, .packed = true, .kept = kept});
        RIGHT(kernel, {64, 64, 64, .transposed = true, .in_b = true,
                       .kept = kept, .pieces = ACCUMULATE});
    }
}

MAIN(.teardown = fences_free)
