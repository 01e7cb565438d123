/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators that move numbers and compute none. */
#include "base/error.h"
#include "import/fold.h"

#include <lockstep/arithmetic.h>

#include <string.h>

/* ------ the same numbers ------ */

static int same(ls__reader *r, const ls__om_node *n, ls__named *v)
{
    ls__weight *w;

    if (v->kind != LS__WEIGHT)
        return 0;
    /* Exporters store parameters that begin alike once: each is one of its own
     * under its name. */
    if (!(w = ls__weight_new(r)))
        return LS_ENOMEM;
    *w = (ls__weight){.tensor = v->weight->tensor, .name = n->output[0]};
    v->weight = w;
    return 0;
}

/* Floats of any width stay floats. */
static int cast(ls__reader *r, const ls__om_node *n, ls__named *v)
{
    const ls__named *like = ls__read_in(r, n, 1); /* CastLike's */
    int64_t to = !like ? ls__om_integer(n, "to", LS__OM_FLOAT)
                 : !like->is_real ? LS__OM_INT64
                 : like->is_truth ? LS__OM_BOOL : LS__OM_FLOAT;
    bool real = ls__om_is_real(to);

    if (to == LS__OM_BOOL && v->is_real)
        return ls__read_truth_of(r, n, v);
    v->is_truth = false;
    v->is_real |= v->kind == LS__NUMBERS && real;
    if (v->is_real ? real : to == LS__OM_INT32 || to == LS__OM_INT64)
        return 0;
    return ls__refuse("it changes data to another kind of numbers");
}

static int dropout(ls__reader *r, const ls__om_node *n, ls__named *v)
{
    char name[LS__LAYER_NAME];
    double rate, trains;
    int status = ls__read_number(r, n, 1, 0.5, &rate);

    if (status < 0 || (status = ls__read_number(r, n, 2, 0, &trains)) < 0)
        return status;
    if (trains == 0 || rate == 0)
        return same(r, n, v);
    if ((status = ls__read_as_node(r, v->name, v)) < 0 ||
        (status = ls__read_layer(r, n, NULL, name)) < 0)
        return status;
    return ls__value_with(v, ls_dropout(v->node, rate, name));
}

static int reshape(ls__reader *r, const ls__om_node *n, ls__named *v)
{
    int64_t shape[LS_MAX_RANK] = {0}, known = 1, whole = ls__value_count(v);
    bool zero = ls__om_integer(n, "allowzero", 0);
    int hole = -1, rank = ls__read_sizes(r, n, 1, LS_MAX_RANK, shape), status;

    if (rank < 0)
        return rank;
    for (int k = 0; k < rank; k++) {
        if (shape[k] == 0 && !zero && k < v->rank)
            shape[k] = v->shape[k];
        if (shape[k] == -1)
            hole = k;
        else if (shape[k] < (v->kind != LS__NUMBERS) ||
                 (shape[k] && known > INT64_MAX / shape[k]))
            return ls__refuse("its new shape is none");
        else
            known *= shape[k];
    }
    if (hole >= 0 && r->rows && known && whole % known && whole % LS__ROWS == 0)
        shape[hole] = whole / LS__ROWS * r->rows / known; /* as in the file */
    else if (hole >= 0)
        shape[hole] = known ? whole / known : 0;
    status = ls__value_reshape(v, rank, shape, 0);
    if (status < 0 && r->rows) /* an export that wrote its number of rows */
        status = ls__value_reshape(v, rank, shape, r->rows);
    return status;
}

static int flatten(ls__reader *r, const ls__om_node *n, ls__named *v)
{
    int64_t shape[2] = {1, 1};
    int axis = (int)ls__om_integer(n, "axis", 1);

    (void)r;
    axis = axis < 0 ? axis + v->rank : axis;
    for (int k = 0; k < v->rank; k++)
        shape[k >= axis] *= v->shape[k];
    return ls__value_reshape(v, 2, shape, 0);
}

static int transpose(ls__reader *r, const ls__om_node *n, ls__named *v)
{
    int64_t perm[LS_MAX_RANK];
    int got = ls__om_integers(n, "perm", LS_MAX_RANK, perm);
    int order[LS_MAX_RANK];
    bool taken[LS_MAX_RANK] = {false};

    (void)r;
    for (int k = 0; k < v->rank; k++) {
        order[k] = got == v->rank ? ls__read_axis(perm[k], v->rank)
                                  : v->rank - 1 - k;
        if (order[k] < 0)
            return order[k];
        if (taken[order[k]])
            return ls__refuse("an axis stands twice in perm");
        taken[order[k]] = true;
    }
    ls__value_transpose(v, order);
    return 0;
}

static int squeeze(ls__reader *r, const ls__om_node *n, ls__named *v)
{
    bool which[2 * LS_MAX_RANK] = {false}, adds = ls__om_is(n, "Unsqueeze");
    int64_t list[LS_MAX_RANK];
    int count = ls__read_in(r, n, 1)
                    ? ls__read_sizes(r, n, 1, LS_MAX_RANK, list) : 0;

    for (int k = 0; k < count; k++) {
        int axis = ls__read_axis(list[k], v->rank + (adds ? count : 0));

        if (axis < 0)
            return axis;
        which[axis] = true;
    }
    if (count < 0 || (adds && v->rank + count > LS_MAX_RANK))
        return count < 0 ? count : ls__refuse("it has more than %d axes",
                                              LS_MAX_RANK);
    for (int k = 0; k < 2 * LS_MAX_RANK && adds; k++)
        if (which[k] && k <= v->rank)
            ls__value_unsqueeze(v, k);
    for (int k = 0; k < v->rank && !adds; k++) {
        if (!ls__read_in(r, n, 1))
            which[k] = v->shape[k] == 1;
        if (which[k] && v->shape[k] != 1)
            return ls__refuse("axis %d has more than one element", k);
    }
    if (!adds)
        ls__value_squeeze(v, which);
    return 0;
}

static int expand(ls__reader *r, const ls__om_node *n, ls__named *v)
{
    ls__named to = {.kind = LS__NUMBERS}, from = *v;
    int64_t shape[LS_MAX_RANK];
    int rank, status;

    if ((to.rank = ls__read_sizes(r, n, 1, LS_MAX_RANK, to.shape)) < 0)
        return to.rank;
    if (!ls__value_join(v, &to, &rank, shape) || ls__count(rank, shape) < 0)
        return ls__refuse("its new shape does not fit");
    if (v->kind == LS__NODE || ls__count(rank, shape) <= LS__MOST_NUMBERS)
        return ls__value_expand(v, rank, shape);
    if ((status = ls__read_as_node(r, v->name, v)) < 0 || /* in every row */
        (status = ls__value_expand(v, rank, shape)) < 0)
        return status;
    return ls__read_known(r, v, &from);
}

const ls__read_row ls__read_shapes[] = {
    {"Identity", same, LS__AS_IT_IS}, {"Cast CastLike", cast, LS__AS_IT_IS},
    {"Dropout", dropout, LS__AS_IT_IS}, {"Reshape", reshape, LS__MOVED},
    {"Flatten", flatten, LS__AS_NODE}, {"Transpose", transpose, LS__AS_IT_IS},
    {"Squeeze Unsqueeze", squeeze, LS__MOVED}, {"Expand", expand, LS__MOVED},
    {NULL, NULL, 0}};
