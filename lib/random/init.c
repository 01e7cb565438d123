/* SPDX-License-Identifier: BSD-3-Clause */
/* Initialisers, as JAX has them: draw from a distribution, multiply once by a
 * number of type float.  variance = scale / fan, in double, rounded once. */
#include "random/init.h"

#include "base/assert.h"
#include "base/fpmode.h"
#include "base/memory.h"
#include "base/scalar.h"
#include "random/lane.h"
#include "random/orthogonal.h"

#define VARIANCE(of, by, times) \
    {.kind = LS_INIT_VARIANCE, .distribution = of, .fan = by, .scale = times}

// clang-format off
static const ls_init rows[LS__INITS] = {
    [LS__INIT_ZEROS] = {.kind = LS_INIT_CONSTANT, .scale = 0},
    [LS__INIT_ONES] = {.kind = LS_INIT_CONSTANT, .scale = 1},
    [LS__INIT_SINUSOID] = {.kind = LS_INIT_LAYER},
    [LS__INIT_NORMAL] = VARIANCE(LS_NORMAL, LS_FAN_IN, 1),
    [LS__INIT_LECUN_NORMAL] = VARIANCE(LS_TRUNCATED_NORMAL, LS_FAN_IN, 1),
    [LS__INIT_ORTHOGONAL] = {.kind = LS_INIT_ORTHOGONAL, .scale = 1},
};
// clang-format on

const ls_init *ls__init_of(ls__init kind)
{
    LS__ASSERT((int)kind >= 0 && kind < LS__INITS);
    return &rows[kind];
}

double ls__init_fan(const ls_init *init, double in, double out)
{
    return init->fan == LS_FAN_IN    ? in
           : init->fan == LS_FAN_OUT ? out
                                     : (in + out) / 2;
}

/* Vaswani et al. 2017: out[t,2j] = sin(t f_j), out[t,2j+1] = cos(t f_j) with
 * f_j = 10000^(-2j/D). */
static void fill_sinusoid(int64_t length, int64_t width, float *out)
{
    float c = -(0x1.26bb1cp+3f / (float)width); /* -log(10000) / D */
    for (int64_t j = 0; j < width; j += 2) {
        float f = ls__expf(c * (float)j);
        for (int64_t t = 0; t < length; t++) {
            float a = (float)t * f;
            out[t * width + j] = ls__sinf(a);
            if (j + 1 < width)
                out[t * width + j + 1] = ls__cosf(a);
        }
    }
}

static void fill_constant(int64_t n, float x, float *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = x;
}

/* Multiplied by `scale` itself. */
static void fill_random(const ls_init *init, ls_key key, int64_t n, float *out)
{
    float by = (float)init->scale;

    if (init->distribution == LS_UNIFORM)
        ls_random_uniform(key, 0, n, 0.0f, 1.0f, out);
    else if (init->distribution == LS_NORMAL)
        ls_random_normal(key, 0, n, out);
    else
        ls_random_truncated_normal(key, 0, n, out);
    for (int64_t i = 0; i < n; i++)
        out[i] *= by;
}

/* Multiplied so that the variance is as asked, with JAX's roundings. */
static void fill_variance(ls_distribution d, ls_key key, float variance,
                          int64_t n, float *out)
{
    float by = __builtin_sqrtf(variance);

    if (d == LS_NORMAL) {
        ls_random_normal(key, 0, n, out);
    } else if (d == LS_TRUNCATED_NORMAL) {
        ls_random_truncated_normal(key, 0, n, out);
        by = by / 0x1.c25e4cp-1f; /* the deviation that truncation leaves */
    } else {
        ls_random_uniform(key, 0, n, -1.0f, 1.0f, out);
        by = __builtin_sqrtf(3.0f * variance);
    }
    for (int64_t i = 0; i < n; i++)
        out[i] *= by;
}

int ls__init_values(const ls_init *init, ls_key key, double fan, int rank,
                    const int64_t *shape, float *out)
{
    int64_t n = ls__count(rank, shape);
    ls__fpmode old = ls__fpmode_set();
    int status = 0;

    LS__ASSERT(n >= 0 && init->kind != LS_INIT_OWN);
    if (init->kind == LS_INIT_CONSTANT)
        fill_constant(n, (float)init->scale, out);
    else if (init->kind == LS_INIT_RANDOM)
        fill_random(init, key, n, out);
    else if (init->kind == LS_INIT_VARIANCE)
        fill_variance(init->distribution, key, (float)(init->scale / fan), n,
                      out);
    else if (init->kind == LS_INIT_ORTHOGONAL)
        status = ls__fill_orthogonal(key, n / shape[rank - 1], shape[rank - 1],
                                     (float)init->scale, out);
    else
        fill_sinusoid(shape[0], shape[1], out);
    ls__fpmode_restore(old);
    return status;
}
