/* SPDX-License-Identifier: BSD-3-Clause */
/* Optimizers: what a trainer makes of given gradients, bit for bit, and the
 * bias corrections. */
#include "models.h"
#include "rules/optim.h"

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

    o.optimizer = optimizer;
    o.state = state;
    return open_gradient(pool, &g, &o);
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

/* Train by the script and by the kernels; compare each update's bits. */
static void check_rule(ls_optimizer o, int devices, ls_state state)
{
    float *grads = normals(5, UPDATES * BOTH), *p = normals(6, BOTH);
    float *x = normals(7, devices), m[3 * BOTH], got[BOTH];
    script s = {grads};
    ls_pool *pool = open_pool(devices, devices < 3 ? devices : 3);
    run r = open_script(pool, &s, o, state);

    set_both(&r, p);
    OK(ls_batch_set(r.batch, "x", LS_F32, x, devices));
    for (int i = 0; i < 3 * BOTH; i++)
        m[i] = ls__optim_start(&o);
    for (int n = 1; n <= UPDATES; n++) {
        ls__rule rule = ls__optim_rule(&o, (float)o.lr, n);
        float g[BOTH];

        memcpy(g, grads + (n - 1) * BOTH, sizeof g);
        step(&r);
        ls__optim_update(o.kind, &rule, BOTH, g, p,
                         (float *[]){m, m + BOTH, m + 2 * BOTH}, 0);
        get_both(&r, got);
        ck_assert_mem_eq(got, p, sizeof got);
    }
    close_run(&r);
    ls_pool_close(pool);
    free(grads);
    free(x);
    free(p);
}

/* Proves that a trainer gives the bits of each rule, which golden/rules.txt
 * has, for given gradients over 20 updates, on one device and on four,
 * replicated and sharded, with l2 where the rule has it. */
LOOP_TEST(rules_bit_for_bit, 0, optimizer_kinds())
{
    ls_optimizer o = ls_optimizer_defaults((ls_optimizer_kind)_i, 0.01);

    check_rule(o, 1, LS_REPLICATE);
    ls_optimizer_set(&o, "l2", 0.1);
    check_rule(o, 4, LS_REPLICATE);
    check_rule(o, 4, LS_SHARD);
}

/* Proves that the bias corrections are JAX's: 1 - b^n of vectors.json. */
TEST(bias_corrections)
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

MAIN()
