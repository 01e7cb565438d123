/* SPDX-License-Identifier: BSD-3-Clause */
/* Early stopping and lower rates on plateaus: the decisions of Flax and optax,
 * those made again after a copy, and values that are no numbers. */
#include "calls.h"
#include "golden/watched.h"

#include <math.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static ls_plateau plateau_case(size_t i)
{
    ls_plateau p = ls_plateau_defaults();

    p.patience = (int64_t[]){3, 2, 1}[i];
    p.factor = i ? 0.5 : p.factor;
    p.rtol = i == 1 ? 0.01 : p.rtol;
    p.cooldown = i == 1 ? 2 : 0;
    p.atol = i == 2 ? 0.02 : 0;
    p.min_scale = i == 2 ? 0.1 : 0;
    return p;
}

/* optax.contrib.reduce_on_plateau, whose numbers are floats. */
TEST(plateaus)
{
    for (size_t i = 0; i < COUNT(control_scale); i++) {
        ls_plateau p = plateau_case(i);

        for (size_t k = 0; k < COUNT(control_loss); k++)
            ck_assert_double_eq_tol(ls_plateau_take(&p, control_loss[k]) /
                                        control_scale[i][k], 1, 1e-6);
        ck_assert(control_scale[i][COUNT(control_loss) - 1] < 1);
    }
}

/* flax.training.early_stopping.EarlyStopping, which goes on saying so. */
TEST(stops)
{
    for (size_t i = 0; i < COUNT(control_stop); i++) {
        ls_early_stop s = {.patience = i ? 4 : 2, .min_delta = i ? 0.05 : 0};
        bool stop = false;

        for (size_t k = 0; k < COUNT(control_loss); k++) {
            stop = ls_early_stop_take(&s, control_loss[k]) || stop;
            ck_assert_int_eq(stop, control_stop[i][k]);
        }
        ck_assert(stop);
    }
}

/* What rises is what falls, negated, where nothing is relative. */
TEST(rising)
{
    ls_early_stop down = {.patience = 3}, up = {.patience = 3, .rising = true};
    ls_plateau low = plateau_case(2), high = plateau_case(2);

    low.rtol = high.rtol = 0;
    high.rising = true;
    for (size_t k = 0; k < COUNT(control_loss); k++) {
        double x = control_loss[k];

        ck_assert_int_eq(ls_early_stop_take(&down, x),
                         ls_early_stop_take(&up, -x));
        ck_assert_int_eq(down.since, up.since);
        ck_assert(down.best == -up.best);
        ck_assert(ls_plateau_take(&low, x) == ls_plateau_take(&high, -x));
    }
}

/* A copy goes on as the value it was made of. */
TEST(copies)
{
    ls_early_stop a = {.patience = 2, .min_delta = 0.01}, b;
    ls_plateau c = plateau_case(1), d;

    for (size_t k = 0; k < COUNT(control_loss) / 2; k++) {
        ls_early_stop_take(&a, control_loss[k]);
        ls_plateau_take(&c, control_loss[k]);
    }
    b = a;
    d = c;
    for (size_t k = COUNT(control_loss) / 2; k < COUNT(control_loss); k++) {
        double x = control_loss[k];

        ck_assert_int_eq(ls_early_stop_take(&a, x), ls_early_stop_take(&b, x));
        ck_assert(ls_plateau_take(&c, x) == ls_plateau_take(&d, x));
    }
    ck_assert_mem_eq(&a, &b, sizeof a);
    ck_assert_mem_eq(&c, &d, sizeof c);
}

/* NaN is not better, not even where it comes first; without patience nothing
 * ends; and nothing is done about NULL. */
TEST(no_numbers)
{
    ls_early_stop s = {.patience = 3}, never = {0};
    ls_plateau p = ls_plateau_defaults();

    ck_assert(!ls_early_stop_take(&s, (double)NAN) && s.since == 1);
    ck_assert(!ls_early_stop_take(&s, 5) && s.since == 0 && s.best == 5);
    ck_assert(!ls_early_stop_take(&s, (double)NAN) && s.since == 1);
    ck_assert(!ls_early_stop_take(&s, 5) && s.since == 2);
    ck_assert(ls_early_stop_take(&s, 6) && s.best == 5 && s.values == 5);
    for (int i = 0; i < 100; i++)
        ck_assert(!ls_early_stop_take(&never, i));
    p.patience = 1;
    ck_assert(ls_plateau_take(&p, (double)NAN) == 0.1);
    ck_assert(ls_plateau_take(&p, 1) == 0.1 && p.best == 1);
    p.patience = 0;
    ck_assert(ls_plateau_take(&p, 2) == 0.1);
    ck_assert(!ls_early_stop_take(NULL, 1));
    ck_assert(ls_plateau_take(NULL, 1) == 1);
}

MAIN()
