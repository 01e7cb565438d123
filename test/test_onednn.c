/* The backend "onednn": its products are the native backend's up to rounding,
 * whatever their rows; models train as with the native one, to the same bytes
 * for any number of workers; and the caller's OpenMP threads are left alone.
 * Nobody has oneDNN in the process who does not ask for it.  Built without
 * oneDNN, it is refused by a message that says how to get it, and the other
 * tests say that they are skipped. */
#include "backend/backend.h"
#include "base/fpmode.h"
#include "calls.h"
#include "models.h"

#include <dlfcn.h>

/* oneDNN, if it is in the process. */
static void *library(void)
{
    return dlopen("libdnnl.so.2", RTLD_NOW | RTLD_NOLOAD);
}

/* Was it when the program began? */
static bool came_along;

static bool is_built(void)
{
    ls__backend b;

    return ls__backend_find(&b, "onednn", LS_F32_LAYERS) == 0;
}

/* Proves that a library without oneDNN names the switch and the package, and
 * one with it says what runs. */
START_TEST(names)
{
    char text[LS_TEXT];
    ls__backend b;

    if (is_built()) {
        OK(ls_backend_text(text, "onednn", LS_BF16_LAYERS));
        ck_assert_msg(!strncmp(text, "oneDNN 2.", 9), "%s", text);
        return;
    }
    FAILS(ls__backend_find(&b, "onednn", LS_F32_LAYERS), LS_ENOTSUP,
          "./configure --with-onednn");
    FAILS(ls_backend_text(text, "onednn", LS_F32_LAYERS), LS_ENOTSUP,
          "libdnnl-dev");
}
END_TEST

/* Proves that it is loaded when it is asked for, and not before. */
START_TEST(loaded_late)
{
    ck_assert(!came_along);
    ck_assert(!is_built() || library());
}
END_TEST

/* ------ Products ------ */

/* A dense layer of in to out, of `vectors` a row and chunks of `rows`. */
typedef struct layer {
    int64_t rows, vectors, in, out;
} layer;

static const layer layers[] = {{1, 1, 1, 1},    {7, 3, 5, 17},
                               {6, 1, 33, 64},  {4, 64, 48, 100},
                               {256, 1, 19, 7}, {16, 5, 130, 3}};

static ls__product random_product(int64_t m, int64_t n, int64_t k,
                                  bool a_turned, bool b_turned)
{
    return (ls__product){.m = m, .n = n, .k = k, .a = uniform(1, m * k),
                         .a_row = a_turned ? 1 : k, .a_col = a_turned ? m : 1,
                         .b = uniform(2, k * n), .b_row = b_turned ? 1 : n,
                         .b_col = b_turned ? k : 1, .c_row = n, .scale = 1};
}

/* C by one backend, prepared if it does so for `rows` rows of g's. */
static float *compute(const ls__backend *b, ls__product g,
                      const ls__product *most, int64_t rows)
{
    ls__prepared *prepared = NULL;
    int64_t scratch = b->products->scratch(g.k, g.n);
    int64_t packed = b->products->packed_size(g.k, g.n);

    if (b->preparer) {
        OK(b->preparer->product(most, rows, b->bf16, &prepared));
        ck_assert_ptr_nonnull(prepared);
        scratch = prepared->scratch;
        packed = prepared->packed;
    }
    if (!most->accumulate) {
        float *to = fenced(packed);

        if (prepared)
            prepared->pack(prepared, g.b, to);
        else
            b->products->pack(g.k, g.n, g.b, g.b_row, g.b_col, to);
        g.packed = to;
    }
    g.c = uniform(3, g.m * g.n);
    g.slope = g.activation ? uniform(4, g.m * g.n) : NULL;
    g.prepared = prepared;
    ls__multiply(b, &g, fenced(scratch));
    if (prepared)
        prepared->free(prepared);
    return g.c;
}

/* Sums of other orders, where the product has K terms below 1; and, with bf16,
 * one that is rounded the other way, up to 2^-8 of it. */
static void check(const ls__product *g, const float *got, const float *want,
                  bool bf16)
{
    for (int64_t i = 0; i < g->m * g->n; i++) {
        float allowed = (float)(g->k + 8) * 0x1p-23f +
                        (bf16 ? 0x1p-7f * fabsf(want[i]) : 0);

        ck_assert_msg(fabsf(got[i] - want[i]) <= allowed,
                      "%lld %lld %lld: element %lld is %g, not %g",
                      (long long)g->m, (long long)g->n, (long long)g->k,
                      (long long)i, (double)got[i], (double)want[i]);
    }
}

/* g is of r rows, most of all there may be. */
static void compare(const ls__product *g, const ls__product *most, int64_t rows,
                    bool bf16)
{
    ls__backend b;
    float *got, *want;

    OK(ls__backend_find(&b, "onednn", bf16));
    got = compute(&b, *g, most, rows);
    OK(ls__backend_find(&b, "native", bf16));
    want = compute(&b, *g, most, rows);
    check(g, got, want, bf16);
}

static void compare_y(const layer *l, int64_t r, bool bf16)
{
    int64_t m = r * l->vectors;
    ls__product g = random_product(m, l->out, l->in, false, false), most = g;

    most.m = l->rows * l->vectors;
    compare(&g, &most, l->rows, bf16);
    g.bias = uniform(5, g.n);
    g.round = bf16;
    g.activation = LS__GELU;
    g.add = uniform(6, m * g.n);
    compare(&g, &most, l->rows, bf16);
}

static void compare_kernel(const layer *l, int64_t r, bool bf16)
{
    ls__product g = random_product(l->in, l->out, r * l->vectors, true, false);
    ls__product most = g;

    most.k = l->rows * l->vectors;
    most.accumulate = true;
    compare(&g, &most, l->rows, bf16);
    g.accumulate = true;
    compare(&g, &most, l->rows, bf16);
}

static void compare_x(const layer *l, int64_t r, bool bf16)
{
    ls__product g = random_product(r * l->vectors, l->in, l->out, false, true);
    ls__product most = g;

    most.m = l->rows * l->vectors;
    g.times = uniform(7, g.m * g.n);
    compare(&g, &most, l->rows, bf16);
}

/* Proves that a layer's three products are the native ones up to rounding, of
 * as many rows as a chunk can have, and touch nothing beyond their memory. */
START_TEST(products)
{
    const layer *l = &layers[_i];

    ls__fpmode_set();
    for (int64_t r = 1; r <= l->rows; r += r < 12 ? 1 : l->rows / 5)
        for (int bf16 = 0; bf16 < 2; bf16++) {
            compare_y(l, r, bf16);
            compare_kernel(l, r, bf16);
            compare_x(l, r, bf16);
            fences_free();
        }
}
END_TEST

/* ------ Convolutions ------ */

/* Windows kh by kw of c channels, h by w of them in steps; n comes out. */
typedef struct image {
    int64_t kh, kw, c, n, h, w, sy, sx;
    int64_t gap; /* pixels of a row that no window sees */
} image;

static const image images[] = {{1, 1, 1, 1, 1, 1, 1, 1, 0},
                               {3, 3, 3, 32, 6, 9, 1, 1, 0},
                               {3, 2, 18, 7, 4, 5, 2, 3, 1},
                               {5, 3, 32, 40, 7, 16, 1, 1, 0},
                               {2, 2, 64, 3, 5, 4, 2, 1, 2}};

static ls__conv random_conv(const image *q)
{
    int64_t cols = (q->w - 1) * q->sx + q->kw + q->gap, row = cols * q->c;
    int64_t rows = (q->h - 1) * q->sy + q->kh, n = q->n;

    return (ls__conv){.x = uniform(1, rows * row), .c = q->c, .row = row,
                      .step_y = q->sy * row, .step_x = q->sx * q->c,
                      .kh = q->kh, .run = q->kw * q->c, .kx = 1,
                      .h = q->h, .w = q->w,
                      .out = {.m = q->h * q->w, .n = n,
                              .k = q->kh * q->kw * q->c, .b_row = n,
                              .b_col = 1, .c_row = n, .scale = 1}};
}

/* y by one backend; w: the weights. */
static float *convolve(const ls__backend *b, ls__conv v, bool rotated,
                       const float *w)
{
    int64_t c = v.c, n = v.out.n;
    ls__conv_weights of = {v.kh, v.run / c, rotated ? n : c, rotated ? c : n,
                           rotated, 1};
    ls__prepared *prepared = NULL;
    float *packed;

    if (b->preparer) {
        OK(b->preparer->conv(&v, rotated, b->bf16, &prepared));
        ck_assert_ptr_nonnull(prepared);
    }
    packed =
        fenced(prepared ? prepared->packed : b->convs->packed_size(&of));
    if (prepared)
        prepared->pack(prepared, w, packed);
    else
        b->convs->pack(&of, w, packed);
    v.out.packed = packed;
    v.out.c = fenced(v.out.m * n);
    if (prepared) {
        prepared->conv(prepared, &v, fenced(prepared->scratch));
        prepared->free(prepared);
    } else {
        float *scratch = fenced((b->convs->scratch(&v) + 15) / 16 * 16);
        const void *rows = b->convs->image ? b->convs->image(&v, scratch) : v.x;

        b->convs->y(&v, rows, 0, v.h);
    }
    return v.out.c;
}

/* Proves that a convolution, the weights as they are or rotated, is the native
 * one up to rounding, and touches nothing beyond its memory. */
START_TEST(convolutions)
{
    ls__fpmode_set();
    for (int how = 0; how < 8; how++) {
        bool bf16 = how & 1, rotated = how & 2;
        ls__conv v = random_conv(&images[_i]);
        const float *w = uniform(2, v.out.k * v.out.n), *got;
        ls__backend b;

        if (how & 4) {
            v.out.bias = uniform(3, v.out.n);
            v.out.activation = LS__RELU;
            v.out.round = bf16;
        }
        OK(ls__backend_find(&b, "onednn", bf16));
        got = convolve(&b, v, rotated, w);
        OK(ls__backend_find(&b, "native", bf16));
        check(&v.out, got, convolve(&b, v, rotated, w), bf16);
        fences_free();
    }
}
END_TEST

/* Proves that a NaN stays one and infinity is not made finite. */
START_TEST(not_finite)
{
    ls__product g = random_product(4, 3, 2, false, false);
    ls__backend b;
    const float *c;

    for (int bf16 = 0; bf16 < 2; bf16++) {
        ((float *)g.a)[0] = NAN;
        ((float *)g.a)[2] = INFINITY;
        ((float *)g.a)[3] = 1;
        OK(ls__backend_find(&b, "onednn", bf16));
        c = compute(&b, g, &g, 4);
        ck_assert(isnan(c[0]) && isinf(c[3]) && isfinite(c[6]));
    }
    fences_free();
}
END_TEST

/* ------ Models ------ */

enum { STEPS = 3, DEVICES = 3, ROWS = 21 };

static const lm_sizes small = {61, 32, 64, 4, 2, 128};

static ls_graph *mlp(void)
{
    return mlp_graph();
}

static ls_graph *lm(void)
{
    return lm_graph(&small);
}

/* Convolutions alone, under a pool, with strides and a residual. */
static ls_graph *cnn(void)
{
    const ls_window three = {.height = 3, .width = 3};
    const ls_window two = {.height = 2, .width = 2};
    const ls_window stride = {.height = 3, .width = 2, .stride_y = 2,
                              .stride_x = 2};
    const ls_window one = {.height = 1, .width = 1};
    ls_graph *g;
    ls_node *x, *label;

    OK(ls_graph_new(&g));
    x = ls_input(g, "x", LS_F32, 3, (int64_t[]){8, 6, 3});
    label = ls_input(g, "label", LS_I32, 0, NULL);
    x = ls_max_pool(ls_relu(ls_conv2d(x, 5, three, "conv1")), two);
    x = ls_add(x, ls_gelu(ls_conv2d(x, 5, three, "conv2")));
    x = ls_conv2d_no_bias(ls_tanh(ls_conv2d(x, 18, stride, "conv3")), 7, one,
                          "conv4");
    OK(ls_loss(g, ls_cross_entropy(ls_dense(ls_flatten(x), 4, "out"), label)));
    return g;
}

static const struct {
    const char *name;
    ls_graph *(*build)(void);
    int64_t floats, tokens; /* of a row: of x, of the indices */
    int32_t limit;
    const char *indices;
} models[] = {{"mlp", mlp, 9, 1, 5, "label"},
              {"cnn", cnn, 8 * 6 * 3, 1, 4, "label"},
              {"lm", lm, 0, 32, 61, "tokens"}};

/* The losses of a few steps, and the state's hash. */
static void train(int model, const char *backend, ls_precision precision,
                  int workers, float loss[STEPS], char hex[65])
{
    ls_pool *pool = open_pool(DEVICES, workers);
    ls_trainer_options o = ls_trainer_defaults();
    run r;

    o.optimizer = ls_adamw(1e-2);
    o.backend = backend;
    o.precision = precision;
    r = open_run(pool, models[model].build(), &o);
    for (int i = 0; i < STEPS; i++) {
        float *x = normals((uint32_t)i, ROWS * models[model].floats + 1);
        int32_t *at = integers((uint32_t)i, models[model].limit,
                               ROWS * models[model].tokens);

        if (models[model].floats)
            OK(ls_batch_set(r.batch, "x", LS_F32, x, ROWS));
        OK(ls_batch_set(r.batch, models[model].indices, LS_I32, at, ROWS));
        loss[i] = step(&r).loss;
        free(x);
        free(at);
    }
    ls_trainer_hash(r.trainer, hex);
    close_run(&r);
    ls_pool_close(pool);
}

/* Proves that losses are the native backend's within 1e-4, 5e-3 with bf16
 * layers. */
START_TEST(near_native)
{
    ls_precision precision = _i % 2 ? LS_BF16_LAYERS : LS_F32_LAYERS;
    float got[STEPS], want[STEPS], allowed = _i % 2 ? 5e-3f : 1e-4f;
    char hex[2][65];

    train(_i / 2, "onednn", precision, 1, got, hex[0]);
    train(_i / 2, "native", precision, 1, want, hex[1]);
    for (int i = 0; i < STEPS; i++)
        ck_assert_msg(fabsf(got[i] - want[i]) <= allowed,
                      "%s, step %d: loss %g, not %g", models[_i / 2].name, i,
                      (double)got[i], (double)want[i]);
}
END_TEST

/* Proves that the state is the same on 1 to 3 workers, and from run to run. */
START_TEST(same_bytes)
{
    ls_precision precision = _i % 2 ? LS_BF16_LAYERS : LS_F32_LAYERS;
    const int workers[] = {1, 2, 3, 2};
    char hex[2][65];
    float loss[STEPS];

    for (int i = 0; i < 4; i++) {
        train(_i / 2, "onednn", precision, workers[i], loss, hex[i > 0]);
        ck_assert_msg(i == 0 || !strcmp(hex[0], hex[1]),
                      "%s on %d workers: another state", models[_i / 2].name,
                      workers[i]);
    }
}
END_TEST

/* Proves that a NaN among the parameters ends a step with its message. */
START_TEST(nan_stops)
{
    ls_pool *pool = open_pool(2, 2);
    ls_trainer_options o = ls_trainer_defaults();
    float x[12] = {0, 1, 2, 3, NAN}, y[8] = {0};
    ls_result result;
    run r;

    o.backend = "onednn";
    r = open_run(pool, linear_graph(3, 2), &o);
    OK(ls_batch_set(r.batch, "x", LS_F32, x, 4));
    OK(ls_batch_set(r.batch, "y", LS_F32, y, 4));
    FAILS(ls_step(r.trainer, r.batch, &result), LS_ENONFINITE, "row 1");
    close_run(&r);
    ls_pool_close(pool);
}
END_TEST

/* Proves that the caller, who is worker 0, keeps its OpenMP threads. */
START_TEST(callers_threads)
{
    /* Of the OpenMP runtime that oneDNN brings; NULL without one. */
    int (*get)(void) = dlsym(library(), "omp_get_max_threads");
    void (*set)(int threads) = dlsym(library(), "omp_set_num_threads");
    char hex[65];
    float loss[STEPS];

    if (!get || !set)
        return;
    set(3);
    train(0, "onednn", LS_F32_LAYERS, 2, loss, hex);
    ck_assert_int_eq(get(), 3);
}
END_TEST

static Suite *onednn_suite(void)
{
    int count = (int)(sizeof layers / sizeof *layers);
    Suite *s = suite_create("onednn");
    TCase *c = tcase_create("onednn");

    tcase_set_timeout(c, 120);
    tcase_add_checked_fixture(c, NULL, fences_free);
    tcase_add_test(c, names);
    tcase_add_test(c, loaded_late);
    if (is_built()) {
        tcase_add_loop_test(c, products, 0, count);
        tcase_add_loop_test(c, convolutions, 0,
                            (int)(sizeof images / sizeof *images));
        tcase_add_test(c, not_finite);
        tcase_add_loop_test(c, near_native, 0, 6);
        tcase_add_loop_test(c, same_bytes, 0, 6);
        tcase_add_test(c, nan_stops);
        tcase_add_test(c, callers_threads);
    } else {
        printf("skipped but for one: built without oneDNN\n");
    }
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    came_along = library() != NULL;
    return run_suite(onednn_suite());
}
