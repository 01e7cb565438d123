/* SPDX-License-Identifier: BSD-3-Clause */
/* Formulas: chains of elementwise operators are one instruction of a plan and
 * change no bit of a training; each term is right at the ends of its domain, on
 * every instruction level. */
#include "base/fpmode.h"
#include "op/op_table.h"
#include "models.h"
#include "reference.h"

#include <stdio.h>

/* ------ Chains ------ */

enum { WIDTH = 19, BATCH = 40, MOST_ROWS = 600, SEEDS = 60 };

static ls_node *bounded_div(ls_node *a, ls_node *b)
{
    return ls_div(a, ls_scale_shift(ls_sigmoid(b), 1, 0.5));
}

static ls_node *bounded_exp(ls_node *x)
{
    return ls_exp(ls_tanh(x));
}

static ls_node *leaky(ls_node *x)
{
    return ls_leaky_relu(x, 0.2);
}

static ls_node *affine(ls_node *x)
{
    return ls_scale_shift(x, 0.75, -0.25);
}

static ls_node *clamped_square(ls_node *x)
{
    return ls_square(ls_clamp(x, -1.5, 1.25));
}

static ls_node *soft(ls_node *x)
{
    return ls_softplus(ls_neg(x));
}

static ls_node *lesser_half(ls_node *a, ls_node *b)
{
    return ls_where(ls_less(a, b), ls_scale_shift(a, 0.5, 0), b);
}

typedef ls_node *binary(ls_node *a, ls_node *b);
typedef ls_node *unary(ls_node *x);

static binary *const binaries[] = {ls_add, ls_sub, ls_mul, bounded_div, ls_min,
                                   ls_max, lesser_half};
static unary *const unaries[] = {ls_tanh, ls_sigmoid, ls_gelu, ls_relu, ls_abs,
                                 bounded_exp, leaky, affine, clamped_square,
                                 soft};

/* A random graph of elementwise operators over two norms and an input; with bit
 * i of `apart` node i is an output, so that it ends a chain. */
static ls_graph *random_graph(int seed, unsigned apart)
{
    ls_node *node[40];
    int32_t drawn[3 * 16];
    int n = 3;
    ls_graph *g = empty_graph();

    node[0] = ls_input(g, "x", LS_F32, 1, (int64_t[]){WIDTH});
    node[1] = ls_layer_norm(node[0], "a");
    node[2] = ls_layer_norm(node[0], "b");
    ls_random_randint(ls_key_new(seed), 0, 3 * 16, 0, 1 << 20, drawn);
    for (const int32_t *d = drawn; d < drawn + 3 * 16; d += 3, n++)
        node[n] = d[0] % 2 ? unaries[d[0] / 2 % 10](node[n - 1 - d[1] % 2])
                           : binaries[d[0] / 2 % 7](node[n - 1],
                                                    node[d[2] % n]);
    for (int i = 3; i < n; i++) {
        char name[16];

        snprintf(name, sizeof name, "%d", i);
        if (apart >> i & 1)
            OK(ls_output(g, node[i], name));
    }
    OK(ls_loss(g, ls_mean_squared_error(
                      ls_dense(ls_tanh(node[n - 1]), WIDTH, "c"), node[0])));
    return g;
}

static run open_model(ls_graph *g, int devices, int workers)
{
    ls_trainer_options o = ls_trainer_defaults();

    o.optimizer = ls_sgd(0.05);
    return open_run_on(devices, workers, g, &o);
}

static void train(run *m, int rows, char hash[65])
{
    static float x[MOST_ROWS * WIDTH];

    fill_uniform(5, rows * WIDTH, x);
    OK(ls_batch_set(m->batch, "x", LS_F32, x, rows));
    for (int i = 0; i < 3; i++)
        step(m);
    ls_trainer_hash(m->trainer, hash);
}

/* Instructions of the loss. */
static int count(const run *m, const char *op)
{
    ls_cost cost;
    int n = 0;

    for (int i = 0; ls_trainer_cost(m->trainer, i, &cost); i++)
        n += !op || !strcmp(cost.op, op);
    return n;
}

/* Chained or not, or in short chains, on any number of workers, a training has
 * the same bytes; and chains there are. */
LOOP_TEST(test_chains, 0, SEEDS)
{
    run chained = open_model(random_graph(_i, 0), 4, 1);
    run apart = open_model(random_graph(_i, ~0u), 4, 3);
    run mixed = open_model(random_graph(_i, 0x5b6dab6du >> _i % 16), 4, 2);
    char a[65], b[65];

    ck_assert_int_ge(count(&chained, "formula"), 1);
    ck_assert_int_lt(count(&chained, NULL), count(&apart, NULL));
    train(&chained, BATCH, a);
    train(&apart, BATCH, b);
    ck_assert_str_eq(a, b);
    train(&mixed, BATCH, b);
    ck_assert_str_eq(a, b);
    close_run(&chained);
    close_run(&apart);
    close_run(&mixed);
}

/* A chain of tanh(p) q, whose gradient is what p's and q's are added to. */
static ls_graph *passed_graph(bool apart)
{
    ls_node *x, *p, *q, *y, *z;
    ls_graph *g = empty_graph();

    x = ls_input(g, "x", LS_F32, 1, (int64_t[]){WIDTH});
    p = ls_layer_norm(x, "p");
    q = ls_layer_norm(x, "q");
    y = ls_tanh(p);
    if (apart)
        OK(ls_output(g, y, "t"));
    OK(ls_output(g, y = ls_mul(y, q), "y"));
    OK(ls_output(g, z = ls_add(y, p), "z"));
    OK(ls_loss(g, ls_mean_squared_error(
                      ls_dense(ls_add(z, q), WIDTH, "c"), x)));
    return g;
}

/* Train both, which must end in the same bytes, and close them. */
static void end_alike(run *one, run *other)
{
    char a[65], b[65];

    train(one, BATCH, a);
    train(other, BATCH, b);
    ck_assert_str_eq(a, b);
    close_run(one);
    close_run(other);
}

TEST(test_passed)
{
    run chained = open_model(passed_graph(false), 1, 1);
    run apart = open_model(passed_graph(true), 1, 1);

    ck_assert_int_eq(count(&chained, "formula"), 1);
    ck_assert_int_eq(count(&apart, "formula"), 0);
    end_alike(&chained, &apart);
}

/* A product whose value is added to what it reads, which others read as well:
 * where nobody asks for the value the product may take in the add. */
static ls_graph *added_graph(bool apart)
{
    ls_node *x, *p, *y;
    ls_graph *g = empty_graph();

    x = ls_input(g, "x", LS_F32, 1, (int64_t[]){WIDTH});
    p = ls_layer_norm(x, "p");
    y = ls_dense(p, WIDTH, "y");
    if (apart)
        OK(ls_output(g, y, "y"));
    y = ls_tanh(ls_add(ls_add(y, p), p));
    OK(ls_loss(g, ls_mean_squared_error(ls_dense(y, WIDTH, "c"), x)));
    return g;
}

TEST(test_added)
{
    run folded = open_model(added_graph(false), 1, 1);
    run apart = open_model(added_graph(true), 1, 1);

    end_alike(&folded, &apart);
}

/* ------ Runs, parameters and sums ------ */

enum { RUN = 37, TALL = 5, DEEP = 3, OUT = DEEP * RUN };

/* What the graphs below are made with: every node that could be part of a
 * chain is an output with `apart`. */
typedef struct maker {
    ls_graph *g;
    bool apart;
    int outputs;
} maker;

static ls_node *out(maker *m, ls_node *x)
{
    char name[16];

    snprintf(name, sizeof name, "%d", m->outputs++);
    if (m->apart)
        OK(ls_output(m->g, x, name));
    return x;
}

static ls_node *wide(maker *m, ls_node *x, int rank, const int64_t *from,
                     const int64_t *to)
{
    return out(m, ls_broadcast_to(ls_reshape(x, rank, from), rank, to));
}

static ls_node *param(maker *m, const char *name, int rank,
                      const int64_t *shape)
{
    ls_init init = ls_init_random(LS_NORMAL, 0.5);
    ls_node *p = out(m, ls_parameter(m->g, name, rank, shape));

    ls_init_params(m->g, name, &init);
    return p;
}

static ls_node *times(maker *m, ls_node *a, ls_node *b)
{
    return out(m, ls_mul(a, b));
}

static ls_node *plus(maker *m, ls_node *a, ls_node *b)
{
    return out(m, ls_add(a, b));
}

/* Runs in the middle and in front, sums over either, a parameter that two terms
 * read, one that is tied, and rows that are no whole blocks. */
static ls_graph *rows_graph(bool apart)
{
    static const int64_t one[] = {1, RUN}, tall[] = {TALL, RUN};
    static const int64_t each[] = {1, TALL, RUN}, deep[] = {DEEP, TALL, RUN};
    static const int64_t mid[] = {DEEP, 1, RUN}, low[] = {DEEP, RUN};
    static const int64_t flat[] = {OUT};
    maker m = {.apart = apart};
    ls_node *x, *y, *p;

    OK(ls_graph_new(&m.g));
    x = ls_input(m.g, "x", LS_F32, 1, (int64_t[]){WIDTH});
    y = ls_layer_norm(ls_dense(x, RUN, "a"), "n");
    y = times(&m, wide(&m, y, 2, one, tall), param(&m, "w", 2, tall));
    y = out(&m, ls_cos(plus(&m, y, param(&m, "b", 2, tall))));
    y = times(&m, wide(&m, y, 3, each, deep), param(&m, "k", 3, deep));
    y = plus(&m, out(&m, ls_sum_over(y, 1, (int[]){1})),
             param(&m, "c", 2, low));
    y = out(&m, ls_exp(out(&m, ls_tanh(y))));
    y = times(&m, wide(&m, y, 3, mid, deep), param(&m, "d", 3, deep));
    y = out(&m, ls_sum_over(out(&m, ls_silu(y)), 1, (int[]){0}));
    y = ls_reshape(ls_dense(ls_flatten(y), OUT, "e"), 1, flat);
    p = param(&m, "f", 1, flat);
    y = plus(&m, times(&m, y, p), out(&m, ls_tanh(p)));
    y = times(&m, y, param(&m, "g", 1, flat));
    OK(ls_tie(m.g, "h", "g", false));
    y = plus(&m, y, out(&m, ls_parameter(m.g, "h", 1, flat)));
    OK(ls_loss(m.g, ls_mean_squared_error(ls_dense(y, WIDTH, "i"), x)));
    return m.g;
}

/* Read by runs or as nodes of their own, in one chunk or several, on workers
 * that share a device's: the bytes are the same. */
LOOP_TEST(test_rows, 0, 4)
{
    static const int sizes[] = {1, 7, 256, 600};
    int rows = sizes[_i];
    run chained = open_model(rows_graph(false), 1, 1);
    run shared = open_model(rows_graph(false), 1, 3);
    run apart = open_model(rows_graph(true), 1, 1);
    char a[65], b[65];

    ck_assert_int_eq(count(&chained, "parameter"), 2);
    ck_assert_int_eq(count(&chained, "broadcast"), 0);
    ck_assert_int_eq(count(&chained, "sum"), 0);
    ck_assert_int_eq(count(&apart, "formula"), 0);
    train(&apart, rows, a);
    train(&chained, rows, b);
    ck_assert_str_eq(a, b);
    train(&shared, rows, b);
    ck_assert_str_eq(a, b);
    close_run(&chained);
    close_run(&shared);
    close_run(&apart);
}

/* A gated unit: a product's gate, its sigmoid, and the rest are one pass. */
TEST(test_gate)
{
    ls_graph *g = empty_graph();
    ls_node *x, *gate;
    run m;

    x = ls_input(g, "x", LS_F32, 1, (int64_t[]){WIDTH});
    gate = ls_dense(x, WIDTH, "gate");
    x = ls_mul(ls_clamp(gate, 0, 1), ls_exp(ls_neg(ls_square(x))));
    OK(ls_loss(g, ls_mean_squared_error(
                      ls_dense(x, 1, "out"),
                      ls_input(g, "y", LS_F32, 1, (int64_t[]){1}))));
    m = open_model(g, 4, 1);
    ck_assert_int_eq(count(&m, NULL), 4); /* gate, formula, out, loss */
    ck_assert_int_eq(count(&m, "formula"), 1);
    close_run(&m);
}

/* More terms and more inputs than a formula holds: several of them. */
TEST(test_long)
{
    ls_graph *g = empty_graph();
    ls_node *x, *y;
    run m;

    x = ls_input(g, "x", LS_F32, 1, (int64_t[]){WIDTH});
    y = ls_dense(x, WIDTH, "a");
    for (int i = 0; i < 100; i++)
        y = ls_tanh(affine(y));
    for (int i = 0; i < 20; i++) {
        char name[16];

        snprintf(name, sizeof name, "d%d", i);
        y = ls_sub(y, ls_layer_norm(x, name));
    }
    OK(ls_loss(g, ls_mean_squared_error(y, x)));
    m = open_model(g, 4, 1);
    ck_assert_int_ge(count(&m, "formula"), 200 / LS__TERMS + 20 / 7);
    ck_assert_int_le(count(&m, "formula"), 220 / LS__TERMS + 20 / 7 + 2);
    close_run(&m);
}

/* ------ The ends of domains ------ */

#define INF ((float)INFINITY)

typedef struct point {
    int kind;
    float p, q, a, b, y, da; /* da: the gradient by a of dy = 1 */
} point;

/* clang-format off */
static const point points[] = {
    {LS__MIN, 0, 0, 2, 2, 2, 0.5f},
    {LS__MAX, 0, 0, 2, 2, 2, 0.5f},
    {LS__MIN, 0, 0, NAN, 1, NAN, 0},
    {LS__MAX, 0, 0, 1, NAN, NAN, 0},
    {LS__ABS, 0, 0, 0, 0, 0, 0},
    {LS__ABS, 0, 0, -INF, 0, INF, -1},
    {LS__SQRT, 0, 0, 0, 0, 0, INF},
    {LS__SQRT, 0, 0, -1, 0, NAN, NAN},
    {LS__LOG, 0, 0, 0, 0, -INF, INF},
    {LS__LOG, 0, 0, -1, 0, NAN, -1},
    {LS__LOG, 0, 0, INF, 0, INF, 0},
    {LS__EXP, 0, 0, -200, 0, 0, 0},
    {LS__EXP, 0, 0, 200, 0, INF, INF},
    {LS__DIV, 0, 0, 1, 0, INF, INF},
    {LS__CLAMP, -1, 1, 1, 0, 1, 0},
    {LS__CLAMP, -1, 1, NAN, 0, NAN, 0},
    {LS__CLAMP, -INF, 1, -1e30f, 0, -1e30f, 1},
    {LS__POW, 0, 0, 0, 0, 1, 0},
    {LS__POW, 2, 0, -3, 0, 9, -6},
    {LS__POW, 3, 0, -2, 0, -8, 12},
    {LS__POW, -1, 0, -2, 0, -0.5f, -0.25f},
    {LS__POW, 1, 0, 0, 0, 0, 1},
    {LS__POW, 0.5f, 0, -4, 0, NAN, NAN},
    {LS__POW, 0.5f, 0, 0, 0, 0, INF},
    {LS__LEAKY_RELU, 0.5f, 0, 0, 0, 0, 1},
    {LS__ELU, 1, 0, -INF, 0, -1, 0},
    {LS__ELU, 1, 0, -1e-6f, 0, -0x1.0c6f72p-20f, 0x1.ffffdep-1f},
    {LS__SOFTPLUS, 0, 0, 100, 0, 100, 1},
    {LS__SOFTPLUS, 0, 0, -100, 0, 0, 0},
    {LS__BINARY_ENTROPY, 0, 0, 100, 1, 0, 0},
    {LS__BINARY_ENTROPY, 0, 0, 100, 0, 100, 1},
    {LS__BINARY_ENTROPY, 0, 0, -100, 1, 100, -1},
    {LS__DIVERGENCE, 0, 0, -3, 0, 0, 0},
    {LS__LESS, 0, 0, 2, 2, 0, 0},
    {LS__LESS, 0, 0, -INF, NAN, 0, 0},
    {LS__LESS_EQUAL, 0, 0, 2, 2, 1, 0},
    {LS__LESS_EQUAL, 0, 0, NAN, 2, 0, 0},
    {LS__EQUAL, 0, 0, -0.0f, 0, 1, 0},
    {LS__EQUAL, 0, 0, NAN, NAN, 0, 0},
    {LS__KEEP, 0, 0, NAN, 0, 0, 0},
    {LS__KEEP, 0, 0, 3, NAN, 3, 1},
    {LS__KEEP_ELSE, 0, 0, INF, -1, 0, 0},
    {LS__KEEP_ELSE, 0, 0, 3, -0.0f, 3, 1},
};
/* clang-format on */

static float of_bits(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

static bool is(float got, float want)
{
    return got == want || (got != got && want != want);
}

/* Bit for bit, but any NaN for any other: == takes a denormal for a zero. */
static bool has_bits(float got, float want)
{
    return memcmp(&got, &want, sizeof got) == 0 ||
           (got != got && want != want);
}

static void check_point(const ls__kernel_table *k, const point *at)
{
    ls__term t = {.kind = at->kind, .by = {at->p, at->q}};
    float y, one = 1, da;
    ls__term_run r = {.n = 1, .a = &at->a, .y = &y, .dy = &one, .da = &da};

    r.b = ls__term_inputs(at->kind) == 2 ? &at->b : &at->a;
    k->term_value(&t, &r);
    k->term_grad(&t, &r);
    ck_assert_msg(is(y, at->y), "kind %d of %g, %g: %a, not %a", at->kind,
                  (double)at->a, (double)at->b, (double)y, (double)at->y);
    ck_assert_msg(is(da, at->da), "kind %d at %g, %g: gradient %a, not %a",
                  at->kind, (double)at->a, (double)at->b, (double)da,
                  (double)at->da);
}

TEST(test_points)
{
    ls__fpmode_set();
    for (int i = 0; i < levels(); i++)
        for (size_t j = 0; level(i) && j < sizeof points / sizeof *points; j++)
            check_point(level(i), &points[j]);
}

/* expm1 and powers that are not whole, against double, over their range. */
TEST(test_accuracy)
{
    ls__term elu = {.kind = LS__ELU, .by = {1, 0}};
    ls__term power = {.kind = LS__POW, .by = {0.3f, 0}};

    ls__fpmode_set();
    for (float x = 1e-6f; x < 60; x *= 1.001f) {
        float a = -x, y, z;

        ls__kernels()->term_value(&elu, &(ls__term_run){.n = 1, .a = &a,
                                                        .b = &a, .y = &y});
        ls__kernels()->term_value(&power, &(ls__term_run){.n = 1, .a = &x,
                                                          .b = &x, .y = &z});
        ck_assert(fabs((double)y - expm1((double)a)) <=
                  3e-7 * fabs(expm1((double)a)));
        ck_assert(fabs((double)z - pow((double)x, (double)0.3f)) <=
                  1e-6 * pow((double)x, (double)0.3f));
    }
}

/* ------ Values and slopes of terms of one operand ------ */

enum { POINTS = 1 << 14 };

typedef struct points_of {
    float x[POINTS], d[POINTS], y[POINTS], dx[POINTS];
} points_of;

static void run_term(const ls__kernel_table *k, int kind, points_of *p)
{
    ls__term t = {.kind = kind, .by = {0.1f, 0.2f}};
    ls__term_run r = {.n = POINTS, .a = p->x, .b = p->x, .y = p->y,
                      .dy = p->d, .da = p->dx};

    k->term_value(&t, &r);
    k->term_grad(&t, &r);
}

/* One unit in the last place of x, or of `least` where that is more. */
static double unit(double x, double least)
{
    int e;

    frexp(fmax(fabs(x), least), &e);
    return ldexp(1, e - 24);
}

static const struct {
    int kind;
    float low, high;
    double value, slope;
} accuracy[] = {
#define ROW(kind, low, high, value, slope) {kind, low, high, value, slope},
    TERM_ACCURACY(ROW)
#undef ROW
};

#define LENGTH(array) ((int)(sizeof(array) / sizeof *(array)))

/* Half of the points are of one size, half of sizes down to 2^-20. */
LOOP_TEST(test_units, 0, LENGTH(accuracy))
{
    static points_of p;
    constants none = {(double)0.1f, (double)0.2f};
    int kind = accuracy[_i].kind;
    double least = 0x1p-126, worst[2] = {0};

    ls__fpmode_set();
    fill_uniform(_i, POINTS, p.x);
    for (int j = 0; j < POINTS; j++) {
        p.x[j] *= p.x[j] < 0 ? -accuracy[_i].low : accuracy[_i].high;
        p.x[j] = j % 2 ? ldexpf(p.x[j], -j / 2 % 20) : p.x[j];
        p.d[j] = 1;
    }
    run_term(ls__kernels(), kind, &p);
    for (int j = 0; j < POINTS; j++) {
        double x = (double)p.x[j], y = term_value(kind, x, 0, none);
        double slope = term_by_a(kind, x, 0, none);

        worst[0] = fmax(worst[0], fabs((double)p.y[j] - y) / unit(y, least));
        worst[1] = fmax(worst[1],
                        fabs((double)p.dx[j] - slope) / unit(slope, 0.25));
    }
    ck_assert_msg(worst[0] <= accuracy[_i].value &&
                      worst[1] <= accuracy[_i].slope,
                  "%s is %g units from its value, %g from its slope",
                  ls__op_term[kind].name, worst[0], worst[1]);
}

/* Numbers of all sizes but the least, whose products may be denormal; and
 * those at the ends, denormal ones too. */
static void draw(points_of *p)
{
    static const float ends[] = {0, -0.0f, INF, -INF, NAN, 0x1p16f, 0x1p-16f,
                                 -0x1.fffffep15f, 14, -14, 20, 21, 87.5f,
                                 -87.5f, 3e38f, -3e38f, 0x1p-140f, -0x1p-140f,
                                 0x1p-127f};
    uint32_t bits[2][POINTS];

    for (int k = 0; k < 2; k++)
        ls_random_bits(ls_key_new(k), 0, POINTS, bits[k]);
    for (int j = 0; j < POINTS; j++) {
        uint32_t exponent = 127 - 20 + (bits[0][j] >> 23) % (j % 2 ? 27 : 147);

        p->x[j] = of_bits((bits[0][j] & 0x807fffff) | exponent << 23);
        p->d[j] = of_bits((bits[1][j] & 0x807fffff) |
                          (120 + (bits[1][j] >> 23) % 14) << 23);
    }
    memcpy(p->x, ends, sizeof ends);
}

/* Each level has the bytes of each other. */
TEST(test_bits)
{
    static points_of p, first;

    ls__fpmode_set();
    draw(&p);
    draw(&first);
    for (int kind = LS__ADD + 1; kind < LS__TERM_KINDS; kind++)
        for (int i = 0, n = 0; i < levels(); i++) {
            if (!level(i))
                continue;
            run_term(level(i), kind, n ? &p : &first);
            for (int j = 0; n && j < POINTS; j++)
                ck_assert_msg(has_bits(p.y[j], first.y[j]) &&
                                  has_bits(p.dx[j], first.dx[j]),
                              "%s at %a: %a and %a, slopes %a and %a",
                              ls__op_term[kind].name, (double)p.x[j],
                              (double)p.y[j], (double)first.y[j],
                              (double)p.dx[j], (double)first.dx[j]);
            n++;
        }
}

/* ------ Refusals ------ */

/* What cannot be is refused, by name, where it is written. */
TEST(test_refusals)
{
    static const int64_t two[] = {2}, three[] = {3};
    ls_graph *g;
    ls_node *a, *b;

    for (int i = 0; i < 4; i++) {
        static const char *const words[] = {"mul: (2) and (3) differ",
                                            "pow \"a\": a constant is NaN",
                                            "low 2 is above high 1",
                                            "input 0 is LS_I32"};

        OK(ls_graph_new(&g));
        a = ls_input(g, "a", i == 3 ? LS_I32 : LS_F32, 1, two);
        b = ls_input(g, "b", LS_F32, 1, three);
        ck_assert_ptr_null(i == 0   ? ls_mul(a, b)
                           : i == 1 ? ls_pow(a, (double)NAN)
                           : i == 2 ? ls_clamp(a, 2, 1)
                                    : ls_log(a));
        ck_assert_msg(strstr(ls_errmsg(), words[i]), "\"%s\"", ls_errmsg());
        ck_assert_ptr_null(ls_exp(NULL));
        ck_assert_ptr_null(ls_scale_shift(NULL, 1, 0));
        ck_assert_ptr_null(ls_sub(a, NULL));
        ls_graph_free(g);
    }
}

MAIN()
