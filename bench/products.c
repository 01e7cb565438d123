/* SPDX-License-Identifier: BSD-3-Clause */
/* The f32 products of a step of lockstep-train lm and mlp, one by one: their
 * rate as a share of what the core's fused multiply-adds reach in the same
 * moments.
 *
 *     cc -O2 -std=gnu11 -I include -I lib bench/products.c \
 *         build/.libs/libkernel_v4.a -o bench-products
 *     taskset -c 0 ./bench-products [SECONDS [WORD]]
 *
 * Each row whose text has WORD in it is repeated for SECONDS (1).  By the
 * processor time of the thread: the least, and the median. */
#include "kernel/kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xmmintrin.h>

extern const ls__kernel_table ls__kernels_v4;

enum { SAMPLES = 100000, FLOATS = 1 << 21, FLUSHED = 0x8040 };

typedef enum kind { Y, Y_GELU, Y_SLOPE, Y_ADD, DX, DX_SLOPE, DW } kind;

static const struct row {
    const char *text;
    int rows, in, out;
    kind kind;
} table[] = {
    {"lm y", 256, 256, 256, Y},
    {"lm y", 256, 256, 1024, Y},
    {"lm y gelu", 256, 256, 1024, Y_GELU},
    {"lm y gelu slope", 256, 256, 1024, Y_SLOPE},
    {"lm y add", 256, 1024, 256, Y_ADD},
    {"lm y", 256, 256, 512, Y},
    {"lm dx", 256, 256, 256, DX},
    {"lm dx", 256, 256, 1024, DX},
    {"lm dx slope", 256, 1024, 256, DX_SLOPE},
    {"lm dx", 256, 256, 512, DX},
    {"lm dw", 256, 256, 256, DW},
    {"lm dw", 256, 256, 1024, DW},
    {"lm dw", 256, 1024, 256, DW},
    {"lm dw", 256, 256, 512, DW},
    {"mlp y", 128, 784, 512, Y},
    {"mlp y", 128, 512, 512, Y},
    {"mlp dx slope", 128, 512, 512, DX_SLOPE},
    {"mlp dw", 128, 784, 512, DW},
    {"mlp dw", 128, 512, 512, DW},
};

enum { TABLE = sizeof table / sizeof table[0] };

typedef struct arrays {
    float *x, *w, *dy, *other, *bias, *packed, *c, *scratch;
} arrays;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Numbers between -1 and 1, none of them 0 but by chance. */
static float *numbers(void)
{
    float *x = aligned_alloc(1 << 21, FLOATS * sizeof *x);
    unsigned s = 1;

    if (!x)
        exit(EXIT_FAILURE);
    for (int i = 0; i < FLOATS; i++) {
        s = s * 1664525u + 1013904223u;
        x[i] = (float)(s >> 9) / (1 << 22) - 1;
    }
    return x;
}

/* The product of a row, its B packed where the step has packed it. */
static ls__product product(const struct row *r, const arrays *a)
{
    const ls__products *by = ls__kernels_v4.native[LS_F32_LAYERS].products;
    int64_t rows = r->rows, in = r->in, out = r->out;

    if (r->kind == DW)
        return (ls__product){.m = in, .n = out, .k = rows, .a = a->x,
                             .a_row = 1, .a_col = in, .b = a->dy,
                             .b_row = out, .b_col = 1, .c = a->c,
                             .c_row = out, .accumulate = true, .scale = 1};
    if (r->kind == DX || r->kind == DX_SLOPE) {
        by->pack(out, in, a->w, 1, out, a->packed);
        return (ls__product){.m = rows, .n = in, .k = out, .a = a->dy,
                             .a_row = out, .a_col = 1, .packed = a->packed,
                             .c = a->c, .c_row = in, .scale = 1,
                             .times = r->kind == DX ? NULL : a->other};
    }
    by->pack(in, out, a->w, out, 1, a->packed);
    return (ls__product){.m = rows, .n = out, .k = in, .a = a->x, .a_row = in,
                         .a_col = 1, .packed = a->packed, .c = a->c,
                         .c_row = out, .scale = 1,
                         .bias = r->kind == Y ? NULL : a->bias,
                         .activation = r->kind == Y_GELU || r->kind == Y_SLOPE
                                           ? LS__GELU : LS__NO_ACTIVATION,
                         .slope = r->kind == Y_SLOPE ? a->other : NULL,
                         .add = r->kind == Y_ADD ? a->other : NULL};
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void measure(const struct row *r, const arrays *a, double seconds)
{
    static double took[SAMPLES];
    const ls__kernel_table *k = &ls__kernels_v4;
    ls__product g = product(r, a);
    double flop = 2.0 * r->rows * r->in * r->out, roof = 0;
    double end = now() + seconds, start, rate;
    float io[16] = {0};
    int n = 0;

    for (; n < SAMPLES && (n == 0 || now() < end); n++) {
        start = now();
        rate = (double)k->fma_loop(4000, io);
        rate /= now() - start;
        roof = rate > roof ? rate : roof;
        start = now();
        k->native[LS_F32_LAYERS].products->gemm(&g, a->scratch);
        took[n] = now() - start;
    }
    qsort(took, (size_t)n, sizeof *took, by_size);
    printf("%-16s %5d %5d %5d %6.1f %6.1f %8.0f %6.0f\n", r->text, r->rows,
           r->in, r->out, 100 * flop / took[0] / roof,
           100 * flop / took[n / 2] / roof, 1e6 * took[0], 1e-9 * roof);
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 1;
    arrays a = {numbers(), numbers(), numbers(), numbers(),
                numbers(), numbers(), numbers(), numbers()};

    _mm_setcsr(_mm_getcsr() | FLUSHED);
    puts("product           rows    in   out  least median  us least   roof");
    for (int i = 0; i < TABLE; i++)
        if (argc < 3 || strstr(table[i].text, argv[2]))
            measure(&table[i], &a, seconds);
}
