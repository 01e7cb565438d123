/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrix products, byte for byte against the ten lines of reference() below,
 * on every instruction level that keeps the contract of bits and on BLIS.
 *
 * All problems are corners of two fixed matrices: element (i,j) of a product
 * depends on row i of A, column j of B and k alone, so one reference a k serves
 * every m and n, and the whole cube of sizes is checked.  Operands end where
 * memory ends, and what lies between their elements is NaN. */
#include "backend/backend.h"
#include "backends.h"
#include "base/error.h"
#include "base/fpmode.h"
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#if defined(__x86_64__)
#define FMA __attribute__((target("avx2,fma")))
#else
#define FMA
#endif

enum { MOST = 481, GAP = 3, FAR = 2048 };

/* clang-format off */
static const int cube_sizes[] = {
    1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12,  13,  14,
    15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26,  27,  28,
    29, 30, 31, 32, 33, 63, 64, 65, 255, 256, 257, 384, 480, 481};
/* clang-format on */
/* Sizes around the heights and widths of tiles, and past one and two chunks. */
static const int edge_sizes[] = {1, 5, 14, 15, 16, 17, 33, 113, 257};
enum {
    CUBE = sizeof cube_sizes / sizeof *cube_sizes,
    EDGES = sizeof edge_sizes / sizeof *edge_sizes,
    THIN = 6, /* of m and n, one in so many a k, where products take long */
    EVERY = UNDER_SANITIZER ? 5 : 1 /* one epilogue in so many */
};

static float a[MOST * MOST], b[MOST * MOST], from[MOST * MOST];
static float plain[MOST * MOST], onto[MOST * MOST]; /* what is right */
/* of fenced rooms */
static float *a_end, *b_end, *c_end, *packed_end, *scratch_end;

/* ------ The contract ------ */

/* plain = a b and onto = from + a b: K in chunks of 256, each a chain of fused
 * multiply-adds from +0, chunks added in order, and +0.  (Sanitizers would take
 * longer over these than over what they are compared with.) */
FMA __attribute__((no_sanitize("address", "undefined")))
static void references(int64_t k)
{
    memcpy(onto, from, sizeof from);
    for (int64_t i = 0; i < MOST; i++)
        for (int64_t p = 0; p < k; p += 256) {
            float sum[MOST] = {0};

            for (int64_t q = p; q < k && q < p + 256; q++)
                for (int64_t j = 0; j < MOST; j++)
                    sum[j] = __builtin_fmaf(a[i * MOST + q], b[q * MOST + j],
                                            sum[j]);
            for (int64_t j = 0; j < MOST; j++) {
                int64_t at = i * MOST + j;

                plain[at] = (p ? plain[at] + sum[j] : sum[j]) + 0.0f;
                onto[at] = onto[at] + sum[j] + 0.0f;
            }
        }
}

/* ------ Numbers and storage ------ */

/* Numbers of many sizes and exact zeros of both signs among them: a chain that
 * starts from -0, or from its first product, shows. */
static void fill(int64_t seed, float *x)
{
    static const float size[] = {1, 0, 1e-3f, 1, -0.0f, 1e4f, 1, 1e-22f};

    fill_uniform(seed, MOST * MOST, x);
    for (int64_t i = 0; i < MOST * MOST; i++)
        x[i] *= size[(i * i + i / 5) % 8];
}

static float *room(int64_t n)
{
    return (float *)fenced(n) + n;
}

static void prepare(void)
{
    ls__fpmode_set();
    fill(1, a);
    fill(2, b);
    fill(3, from);
    a_end = room(FAR * MOST);
    b_end = room((2 * MOST + GAP) * MOST);
    c_end = room((MOST + GAP) * MOST + GAP);
    packed_end = room((MOST + 64) * MOST);
    scratch_end = room(1 << 20);
}

/* The last two are those whose lines share sets of the cache. */
typedef enum storage {
    BY_ROWS, BY_COLUMNS, GENERAL, STORAGES, FAR_ROWS = STORAGES, FAR_COLUMNS
} storage;


typedef struct operand {
    float *at;
    int64_t row, col; /* strides */
} operand;

/* The corner (rows,cols) of x in a storage, its last element being the last
 * before `end`, NaN in all gaps. */
static operand store(const float *x, int64_t rows, int64_t cols, storage how,
                     float *end)
{
    const int64_t strides[][2] = {{cols + GAP, 1}, {1, rows + GAP},
                                  {2 * cols + GAP, 2}, {FAR, 1}, {1, FAR}};
    operand o = {.row = strides[how][0], .col = strides[how][1]};
    int64_t extent = (rows - 1) * o.row + (cols - 1) * o.col + 1;

    o.at = end - extent;
    memset(o.at, 0xff, (size_t)extent * sizeof *o.at);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c++)
            o.at[r * o.row + c * o.col] = x[r * MOST + c];
    return o;
}

/* ------ One product ------ */

typedef struct problem {
    int64_t m, n, k;
    storage a, b;
    bool packed, accumulate;
} problem;

enum { WAYS = 2 * 2 * STORAGES * STORAGES };

/* The ways to store and compute a product, by number. */
static problem problem_of(int64_t m, int64_t n, int64_t k, unsigned way)
{
    return (problem){m,
                     n,
                     k,
                     way % STORAGES,
                     way / STORAGES % STORAGES,
                     way / (STORAGES * STORAGES) % 2,
                     way / (2 * STORAGES * STORAGES)};
}

/* A product laid out in the rooms: c starts as NaN, or as `from`. */
static ls__product lay_out(const ls__backend *be, const problem *p)
{
    operand x = store(a, p->m, p->k, p->a, a_end);
    operand y = store(b, p->k, p->n, p->b, b_end);
    ls__product g = {.m = p->m,
                     .n = p->n,
                     .k = p->k,
                     .a = x.at,
                     .a_row = x.row,
                     .a_col = x.col,
                     .b = y.at,
                     .b_row = y.row,
                     .b_col = y.col,
                     .c_row = p->n + GAP,
                     .scale = 1,
                     .accumulate = p->accumulate};

    g.c = c_end - ((p->m - 1) * g.c_row + p->n);
    memset(g.c - GAP, 0xff, (size_t)(c_end - g.c + GAP) * sizeof *g.c);
    for (int64_t i = 0; p->accumulate && i < p->m; i++)
        memcpy(g.c + i * g.c_row, from + i * MOST, (size_t)p->n * sizeof *g.c);
    if (p->packed && be->products->pack) {
        float *packed = packed_end - be->products->packed_size(p->k, p->n);

        be->products->pack(p->k, p->n, g.b, g.b_row, g.b_col, packed);
        g.packed = packed;
        g.b = NULL; /* nobody may look at it now */
    }
    return g;
}

/* c is what is right, and the gaps before and between its rows are whole. */
static bool is_right(const ls__product *g, const float *right)
{
    static const uint32_t gap[GAP] = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
    size_t bytes = (size_t)g->n * sizeof *g->c;

    for (int64_t i = 0; i < g->m; i++)
        if (memcmp(g->c + i * g->c_row, right + i * MOST, bytes) ||
            memcmp(g->c + i * g->c_row - GAP, gap, sizeof gap))
            return false;
    return true;
}

/* Large products would take a level that computes in software minutes. */
static bool product_is_right(const ls__backend *be, const problem *p)
{
    ls__product g;

    if (strstr(be->text, "in software") &&
        (int64_t)p->m * p->n * p->k > 1 << 16)
        return true;
    g = lay_out(be, p);
    be->products->gemm(&g, scratch_end - be->products->scratch(p->k, p->n));
    if (is_right(&g, p->accumulate ? onto : plain))
        return true;
    fprintf(stderr, "%s: m %d n %d k %d, A storage %d, B storage %d, %s, %s\n",
            be->name, (int)p->m, (int)p->n, (int)p->k, (int)p->a, (int)p->b,
            p->packed ? "packed" : "not packed",
            p->accumulate ? "added to C" : "C was NaN");
    return false;
}

/* Every size with every other, or some of these where it is slow, each in one
 * way of computing it. */
static bool cube_is_right(const ls__backend *be, bool slow)
{
    const int thin = slow || UNDER_SANITIZER ? THIN : 1;
    uint32_t state = 1;

    for (int k = 0; k < CUBE; k++) {
        references(cube_sizes[k]);
        for (int m = k % thin; m < CUBE; m += thin)
            for (int n = k / thin % thin; n < CUBE; n += thin) {
                problem p;

                state = state * 1664525u + 1013904223u;
                p = problem_of(cube_sizes[m], cube_sizes[n], cube_sizes[k],
                               (state >> 16) % WAYS);
                if (!product_is_right(be, &p))
                    return false;
            }
    }
    return true;
}

/* Fewer sizes, each in all ways. */
static bool ways_are_right(const ls__backend *be)
{
    for (int k = 0; k < EDGES; k++) {
        references(edge_sizes[k]);
        for (int m = 0; m < EDGES; m++)
            for (int n = 0; n < EDGES; n++)
                for (unsigned way = 0; way < WAYS; way++) {
                    problem p = problem_of(edge_sizes[m], edge_sizes[n],
                                           edge_sizes[k], way);

                    if (!product_is_right(be, &p))
                        return false;
                }
    }
    return true;
}

/* ------ The native kernels ------ */

static ls__backend backend_of(const ls__kernel_table *k)
{
    return k->native[LS_F32_LAYERS];
}

/* Every level gives the reference's bytes for every size of the cube,
 * and touches nothing but its C. */
LOOP_TEST(test_cube, 0, levels())
{
    const ls__kernel_table *k = level(_i);
    ls__backend be;

    if (!k)
        return;
    prepare();
    be = backend_of(k);
    /* The level "test" has its fused multiply-adds in software. */
    ck_assert(cube_is_right(&be, !strcmp(k->name, "test")));
}

/* How operands are stored, packed and added to shows in no bit. */
LOOP_TEST(test_ways, 0, levels())
{
    const ls__kernel_table *k = level(_i);
    ls__backend be;

    if (!k)
        return;
    prepare();
    be = backend_of(k);
    ck_assert(ways_are_right(&be));
}

/* Nor does it show when the kernel copies A because its lines would push each
 * other out of the cache. */
LOOP_TEST(test_far, 0, levels())
{
    static const int n[] = {31, 64, 81}, depth[] = {1, 16, 37, 256, 300};
    const ls__kernel_table *k = level(_i);
    ls__backend be;

    if (!k)
        return;
    prepare();
    be = backend_of(k);
    for (int d = 0; d < 5; d++) {
        references(depth[d]);
        for (int m = 1; m <= 3 * 112; m = 2 * m + 11)
            for (int i = 0; i < 3 * 8; i++) {
                problem p = {m, n[i % 3], depth[d],
                             i / 3 & 1 ? FAR_ROWS : FAR_COLUMNS, BY_ROWS,
                             i / 6 & 1, i / 12 & 1};

                ck_assert(product_is_right(&be, &p));
            }
    }
}

/* ------ The epilogue ------ */

/* clang-format off */
/* The pieces of an epilogue, one bit each. */
enum {
    ACCUMULATE = 1, SCALE = 2, BIAS = 4, KEEP = 8, CURVE = 16, TIMES = 32,
    ADD = 64, ADD_C = 128, PIECES = 256
};
/* clang-format on */

enum { ROOM = 30 * (90 + GAP) };
static float *bias_end, *slope_end, *times_end, *add_end; /* of fenced rooms */
static float slope_right[ROOM];

static int64_t extent(const ls__product *g)
{
    return (g->m - 1) * g->c_row + g->n;
}

static void ask(ls__product *g, unsigned pieces, ls__activation kind)
{
    int64_t n = extent(g);

    g->accumulate = pieces & ACCUMULATE;
    g->scale = pieces & SCALE ? 0.3f : 1;
    g->bias = pieces & BIAS ? bias_end - g->n : NULL;
    g->activation = pieces & CURVE ? kind : LS__NO_ACTIVATION;
    g->slope = pieces & CURVE && pieces & KEEP ? slope_end - n : NULL;
    g->times = pieces & TIMES ? times_end - n : NULL;
    g->add = pieces & ADD ? add_end - n : pieces & ADD_C ? g->c : NULL;
}

/* The epilogue of one element of the product, in its written order. */
static float finished(const ls__kernel_table *k, const ls__product *g, float x,
                      int64_t j, int64_t at)
{
    const float one = 1;

    x *= g->scale;
    if (g->bias)
        x += g->bias[j];
    if (g->slope)
        k->activate_grad(g->activation, 1, &x, &one, NULL, slope_right + at);
    if (g->activation)
        k->activate(g->activation, 1, &x, &x);
    if (g->times)
        x = g->times[at] == 0 ? 0 : x * g->times[at];
    return g->add ? x + g->add[at] : x;
}

/* What C and the slope must be, while C is what it was; right has rows of MOST,
 * as is_right wants. */
static void finish_all(const ls__kernel_table *k, const ls__product *g,
                       float *right)
{
    memset(slope_right, 0xff, sizeof slope_right);
    for (int64_t i = 0; i < g->m; i++)
        for (int64_t j = 0; j < g->n; j++) {
            int64_t at = i * g->c_row + j;
            float x = (g->accumulate ? onto : plain)[i * MOST + j];

            right[i * MOST + j] = finished(k, g, x, j, at);
        }
}

static void clear_slope(void)
{
    memset(slope_end - ROOM, 0xff, ROOM * sizeof *slope_end);
}

static bool all_right(const ls__product *g, const float *right)
{
    return is_right(g, right) && !memcmp(slope_end - extent(g), slope_right,
                                         (size_t)extent(g) * sizeof *slope_end);
}

/* The plain product, then the epilogue kernel over it. */
static bool in_two_calls(const ls__kernel_table *k, const ls__product *g,
                         const float *right)
{
    if (g->add == g->c) /* C is gone by then */
        return true;
    for (int64_t i = 0; i < g->m; i++)
        memcpy(g->c + i * g->c_row, (g->accumulate ? onto : plain) + i * MOST,
               (size_t)g->n * sizeof *g->c);
    clear_slope();
    k->epilogue(g);
    return all_right(g, right);
}

static bool epilogue_is_right(const ls__kernel_table *k, const ls__backend *be,
                              const problem *p, unsigned pieces,
                              ls__activation kind)
{
    static float right[MOST * MOST];
    problem start = *p;
    ls__product g;

    start.accumulate = pieces & (ACCUMULATE | ADD_C); /* C is read */
    g = lay_out(be, &start);
    ask(&g, pieces, kind);
    finish_all(k, &g, right);
    clear_slope();
    be->products->gemm(&g, scratch_end - be->products->scratch(p->k, p->n));
    return all_right(&g, right) && in_two_calls(k, &g, right);
}

static void check_epilogues(const ls__kernel_table *k, const ls__backend *be,
                            unsigned pieces)
{
    static const int m[] = {1, 4, 15, 29}, n[] = {1, 16, 31, 33, 48, 81};
    static const int depth[] = {1, 37, 300};

    prepare();
    bias_end = uniform(4, MOST) + MOST;
    times_end = uniform(5, ROOM) + ROOM;
    add_end = uniform(6, ROOM) + ROOM;
    slope_end = room(ROOM);
    for (unsigned d = 0; d < 3; d++) {
        references(depth[d]);
        for (unsigned i = d % EVERY; i < 4 * 6 * pieces; i += EVERY) {
            unsigned asked = i / 24;
            ls__activation kind = LS__GELU + (i + asked) % 4;
            problem p = {m[i % 4],   n[i / 4 % 6], depth[d], BY_ROWS,
                         BY_COLUMNS, i / 3 & 1,    false};

            if ((asked & ADD) && (asked & ADD_C))
                continue;
            if (!epilogue_is_right(k, be, &p, asked, kind))
                ck_abort_msg("%s: m %d n %d k %d, pieces 0x%x, "
                             "activation %d",
                             be->name, (int)p.m, (int)p.n, (int)p.k, asked,
                             (int)kind);
        }
    }
}

/* Every combination of epilogue pieces equals the scalar formula, in one call
 * and in two, to the bit; add may be C itself. */
LOOP_TEST(test_epilogue, 0, levels())
{
    const ls__kernel_table *k = level(_i);
    ls__backend be;

    if (!k)
        return;
    be = backend_of(k);
    check_epilogues(k, &be, PIECES);
}

/* The same for BLIS, which adds its epilogue in a pass of its own and so has
 * no C left to add. */
TEST(test_blis_epilogue)
{
    if (have_blis())
        check_epilogues(ls__kernels(), &ls__backend_blis, ADD_C);
}

/* ------ BLIS ------ */

enum { BROKEN = 1, ACCEPTED = 2, REFUSED = 4 };

/* What a child of this program says of the kernels that BLIS took: ACCEPTED
 * when the backend is found and meets the contract everywhere, REFUSED when it
 * is not found and does not meet it. */
static int blis_child(const char *how)
{
    ls__backend backend;

    if (!strcmp(how, "tuned"))
        ls_blis_tune();
    prepare();
    if (ls__backend_find(&backend, "blis", LS_F32_LAYERS) < 0)
        return cube_is_right(&ls__backend_blis, false) ? BROKEN : REFUSED;
    return cube_is_right(&backend, false) && ways_are_right(&backend)
               ? ACCEPTED
               : BROKEN;
}

/* family: a number of BLIS's, or negative for what `how` says. */
static int run_child(int family, const char *how)
{
    pid_t child = fork();
    int status = -1;

    if (child == 0) {
        char number[16];

        snprintf(number, sizeof number, "%d", family);
        if (family < 0)
            unsetenv("BLIS_ARCH_TYPE");
        else
            setenv("BLIS_ARCH_TYPE", number, 1);
        execl("/proc/self/exe", "test_gemm", "blis", how, (char *)NULL);
        _exit(127);
    }
    ck_assert_int_gt(child, 0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return status;
}

static bool said(int status, int answers)
{
    return WIFEXITED(status) && WEXITSTATUS(status) & answers;
}

/* Those of the first numbers, whichever they are: other versions of BLIS count
 * otherwise. */
enum { FAMILIES = 7 };

/* BLIS as ls_blis_tune leaves it gives the same bytes; as it chooses itself,
 * and of each family, the backend is found if and only if it gives them.  BLIS
 * aborts for a family that it was not built with, and some have instructions
 * that this CPU lacks: those are passed over. */
TEST(test_blis)
{
    int status;

    if (!ls__kernels_by_name("x86-64-v3") || !have_blis())
        return;
    ck_assert(said(run_child(-1, "tuned"), ACCEPTED));
    ck_assert(said(run_child(-1, "own"), ACCEPTED | REFUSED));
    for (int family = 0; family < FAMILIES; family++) {
        status = run_child(family, "own");
        if (WIFSIGNALED(status) &&
            (WTERMSIG(status) == SIGABRT || WTERMSIG(status) == SIGILL))
            continue;
        ck_assert_msg(said(status, ACCEPTED | REFUSED),
                      "BLIS_ARCH_TYPE=%d: status 0x%x", family,
                      (unsigned)status);
    }
}

/* ------ Names ------ */

/* Backends are found by name, unknown ones are refused by name, and the result
 * is untouched then. */
TEST(test_names)
{
    ls__backend be = {0};

    ck_assert_int_eq(ls__backend_find(&be, "garbage", LS_F32_LAYERS),
                     LS_EINVAL);
    ck_assert_ptr_nonnull(strstr(ls_errmsg(), "backend \"garbage\" is unknown; "
                                              "there are native, blis"));
    ck_assert_str_eq(ls_backend_name(0), "native");
    ck_assert_str_eq(ls_backend_name(1), "blis");
    ck_assert_ptr_null(ls_backend_name(2));
    ck_assert_ptr_null(ls_backend_name(-1));
    ck_assert_int_eq(ls__backend_find(&be, "blis", LS_BF16_LAYERS), LS_ENOTSUP);
    ck_assert_ptr_nonnull(strstr(ls_errmsg(), "no bf16 products"));
    ck_assert_ptr_null(be.name);
    if (have_blis()) {
        ck_assert_int_eq(ls__backend_find(&be, "blis", LS_F32_LAYERS), 0);
        ck_assert_str_eq(be.name, "blis");
    }
    ck_assert_int_eq(ls__backend_find(&be, "native", LS_F32_LAYERS), 0);
    ck_assert_str_eq(be.name, "native");
    ck_assert_int_eq(ls__backend_find(&be, NULL, LS_F32_LAYERS), 0);
    ck_assert_str_eq(be.name, "native");
}

/* The native backend is the kernels of the level in use. */
TEST(test_native)
{
    ls__backend be;
    problem p = {33, 65, 257, GENERAL, BY_COLUMNS, true, true};

    ck_assert_int_eq(ls__backend_find(&be, "native", LS_F32_LAYERS), 0);
    prepare();
    references(p.k);
    ck_assert(product_is_right(&be, &p));
    p.packed = false;
    ck_assert(product_is_right(&be, &p));
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "blis"))
        return blis_child(argv[2]);
    return RUN_TESTS(.teardown = fences_free);
}
