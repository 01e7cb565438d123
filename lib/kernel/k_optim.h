/* SPDX-License-Identifier: BSD-3-Clause */
/* One optimizer update of n parameters: optax's rules with the roundings of
 * a jitted step (fused multiply-adds where XLA contracts). */
#ifndef LS_KERNEL_K_OPTIM_H
#define LS_KERNEL_K_OPTIM_H

#include "kernel/k_simd.h"
#include "kernel/kernel.h"

/* An option x of the rule in all lanes, and 1 - x, rounded once. */
SIMD v16 option(double x)
{
    return v16_set((float)x);
}

SIMD v16 complement(double x)
{
    return v16_set((float)(1 - x));
}

/* The weight decay of this update. */
SIMD v16 pull(const ls__rule *r)
{
    return v16_set((float)r->of->weight_decay * r->decay);
}

static void sgd(const ls__rule *r, int64_t n, const float *g, float *p,
                float *const moment[3])
{
    (void)moment;
    v16 lr = v16_set(r->neg_lr);

    for (int64_t i = 0; i < n; i += 16)
        put(p + i, v16_fma(lr, take(g + i, n - i), take(p + i, n - i)), n - i);
}

/* t = d t + g; p -= lr t, or for nesterov p -= lr (d t + g). */
SIMD void with_trace(const ls__rule *r, int64_t n, const float *g, float *p,
                     float *moment, bool ahead)
{
    v16 lr = v16_set(r->neg_lr), decay = option(r->of->momentum);

    for (int64_t i = 0; i < n; i += 16) {
        v16 d = take(g + i, n - i);
        v16 t = v16_fma(decay, take(moment + i, n - i), d);
        v16 u = ahead ? v16_fma(decay, t, d) : t;

        put(moment + i, t, n - i);
        put(p + i, v16_fma(lr, u, take(p + i, n - i)), n - i);
    }
}

static void momentum(const ls__rule *r, int64_t n, const float *g, float *p,
                     float *const moment[3])
{
    with_trace(r, n, g, p, moment[0], false);
}

static void nesterov(const ls__rule *r, int64_t n, const float *g, float *p,
                     float *const moment[3])
{
    with_trace(r, n, g, p, moment[0], true);
}

/* greatest: by the greatest second moment there was, corrected as it came. */
SIMD void adaptive(const ls__rule *r, int64_t n, const float *g, float *p,
                   float *const moment[3], bool decay, bool greatest)
{
    float *mu = moment[0], *nu = moment[1], *most = moment[2];
    v16 lr = v16_set(r->neg_lr), eps = option(r->of->eps);
    v16 b1 = option(r->of->b1), c1 = complement(r->of->b1);
    v16 b2 = option(r->of->b2), c2 = complement(r->of->b2);
    v16 r1 = v16_set(r->r1), r2 = v16_set(r->r2);
    v16 wd = pull(r);

    for (int64_t i = 0; i < n; i += 16) {
        v16 d = take_on(g + i, n - i), q = take_on(p + i, n - i), u;
        v16 m = v16_fma(c1, d, v16_mul(b1, take_on(mu + i, n - i)));
        v16 v = v16_fma(c2, v16_mul(d, d), v16_mul(b2, take_on(nu + i, n - i)));
        v16 top = v16_mul(v, r2);

        put(mu + i, m, n - i);
        put(nu + i, v, n - i);
        if (greatest) {
            top = v16_max(take(most + i, n - i), top);
            put(most + i, top, n - i);
        }
        u = v16_div(v16_mul(m, r1), v16_add(v16_sqrt(top), eps));
        if (decay)
            u = v16_fma(wd, q, u);
        put(p + i, v16_fma(lr, u, q), n - i);
    }
}

static void adam(const ls__rule *r, int64_t n, const float *g, float *p,
                 float *const moment[3])
{
    adaptive(r, n, g, p, moment, false, false);
}

static void adamw(const ls__rule *r, int64_t n, const float *g, float *p,
                  float *const moment[3])
{
    adaptive(r, n, g, p, moment, true, false);
}

static void amsgrad(const ls__rule *r, int64_t n, const float *g, float *p,
                    float *const moment[3])
{
    adaptive(r, n, g, p, moment, false, true);
}

/* adam with b1 m / (1-b1^(n+1)) + c1 g / (1-b1^n) for its corrected m, where
 * c1 = 1 - b1 and 1-b1^(n+1) = c1 + b1 (1-b1^n). */
static void nadam(const ls__rule *r, int64_t n, const float *g, float *p,
                  float *const moment[3])
{
    float *mu = moment[0], *nu = moment[1];
    v16 lr = v16_set(r->neg_lr), eps = option(r->of->eps), one = v16_set(1);
    v16 b1 = option(r->of->b1), c1 = complement(r->of->b1);
    v16 b2 = option(r->of->b2), c2 = complement(r->of->b2);
    v16 r1 = v16_set(r->r1), r2 = v16_set(r->r2);
    v16 next = v16_fma(b1, v16_div(one, r1), c1);
    v16 by_m = v16_div(b1, next), by_g = v16_mul(c1, r1);

    for (int64_t i = 0; i < n; i += 16) {
        v16 d = take(g + i, n - i);
        v16 m = v16_fma(c1, d, v16_mul(b1, take(mu + i, n - i)));
        v16 v = v16_fma(c2, v16_mul(d, d), v16_mul(b2, take(nu + i, n - i)));
        v16 u = v16_fma(by_g, d, v16_mul(by_m, m));

        put(mu + i, m, n - i);
        put(nu + i, v, n - i);
        u = v16_div(u, v16_add(v16_sqrt(v16_mul(v, r2)), eps));
        put(p + i, v16_fma(lr, u, take(p + i, n - i)), n - i);
    }
}

/* The root's reciprocal is rounded before it meets the gradient, as in
 * optax. */
static void rmsprop(const ls__rule *r, int64_t n, const float *g, float *p,
                    float *const moment[3])
{
    v16 lr = v16_set(r->neg_lr), eps = option(r->of->eps), one = v16_set(1);
    v16 decay = option(r->of->decay), c = complement(r->of->decay);
    float *nu = moment[0];

    for (int64_t i = 0; i < n; i += 16) {
        v16 d = take(g + i, n - i);
        v16 v = v16_fma(c, v16_mul(d, d), v16_mul(decay, take(nu + i, n - i)));
        v16 u = v16_mul(v16_div(one, v16_sqrt(v16_add(v, eps))), d);

        put(nu + i, v, n - i);
        put(p + i, v16_fma(lr, u, take(p + i, n - i)), n - i);
    }
}

/* No update where the sum of squares is 0, eps or not, as in optax. */
static void adagrad(const ls__rule *r, int64_t n, const float *g, float *p,
                    float *const moment[3])
{
    v16 lr = v16_set(r->neg_lr), eps = option(r->of->eps), one = v16_set(1);
    v16 zero = v16_zero();
    float *sum = moment[0];

    for (int64_t i = 0; i < n; i += 16) {
        v16 d = take(g + i, n - i);
        v16 v = v16_fma(d, d, take(sum + i, n - i));
        v16 u = v16_mul(v16_div(one, v16_sqrt(v16_add(v, eps))), d);

        put(sum + i, v, n - i);
        u = v16_select(v16_eq(v, zero), zero, u);
        put(p + i, v16_fma(lr, u, take(p + i, n - i)), n - i);
    }
}

/* 1, -1 or 0 */
SIMD v16 sign_of(v16 x)
{
    v16 zero = v16_zero(), one = v16_set(1);
    v16 up = v16_select(v16_lt(zero, x), one, zero);

    return v16_select(v16_lt(x, zero), v16_neg(one), up);
}

static void lion(const ls__rule *r, int64_t n, const float *g, float *p,
                 float *const moment[3])
{
    v16 lr = v16_set(r->neg_lr), wd = pull(r);
    v16 b1 = option(r->of->b1), c1 = complement(r->of->b1);
    v16 b2 = option(r->of->b2), c2 = complement(r->of->b2);
    float *mu = moment[0];

    for (int64_t i = 0; i < n; i += 16) {
        v16 d = take(g + i, n - i), m = take(mu + i, n - i);
        v16 q = take(p + i, n - i);
        v16 u = sign_of(v16_fma(c1, d, v16_mul(b1, m)));

        put(mu + i, v16_fma(c2, d, v16_mul(b2, m)), n - i);
        put(p + i, v16_fma(lr, v16_fma(wd, q, u), q), n - i);
    }
}

/* g = g + l2 p */
static void regularise(int64_t n, float l2, const float *p, float *g)
{
    v16 by = v16_set(l2);

    for (int64_t i = 0; i < n; i += 16)
        put(g + i, v16_fma(by, take(p + i, n - i), take(g + i, n - i)), n - i);
}

/* g = min(max(g, -most), most) */
static void clip_value(int64_t n, float most, float *g)
{
    v16 top = v16_set(most), bottom = v16_set(-most);

    for (int64_t i = 0; i < n; i += 16)
        put(g + i, v16_min(v16_max(take(g + i, n - i), bottom), top), n - i);
}

/* e = d e + (1 - d) p: optax.incremental_update by 1 - d. */
static void average(int64_t n, double decay, const float *p, float *e)
{
    v16 d = option(decay), c = complement(decay);

    for (int64_t i = 0; i < n; i += 16)
        put(e + i,
            v16_fma(c, take(p + i, n - i), v16_mul(d, take(e + i, n - i))),
            n - i);
}

#define LS__UPDATES \
    {[LS_SGD] = sgd, [LS_MOMENTUM] = momentum, [LS_NESTEROV] = nesterov, \
     [LS_ADAM] = adam, [LS_ADAMW] = adamw, [LS_RMSPROP] = rmsprop, \
     [LS_ADAGRAD] = adagrad, [LS_LION] = lion, [LS_AMSGRAD] = amsgrad, \
     [LS_NADAM] = nadam}

#endif
