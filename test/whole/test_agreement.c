/* SPDX-License-Identifier: BSD-3-Clause */
/* The same numbers as the same programs in JAX: losses and parameters of Flax
 * and optax, which golden/ holds with the scripts that made them.  Initial
 * parameters agree to the bit; what sums many terms to a tolerance. */
#include "agreement.h"
#include "base/sha.h"
#include "golden/small_lm.h"
#include "golden/train.h"
#include "golden.h"

/* ------ Linear regression ------ */

static void check_array(const ls_trainer *t, const char *name, int64_t n,
                        const float *want, double tolerance)
{
    float *got = malloc((size_t)n * sizeof *got);

    ck_assert_ptr_nonnull(got);
    OK(ls_trainer_get(t, name, n, got));
    if (tolerance == 0)
        ck_assert_mem_eq(got, want, (size_t)n * sizeof *got);
    for (int64_t i = 0; i < n; i++)
        near((double)got[i], (double)want[i], tolerance, name, (int)i);
    free(got);
}

/* Kernel and bias of a case; returns where the next ones stand. */
static const float *check_linear(const ls_trainer *t, const golden_linear *c,
                                 const float *want, double tolerance)
{
    check_array(t, "kernel", c->d_in * c->d_out, want, tolerance);
    want += c->d_in * c->d_out;
    check_array(t, "bias", c->d_out, want, tolerance);
    return want + c->d_out;
}

static void train_linear(int number, ls_mean mean)
{
    const golden_linear *c = &golden_linears[number];
    const float *loss = golden("train", 20, "linear/%d/loss", number);
    const float *want = golden("train", 3 * (c->d_in + 1) * c->d_out,
                               "linear/%d/params", number);
    float *data = normals(c->data_seed, c->rows * (c->d_in + c->d_out));
    ls_trainer_options o = ls_trainer_defaults();
    run r;

    o.seed = c->seed;
    o.optimizer = ls_sgd(c->lr);
    o.mean = mean;
    r = open_run_on(c->devices, 0, linear_graph(c->d_in, c->d_out), &o);
    want = check_linear(r.trainer, c, want, 0);
    OK(ls_batch_set(r.batch, "x", LS_F32, data, c->rows));
    OK(ls_batch_set(r.batch, "y", LS_F32, data + c->rows * c->d_in, c->rows));
    for (int i = 0; i < 20; i++) {
        near((double)step(&r).loss, (double)loss[i], 1e-6, "loss", i);
        if (i == 0)
            want = check_linear(r.trainer, c, want, 1e-6);
    }
    check_linear(r.trainer, c, want, 1e-6);
    close_run(&r);
    free(data);
}

/* Proves that linear regression comes out as JAX has it: first parameters to
 * the bit, 20 losses and the parameters after 1 and 20 updates to 1e-6, by the
 * mean of shards. */
LOOP_TEST(linear_mean_of_shards, 0, COUNT(golden_linears))
{
    train_linear(_i, LS_MEAN_OF_SHARDS);
}

/* Proves that the exact mean is the same where shards are equal. */
LOOP_TEST(linear_exact_mean, 0, COUNT(golden_linears))
{
    train_linear(_i, LS_MEAN_EXACT);
}

/* Proves that the one call gives the first loss of every case. */
LOOP_TEST(linear_one_call, 0, COUNT(golden_linears))
{
    const golden_linear *c = &golden_linears[_i];
    const float *want = golden("train", 20, "linear/%d/loss", _i);
    float *data = normals(c->data_seed, c->rows * (c->d_in + c->d_out));
    float loss;

    OK(ls_data_parallel_step(c->seed, data, data + c->rows * c->d_in, c->rows,
                             c->d_in, c->d_out, c->devices, c->lr, &loss));
    near((double)loss, (double)want[0], 1e-6, "loss of case", _i);
    free(data);
}

/* ------ The lm ------ */

enum { LM_BATCH = 32, LM_STEPS = 50 };

static const lm_sizes lm_size = {512, 64, 256, 8, 4, 1024};

static const struct {
    const char *mode;
    ls_state state;
    int devices;
} lm_runs[] = {{"replicated", LS_REPLICATE, 1}, {"replicated", LS_REPLICATE, 2},
               {"replicated", LS_REPLICATE, 4}, {"fsdp", LS_SHARD, 1},
               {"fsdp", LS_SHARD, 2}, {"fsdp", LS_SHARD, 4}};

static ls_trainer_options lm_options(int64_t seed, double lr, ls_state state)
{
    ls_trainer_options o = ls_trainer_defaults();

    o.seed = seed;
    o.keys = LS_KEYS_LINEN;
    o.optimizer = ls_adamw(lr);
    o.state = state;
    return o;
}

static void check_sha(const ls_trainer *t, int i, const golden_array *want)
{
    float *values = malloc((size_t)want->size * sizeof *values);
    ls__sha256 sha;
    char hex[65];

    ck_assert_ptr_nonnull(values);
    ck_assert_str_eq(ls_trainer_param_name(t, i), want->name);
    OK(ls_trainer_get(t, want->name, want->size, values));
    ls__sha256_init(&sha);
    ls__sha256_update(&sha, values, (size_t)want->size * sizeof *values);
    ls__sha256_hex(&sha, hex);
    ck_assert_msg(!strcmp(hex, want->sha256), "%s is %s, not %s", want->name,
                  hex, want->sha256);
    free(values);
}

/* Proves that the 53 arrays of the lm start as Flax starts them, to the bit,
 * and stand in the order in which JAX sorts them. */
TEST(lm_first_parameters)
{
    ls_trainer_options o = lm_options(42, 3e-4, LS_REPLICATE);
    run r = open_run_on(1, 0, lm_graph(&lm_size), &o);

    ck_assert_int_eq(ls_trainer_params(r.trainer), COUNT(golden_lm_arrays));
    for (size_t i = 0; i < COUNT(golden_lm_arrays); i++)
        check_sha(r.trainer, (int)i, &golden_lm_arrays[i]);
    close_run(&r);
}

/* Proves that the lm's losses come out within 1e-5 on 1, 2 and 4 devices,
 * replicated and sharded: the first 12 on two devices and two elsewhere, all 50
 * if LS_LONG is set.  A sanitizer has seen all there is to see after two steps,
 * which take it, or an emulator, as long as fifty. */
LOOP_TEST(lm_losses, 0, COUNT(lm_runs))
{
    int devices = lm_runs[_i].devices;
    const float *want = golden("train", LM_STEPS, "lm/%s/%d/loss",
                               lm_runs[_i].mode, devices);
    bool few = UNDER_SANITIZER || emulated("all steps but two");
    bool more = lm_runs[_i].state == LS_REPLICATE && devices == 2;
    int steps = few ? 2 : long_run() ? LM_STEPS : more ? 12 : 2;
    int64_t batch = LM_BATCH * lm_size.length;
    int32_t *data = integers(1234, 512, steps * batch);
    ls_trainer_options o = lm_options(42, 3e-4, lm_runs[_i].state);
    run r = open_run_on(devices, 0, lm_graph(&lm_size), &o);

    for (int i = 0; i < steps; i++) {
        OK(ls_batch_set(r.batch, "tokens", LS_I32, data + i * batch,
                        LM_BATCH));
        near((double)step(&r).loss, (double)want[i], 1e-5, "loss", i);
    }
    close_run(&r);
    free(data);
}

/* ------ The same model at other sizes ------ */

static void train_small(const golden_small_lm *want, int devices)
{
    lm_sizes sizes = {want->vocab, want->length, want->width,
                      want->heads, want->layers, want->ff};
    int64_t batch = want->batch * want->length;
    int32_t *data = integers(want->data_seed, (int32_t)want->vocab,
                             10 * batch);
    ls_trainer_options o = lm_options(want->seed, want->lr, LS_REPLICATE);
    run r = open_run_on(devices, 0, lm_graph(&sizes), &o);
    char hex[65];

    hash_values(r.trainer, -1, hex);
    ck_assert_str_eq(hex, want->sha256);
    for (int i = 0; i < 10; i++) {
        OK(ls_batch_set(r.batch, "tokens", LS_I32, data + i * batch,
                        want->batch));
        near((double)step(&r).loss, (double)want->loss[i], 5e-6, "loss", i);
    }
    close_run(&r);
    free(data);
}

/* Proves that no size is special: widths, heads and lengths that fit no vector
 * and sequences longer than a chunk give Flax's first parameters and losses,
 * with one device and with two. */
LOOP_TEST(lm_other_sizes, 0, COUNT(golden_small_lms))
{
    train_small(&golden_small_lms[_i], 1);
    train_small(&golden_small_lms[_i], 2);
}

MAIN()
