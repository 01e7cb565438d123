/* SPDX-License-Identifier: BSD-3-Clause */
/* The optimizers: a row each, the functions that make one, and the scalars of
 * an update.  The kernels are in kernel/k_optim.h, by kind as the rows are. */
#include "rules/optim.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/scalar.h"

/* ------ The table ------ */

#define AT(member) offsetof(ls_optimizer, member)
#define INFINITE __builtin_inf()
#define SHARE LS__REAL, 0, 1, "a number from 0 to below 1"
#define AMOUNT LS__REAL, 0, INFINITE, "a finite number from 0 up"

/* clang-format off */
static const ls__option
    momentum = {"momentum", AT(momentum), SHARE, "decay of the trace"},
    b1 = {"b1", AT(b1), SHARE, "decay of the first moment"},
    b2 = {"b2", AT(b2), SHARE, "decay of the second moment"},
    eps = {"eps", AT(eps), AMOUNT, "keeps the divisor from 0"},
    weight_decay = {"weight_decay", AT(weight_decay), AMOUNT,
                    "pulls every parameter towards 0"},
    decay = {"decay", AT(decay), SHARE, "decay of the mean of squares"},
    l2 = {"l2", AT(l2), LS__QUIET, 0, INFINITE, "a finite number from 0 up",
          "this much of each parameter in its gradient"},
    lazy = {"lazy", AT(lazy), LS__FLAG, 0, 2, "0 or 1",
            "1: rows of tables without a gradient stand still"},
    initial = {"initial_accumulator", AT(initial_accumulator), AMOUNT,
               "where the sum of squares begins"};

static const struct row {
    ls__choice is;
    const char *moment[3];
} table[] = {
    [LS_SGD] = {{"optimizer", "sgd", {{&l2, 0}}}, {NULL}},
    [LS_MOMENTUM] = {{"optimizer", "momentum", {{&momentum, 0.9}, {&l2, 0}}},
                     {"trace"}},
    [LS_NESTEROV] = {{"optimizer", "nesterov", {{&momentum, 0.9}, {&l2, 0}}},
                     {"trace"}},
    [LS_ADAM] = {{"optimizer", "adam",
                  {{&b1, 0.9}, {&b2, 0.999}, {&eps, 1e-8}, {&l2, 0},
                   {&lazy, 0}}},
                 {"mu", "nu"}},
    [LS_ADAMW] = {{"optimizer", "adamw",
                   {{&b1, 0.9}, {&b2, 0.999}, {&eps, 1e-8},
                    {&weight_decay, 1e-4}}}, {"mu", "nu"}},
    [LS_RMSPROP] = {{"optimizer", "rmsprop",
                     {{&decay, 0.9}, {&eps, 1e-8}, {&l2, 0}}}, {"nu"}},
    [LS_ADAGRAD] = {{"optimizer", "adagrad",
                     {{&initial, 0.1}, {&eps, 1e-7}, {&l2, 0}}},
                    {"sum_of_squares"}},
    [LS_LION] = {{"optimizer", "lion",
                  {{&b1, 0.9}, {&b2, 0.99}, {&weight_decay, 1e-3}}}, {"mu"}},
    [LS_AMSGRAD] = {{"optimizer", "amsgrad",
                     {{&b1, 0.9}, {&b2, 0.999}, {&eps, 1e-8}, {&l2, 0}}},
                    {"mu", "nu", "nu_max"}},
    [LS_NADAM] = {{"optimizer", "nadam",
                   {{&b1, 0.9}, {&b2, 0.999}, {&eps, 1e-8}, {&l2, 0}}},
                  {"mu", "nu"}},
};
/* clang-format on */

enum { ROWS = sizeof table / sizeof *table };

_Static_assert((int)ROWS <= (int)LS__OPTIMIZERS, "kernel.h has room for each");

const ls__choice *ls__optim_choice(ls_optimizer_kind kind)
{
    int i = (int)kind;

    return i >= 0 && i < ROWS ? &table[i].is : NULL;
}

int ls__optim_moments(ls_optimizer_kind kind)
{
    const char *const *moment = table[kind].moment;

    LS__ASSERT((int)kind >= 0 && (int)kind < ROWS);
    LS__ASSERT((moment[0] || !moment[1]) && (moment[1] || !moment[2]));
    return !!moment[0] + !!moment[1] + !!moment[2];
}

const char *ls__optim_moment_name(ls_optimizer_kind kind, int i)
{
    return table[kind].moment[i];
}

const char *ls_optimizer_name(ls_optimizer_kind kind)
{
    const ls__choice *c = ls__optim_choice(kind);

    return c ? c->name : NULL;
}

bool ls_optimizer_option_bytes(ls_optimizer_kind kind, int i, ls_option *option,
                               size_t size)
{
    LS__NEED_OR(option, false);
    return ls__choice_tell(ls__optim_choice(kind), i, option, size);
}

/* ------ Making one ------ */

ls_optimizer ls_optimizer_defaults(ls_optimizer_kind kind, double lr)
{
    ls_optimizer o = {.kind = kind, .lr = lr};
    const ls__choice *c = ls__optim_choice(kind);

    if (c)
        ls__choice_start(c, &o);
    return o;
}

#define OPTIMIZER(function, kind) \
    ls_optimizer function(double lr) \
    { \
        return ls_optimizer_defaults(kind, lr); \
    }

OPTIMIZER(ls_sgd, LS_SGD)
OPTIMIZER(ls_adam, LS_ADAM)
OPTIMIZER(ls_adamw, LS_ADAMW)
OPTIMIZER(ls_rmsprop, LS_RMSPROP)
OPTIMIZER(ls_adagrad, LS_ADAGRAD)
OPTIMIZER(ls_lion, LS_LION)
OPTIMIZER(ls_amsgrad, LS_AMSGRAD)
OPTIMIZER(ls_nadam, LS_NADAM)

static ls_optimizer of_trace(ls_optimizer_kind kind, double lr, double trace)
{
    ls_optimizer o = ls_optimizer_defaults(kind, lr);

    o.momentum = trace;
    return o;
}

ls_optimizer ls_momentum(double lr, double trace)
{
    return of_trace(LS_MOMENTUM, lr, trace);
}

ls_optimizer ls_nesterov(double lr, double trace)
{
    return of_trace(LS_NESTEROV, lr, trace);
}

static int unknown(int kind)
{
    return ls__fail(LS_EINVAL, "optimizer kind %d is unknown", kind);
}

int ls_optimizer_set(ls_optimizer *o, const char *option, double value)
{
    LS__NEED_AS(o, "optimizer", LS_EINVAL);
    LS__NEED(option);

    const ls__choice *c = ls__optim_choice(o->kind);

    return c ? ls__choice_set(c, o, option, value) : unknown((int)o->kind);
}

int ls__optim_check(const ls_optimizer *o)
{
    const ls__choice *c = ls__optim_choice(o->kind);

    if (!c)
        return unknown((int)o->kind);
    if (!ls__is_rate(o->lr))
        return ls__fail(LS_EINVAL, "optimizer %s: the learning rate is %g; it "
                        "must be a finite number from 0 up", c->name, o->lr);
    return ls__choice_check(c, o);
}

/* ------ An update ------ */

/* 1 / (1 - b^n); a rule without such a moment has b = 0 and no need to wait for
 * the power. */
static float correction(float b, int64_t n)
{
    return b > 0 ? 1.0f / (1.0f - ls__pow_n(b, n)) : 1.0f;
}

ls__rule ls__optim_rule(const ls_optimizer *o, float lr, int64_t n)
{
    LS__ASSERT(n >= 1);
    return (ls__rule){.of = o, .neg_lr = -lr,
                      .r1 = correction((float)o->b1, n),
                      .r2 = correction((float)o->b2, n),
                      .decay = 1};
}

float ls__optim_start(const ls_optimizer *o)
{
    return o->kind == LS_ADAGRAD ? (float)o->initial_accumulator : 0;
}

void ls__optim_update(ls_optimizer_kind kind, const ls__rule *rule, int64_t n,
                      float *g, float *p, float *const moment[3],
                      int64_t offset)
{
    float *at[3] = {NULL};

    LS__ASSERT(rule->of->kind == kind && n >= 0 && offset >= 0);
    for (int i = 0; i < ls__optim_moments(kind); i++)
        at[i] = moment[i] + offset;

    if (rule->of->l2 > 0)
        ls__kernels()->regularise(n, (float)rule->of->l2 * rule->decay, p, g);
    ls__kernels()->update[kind](rule, n, g, p, at);
}
