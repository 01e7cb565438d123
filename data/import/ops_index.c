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
        int64_t at = ls__read_index_of(of->number[i], size);

        if (at < 0)
            return (int)at;
        for (int64_t k = 0; k < size; k++)
            ones.number[i * size + k] = k == at;
    }
    if ((status = ls__read_as_node(r, n->output[0], &ones)) < 0 ||
        (status = ls__value_product(&ones, v, &y)) < 0 ||
        (status = index_axes(&y, 0, of)) < 0)
        return status;
    return ls__read_put(r, n, &y);
}

enum { FEW = 64 };

/* The known indices of an axis, those from its end as from its beginning. */
static int known_indices(const ls__named *of, int64_t size, int64_t index[FEW])
{
    int count = (int)ls__value_count(of);

    for (int k = 0; k < count; k++)
        if ((index[k] = ls__read_index_of(of->number[k], size)) < 0)
            return (int)index[k];
    return count;
}

/* Take few known indices of an axis: runs of neighbours, joined. */
static int take_few(ls__reader *r, const ls__named *v, int axis,
                    const ls__named *of, ls__named parts[FEW])
{
    int64_t index[FEW];
    int count = known_indices(of, v->shape[axis], index), runs = 0, status;

    for (int k = 0, next; k < count; k = next) {
        for (next = k + 1; next < count && index[next] == index[next - 1] + 1;)
            next++;
        parts[runs] = *v;
        status = ls__read_part(&parts[runs++], axis, index[k], next - k);
        if (status < 0)
            return status;
    }
    if (count < 1)
        return count < 0 ? count : ls__fail(LS_ENOTSUP, "it takes nothing");
    if (runs > 1 && (status = ls__read_join(r, runs, parts, 0, axis)) < 0)
        return status;
    if (of->rank == 0) {
        bool drop[LS_MAX_RANK] = {false};

        drop[axis] = true;
        ls__value_squeeze(parts, drop);
        return 0;
    }
    return index_axes(parts, axis, of);
}

/* Repeat what known indices took, of rank `rank`, for each of the indices that
 * a node has, which are the same in every row. */
static int repeat(ls__named *y, int axis, int rank, const ls__named *of)
{
    int64_t wide[LS_MAX_RANK];
    int all = y->rank - rank + of->rank;

    if (axis || all > LS_MAX_RANK)
        return ls__fail(LS_ENOTSUP, "read are indices of the first axis");
    for (int k = 0; k < all; k++)
        wide[k] = k < of->rank ? of->shape[k] : y->shape[k - all + y->rank];
    return ls__value_expand(y, all, wide);
}

/* The indices of GatherND, of one axis: the last one is gone. */
static int one_axis(const ls__om_node *n, ls__named *of)
{
    if (of->kind != LS__NUMBERS || of->rank < 1 ||
        of->shape[--of->rank] != 1 || ls__om_integer(n, "batch_dims", 0))
        return ls__fail(LS_ENOTSUP, "read are known indices of the first axis");
    return 0;
}

static int gather(ls__reader *r, const ls__om_node *n)
{
    const ls__named *x = ls__read_in(r, n, 0), *given = ls__read_in(r, n, 1);
    bool nd = !strcmp(n->op, "GatherND");
    int axis = ls__read_axis(ls__om_integer(n, "axis", 0), x->rank), status;
    ls__named v, parts[FEW], of, known;

    if (axis < 0 || !given)
        return axis;
    of = *given;
    if (nd && (status = one_axis(n, &of)) < 0)
        return status;
    axis = nd ? 0 : axis;
    known = of.kind == LS__NODE && of.known && of.known_of == of.node
                ? *of.known : of; /* the same in every row */
    if (x->kind == LS__WEIGHT && known.kind == LS__NODE && axis == 0 &&
        x->rank == 2)
        return embed(r, n, x);
    if (known.kind != LS__NUMBERS)
        return ls__fail(LS_ENOTSUP, "read are known indices, and rows of an "
                        "initializer of two axes");
    if ((status = ls__read_node_in(r, n, 0, &v)) < 0)
        return status;
    if (ls__value_count(&known) > FEW)
        return many(r, n, &v, of.kind == LS__NUMBERS ? axis : -1, &known);
    status = take_few(r, &v, axis, &known, parts);
    if (status == 0 && of.kind == LS__NODE)
        status = repeat(parts, axis, known.rank, &of);
    return status < 0 ? status : ls__read_put(r, n, parts);
}

const ls__read_row ls__read_index[] = {
    {"Gather", gather}, {"GatherND", gather}, {NULL, NULL}};
