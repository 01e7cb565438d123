/* SPDX-License-Identifier: BSD-3-Clause */
/* Proves that a parameter that is a node learns as its formula says, and starts
 * as any other; and that products repeat leading axes. */
#include "models.h"

enum { ROWS = 6, WIDE = 3 };

static ls_node *scaled(ls_graph *g, ls_node *x)
{
    ls_init ones = ls_init_constant(1);
    ls_node *s = ls_parameter(g, "scale", 1, (int64_t[]){WIDE});

    OK(ls_init_params(g, "scale", &ones));
    return ls_mul(x, ls_broadcast_to(s, 2, (int64_t[]){2, WIDE}));
}

/* The gradient of sum (x s - y)^2 over all elements by s, in double. */
static void gradient(const float *x, const float *y, const float *s, double *d)
{
    const int n = ROWS * 2 * WIDE;

    memset(d, 0, WIDE * sizeof *d);
    for (int i = 0; i < n; i++) {
        double e = (double)x[i] * (double)s[i % WIDE] - (double)y[i];

        d[i % WIDE] += 2 * e * (double)x[i] / n;
    }
}

/* A scale per column takes the step that its formula says, whatever the number
 * of workers. */
LOOP_TEST(test_scale, 0, 3)
{
    ls_trainer_options o = ls_trainer_defaults();
    float x[ROWS * 2 * WIDE], y[ROWS * 2 * WIDE], s[WIDE], was[WIDE];
    double d[WIDE];
    ls_graph *g = empty_graph();
    ls_node *in;
    ls_result result;
    run r;

    fill_uniform(1, ROWS * 2 * WIDE, x);
    fill_uniform(2, ROWS * 2 * WIDE, y);
    in = ls_input(g, "x", LS_F32, 2, (int64_t[]){2, WIDE});
    OK(ls_loss(g, ls_mean_squared_error(
                      scaled(g, in),
                      ls_input(g, "y", LS_F32, 2, (int64_t[]){2, WIDE}))));
    o.optimizer = ls_sgd(0.5);
    r = open_run_on(3, 1 + _i, g, &o);
    OK(ls_batch_set(r.batch, "x", LS_F32, x, ROWS));
    OK(ls_batch_set(r.batch, "y", LS_F32, y, ROWS));
    OK(ls_trainer_get(r.trainer, "scale", WIDE, was));
    for (int j = 0; j < WIDE; j++)
        ck_assert(was[j] == 1);
    gradient(x, y, was, d);
    OK(ls_step(r.trainer, r.batch, &result));
    OK(ls_trainer_get(r.trainer, "scale", WIDE, s));
    for (int j = 0; j < WIDE; j++)
        ck_assert(fabs((double)s[j] - (1 - 0.5 * d[j])) < 1e-6);
    close_run(&r);
}

/* It starts with the bits that any layer's parameter of that name has. */
TEST(test_start)
{
    ls_init normal = ls_init_random(LS_NORMAL, 0.5);
    float value[2][6 * WIDE];

    for (int own = 0; own < 2; own++) {
        int64_t shape[] = {6, WIDE};
        ls_graph *g = empty_graph();
        ls_node *x;
        run r;

        x = ls_input(g, "x", LS_F32, 2, shape);
        x = own ? ls_add(x, ls_parameter(g, "table", 2, shape))
                : ls_position(x, "table");
        OK(ls_init_params(g, "table", &normal));
        OK(ls_loss(g, ls_mean_loss(x, NULL)));
        r = open_run_on(1, 1, g, NULL);
        OK(ls_trainer_get(r.trainer, "table", 6 * WIDE, value[own]));
        close_run(&r);
    }
    ck_assert_mem_eq(value[0], value[1], sizeof value[0]);
}

/* One number, which starts at zero and is added to every row; as an output it
 * has as many rows as there are. */
TEST(test_scalar)
{
    ls_trainer_options o = ls_trainer_defaults();
    float x[ROWS], bias, y[ROWS];
    ls_result result;
    ls_graph *g = empty_graph();
    ls_node *in, *own;
    run r;

    fill_uniform(5, ROWS, x);
    in = ls_input(g, "x", LS_F32, 0, NULL);
    own = ls_parameter(g, "bias", 0, NULL);
    OK(ls_output(g, own, "own"));
    in = ls_add(in, own);
    OK(ls_output(g, in, "y"));
    OK(ls_loss(g, ls_mean_loss(in, NULL)));
    o.optimizer = ls_sgd(0.25);
    r = open_run_on(2, 1, g, &o);
    OK(ls_batch_set(r.batch, "x", LS_F32, x, ROWS));
    OK(ls_step(r.trainer, r.batch, &result));
    OK(ls_trainer_get(r.trainer, "bias", 1, &bias));
    ck_assert(bias == -0.25f);
    OK(ls_predict(r.trainer, r.batch, "y", ROWS, y));
    for (int i = 0; i < ROWS; i++)
        ck_assert(y[i] == x[i] - 0.25f);
    OK(ls_predict(r.trainer, r.batch, "own", ROWS, y));
    for (int i = 0; i < ROWS; i++)
        ck_assert(y[i] == -0.25f);
    close_run(&r);
}

/* ------ leading axes ------ */

enum { LEAD = 2, M = 3, K = 4, N = 5 };

/* x (LEAD,M,K) by b, which lacks the leading axis or has one of it; or matrix
 * by matrix, put together again. */
static ls_node *multiplied(ls_graph *g, bool whole, bool has_one)
{
    ls_node *a = ls_input(g, "x", LS_F32, 3, (int64_t[]){LEAD, M, K});
    ls_node *b = ls_parameter(g, "b", has_one ? 3 : 2,
                              (int64_t[]){has_one ? 1 : K, has_one ? K : N, N});
    ls_node *y[LEAD];

    if (!whole)
        return ls_matmul(a, b);
    b = ls_reshape(b, 2, (int64_t[]){K, N});
    for (int i = 0; i < LEAD; i++)
        y[i] = ls_matmul(ls_reshape(ls_slice(a, 0, i, 1), 2,
                                    (int64_t[]){M, K}), b);
    return ls_reshape(ls_concat(y, LEAD, 0), 3, (int64_t[]){LEAD, M, N});
}

/* A product whose second operand lacks an axis, or has one of it, has the
 * bytes of single products, and the gradient that its formula says. */
LOOP_TEST(test_matmul, 0, 2)
{
    enum { ALL = ROWS * LEAD * M };
    ls_trainer_options o = ls_trainer_defaults();
    ls_init normal = ls_init_random(LS_NORMAL, 1);
    float x[ALL * K], y[2][ALL * N], b[2][K * N];
    double sum;

    fill_uniform(3, ALL * K, x);
    for (int whole = 0; whole < 2; whole++) {
        ls_graph *g = empty_graph();
        ls_node *node;
        ls_result result;
        run r;

        node = multiplied(g, whole, _i);
        OK(ls_init_params(g, "b", &normal));
        OK(ls_output(g, node, "y"));
        OK(ls_loss(g, ls_mean_loss(node, NULL)));
        o.optimizer = ls_sgd(ALL * N);
        r = open_run_on(1, 1, g, &o);
        OK(ls_batch_set(r.batch, "x", LS_F32, x, ROWS));
        OK(ls_predict(r.trainer, r.batch, "y", ALL * N, y[whole]));
        OK(ls_trainer_get(r.trainer, "b", K * N, b[0]));
        OK(ls_step(r.trainer, r.batch, &result));
        OK(ls_trainer_get(r.trainer, "b", K * N, b[1]));
        close_run(&r);
    }
    ck_assert_mem_eq(y[0], y[1], sizeof y[0]);
    for (int k = 0; k < K; k++) {
        sum = 0;
        for (int i = 0; i < ALL; i++)
            sum += (double)x[i * K + k];
        for (int j = 0; j < N; j++)
            ck_assert(fabs((double)(b[0][k * N + j] - b[1][k * N + j]) - sum) <
                      1e-4);
    }
}

/* Both operands may lack what the other has. */
TEST(test_shapes)
{
    static const struct {
        int a, b, y;
        int64_t of_a[4], of_b[4], of_y[4];
    } shapes[] = {{3, 4, 4, {2, 3, 4}, {5, 1, 4, 6}, {5, 2, 3, 6}},
                  {2, 3, 3, {3, 4}, {2, 4, 5}, {2, 3, 5}},
                  {3, 3, 3, {1, 3, 4}, {2, 4, 5}, {2, 3, 5}}};
    int64_t is[LS_MAX_RANK];

    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        ls_graph *g = empty_graph();
        ls_node *y;

        y = ls_matmul(ls_input(g, "a", LS_F32, shapes[i].a, shapes[i].of_a),
                      ls_input(g, "b", LS_F32, shapes[i].b, shapes[i].of_b));
        ck_assert_int_eq(ls_node_shape(y, is), shapes[i].y);
        for (int k = 0; k < shapes[i].y; k++)
            ck_assert_int_eq(is[k], shapes[i].of_y[k]);
        ls_graph_free(g);
    }
}

MAIN()
