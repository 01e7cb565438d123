/* SPDX-License-Identifier: BSD-3-Clause */
/* Modern transformers: RMSNorm, rotary positions, gated units, grouped queries
 * and weights that layers share, against Flax's numbers; and what shared
 * weights promise: one parameter, the sum of its layers' gradients, the same
 * bytes for all workers and through a file. */
#define _GNU_SOURCE /* nftw */
#include "agreement.h"
#include "folder.h"
#include "layers.h"
#include "modern.h"

/* ------ Flax's numbers ------ */

static void check_first(const ls_trainer *t, const char *want)
{
    char hex[65];

    hash_values(t, -1, hex);
    ck_assert_str_eq(hex, want);
}

static void train(run *r, const golden_modern_lm *c, const int32_t *data,
                  int steps, bool check)
{
    for (int i = 0; i < steps; i++) {
        float loss;

        OK(ls_batch_set(r->batch, "tokens", LS_I32,
                        data + i * c->batch * c->length, c->batch));
        loss = step(r).loss;
        if (check)
            near((double)loss, (double)c->loss[i], 5e-6, "loss", i);
    }
}

/* First parameters to the bit, ten losses within 5e-6, on one device and
 * two. */
LOOP_TEST(test_flax, 0, COUNT(golden_modern_lms))
{
    const golden_modern_lm *c = &golden_modern_lms[_i];
    ls_trainer_options o = options_of(c);
    int32_t *data = tokens_of(c);

    for (int devices = 1; devices <= 2; devices++) {
        run r = open_run_on(devices, 0, modern_graph(c), &o);

        check_first(r.trainer, c->sha256);
        train(&r, c, data, 10, true);
        close_run(&r);
    }
    free(data);
}

/* ------ bytes ------ */

static void hash_with(const golden_modern_lm *c, int workers, int64_t micro,
                      ls_precision precision, char hash[65])
{
    ls_trainer_options o = options_of(c);
    int32_t *data = tokens_of(c);
    run r;

    o.accumulate = (int)micro;
    o.precision = precision;
    r = open_run_on(2, workers, modern_graph(c), &o);
    train(&r, c, data, 3, false);
    ls_trainer_hash(r.trainer, hash);
    close_run(&r);
    free(data);
}

/* One worker and two, with micro-batches and without, in f32 and in bf16. */
LOOP_TEST(test_workers, 0, COUNT(golden_modern_lms))
{
    const golden_modern_lm *c = &golden_modern_lms[_i];
    char one[65], two[65];

    for (int micro = 1; micro <= (c->batch % 4 ? 1 : 2); micro++)
        for (int p = LS_F32_LAYERS; p <= LS_BF16_LAYERS; p++) {
            hash_with(c, 1, micro, (ls_precision)p, one);
            hash_with(c, 2, micro, (ls_precision)p, two);
            ck_assert_str_eq(one, two);
        }
}

/* A file gives the graph back, with its ties; training goes on as it would have
 * without the file. */
LOOP_TEST(test_file, 0, COUNT(golden_modern_lms))
{
    const golden_modern_lm *c = &golden_modern_lms[_i];
    ls_trainer_options o = options_of(c);
    ls_pool *pool = open_pool(2, 0);
    int32_t *data = tokens_of(c);
    run r = open_run(pool, modern_graph(c), &o), s;
    char want[65], got[65];
    ls_graph *g;

    folder_open();
    OK(ls_trainer_save_model(r.trainer, in_folder("m")));
    OK(ls_graph_load(&g, in_folder("m")));
    s = open_run(pool, g, &o);
    OK(ls_trainer_load(s.trainer, in_folder("m"), NULL));
    ck_assert_int_eq(ls_trainer_params(s.trainer),
                     ls_trainer_params(r.trainer));
    train(&r, c, data, 3, false);
    train(&s, c, data, 3, false);
    ls_trainer_hash(r.trainer, want);
    ls_trainer_hash(s.trainer, got);
    ck_assert_str_eq(want, got);
    close_run(&r);
    close_run(&s);
    ls_pool_close(pool);
    folder_close();
    free(data);
}

/* ------ shared weights ------ */

enum { IN = 5, ROWS = 6 };

/* x (5) goes through three layers of one shape, which are one where tied. */
static ls_graph *thrice(bool tied)
{
    ls_graph *g = empty_graph();
    ls_node *x = ls_input(g, "x", LS_F32, 1, (int64_t[]){IN});
    ls_node *y = ls_tanh(ls_dense(x, IN, "a"));

    if (tied)
        OK(ls_tie(g, "b.kernel", "a.kernel", false));
    y = ls_tanh(ls_dense(y, IN, "b"));
    if (tied) /* by the other name of the same */
        OK(ls_tie(g, "c.kernel", "b.kernel", true));
    y = dense_no_bias(y, IN, "c");
    OK(ls_output(g, y, "y"));
    OK(ls_loss(g, ls_mean_squared_error(y, x)));
    return g;
}

static ls_gradients *gradients_of(run *r, const float *x)
{
    ls_gradients *g;
    ls_result result;

    OK(ls_batch_set(r->batch, "x", LS_F32, x, ROWS));
    OK(ls_gradients_open(&g, r->trainer, 1));
    OK(ls_gradients_compute(g, r->batch, &result));
    return g;
}

/* The layers of `apart` get the weights of the one that they share. */
static void share_values(run *tied, run *apart)
{
    float w[IN * IN], t[IN * IN];

    OK(ls_trainer_get(tied->trainer, "a.kernel", IN * IN, w));
    for (int i = 0; i < IN * IN; i++)
        t[i] = w[i % IN * IN + i / IN];
    OK(ls_trainer_set(apart->trainer, "a.kernel", IN * IN, w));
    OK(ls_trainer_set(apart->trainer, "b.kernel", IN * IN, w));
    OK(ls_trainer_set(apart->trainer, "c.kernel", IN * IN, t));
}

/* The gradient is the sum of those of the layers, each in its own order, and
 * the value is that of layers that have the same weights each. */
TEST(test_sum)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_pool *pool = open_pool(1, 1);
    run tied = open_run(pool, thrice(true), &o);
    run apart = open_run(pool, thrice(false), &o);
    float x[ROWS * IN], sum[IN * IN], a[IN * IN], b[IN * IN], c[IN * IN];
    float bias[2][IN], y[2][ROWS * IN];
    ls_gradients *g, *h;

    fill_uniform(1, ROWS * IN, x);
    ck_assert_int_eq(ls_trainer_params(tied.trainer), 3);
    ck_assert_int_eq(ls_trainer_params(apart.trainer), 5);
    share_values(&tied, &apart);
    g = gradients_of(&tied, x);
    h = gradients_of(&apart, x);
    OK(ls_gradients_get(g, "a.kernel", IN * IN, sum));
    OK(ls_gradients_get(h, "a.kernel", IN * IN, a));
    OK(ls_gradients_get(h, "b.kernel", IN * IN, b));
    OK(ls_gradients_get(h, "c.kernel", IN * IN, c));
    for (int i = 0; i < IN * IN; i++) {
        double want = (double)a[i] + (double)b[i] +
                      (double)c[i % IN * IN + i / IN];

        near((double)sum[i], want, 1e-6, "gradient", i);
    }
    OK(ls_gradients_get(g, "b.bias", IN, bias[0]));
    OK(ls_gradients_get(h, "b.bias", IN, bias[1]));
    ck_assert_mem_eq(bias[0], bias[1], sizeof bias[0]);
    OK(ls_predict(tied.trainer, tied.batch, "y", ROWS * IN, y[0]));
    OK(ls_predict(apart.trainer, apart.batch, "y", ROWS * IN, y[1]));
    ck_assert_mem_eq(y[0], y[1], sizeof y[0]);
    ls_gradients_close(g);
    ls_gradients_close(h);
    close_run(&tied);
    close_run(&apart);
    ls_pool_close(pool);
}

static ls_graph *small(ls_node **x)
{
    ls_graph *g = empty_graph();

    *x = ls_input(g, "x", LS_F32, 1, (int64_t[]){IN});
    *x = ls_dense(*x, 3, "a");
    return g;
}

/* Builds what is wrong after a layer "a" from 5 to 3; the status of ls_tie. */
typedef int mistake(ls_graph *g, ls_node *x);

static int unknown(ls_graph *g, ls_node *x)
{
    (void)x;
    return ls_tie(g, "b.kernel", "z.kernel", false);
}

static int late(ls_graph *g, ls_node *x)
{
    (void)x;
    return ls_tie(g, "a.bias", "a.kernel", false);
}

static int two_times(ls_graph *g, ls_node *x)
{
    (void)x;
    OK(ls_tie(g, "b.kernel", "a.kernel", false));
    return ls_tie(g, "b.kernel", "a.kernel", true);
}

static int shapes(ls_graph *g, ls_node *x)
{
    OK(ls_tie(g, "b.kernel", "a.kernel", false));
    ck_assert_ptr_null(ls_dense(x, IN, "b"));
    return LS_ESHAPE;
}

static int turned(ls_graph *g, ls_node *x)
{
    OK(ls_tie(g, "n.scale", "a.bias", true));
    ck_assert_ptr_null(ls_layer_norm(x, "n"));
    return LS_EINVAL;
}

static int one_layer(ls_graph *g, ls_node *x)
{
    OK(ls_tie(g, "n.scale", "a.bias", false));
    OK(ls_tie(g, "n.bias", "a.bias", false));
    ck_assert_ptr_null(ls_layer_norm(x, "n"));
    return LS_EINVAL;
}

static int again(ls_graph *g, ls_node *x)
{
    OK(ls_tie(g, "b.kernel", "a.kernel", true));
    x = ls_dense(x, IN, "b");
    ck_assert_ptr_nonnull(x);
    ck_assert_ptr_null(ls_dense(x, 3, "b"));
    return LS_EINVAL;
}

static const struct {
    mistake *make;
    int status;
    const char *words;
} mistakes[] = {
    {unknown, LS_ENOTFOUND, "no layer has declared"},
    {late, LS_EINVAL, "there already"},
    {two_times, LS_EINVAL, "tied already"},
    {shapes, LS_ESHAPE, "\"b.kernel\" is (3,5), \"a.kernel\" (5,3)"},
    {turned, LS_EINVAL, "cannot be transposed"},
    {one_layer, LS_EINVAL, "belong to one layer"},
    {again, LS_EINVAL, "stands there twice"},
};

LOOP_TEST(test_mistakes, 0, (int)COUNT(mistakes))
{
    ls_node *x;
    ls_graph *g = small(&x);

    ck_assert_int_eq(mistakes[_i].make(g, x), mistakes[_i].status);
    ck_assert_msg(strstr(ls_errmsg(), mistakes[_i].words) != NULL, "%s",
                  ls_errmsg());
    FAILS(ls_tie(g, "q", "a.kernel", false), mistakes[_i].status,
          mistakes[_i].words); /* it sticks */
    ls_graph_free(g);
}

/* A tie that no layer used is found when a trainer opens. */
TEST(test_unused)
{
    ls_pool *pool = open_pool(1, 1);
    ls_trainer *t = NULL;
    ls_node *x;
    ls_graph *g = small(&x);

    OK(ls_tie(g, "b.kernel", "a.kernel", false));
    OK(ls_loss(g, ls_mean_loss(x, NULL)));
    FAILS(ls_trainer_open(&t, pool, g, NULL), LS_EINVAL, "no layer declared");
    ls_graph_free(g);
    ls_pool_close(pool);
}

/* What does not divide is said. */
TEST(test_shapes)
{
    ls_graph *g[5];
    ls_node *x[5];

    for (int i = 0; i < 5; i++) {
        OK(ls_graph_new(&g[i]));
        x[i] = ls_input(g[i], "x", LS_F32, 2, (int64_t[]){7, 12});
    }
    ck_assert_ptr_null(ls_grouped_attention(x[0], 6, 4, 0, true, "a"));
    ck_assert_ptr_nonnull(strstr(ls_errmsg(), "6 heads cannot share 4"));
    ck_assert_ptr_null(ls_grouped_attention(x[1], 5, 1, 0, true, "a"));
    ck_assert_ptr_nonnull(strstr(ls_errmsg(), "into 5 heads"));
    ck_assert_ptr_null(ls_rotary(x[2], 4, 10000));
    ck_assert_ptr_nonnull(strstr(ls_errmsg(), "4 heads of an even width"));
    ck_assert_ptr_null(ls_rotary(x[3], 3, -1));
    ck_assert_ptr_nonnull(strstr(ls_errmsg(), "the base -1"));
    ck_assert_ptr_null(ls_rms_norm(x[4], -1, "n"));
    ck_assert_ptr_nonnull(strstr(ls_errmsg(), "epsilon -1"));
    for (int i = 0; i < 5; i++)
        ls_graph_free(g[i]);
}

/* ------ norms of rows with a large mean ------ */

enum { WIDE = 64, MANY = 128 };

/* The greatest error of y, which are the rows of x less their means, by their
 * deviations. */
static double norm_error(const float *x, const float *y)
{
    double most = 0;

    for (int i = 0; i < MANY; i++, x += WIDE, y += WIDE) {
        double mean = 0, var = 0;

        for (int j = 0; j < WIDE; j++)
            mean += (double)x[j] / WIDE;
        for (int j = 0; j < WIDE; j++)
            var += ((double)x[j] - mean) * ((double)x[j] - mean) / WIDE;
        for (int j = 0; j < WIDE; j++)
            most = fmax(most, fabs(((double)x[j] - mean) / sqrt(var + 1e-6) -
                                   (double)y[j]));
    }
    return most;
}

static void norm_outputs(ls_graph *g, ls_norm_options *o, const char *name)
{
    ls_node *x = ls_input(g, name, LS_F32, 1, (int64_t[]){WIDE}), *y;

    x = ls_reshape(x, 2, (int64_t[]){WIDE / 4, 4});
    y = ls_flatten(ls_group_norm_with(x, 1, o, name));
    x = ls_layer_norm_with(ls_flatten(x), o, name[0] == 'o' ? "p" : "q");
    OK(ls_output(g, ls_concat((ls_node *[]){x, y}, 2, 0), name));
}

/* Proves what norms.h says of one pass and of two. */
LOOP_TEST(test_means, 0, 5)
{
    static const struct {
        float mean;
        double one, two; /* at the least, at the most */
    } of[] = {{0, 0, 1e-6}, {10, 4e-6, 4e-6}, {100, 4e-4, 4e-5},
              {1000, 4e-2, 4e-4}, {10000, 10, 4e-3}};
    static const char *const names[] = {"one", "two"};
    ls_norm_options o = ls_norm_defaults();
    float x[MANY * WIDE], y[2 * MANY * WIDE], part[MANY * WIDE];
    ls_graph *g = empty_graph();
    run r;

    for (int k = 0; k < 2; k++) {
        o.two_passes = k;
        norm_outputs(g, &o, names[k]);
    }
    OK(ls_loss(g, ls_mean_loss(ls_dense(ls_input(g, "z", LS_F32, 1,
                                                 (int64_t[]){1}), 1, "d"),
                               NULL)));
    r = open_run_on(1, 1, g, NULL);
    ls_random_normal(ls_key_new(1), 0, MANY * WIDE, x);
    for (int i = 0; i < MANY * WIDE; i++)
        x[i] += of[_i].mean;
    for (int k = 0; k < 4; k++) {
        double error;

        OK(ls_batch_set(r.batch, names[k / 2], LS_F32, x, MANY));
        OK(ls_predict(r.trainer, r.batch, names[k / 2], 2 * MANY * WIDE, y));
        for (int i = 0; i < MANY; i++)
            memcpy(part + i * WIDE, y + (2 * i + k % 2) * WIDE,
                   WIDE * sizeof *y);
        error = norm_error(x, part);
        if (k < 2)
            ck_assert_double_ge(error, of[_i].one);
        else
            ck_assert_double_le(error, of[_i].two);
    }
    close_run(&r);
}

MAIN()
