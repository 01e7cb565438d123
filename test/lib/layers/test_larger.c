/* SPDX-License-Identifier: BSD-3-Clause */
/* Layers that make images larger: JAX's transposed convolutions and their
 * gradients, nearest neighbours, and what is refused. */
#include "agreement.h"
#include "golden.h"

enum { ROWS = 2, X = 24, N = 3 };

static const struct {
    const char *name;
    ls_window window;
    int64_t high, wide; /* of y */
} cases[] = {
    {"same_3_2", {3, 3, 2, 2, LS_SAME}, 8, 6},
    {"valid_3_2", {3, 3, 2, 2, LS_VALID}, 9, 7},
    {"same_2_3", {2, 4, 3, 1, LS_SAME}, 12, 3},
    {"valid_1_2", {1, 4, 2, 3, LS_VALID}, 8, 10}};

/* Output "y": the images "x" by a case's convolution, or by ls_upsample. */
static ls_node *larger(ls_graph *g, int i, bool upsample)
{
    ls_node *x = ls_input(g, "x", LS_F32, 3, (int64_t[]){4, 3, 2});

    x = upsample ? ls_upsample(x, 2, 3)
                 : ls_conv2d_transpose(x, N, cases[i].window, "up");
    OK(ls_output(g, x, "y"));
    return x;
}

static ls_graph *graph(int i, bool upsample)
{
    ls_graph *g = empty_graph();
    ls_node *x = larger(g, i, upsample);

    if (upsample)
        x = ls_dense(x, 1, "up");
    OK(ls_loss(g, ls_mean_loss(ls_square(x), NULL)));
    return g;
}

LOOP_TEST(test_transpose, 0, COUNT(cases))
{
    ls_trainer_options o = ls_trainer_defaults();
    run r = open_run_on(2, 2, graph(_i, false), &o);
    int64_t y = ROWS * cases[_i].high * cases[_i].wide * N;
    int64_t k = cases[_i].window.height * cases[_i].window.width * 2 * N;
    const float *want = golden("conv_transpose", y + k + N, "%s",
                               cases[_i].name);
    float *v = uniform(20, k), bias[N], x[ROWS * X], *out = uniform(1, y);
    ls_gradients *g;
    ls_result result;

    OK(ls_trainer_set(r.trainer, "up.kernel", k, v));
    fill_uniform(21, N, bias);
    OK(ls_trainer_set(r.trainer, "up.bias", N, bias));
    fill_uniform(0, ROWS * X, x);
    OK(ls_batch_set(r.batch, "x", LS_F32, x, ROWS));
    OK(ls_predict(r.trainer, r.batch, "y", y, out));
    for (int64_t i = 0; i < y; i++)
        near((double)out[i], (double)*want++, 2e-6, "y", (int)i);
    OK(ls_gradients_open(&g, r.trainer, 1));
    OK(ls_gradients_compute(g, r.batch, &result));
    OK(ls_gradients_get(g, "up.kernel", k, v));
    for (int64_t i = 0; i < k; i++)
        near((double)v[i], (double)*want++, 2e-6, "kernel", (int)i);
    OK(ls_gradients_get(g, "up.bias", N, bias));
    for (int i = 0; i < N; i++)
        near((double)bias[i], (double)*want++, 2e-6, "bias", i);
    ls_gradients_close(g);
    fences_free();
    close_run(&r);
}

TEST(test_upsample)
{
    ls_trainer_options o = ls_trainer_defaults();
    run r = open_run_on(1, 1, graph(0, true), &o);
    float x[ROWS * X], y[ROWS * 6 * X];

    fill_uniform(0, ROWS * X, x);
    OK(ls_batch_set(r.batch, "x", LS_F32, x, ROWS));
    OK(ls_predict(r.trainer, r.batch, "y", ROWS * 6 * X, y));
    for (int row = 0, at = 0; row < ROWS; row++)
        for (int i = 0; i < 8; i++)
            for (int j = 0; j < 9; j++)
                for (int c = 0; c < 2; c++, at++)
                    ck_assert(y[at] ==
                              x[row * X + (i / 2 * 3 + j / 3) * 2 + c]);
    close_run(&r);
}

/* Both layers are linear, so the gradient of mean(y w) by element j of x is
 * sum(y(e_j) w) / n, y(e_j) being that of the image whose element j alone is 1
 * (less what the bias gives). */
LOOP_TEST(test_by_input, -1, COUNT(cases))
{
    ls_trainer_options o = ls_trainer_defaults();
    bool upsample = _i < 0;
    int64_t shape[3] = {upsample ? 8 : cases[_i].high,
                        upsample ? 9 : cases[_i].wide, upsample ? 2 : N};
    int64_t y = shape[0] * shape[1] * shape[2];
    float *w = uniform(3, X * y), *out = uniform(4, X * y), one[X * X] = {0};
    float dx[X * X];
    ls_graph *g = empty_graph();
    ls_node *up;
    run r;

    up = larger(g, _i, upsample);
    up = ls_mul(up, ls_input(g, "w", LS_F32, 3, shape));
    OK(ls_loss(g, ls_mean_loss(up, NULL)));
    for (int j = 0; j < X; j++)
        one[j * X + j] = 1;
    r = open_run_on(2, 2, g, &o);
    OK(ls_batch_set(r.batch, "x", LS_F32, one, X));
    OK(ls_batch_set(r.batch, "w", LS_F32, w, X));
    OK(ls_predict(r.trainer, r.batch, "y", X * y, out));
    OK(ls_input_gradient(r.trainer, r.batch, false, "x", X * X, dx));
    for (int row = 0; row < X; row++)
        for (int j = 0; j < X; j++) {
            double want = 0;

            for (int64_t k = 0; k < y; k++)
                want += (double)out[j * y + k] * (double)w[row * y + k];
            want /= (double)(X * y);
            near((double)dx[row * X + j], want, 1e-6, "dx", j);
        }
    fences_free();
    close_run(&r);
}

TEST(test_refused)
{
    for (int i = 0; i < 4; i++) {
        ls_window w = {3, 3, 2, 2, i == 2 ? LS_EXPLICIT : LS_SAME};
        ls_graph *g = empty_graph();
        ls_node *x = i == 3 ? ls_input(g, "x", LS_F32, 2, (int64_t[]){4, 3})
                            : ls_input(g, "x", LS_F32, 3, (int64_t[]){4, 3, 2});

        ck_assert_ptr_null(i == 0 ? ls_upsample(x, 0, 1)
                           : i == 1 ? ls_upsample(x, 1, 1 << 17)
                                    : ls_conv2d_transpose(x, 3, w, "up"));
        ck_assert_ptr_nonnull(strstr(ls_errmsg(), i < 2 ? "upsample"
                                                        : "transpose"));
        ls_graph_free(g);
    }
}

MAIN()
