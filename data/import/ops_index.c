/* SPDX-License-Identifier: BSD-3-Clause */
/* Elements by indices: rows of a table, and those that are known. */
#include "base/error.h"
#include "import/reader.h"

#include <lockstep/arithmetic.h>

#include <string.h>

static int embed(ls__reader *r, const ls__om_node *n, const ls__named *table)
{
    static const int plain[] = {0, 1};
    char name[LS__LAYER_NAME];
    ls__named v;
    int64_t shape[LS_MAX_RANK];
    int order[LS_MAX_RANK], axes, status;
    ls_node *x;

    if ((status = ls__read_node_in(r, n, 1, &v)) < 0 ||
        (status = ls__read_layer(r, n, table, name)) < 0 ||
        (status = ls__read_param(r, name, "embedding", table, 0, 2,
                                 table->shape, plain)) < 0)
        return status;
    if (v.rank + 1 > LS_MAX_RANK)
        return ls__fail(LS_ENOTSUP, "it has too many axes");
    axes = ls__value_order(&v, -1, order);
    if ((status = ls__value_in_order(&v, axes, order, &x)) < 0)
        return status;
    memcpy(shape, v.shape, sizeof shape);
    shape[v.rank] = table->shape[1];
    order[axes] = v.rank;
    status = ls__value_set(&v, ls_embed(x, table->shape[0], table->shape[1],
                                        name), v.rank + 1, shape, axes + 1,
                           order);
    return status < 0 ? status : ls__read_put(r, n, &v);
}

/* Give an axis of as many elements the shape of its indices. */
static int index_axes(ls__named *v, int axis, const ls__named *of)
{
    int64_t shape[2 * LS_MAX_RANK];
    int rank = v->rank - 1 + of->rank;

    if (of->rank == 1)
        return 0;
    if (rank > LS_MAX_RANK)
        return ls__fail(LS_ENOTSUP, "it has too many axes");
    for (int k = 0; k < rank; k++)
        shape[k] = k < axis ? v->shape[k]
                   : k < axis + of->rank ? of->shape[k - axis]
                                         : v->shape[k + 1 - of->rank];
    return ls__value_reshape(v, rank, shape, 0);
}

/* Many known indices of the first axis of a matrix: a product with ones where
 * they point. */
static int many(ls__reader *r, const ls__om_node *n, ls__named *v, int axis,
                const ls__named *of)
{
    int64_t size = v->shape[0], count = ls__value_count(of);
    ls__named ones = {.name = n->output[0]}, y = {.name = n->output[0]};
    int status;

    if (axis || v->rank != 2 || size > 4096)
        return ls__fail(LS_ENOTSUP, "read are up to 64 indices, and more of "
                        "the first axis of a matrix");
    status = ls__fold_new(r, &ones, 2, (int64_t[]){count, size}, true);
    if (status < 0)
        return status;
    for (int64_t i = 0; i < count; i++) {
        double at = of->number[i] + (of->number[i] < 0 ? (double)size : 0);

        if (!(at >= 0 && at < (double)size))
            return ls__fail(LS_ESHAPE, "its index is out of range");
        for (int64_t k = 0; k < size; k++)
            ones.number[i * size + k] = (double)k == at;
    }
    if ((status = ls__read_as_node(r, n->output[0], &ones)) < 0 ||
        (status = ls__value_product(&ones, v, &y)) < 0 ||
        (status = index_axes(&y, 0, of)) < 0)
        return status;
    return ls__read_put(r, n, &y);
}

static int gather(ls__reader *r, const ls__om_node *n)
{
    const ls__named *x = ls__read_in(r, n, 0), *of = ls__read_in(r, n, 1);
    int axis = ls__read_axis(ls__om_integer(n, "axis", 0), x->rank), status;
    bool drop[LS_MAX_RANK] = {false};
    int64_t index[64], wide[LS_MAX_RANK];
    int count, runs = 0;
    ls__named v, parts[64], whole, last;

    if (axis < 0 || !of)
        return axis;
    if (!strcmp(n->op, "GatherND")) { /* of one axis: the last one is gone */
        last = *of;
        axis = 0;
        if (of->kind != LS__NUMBERS || of->rank < 1 ||
            of->shape[--last.rank] != 1 || ls__om_integer(n, "batch_dims", 0))
            return ls__fail(LS_ENOTSUP, "read are known indices of the first "
                            "axis");
        of = &last;
    }
    whole = *of;
    if (of->kind == LS__NODE && of->known && of->known_of == of->node)
        of = of->known; /* the same in every row */
    if (x->kind == LS__WEIGHT && of->kind == LS__NODE && axis == 0 &&
        x->rank == 2)
        return embed(r, n, x);
    if (of->kind != LS__NUMBERS)
        return ls__fail(LS_ENOTSUP, "read are known indices, and rows of an "
                        "initializer of two axes");
    if ((status = ls__read_node_in(r, n, 0, &v)) < 0)
        return status;
    if (ls__value_count(of) > 64)
        return many(r, n, &v, whole.kind == LS__NUMBERS ? axis : -1, of);
    count = (int)ls__value_count(of);
    drop[axis] = of->rank == 0;
    for (int k = 0; k < count; k++) {
        double size = (double)v.shape[axis];
        double at = of->number[k] + (of->number[k] < 0 ? size : 0);

        if (!(at >= 0 && at < size))
            return ls__fail(LS_ESHAPE, "its index is out of range");
        index[k] = (int64_t)at;
    }
    for (int k = 0, next; k < count; k = next) { /* runs of neighbours */
        for (next = k + 1; next < count && index[next] == index[next - 1] + 1;)
            next++;
        parts[runs] = v;
        status = ls__read_part(&parts[runs++], axis, index[k], next - k);
        if (status < 0)
            return status;
    }
    if (!runs)
        return ls__fail(LS_ENOTSUP, "it takes nothing");
    if (runs > 1 && (status = ls__read_join(r, runs, parts, 0, axis)) < 0)
        return status;
    if (drop[axis])
        ls__value_squeeze(parts, drop);
    else if ((status = index_axes(parts, axis, of)) < 0)
        return status;
    if (whole.kind == LS__NODE) {
        int rank = parts->rank - of->rank + whole.rank;

        for (int k = 0; k < whole.rank && rank <= LS_MAX_RANK; k++)
            wide[k] = whole.shape[k];
        for (int k = whole.rank; k < rank && rank <= LS_MAX_RANK; k++)
            wide[k] = parts->shape[k - rank + parts->rank];
        if (axis || rank > LS_MAX_RANK)
            return ls__fail(LS_ENOTSUP, "read are indices of the first axis");
        if ((status = ls__value_expand(parts, rank, wide)) < 0)
            return status;
    }
    return ls__read_put(r, n, parts);
}

const ls__read_row ls__read_index[] = {
    {"Gather", gather}, {"GatherND", gather}, {NULL, NULL}};
