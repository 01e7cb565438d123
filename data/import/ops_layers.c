/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators with parameters, and windows over images. */
#include "base/error.h"
#include "import/reader.h"

#include <lockstep/arithmetic.h>
#include <lockstep/norms.h>

#include <string.h>

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
        return ls__fail(LS_ESHAPE, "its matrices do not fit");
    o.no_bias = !bias || ls__is_zero(bias);
    if ((status = ls__value_last(v, &x)) < 0 ||
        (status = ls__read_layer(r, n, w, name)) < 0 ||
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

        if (strcmp(add->op, "Add") || add->inputs != 2 || add->outputs != 1)
            continue;
        for (int k = 0; k < 2; k++) {
            *bias = ls__read_in(r, add, k);
            if (ls__read_in(r, add, !k) == y && is_bias(*bias, size))
                return i;
        }
    }
    return -1;
}

static int matmul(ls__reader *r, const ls__om_node *n)
{
    ls__named a, b, y = {.name = n->output[0]};
    bool ones[LS_MAX_RANK] = {false}, vector;
    const ls__named *w = ls__read_in(r, n, 1), *bias = NULL;
    int status = ls__read_node_in(r, n, 0, &a), add = -1;

    if (status < 0 || !w)
        return status;
    if (w->kind == LS__WEIGHT && w->rank == 2 && a.rank > 0) {
        b = *w;
        add = bias_behind(r, n, w->shape[1], &bias);
        status = dense(r, n, &a, &b, add < 0 ? NULL : bias);
        if (status < 0)
            return status;
        if (add >= 0) {
            r->done[add] = true;
            (void)ls__read_put(r, &r->file->om.node[add], &a);
        }
        return ls__read_put(r, n, &a);
    }
    if ((status = ls__read_node_in(r, n, 1, &b)) < 0)
        return status;
    if ((vector = b.rank == 1))
        ls__value_unsqueeze(&b, 1);
    ones[b.rank > a.rank ? b.rank - 2 : 0] = a.rank == 1;
    if ((status = ls__value_product(&a, &b, &y)) < 0)
        return status;
    ones[y.rank - 1] = vector;
    ls__value_squeeze(&y, ones);
    return ls__read_put(r, n, &y);
}

/* alpha A B + beta C */
static int gemm(ls__reader *r, const ls__om_node *n)
{
    static const int turned[] = {1, 0};
    double alpha = ls__om_real(n, "alpha", 1), beta = ls__om_real(n, "beta", 1);
    ls__named a, b, c = {0}, y = {.name = n->output[0]};
    const ls__named *added = ls__read_in(r, n, 2);
    int status = ls__read_node_in(r, n, 0, &a);
    bool own;

    if (status < 0 || !ls__read_in(r, n, 1))
        return status;
    b = *ls__read_in(r, n, 1);
    if (a.rank != 2 || b.rank != 2)
        return ls__fail(LS_ESHAPE, "it wants matrices");
    if (b.kind != LS__WEIGHT &&
        (status = ls__read_as_node(r, n->input[1], &b)) < 0)
        return status;
    if (ls__om_integer(n, "transA", 0))
        ls__value_transpose(&a, turned);
    if (ls__om_integer(n, "transB", 0))
        ls__value_transpose(&b, turned);
    if (added) {
        static const bool first[LS_MAX_RANK] = {true};

        c = *added;
        if (c.rank == 2 && c.shape[0] == 1 && c.kind != LS__NUMBERS &&
            c.kind != LS__WEIGHT)
            ls__value_squeeze(&c, first);
    }
    own = beta == 1 && alpha == 1 && is_bias(added, b.shape[1]);
    if (b.kind == LS__WEIGHT) {
        if ((status = dense(r, n, &a, &b, own ? &c : NULL)) < 0)
            return status;
        y = a;
    } else if ((status = ls__value_product(&a, &b, &y)) < 0) {
        return status;
    }
    if (alpha != 1)
        y.node = ls_scale_shift(y.node, alpha, 0);
    if (!added || (own && b.kind == LS__WEIGHT) || ls__is_zero(added))
        return y.node ? ls__read_put(r, n, &y) : ls__made(y.node);
    if ((status = ls__read_as_node(r, n->input[2], &c)) < 0)
        return status;
    if (beta != 1)
        c.node = ls_scale_shift(c.node, beta, 0);
    return y.node && c.node ? ls__read_add(r, n, &y, &c) : ls__made(NULL);
}

/* ------ norms ------ */

/* Parameters of n numbers each, by their names here; one that the node lacks is
 * the constant `usual`. */
typedef struct part {
    const char *own;
    double usual;
} part;

static int params(ls__reader *r, const ls__om_node *n, const char *layer,
                  int count, const part *of, int64_t size)
{
    static const int plain[] = {0};
    int status = 0;

    for (int k = 0; k < count && status == 0; k++)
        status = ls__read_param(r, layer, of[k].own, ls__read_in(r, n, k + 1),
                                of[k].usual, 1, &size, plain);
    return status;
}

static const part norm_parts[] = {
    {"scale", 1}, {"bias", 0}, {"mean", 0}, {"var", 1}};

static int batch_norm(ls__reader *r, const ls__om_node *n)
{
    ls_batch_norm_options o = ls_batch_norm_defaults();
    bool trains = ls__om_integer(n, "training_mode", 0) ||
                  r->options->batch_norm;
    char name[LS__LAYER_NAME];
    int order[LS_MAX_RANK], axes, status;
    int64_t shape[LS_MAX_RANK];
    ls__named v;
    ls_node *x;

    if ((status = ls__read_node_in(r, n, 0, &v)) < 0)
        return status;
    if (v.rank < 2 || n->inputs != 5)
        return ls__fail(LS_ENOTSUP, "it has no channels, or too few inputs");
    o.statistics = trains ? LS_STATISTICS_OF_BATCH : LS_STATISTICS_STORED;
    o.epsilon = ls__om_real(n, "epsilon", (double)1e-5f);
    o.momentum = ls__om_real(n, "momentum", (double)0.9f);
    axes = ls__value_order(&v, 1, order);
    if ((status = ls__value_in_order(&v, axes, order, &x)) < 0 ||
        (status = ls__read_layer(r, n, ls__read_in(r, n, 1), name)) < 0 ||
        (status = params(r, n, name, 4, norm_parts, v.shape[1])) < 0)
        return status;
    memcpy(shape, v.shape, sizeof shape);
    status = ls__value_set(&v, ls_batch_norm_with(x, &o, name), v.rank, shape,
                           axes, order);
    return status < 0 ? status : ls__read_put(r, n, &v);
}

/* Norms over the last axis. */
static int vector_norm(ls__reader *r, const ls__om_node *n)
{
    ls_norm_options o = ls_norm_defaults();
    bool squares = strcmp(n->op, "LayerNormalization");
    char name[LS__LAYER_NAME];
    ls__named v;
    ls_node *x;
    int status = ls__read_node_in(r, n, 0, &v), axis;

    if (status < 0)
        return status;
    axis = ls__read_axis(ls__om_integer(n, "axis", -1), v.rank);
    if (axis != v.rank - 1)
        return axis < 0 ? axis : ls__fail(LS_ENOTSUP, "read is a norm over the "
                                          "last axis; this goes from %d on",
                                          axis);
    o.epsilon = ls__om_real(n, "epsilon", (double)1e-5f);
    o.two_passes = true;
    if ((status = ls__value_last(&v, &x)) < 0 ||
        (status = ls__read_layer(r, n, ls__read_in(r, n, 1), name)) < 0 ||
        (status = params(r, n, name, squares ? 1 : 2, norm_parts,
                         v.shape[axis])) < 0)
        return status;
    x = squares ? ls_rms_norm(x, o.epsilon, name)
                : ls_layer_norm_with(x, &o, name);
    status = ls__value_set_last(&v, x, v.shape[axis]);
    return status < 0 ? status : ls__read_put(r, n, &v);
}

static int group_norm(ls__reader *r, const ls__om_node *n)
{
    ls_norm_options o = ls_norm_defaults();
    int64_t groups = ls__om_integer(n, "num_groups", 1), shape[LS_MAX_RANK];
    char name[LS__LAYER_NAME];
    int order[LS_MAX_RANK], axes, status;
    ls__named v;
    ls_node *x;

    if ((status = ls__read_node_in(r, n, 0, &v)) < 0)
        return status;
    if (v.rank < 2 || groups < 1 || groups > INT32_MAX)
        return ls__fail(LS_ESHAPE, "it has no channels");
    o.epsilon = ls__om_real(n, "epsilon", (double)1e-5f);
    o.two_passes = true;
    axes = ls__value_order(&v, 1, order);
    if ((status = ls__value_in_order(&v, axes, order, &x)) < 0 ||
        (status = ls__read_layer(r, n, ls__read_in(r, n, 1), name)) < 0 ||
        (status = params(r, n, name, 2, norm_parts, v.shape[1])) < 0)
        return status;
    memcpy(shape, v.shape, sizeof shape);
    status = ls__value_set(&v, ls_group_norm_with(x, (int)groups, &o, name),
                           v.rank, shape, axes, order);
    return status < 0 ? status : ls__read_put(r, n, &v);
}

/* (x - mean) / sqrt(var + epsilon) scale + bias over all axes behind the
 * second, of which each element is a channel. */
static int instance_norm(ls__reader *r, const ls__om_node *n)
{
    double epsilon = ls__om_real(n, "epsilon", (double)1e-5f);
    ls__named v, mean, var, p;
    int axes[LS__ATOMS], count = 0, status = ls__read_node_in(r, n, 0, &v);

    if (status < 0)
        return status;
    if (v.rank < 3 || ls__value_rows(&v) != 0)
        return ls__fail(LS_ENOTSUP, "it wants (rows,channels,..)");
    for (int i = 0; i < v.atoms; i++)
        if (v.atom[i].axis > 1)
            axes[count++] = v.atom[i].place;
    for (int k = 0; k < 2; k++) { /* mean; then the mean of squares */
        ls__named *m = k ? &var : &mean;
        int at[LS_MAX_RANK], kept = 0;
        int64_t shape[LS_MAX_RANK] = {LS__ROWS, v.shape[1]};
        ls_node *x = k ? ls_square(v.node) : v.node;

        x = count ? ls_mean_over(x, count, axes) : x;
        for (int i = 2; i < v.rank; i++)
            shape[i] = 1;
        *m = (ls__named){.name = v.name};
        for (int i = 0; i < v.atoms; i++)
            if (v.atom[i].axis == 1)
                at[kept++] = i;
        if (kept > 1) /* channels that lie in several axes, in their order */
            for (int i = 1; i < kept; i++)
                if (v.atom[at[i]].place < v.atom[at[i - 1]].place)
                    return ls__fail(LS_ENOTSUP, "its channels lie apart");
        x = x ? ls_reshape(x, 1, shape + 1) : NULL;
        if ((status = ls__value_set(m, x, v.rank, shape, 1, (int[]){1})) < 0 ||
            (status = ls__value_like(m, &v)) < 0)
            return status;
        if (k == 0)
            v.node = ls_sub(v.node, m->node);
        else
            v.node = ls_div(v.node, ls_sqrt(ls_scale_shift(m->node, 1,
                                                           epsilon)));
        if (!v.node)
            return ls__made(v.node);
    }
    for (int k = 1; k < 3; k++) {
        if ((status = ls__read_node_in(r, n, k, &p)) < 0)
            return status;
        while (p.rank < v.rank - 1)
            ls__value_unsqueeze(&p, p.rank);
        if (p.shape[0] != v.shape[1])
            return ls__fail(LS_ESHAPE, "its scale does not fit");
        if ((status = ls__value_like(&p, &v)) < 0)
            return status;
        v.node = k == 1 ? ls_mul(v.node, p.node) : ls_add(v.node, p.node);
    }
    return v.node ? ls__read_put(r, n, &v) : ls__made(v.node);
}

const ls__read_row ls__read_layers[] = {
    {"MatMul", matmul}, {"Gemm", gemm}, {"BatchNormalization", batch_norm},
    {"LayerNormalization", vector_norm}, {"RMSNormalization", vector_norm},
    {"GroupNormalization", group_norm},
    {"InstanceNormalization", instance_norm}, {NULL, NULL}};
