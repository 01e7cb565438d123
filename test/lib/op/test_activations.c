/* SPDX-License-Identifier: BSD-3-Clause */
/* The activations beside gelu: their values and slopes at every instruction
 * level, folded into a product or not, in the gradient of a whole model; and
 * the accuracy that cross entropy counts. */
#include "backend/backend.h"
#include "backends.h"
#include "models.h"
#include "graph/op.h"
#include "kernel/kernel.h"
#include "lockstep.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

/* ------ The functions in double ------ */

static double gelu(double x)
{
    return x / 2 * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

static double gelu_slope(double x)
{
    double t = tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x));

    return (1 + t) / 2 + x / 2 * (1 - t * t) * sqrt(2 / M_PI) *
                             (1 + 3 * 0.044715 * x * x);
}

static double relu(double x)
{
    return x > 0 ? x : 0;
}

static double relu_slope(double x)
{
    return x > 0;
}

static double tanh_slope(double x)
{
    return 1 / (cosh(x) * cosh(x));
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double sigmoid_slope(double x)
{
    return 1 / (4 * cosh(x / 2) * cosh(x / 2));
}

typedef struct row {
    ls__activation kind;
    double (*value)(double), (*slope)(double);
    ls_node *(*build)(ls_node *);
    double far;  /* largest error of value and slope, in units of 2^-24 */
    double tiny; /* relative to what is above this, else to it */
} row;

static const row rows[] = {
    {LS__GELU, gelu, gelu_slope, ls_gelu, 64, 1},
    {LS__RELU, relu, relu_slope, ls_relu, 0, 0},
    {LS__TANH, tanh, tanh_slope, ls_tanh, 16, 1},
    {LS__SIGMOID, sigmoid, sigmoid_slope, ls_sigmoid, 8, 0x1p-126},
};

static void near(const row *r, double x, double got, double want)
{
    double size = fabs(want) > r->tiny ? fabs(want) : r->tiny;

    ck_assert_msg(fabs(got - want) <= r->far * 0x1p-24 * size,
                  "activation %d at %a: %a, not %a", (int)r->kind, x, got,
                  want);
}

/* Values and slopes meet their definitions from end to end. */
LOOP_TEST(test_functions, 0, levels())
{
    const ls__kernel_table *k = level(_i);
    enum { N = 4097 };
    static float x[N], y[N], d[N], one[N];

    for (int i = 0; k && i < N; i++) {
        x[i] = 0.02f * (float)(i - N / 2);
        one[i] = 1;
    }
    for (int a = 0; k && a < COUNT(rows); a++) {
        k->activate(rows[a].kind, N, x, y);
        k->activate_grad(rows[a].kind, N, x, one, NULL, d);
        for (int i = 0; i < N; i++) {
            near(&rows[a], (double)x[i], (double)y[i],
                 rows[a].value((double)x[i]));
            near(&rows[a], (double)x[i], (double)d[i],
                 rows[a].slope((double)x[i]));
        }
    }
}

/* Zeros, infinities and NaN come out as the header says. */
LOOP_TEST(test_ends, 0, levels())
{
    const ls__kernel_table *k = level(_i);
    float x[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN}, y[5], d[5];
    float one[] = {1, 1, 1, 1, 1};
    static const float relus[] = {0, 0, INFINITY, 0};
    static const float tanhs[] = {0, 0, 1, -1};
    static const float sigmoids[] = {0.5f, 0.5f, 1, 0};
    const float *want[] = {relus, tanhs, sigmoids};

    for (int a = 1; k && a < COUNT(rows); a++) {
        k->activate(rows[a].kind, 5, x, y);
        for (int i = 0; i < 4; i++)
            ck_assert(y[i] == want[a - 1][i]);
        ck_assert(isnan(y[4]));
    }
    if (!k)
        return;
    k->activate(LS__RELU, 5, x, y);
    ck_assert(!signbit(y[1]));
    k->activate_grad(LS__RELU, 5, x, one, NULL, d);
    ck_assert(d[0] == 0);
    ck_assert(d[1] == 0);
    ck_assert(d[2] == 1);
    ck_assert(d[3] == 0);
}

/* Every level with FMA gives the same bytes, for every length, with and
 * without something to add to. */
TEST(test_levels)
{
    enum { N = 40 };
    float x[N], dy[N], old[N], y[N], d[N], first_y[N], first_d[N];

    ls_random_normal(ls_key_new(1), 0, N, x);
    ls_random_normal(ls_key_new(2), 0, N, dy);
    ls_random_normal(ls_key_new(3), 0, N, old);
    for (int a = 0; a < COUNT(rows); a++)
        for (int n = 0; n <= N; n++)
            for (int i = 0, seen = 0; i < levels(); i++) {
                const ls__kernel_table *k = level(i);

                if (!k)
                    continue;
                memset(y, 0, sizeof y);
                memset(d, 0, sizeof d);
                k->activate(rows[a].kind, n, x, y);
                k->activate_grad(rows[a].kind, n, x, dy, n % 2 ? old : NULL, d);
                if (seen++) {
                    ck_assert_mem_eq(y, first_y, sizeof y);
                    ck_assert_mem_eq(d, first_d, sizeof d);
                }
                memcpy(first_y, y, sizeof y);
                memcpy(first_d, d, sizeof d);
            }
}

/* ------ Folded into a product ------ */

enum { M = 17, N = 37, K = 260 };

typedef struct product {
    float a[M * K], b[K * N], bias[N], h[M * N], add[M * N];
    float pre[M * N], c[M * N], slope[M * N], times[M * N], slow[M * N];
    float scratch[64 * K * 2 + 112 * (K + 32)];
} product;

static void folded(const ls__backend *backend, product *p, ls__activation f,
                   const float *times, const float *add)
{
    ls__product g = {.m = M, .n = N, .k = K, .a = p->a, .a_row = K, .a_col = 1,
                     .b = p->b, .b_row = N, .b_col = 1, .c = p->c, .c_row = N,
                     .scale = 1, .bias = p->bias, .activation = f,
                     .slope = f ? p->slope : NULL, .times = times, .add = add};

    backend->products->gemm(&g, p->scratch);
}

/* The epilogue does what separate passes do, to the bit, in both backends. */
LOOP_TEST(test_folded, 0, COUNT(rows))
{
    static const char *const names[] = {"native", "blis"};
    const ls__activation kind = rows[_i].kind;
    const ls__kernel_table *k = ls__kernels();
    product *p = calloc(1, sizeof *p);
    ls__backend backend;

    ck_assert_ptr_nonnull(p);
    ls_random_normal(ls_key_new(1), 0, M * K, p->a);
    ls_random_normal(ls_key_new(2), 0, K * N, p->b);
    ls_random_normal(ls_key_new(3), 0, N, p->bias);
    ls_random_normal(ls_key_new(4), 0, M * N, p->h);
    ls_random_normal(ls_key_new(5), 0, M * N, p->add);
    for (int i = 0; i < 1 + have_blis(); i++) {
        OK(ls__backend_find(&backend, names[i], LS_F32_LAYERS));
        folded(&backend, p, LS__NO_ACTIVATION, NULL, NULL);
        memcpy(p->pre, p->c, sizeof p->c);
        folded(&backend, p, kind, NULL, p->add);
        k->activate(kind, M * N, p->pre, p->slow);
        k->add(M * N, p->slow, p->add, p->slow);
        ck_assert_mem_eq(p->c, p->slow, sizeof p->c);
        k->activate_grad(kind, M * N, p->pre, p->h, NULL, p->slow);
        k->slope_grad(M * N, p->slope, p->h, p->c);
        ck_assert_mem_eq(p->c, p->slow, sizeof p->c);
        memcpy(p->times, p->slope, sizeof p->times);
        folded(&backend, p, LS__NO_ACTIVATION, p->times, p->add);
        k->slope_grad(M * N, p->times, p->pre, p->slow);
        k->add(M * N, p->slow, p->add, p->slow);
        ck_assert_mem_eq(p->c, p->slow, sizeof p->c);
    }
    free(p);
}

/* ------ A model ------ */

enum { ROWS = 8, IN = 3, HIDDEN = 5, CLASSES = 4 };

/* A network in the canonical order of the trainer: biases before weights. */
typedef struct net {
    double b1[HIDDEN], w1[IN * HIDDEN], b2[CLASSES], w2[HIDDEN * CLASSES];
} net;

enum { NET = sizeof(net) / sizeof(double) };

static const char *const net_names[] = {"fc1.bias", "fc1.kernel", "fc2.bias",
                                        "fc2.kernel"};
static const int net_sizes[] = {HIDDEN, IN * HIDDEN, CLASSES, HIDDEN * CLASSES};

static double row_loss(const row *r, const net *p, const float *x, int label)
{
    double h[HIDDEN], y[CLASSES], sum = 0;

    for (int j = 0; j < HIDDEN; j++) {
        h[j] = p->b1[j];
        for (int i = 0; i < IN; i++)
            h[j] += (double)x[i] * p->w1[i * HIDDEN + j];
        h[j] = r->value(h[j]);
    }
    for (int c = 0; c < CLASSES; c++) {
        y[c] = p->b2[c];
        for (int j = 0; j < HIDDEN; j++)
            y[c] += h[j] * p->w2[j * CLASSES + c];
        sum += exp(y[c]);
    }
    return log(sum) - y[label];
}

static double mean_loss(const row *r, const net *p, const float *x,
                        const int32_t *labels)
{
    double sum = 0;

    for (int i = 0; i < ROWS; i++)
        sum += row_loss(r, p, x + i * IN, labels[i]);
    return sum / ROWS;
}

static run open_trainer(ls_graph *g, int devices, int workers)
{
    ls_trainer_options o = ls_trainer_defaults();

    o.optimizer = ls_sgd(1);
    return open_run_on(devices, workers, g, &o);
}

static void get_net(const run *t, double *out)
{
    float room[IN * HIDDEN + HIDDEN * CLASSES];

    for (int i = 0; i < COUNT(net_names); i++) {
        OK(ls_trainer_get(t->trainer, net_names[i], net_sizes[i], room));
        for (int j = 0; j < net_sizes[i]; j++)
            *out++ = (double)room[j];
    }
}

/* Build a network; where the hidden values are read twice nothing can be
 * folded. */
static run open_net(const row *r, bool twice)
{
    ls_graph *g = empty_graph();

    ls_node *x = ls_input(g, "x", LS_F32, 1, (int64_t[]){IN});
    ls_node *y = ls_input(g, "y", LS_I32, 0, NULL);
    ls_node *pre = ls_dense(x, HIDDEN, "fc1"), *h = r->build(pre);
    if (twice)
        OK(ls_output(g, pre, "pre"));
    OK(ls_loss(g, ls_cross_entropy(ls_dense(h, CLASSES, "fc2"), y)));
    return open_trainer(g, 2, 2);
}

/* One update with rate 1: before - after is the gradient. */
static void step_net(const row *r, bool twice, const float *x,
                     const int32_t *labels, net *before, net *after)
{
    run t = open_net(r, twice);

    get_net(&t, (double *)before);
    OK(ls_batch_set(t.batch, "x", LS_F32, x, ROWS));
    OK(ls_batch_set(t.batch, "y", LS_I32, labels, ROWS));
    ck_assert_double_eq_tol((double)step(&t).loss,
                            mean_loss(r, before, x, labels), 1e-6);
    get_net(&t, (double *)after);
    close_run(&t);
}

/* The gradient of a classifier is that of differences in double; folding the
 * activation into the products changes no bit of it. */
LOOP_TEST(test_gradient, 0, COUNT(rows))
{
    const row *r = &rows[_i];
    float x[ROWS * IN];
    int32_t labels[ROWS];
    net start, end, again;

    ls_random_normal(ls_key_new(8), 0, ROWS * IN, x);
    ls_random_randint(ls_key_new(9), 0, ROWS, 0, CLASSES, labels);
    step_net(r, false, x, labels, &start, &end);
    for (int i = 0; i < NET; i++) {
        double *p = (double *)&start + i, was = *p, up, down;

        *p = was + 1e-5;
        up = mean_loss(r, &start, x, labels);
        *p = was - 1e-5;
        down = mean_loss(r, &start, x, labels);
        *p = was;
        ck_assert_double_eq_tol(was - ((double *)&end)[i], (up - down) / 2e-5,
                                2e-6);
    }
    step_net(r, true, x, labels, &start, &again);
    ck_assert_mem_eq(&again, &end, sizeof end);
}

/* ------ Accuracy ------ */

/* Logits that are the input itself, by way of weights that are the identity. */
static run open_identity(int workers)
{
    float one[CLASSES * CLASSES] = {0};
    ls_node *x, *y;
    ls_graph *g = empty_graph();
    run t;

    x = ls_input(g, "x", LS_F32, 1, (int64_t[]){CLASSES});
    y = ls_input(g, "y", LS_I32, 0, NULL);
    OK(ls_loss(g, ls_cross_entropy(ls_dense(x, CLASSES, "fc"), y)));
    t = open_trainer(g, 4, workers);
    for (int i = 0; i < CLASSES; i++)
        one[i * CLASSES + i] = 1;
    OK(ls_trainer_set(t.trainer, "fc.kernel", CLASSES * CLASSES, one));
    return t;
}

/* The first of equal logits is the argmax; weights count, masked rows do not;
 * training and evaluation agree on any number of workers. */
LOOP_TEST(test_accuracy, 1, 5)
{
    static const float x[ROWS * CLASSES] = {
        3, 1, 2, 0,  0, 1, 2, 3,  1, 1, 0, 0,  1, 1, 0, 0,
        0, 0, 0, 0,  5, 4, 5, 5,  -1, -2, -3, 0,  0, 9, 0, 0};
    static const int32_t y[ROWS] = {0, 3, 0, 1, 3, 2, 3, 0};
    static const float w[ROWS] = {1, 1, 1, 1, 2, 1, 0, 0.5f};
    run t = open_identity(_i);
    ls_result seen, stepped;

    OK(ls_batch_set(t.batch, "x", LS_F32, x, ROWS));
    OK(ls_batch_set(t.batch, "y", LS_I32, y, ROWS));
    OK(ls_evaluate(t.trainer, t.batch, &seen));
    ck_assert(seen.accuracy == 4.0f / 8); /* rows 0, 1, 2, 6 */
    OK(ls_batch_set_weights(t.batch, w, ROWS));
    OK(ls_evaluate(t.trainer, t.batch, &seen));
    ck_assert(seen.accuracy == (float)(3 / 7.5));
    OK(ls_step(t.trainer, t.batch, &stepped));
    ck_assert(stepped.accuracy == seen.accuracy);
    close_run(&t);
}

/* Other losses have no accuracy. */
TEST(test_no_accuracy)
{
    static const float x[4] = {1, 2, 3, 4};
    ls_graph *g = empty_graph();
    run t;
    ls_result result;
    ls_node *in = ls_input(g, "x", LS_F32, 1, (int64_t[]){1});

    OK(ls_loss(g, ls_mean_squared_error(ls_dense(in, 1, "fc"), in)));
    t = open_trainer(g, 4, 1);
    OK(ls_batch_set(t.batch, "x", LS_F32, x, 4));
    OK(ls_step(t.trainer, t.batch, &result));
    ck_assert(isnan(result.accuracy));
    close_run(&t);
}

MAIN()
