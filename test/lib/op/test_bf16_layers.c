/* SPDX-License-Identifier: BSD-3-Clause */
/* bf16 layers: products and convolutions by each way there is to compute them
 * are the referee's, byte for byte, and near what the same
 * rounded numbers give in double; a transformer stays near its f32 self; NaN
 * and infinity pass; what is refused.  (Fixtures of JAX: test_variants.c.  The
 * same bits: test_determinism.c.) */
#include "alone.h"
#include "asked_node.h"
#include "asked_product.h"
#include "backends.h"
#include "base/fpmode.h"
#include "op/layer_parts.h"
#include "op/op_table.h"
#include "op/window.h"
#include "models.h"
#include "reference.h"
#include "software_unit.h"

#include <pthread.h>

/* ------ Ways to compute them ------ */

/* Those of the library, then the kernels of AMX without it. */
static const ls__backend *way(int i)
{
    static ls__backend software = {
        .text = "a matrix unit in software", .bf16 = true};
    const ls__backend *be = maker(LS_BF16_LAYERS, i);

    if (be || (i > 0 && !maker(LS_BF16_LAYERS, i - 1)))
        return be;
    software.products = software_unit();
    software.convs = software_unit_convs();
    return &software;
}

static int ways(void)
{
    int n = 0;

    while (way(n))
        n++;
    return n;
}

/* ------ Products ------ */

typedef struct sizes {
    int64_t m, n, k;
} sizes;

/* Sizes around tiles, pairs, bands and chunks, and a depth beyond all bands. */
static const sizes problems[] = {
    {1, 1, 1},    {1, 2, 2},      {3, 5, 7},     {14, 32, 64},  {15, 33, 65},
    {29, 16, 33}, {113, 17, 31},  {112, 48, 16}, {2, 64, 257},  {17, 31, 512},
    {5, 40, 513}, {130, 7, 1030}, {64, 64, 32},  {3, 33, 8203}, {40, 3, 300}};

typedef enum storage { BY_ROWS, BY_COLUMNS, GENERAL, STORAGES } storage;

/* A matrix of random numbers, NaN between them, rounded ones kept beside. */
typedef struct matrix {
    float *at;
    int64_t row, col;
    double *rounded; /* (rows,cols) */
} matrix;

static matrix make_matrix(int seed, int64_t rows, int64_t cols, storage how)
{
    const int64_t strides[][2] = {{cols + 3, 1}, {1, rows + 3},
                                  {2 * cols + 3, 2}};
    matrix x = {.row = strides[how][0], .col = strides[how][1]};
    float *values = uniform(seed, rows * cols);

    x.at = fenced((rows - 1) * x.row + (cols - 1) * x.col + 1);
    x.rounded = doubles(rows * cols, NULL, LS_F32);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) {
            x.at[i * x.row + j * x.col] = values[i * cols + j];
            x.rounded[i * cols + j] = bf16_value((double)values[i * cols + j]);
        }
    return x;
}

static ls__product product_of(const matrix *a, const matrix *b, sizes s)
{
    return (ls__product){.m = s.m,
                         .n = s.n,
                         .k = s.k,
                         .a = a->at,
                         .a_row = a->row,
                         .a_col = a->col,
                         .b = b->at,
                         .b_row = b->row,
                         .b_col = b->col,
                         .c = fenced(s.m * s.n),
                         .c_row = s.n,
                         .scale = 1};
}

static void compute(const ls__backend *be, ls__product *g, bool pack)
{
    if (pack) {
        float *packed = fenced(be->products->packed_size(g->k, g->n));

        be->products->pack(g->k, g->n, g->b, g->b_row, g->b_col, packed);
        g->packed = packed;
    }
    be->products->gemm(g, fenced(be->products->scratch(g->k, g->n)));
}

/* Sums of K products in floats: each is off by less than K/2^24 of the sum of
 * sizes, and pairs round once more. */
static void check_product(const ls__product *g, const matrix *a,
                          const matrix *b)
{
    for (int64_t i = 0; i < g->m; i++)
        for (int64_t j = 0; j < g->n; j++) {
            double sum = 0, size = 0, error;

            for (int64_t p = 0; p < g->k; p++) {
                double t = a->rounded[i * g->k + p] * b->rounded[p * g->n + j];

                sum += t;
                size += fabs(t);
            }
            error = fabs((double)g->c[i * g->n + j] - sum);
            HOLDS(error <= (double)(g->k + 4) * 0x1p-23 * size,
                  "%lld,%lld of %lld %lld %lld: off by %g", (long long)i,
                  (long long)j, (long long)g->m, (long long)g->n,
                  (long long)g->k, error);
        }
}

/* Proves that products are those of the rounded numbers, however operands are
 * stored, packed beforehand or not, and that nothing else is read. */
LOOP_TEST(products, 0, ways())
{
    const ls__backend *be = way(_i);

    ls__fpmode_set();
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++)
        for (int how = 0; how < 2 * STORAGES * STORAGES; how++) {
            sizes s = problems[i];
            matrix a = make_matrix(1, s.m, s.k, how % STORAGES);
            matrix b = make_matrix(2, s.k, s.n, how / STORAGES % STORAGES);
            ls__product g = product_of(&a, &b, s);

            compute(be, &g, how >= STORAGES * STORAGES);
            check_product(&g, &a, &b);
            free(a.rounded);
            free(b.rounded);
            fences_free();
        }
}

/* ------ Values that are numbers of bf16 ------ */

/* Two products, and the gradient of the second one's weights: the hidden value
 * as it is, or as words. */
typedef struct layers {
    float *hidden, *slope, *y, *dw;
} layers;

enum { VECTORS = 96, IN = 40, HIDDEN = 64, OUT = 33 };

static void multiply(const ls__backend *be, const ls__product *g)
{
    be->products->gemm(g, fenced(be->products->scratch(g->k, g->n)));
}

static layers two_layers(const ls__backend *be, ls__activation activation,
                         bool words)
{
    float *hidden = fenced(VECTORS * HIDDEN / (words ? 2 : 1));
    layers l = {hidden, fenced(VECTORS * HIDDEN), fenced(VECTORS * OUT),
                fenced(HIDDEN * OUT)};
    ls__product of_hidden = {.m = VECTORS, .n = HIDDEN, .k = IN,
                             .a = uniform(1, VECTORS * IN), .a_row = IN,
                             .a_col = 1, .b = uniform(2, IN * HIDDEN),
                             .b_row = HIDDEN, .b_col = 1, .c = hidden,
                             .c_row = HIDDEN, .scale = 1, .round = true,
                             .bias = uniform(3, HIDDEN),
                             .activation = activation, .slope = l.slope,
                             .c_bf16 = words};
    ls__product of_y = {.m = VECTORS, .n = OUT, .k = HIDDEN, .a = hidden,
                        .a_row = HIDDEN, .a_col = 1,
                        .b = uniform(4, HIDDEN * OUT), .b_row = OUT, .b_col = 1,
                        .c = l.y, .c_row = OUT, .scale = 1, .a_bf16 = words};
    ls__product of_dw = {.m = HIDDEN, .n = OUT, .k = VECTORS, .a = hidden,
                         .a_row = 1, .a_col = HIDDEN,
                         .b = uniform(5, VECTORS * OUT), .b_row = OUT,
                         .b_col = 1, .c = l.dw, .c_row = OUT,
                         .accumulate = true, .scale = 1, .a_bf16 = words};

    memset(l.dw, 0, HIDDEN * OUT * sizeof *l.dw);
    multiply(be, &of_hidden);
    multiply(be, &of_y);
    multiply(be, &of_dw);
    return l;
}

static void check_same(const float *a, const float *b, int64_t n)
{
    ck_assert_mem_eq(a, b, (size_t)n * sizeof *a);
}

/* Proves that a value left as numbers of bf16 gives its readers the bytes that
 * it gives as floats, its slopes too, and that nothing else is written. */
LOOP_TEST(as_words, 0, ways())
{
    const ls__backend *be = way(_i);

    ls__fpmode_set();
    for (int a = 0; a < LS__ACTIVATIONS && be->products->to_bf16; a++) {
        layers want = two_layers(be, (ls__activation)a, false);
        layers got = two_layers(be, (ls__activation)a, true);
        float *words = fenced(VECTORS * HIDDEN / 2);

        be->products->to_bf16(VECTORS, HIDDEN, want.hidden, words);
        check_same(got.hidden, words, VECTORS * HIDDEN / 2);
        if (a)
            check_same(got.slope, want.slope, VECTORS * HIDDEN);
        check_same(got.y, want.y, VECTORS * OUT);
        check_same(got.dw, want.dw, HIDDEN * OUT);
        fences_free();
    }
}

/* Three sequences of 64 positions, which attention sees as three heads. */
enum { SEQUENCES = 3, POSITIONS = 64, WIDTH = 96 };
enum { EACH = POSITIONS * WIDTH, ALL = SEQUENCES * EACH };

/* Run operator n forward, and again to numbers of bf16; both keep the same. */
static void check_words(const ls__backend *be, const ls_node *n)
{
    float *y = fenced(ALL), *rounded = fenced(ALL / 2);
    alone a = alone_of(n), words = alone_of(n);
    ls__run r = {.node = n, .rows = SEQUENCES,
                 .x = {uniform(1, ALL), uniform(2, ALL), uniform(3, ALL)},
                 .y = y, .param = {uniform(4, WIDTH), uniform(5, WIDTH)},
                 .backend = be, .kernels = ls__kernels()}, of_words = r;

    alone_start(&a, &r);
    n->op->run.forward(&r);
    be->products->to_bf16(SEQUENCES * POSITIONS, WIDTH, y, rounded);
    ck_assert(n->op->plan.may_bf16(&words.in, LS__VALUE));
    words.in.is_bf16 = true;
    alone_start(&words, &of_words);
    of_words.y = fenced(ALL / 2);
    n->op->run.forward(&of_words);
    check_same(of_words.y, rounded, ALL / 2);
    check_same(of_words.stash, r.stash, SEQUENCES * a.in.kept);
    fences_free();
}

/* Proves the same of a layer norm and of attention, whose heads are products
 * side by side. */
LOOP_TEST(others_as_words, 0, ways())
{
    const ls__backend *be = way(_i);
    ls_graph *g;
    ls_node *x;

    if (!be->products->to_bf16)
        return;
    ls__fpmode_set();
    OK(ls_graph_new(&g));
    x = ls_input(g, "x", LS_F32, 2, (int64_t[]){POSITIONS, WIDTH});
    check_words(be, ls_layer_norm(x, "n"));
    check_words(be, ls__attention(x, x, x, 3, false, 0, "a"));
    check_words(be, ls__attention(x, x, x, 3, true, 0, "b"));
    ls_graph_free(g);
}

/* ------ The bytes of products ------ */

enum { SORTS = 8 };

/* A number of a sort: as they come; over 80 powers of two; tiny and denormal;
 * with infinities, NaN and what overflows; mostly zeros of both signs; whose
 * products are about 2^-126; any bits; half of them cut by a relu. */
static float number_of(int sort, float x, uint32_t r)
{
    int power = (int)(r % 81) - 40;

    switch (sort) {
    case 1: return ldexpf(x, power);
    case 2: return asked_word(r % 0x01800000 | (r & 0x80000000));
    case 3: return r % 41 == 0   ? INFINITY
                   : r % 43 == 0 ? NAN
                   : r % 7 == 0  ? ldexpf(x, 100)
                                 : x;
    case 4: return r % 3 == 0 ? x : r % 3 == 1 ? 0.0f : -0.0f;
    case 5: return ldexpf(x, -63 + power / 10);
    case 6: return asked_word(r);
    case 7: return x > 0 ? x : 0;
    default: return x;
    }
}

static void fill_sort(matrix *x, int seed, int sort, int64_t rows, int64_t cols)
{
    float *values = uniform(seed, rows * cols);
    int32_t *words = integers((uint32_t)seed, 1 << 30, (int)(rows * cols));

    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) {
            uint32_t r = (uint32_t)words[i * cols + j] * 2654435761u;

            x->at[i * x->row + j * x->col] =
                number_of(sort, 2 * values[i * cols + j] - 1, r);
        }
    free(words);
}

/* Check one way, operands packed or not, onto what C has or not. */
static void check_bits(int number, const ls__product *of, const float *before,
                       const float *want)
{
    const ls__backend *be;

    for (int i = 0; (be = way(i)); i++) {
        ls__product g = *of;

        g.c = fenced(g.m * g.n);
        if (before)
            memcpy(g.c, before, (size_t)(g.m * g.n) * sizeof *g.c);
        g.accumulate = before != NULL;
        compute(be, &g, (number + i) % 2);
        for (int64_t e = 0; e < g.m * g.n; e++)
            HOLDS(asked_is(g.c[e], f_of(want[e])),
                  "%s, %d: %lld of (%lld,%lld), K %lld, is %a, not %a",
                  be->text, number, (long long)e, (long long)g.m,
                  (long long)g.n, (long long)g.k, (double)g.c[e],
                  (double)want[e]);
    }
}

/* Proves that every way gives the referee's bytes, for numbers of all
 * sorts, operands stored in all ways, on top of C or not. */
LOOP_TEST(product_bits, 0, SORTS)
{
    ls__fpmode_set();
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        sizes s = problems[i];
        int number = (int)i + _i;
        matrix a = make_matrix(1, s.m, s.k, number % STORAGES);
        matrix b = make_matrix(2, s.k, s.n, number / STORAGES % STORAGES);
        ls__product g = product_of(&a, &b, s);
        float *before = number % 4 == 1 ? uniform(3, s.m * s.n) : NULL;
        float *want = fenced(s.m * s.n);

        fill_sort(&a, 4 + _i, _i, s.m, s.k);
        fill_sort(&b, 14 + _i, _i, s.k, s.n);
        for (int64_t e = 0; e < s.m * s.n; e++)
            want[e] = asked_product(bf16_product, &g, e / s.n, e % s.n,
                                    before ? before + e : NULL);
        check_bits(number, &g, before, want);
        free(a.rounded);
        free(b.rounded);
        fences_free();
    }
}

/* Proves that K may be cut between steps and the sum left in C: rows of the
 * plan that come chunk by chunk give the bytes of all at once. */
LOOP_TEST(cut_anywhere, 0, ways())
{
    const ls__backend *be = way(_i);
    sizes s = {20, 40, 160};

    ls__fpmode_set();
    if (be) {
        matrix a = make_matrix(1, s.m, s.k, BY_COLUMNS);
        matrix b = make_matrix(2, s.k, s.n, BY_ROWS);
        ls__product whole = product_of(&a, &b, s), g = product_of(&a, &b, s);

        compute(be, &whole, false);
        for (int64_t p = 0; p < s.k; p += 64, g.accumulate = true) {
            g.a = whole.a + p * g.a_col;
            g.b = whole.b + p * g.b_row;
            g.k = s.k - p < 64 ? s.k - p : 64;
            compute(be, &g, false);
        }
        ck_assert_mem_eq(g.c, whole.c, (size_t)(s.m * s.n) * sizeof *g.c);
        free(a.rounded);
        free(b.rounded);
        fences_free();
    }
}

static uint32_t lower_half(float x)
{
    return f_of(x) & 0xffff;
}

/* Proves that the epilogue rounds the sum with its bias, before relu. */
LOOP_TEST(epilogue, 0, ways())
{
    const ls__backend *be = way(_i);
    sizes s = {30, 37, 50};
    int negative = 0;

    ls__fpmode_set();
    if (be) {
        matrix a = make_matrix(1, s.m, s.k, BY_ROWS);
        matrix b = make_matrix(2, s.k, s.n, BY_ROWS);
        ls__product plain = product_of(&a, &b, s), g = product_of(&a, &b, s);

        plain.bias = g.bias = uniform(3, s.n);
        g.round = true;
        g.activation = LS__RELU;
        compute(be, &plain, false);
        compute(be, &g, false);
        for (int64_t i = 0; i < s.m * s.n; i++) {
            double want = bf16_value((double)plain.c[i]);

            negative += want < 0;
            HOLDS(g.c[i] == (float)(want < 0 ? 0 : want) &&
                      lower_half(g.c[i]) == 0,
                  "%lld is %a, not %a", (long long)i, (double)g.c[i], want);
        }
        ck_assert_int_gt(negative, 9);
        free(a.rounded);
        free(b.rounded);
        fences_free();
    }
}

/* Proves that infinity and NaN in an operand reach their row or column of the
 * product, and no other. */
LOOP_TEST(not_finite, 0, ways())
{
    const ls__backend *be = way(_i);
    sizes s = {20, 40, 33};

    ls__fpmode_set();
    if (be) {
        matrix a = make_matrix(1, s.m, s.k, BY_ROWS);
        matrix b = make_matrix(2, s.k, s.n, BY_COLUMNS);
        ls__product g = product_of(&a, &b, s);

        a.at[3 * a.row + 32] = NAN;
        a.at[4 * a.row + 7] = INFINITY;
        a.at[5 * a.row] = 3.4e38f; /* rounds to infinity */
        b.at[6 * b.row + 9 * b.col] = NAN;
        compute(be, &g, false);
        for (int64_t i = 0; i < s.m; i++)
            for (int64_t j = 0; j < s.n; j++) {
                float y = g.c[i * s.n + j];

                if (i == 3 || j == 9)
                    ck_assert(isnan(y));
                else if (i == 4 || i == 5)
                    ck_assert(isinf(y));
                else
                    ck_assert(isfinite(y));
            }
        free(a.rounded);
        free(b.rounded);
        fences_free();
    }
}

/* ------ The unit of a thread ------ */

/* Are there tiles in this thread's registers? */
static bool has_tiles(void)
{
    uint32_t low = 0, high = 0;

#if defined(__x86_64__)
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
#endif
    (void)high;
    return low >> 18 & 1;
}

/* A product computed by a thread, which keeps nothing of the unit. */
static void *thread_product(void *user)
{
    const ls__backend *be = maker(LS_BF16_LAYERS, 0);
    ls__product *g = user;
    float *room =
        calloc((size_t)be->products->scratch(g->k, g->n), sizeof *room);

    ls__fpmode_set();
    if (room)
        be->products->gemm(g, room);
    free(room);
    return has_tiles() ? user : NULL;
}

/* Proves that any thread may compute by AMX, several at once, and that no state
 * is left in it. */
TEST(in_threads)
{
    enum { THREADS = 3 };
    sizes s = {70, 40, 100};
    ls__product g[THREADS];
    pthread_t thread[THREADS];
    matrix a, b;

    if (!strstr(maker(LS_BF16_LAYERS, 0)->text, "AMX")) {
        printf("skipped: no AMX\n");
        return;
    }
    a = make_matrix(1, s.m, s.k, BY_ROWS);
    b = make_matrix(2, s.k, s.n, BY_ROWS);
    for (int i = 0; i < THREADS; i++) {
        g[i] = product_of(&a, &b, s);
        ck_assert_int_eq(
            pthread_create(&thread[i], NULL, thread_product, &g[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *tiles;

        ck_assert_int_eq(pthread_join(thread[i], &tiles), 0);
        ck_assert_ptr_null(tiles);
        check_product(&g[i], &a, &b);
        ck_assert_mem_eq(g[i].c, g[0].c, (size_t)(s.m * s.n) * sizeof(float));
    }
    free(a.rounded);
    free(b.rounded);
    fences_free();
}

/* ------ Convolutions ------ */

typedef struct shape {
    int64_t h, w, c, n;
    ls_window window;
} shape;

/* Odd and even channels and widths, strides, both paddings, rows beyond a
 * chunk, one pixel, more rows and longer windows than are worked on at once. */
static const shape shapes[] = {{8, 8, 3, 32, {3, 3, 1, 1, LS_SAME}},
                               {7, 9, 32, 33, {3, 3, 1, 1, LS_SAME}},
                               {9, 8, 5, 7, {3, 2, 2, 2, LS_SAME}},
                               {5, 11, 16, 15, {2, 4, 1, 3, LS_VALID}},
                               {6, 7, 1, 67, {5, 5, 1, 1, LS_SAME}},
                               {3, 601, 2, 3, {1, 3, 1, 1, LS_SAME}},
                               {4, 18, 11, 64, {3, 3, 1, 1, LS_SAME}},
                               {1, 1, 1, 1, {1, 1, 1, 1, LS_VALID}},
                               {4, 5, 17, 1, {1, 1, 1, 1, LS_VALID}},
                               {6, 9, 40, 32, {5, 4, 1, 1, LS_VALID}},
                               {3, 70, 2, 96, {2, 7, 1, 1, LS_SAME}},
                               {37, 20, 3, 17, {3, 3, 1, 1, LS_SAME}},
                               {18, 30, 34, 18, {2, 3, 1, 1, LS_SAME}},
                               {9, 12, 1, 18, {3, 3, 1, 1, LS_SAME}},
                               {8, 7, 3, 1, {3, 3, 1, 1, LS_SAME}},
                               {9, 8, 5, 32, {3, 3, 2, 2, LS_SAME}},
                               {7, 11, 34, 64, {3, 4, 3, 2, LS_SAME}},
                               {8, 8, 64, 48, {3, 3, 1, 1, LS_SAME}},
                               {5, 1, 1, 9, {3, 3, 1, 1, LS_SAME}},
                               {6, 32, 16, 16, {3, 3, 1, 1, LS_SAME}},
                               {9, 10, 12, 20, {3, 3, 2, 2, LS_SAME}}};

enum { IMAGES = 3, STRIDE = UNDER_SANITIZER ? 2 : 1 /* of shapes */ };

static float *round_all(int64_t n, const float *x)
{
    float *y = fenced(n);

    ls__kernels()->round_bf16(n, x, NULL, y);
    return y;
}

/* Both ways, over IMAGES images; a is what it took in. */
static void run_conv(const ls__backend *be, alone *a, ls__run *r)
{
    const ls_node *n = r->node;

    r->backend = be;
    r->kernels = ls__kernels();
    alone_start(a, r);
    memset(r->scratch, 255, (size_t)a->scratch * sizeof *r->scratch); /* NaN */
    n->op->run.forward(r);
    n->op->run.backward(r);
}

static void same_numbers(const char *what, int64_t n, const float *got,
                         const float *want)
{
    for (int64_t i = 0; i < n; i++)
        HOLDS(asked_is(got[i], f_of(want[i])), "%s %lld is %a, not %a", what,
              (long long)i, (double)got[i], (double)want[i]);
}

/* Numbers of y with its bias and rounded, of dx, dw and dbias. */
static void check_conv_bits(const ls__run *r, int first)
{
    const ls_node *n = r->node;
    int64_t ny = IMAGES * n->size, nx = IMAGES * n->in[0]->size;
    int64_t out = ls__width(n), nw = n->graph->params[0]->size;
    int x, node;

    asked_begin(IMAGES, 0);
    asked_option("precision", "bf16");
    x = asked_node("input", shape_text(n->in[0]), 0, NULL, 0);
    asked_input(x, "x", nx, r->x[0]);
    node = asked_of(n, 1, &x);
    asked_param(node, 0, nw, r->param[0]);
    asked_param(node, 1, out, r->param[1]);
    asked_array("backward", "dx", -1, 0, ny, r->dy);
    asked_are("forward", "y", node, 0, ny, r->y, first);
    asked_are("backward", "dx", node, 0, nx, r->dx[0], first);
    asked_are("backward", "dparam", node, 0, nw, r->dparam[0], first);
    asked_are("backward", "dparam", node, 1, out, r->dparam[1], first);
}

static void check_conv(const shape *s, const ls__backend *be, int first)
{
    ls_graph *g = empty_graph();
    const ls_node *n;
    int64_t nx, ny, nw;
    ls__run r = {.rows = IMAGES};
    ref want = {.rows = IMAGES};
    alone a;

    n = ls_conv2d(ls_input(g, "x", LS_F32, 3, (int64_t[]){s->h, s->w, s->c}),
                  s->n, s->window, "c");
    ck_assert_msg(n != NULL, "%s", ls_errmsg());
    nx = IMAGES * n->in[0]->size;
    ny = IMAGES * n->size;
    nw = g->params[0]->size;
    r.node = want.node = n;
    r.x[0] = uniform(1, nx);
    r.param[0] = uniform(2, nw);
    r.param[1] = uniform(4, s->n);
    r.dy = uniform(3, ny);
    r.y = fenced(ny);
    r.dx[0] = fenced(nx);
    r.dparam[0] = fenced(nw);
    r.dparam[1] = fenced(s->n);
    want.x[0] = doubles(nx, round_all(nx, r.x[0]), LS_F32);
    want.param[0] = doubles(nw, round_all(nw, r.param[0]), LS_F32);
    want.param[1] = doubles(s->n, r.param[1], LS_F32);
    want.dy = doubles(ny, round_all(ny, r.dy), LS_F32);
    want.y = doubles(ny, NULL, LS_F32);
    want.dx[0] = doubles(nx, NULL, LS_F32);
    want.dparam[0] = doubles(nw, NULL, LS_F32);
    want.dparam[1] = doubles(s->n, NULL, LS_F32);
    ref_conv(&want);
    ref_conv_grad(&want);
    a = alone_of(n);
    run_conv(be, &a, &r);
    check_conv_bits(&r, first);
    ck_assert(max_relative(ny, r.y, want.y) <= 0x1p-8); /* y is rounded */
    ck_assert(max_relative(nx, r.dx[0], want.dx[0]) <= 1e-5);
    ck_assert(max_relative(nw, r.dparam[0], want.dparam[0]) <= 1e-5);
    ck_assert(max_relative(s->n, r.dparam[1], want.dparam[1]) <= 1e-5);
    free((void *)want.x[0]);
    free((void *)want.param[0]);
    free((void *)want.param[1]);
    free((void *)want.dy);
    free(want.y);
    free(want.dx[0]);
    free(want.dparam[0]);
    free(want.dparam[1]);
    ls_graph_free(g);
    fences_free();
}

/* Proves that convolutions and their gradients are the referee's bytes and near
 * those of the rounded numbers, and read and write nothing beyond. */
LOOP_TEST(convolutions, 0, ways())
{
    const ls__backend *be = way(_i);

    ls__fpmode_set();
    for (size_t i = (size_t)_i % STRIDE; i < sizeof shapes / sizeof *shapes;
         i += STRIDE)
        check_conv(&shapes[i], be, _i);
}

/* ------ Under a folded 2x2 pool ------ */

/* What a convolution writes, of shapes that a pool changes or not. */
static ls__run conv_run(const ls_node *n, int64_t stash)
{
    int64_t taps = ls__window_of(n)->kh * ls__window_of(n)->kw;
    int64_t c = n->in[0]->shape[2];
    int64_t out = ls__width(n), nw = taps * c * out;

    return (ls__run){.node = n,
                     .rows = IMAGES,
                     .x = {uniform(1, IMAGES * n->in[0]->size)},
                     .param = {uniform(2, nw), uniform(4, out)},
                     .y = fenced(IMAGES * n->size),
                     .stash = fenced(IMAGES * stash),
                     .dx = {fenced(IMAGES * n->in[0]->size)},
                     .dparam = {fenced(nw), fenced(out)}};
}

/* y and dy of all images through the pooling, as kernels of their own do it. */
static void pool_all(const ls_node *n, const ls_node *p, const ls__run *r,
                     const float *dy, float *y, float *d)
{
    ls__pooling w =
        ls__pooling_of(ls__window_of(p), n->shape[0], n->shape[1], n->shape[2]);
    float *number = fenced(p->size);

    for (int64_t i = 0; i < IMAGES; i++) {
        r->kernels->max_pool(&w, 0, w.h, r->y + i * n->size, false,
                             y + i * p->size, number);
        r->kernels->max_pool_grad(&w, number, dy + i * p->size,
                                  d + i * n->size);
    }
}

static ls__product_made *curve(const alone *a)
{
    return a->in.made;
}

/* padded: by more than a window, so that dx has no pixel that sees the first
 * and the last of dy.  relu: before the pooling, which then cuts. */
static void check_pooled(const shape *s, bool padded, bool relu,
                         ls_padding pooled, const ls__backend *be)
{
    const ls_window two = {2, 2, 2, 2, pooled}, *w = &s->window;
    ls_conv_options o = ls_conv_defaults();
    ls_node *x, *n, *p, folded;
    ls_graph *g = empty_graph();
    ls__run r, all;
    alone pooled_too, alone_itself;
    float *y, *d;

    x = ls_input(g, "x", LS_F32, 3, (int64_t[]){s->h, s->w, s->c});
    o.padding = LS_EXPLICIT;
    o.stride_y = w->stride_y;
    o.stride_x = w->stride_x;
    o.top = w->height + 2;
    o.left = w->width;
    o.bottom = o.right = w->width + 3;
    n = padded ? ls_conv2d_with(x, s->n, w->height, w->width, &o, "c")
               : ls_conv2d(x, s->n, *w, "c");
    p = ls_max_pool(n, two);
    ck_assert_msg(p != NULL, "%s", ls_errmsg());
    folded = *n;
    pooled_too = alone_pooled(&folded, p);
    alone_itself = alone_of(n);
    if (relu)
        curve(&pooled_too)->activation = curve(&alone_itself)->activation =
            LS__RELU;
    r = conv_run(&folded, p->size);
    all = conv_run(n, n->size);
    r.dy = uniform(3, IMAGES * p->size);
    all.dy = d = fenced(IMAGES * n->size);
    memset(d, 0, (size_t)(IMAGES * n->size) * sizeof *d);
    y = fenced(IMAGES * p->size);
    run_conv(be, &pooled_too, &r);
    run_conv(be, &alone_itself, &all);
    pool_all(n, p, &all, r.dy, y, d);
    run_conv(be, &alone_itself, &all);
    ck_assert_mem_eq(r.y, y, (size_t)(IMAGES * p->size) * sizeof *y);
    ck_assert_mem_eq(r.dx[0], all.dx[0],
                     (size_t)(IMAGES * n->in[0]->size) * sizeof *y);
    same_numbers("dw", g->params[0]->size, r.dparam[0], all.dparam[0]);
    same_numbers("dbias", s->n, r.dparam[1], all.dparam[1]);
    ls_graph_free(g);
    fences_free();
}

/* Proves that under a 2x2 pooling, whose gradients skip what is zero, all is as
 * without, byte for byte. */
LOOP_TEST(under_a_pool, 0, ways())
{
    const ls__backend *be = way(_i);

    ls__fpmode_set();
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int how = (int)i % STRIDE; how < 4; how += STRIDE)
            check_pooled(&shapes[i], how % 2, how / 2, LS_SAME, be);
}

/* 0 .. below - 1 */
static int64_t drawn(uint64_t *count, int64_t below)
{
    int32_t x;

    ls_random_randint(ls_key_new(1), (*count)++, 1, 0, (int32_t)below, &x);
    return x;
}

/* Draw a shape of at least two windows of rows and of columns. */
static shape drawn_shape(uint64_t *count)
{
    const int64_t most[] = {4, 20, 70};
    shape s = {.c = 1 + drawn(count, most[drawn(count, 3)]),
               .n = 1 + drawn(count, most[drawn(count, 3)])};
    ls_window *w = &s.window;

    w->height = 1 + drawn(count, 5);
    w->width = 1 + drawn(count, 5);
    w->stride_y = 1 + drawn(count, 2);
    w->stride_x = 1 + drawn(count, 2);
    w->padding = drawn(count, 2) ? LS_SAME : LS_VALID;
    s.h = w->height + w->stride_y + drawn(count, 16);
    s.w = w->width + w->stride_x + drawn(count, drawn(count, 8) ? 24 : 140);
    return s;
}

/* Proves the same of shapes that nobody chose; of a thousand with LS_LONG. */
LOOP_TEST(drawn_under_a_pool, 0, ways())
{
    const ls__backend *be = way(_i);
    uint64_t count = 0;

    ls__fpmode_set();
    for (int i = 0; i < (long_run() ? 1000 : 40); i++) {
        shape s = drawn_shape(&count);

        check_pooled(&s, drawn(&count, 4) == 0, drawn(&count, 2),
                     drawn(&count, 2) ? LS_SAME : LS_VALID, be);
    }
}

/* Proves that sums which end in an underflow, -0, are +0 as all others are:
 * 2^-126 of the first pooled pixel, then -1.5 times it. */
LOOP_TEST(underflow_under_a_pool, 0, ways())
{
    const ls_window two = {2, 2, 2, 2, LS_SAME};
    const float x[8] = {1, 1, 1, 1, 1, 1, 1, 1}, w[1] = {1}, bias[1] = {0};
    const float dy[2] = {0x1p-126f, -0x1.8p-126f};
    const ls_node *p;
    ls_node n;
    ls_graph *g = empty_graph();
    ls__run r = {.rows = 1, .x = {x}, .param = {w, bias}, .dy = dy};
    alone a;

    ls__fpmode_set();
    p = ls_max_pool(ls_conv2d(ls_input(g, "x", LS_F32, 3, (int64_t[]){4, 2, 1}),
                              1, (ls_window){1, 1, 1, 1, LS_SAME}, "c"), two);
    ck_assert_msg(p != NULL, "%s", ls_errmsg());
    n = *p->in[0];
    a = alone_pooled(&n, p);
    r.node = &n;
    r.y = fenced(2);
    r.stash = fenced(2);
    r.dparam[0] = fenced(1);
    r.dparam[1] = fenced(1);
    run_conv(way(_i), &a, &r);
    ck_assert_uint_eq(f_of(r.dparam[0][0]), 0);
    ck_assert_uint_eq(f_of(r.dparam[1][0]), 0);
    ls_graph_free(g);
    fences_free();
}

/* ------ Models ------ */

enum { ROWS = 16, STEPS = UNDER_SANITIZER ? 4 : 40 };

static const lm_sizes small = {61, 32, 64, 4, 2, 128};

static run open_lm(ls_pool *pool, ls_precision precision)
{
    ls_trainer_options o = ls_trainer_defaults();

    o.keys = LS_KEYS_LINEN;
    o.optimizer = ls_adamw(1e-3);
    o.precision = precision;
    return open_run(pool, lm_graph(&small), &o);
}

/* Proves that a transformer with bf16 layers learns as one with f32 layers
 * does: its losses are within 0.01, and not the same. */
TEST(near_f32)
{
    ls_pool *pool = open_pool(2, 2);
    run r[2] = {open_lm(pool, LS_F32_LAYERS), open_lm(pool, LS_BF16_LAYERS)};
    float loss[2] = {0, 0}, first = 0;

    for (int i = 0; i < STEPS; i++) {
        int32_t *tokens = integers((uint32_t)i % 8, 61, ROWS * 32);

        for (int k = 0; k < 2; k++) {
            OK(ls_batch_set(r[k].batch, "tokens", LS_I32, tokens, ROWS));
            loss[k] = step(&r[k]).loss;
        }
        first = i ? first : loss[0];
        ck_assert_msg(fabsf(loss[1] - loss[0]) <= 0.01f,
                      "step %d: %g with bf16 layers, %g with f32", i,
                      (double)loss[1], (double)loss[0]);
        free(tokens);
    }
    ck_assert(loss[0] != loss[1] && loss[0] < first);
    close_run(&r[0]);
    close_run(&r[1]);
    ls_pool_close(pool);
}

/* Proves that a NaN stops a step as it does with f32 layers, and that what
 * cannot be is refused. */
TEST(refused)
{
    const ls_array_spec one = {"a", LS_F32, 1, {1}};
    const ls_gradient own = {no_gradient, NULL, 1, 1, &one, &one};
    ls_trainer_options o = ls_trainer_defaults();
    ls_pool *pool = open_pool(2, 1);
    ls_graph *g = linear_graph(3, 2);
    ls_trainer *t = NULL;
    ls_result result;
    float x[12] = {0, 1, 2, 3, NAN}, y[8] = {0};
    run r;

    o.precision = LS_BF16_LAYERS;
    o.backend = "blis";
    FAILS(ls_trainer_open(&t, pool, g, &o), LS_ENOTSUP,
          "backend \"blis\" has no bf16 products");
    o.backend = "native";
    FAILS(ls_trainer_open_gradient(&t, pool, &own, &o), LS_EINVAL,
          "has no layers");
    o.precision = (ls_precision)4;
    FAILS(ls_trainer_open(&t, pool, g, &o), LS_EINVAL, "precision 4");
    ck_assert_ptr_null(t);
    o.precision = LS_BF16_LAYERS;
    r = open_run(pool, g, &o);
    OK(ls_batch_set(r.batch, "x", LS_F32, x, 4));
    OK(ls_batch_set(r.batch, "y", LS_F32, y, 4));
    FAILS(ls_step(r.trainer, r.batch, &result), LS_ENONFINITE, "row 1");
    close_run(&r);
    ls_pool_close(pool);
}

MAIN()
