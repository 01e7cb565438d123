/* SPDX-License-Identifier: BSD-3-Clause */
/* Batch normalisation by stored statistics, as a network that was trained with
 * it elsewhere has them: mean and variance are parameters that no optimizer
 * moves.  The formulas stand in kernel/k_norm.h.
 *
 * In the order of the scratch, of each channel: 1/deviation, that times scale,
 * and what one call gives to scale and to bias. */
#include "op/layer.h"
#include "op/op_table.h"

enum { SCALE, BIAS, MEAN, VARIANCE, PARAMS };

typedef struct batch {
    double epsilon;
} batch;

static double epsilon_of(const ls_node *n)
{
    const batch *of = n->of;

    return of->epsilon;
}

static int batch_shape(ls_node *n)
{
    const ls_node *x = n->in[0];

    if (!(epsilon_of(n) >= 0 && epsilon_of(n) < __builtin_inf()))
        return ls__fail(LS_EINVAL, "batch_norm \"%s\": epsilon %g is not 0 or "
                        "above", n->name, epsilon_of(n));
    if (ls__want(n, 0, LS_F32, 1) < 0)
        return LS_ESHAPE;
    return ls__node_set_shape(n, LS_F32, x->rank, x->shape);
}

/* A parameter that stays as it is stored. */
static ls_node *stored(ls_node *n, const char *name, ls__init init)
{
    int64_t c = ls__width(n);

    n = ls__node_param(n, name, init, c, c, 1, &c);
    if (n)
        n->graph->params[n->param[n->params - 1]]->is_stored = true;
    return n;
}

static ls_node *batch_declare(ls_node *n)
{
    n = ls__declare_scale_bias(n);
    n = n ? stored(n, "mean", LS__INIT_ZEROS) : NULL;
    return n ? stored(n, "var", LS__INIT_ONES) : NULL;
}

static int batch_plan(ls__bench *b, ls__instr *in)
{
    ls__bench_scratch(b, 4 * ls__width(in->node));
    return 0;
}

/* 1/deviation and factor of each channel. */
static void factors(const ls__run *r, float *inverse, float *factor)
{
    float epsilon = (float)epsilon_of(r->node);

    for (int64_t j = 0; j < ls__width(r->node); j++) {
        inverse[j] = 1.0f / __builtin_sqrtf(r->param[VARIANCE][j] + epsilon);
        factor[j] = inverse[j] * r->param[SCALE][j];
    }
}

static void batch_fwd(const ls__run *r)
{
    int64_t n = ls__width(r->node);
    float *factor = r->scratch + n;

    factors(r, r->scratch, factor);
    r->kernels->batch_norm(r->rows * ls__vectors(r->node), n, r->x[0],
                           r->param[MEAN], factor, r->param[BIAS], r->y);
}

/* Those of one call, from what scale and bias get. */
static void give(const ls__run *r, const float *inverse, const float *factor,
                 const float *dscale, const float *dbias)
{
    for (int64_t j = 0; j < ls__width(r->node); j++) {
        float by[PARAMS] = {dscale[j], dbias[j], -(factor[j] * dbias[j]),
                            -0.5f * factor[j] * inverse[j] * dscale[j]};

        for (int k = 0; k < PARAMS; k++)
            if (r->dparam[k])
                r->dparam[k][j] = r->add ? r->dparam[k][j] + by[k] : by[k];
    }
}

static bool trains(const ls__run *r)
{
    for (int k = 0; k < PARAMS; k++)
        if (r->dparam[k])
            return true;
    return false;
}

static void batch_bwd(const ls__run *r)
{
    int64_t n = ls__width(r->node);
    float *inverse = r->scratch, *factor = inverse + n;
    float *dscale = trains(r) ? factor + n : NULL;

    factors(r, inverse, factor);
    r->kernels->batch_norm_grad(r->rows * ls__vectors(r->node), n, r->x[0],
                                r->param[MEAN], inverse, factor, r->dy,
                                r->addend[0], r->dx[0], dscale,
                                dscale ? dscale + n : NULL);
    if (dscale)
        give(r, inverse, factor, dscale, dscale + n);
}

static const ls__attribute attributes[] = {
    LS__FIELD("epsilon", LS__NUMBER, batch, epsilon), {0}};

const ls__op ls__op_batch_norm = {
    .name = "batch_norm", .step = &ls__op_batch_norm, .inputs = 1, .reads = 1,
    .dx_over_addend = true, .dx_over_dy = true, .leaves_params = true,
    .of = sizeof(batch), .attributes = attributes, .shape = batch_shape,
    .declare = batch_declare, .plan = batch_plan,
    .forward = batch_fwd, .backward = batch_bwd};

ls_node *ls_batch_norm(ls_node *x, double epsilon, const char *name)
{
    ls_node *y = ls__node_new(&ls__op_batch_norm, name, x, NULL, NULL);

    if (y)
        *(batch *)y->of = (batch){epsilon};
    return ls__node_done(y);
}
