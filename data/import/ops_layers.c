/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators with parameters. */
#include "base/error.h"
#include "import/reader.h"

#include <lockstep/arithmetic.h>
#include <lockstep/norms.h>

/* ------ products ------ */

bool ls__is_zero(const ls__named *v)
{
    if (v->kind != LS__NUMBERS)
        return v->kind == LS__NODE && v->zeros == v->node;
    for (int64_t i = 0; i < ls__value_count(v); i++)
        if (v->number[i] != 0)
            return false;
    return true;
}

/* A bias of n numbers that a layer may have as its own. */
static bool is_bias(const ls__named *v, int64_t n)
{
    return v && (v->kind == LS__WEIGHT || v->kind == LS__NUMBERS) &&
           v->rank == 1 && v->shape[0] == n;
}

/* Make v what a dense layer of the weights w (K,N) makes of it. */
static int dense(ls__reader *r, const ls__om_node *n, ls__named *v,
                 const ls__named *w, const ls__named *bias)
{
    static const int plain[] = {0, 1};
    ls_dense_options o = ls_dense_defaults();
    char name[LS__LAYER_NAME];
    ls_node *x;
    int status;

    if (v->shape[v->rank - 1] != w->shape[0])
        return ls__refuse("its matrices do not fit");
    o.no_bias = !bias || ls__is_zero(bias);
    if (!(x = ls__value_last(v)))
        return ls__made(x);
    if ((status = ls__read_layer(r, n, w, name)) < 0 ||
        (status = ls__read_param(r, name, "kernel", w, 0, 2, w->shape, plain)) <
            0 ||
        (!o.no_bias && (status = ls__read_param(r, name, "bias", bias, 0, 1,
                                                w->shape + 1, plain)) < 0))
        return status;
    x = ls_dense_with(x, w->shape[1], &o, name);
    return ls__value_set_last(v, x, w->shape[1]);
}

/* The Add of a bias that alone reads the node's value: it becomes the layer's
 * own.  -1: there is none. */
static int bias_behind(ls__reader *r, const ls__om_node *n, int64_t size,
                       const ls__named **bias)
{
    const ls__om *om = &r->file->om;
    const ls__named *y = ls__read_out(r, n, 0);

    if (r->uses[y - r->value] != 1)
        return -1;
    for (int i = r->node + 1; i < om->nodes; i++) {
        const ls__om_node *add = &om->node[i];

        if (!ls__om_is(add, "Add") || add->inputs != 2 || add->outputs != 1)
            continue;
        for (int k = 0; k < 2; k++) {
            *bias = ls__read_in(r, add, k);
            if (ls__read_in(r, add, !k) == y && is_bias(*bias, size))
                return i;
        }
    }
    return -1;
}

static int matmul(ls__reader *r, const ls__om_node *n, ls__named *v)
{
    ls__named a = *v, b;
    bool ones[LS_MAX_RANK] = {false}, vector;
    const ls__named *w = ls__read_in(r, n, 1), *bias = NULL;
    int status, add;

    if (w && w->kind == LS__WEIGHT && w->rank == 2 && a.rank > 0) {
        b = *w;
        add = bias_behind(r, n, w->shape[1], &bias);
        status = dense(r, n, v, &b, add < 0 ? NULL : bias);
        if (status == 0 && add >= 0) {
            r->done[add] = true;
            ls__read_put(r, &r->file->om.node[add], v);
        }
        return status;
    }
    if ((status = ls__read_node_in(r, n, 1, &b)) < 0)
        return status;
    if ((vector = b.rank == 1))
        ls__value_unsqueeze(&b, 1);
    ones[b.rank > a.rank ? b.rank - 2 : 0] = a.rank == 1;
    if ((status = ls__value_product(&a, &b, v)) < 0)
        return status;
    ones[v->rank - 1] = vector;
    ls__value_squeeze(v, ones);
    return 0;
}

/* alpha A B + beta C */
static int gemm(ls__reader *r, const ls__om_node *n, ls__named *v)
{
    static const bool first[LS_MAX_RANK] = {true};
    double alpha = ls__om_real(n, "alpha", 1), beta = ls__om_real(n, "beta", 1);
    ls__named a = *v, b, c = {0};
    const ls__named *w = ls__read_in(r, n, 1), *added = ls__read_in(r, n, 2);
    int status = 0;
    bool own;

    if (!w)
        return ls__refuse("it lacks input 1");
    b = *w;
    if (a.rank != 2 || b.rank != 2)
        return ls__refuse("it wants matrices");
    if (b.kind != LS__WEIGHT &&
        (status = ls__read_as_node(r, n->input[1], &b)) < 0)
        return status;
    if (ls__om_integer(n, "transA", 0))
        ls__value_exchange(&a, 0);
    if (ls__om_integer(n, "transB", 0))
        ls__value_exchange(&b, 0);
    if (added) {
        c = *added;
        if (c.rank == 2 && c.shape[0] == 1 && c.kind != LS__NUMBERS &&
            c.kind != LS__WEIGHT)
            ls__value_squeeze(&c, first);
    }
    own = beta == 1 && alpha == 1 && is_bias(added, b.shape[1]);
    if (b.kind == LS__WEIGHT) {
        status = dense(r, n, &a, &b, own ? &c : NULL);
        *v = a;
    } else {
        status = ls__value_product(&a, &b, v);
    }
    if (status == 0 && alpha != 1)
        status = ls__value_with(v, ls_scale_shift(v->node, alpha, 0));
    if (status < 0 || !added || (own && b.kind == LS__WEIGHT) ||
        ls__is_zero(added))
        return status;
    if ((status = ls__read_as_node(r, n->input[2], &c)) < 0 ||
        (beta != 1 && (status = ls__value_with(
                           &c, ls_scale_shift(c.node, beta, 0))) < 0))
        return status;
    return ls__read_add(r, n, v, &c);
}

/* ------ norms ------ */

/* A layer's name and its parameters, inputs from 1 on, of n numbers each; one
 * that the node lacks is a constant. */
static int params(ls__reader *r, const ls__om_node *n, int count, int64_t size,
                  char name[LS__LAYER_NAME])
{
    static const struct {
        const char *own;
        double usual;
    } of[] = {{"scale", 1}, {"bias", 0}, {"mean", 0}, {"var", 1}};
    int status = ls__read_layer(r, n, ls__read_in(r, n, 1), name);

    for (int k = 0; k < count && status == 0; k++)
        status = ls__read_param(r, name, of[k].own, ls__read_in(r, n, k + 1),
                                of[k].usual, 1, &size, (int[]){0});
    return status;
}

static double epsilon_of(const ls__om_node *n)
{
    return ls__om_real(n, "epsilon", (double)1e-5f);
}

/* Norms of channels, the second axis: by batches or groups. */
static int channel_norm(ls__reader *r, const ls__om_node *n, ls__named *v)
{
    ls_batch_norm_options batch = ls_batch_norm_defaults();
    ls_norm_options o = ls_norm_defaults();
    bool is_batch = ls__om_is(n, "BatchNormalization");
    bool trains = ls__om_integer(n, "training_mode", 0) ||
                  r->options->batch_norm;
    int64_t groups = ls__om_integer(n, "num_groups", 1);
    char name[LS__LAYER_NAME];
    int status;
    ls__lie lie;
    ls_node *x;

    if (is_batch && (v->rank < 2 || n->inputs != 5))
        return ls__refuse("it has no channels, or too few inputs");
    if (v->rank < 2 || groups < 1 || groups > INT32_MAX)
        return ls__refuse("it has no channels");
    if (!(x = ls__value_lying(v, 1, &lie)))
        return ls__made(x);
    if ((status = params(r, n, is_batch ? 4 : 2, v->shape[1], name)) < 0)
        return status;
    batch.statistics = trains ? LS_STATISTICS_OF_BATCH : LS_STATISTICS_STORED;
    batch.momentum = ls__om_real(n, "momentum", (double)0.9f);
    batch.epsilon = o.epsilon = epsilon_of(n);
    o.two_passes = true;
    x = is_batch ? ls_batch_norm_with(x, &batch, name)
                 : ls_group_norm_with(x, (int)groups, &o, name);
    return ls__value_set_lying(v, x, &lie);
}

/* Norms over the last axis. */
static int vector_norm(ls__reader *r, const ls__om_node *n, ls__named *v)
{
    ls_norm_options o = ls_norm_defaults();
    bool squares = ls__om_is(n, "RMSNormalization");
    char name[LS__LAYER_NAME];
    int status, axis = ls__read_axis_of(n, -1, v->rank);
    ls_node *x;

    if (axis != v->rank - 1)
        return axis < 0 ? axis : ls__refuse("read is a norm over the last "
                                            "axis; this goes from %d on", axis);
    o.epsilon = epsilon_of(n);
    o.two_passes = true;
    if (!(x = ls__value_last(v)))
        return ls__made(x);
    if ((status = params(r, n, squares ? 1 : 2, v->shape[axis], name)) < 0)
        return status;
    x = squares ? ls_rms_norm(x, o.epsilon, name)
                : ls_layer_norm_with(x, &o, name);
    return ls__value_set_last(v, x, v->shape[axis]);
}

/* The mean of x over axes, or of its squares, of each channel of v, repeated as
 * v is. */
static int mean_of(ls__named *v, bool squares, int count, const int *axes,
                   ls__named *m)
{
    int64_t shape[LS_MAX_RANK] = {LS__ROWS, v->shape[1], 1, 1, 1, 1, 1, 1};
    ls_node *x = squares ? ls_square(v->node) : v->node;
    int status, last = -1;

    x = count ? ls_mean_over(x, count, axes) : x;
    *m = (ls__named){.name = v->name};
    for (int i = 0; i < v->atoms; i++)
        if (v->atom[i].axis == 1) { /* channels may lie in several axes */
            if (v->atom[i].place < last)
                return ls__refuse("its channels lie apart");
            last = v->atom[i].place;
        }
    x = ls_reshape(x, 1, shape + 1);
    status = ls__value_set(m, x, v->rank, shape, 1, (int[]){1});
    return status < 0 ? status : ls__value_like(m, v);
}

/* (x - mean) / sqrt(var + epsilon) scale + bias over all axes behind the
 * second, of which each element is a channel. */
static int instance_norm(ls__reader *r, const ls__om_node *n, ls__named *v)
{
    ls__named m, p;
    int axes[LS__ATOMS], count = 0, status;

    if (v->rank < 3 || ls__value_rows(v) != 0)
        return ls__refuse("it wants (rows,channels,..)");
    for (int i = 0; i < v->atoms; i++)
        if (v->atom[i].axis > 1)
            axes[count++] = v->atom[i].place;
    for (int k = 0; k < 2; k++) {
        if ((status = mean_of(v, k, count, axes, &m)) < 0)
            return status;
        status = ls__value_with(v, k == 0 ? ls_sub(v->node, m.node)
                 : ls_div(v->node, ls_sqrt(ls_scale_shift(m.node, 1,
                                                          epsilon_of(n)))));
        if (status < 0)
            return status;
    }
    for (int k = 1; k < 3; k++) {
        if ((status = ls__read_node_in(r, n, k, &p)) < 0)
            return status;
        while (p.rank < v->rank - 1)
            ls__value_unsqueeze(&p, p.rank);
        if (p.shape[0] != v->shape[1])
            return ls__refuse("its scale does not fit");
        if ((status = ls__value_like(&p, v)) < 0)
            return status;
        v->node = k == 1 ? ls_mul(v->node, p.node) : ls_add(v->node, p.node);
    }
    return ls__made(v->node);
}

const ls__read_row ls__read_layers[] = {
    {"MatMul", matmul, LS__AS_NODE}, {"Gemm", gemm, LS__AS_NODE},
    {"BatchNormalization GroupNormalization", channel_norm, LS__AS_NODE},
    {"LayerNormalization RMSNormalization", vector_norm, LS__AS_NODE},
    {"InstanceNormalization", instance_norm, LS__AS_NODE}, {NULL, NULL, 0}};
