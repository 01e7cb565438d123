/* SPDX-License-Identifier: BSD-3-Clause */
/* Clipping and schedules in training: optax's numbers, the norm's definition,
 * and the same bits on any number of workers. */
#include "asked_record.h"
#include "models.h"
#include "reduce/reduce.h"
#include "referee/numbers.h"
#include "rules/clip.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "golden.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* A gradient that was made up: n numbers each of "a" and "b", whatever the
 * rows. */
typedef struct made_up {
    int64_t n[2];
    const float *g[2];
} made_up;

static int given(void *user, int device, const ls_shard *shard,
                 const float *const *params, float *const *grads,
                 ls_sums *sums)
{
    const made_up *m = user;

    (void)device, (void)params;
    sums->loss = 0;
    sums->weight = (double)shard->rows;
    for (int p = 0; grads && p < 2; p++)
        for (int64_t i = 0; i < m->n[p]; i++)
            grads[p][i] = m->g[p][i] * (float)shard->rows;
    return 0;
}

static run open_given(made_up *m, const ls_trainer_options *o, int workers)
{
    static const ls_array_spec input = {"x", LS_F32, 0, {0}};
    static const float x[8];
    const ls_array_spec param[] = {{"a", LS_F32, 1, {m->n[0]}},
                                   {"b", LS_F32, 1, {m->n[1]}}};
    ls_gradient gradient = {given, m, 1, 2, &input, param};
    run s = open_gradient_on(2, workers, &gradient, o);

    OK(ls_batch_set(s.batch, "x", LS_F32, x, 8));
    return s;
}

static made_up golden_gradient(float g[50])
{
    for (int i = 0; i < 20; i++)
        g[i] = (float)(i % 7 - 3) / 4;
    for (int i = 0; i < 30; i++)
        g[20 + i] = (float)(i % 5 - 2) / 8;
    return (made_up){{20, 30}, {g, g + 20}};
}

/* Their norm, as optax computes it. */
static float golden_norm(void)
{
    return *golden("schedules", 1, "norm");
}

/* Clipping gives optax's bits below, at and above the limit, and reports the
 * norm as it was before. */
TEST(test_clip_optax)
{
    float g[50], value[50];
    made_up m = golden_gradient(g);
    float norm = golden_norm();
    const double limits[] = {0.3, 1.7, (double)norm,
                             (double)nextafterf(norm, 9), 100};

    for (size_t i = 0; i < 2 * COUNT(limits); i++) {
        const float *want = golden("schedules", 50, "clip/%zu", i / 2);
        ls_trainer_options o = ls_trainer_defaults();
        ls_result r;

        o.optimizer = ls_sgd(0.5);
        o.clip_norm = limits[i / 2];
        o.state = i % 2 ? LS_SHARD : LS_REPLICATE;
        run s = open_given(&m, &o, 2);
        OK(ls_step(s.trainer, s.batch, &r));
        OK(ls_trainer_get(s.trainer, "a", 20, value));
        OK(ls_trainer_get(s.trainer, "b", 30, value + 20));
        ck_assert(r.grad_norm == norm);
        for (int j = 0; j < 50; j++)
            ck_assert_msg(value[j] == want[j],
                          "limit %g, element %d: %a is not %a",
                          o.clip_norm, j, (double)value[j], (double)want[j]);
        close_run(&s);
    }
}

/* Values are clipped to optax's bits, behind the norm where both are. */
TEST(test_clip_value_optax)
{
    static const struct {
        double norm, value;
    } limits[] = {{0, 0.3}, {0, 0.25}, {0, 1e-3}, {0, 2}, {1.7, 0.2}};
    float g[50], value[50];
    made_up m = golden_gradient(g);

    for (size_t i = 0; i < 2 * COUNT(limits); i++) {
        const float *want = golden("schedules", 50, "clip-value/%zu", i / 2);
        ls_trainer_options o = ls_trainer_defaults();
        ls_result r;

        o.optimizer = ls_sgd(0.5);
        o.clip_norm = limits[i / 2].norm;
        o.clip_value = limits[i / 2].value;
        o.state = i % 2 ? LS_SHARD : LS_REPLICATE;
        run s = open_given(&m, &o, 2);
        OK(ls_step(s.trainer, s.batch, &r));
        OK(ls_trainer_get(s.trainer, "a", 20, value));
        OK(ls_trainer_get(s.trainer, "b", 30, value + 20));
        ck_assert(o.clip_norm > 0 ? r.grad_norm == golden_norm()
                                  : isnan(r.grad_norm));
        for (int j = 0; j < 50; j++)
            ck_assert_msg(value[j] == want[j],
                          "limit %g, element %d: %a is not %a", o.clip_value,
                          j, (double)value[j], (double)want[j]);
        close_run(&s);
    }
}

/* Infinity clips nothing and reports the norm; without clipping it is NaN. */
TEST(test_clip_infinity)
{
    float g[50];
    made_up m = golden_gradient(g);
    char hex[2][65];

    for (int i = 0; i < 2; i++) {
        ls_trainer_options o = ls_trainer_defaults();
        ls_result r;

        o.clip_norm = i ? (double)INFINITY : 0;
        run s = open_given(&m, &o, 2);
        OK(ls_step(s.trainer, s.batch, &r));
        ck_assert(i ? r.grad_norm == golden_norm() : isnan(r.grad_norm));
        OK(ls_evaluate(s.trainer, s.batch, &r));
        ck_assert(isnan(r.grad_norm));
        ls_trainer_hash(s.trainer, hex[i]);
        close_run(&s);
    }
    ck_assert_str_eq(hex[0], hex[1]);
}

/* A norm beyond float stops the step before anything was changed, where optax
 * would train on with a gradient of zeros. */
TEST(test_clip_overflow)
{
    float g[50];
    made_up m = golden_gradient(g);

    g[33] = 1e20f;
    for (int state = LS_REPLICATE; state <= LS_SHARD; state++) {
        ls_trainer_options o = ls_trainer_defaults();
        char before[65], after[65];
        ls_result r;

        o.clip_norm = 1;
        o.state = (ls_state)state;
        run s = open_given(&m, &o, 2);
        ls_trainer_hash(s.trainer, before);
        FAILS(ls_step(s.trainer, s.batch, &r), LS_ENONFINITE,
                "step 0: the norm of the gradient");
        ls_trainer_hash(s.trainer, after);
        ck_assert_str_eq(before, after);
        close_run(&s);
    }
}

/* A trainer refuses the schedules and limits that make no sense. */
TEST(test_refused_options)
{
    static const double limits[] = {-1, (double)NAN, 1e-40,
                                    (double)-INFINITY};
    static const ls_array_spec spec = {"x", LS_F32, 0, {0}};
    ls_gradient gradient = {given, NULL, 1, 1, &spec, &spec};
    ls_pool *pool = open_pool(1, 1);
    ls_trainer *t = NULL;

    for (size_t i = 0; i < COUNT(limits); i++) {
        ls_trainer_options o = ls_trainer_defaults();

        o.clip_norm = limits[i];
        FAILS(ls_trainer_open_gradient(&t, pool, &gradient, &o), LS_EINVAL,
                "clip norm");
        o.clip_norm = 0;
        o.clip_value = limits[i];
        FAILS(ls_trainer_open_gradient(&t, pool, &gradient, &o), LS_EINVAL,
                "clip value");
    }
    ls_trainer_options o = ls_trainer_defaults();
    o.schedule.kind = LS_COSINE;
    FAILS(ls_trainer_open_gradient(&t, pool, &gradient, &o), LS_EINVAL,
            "schedule cosine: decay_steps is 0");
    ck_assert_ptr_null(t);
    ls_pool_close(pool);
}

/* Step c is taken with the rate after c updates; an evaluation and a failed
 * step are no updates.  The boundaries may go once the trainer is open. */
TEST(test_lr_of_steps)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_boundary boundary[] = {{2, 0.5}, {4, 0.25}};
    static const float want[] = {1, 1, 0.5f, 0.5f, 0.125f, 0.125f};
    float g[50] = {[7] = 1}, value[20], sum = 0;
    made_up m = {{20, 30}, {g, g + 20}};
    ls_result r;

    o.optimizer = ls_sgd(1);
    o.schedule = (ls_schedule){.kind = LS_PIECEWISE, .n_boundaries = 2,
                               .boundaries = boundary};
    run s = open_given(&m, &o, 2);
    memset(boundary, 0, sizeof boundary);
    for (size_t c = 0; c < COUNT(want); c++) {
        OK(ls_evaluate(s.trainer, s.batch, &r));
        g[7] = NAN;
        FAILS(ls_step(s.trainer, s.batch, &r), LS_ENONFINITE, "\"a\"");
        g[7] = 1;
        OK(ls_step(s.trainer, s.batch, &r));
        ck_assert(r.lr == want[c]);
        sum += want[c];
        OK(ls_trainer_get(s.trainer, "a", 20, value));
        ck_assert(value[7] == -sum);
    }
    close_run(&s);
}

/* ------ bits ------ */

/* Blocks of 4096 as the referee sums them, in order. */
static float reference_norm(int64_t n, const float *g)
{
    f64 sum = 0;

    for (int64_t i = 0; i < n; i += LS__REDUCE_BLOCK) {
        f32 x[LS__REDUCE_BLOCK];
        int64_t some = least(n - i, LS__REDUCE_BLOCK);

        for (int64_t j = 0; j < some; j++)
            x[j] = f_of(g[i + j]);
        sum = d_add(sum, d_from(row_sum(x, x, some)));
    }
    return asked_word(f_from(d_sqrt(sum)));
}

/* Every instruction level adds a block's squares as the reference does. */
TEST(test_norm)
{
    static const int64_t sizes[] = {1, 15, 16, 17, 4095, 4096, 4097, 10000};
    float g[10000];

    fill_sizes(g, 10000, 1);
    for (int level = 0; ls__kernels_level(level); level++) {
        const char *name = ls__kernels_level(level)->name;
        const ls__kernel_table *k = ls__kernels_by_name(name);

        for (size_t s = 0; k && s < COUNT(sizes); s++) {
            float square[3];
            int64_t n = sizes[s], blocks = ls__reduce_blocks(n);

            for (int64_t b = 0; b < blocks; b++) {
                int64_t at = b * LS__REDUCE_BLOCK, left = n - at;

                left = left < LS__REDUCE_BLOCK ? left : LS__REDUCE_BLOCK;
                square[b] = k->square_sum(left, g + at);
            }
            ck_assert(ls__clip_norm(blocks, square) == reference_norm(n, g));
        }
    }
}

/* A step's norm is the reference's over the flat array, in which a parameter
 * is padded to 16 floats with zeros, whoever sums which block. */
TEST(test_norm_of_step)
{
    enum { A = 5001, PADDED = 5008, B = 9999 };
    static float flat[PADDED + B];
    made_up m = {{A, B}, {flat, flat + PADDED}};

    fill_sizes(flat, A, 4);
    fill_sizes(flat + PADDED, B, 5);
    for (int workers = 1; workers <= 7; workers++) {
        ls_trainer_options o = ls_trainer_defaults();
        ls_result r;

        o.clip_norm = 1;
        run s = open_given(&m, &o, workers);
        OK(ls_step(s.trainer, s.batch, &r));
        ck_assert(r.grad_norm == reference_norm(PADDED + B, flat));
        close_run(&s);
    }
}

enum { WIDE = 150, ROWS = 42 };

static float rows_x[ROWS * WIDE], rows_y[ROWS * 3];

/* 150 -> 150 -> 3: six blocks of parameters. */
typedef enum limit { LOOSE, TIGHT, BY_VALUE } limit;

static run open_graph(int workers, ls_state state, limit tight)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_graph *g = empty_graph();
    run s;

    ls_node *x = ls_input(g, "x", LS_F32, 1, (int64_t[]){WIDE});
    ls_node *y = ls_input(g, "y", LS_F32, 1, (int64_t[]){3});
    ls_node *h = ls_gelu(ls_dense(x, WIDE, "hidden"));
    ls_loss(g, ls_mean_squared_error(ls_dense(h, 3, "out"), y));
    o.optimizer = ls_adamw(1e-2);
    o.schedule = (ls_schedule){.kind = LS_COSINE, .warmup = 2,
                               .decay_steps = 6, .end_lr = 1e-3};
    if (tight == BY_VALUE) {
        o.optimizer = ls_momentum(1e-2, 0.9);
        o.optimizer.l2 = 1e-3;
        o.clip_value = 1e-4;
    }
    o.clip_norm = tight ? 1 : 1e6;
    o.state = state;
    s = open_run_on(7, workers, g, &o);
    OK(ls_batch_set(s.batch, "x", LS_F32, rows_x, ROWS));
    OK(ls_batch_set(s.batch, "y", LS_F32, rows_y, ROWS));
    return s;
}

typedef struct outcome {
    float loss[7], lr[7], norm[7];
    char hex[65];
} outcome;

static outcome train(int workers, ls_state state, limit tight)
{
    run s = open_graph(workers, state, tight);
    outcome out = {0};

    for (int i = 0; i < 7; i++) {
        ls_result r;

        OK(ls_step(s.trainer, s.batch, &r));
        out.loss[i] = r.loss;
        out.lr[i] = r.lr;
        out.norm[i] = r.grad_norm;
    }
    ls_trainer_hash(s.trainer, out.hex);
    close_run(&s);
    return out;
}

/* Any number of workers and both placements give the same bytes with a schedule
 * and clipping on, by norm, by value and with l2; and a limit that binds is not
 * one that does not. */
TEST(test_workers)
{
    static const int workers[] = {1, 2, 3, 7};
    outcome first[3] = {train(1, LS_REPLICATE, LOOSE),
                        train(1, LS_REPLICATE, TIGHT),
                        train(1, LS_REPLICATE, BY_VALUE)};

    ck_assert(first[0].norm[0] > 1.0f && first[0].norm[0] < 1e6f);
    ck_assert(first[0].norm[0] == first[1].norm[0]);
    ck_assert(first[0].lr[0] == 0.0f && first[0].lr[2] == 1e-2f);
    ck_assert_str_ne(first[0].hex, first[1].hex);
    for (size_t i = 0; i < COUNT(workers); i++)
        for (int state = LS_REPLICATE; state <= LS_SHARD; state++)
            for (int tight = LOOSE; tight <= BY_VALUE; tight++) {
                outcome o = train(workers[i], (ls_state)state, (limit)tight);

                ck_assert_mem_eq(&o, &first[tight], sizeof o);
            }
}

int main(void)
{
    fill_sizes(rows_x, ROWS * WIDE, 2);
    fill_sizes(rows_y, ROWS * 3, 3);
    return RUN_TESTS();
}
