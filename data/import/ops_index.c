/* SPDX-License-Identifier: BSD-3-Clause */
/* Elements by indices: rows of a table, and those that are known. */
#include "base/error.h"
#include "import/heads.h"

#include <lockstep/arithmetic.h>

static int embed(ls__reader *r, const ls__om_node *n, const ls__named *table,
                 ls__named *v)
{
    static const int plain[] = {0, 1};
    int64_t count = table->shape[0], width = table->shape[1];
    char name[LS__LAYER_NAME];
    int status;
    ls__lie lie;
    ls_node *x;

    if ((status = ls__read_node_in(r, n, 1, v)) < 0 ||
        (status = ls__read_layer(r, n, table, name)) < 0 ||
        (status = ls__read_param(r, name, "embedding", table, 0, 2,
                                 table->shape, plain)) < 0)
        return status;
    if (v->rank + 1 > LS_MAX_RANK)
        return ls__refuse("it has too many axes");
    if (!(x = ls__value_lying(v, -1, &lie)))
        return ls__made(x);
    v->shape[v->rank] = width;
    lie.order[lie.axes++] = v->rank++;
    return ls__value_set_lying(v, ls_embed(x, count, width, name), &lie);
}

/* Give an axis of as many elements the shape of its indices. */
static int index_axes(ls__named *v, int axis, const ls__named *of)
{
    int64_t shape[2 * LS_MAX_RANK];
    int rank = v->rank - 1 + of->rank;

    if (of->rank == 1)
        return 0;
    if (rank > LS_MAX_RANK)
        return ls__refuse("it has too many axes");
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
    ls__named ones = {.name = n->output[0]}, x = *v;
    int status;

    if (axis || v->rank != 2 || size > 4096)
        return ls__refuse("read are up to 64 indices, and more of the first "
                          "axis of a matrix");
    status = ls__fold_new(r, &ones, 2, (int64_t[]){count, size}, true);
    if (status < 0)
        return status;
    for (int64_t i = 0; i < count; i++) {
        int64_t at = ls__read_index_of(of->number[i], size);

        if (at < 0)
            return (int)at;
        ones.number[i * size + at] = 1;
    }
    if ((status = ls__read_as_node(r, n->output[0], &ones)) < 0 ||
        (status = ls__value_product(&ones, &x, v)) < 0)
        return status;
    return index_axes(v, 0, of);
}

enum { FEW = 64 };

/* Take few known indices of an axis: runs of neighbours, joined. */
static int take_few(ls__reader *r, ls__named *v, int axis, const ls__named *of)
{
    ls__named parts[FEW];
    int64_t index[FEW];
    int count = (int)ls__value_count(of), runs = 0, status;

    for (int k = 0; k < count; k++)
        if ((index[k] = ls__read_index_of(of->number[k], v->shape[axis])) < 0)
            return (int)index[k];
    for (int k = 0, next; k < count; k = next) {
        for (next = k + 1; next < count && index[next] == index[next - 1] + 1;)
            next++;
        parts[runs] = *v;
        status = ls__read_part(&parts[runs++], axis, index[k], next - k);
        if (status < 0)
            return status;
    }
    if (count < 1)
        return ls__refuse("it takes nothing");
    if (runs > 1 && (status = ls__read_join(r, runs, parts, 0, axis)) < 0)
        return status;
    *v = parts[0];
    if (of->rank == 0)
        ls__value_drop(v, axis);
    return of->rank == 0 ? 0 : index_axes(v, axis, of);
}

/* Repeat what known indices took, of rank `rank`, for each of the indices that
 * a node has, which are the same in every row. */
static int repeat(ls__named *y, int axis, int rank, const ls__named *of)
{
    int64_t wide[LS_MAX_RANK];
    int all = y->rank - rank + of->rank;

    if (axis || all > LS_MAX_RANK)
        return ls__refuse("read are indices of the first axis");
    for (int k = 0; k < all; k++)
        wide[k] = k < of->rank ? of->shape[k] : y->shape[k - all + y->rank];
    return ls__value_expand(y, all, wide);
}

static int gather(ls__reader *r, const ls__om_node *n, ls__named *v)
{
    const ls__named *given = ls__read_in(r, n, 1), *known;
    int axis = ls__read_axis_of(n, 0, v->rank), status;
    ls__named of, x = *v;

    if (axis < 0 || !given)
        return axis < 0 ? axis : ls__refuse("it lacks input 1");
    of = *given;
    if (ls__om_is(n, "GatherND")) { /* of one axis, the last one is gone */
        if (of.kind != LS__NUMBERS || of.rank < 1 ||
            of.shape[--of.rank] != 1 || ls__om_integer(n, "batch_dims", 0))
            return ls__refuse("read are known indices of the first axis");
        axis = 0;
    }
    known = ls__numbers_of(&of); /* the same in every row */
    if (x.kind == LS__WEIGHT && of.kind == LS__NODE && !known && axis == 0 &&
        x.rank == 2)
        return embed(r, n, &x, v);
    if (!known)
        return ls__refuse("read are known indices, and rows of an initializer "
                          "of two axes");
    if ((status = ls__read_as_node(r, v->name, v)) < 0)
        return status;
    if (ls__value_count(known) > FEW)
        return many(r, n, v, of.kind == LS__NUMBERS ? axis : -1, known);
    status = take_few(r, v, axis, known);
    return status < 0 || of.kind != LS__NODE
               ? status : repeat(v, axis, known->rank, &of);
}

const ls__read_row ls__read_index[] = {
    {"Gather GatherND", gather, LS__AS_IT_IS}, {NULL, NULL, 0}};
