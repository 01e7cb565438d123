/* SPDX-License-Identifier: BSD-3-Clause */
/* Linear regression for tests of training: its trainer and rows, what loss and
 * gradient must be, in double, and the same as a gradient function of the
 * user's. */
#ifndef TEST_REGRESSION_H
#define TEST_REGRESSION_H

#include "models.h"

#include <math.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum {
    IN = 3, OUT = 2, DEVICES = 4, ROWS = 12, PER_DEVICE = ROWS / DEVICES,
    KERNEL = IN * OUT
};

static const float uneven[ROWS] = {1, 0.5f, 2, 0, 0.25f, 3, 1, 1, 0, 0.125f,
                                   4, 1};

typedef struct regression {
    float *x, *y;
    run run;
} regression;

/* Graphs give kernel and bias names without a layer. */
static inline regression open_regression(ls_mean mean, ls_optimizer optimizer)
{
    regression q = {.x = normals(1, ROWS * IN), .y = normals(2, ROWS * OUT)};
    ls_trainer_options o = ls_trainer_defaults();

    o.mean = mean;
    o.optimizer = optimizer;
    q.run = open_run_on(DEVICES, 2, linear_graph(IN, OUT), &o);
    OK(ls_batch_set(q.run.batch, "x", LS_F32, q.x, ROWS));
    OK(ls_batch_set(q.run.batch, "y", LS_F32, q.y, ROWS));
    return q;
}

static inline void close_regression(regression *q)
{
    close_run(&q->run);
    free(q->x);
    free(q->y);
}

/* Kernel and bias, one after the other. */
static inline void get_linear(const ls_trainer *t,
                              float p[KERNEL + OUT])
{
    OK(ls_trainer_get(t, "kernel", KERNEL, p));
    OK(ls_trainer_get(t, "bias", OUT, p + KERNEL));
}

/* Sums over rows: loss, weight of terms, and gradient. */
typedef struct sums {
    double loss, weight, grad[KERNEL + OUT];
} sums;

static inline void add_row(const float *p, const float *x, const float *y,
                           double w, sums *s)
{
    for (int j = 0; j < OUT; j++) {
        double r = (double)p[KERNEL + j] - (double)y[j];

        for (int i = 0; i < IN; i++)
            r += (double)x[i] * (double)p[i * OUT + j];
        s->loss += w * r * r;
        s->weight += w;
        s->grad[KERNEL + j] += 2 * w * r;
        for (int i = 0; i < IN; i++)
            s->grad[i * OUT + j] += 2 * w * r * (double)x[i];
    }
}

static inline void add_sums(sums *to, const sums *from, double by)
{
    to->loss += by * from->loss;
    to->weight += from->weight;
    for (int i = 0; i < KERNEL + OUT; i++)
        to->grad[i] += by * from->grad[i];
}

/* The three means as lockstep.h defines them, in double. */
static inline sums expected(const regression *q, ls_mean mean,
                            const float *p, const float *weights)
{
    sums all = {0}, mine = {0};

    for (int d = 0; d < DEVICES; d++) {
        sums s = {0};

        for (int i = d * PER_DEVICE; i < (d + 1) * PER_DEVICE; i++)
            add_row(p, q->x + i * IN, q->y + i * OUT,
                    weights ? (double)weights[i] : 1, &s);
        add_sums(&all, &s, mean == LS_MEAN_OF_SHARDS
                               ? 1 / s.weight / DEVICES : 1);
    }
    add_sums(&mine, &all, mean == LS_MEAN_EXACT ? 1 / all.weight : 1);
    return mine;
}

static inline void near(double got, double want, double tolerance)
{
    ck_assert_msg(fabs(got - want) <= tolerance * fmax(1, fabs(want)),
                  "%.9g, not %.9g", got, want);
}

/* A gradient function of our own for the same regression, in float. */
static inline int own_linear(void *user, int device, const ls_shard *shard,
                             const float *const *params, float *const *grads,
                             ls_sums *out)
{
    const float *x = shard->data[0], *y = shard->data[1];
    float p[KERNEL + OUT];
    sums s = {0};

    (void)user;
    (void)device;
    memcpy(p, params[0], KERNEL * sizeof *p);
    memcpy(p + KERNEL, params[1], OUT * sizeof *p);
    for (int64_t i = 0; i < shard->rows; i++)
        add_row(p, x + i * IN, y + i * OUT,
                shard->weights ? (double)shard->weights[i] : 1, &s);
    for (int i = 0; grads && i < KERNEL + OUT; i++)
        *(i < KERNEL ? &grads[0][i] : &grads[1][i - KERNEL]) =
            (float)s.grad[i];
    out->loss = s.loss;
    out->weight = s.weight;
    return 0;
}

static const ls_array_spec linear_input[] = {{"x", LS_F32, 1, {IN}},
                                             {"y", LS_F32, 1, {OUT}}};
static const ls_array_spec linear_param[] = {{"kernel", LS_F32, 2, {IN, OUT}},
                                             {"bias", LS_F32, 1, {OUT}}};

static inline run open_own(ls_pool *pool, ls_gradient_fn *fn, void *user,
                           ls_optimizer optimizer)
{
    ls_gradient g = {fn, user, 2, 2, linear_input, linear_param};
    ls_trainer_options o = ls_trainer_defaults();

    o.optimizer = optimizer;
    return open_gradient(pool, &g, &o);
}

/* A gradient function that does nothing. */
static inline int nothing(void *user, int device, const ls_shard *shard,
                          const float *const *params, float *const *grads,
                          ls_sums *out)
{
    (void)user;
    (void)device;
    (void)shard;
    (void)params;
    (void)grads;
    (void)out;
    return 0;
}

/* ------ Steps that fail leave a trainer as it was ------ */

/* State that a failure must leave as it was. */
typedef struct before {
    char hash[65];
    int64_t step;
} before;

static inline before remember(ls_trainer *t)
{
    before b = {.step = ls_trainer_step(t)};

    ls_trainer_hash(t, b.hash);
    return b;
}

static inline void unchanged(ls_trainer *t, const before *b)
{
    char hash[65];

    ls_trainer_hash(t, hash);
    ck_assert_str_eq(hash, b->hash);
    ck_assert_int_eq(ls_trainer_step(t), b->step);
}

/* A step that must fail and leave trainer and result as they were. */
static inline void fails(const run *r, int status, const char *words,
                         const char *more)
{
    before b = remember(r->trainer);
    ls_result result, kept;

    memset(&result, 0x5a, sizeof result);
    kept = result;
    FAILS(ls_step(r->trainer, r->batch, &result), status, words);
    ck_assert_msg(strstr(ls_errmsg(), more), "\"%s\" does not say \"%s\"",
                  ls_errmsg(), more);
    ck_assert_mem_eq(&result, &kept, sizeof result);
    unchanged(r->trainer, &b);
}

#endif
