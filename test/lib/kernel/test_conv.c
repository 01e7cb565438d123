/* SPDX-License-Identifier: BSD-3-Clause */
/* Convolutions and poolings over images: the bits of a convolution against the
 * referee's, and values and gradients of all against double, on
 * hundreds of shapes; what the graph calls refuse; and that folding changes no
 * bit. */
#include "alone.h"
#include "asked_node.h"
#include "backend/backend.h"
#include "backends.h"
#include "base/fpmode.h"
#include "layers.h"
#include "models.h"
#include "reference.h"

/* ------ Shapes ------ */

enum { SHAPES = UNDER_SANITIZER ? 60 : 220 };

typedef struct shape {
    int64_t rows, h, w, c, n;
    ls_window window;
    ls_conv_options more; /* where its size is not 0 */
} shape;

/* Shape number i: ones, primes, 2^n +- 1, long rows and deep windows, drawn. */
static shape shape_of(int i)
{
    static const int64_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 17, 19};
    static const int64_t channels[] = {1,  2,  3,  5,  8,  15, 16,
                                       17, 31, 32, 33, 64, 67};
    static const int64_t windows[] = {1, 2, 3, 3, 5, 4}, strides[] = {1, 1, 2,
                                                                      3};
    int32_t at[10];
    shape s;

    fill_indices(i, 10, 1 << 20, at);
    s = (shape){1 + at[0] % 3, sizes[at[1] % 12], sizes[at[2] % 12],
                channels[at[3] % 13], channels[at[4] % 13],
                {windows[at[5] % 6], windows[at[6] % 6], strides[at[7] % 4],
                 strides[at[8] % 4], at[9] % 2 ? LS_SAME : LS_VALID},
                {0}};
    if (i % 20 == 0)
        s.w = 255 + at[2] % 5, s.h = 3, s.c = 2; /* rows about one chunk */
    if (i % 20 == 1)
        s.w = 600, s.h = 2, s.n = 3, s.c = 1;
    if (i % 60 == 2) { /* many weights for few pixels: images together */
        s = (shape){17 + at[0] % 3, 2, 1 + at[2] % 3, 64, 64, s.window, {0}};
        s.window.height = s.window.width = 3;
    }
    if (s.h < s.window.height || s.w < s.window.width)
        s.window.padding = LS_SAME;
    return s;
}

/* Likewise with gaps, groups, depthwise, padding by numbers.  Every seventh has
 * a window of more taps than a chunk. */
static shape with_gaps(int i)
{
    static const int64_t groups[] = {1, 2, 3, 1, 4, 5, 17}, strides[] = {1, 1,
                                                                         2, 3};
    shape s = shape_of(3000 + i);
    ls_conv_options *o = &s.more;
    int32_t at[12];

    fill_indices(5000 + i, 12, 1 << 20, at);
    *o = ls_conv_defaults();
    o->groups = groups[at[0] % 7];
    s.c = o->groups * (1 + at[1] % 4);
    s.n = o->groups * (1 + at[2] % 4);
    if (i % 3 == 0)
        s.c = s.n = o->groups = 2 + at[3] % 40;
    if (i % 7 == 0) {
        s.window.height = s.window.width = 17;
        s.h = 1 + at[4] % 4;
        s.w = 1 + at[5] % 4;
    }
    if (i % 11 == 0)
        s.h = 3, s.w = 131;
    o->stride_y = strides[at[6] % 4];
    o->stride_x = strides[at[7] % 4];
    o->dilation_y = 1 + at[8] % 3;
    o->dilation_x = 1 + at[9] % 3;
    o->padding = i % 2 ? LS_EXPLICIT : i % 4 ? LS_SAME : LS_CAUSAL;
    if (i % 2) {
        o->top = at[10] % 5;
        o->left = at[11] % 4;
        o->bottom = s.window.height * o->dilation_y;
        o->right = s.window.width * o->dilation_x;
    }
    return s;
}

/* ------ One convolution ------ */

typedef struct conv {
    ls_graph *graph;
    ls_node *node;
    int64_t rows, nx, nw, ny;
    float *x, *w, *dy; /* two values in ten are zero, of both signs */
    ls__product_made *made; /* what it took in; NULL: nothing */
} conv;

static float *sparse(int64_t seed, int64_t n)
{
    float *x = uniform(seed, n);

    for (int64_t i = 0; i < n; i++)
        x[i] = i % 10 == 3 ? 0 : i % 10 == 6 ? -0.0f : x[i];
    return x;
}

static conv make(const shape *s)
{
    ls_conv_options more = s->more;
    conv c = {.rows = s->rows};
    ls_node *x;

    OK(ls_graph_new(&c.graph));
    x = ls_input(c.graph, "x", LS_F32, 3, (int64_t[]){s->h, s->w, s->c});
    more.no_bias = true;
    c.node = s->more.size ? ls_conv2d_with(x, s->n, s->window.height,
                                           s->window.width, &more, "c")
                          : conv2d_no_bias(x, s->n, s->window, "c");
    ck_assert_msg(c.node != NULL, "%s", ls_errmsg());
    c.nx = s->rows * c.node->in[0]->size;
    c.ny = s->rows * c.node->size;
    c.nw = c.graph->params[0]->size;
    c.x = sparse(1, c.nx);
    c.w = sparse(2, c.nw);
    c.dy = sparse(3, c.ny);
    return c;
}

typedef struct result {
    float *y, *dx, *dw;
} result;

/* Forward and backward, with weights packed where the backend wants them so;
 * slopes: what dx is multiplied by, or NULL. */
static void run_conv(const conv *c, ls__run *r, float *slopes)
{
    const ls_node *n = c->node;
    alone a = alone_of(n);

    if (c->made)
        memcpy(a.in.made, c->made, n->op->plan.made);
    alone_start(&a, r);
    if (slopes)
        ((ls__product_made *)a.in.made)->slope_of_x = 0;
    a.chunk.memory = slopes;
    n->op->run.forward(r);
    n->op->run.backward(r);
}

/* What the operator computes at a level, or by a backend that only
 * multiplies. */
static result run_at(const conv *c, const ls__kernel_table *k,
                     const ls__backend *backend)
{
    const ls_node *n = c->node;
    result o = {fenced(c->ny), fenced(c->nx), fenced(c->nw)};
    ls__run r = {.node = n, .rows = c->rows, .x = {c->x}, .y = o.y,
                 .param = {c->w}, .dy = c->dy, .dx = {o.dx},
                 .dparam = {o.dw}, .backend = backend, .kernels = k};

    run_conv(c, &r, NULL);
    return o;
}

static void same(const char *what, int number, int64_t n, const float *got,
                 const float *want)
{
    for (int64_t i = 0; i < n; i++)
        HOLDS(!memcmp(&got[i], &want[i], sizeof *got),
              "shape %d: %s %lld is %a, not %a", number, what, (long long)i,
              (double)got[i], (double)want[i]);
}

static void check_bits(const conv *c, int number, const result *want,
                       const result *got)
{
    same("y", number, c->ny, got->y, want->y);
    same("dx", number, c->nx, got->dx, want->dx);
    same("dw", number, c->nw, got->dw, want->dw);
}

/* Numbers of shape i are the referee's. */
static void check_referee(const conv *c, int i, bool bf16, const result *got)
{
    int x, node;

    asked_begin(c->rows, 0);
    if (bf16)
        asked_option("precision", "bf16");
    x = asked_node("input", shape_text(c->node->in[0]), 0, NULL, 0);
    asked_input(x, "x", c->nx, c->x);
    node = asked_of(c->node, 1, &x);
    asked_param(node, 0, c->nw, c->w);
    asked_array("backward", "dx", -1, 0, c->ny, c->dy);
    asked_are("forward", "y", node, 0, c->ny, got->y, i);
    asked_are("backward", "dx", node, 0, c->nx, got->dx, i);
    asked_are("backward", "dparam", node, 0, c->nw, got->dw, i);
}

static void check_double(const conv *c, const result *got)
{
    double *x = doubles(c->nx, c->x, LS_F32), *w = doubles(c->nw, c->w, LS_F32);
    double *dy = doubles(c->ny, c->dy, LS_F32), *y = doubles(c->ny, 0, LS_F32);
    double *dx = doubles(c->nx, 0, LS_F32), *dw = doubles(c->nw, 0, LS_F32);
    ref r = {.node = c->node, .rows = c->rows, .x = {x}, .param = {w}, .y = y,
             .dy = dy, .dx = {dx}, .dparam = {dw}};

    ref_conv(&r);
    ref_conv_grad(&r);
    ck_assert(max_relative(c->ny, got->y, y) <= 1e-5);
    ck_assert(max_relative(c->nx, got->dx, dx) <= 1e-5);
    ck_assert(max_relative(c->nw, got->dw, dw) <= 1e-5);
    free(x);
    free(w);
    free(dy);
    free(y);
    free(dx);
    free(dw);
}

static void check_shapes(shape (*number)(int), int first)
{
    bool blis = have_blis();

    ls__fpmode_set();
    for (int i = first; i < SHAPES; i += 4) {
        shape s = number(i);
        conv c = make(&s);
        result want = {0}, got;

        for (int k = 0; k < levels(); k++) {
            if (!level(k))
                continue;
            got = run_at(&c, level(k), &level(k)->native[LS_F32_LAYERS]);
            if (!want.y) {
                want = got;
                check_double(&c, &want);
                check_referee(&c, i, false, &want);
            }
            check_bits(&c, i, &want, &got);
            if (!blis)
                continue;
            got = run_at(&c, level(k), &ls__backend_blis);
            check_bits(&c, i, &want, &got);
        }
        ls_graph_free(c.graph);
        fences_free();
    }
}

/* Proves that values and both gradients are the referee's, byte for byte, at
 * every level and by products of BLIS, and within 1e-5 of double. */
LOOP_TEST(bits_and_values, 0, 4)
{
    check_shapes(shape_of, _i);
}

/* Proves the same of windows with gaps, groups and padding by numbers. */
LOOP_TEST(bits_with_gaps, 0, 4)
{
    check_shapes(with_gaps, _i);
}

/* Proves the same of bf16 layers, whoever makes the products. */
TEST(bf16_with_gaps)
{
    ls__fpmode_set();
    for (int i = 0; i < SHAPES; i += 10) {
        shape s = with_gaps(i + i / 10 % 2);
        conv c = make(&s);
        result want = {0}, got;

        if (ls__conv_is_plain(c.node)) {
            ls_graph_free(c.graph);
            fences_free();
            continue;
        }
        for (int k = 0; k < levels(); k++) {
            const ls__backend *maker;

            for (int m = 0; level(k) &&
                            (maker = ls__kernels_maker(level(k), LS_BF16_LAYERS,
                                                       m)); m++) {
                got = run_at(&c, level(k), maker);
                if (!want.y) {
                    want = got;
                    check_referee(&c, i, true, &want);
                }
                check_bits(&c, i, &want, &got);
            }
        }
        ls_graph_free(c.graph);
        fences_free();
    }
}

/* ------ Under a folded pooling ------ */

typedef struct gradients {
    float *y, *dx, *dw, *db;
} gradients;

/* conv, relu or not, max pooling as one operator, number i of them. */
static conv make_pooled(int i)
{
    shape s = shape_of(2000 + i);
    ls_window two = {2, 2, 2, 2, i % 2 ? LS_SAME : LS_VALID};
    ls_conv_options o = ls_conv_defaults();
    conv c = {.rows = s.rows};
    ls_node *x, *p;

    OK(ls_graph_new(&c.graph));
    x = ls_input(c.graph, "x", LS_F32, 3, (int64_t[]){s.h, s.w, s.c});
    o.padding = LS_EXPLICIT; /* by more than a window */
    o.top = o.left = o.bottom = s.window.height + i % 3;
    o.right = s.window.width;
    c.node = i % 5 == 4 ? ls_conv2d_with(x, s.n, s.window.height,
                                         s.window.width, &o, "c")
                        : ls_conv2d(x, s.n, s.window, "c");
    if (c.node->shape[0] < 2 || c.node->shape[1] < 2)
        two.padding = LS_SAME;
    p = ls_max_pool(c.node, two);
    ck_assert_ptr_nonnull(p);
    c.made = alone_pooled(c.node, p).in.made;
    c.made->activation = i % 3 ? LS__RELU : LS__NO_ACTIVATION;
    c.nx = s.rows * c.node->in[0]->size;
    c.ny = s.rows * c.node->size;
    c.nw = c.graph->params[0]->size;
    c.x = sparse(1, c.nx);
    c.w = sparse(2, c.nw);
    c.dy = uniform(3, c.ny);
    return c;
}

/* What it writes: with gradients that are added to, and with what else the way
 * back does to dx. */
static gradients run_pooled(const conv *c, const ls__kernel_table *k,
                            const ls__backend *backend, bool add, bool more)
{
    const ls_node *n = c->node;
    int64_t wide = ls__width(n);
    gradients g = {fenced(c->ny), fenced(c->nx), uniform(5, c->nw),
                   uniform(6, wide)};
    ls__run r = {.node = n, .rows = c->rows, .x = {c->x}, .y = g.y,
                 .param = {c->w, uniform(4, wide)}, .dy = c->dy, .dx = {g.dx},
                 .add = add, .dparam = {g.dw, g.db}, .backend = backend,
                 .kernels = k};

    r.stash = fenced(c->ny);
    if (more)
        r.addend[0] = uniform(8, c->nx);
    run_conv(c, &r, more ? sparse(7, c->nx) : NULL);
    return g;
}

/* Proves that the gradients under a 2x2 pooling, whose kernels skip what is
 * zero, are those of written patches, zeros and all, byte for byte, at every
 * level: for images even and odd, with poolings that drop the last row and
 * poolings that fill it up. */
TEST(under_a_pooling)
{
    ls__fpmode_set();
    if (!have_blis())
        return;
    for (int i = 0; i < SHAPES / 2; i++) {
        bool add = i % 4 == 1, more = i % 5 == 2;
        conv c = make_pooled(i);
        gradients want = run_pooled(&c, ls__kernels(), &ls__backend_blis, add,
                                    more);

        for (int k = 0; k < levels(); k++) {
            gradients got;

            if (!level(k))
                continue;
            got = run_pooled(&c, level(k), &level(k)->native[LS_F32_LAYERS],
                             add, more);
            same("y", i, c.ny, got.y, want.y);
            same("dw", i, c.nw, got.dw, want.dw);
            same("dbias", i, ls__width(c.node), got.db, want.db);
            same("dx", i, c.nx, got.dx, want.dx);
        }
        ls_graph_free(c.graph);
        fences_free();
    }
}

/* ------ Poolings ------ */

typedef ls_node *(*pooling_fn)(ls_node *x, ls_window window);

static void check_pooling(pooling_fn pooling, const shape *s)
{
    ls_graph *g = empty_graph();
    ls_node *x, *n;
    int64_t nx, ny;
    ls__run r = {.rows = s->rows, .kernels = ls__kernels()};
    ref want = {.rows = s->rows};

    x = ls_input(g, "x", LS_F32, 3, (int64_t[]){s->h, s->w, s->c});
    n = pooling(x, s->window);
    ck_assert_msg(n != NULL, "%s", ls_errmsg());
    nx = s->rows * x->size;
    ny = s->rows * n->size;
    r.node = want.node = n;
    r.x[0] = uniform(1, nx);
    r.dy = uniform(2, ny);
    r.y = fenced(ny);
    r.stash = fenced(ny);
    r.dx[0] = fenced(nx);
    want.x[0] = doubles(nx, r.x[0], LS_F32);
    want.dy = doubles(ny, r.dy, LS_F32);
    want.y = doubles(ny, NULL, LS_F32);
    want.dx[0] = doubles(nx, NULL, LS_F32);
    n->op->run.forward(&r);
    n->op->run.backward(&r);
    reference_of(n->op)->forward(&want);
    reference_of(n->op)->backward(&want);
    ck_assert(max_relative(ny, r.y, want.y) <= 1e-5);
    ck_assert(max_relative(nx, r.dx[0], want.dx[0]) <= 1e-5);
    free((void *)want.x[0]);
    free((void *)want.dy);
    free(want.y);
    free(want.dx[0]);
    ls_graph_free(g);
    fences_free();
}

/* Proves that poolings and their gradients are right to 1e-5. */
LOOP_TEST(poolings, 0, 2)
{
    ls__fpmode_set();
    for (int i = 0; i < SHAPES; i++) {
        shape s = shape_of(1000 + i);

        check_pooling(_i ? ls_avg_pool : ls_max_pool, &s);
    }
}

/* Proves that of equal values the first by rows gets the gradient, that a relu
 * before the pooling lets none through at 0, and that a NaN stays one. */
TEST(ties)
{
    static const float x[2][4] = {{1, 2, 2, 2}, {-1, -1, -3, -1}};
    ls__pooling p = {.in_h = 2, .in_w = 2, .c = 1, .kh = 2, .kw = 2, .sy = 2,
                     .sx = 2, .h = 1, .w = 1, .dy = 1, .dx = 1};
    const float dy = 5, odd[4] = {1, NAN, 3, 2};

    for (int k = 0; k < levels(); k++) {
        float y, number, dx[4];

        if (!level(k))
            continue;
        for (int i = 0; i < 2; i++) {
            level(k)->max_pool(&p, 0, 1, x[i], false, &y, &number);
            ck_assert(y == (i ? -1 : 2) && number == (i ? 0 : 1));
            level(k)->max_pool_grad(&p, &number, &dy, dx);
            for (int t = 0; t < 4; t++)
                ck_assert(dx[t] == (t == 1 - i ? 5 : 0));
        }
        level(k)->max_pool(&p, 0, 1, x[1], true, &y, &number);
        level(k)->max_pool_grad(&p, &number, &dy, dx);
        for (int t = 0; t < 4; t++)
            ck_assert(dx[t] == 0);
        level(k)->max_pool(&p, 0, 1, odd, false, &y, &number);
        ck_assert(y != y);
    }
}

/* ------ Folding ------ */

typedef enum folding { FOLDS, READS_RELU, READS_CONV, READS_FLAT } folding;

/* conv, relu, pooling, conv, gelu, flatten, dense; what is an output is kept
 * from being folded over. */
static ls_graph *net(folding f)
{
    ls_window w = {3, 3, 1, 1, LS_SAME}, two = {2, 2, 2, 2, LS_VALID};
    ls_graph *g = empty_graph();
    ls_node *x = ls_input(g, "x", LS_F32, 3, (int64_t[]){9, 7, 2});
    ls_node *label = ls_input(g, "label", LS_I32, 0, NULL);
    ls_node *pre = ls_conv2d(x, 18, w, "conv1");
    ls_node *relu = ls_relu(pre);

    x = ls_conv2d(ls_max_pool(relu, two), 5, w, "conv2");
    x = ls_gelu(ls_conv2d(ls_relu(x), 6, w, "conv3"));
    x = ls_flatten(x);
    if (f == READS_CONV)
        OK(ls_output(g, pre, "seen"));
    if (f == READS_RELU)
        OK(ls_output(g, relu, "seen"));
    if (f == READS_FLAT)
        OK(ls_output(g, x, "seen"));
    OK(ls_loss(g, ls_cross_entropy(ls_dense(x, 4, "dense"), label)));
    return g;
}

/* Proves that what is folded into a convolution changes no bit. */
LOOP_TEST(folding_is_exact, FOLDS, READS_FLAT + 1)
{
    ls_trainer_options o = ls_trainer_defaults();
    char want[65], got[65];

    train_images(net(FOLDS), 126, 2, &o, want);
    train_images(net((folding)_i), 126, 2, &o, got);
    ck_assert_str_eq(got, want);
}

/* ------ What is refused ------ */

static ls_node *image(ls_graph *g)
{
    return ls_input(g, "x", LS_F32, 3, (int64_t[]){4, 5, 3});
}

/* Proves that each impossible window is an error with both sizes. */
TEST(refusals)
{
    static const struct {
        ls_window window;
        int status;
        const char *words;
    } all[] = {
        {{5, 1, 1, 1, LS_VALID}, LS_ESHAPE, "5 by 1 does not fit"},
        {{0, 1, 1, 1, LS_SAME}, LS_EINVAL, "window 0 by 1"},
        {{1, 1, -1, 1, LS_SAME}, LS_EINVAL, "strides -1 and 1"},
        {{1, 5000, 1, 1, LS_SAME}, LS_EINVAL, "window 1 by 5000"},
        {{1, 1, 1, 1, (ls_padding)7}, LS_EINVAL, "padding 7"}};
    ls_graph *g;

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (int k = 0; k < 3; k++) {
            ls_node *x;

            OK(ls_graph_new(&g));
            x = image(g);
            x = k == 0   ? ls_max_pool(x, all[i].window)
                : k == 1 ? ls_avg_pool(x, all[i].window)
                         : ls_conv2d(x, 2, all[i].window, "c");
            ck_assert_ptr_null(x);
            FAILS(ls_loss(g, NULL), all[i].status, all[i].words);
            ls_graph_free(g);
        }
    OK(ls_graph_new(&g));
    ck_assert_ptr_null(ls_group_norm(image(g), 2, "g"));
    FAILS(ls_loss(g, NULL), LS_ESHAPE, "3 channels do not divide into 2");
    ls_graph_free(g);
    OK(ls_graph_new(&g));
    ck_assert_ptr_null(ls_max_pool(ls_flatten(image(g)),
                                   (ls_window){.height = 1, .width = 1}));
    FAILS(ls_loss(g, NULL), LS_ESHAPE, "(60)");
    ls_graph_free(g);
}

MAIN()
