/* SPDX-License-Identifier: BSD-3-Clause */
/* Optimizers: each rule bit for bit against its formula, adamw's trace against
 * optax, and the bias corrections. */
#include "models.h"
#include "rules/optim.h"

#include <math.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Two parameters whose sizes end inside a vector of 16. */
enum { FIRST = 33, SECOND = 4, BOTH = FIRST + SECOND, UPDATES = 20 };

/* Gradients in the order they shall be given, BOTH a step. */
typedef struct script {
    const float *next;
} script;

/* All of it by device 0; the others add zeros of no weight. */
static int given(void *user, int device, const ls_shard *shard,
                 const float *const *params, float *const *grads,
                 ls_sums *sums)
{
    script *s = user;

    (void)shard;
    (void)params;
    memset(grads[0], 0, FIRST * sizeof **grads);
    memset(grads[1], 0, SECOND * sizeof **grads);
    if (device > 0)
        return 0;
    memcpy(grads[0], s->next, FIRST * sizeof **grads);
    memcpy(grads[1], s->next + FIRST, SECOND * sizeof **grads);
    s->next += BOTH;
    sums->weight = 1;
    return 0;
}

static run open_script(ls_pool *pool, script *s, ls_optimizer optimizer,
                       ls_state state)
{
    static const ls_array_spec input = {"x", LS_F32, 0, {0}};
    static const ls_array_spec param[] = {
        {"second.w", LS_F32, 2, {3, FIRST / 3}}, {"b", LS_F32, 1, {SECOND}}};
    ls_gradient g = {given, s, 1, 2, &input, param};
    ls_trainer_options o = ls_trainer_defaults();
    run r;

    o.optimizer = optimizer;
    o.state = state;
    OK(ls_trainer_open_gradient(&r.trainer, pool, &g, &o));
    OK(ls_batch_open(&r.batch, r.trainer));
    return r;
}

static void set_both(const run *r, const float *values)
{
    OK(ls_trainer_set(r->trainer, "second.w", FIRST, values));
    OK(ls_trainer_set(r->trainer, "b", SECOND, values + FIRST));
}

static void get_both(const run *r, float *values)
{
    OK(ls_trainer_get(r->trainer, "second.w", FIRST, values));
    OK(ls_trainer_get(r->trainer, "b", SECOND, values + FIRST));
}

/* 1 / (1 - b^n) */
static float correction(double b, int n)
{
    return 1.0f / (1.0f - (float)pow((double)(float)b, n));
}

/* optax's rules on one number: the fused column of a jitted step. */
static float direction(const ls_optimizer *o, int n, float g, float p,
                       float *m, float *v, float *top)
{
    float decay = (float)o->momentum, u;

    switch (o->kind) {
    case LS_SGD: return g;
    case LS_MOMENTUM: return *m = fmaf(decay, *m, g);
    case LS_NESTEROV:
        *m = fmaf(decay, *m, g);
        return fmaf(decay, *m, g);
    case LS_RMSPROP:
        *m = fmaf((float)(1 - o->decay), g * g, (float)o->decay * *m);
        return 1 / sqrtf(*m + (float)o->eps) * g;
    case LS_ADAGRAD:
        *m = fmaf(g, g, *m);
        return *m == 0 ? 0 : 1 / sqrtf(*m + (float)o->eps) * g;
    case LS_LION:
        u = fmaf((float)(1 - o->b1), g, (float)o->b1 * *m);
        *m = fmaf((float)(1 - o->b2), g, (float)o->b2 * *m);
        return fmaf((float)o->weight_decay, p, (float)((u > 0) - (u < 0)));
    default: break;
    }
    *m = fmaf((float)(1 - o->b1), g, (float)o->b1 * *m);
    *v = fmaf((float)(1 - o->b2), g * g, (float)o->b2 * *v);
    u = *v * correction(o->b2, n);
    *top = fmaxf(*top, u);
    u = *m * correction(o->b1, n) /
        (sqrtf(o->kind == LS_AMSGRAD ? *top : u) + (float)o->eps);
    return o->kind != LS_ADAMW ? u : fmaf((float)o->weight_decay, p, u);
}

static ls_optimizer with_decay(double lr, double decay)
{
    ls_optimizer o = ls_adamw(lr);

    o.weight_decay = decay;
    o.b1 = 0.95;
    o.b2 = 0.99;
    o.eps = 1e-6;
    return o;
}

static ls_optimizer with_l2(ls_optimizer o, double l2)
{
    o.l2 = l2;
    return o;
}

/* Train by the script and by the formula; compare each update's bits. */
static void check_rule(ls_optimizer o, int devices, ls_state state)
{
    float *grads = normals(5, UPDATES * BOTH), *p = normals(6, BOTH);
    float *x = normals(7, devices), m[BOTH] = {0}, v[BOTH] = {0}, got[BOTH];
    float top[BOTH] = {0};
    script s = {grads};
    ls_pool *pool = open_pool(devices, devices < 3 ? devices : 3);
    run r = open_script(pool, &s, o, state);

    set_both(&r, p);
    OK(ls_batch_set(r.batch, "x", LS_F32, x, devices));
    for (int i = 0; i < BOTH && o.kind == LS_ADAGRAD; i++)
        m[i] = (float)o.initial_accumulator;
    for (int n = 1; n <= UPDATES; n++) {
        step(&r);
        for (int i = 0; i < BOTH; i++) {
            float g = fmaf((float)o.l2, p[i], grads[(n - 1) * BOTH + i]);

            p[i] = fmaf((float)-o.lr, direction(&o, n, g, p[i], &m[i], &v[i],
                                             &top[i]),
                        p[i]);
        }
        get_both(&r, got);
        ck_assert_mem_eq(got, p, sizeof got);
    }
    close_run(&r);
    ls_pool_close(pool);
    free(grads);
    free(x);
    free(p);
}

/* Proves that each rule gives optax's bits for given gradients over 20
 * updates, on one device and on four, replicated and sharded. */
START_TEST(rules_bit_for_bit)
{
    const ls_optimizer all[] = {
        ls_sgd(0.1), ls_momentum(0.03, 0.9), ls_nesterov(0.03, 0.9),
        ls_adam(1e-3), ls_adamw(3e-4), with_decay(1e-2, 0.1),
        ls_rmsprop(1e-3), ls_adagrad(0.1), ls_lion(1e-3), ls_amsgrad(1e-2),
        with_l2(ls_sgd(0.1), 0.01), with_l2(ls_adam(1e-3), 0.1)};

    check_rule(all[_i], 1, LS_REPLICATE);
    check_rule(all[_i], 4, LS_REPLICATE);
    check_rule(all[_i], 4, LS_SHARD);
}
END_TEST

/* Proves that adamw walks three steps as optax took them: lr 3e-4, p = 1, g =
 * 0.5, -0.25, 0.125. */
START_TEST(adamw_trace)
{
    static const float g[] = {0.5f, -0.25f, 0.125f};
    static const float want[] = {0x1.ffd8acp-1f, 0x1.ffce32p-1f,
                                 0x1.ffc0cep-1f};
    float grads[3 * BOTH], p[BOTH], x = 0;
    script s = {grads};
    ls_pool *pool = open_pool(1, 1);
    run r = open_script(pool, &s, ls_adamw(3e-4), LS_REPLICATE);

    for (int i = 0; i < 3 * BOTH; i++)
        grads[i] = g[i / BOTH];
    for (int i = 0; i < BOTH; i++)
        p[i] = 1;
    set_both(&r, p);
    OK(ls_batch_set(r.batch, "x", LS_F32, &x, 1));
    for (int n = 0; n < 3; n++) {
        step(&r);
        get_both(&r, p);
        for (int i = 0; i < BOTH; i++)
            ck_assert_mem_eq(&p[i], &want[n], sizeof want[n]);
    }
    close_run(&r);
    ls_pool_close(pool);
}
END_TEST

/* Proves that the bias corrections are JAX's: 1 - b^n of vectors.json. */
START_TEST(bias_corrections)
{
    static const struct {
        int n;
        float c1, c2; /* of b1 0.9 and b2 0.999 */
    } want[] = {
        {1, 0x1.9999ap-4f, 0x1.0624p-10f},
        {2, 0x1.851ecp-3f, 0x1.0602p-9f},
        {10, 0x1.4d7a08p-1f, 0x1.46348p-7f},
    };
    ls_optimizer o = ls_adam(1e-3);

    for (size_t i = 0; i < COUNT(want); i++) {
        ls__rule rule = ls__optim_rule(&o, (float)o.lr, want[i].n);
        float r1 = 1.0f / want[i].c1, r2 = 1.0f / want[i].c2;

        ck_assert_mem_eq(&rule.r1, &r1, sizeof r1);
        ck_assert_mem_eq(&rule.r2, &r2, sizeof r2);
    }
}
END_TEST

static Suite *rules_suite(void)
{
    Suite *suite = suite_create("rules");
    TCase *all = tcase_create("all");

    tcase_add_loop_test(all, rules_bit_for_bit, 0, 12);
    tcase_add_test(all, adamw_trace);
    tcase_add_test(all, bias_corrections);
    tcase_set_timeout(all, 60);
    suite_add_tcase(suite, all);
    return suite;
}

int main(void)
{
    return run_suite(rules_suite());
}
