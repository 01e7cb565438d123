/* SPDX-License-Identifier: BSD-3-Clause */
/* Group normalisation: layer normalisation over the elements of each group of a
 * row, in order, brought together.  A channel's scale and bias are written out
 * for every element, for the kernels of kernel/k_norm.h.
 *
 * In the order of the scratch: x, dy or y, dx or addend of one group, its scale
 * and its bias, and in the backward sweep what each element gave to them. */
#include "kernel/loops.h"
#include "op/norm.h"
#include "op/op_table.h"

enum { ROOMS = 7 };

typedef struct group_norm {
    int64_t groups;
    double epsilon;
    bool two_passes;
} group_norm;

static int64_t groups_of(const ls_node *n)
{
    const group_norm *of = n->of;

    return of->groups;
}

static ls__channels group_of(const ls_node *n)
{
    ls__channels g = {.pixels = ls__vectors(n), .step = ls__width(n)};

    g.run = g.step / groups_of(n);
    g.size = g.pixels * g.run;
    LS__ASSERT(g.size * groups_of(n) == n->size);
    return g;
}

static int group_shape(ls_node *n)
{
    const group_norm *of = n->of;
    const ls_node *x = n->in[0];
    int status = ls__norm_shape(n, of->epsilon);

    if (status < 0)
        return status;
    if (groups_of(n) < 1 || ls__width(x) % groups_of(n))
        return ls__fail(LS_ESHAPE, "group norm \"%s\": %lld channels do not "
                        "divide into %lld groups", n->name,
                        (long long)ls__width(x), (long long)groups_of(n));
    return 0;
}

/* Mean and 1/deviation. */
static int64_t group_stash(const ls__bench *b, const ls__instr *in)
{
    (void)b;
    return 2 * groups_of(in->node);
}

static int group_plan(ls__bench *b, ls__instr *in)
{
    ls__bench_scratch(b, ROOMS * group_of(in->node).size);
    return 0;
}

static void group_fwd(const ls__run *r)
{
    const group_norm *of = r->node->of;
    ls__channels g = group_of(r->node);
    float *x = r->scratch, *y = x + g.size, *scale = y + 2 * g.size;
    float *bias = scale + g.size;

    for (int64_t k = 0; k < groups_of(r->node); k++) {
        ls__channels_spread(&g, r->param[0] + k * g.run, scale);
        ls__channels_spread(&g, r->param[1] + k * g.run, bias);
        for (int64_t i = 0; i < r->rows; i++) {
            int64_t at = i * r->node->size + k * g.run;

            ls__channels_gather(&g, (const float *)r->x[0] + at, x);
            r->kernels->layer_norm(1, g.size, (float)of->epsilon,
                                   of->two_passes, x, scale, bias, y,
                                   r->stash + 2 * (i * of->groups + k));
            ls__channels_scatter(&g, y, r->y + at);
        }
    }
}

/* One group of one row; dscale and dbias are sums over its pixels. */
static void one_grad(const ls__run *r, const ls__channels *g, int64_t i,
                     int64_t k)
{
    int64_t at = i * r->node->size + k * g->run;
    float *x = r->scratch, *dy = x + g->size, *dx = dy + g->size;
    float *scale = dx + g->size, *dscale = scale + 2 * g->size;
    float *dbias = dscale + g->size;
    bool add = r->add || i > 0;

    LS__ASSERT(dbias + g->size == r->scratch + ROOMS * g->size);
    ls__channels_gather(g, (const float *)r->x[0] + at, x);
    ls__channels_gather(g, r->dy + at, dy);
    if (r->addend[0] && r->dx[0])
        ls__channels_gather(g, r->addend[0] + at, dx);
    r->kernels->layer_norm_grad(1, g->size, x,
                                r->stash + 2 * (i * groups_of(r->node) + k),
                                scale, dy, r->addend[0] ? dx : NULL,
                                r->dx[0] ? dx : NULL, false, dscale, dbias);
    if (r->dx[0])
        ls__channels_scatter(g, dx, r->dx[0] + at);
    ls__show(r, "dscale of pixels", (i * groups_of(r->node) + k) * g->size,
             r->rows * r->node->size, dscale, g->size);
    ls__show(r, "dbias of pixels", (i * groups_of(r->node) + k) * g->size,
             r->rows * r->node->size, dbias, g->size);
    r->kernels->column_sum(g->pixels, g->run, dscale, add,
                           r->dparam[0] + k * g->run);
    r->kernels->column_sum(g->pixels, g->run, dbias, add,
                           r->dparam[1] + k * g->run);
}

static void group_bwd(const ls__run *r)
{
    ls__channels g = group_of(r->node);

    for (int64_t k = 0; k < groups_of(r->node); k++) {
        ls__channels_spread(&g, r->param[0] + k * g.run,
                            r->scratch + 3 * g.size);
        for (int64_t i = 0; i < r->rows; i++)
            one_grad(r, &g, i, k);
    }
}

static const ls__attribute attributes[] = {
    LS__FIELD("groups", LS__INTEGER, group_norm, groups),
    LS__NUMBER_UNLESS("epsilon", group_norm, epsilon, LS__NORM_EPSILON),
    LS__FIELD_IF("two_passes", group_norm, two_passes), {0}};

const ls__op ls__op_group_norm = {
    .name = "group_norm", .inputs = 1, .of = sizeof(group_norm),
    .shape = group_shape, .declare = ls__declare_scale_bias,
    .plan = {.reads = 1, .over = LS__OVER_ADDEND | LS__OVER_DY,
             .stash = group_stash, .decide = group_plan},
    .run = {.forward = group_fwd, .backward = group_bwd},
    .file = {.attributes = attributes}};

ls_node *ls_group_norm_with(ls_node *x, int groups,
                            const ls_norm_options *options, const char *name)
{
    ls_norm_options o = ls_norm_defaults();

    if (!ls__node_takes(x, "norm", &o, sizeof o, options))
        return NULL;
    return ls__node_with(ls__node_new(&ls__op_group_norm, name, x, NULL, NULL),
                         &(group_norm){groups, o.epsilon,
                                        o.two_passes});
}

ls_node *ls_group_norm(ls_node *x, int groups, const char *name)
{
    return ls_group_norm_with(x, groups, NULL, name);
}
