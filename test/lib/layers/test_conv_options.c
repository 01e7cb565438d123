/* SPDX-License-Identifier: BSD-3-Clause */
/* Convolutions with dilation, groups, depthwise and padding by numbers: JAX's
 * values and gradients through the public calls, in model files too; and what
 * is refused.  (Bits on hundreds of shapes: test_conv.c.) */
#define _GNU_SOURCE /* nftw */
#include "alone.h"
#include "backend/backend.h"
#include "folder.h"
#include "golden.h"
#include "layers.h"
#include "models.h"
#include "op/conv.h"
#include "reference.h"

#include <math.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

static float *sines(int64_t n, double by)
{
    float *x = fenced(n);

    for (int64_t i = 0; i < n; i++)
        x[i] = (float)sin((double)i * by);
    return x;
}

static void near(const char *name, const char *what, int64_t n,
                 const float *got)
{
    const float *want = golden("convs", n, "%s/%s", name, what);

    for (int64_t i = 0; i < n; i++)
        ck_assert_msg(fabsf(got[i] - want[i]) <= 2e-5f, "%s: %s[%lld] is %g, "
                      "not %g", name, what, (long long)i, (double)got[i],
                      (double)want[i]);
}

/* ------ lax.conv_general_dilated ------ */

typedef struct conv_case {
    const char *name;
    int64_t rows, image[3], n, height, width;
    int64_t stride[2], dilation[2], groups, pads[4]; /* top, bottom, left,
                                                        right */
    ls_padding padding;
} conv_case;

static const conv_case cases[] = {
    {"dilated", 2, {6, 7, 3}, 4, 3, 2, {1, 1}, {2, 3}, 1, {0}, LS_SAME},
    {"grouped", 2, {5, 4, 6}, 9, 2, 3, {2, 1}, {1, 1}, 3, {0}, LS_VALID},
    {"depthwise", 2, {6, 5, 20}, 20, 3, 3, {1, 2}, {1, 1}, 20, {0}, LS_SAME},
    {"padded", 1, {4, 5, 2}, 3, 3, 3, {2, 2}, {1, 2}, 1, {0, 3, 5, 1},
     LS_EXPLICIT},
    {"all", 2, {7, 6, 4}, 8, 2, 3, {3, 1}, {2, 1}, 2, {4, 1, 2, 0},
     LS_EXPLICIT}};

static ls_conv_options options_of(const conv_case *q)
{
    ls_conv_options o = ls_conv_defaults();

    o.no_bias = true;
    o.padding = q->padding;
    o.groups = q->groups;
    o.stride_y = q->stride[0];
    o.stride_x = q->stride[1];
    o.dilation_y = q->dilation[0];
    o.dilation_x = q->dilation[1];
    o.top = q->pads[0];
    o.bottom = q->pads[1];
    o.left = q->pads[2];
    o.right = q->pads[3];
    return o;
}

static ls_graph *graph_of(const conv_case *q, const ls_conv_options *o)
{
    ls_graph *g = empty_graph();
    ls_node *x = ls_input(g, "x", LS_F32, 3, q->image);
    ls_node *y = ls_conv2d_with(x, q->n, q->height, q->width, o, "conv");

    ck_assert_msg(y != NULL, "%s", ls_errmsg());
    x = ls_input(g, "dy", LS_F32, 3, y->shape);
    OK(ls_output(g, y, "y"));
    OK(ls_loss(g, ls_mean_squared_error(y, x)));
    return g;
}

/* Proves that values and both gradients are JAX's, and that a graph that went
 * through a file makes the same bytes. */
LOOP_TEST(values, 0, COUNT(cases))
{
    const conv_case *q = &cases[_i];
    ls_conv_options o = options_of(q);
    ls_pool *pool = open_pool(1, 1);
    ls_graph *g = graph_of(q, &o), *copy;
    const ls_node *n = g->nodes[1];
    int64_t nx = q->rows * q->image[0] * q->image[1] * q->image[2];
    int64_t nw = q->height * q->width * q->image[2] / q->groups * q->n;
    int64_t ny = q->rows * n->size;
    float *x = sines(nx, 0.7), *w = sines(nw, 1.3), *dy = sines(ny, 1.9);
    float *y = fenced(ny), *again = fenced(ny);
    float *dx = fenced(nx), *dw = fenced(nw);
    ls__run run_of = {.node = n, .rows = q->rows, .x = {x}, .y = y,
                      .param = {w}, .dy = dy, .dx = {dx}, .dparam = {dw},
                      .kernels = ls__kernels()};
    ls_trainer_options t = ls_trainer_defaults();
    alone a;
    run r;

    ck_assert_str_eq(n->op->name, "conv2d");
    run_of.backend = &ls__kernels()->native[LS_F32_LAYERS];
    a = alone_of(n);
    alone_start(&a, &run_of);
    n->op->run.forward(&run_of);
    n->op->run.backward(&run_of);
    near(q->name, "y", ny, y);
    near(q->name, "dx", nx, dx);
    near(q->name, "dw", nw, dw);
    r = open_run(pool, g, &t);
    folder_open();
    OK(ls_trainer_set(r.trainer, "conv.kernel", nw, w));
    OK(ls_trainer_save_model(r.trainer, in_folder("a")));
    close_run(&r);
    OK(ls_graph_load(&copy, in_folder("a")));
    r = open_run(pool, copy, &t);
    OK(ls_trainer_load(r.trainer, in_folder("a"), NULL));
    folder_close();
    OK(ls_batch_set(r.batch, "x", LS_F32, x, q->rows));
    OK(ls_batch_set(r.batch, "dy", LS_F32, dy, q->rows));
    OK(ls_predict(r.trainer, r.batch, "y", ny, again));
    ck_assert_mem_eq(again, y, (size_t)ny * sizeof *y);
    close_run(&r);
    ls_pool_close(pool);
    fences_free();
}

/* ------ nnx.Conv over steps ------ */

static ls_conv_options steps_options(int i)
{
    ls_conv_options o = ls_conv_defaults();

    o.no_bias = true;
    if (i == 0) {
        o.padding = LS_CAUSAL;
        o.dilation_x = 4;
    } else if (i == 1) {
        o.padding = LS_EXPLICIT;
        o.left = 3;
        o.right = 1;
        o.stride_x = 2;
    } else {
        o.groups = 3;
    }
    return o;
}

/* Proves that these are nnx.Conv's values. */
LOOP_TEST(steps, 0, 3)
{
    static const struct {
        const char *name;
        int64_t n, weights;
    } all[] = {{"causal", 2 * 11 * 6, 3 * 3 * 6},
               {"padded", 2 * 7 * 6, 3 * 3 * 6},
               {"grouped", 2 * 11 * 6, 3 * 6}};
    ls_conv_options o = steps_options(_i);
    float *x = sines(2 * 11 * 3, 0.7), *w = sines(all[_i].weights, 1.3);
    float *y = fenced(all[_i].n);
    ls_graph *g = empty_graph();
    ls_node *n;
    run r;

    n = ls_conv1d_with(ls_input(g, "x", LS_F32, 2, (int64_t[]){11, 3}), 6, 3,
                       &o, "conv");
    ck_assert_msg(n != NULL, "%s", ls_errmsg());
    OK(ls_output(g, n, "y"));
    OK(ls_loss(g, ls_mean_loss(n, NULL)));
    r = open_run_on(1, 1, g, NULL);
    OK(ls_trainer_set(r.trainer, "conv.kernel", all[_i].weights, w));
    OK(ls_batch_set(r.batch, "x", LS_F32, x, 2));
    OK(ls_predict(r.trainer, r.batch, "y", all[_i].n, y));
    near("steps", all[_i].name, all[_i].n, y);
    close_run(&r);
    fences_free();
}

/* Proves that padding whose zeros are all before the image is there where the
 * windows end with the image: of 4 steps 2 come out, the first from one zero
 * and step 0. */
TEST(zeros_before)
{
    float x[4] = {1, 2, 3, 4}, w[2] = {10, 1}, y[2];
    ls_conv_options o = ls_conv_defaults();
    ls_graph *g = empty_graph();
    ls_node *n;
    run r;

    o.no_bias = true;
    o.stride_x = 2;
    o.padding = LS_CAUSAL;
    n = ls_conv1d_with(ls_input(g, "x", LS_F32, 2, (int64_t[]){4, 1}), 1, 2, &o,
                       "conv");
    OK(ls_output(g, n, "y"));
    OK(ls_loss(g, ls_mean_loss(n, NULL)));
    r = open_run_on(1, 1, g, NULL);
    OK(ls_trainer_set(r.trainer, "conv.kernel", 2, w));
    OK(ls_batch_set(r.batch, "x", LS_F32, x, 1));
    OK(ls_predict(r.trainer, r.batch, "y", 2, y));
    ck_assert(y[0] == 1 && y[1] == 23);
    close_run(&r);
}

/* ------ Training ------ */

/* Depthwise and pointwise, groups with gaps, each with what a plan folds. */
static ls_graph *net(bool seen)
{
    ls_conv_options depthwise = ls_conv_defaults(), groups = depthwise;
    ls_window two = {2, 2, 2, 2, LS_VALID}, one = {1, 1, 1, 1, LS_VALID};
    ls_graph *g = empty_graph();
    ls_node *x, *label, *all[6];

    depthwise.groups = 6;
    groups.groups = 2;
    groups.dilation_y = groups.dilation_x = 2;
    x = ls_input(g, "x", LS_F32, 3, (int64_t[]){9, 7, 6});
    label = ls_input(g, "label", LS_I32, 0, NULL);
    all[0] = ls_conv2d_with(x, 6, 3, 3, &depthwise, "conv1");
    all[1] = ls_relu(all[0]);
    x = all[2] = ls_max_pool(all[1], two);
    x = ls_gelu(ls_conv2d(x, 10, one, "conv2"));
    all[3] = ls_conv2d_with(x, 4, 2, 3, &groups, "conv3");
    all[4] = ls_relu(all[3]);
    all[5] = ls_max_pool(all[4], two);
    x = ls_add(all[5], ls_conv2d_with(all[5], 4, 1, 2, &groups, "conv4"));
    for (int i = 0; seen && i < 6; i++) {
        char name[] = "seen 0";

        name[5] = (char)('0' + i);
        OK(ls_output(g, all[i], name));
    }
    OK(ls_loss(g, ls_cross_entropy(ls_dense(ls_flatten(x), 4, "out"), label)));
    return g;
}

/* Proves that neither workers nor what is folded into these convolutions change
 * a bit, in any precision. */
LOOP_TEST(folding_is_exact, 0, LS_F32X3_LAYERS + 1)
{
    ls_trainer_options o = ls_trainer_defaults();
    char want[65], got[65];

    o.precision = (ls_precision)_i;
    train_images(net(false), 378, 1, &o, want);
    train_images(net(true), 378, 1, &o, got);
    ck_assert_str_eq(got, want);
    train_images(net(false), 378, 2, &o, got);
    ck_assert_str_eq(got, want);
}

/* ------ What is refused ------ */

static void change(ls_conv_options *o, int i)
{
    switch (i) {
    case 0: o->groups = 4; break;
    case 1: o->groups = -1; break;
    case 2: o->dilation_x = -2; break;
    case 3: o->dilation_y = 5000; break;
    case 4: o->left = 1; break;
    case 5: o->padding = LS_EXPLICIT; o->top = -1; break;
    case 6: o->padding = LS_VALID; o->dilation_x = 3; break;
    case 7: o->padding = LS_EXPLICIT; o->left = 5000; break;
    default: o->size = 4;
    }
}

TEST(refusals)
{
    static const struct {
        int status;
        const char *words;
    } all[] = {{LS_ESHAPE, "4 groups do not divide 6 channels and 8 outputs"},
               {LS_ESHAPE, "-1 groups"},
               {LS_EINVAL, "dilations 1 and -2"},
               {LS_EINVAL, "dilations 5000 and 1"},
               {LS_EINVAL, "\"same\", not LS_EXPLICIT"},
               {LS_EINVAL, "-1 pixels at the top"},
               {LS_ESHAPE, "a window of 2 by 7 does not fit into an image of 4 "
                           "by 5"},
               {LS_EINVAL, "5000 left"},
               {LS_EINVAL, "size"}};

    for (int i = 0; i < COUNT(all); i++) {
        ls_conv_options o = ls_conv_defaults();
        ls_graph *g;

        change(&o, i);
        OK(ls_graph_new(&g));
        ck_assert_ptr_null(ls_conv2d_with(ls_input(g, "x", LS_F32, 3,
                                                   (int64_t[]){4, 5, 6}), 8, 2,
                                          3, &o, "c"));
        FAILS(ls_loss(g, NULL), all[i].status, all[i].words);
        ls_graph_free(g);
    }
    for (int i = 0; i < 4; i++) {
        ls_conv_options o = ls_conv_defaults();
        ls_graph *g;

        *(i == 0 ? &o.stride_y : i == 1 ? &o.dilation_y
                             : i == 2 ? &o.top : &o.bottom) = 3;
        OK(ls_graph_new(&g));
        ck_assert_ptr_null(ls_conv1d_with(ls_input(g, "x", LS_F32, 2,
                                                   (int64_t[]){4, 5}), 8, 2,
                                          &o, "c"));
        FAILS(ls_loss(g, NULL), LS_EINVAL, "steps have one axis");
        ls_graph_free(g);
    }
}

MAIN()
