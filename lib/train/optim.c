/* The optimizers' constructors, their table, and their scalars. */
#include "train/optim.h"
#include "base/error.h"
#include "random/scalar.h"

ls_optimizer ls_sgd(double lr)
{
    return (ls_optimizer){.kind = LS_SGD, .lr = lr};
}

ls_optimizer ls_momentum(double lr, double momentum)
{
    return (ls_optimizer){.kind = LS_MOMENTUM, .lr = lr, .momentum = momentum};
}

ls_optimizer ls_nesterov(double lr, double momentum)
{
    return (ls_optimizer){.kind = LS_NESTEROV, .lr = lr, .momentum = momentum};
}

ls_optimizer ls_adam(double lr)
{
    return (ls_optimizer){.kind = LS_ADAM, .lr = lr, .b1 = 0.9, .b2 = 0.999,
                          .eps = 1e-8};
}

ls_optimizer ls_adamw(double lr)
{
    ls_optimizer o = ls_adam(lr);

    o.kind = LS_ADAMW;
    o.weight_decay = 1e-4;
    return o;
}

static const struct {
    const char *name;
    const char *moment[2];
} rules[] = {
    [LS_SGD] = {"sgd", {NULL, NULL}},
    [LS_MOMENTUM] = {"momentum", {"trace", NULL}},
    [LS_NESTEROV] = {"nesterov", {"trace", NULL}},
    [LS_ADAM] = {"adam", {"mu", "nu"}},
    [LS_ADAMW] = {"adamw", {"mu", "nu"}},
};

const char *ls__optim_name(ls_optimizer_kind kind)
{
    return rules[kind].name;
}

int ls__optim_moments(ls_optimizer_kind kind)
{
    return !!rules[kind].moment[0] + !!rules[kind].moment[1];
}

const char *ls__optim_moment_name(ls_optimizer_kind kind, int i)
{
    return rules[kind].moment[i];
}

int ls__optim_check(const ls_optimizer *o)
{
    const struct {
        const char *name;
        double value, least, below;
    } wants[] = {
        {"learning rate", o->lr, 0, __builtin_inf()},
        {"momentum", o->momentum, 0, __builtin_inf()},
        {"b1", o->b1, 0, 1},
        {"b2", o->b2, 0, 1},
        {"eps", o->eps, 0, __builtin_inf()},
        {"weight decay", o->weight_decay, 0, __builtin_inf()},
    };

    if ((int)o->kind < LS_SGD || o->kind > LS_ADAMW)
        return ls__fail(LS_EINVAL, "optimizer kind %d is unknown",
                        (int)o->kind);
    for (size_t i = 0; i < sizeof wants / sizeof *wants; i++)
        if (!(wants[i].value >= wants[i].least &&
              wants[i].value < wants[i].below))
            return ls__fail(LS_EINVAL, "%s: %s is %g; it must be at least %g "
                            "and below %g", rules[o->kind].name,
                            wants[i].name, wants[i].value, wants[i].least,
                            wants[i].below);
    return 0;
}

/* 1 / (1 - b^n) */
static float correction(float b, int64_t n)
{
    return 1.0f / (1.0f - ls__pow_n(b, n));
}

ls__rule ls__optim_rule(const ls_optimizer *o, float lr, int64_t n)
{
    ls__rule r = {.neg_lr = -lr, .momentum = (float)o->momentum,
                  .b1 = (float)o->b1, .b2 = (float)o->b2,
                  .one_minus_b1 = (float)(1 - o->b1),
                  .one_minus_b2 = (float)(1 - o->b2), .eps = (float)o->eps,
                  .weight_decay = (float)o->weight_decay};

    if (ls__optim_moments(o->kind) == 2) {
        r.r1 = correction(r.b1, n);
        r.r2 = correction(r.b2, n);
    }
    return r;
}

void ls__optim_update(ls_optimizer_kind kind, const ls__rule *rule, int64_t n,
                      const float *g, float *p, float *const moment[2],
                      int64_t offset)
{
    const ls__kernel_table *k = ls__kernels();
    float *a = moment[0] ? moment[0] + offset : NULL;
    float *b = moment[1] ? moment[1] + offset : NULL;

    switch (kind) {
    case LS_SGD: k->sgd(rule, n, g, p); break;
    case LS_MOMENTUM: k->momentum(rule, n, g, p, a); break;
    case LS_NESTEROV: k->nesterov(rule, n, g, p, a); break;
    case LS_ADAM: k->adam(rule, n, g, p, a, b); break;
    case LS_ADAMW: k->adamw(rule, n, g, p, a, b); break;
    }
}
