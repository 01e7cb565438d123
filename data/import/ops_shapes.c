/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators that move numbers and compute none. */
#include "base/error.h"
#include "import/reader.h"

#include <lockstep/arithmetic.h>

#include <math.h>
#include <string.h>

/* ------ the same numbers ------ */

static int same(ls__reader *r, const ls__om_node *n)
{
    const ls__named *x = ls__read_in(r, n, 0);
    ls__named *y = ls__read_out(r, n, 0);
    ls__weight *w;

    (void)ls__read_put(r, n, x);
    if (x->kind != LS__WEIGHT)
        return 0;
    /* Exporters store parameters that begin alike once: each is one of its own
     * under its name. */
    if (!(w = ls__weight_new(r)))
        return LS_ENOMEM;
    *w = (ls__weight){.tensor = x->weight->tensor, .name = y->name};
    y->weight = w;
    return 0;
}

/* Floats of any width stay floats. */
static int cast(ls__reader *r, const ls__om_node *n)
{
    const ls__named *like = ls__read_in(r, n, 1); /* CastLike's */
    ls__named v = *ls__read_in(r, n, 0);
    int64_t to = !like ? ls__om_integer(n, "to", LS__OM_FLOAT)
                 : !like->is_real ? LS__OM_INT64
                 : like->is_truth ? LS__OM_BOOL : LS__OM_FLOAT;
    bool real = to == LS__OM_FLOAT || to == LS__OM_DOUBLE ||
                to == LS__OM_FLOAT16 || to == LS__OM_BFLOAT16;
    bool whole = to == LS__OM_INT32 || to == LS__OM_INT64;

    if (to == LS__OM_BOOL && v.is_real)
        return ls__read_truth_of(r, n);
    v.is_truth = false;
    v.is_real |= v.kind == LS__NUMBERS && real;
    if (v.is_real ? real : whole)
        return ls__read_put(r, n, &v);
    return ls__fail(LS_ENOTSUP, "it changes data to another kind of numbers");
}

static int dropout(ls__reader *r, const ls__om_node *n)
{
    char name[LS__LAYER_NAME];
    double rate, trains;
    ls__named v;
    int status = ls__read_number(r, n, 1, 0.5, &rate);

    if (status < 0 || (status = ls__read_number(r, n, 2, 0, &trains)) < 0)
        return status;
    if (trains == 0 || rate == 0)
        return same(r, n);
    if ((status = ls__read_node_in(r, n, 0, &v)) < 0 ||
        (status = ls__read_layer(r, n, NULL, name)) < 0)
        return status;
    v.node = ls_dropout(v.node, rate, name);
    return v.node ? ls__read_put(r, n, &v) : ls__made(v.node);
}

static int reshape(ls__reader *r, const ls__om_node *n)
{
    int64_t shape[LS_MAX_RANK] = {0}, known = 1, whole;
    bool zero = ls__om_integer(n, "allowzero", 0);
    ls__named v;
    int hole = -1, rank, status;

    if ((rank = ls__read_sizes(r, n, 1, LS_MAX_RANK, shape)) < 0)
        return rank;
    if ((status = ls__read_node_in(r, n, 0, &v)) < 0)
        return status;
    whole = ls__value_count(&v);
    for (int k = 0; k < rank; k++) {
        if (shape[k] == 0 && !zero && k < v.rank)
            shape[k] = v.shape[k];
        if (shape[k] == -1)
            hole = k;
        else if (shape[k] <= 0 || known > INT64_MAX / shape[k])
            return ls__fail(LS_ESHAPE, "its new shape is none");
        else
            known *= shape[k];
    }
    if (hole >= 0 && r->rows && whole % known && whole % LS__ROWS == 0)
        shape[hole] = whole / LS__ROWS * r->rows / known; /* as in the file */
    else if (hole >= 0)
        shape[hole] = whole / known;
    status = ls__value_reshape(&v, rank, shape, 0);
    if (status < 0 && r->rows) /* an export that wrote its number of rows */
        status = ls__value_reshape(&v, rank, shape, r->rows);
    return status < 0 ? status : ls__read_put(r, n, &v);
}

static int flatten(ls__reader *r, const ls__om_node *n)
{
    int64_t shape[2] = {1, 1};
    ls__named v;
    int status = ls__read_node_in(r, n, 0, &v), axis;

    if (status < 0)
        return status;
    axis = (int)ls__om_integer(n, "axis", 1);
    axis = axis < 0 ? axis + v.rank : axis;
    for (int k = 0; k < v.rank; k++)
        shape[k >= axis] *= v.shape[k];
    status = ls__value_reshape(&v, 2, shape, 0);
    return status < 0 ? status : ls__read_put(r, n, &v);
}

static int transpose(ls__reader *r, const ls__om_node *n)
{
    ls__named v = *ls__read_in(r, n, 0);
    int64_t perm[LS_MAX_RANK];
    int got = ls__om_integers(n, "perm", LS_MAX_RANK, perm);
    int order[LS_MAX_RANK];
    bool taken[LS_MAX_RANK] = {false};

    for (int k = 0; k < v.rank; k++) {
        order[k] = got == v.rank ? ls__read_axis(perm[k], v.rank)
                                 : v.rank - 1 - k;
        if (order[k] < 0)
            return order[k];
        if (taken[order[k]])
            return ls__fail(LS_EFORMAT, "an axis stands twice in perm");
        taken[order[k]] = true;
    }
    ls__value_transpose(&v, order);
    return ls__read_put(r, n, &v);
}

/* The axes of Squeeze and Unsqueeze. */
static int listed(ls__reader *r, const ls__om_node *n, int rank,
                  bool axes[2 * LS_MAX_RANK], int *count)
{
    int64_t list[LS_MAX_RANK];
    bool adds = !strcmp(n->op, "Unsqueeze");
    int got = ls__read_in(r, n, 1)
                  ? ls__read_sizes(r, n, 1, LS_MAX_RANK, list) : 0;

    for (int k = 0; k < got; k++) {
        int axis = ls__read_axis(list[k], rank + (adds ? got : 0));

        if (axis < 0)
            return axis;
        axes[axis] = true;
    }
    *count = got;
    return got < 0 ? got : 0;
}

static int squeeze(ls__reader *r, const ls__om_node *n)
{
    bool axes[2 * LS_MAX_RANK] = {false};
    bool adds = !strcmp(n->op, "Unsqueeze");
    ls__named v;
    int count, status = ls__read_node_in(r, n, 0, &v);

    if (status < 0 || (status = listed(r, n, v.rank, axes, &count)) < 0)
        return status;
    if (adds && v.rank + count > LS_MAX_RANK)
        return ls__fail(LS_ENOTSUP, "it has more than %d axes", LS_MAX_RANK);
    for (int k = 0; k < 2 * LS_MAX_RANK && adds; k++)
        if (axes[k] && k <= v.rank)
            ls__value_unsqueeze(&v, k);
    for (int k = 0; k < v.rank && !adds; k++) {
        if (!count)
            axes[k] = v.shape[k] == 1;
        if (axes[k] && v.shape[k] != 1)
            return ls__fail(LS_ESHAPE, "axis %d has more than one element", k);
    }
    if (!adds)
        ls__value_squeeze(&v, axes);
    return ls__read_put(r, n, &v);
}

static int expand(ls__reader *r, const ls__om_node *n)
{
    ls__named v, to = {.kind = LS__NUMBERS}, from;
    int64_t shape[LS_MAX_RANK];
    int rank, status = ls__read_node_in(r, n, 0, &v);

    if (status < 0)
        return status;
    if ((to.rank = ls__read_sizes(r, n, 1, LS_MAX_RANK, to.shape)) < 0)
        return to.rank;
    if (!ls__value_join(&v, &to, &rank, shape))
        return ls__fail(LS_ESHAPE, "its new shape does not fit");
    from = *ls__read_in(r, n, 0);
    if ((status = ls__value_expand(&v, rank, shape)) < 0)
        return status;
    if (from.kind == LS__NUMBERS && (status = ls__read_known(r, &v, &from)) < 0)
        return status;
    return ls__read_put(r, n, &v);
}

const ls__read_row ls__read_shapes[] = {
    {"Identity", same}, {"Cast", cast}, {"CastLike", cast},
    {"Dropout", dropout}, {"Reshape", reshape}, {"Flatten", flatten},
    {"Transpose", transpose}, {"Squeeze", squeeze}, {"Unsqueeze", squeeze},
    {"Expand", expand}, {NULL, NULL}};
