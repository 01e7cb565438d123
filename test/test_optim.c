/* The rows of optimizers and schedules: names, options and their bounds as
 * programs see them, and kernels on every level. */
#include "kernel/kernel.h"
#include "support.h"
#include "train/optim.h"

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
    ck_assert(!ls_optimizer_option(LS_SGD, 0, &option));
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
    ck_assert_int_eq(told, 3);
    ck_assert_str_eq(ls_schedule_name(LS_PIECEWISE), "piecewise");
    ck_assert_ptr_null(ls_schedule_name((ls_schedule_kind)-1));
    ck_assert(!ls_schedule_option((ls_schedule_kind)-1, 0, &x));
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
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return run_suite(suite());
}
