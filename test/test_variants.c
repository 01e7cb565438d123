/* The variants of a cnn against JAX on 1, 2, 4 and 8 devices: accumulation, a
 * mask with the exact mean and with the mean of each shard, inputs rounded to
 * bf16, and bf16 layers.  (JAX's masked accuracy counts every row and is left
 * out; ours weighs them.)
 *
 * Losses agree to 1e-6 at the first step, 2e-6 where micro-batches are added.
 * Later a relu may fall to the other side of zero, which adam's first steps
 * amplify: 1e-3.  With bf16 layers, where JAX rounds more often (gradients
 * too), 5e-3.  The suite takes some steps of each run, LS_LONG=1 all. */
#include "calls.h"
#include "models.h"

#include "golden/variants.h"

enum { ROWS = 128, SIZE = 32 * 32 * 3, CLASSES = 10 };
enum { FEW = UNDER_SANITIZER ? 1 : 2 }; /* steps */

/* ------ The model and its data ------ */

static ls_node *layer(ls_node *x, int64_t channels, const char *name)
{
    x = ls_conv2d(x, channels, (ls_window){.height = 3, .width = 3}, name);
    return ls_max_pool(ls_relu(x), (ls_window){2, 2, 2, 2, LS_VALID});
}

static ls_graph *cnn(bool rounds)
{
    ls_graph *g;
    ls_node *x, *y;

    OK(ls_graph_new(&g));
    x = ls_input(g, "x", LS_F32, 3, (int64_t[]){32, 32, 3});
    y = ls_input(g, "y", LS_I32, 0, NULL);
    x = layer(layer(rounds ? ls_round_bf16(x) : x, 32, "conv1"), 64, "conv2");
    x = ls_dense(ls_flatten(x), CLASSES, "dense");
    OK(ls_loss(g, ls_cross_entropy(x, y)));
    return g;
}

typedef struct data {
    ls_numpy rs;
    double wide[ROWS * SIZE];
    float x[ROWS * SIZE], weights[ROWS];
    int32_t y[ROWS];
} data;

/* The batch of a step: float32(rand), then randint; the last rows masked. */
static void next(data *d, int step)
{
    int kept = ROWS - (1 + 3 * step % 15);

    ls_numpy_rand(&d->rs, (int64_t)ROWS * SIZE, d->wide);
    for (int i = 0; i < ROWS * SIZE; i++)
        d->x[i] = (float)d->wide[i];
    ls_numpy_randint32(&d->rs, 0, CLASSES, ROWS, d->y);
    for (int i = 0; i < ROWS; i++)
        d->weights[i] = i < kept ? 1 : 0;
}

/* ------ The runs ------ */

static bool is(const golden_variant *want, const char *variant)
{
    return strcmp(want->variant, variant) == 0;
}

static run open_variant(ls_pool *pool, const golden_variant *want)
{
    ls_trainer_options o = ls_trainer_defaults();

    o.optimizer = ls_adam(1e-3);
    o.accumulate = is(want, "accum") ? 4 : 1;
    o.precision = is(want, "bf16_model") ? LS_BF16_LAYERS : LS_F32_LAYERS;
    o.mean = is(want, "mask_mean") ? LS_MEAN_OF_SHARDS : LS_MEAN_EXACT;
    return open_run(pool, cnn(is(want, "bf16_seed")), &o);
}

static void compare(const golden_variant *want, int i, const ls_result *got)
{
    bool sums = is(want, "accum");
    double most = is(want, "bf16_model") ? 5e-3
                  : i > 0                ? 1e-3
                  : sums                 ? 2e-6
                                         : 1e-6;
    double error = (double)got->loss - (double)want->loss[i];

    ck_assert_msg(fabs(error) <= most,
                  "%s, %d devices, step %d: loss %.9g, JAX has %.9g",
                  want->variant, want->devices, i, (double)got->loss,
                  (double)want->loss[i]);
    if (i == 0 && !strstr(want->variant, "mask"))
        ck_assert(got->accuracy == want->accuracy);
}

START_TEST(variant)
{
    const golden_variant *want = &golden_variants[_i];
    ls_pool *pool = open_pool(want->devices, 2);
    run r = open_variant(pool, want);
    data *d = calloc(1, sizeof *d);

    ck_assert_ptr_nonnull(d);
    ls_numpy_seed(&d->rs, 7);
    for (int i = 0; i < (long_run() ? GOLDEN_STEPS : FEW); i++) {
        ls_result got;

        next(d, i);
        OK(ls_batch_set(r.batch, "x", LS_F32, d->x, ROWS));
        OK(ls_batch_set(r.batch, "y", LS_I32, d->y, ROWS));
        if (strstr(want->variant, "mask"))
            OK(ls_batch_set_weights(r.batch, d->weights, ROWS));
        got = step(&r);
        compare(want, i, &got);
    }
    close_run(&r);
    ls_pool_close(pool);
    free(d);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("variants");
    TCase *t = tcase_create("variants");

    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, variant, 0,
                        sizeof golden_variants / sizeof *golden_variants);
    suite_add_tcase(s, t);
    return run_suite(s);
}
