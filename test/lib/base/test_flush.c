/* SPDX-License-Identifier: BSD-3-Clause */
/* Proves what flushing to zero does around 2^-126, the smallest normal number:
 * the same on x86-64 and arm64, except to products, fused multiply-adds and
 * conversions from double whose exact value is below it by so little that it
 * would round to it.  x86-64 asks after rounding and has 2^-126; arm64 asks
 * before and has 0.  Sums and quotients are never there. */
#include "base/fpmode.h"
#include "calls.h"
#include "kernel/kernel.h"

#include <math.h>

#if defined(__x86_64__)
static const float disputed = 0x1p-126f;
#else
static const float disputed = 0;
#endif

enum { CASES = 200000 };

/* ------ Numbers, the same on every machine ------ */

static uint32_t state;

static uint32_t word(void)
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

/* Numbers of either sign, of magnitude 2^e to 2^(e+1). */
static float number(int e)
{
    float x = ldexpf(1 + (float)(word() >> 9) * 0x1p-23f, e);

    return word() & 1 ? -x : x;
}

/* x or one of its neighbours. */
static float next_to(float x)
{
    int32_t bits;

    memcpy(&bits, &x, sizeof x);
    bits += (int32_t)(word() % 5) - 2;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* ------ Operations and their exact values ------ */

typedef struct operands {
    volatile float a, b, c;
    volatile double d;
} operands;

/* high + low, which do not overlap; doubles do not underflow here. */
typedef struct exact {
    double high, low;
} exact;

static exact sum_of(double a, double b)
{
    double high = a + b, t = high - a;

    return (exact){high, (a - (high - t)) + (b - t)};
}

static operands near_sum(void)
{
    return (operands){.a = number(-126 + (int)(word() % 3)),
                      .b = number(-126 + (int)(word() % 3))};
}

static float add(const operands *x) { return x->a + x->b; }
static exact exact_sum(const operands *x)
{
    return sum_of((double)x->a, (double)x->b);
}

static operands near_product(void)
{
    float a = number(-63 + (int)(word() % 9) - 4);

    return (operands){.a = a, .b = next_to((float)(0x1p-126 / (double)a))};
}

static float multiply(const operands *x) { return x->a * x->b; }
static exact exact_product(const operands *x)
{
    return (exact){(double)x->a * (double)x->b, 0};
}

static operands near_quotient(void)
{
    float b = number((int)(word() % 20));

    return (operands){.a = next_to((float)(0x1p-126 * (double)b)), .b = b};
}

static float divide(const operands *x) { return x->a / x->b; }
static exact exact_quotient(const operands *x)
{
    double high = (double)x->a / (double)x->b;

    return (exact){high,
                   -fma(high, (double)x->b, -(double)x->a) / (double)x->b};
}

static operands near_fused(void)
{
    float a = number(-63 + (int)(word() % 9) - 4);
    float c = number(-126 + (int)(word() % 6));

    return (operands){
        .a = a, .b = next_to((float)((0x1p-126 - (double)c) / (double)a)),
        .c = c};
}

/* A matrix product of the library's: c times 1, then a times b added to it. */
static float fuse(const operands *x)
{
    float a[2] = {x->c, x->a}, b[2] = {1, x->b}, c;
    static float scratch[1 << 18];
    const ls__products *native = ls__kernels()->native[LS_F32_LAYERS].products;

    ck_assert_int_le(native->scratch(2, 1), 1 << 18);
    native->gemm(&(ls__product){.m = 1, .n = 1, .k = 2, .a = a, .a_row = 2,
                                .a_col = 1, .b = b, .b_row = 1, .b_col = 1,
                                .c = &c, .c_row = 1, .scale = 1},
                 scratch);
    return c;
}
static exact exact_fused(const operands *x)
{
    return sum_of((double)x->a * (double)x->b, (double)x->c);
}

static operands near_double(void)
{
    double x = 0x1p-126 * (1 + ((double)(word() % 2001) - 1000) * 0x1p-34);

    return (operands){.d = word() & 1 ? -x : x};
}

static float narrow(const operands *x) { return (float)x->d; }
static exact exact_double(const operands *x) { return (exact){x->d, 0}; }

static const struct {
    const char *name;
    operands (*near)(void);
    float (*compute)(const operands *x);
    exact (*value)(const operands *x);
    bool may; /* its value may be where the machines differ */
} operation[] = {
    {"sum", near_sum, add, exact_sum, false},
    {"product", near_product, multiply, exact_product, true},
    {"quotient", near_quotient, divide, exact_quotient, false},
    {"fused multiply-add", near_fused, fuse, exact_fused, true},
    {"conversion", near_double, narrow, exact_double, true},
};

/* ------ */

static bool below(exact x, double limit)
{
    return x.high < limit || (x.high == limit && x.low < 0);
}

/* Values from half a step under 2^-126 on, were exponents to go on, round to
 * it. */
static float flushed(exact x, float rounded, bool *differs)
{
    exact size = x.high < 0 ? (exact){-x.high, -x.low} : x;

    *differs = below(size, 0x1p-126) && !below(size, 0x1p-126 - 0x1p-151);
    if (*differs)
        return disputed;
    return below(size, 0x1p-126) ? 0 : fabsf(rounded);
}

LOOP_TEST(test_flush, 0, sizeof operation / sizeof *operation)
{
    int differ = 0;

    state = 2463534242u;
    for (int i = 0; i < CASES; i++) {
        operands x = operation[_i].near();
        exact value = operation[_i].value(&x);
        float rounded = operation[_i].compute(&x), got, want;
        ls__fpmode old = ls__fpmode_set();
        bool differs;

        got = operation[_i].compute(&x);
        ls__fpmode_restore(old);
        want = flushed(value, rounded, &differs);
        differ += differs;
        ck_assert_msg(fabsf(got) == want, "%s %a: %a, not %a",
                      operation[_i].name, value.high, (double)got,
                      (double)want);
    }
    ck_assert_msg((differ > CASES / 100) == operation[_i].may,
                  "%s: %d of %d", operation[_i].name, differ, CASES);
}

MAIN()
