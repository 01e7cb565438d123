/* SPDX-License-Identifier: BSD-3-Clause */
/* Layer normalisation and RMS normalisation; the formulas stand in
 * kernel/k_norm.h. */
#include "base/sized.h"
#include "op/norm.h"
#include "op/op_table.h"
#include "op/product_plan.h"

/* The attributes of all operators here. */
typedef struct norm {
    double epsilon;
    bool two_passes; /* of a layer norm */
} norm;

static double epsilon_of(const ls_node *n)
{
    const norm *of = n->of;

    return of->epsilon;
}

static bool two_passes(const ls_node *n)
{
    const norm *of = n->of;

    return of->two_passes;
}

int ls__norm_shape(ls_node *n, double epsilon)
{
    if (!(epsilon >= 0 && epsilon < __builtin_inf()))
        return ls__fail(LS_EINVAL, "%s \"%s\": epsilon %g is not 0 or above",
                        n->op->name, n->name, epsilon);
    return ls__want(n, 0, LS_F32, 1) < 0 ? LS_ESHAPE : ls__same_shape(n);
}

static int norm_shape(ls_node *n)
{
    return ls__norm_shape(n, epsilon_of(n));
}

/* Mean and 1/deviation. */
static int64_t norm_stash(const ls__bench *b, const ls__instr *in)
{
    (void)b;
    return 2 * ls__vectors(in->node);
}

static bool norm_bf16_fits(const ls__instr *in, int k)
{
    return k == LS__VALUE && ls__bf16_fits(in->node, 1);
}

/* Scratch for a band of y as floats, where y is numbers of bf16. */
static int norm_plan(ls__bench *b, ls__instr *in)
{
    ls__bench_scratch(b, in->is_bf16 ? LS__BF16_STEP * ls__width(in->node) : 0);
    return 0;
}

static void write_bf16(const ls__run *r)
{
    int64_t n = ls__width(r->node), band = LS__BF16_STEP * n;
    const float *x = r->x[0];
    float *stats = r->stash, *y = r->y;

    LS__ASSERT(r->rows * r->node->size % band == 0);
    for (int64_t left = r->rows * r->node->size; left > 0; left -= band) {
        r->kernels->layer_norm(LS__BF16_STEP, n, (float)epsilon_of(r->node),
                               two_passes(r->node), x, r->param[0],
                               r->param[1], r->scratch, stats);
        r->backend->products->to_bf16(LS__BF16_STEP, n, r->scratch, y);
        x += band;
        y += band / 2;
        stats += 2 * LS__BF16_STEP;
    }
}

static void norm_fwd(const ls__run *r)
{
    if (r->in->is_bf16) {
        write_bf16(r);
        return;
    }
    r->kernels->layer_norm(r->rows * ls__vectors(r->node),
                           ls__width(r->node), (float)epsilon_of(r->node),
                           two_passes(r->node), r->x[0], r->param[0],
                           r->param[1], r->y, r->stash);
}

static void norm_bwd(const ls__run *r)
{
    r->kernels->layer_norm_grad(r->rows * ls__vectors(r->node),
                                ls__width(r->node), r->x[0], r->stash,
                                r->param[0], r->dy, r->addend[0], r->dx[0],
                                r->add, r->dparam[0], r->dparam[1]);
}

ls_node *ls__declare_scale_bias(ls_node *n)
{
    int64_t c = ls__width(n);

    n = ls__node_param(n, "scale", LS__INIT_ONES, c, c, 1, &c);
    return n ? ls__node_param(n, "bias", LS__INIT_ZEROS, c, c, 1, &c) : NULL;
}

static const ls__attribute norm_attributes[] = {
    LS__NUMBER_UNLESS("epsilon", norm, epsilon, LS__NORM_EPSILON),
    LS__FIELD_IF("two_passes", norm, two_passes), {0}};

const ls__op ls__op_layer_norm = {
    .name = "layer_norm", .inputs = 1, .of = sizeof(norm),
    .step = &ls__op_layer_norm, .shape = norm_shape,
    .declare = ls__declare_scale_bias,
    .plan = {.reads = 1, .over = LS__OVER_ADDEND | LS__OVER_DY,
             .may_bf16 = norm_bf16_fits, .stash = norm_stash,
             .decide = norm_plan},
    .run = {.forward = norm_fwd, .backward = norm_bwd, .cuts = 1},
    .file = {.attributes = norm_attributes}};

LS__DEFAULTS(ls_norm_options, ls_norm_defaults_bytes,
             .epsilon = LS__NORM_EPSILON)

ls_node *ls_layer_norm_with(ls_node *x, const ls_norm_options *options,
                            const char *name)
{
    ls_norm_options o = ls_norm_defaults();

    if (!ls__node_takes(x, "norm", &o, sizeof o, options))
        return NULL;
    return ls__node_with(ls__node_new(&ls__op_layer_norm, name, x, NULL, NULL),
                         &(norm){o.epsilon, o.two_passes});
}

ls_node *ls_layer_norm(ls_node *x, const char *name)
{
    return ls_layer_norm_with(x, NULL, name);
}

/* ------ rms norm ------ */

static ls_node *rms_declare(ls_node *n)
{
    int64_t c = ls__width(n);

    return ls__node_param(n, "scale", LS__INIT_ONES, c, c, 1, &c);
}

/* 1/root */
static int64_t rms_stash(const ls__bench *b, const ls__instr *in)
{
    (void)b;
    return ls__vectors(in->node);
}

static void rms_fwd(const ls__run *r)
{
    r->kernels->rms_norm(r->rows * ls__vectors(r->node), ls__width(r->node),
                         (float)epsilon_of(r->node), r->x[0], r->param[0],
                         r->y, r->stash);
}

static void rms_bwd(const ls__run *r)
{
    r->kernels->rms_norm_grad(r->rows * ls__vectors(r->node),
                              ls__width(r->node), r->x[0], r->stash,
                              r->param[0], r->dy, r->addend[0], r->dx[0],
                              r->add, r->dparam[0]);
}

static const ls__attribute rms_attributes[] = {
    LS__FIELD("epsilon", LS__NUMBER, norm, epsilon), {0}};

const ls__op ls__op_rms_norm = {
    .name = "rms_norm", .inputs = 1, .of = sizeof(norm),
    .step = &ls__op_rms_norm, .shape = norm_shape, .declare = rms_declare,
    .plan = {.reads = 1, .over = LS__OVER_ADDEND | LS__OVER_DY,
             .stash = rms_stash},
    .run = {.forward = rms_fwd, .backward = rms_bwd, .cuts = 1},
    .file = {.attributes = rms_attributes}};

ls_node *ls_rms_norm(ls_node *x, double epsilon, const char *name)
{
    return ls__node_with(ls__node_new(&ls__op_rms_norm, name, x, NULL, NULL),
                         &(norm){.epsilon = epsilon});
}
