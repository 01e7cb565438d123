/* SPDX-License-Identifier: BSD-3-Clause */
/* Batch normalisation.  Mean and variance are stored as parameters that no
 * optimizer moves.  A training uses them, for a network that was trained
 * elsewhere; or those of the batch's rows, found by a survey (graph/op.h), and
 * then the stored ones are running averages.  The formulas stand in
 * kernel/k_batch_norm.h.
 *
 * An add and a relu that follow are fused: y = relu(norm + x[1]).
 * Backward goes through the relu by y, or, without an add, by y made again of
 * x; then y may be lent, and nobody writes it (graph/op.h).
 *
 * In the order of the scratch, of each channel: 1/deviation, that times scale,
 * and what one call gives to scale and to bias, or mean, mean of dy and mean of
 * dy xh. */
#include "base/error.h"
#include "base/least.h"
#include "base/sized.h"
#include "op/norm.h"
#include "op/op_table.h"

#define MOMENTUM 0.9

enum { SCALE, BIAS, MEAN, VARIANCE, PARAMS };

_Static_assert((int)PARAMS <= (int)LS__MAX_PARAMS, "parameters of a node");

typedef struct batch {
    double epsilon, momentum;
    ls_statistics statistics;
} batch;

/* Operators that were fused into it. */
typedef struct taken {
    bool adds, relu;
} taken;

static bool batch_folds(const ls_node *n, void *made, const ls_node *reader)
{
    taken *t = made;

    (void)n;
    if (t->relu)
        return false;
    if (ls__activation_of(reader->op) == LS__RELU)
        return t->relu = true;
    if (t->adds || reader->op->term != LS__ADD)
        return false;
    return t->adds = true;
}

static int batch_shape(ls_node *n)
{
    const batch *of = n->of;
    int status = ls__norm_shape(n, of->epsilon);

    if (status < 0)
        return status;
    if (!(of->momentum >= 0 && of->momentum <= 1))
        return ls__fail(LS_EINVAL, "batch_norm \"%s\": momentum %g is not from "
                        "0 to 1", n->name, of->momentum);
    if ((int)of->statistics < 0 || of->statistics > LS_STATISTICS_OF_BATCH)
        return ls__fail(LS_EINVAL, "batch_norm \"%s\": statistics %d are "
                        "unknown", n->name, (int)of->statistics);
    return 0;
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
    ls__bench_scratch(b, 5 * ls__width(in->node));
    return 0;
}

/* Does it go by the statistics of rows?  Not where none counts. */
static bool goes_by_rows(const ls__run *r)
{
    return r->all[0] && r->all[0][0] > 0;
}

/* The variance of channel j in what a survey found. */
static double variance(const double *moments, int64_t n, int64_t j)
{
    LS__ASSERT(moments[0] > 0 && j < n);
    return moments[1 + n + j] / moments[0];
}

/* 1/deviation and factor of each channel. */
static void factors(const ls__run *r, float *inverse, float *factor)
{
    const batch *is = r->node->of;
    float epsilon = (float)is->epsilon;
    int64_t n = ls__width(r->node);

    for (int64_t j = 0; j < n; j++) {
        float of = goes_by_rows(r) ? (float)variance(r->all[0], n, j)
                                   : r->param[VARIANCE][j];

        inverse[j] = 1.0f / __builtin_sqrtf(of + epsilon);
        factor[j] = inverse[j] * r->param[SCALE][j];
    }
}

/* The mean of each channel, in `room` if it is not stored. */
static const float *means(const ls__run *r, float *room)
{
    if (!goes_by_rows(r))
        return r->param[MEAN];
    for (int64_t j = 0; j < ls__width(r->node); j++)
        room[j] = (float)r->all[0][1 + j];
    return room;
}

/* The norm as its kernels want it; room: three vectors of channels. */
static ls__batch_norm norm_of(const ls__run *r, float *room)
{
    int64_t n = ls__width(r->node);
    const taken *t = r->in->made;

    factors(r, room, room + n);
    return (ls__batch_norm){.rows = r->rows, .each = ls__vectors(r->node),
                            .n = n, .x = r->x[0],
                            .more = t->adds ? r->x[1] : NULL,
                            .mean = means(r, room + 2 * n), .inverse = room,
                            .factor = room + n, .bias = r->param[BIAS],
                            .relu = t->relu, .weights = r->of->weights,
                            .dy = r->dy, .y = t->adds ? r->y : NULL};
}

static void batch_fwd(const ls__run *r)
{
    ls__batch_norm b;

    if (r->in->lends)
        return;
    b = norm_of(r, r->scratch);
    r->kernels->batch_norm(&b, r->y);
}

/* Give one call's gradients to all parameters, from scale's and bias's. */
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

/* Give a survey's sums to scale and bias with the first chunk. */
static void give_sums(const ls__run *r)
{
    int64_t n = ls__width(r->node);

    for (int k = SCALE; k <= BIAS; k++)
        for (int64_t j = 0; r->dparam[k] && j < n; j++) {
            float by = (float)r->found[1][(k == SCALE) * n + j];

            r->dparam[k][j] = r->add ? r->dparam[k][j] + by : by;
        }
}

/* The means of dy and of dy xh. */
static void set_means(const ls__run *r, ls__batch_norm *b, float *room)
{
    for (int64_t j = 0; j < 2 * b->n; j++)
        room[j] = (float)(r->all[1][j] / r->all[0][0]);
    b->dy_mean = room;
    b->gain_mean = room + b->n;
}

static void batch_bwd(const ls__run *r)
{
    int64_t n = ls__width(r->node);
    float *room = r->scratch + 3 * n;
    ls__batch_norm b = norm_of(r, r->scratch);

    if (goes_by_rows(r)) {
        if (r->of->before == 0)
            give_sums(r);
        set_means(r, &b, room);
    } else if (ls__wants_params(r)) {
        r->kernels->batch_params(&b, room, room + n);
        give(r, b.inverse, b.factor, room, room + n);
    }
    if (r->dx[0]) /* last: it may be dy */
        r->kernels->batch_grad(&b, r->addend, r->dx);
    else if (r->dx[1] && b.relu)
        r->kernels->activate_grad(LS__RELU, r->rows * r->node->size, r->y,
                                  r->dy, r->addend[1], r->dx[1]);
    else if (r->dx[1])
        ls__pass_back(r, 1);
}

/* ------ the survey ------ */

/* The moments of the rows (kernel/kernel.h), and the sums of dy and of dy
 * xh. */
static int64_t found_size(const ls_node *n, bool back)
{
    const batch *of = n->of;

    if (of->statistics == LS_STATISTICS_STORED)
        return 0;
    return back ? 2 * ls__width(n) : 1 + 2 * ls__width(n);
}

static bool of_all(const ls_node *n)
{
    const batch *of = n->of;

    return of->statistics == LS_STATISTICS_OF_BATCH;
}

/* Look at rows of `each` vectors, from one on. */
static void look_at(const ls__run *r, bool back, int64_t from, int64_t rows,
                    int64_t each, const float *weights)
{
    int64_t skipped = from * ls__width(r->node);
    ls__batch_norm b;

    if (!back) {
        r->kernels->batch_moments(rows, each, ls__width(r->node),
                                  (const float *)r->x[0] + skipped, weights,
                                  r->found[0]);
        return;
    }
    b = norm_of(r, r->scratch);
    b.rows = rows;
    b.each = each;
    b.weights = weights;
    b.x += skipped;
    b.dy += skipped;
    b.y += b.y ? skipped : 0;
    r->kernels->batch_sums(&b, r->found[1]);
}

/* The same, block by block, and show each to the observer. */
static void show(const ls__run *r, bool back)
{
    int64_t each = ls__vectors(r->node), all = r->rows * each;
    int64_t size = 2 * found_size(r->node, back);
    int64_t blocks = (all + LS__CHUNK - 1) / LS__CHUNK;

    for (int64_t b = 0; b < blocks; b++) {
        int64_t from = b * LS__CHUNK, n = ls__least(all - from, LS__CHUNK);
        float weight[LS__CHUNK];

        for (int64_t i = 0; i < n; i++)
            weight[i] = r->of->weights ? r->of->weights[(from + i) / each] : 1;
        look_at(r, back, from, n, 1, weight);
        ls__show(r, LS__STATISTICS, b * size, blocks * size,
                 (const float *)(const void *)r->found[back], size);
    }
}

static void look(const ls__run *r, bool back)
{
    if (r->of->observer)
        show(r, back);
    else
        look_at(r, back, 0, r->rows, ls__vectors(r->node), r->of->weights);
}

static void join(const ls_node *n, bool back, double *to, const double *from)
{
    if (!back)
        ls__kernels()->batch_join(ls__width(n), to, from);
    for (int64_t j = 0; back && j < 2 * ls__width(n); j++)
        to[j] = to[j] + from[j];
}

static void learn(const ls_node *node, const double *all, double *stored)
{
    const batch *of = node->of;
    int64_t n = ls__width(node);
    double more = 1 - of->momentum;

    for (int64_t j = 0; j < n && all[0] > 0; j++) {
        stored[j] = of->momentum * stored[j] + more * all[1 + j];
        stored[n + j] = of->momentum * stored[n + j] +
                        more * variance(all, n, j);
    }
}

static const ls__survey survey = {.size = found_size, .of_all = of_all,
                                  .look = look, .join = join, .learn = learn};

/* ------ building ------ */

static const char *const statistics[] = {"stored", "of_shard", "of_batch",
                                         NULL};

static const ls__attribute attributes[] = {
    LS__FIELD("epsilon", LS__NUMBER, batch, epsilon),
    {.name = "statistics", .type = LS__WORD,
     .offset = offsetof(batch, statistics), .words = statistics,
     .may_lack = true},
    LS__NUMBER_UNLESS("momentum", batch, momentum, MOMENTUM), {0}};

const ls__op ls__op_batch_norm = {
    .name = "batch_norm", .inputs = 1, .of = sizeof(batch),
    .step = &ls__op_batch_norm, .shape = batch_shape, .declare = batch_declare,
    .plan = {.reads = 1, .reads_y = true, .over = LS__OVER_ADDEND | LS__OVER_DY,
             .made = sizeof(taken), .folds = batch_folds, .decide = batch_plan},
    .run = {.forward = batch_fwd, .backward = batch_bwd, .cuts = 1,
            .leaves_params = true},
    .file = {.attributes = attributes},
    .rare = LS__RARE(.survey = &survey, .lends = norm_of)};

LS__DEFAULTS(ls_batch_norm_options, ls_batch_norm_defaults_bytes,
             .statistics = LS_STATISTICS_OF_BATCH, .epsilon = 1e-5,
             .momentum = MOMENTUM)

static ls_node *build(ls_node *x, batch of, const char *name)
{
    return ls__node_with(ls__node_new(&ls__op_batch_norm, name, x, NULL, NULL),
                         &of);
}

ls_node *ls_batch_norm_with(ls_node *x, const ls_batch_norm_options *options,
                            const char *name)
{
    ls_batch_norm_options o = ls_batch_norm_defaults();

    return ls__node_takes(x, "batch norm", &o, sizeof o, options)
               ? build(x, (batch){o.epsilon, o.momentum, o.statistics}, name)
               : NULL;
}

ls_node *ls_batch_norm(ls_node *x, double epsilon, const char *name)
{
    return build(x, (batch){epsilon, MOMENTUM, LS_STATISTICS_STORED}, name);
}
