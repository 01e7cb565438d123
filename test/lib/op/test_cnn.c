/* SPDX-License-Identifier: BSD-3-Clause */
/* The tool's cnn, and other networks of images, give the numbers of JAX, Flax
 * and optax (golden/cnn.h): initial parameters to the bit, losses to 1e-6 at
 * first and to 1e-3 later, since one relu that falls to the other side of 0 in
 * another order of additions is amplified from then on.  So do its variants
 * (golden/variants.h): accumulation, a mask with the exact mean and with the
 * mean of each shard, inputs rounded to bf16, and bf16 layers.  (JAX's masked
 * accuracy counts every row and is left out; ours weighs them.) */
#include "agreement.h"
#include "golden/cnn.h"
#include "golden/variants.h"

static double tolerance_at(int step)
{
    return step == 0 ? 1e-6 : 1e-3;
}

/* One stream of rand images and randint labels. */
typedef struct stream {
    ls_numpy rs;
    int64_t rows, size;
    int32_t classes;
    double *wide;
    float *x;
    int32_t *y;
} stream;

static stream open_stream(uint32_t seed, int64_t rows, int64_t size,
                          int64_t classes)
{
    size_t n = (size_t)(rows * size);
    stream s = {.rows = rows, .size = size, .classes = (int32_t)classes,
                .wide = malloc(n * sizeof *s.wide),
                .x = malloc(n * sizeof *s.x),
                .y = malloc((size_t)rows * sizeof *s.y)};

    ck_assert(s.wide && s.x && s.y);
    ls_numpy_seed(&s.rs, seed);
    return s;
}

static void next_batch(stream *s, ls_batch *batch)
{
    ls_numpy_rand(&s->rs, s->rows * s->size, s->wide);
    for (int64_t i = 0; i < s->rows * s->size; i++)
        s->x[i] = (float)s->wide[i];
    ls_numpy_randint32(&s->rs, 0, s->classes, s->rows, s->y);
    OK(ls_batch_set(batch, "x", LS_F32, s->x, s->rows));
    OK(ls_batch_set(batch, "y", LS_I32, s->y, s->rows));
}

static void close_stream(stream *s)
{
    free(s->wide);
    free(s->x);
    free(s->y);
}

/* ------ The tool's cnn ------ */

static ls_node *block(ls_node *x, int64_t n, const char *name)
{
    x = ls_conv2d(x, n, (ls_window){.height = 3, .width = 3}, name);
    return ls_max_pool(ls_relu(x), (ls_window){2, 2, 2, 2, LS_VALID});
}

static ls_graph *tool_cnn(bool rounds)
{
    ls_graph *g = empty_graph();
    ls_node *x = ls_input(g, "x", LS_F32, 3, (int64_t[]){32, 32, 3});
    ls_node *y = ls_input(g, "y", LS_I32, 0, NULL);

    x = block(block(rounds ? ls_round_bf16(x) : x, 32, "conv1"), 64, "conv2");
    OK(ls_loss(g, ls_cross_entropy(ls_dense(ls_flatten(x), 10, "dense"), y)));
    return g;
}

static ls_trainer_options options(int64_t seed)
{
    ls_trainer_options o = ls_trainer_defaults();

    o.seed = seed;
    o.optimizer = ls_adam(1e-3);
    return o;
}

/* Proves that its parameters start as Flax starts them. */
TEST(first_parameters)
{
    ls_trainer_options o = options(0);
    run r = open_run_on(1, 0, tool_cnn(false), &o);

    ck_assert_int_eq(ls_trainer_params(r.trainer), COUNT(golden_cnn_arrays));
    for (size_t i = 0; i < COUNT(golden_cnn_arrays); i++) {
        char hex[65];

        ck_assert_str_eq(ls_trainer_param_name(r.trainer, (int)i),
                         golden_cnn_arrays[i].name);
        hash_values(r.trainer, (int)i, hex);
        ck_assert_str_eq(hex, golden_cnn_arrays[i].sha256);
    }
    close_run(&r);
}

/* Proves that losses and accuracies come out on 1, 2, 4 and 8 devices: all 20
 * steps on two, 5 elsewhere unless LS_LONG is set. */
LOOP_TEST(losses, 0, COUNT(golden_cnn_runs))
{
    const golden_cnn_run *want = &golden_cnn_runs[_i];
    int steps = UNDER_SANITIZER ? 1 : long_run() || want->devices == 2 ? 20 : 5;
    ls_trainer_options o = options(0);
    run r = open_run_on(want->devices, 0, tool_cnn(false), &o);
    stream s = open_stream(7, 128, 32 * 32 * 3, 10);

    for (int i = 0; i < steps; i++) {
        ls_result got;

        next_batch(&s, r.batch);
        got = step(&r);
        near((double)got.loss, (double)want->loss[i], tolerance_at(i), "loss",
             i);
        /* a nearly even choice may fall otherwise: one row in 128 */
        near((double)got.accuracy, (double)want->accuracy[i],
             i ? 0.0079 : 0, "accuracy", i);
    }
    close_stream(&s);
    close_run(&r);
}

/* ------ Its variants ------ */

enum { ROWS = 128, FEW = UNDER_SANITIZER ? 1 : 2 /* steps */ };

static bool is(const golden_variant *want, const char *variant)
{
    return strcmp(want->variant, variant) == 0;
}

static run open_variant(ls_pool *pool, const golden_variant *want)
{
    ls_trainer_options o = options(0);

    o.accumulate = is(want, "accum") ? 4 : 1;
    o.precision = is(want, "bf16_model") ? LS_BF16_LAYERS : LS_F32_LAYERS;
    o.mean = is(want, "mask_mean") ? LS_MEAN_OF_SHARDS : LS_MEAN_EXACT;
    return open_run(pool, tool_cnn(is(want, "bf16_seed")), &o);
}

/* The last rows of a step are masked. */
static void mask(const golden_variant *want, int step, ls_batch *batch,
                 float weights[ROWS])
{
    int kept = ROWS - (1 + 3 * step % 15);

    for (int i = 0; i < ROWS; i++)
        weights[i] = i < kept ? 1 : 0;
    if (strstr(want->variant, "mask"))
        OK(ls_batch_set_weights(batch, weights, ROWS));
}

/* Micro-batches are added, which moves the first loss by 2e-6; with bf16 layers
 * JAX rounds more often (gradients too), which moves all by 5e-3. */
static void compare(const golden_variant *want, int i, const ls_result *got)
{
    double most = is(want, "bf16_model")        ? 5e-3
                  : i == 0 && is(want, "accum") ? 2e-6
                                                : tolerance_at(i);

    near((double)got->loss, (double)want->loss[i], most, want->variant, i);
    if (i == 0 && !strstr(want->variant, "mask"))
        ck_assert(got->accuracy == want->accuracy);
}

/* Proves that each variant has JAX's losses on 1, 2, 4 and 8 devices: some
 * steps of each run, LS_LONG=1 all. */
LOOP_TEST(variant, 0, COUNT(golden_variants))
{
    const golden_variant *want = &golden_variants[_i];
    ls_pool *pool = open_pool(want->devices, 2);
    run r = open_variant(pool, want);
    stream s = open_stream(7, ROWS, 32 * 32 * 3, 10);
    float weights[ROWS];

    for (int i = 0; i < (long_run() ? GOLDEN_STEPS : FEW); i++) {
        ls_result got;

        next_batch(&s, r.batch);
        mask(want, i, r.batch, weights);
        got = step(&r);
        compare(want, i, &got);
    }
    close_stream(&s);
    close_run(&r);
    ls_pool_close(pool);
}

/* ------ Other networks ------ */

static ls_node *layer(ls_node *x, const golden_layer *l, int i)
{
    ls_window w = {l->kh, l->kw, l->sy, l->sx, (ls_padding)l->padding};
    char name[32];

    snprintf(name, sizeof name, "layer%d", i);
    switch (l->kind) {
    case GOLDEN_CONV: return ls_conv2d(x, l->n, w, name);
    case GOLDEN_MAX: return ls_max_pool(x, w);
    case GOLDEN_AVG: return ls_avg_pool(x, w);
    case GOLDEN_NORM: return ls_group_norm(x, (int)l->n, name);
    default: return ls_relu(x);
    }
}

static ls_graph *net(const golden_net *n)
{
    ls_graph *g = empty_graph();
    ls_node *x = ls_input(g, "x", LS_F32, 3, n->image);
    ls_node *y = ls_input(g, "y", LS_I32, 0, NULL);

    for (int i = 0; n->layer[i].kind != GOLDEN_END; i++)
        x = layer(x, &n->layer[i], i);
    x = ls_dense(ls_flatten(x), n->classes, "dense");
    OK(ls_loss(g, ls_cross_entropy(x, y)));
    return g;
}

static void train(const golden_net *n, int devices)
{
    ls_trainer_options o = options(n->seed);
    run r = open_run_on(devices, 0, net(n), &o);
    stream s = open_stream(n->data_seed, n->batch,
                           n->image[0] * n->image[1] * n->image[2],
                           n->classes);
    char hex[65];

    hash_values(r.trainer, -1, hex);
    ck_assert_str_eq(hex, n->sha256);
    for (int i = 0; i < 10; i++) {
        next_batch(&s, r.batch);
        near((double)step(&r).loss, (double)n->loss[i], tolerance_at(i),
             "loss", i);
    }
    close_stream(&s);
    close_run(&r);
}

/* Proves that no size is special, nor any stride or padding: images that are
 * not square, odd, of one channel, on 1, 3 and 6 devices. */
LOOP_TEST(other_networks, 0, COUNT(golden_nets))
{
    train(&golden_nets[_i], 1);
    train(&golden_nets[_i], 3);
    train(&golden_nets[_i], 6);
}

MAIN()
