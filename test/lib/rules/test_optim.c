/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of optimizers and schedules: names, options and their bounds as
 * programs see them, and kernels on every level. */
#include "golden/rmsprop.h"
#include "golden/rules.h"
#include "kernel/kernel.h"
#include "support.h"
#include "rules/optim.h"

/* How many optimizers there are. */
static int kinds(void)
{
    int n = 0;

    while (ls_optimizer_name((ls_optimizer_kind)n))
        n++;
    return n;
}

/* Proves that each optimizer has a name of its own, a kernel on each level this
 * CPU has, and defaults within their ranges; and that a number that is none has
 * nothing. */
START_TEST(test_optimizers)
{
    ls_option option;

    for (int kind = 0; kind < kinds(); kind++) {
        ls_optimizer o = ls_optimizer_defaults((ls_optimizer_kind)kind, 0.1);

        ck_assert_ptr_nonnull(ls_optimizer_name((ls_optimizer_kind)kind));
        for (int other = 0; other < kind; other++)
            ck_assert_str_ne(ls_optimizer_name((ls_optimizer_kind)other),
                             ls_optimizer_name((ls_optimizer_kind)kind));
        ck_assert(o.kind == (ls_optimizer_kind)kind && o.lr == 0.1);
        OK(ls__optim_check(&o));
        for (int i = 0; ls__kernels_level(i); i++)
            ck_assert(ls__kernels_level(i)->update[kind]);
    }
    ck_assert_ptr_null(ls_optimizer_name((ls_optimizer_kind)kinds()));
    ck_assert_ptr_null(ls_optimizer_name((ls_optimizer_kind)-1));
    ck_assert(!ls_optimizer_option((ls_optimizer_kind)-1, 0, &option));
    ck_assert(ls_optimizer_option(LS_SGD, 0, &option));
    ck_assert_str_eq(option.name, "l2");
    ck_assert(!ls_optimizer_option(LS_SGD, 1, &option));
}
END_TEST

/* Proves that what is told of an option holds: its default is in the struct,
 * the ends of its range are taken or refused, and the name sets the member. */
START_TEST(test_options)
{
    for (int kind = 0; kind < kinds(); kind++) {
        ls_option x;

        for (int i = 0; ls_optimizer_option((ls_optimizer_kind)kind, i, &x);
             i++) {
            ls_optimizer o = ls_optimizer_defaults((ls_optimizer_kind)kind, 1);

            OK(ls_optimizer_set(&o, x.name, x.start));
            OK(ls_optimizer_set(&o, x.name, x.least));
            FAILS(ls_optimizer_set(&o, x.name, x.below), LS_EINVAL, x.range);
            FAILS(ls_optimizer_set(&o, x.name, x.least - 1), LS_EINVAL,
                  x.name);
            FAILS(ls_optimizer_set(&o, x.name, (double)NAN), LS_EINVAL,
                  x.name);
            ck_assert(strlen(x.about) > 5);
        }
    }
}
END_TEST

/* Proves that options go to the members of their names. */
START_TEST(test_set)
{
    ls_optimizer o = ls_adamw(1e-3);
    ls_schedule s = {.kind = LS_EXPONENTIAL};

    OK(ls_optimizer_set(&o, "b2", 0.99));
    OK(ls_optimizer_set(&o, "weight_decay", 0.5));
    ck_assert(o.b1 == 0.9 && o.b2 == 0.99 && o.weight_decay == 0.5);
    FAILS(ls_optimizer_set(&o, "momentum", 0.5), LS_ENOTFOUND,
          "optimizer adamw has no option \"momentum\"");
    OK(ls_schedule_set(&s, "decay_steps", 100));
    OK(ls_schedule_set(&s, "decay_rate", 0.5));
    ck_assert(s.decay_steps == 100 && s.decay_rate == 0.5);
    FAILS(ls_schedule_set(&s, "decay_steps", 1.5), LS_EINVAL,
          "it must be a whole number from 1 up");
    FAILS(ls_schedule_set(&s, "decay_steps", 1e300), LS_EINVAL, "whole");
    FAILS(ls_schedule_set(&s, "decay_rate", 0), LS_EINVAL, "above 0");
    s.kind = LS_COSINE;
    FAILS(ls_schedule_set(&s, "decay_rate", 1), LS_ENOTFOUND, "cosine");
    s.kind = (ls_schedule_kind)77;
    FAILS(ls_schedule_set(&s, "warmup", 1), LS_EINVAL, "kind 77");
    o.kind = (ls_optimizer_kind)77;
    FAILS(ls_optimizer_set(&o, "b1", 0), LS_EINVAL, "kind 77");
}
END_TEST

/* Proves that a schedule's options are told, those without a default too. */
START_TEST(test_schedules)
{
    ls_option x;
    int told = 0;

    for (int kind = 0; ls_schedule_name((ls_schedule_kind)kind); kind++)
        for (int i = 0; ls_schedule_option((ls_schedule_kind)kind, i, &x); i++)
            told += !strcmp(x.name, "decay_steps") && x.whole &&
                    isnan(x.start) && x.least == 1;
    ck_assert_int_eq(told, 10);
    ck_assert_str_eq(ls_schedule_name(LS_PIECEWISE), "piecewise");
    ck_assert_ptr_null(ls_schedule_name((ls_schedule_kind)-1));
    ck_assert(!ls_schedule_option((ls_schedule_kind)-1, 0, &x));
}
END_TEST

/* Apart by no more than this many steps of a float. */
static bool within_ulps(float a, float b, int ulps)
{
    float next = nextafterf(fabsf(a), INFINITY) - fabsf(a);

    return fabsf(a - b) <= (float)ulps * next;
}

/* Proves that rmsprop takes optax's steps, on each level of this CPU: its mean
 * of squares to the bit, parameters but for the last bits of XLA's rsqrt. */
START_TEST(test_rmsprop)
{
    ls_optimizer o = ls_rmsprop(0.01);

    o.decay = rmsprop_want[_i].decay;
    o.eps = rmsprop_want[_i].eps;
    for (int k = 0; ls__kernels_level(k); k++) {
        const char *name = ls__kernels_level(k)->name;
        const ls__kernel_table *level = ls__kernels_by_name(name);
        float p[RMSPROP_SIZE], nu[RMSPROP_SIZE] = {0};
        float *const moment[3] = {nu};
        ls__rule rule = ls__optim_rule(&o, (float)o.lr, 1);

        memcpy(p, rmsprop_start, sizeof p);
        if (!level)
            continue; /* not of this CPU */
        for (int n = 0; n < RMSPROP_UPDATES; n++)
            level->update[LS_RMSPROP](&rule, RMSPROP_SIZE,
                                      rmsprop_grads + n * RMSPROP_SIZE, p,
                                      moment);
        ck_assert_mem_eq(nu, rmsprop_want[_i].nu, sizeof nu);
        for (int i = 0; i < RMSPROP_SIZE; i++)
            ck_assert_msg(within_ulps(rmsprop_want[_i].p[i], p[i], 8),
                          "%a, not %a", (double)p[i],
                          (double)rmsprop_want[_i].p[i]);
    }
}
END_TEST

static ls_optimizer golden_rule(int i)
{
    ls_optimizer o = ls_optimizer_defaults(rules_want[i].kind, 0.01);

    o.momentum = rules_want[i].momentum;
    o.b1 = rules_want[i].b1;
    o.b2 = rules_want[i].b2;
    o.decay = rules_want[i].decay;
    o.weight_decay = rules_want[i].weight_decay;
    o.eps = rules_want[i].eps;
    o.initial_accumulator = rules_want[i].initial_accumulator;
    o.l2 = rules_want[i].l2;
    return o;
}

/* Proves that adagrad, lion and l2 take optax's steps: moments to the bit, and
 * parameters but for the last bits of what XLA approximates. */
START_TEST(test_golden_rules)
{
    ls_optimizer o = golden_rule(_i);
    float p[RULES_SIZE], one[RULES_SIZE], two[RULES_SIZE] = {0};
    float *const moment[3] = {one, two};

    for (int i = 0; i < RULES_SIZE; i++)
        one[i] = ls__optim_start(&o);
    memcpy(p, rules_start, sizeof p);
    OK(ls__optim_check(&o));
    for (int n = 0; n < RULES_UPDATES; n++) {
        ls__rule rule = ls__optim_rule(&o, (float)o.lr, n + 1);
        float g[RULES_SIZE];

        memcpy(g, rules_grads + n * RULES_SIZE, sizeof g);
        ls__optim_update(o.kind, &rule, RULES_SIZE, g, p, moment, 0);
    }
    for (int i = 0; i < RULES_SIZE; i++) {
        ck_assert_msg(within_ulps(rules_want[_i].p[i], p[i],
                                  rules_want[_i].ulps),
                      "parameter %d: %a, not %a", i, (double)p[i],
                      (double)rules_want[_i].p[i]);
        ck_assert_msg(!ls__optim_moments(o.kind) ||
                          within_ulps(rules_want[_i].moment[i], one[i],
                                      rules_want[_i].ulps),
                      "moment %d: %a, not %a", i, (double)one[i],
                      (double)rules_want[_i].moment[i]);
    }
}
END_TEST

/* Proves that half of a rule's weight decay is that of half its weight decay,
 * and likewise of its l2. */
START_TEST(test_share)
{
    static const ls_optimizer_kind kind[] = {LS_ADAMW, LS_LION, LS_MOMENTUM};
    ls_optimizer o = ls_optimizer_defaults(kind[_i], 0.1), half;
    float at[2][20] = {{0}}, one[20] = {0}, two[20] = {0};
    float *const moment[3] = {one, two};

    o.weight_decay = _i < 2 ? 0.5 : 0;
    o.l2 = _i < 2 ? 0 : 0.5;
    half = o;
    half.weight_decay /= 2;
    half.l2 /= 2;
    for (int k = 0; k < 2; k++) {
        ls__rule rule = ls__optim_rule(k ? &half : &o, 0.1f, 1);
        float g[20];

        for (int i = 0; i < 20; i++) {
            at[k][i] = (float)(i - 7);
            g[i] = (float)(i % 3) - 1;
            one[i] = two[i] = 0;
        }
        rule.decay = k ? 1 : 0.5f;
        ls__optim_update(o.kind, &rule, 20, g, at[k], moment, 0);
    }
    ck_assert_mem_eq(at[0], at[1], sizeof at[0]);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("optim");
    TCase *t = tcase_create("rows");

    tcase_add_test(t, test_optimizers);
    tcase_add_test(t, test_options);
    tcase_add_test(t, test_set);
    tcase_add_test(t, test_schedules);
    tcase_add_loop_test(t, test_share, 0, 3);
    tcase_add_loop_test(t, test_rmsprop, 0,
                        sizeof rmsprop_want / sizeof *rmsprop_want);
    tcase_add_loop_test(t, test_golden_rules, 0,
                        sizeof rules_want / sizeof *rules_want);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return run_suite(suite());
}
