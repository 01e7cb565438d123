/* SPDX-License-Identifier: BSD-3-Clause */
/* Other shapes for the same numbers, and repeated ones. */
#include "base/assert.h"
#include "base/error.h"
#include "import/value.h"

#include <lockstep/arithmetic.h>
#include <string.h>

void ls__strides(const ls__named *v, int rank, int64_t *stride)
{
    int64_t by = 1;

    memset(stride, 0, LS_MAX_RANK * sizeof *stride);
    for (int k = v->rank; k-- > 0; by *= v->shape[k])
        stride[k + rank - v->rank] = v->shape[k] == 1 ? 0 : by;
}

void ls__value_transpose(ls__named *v, const int *order)
{
    ls__named was = *v;

    v->atoms = 0;
    for (int k = 0; k < v->rank; k++) {
        v->shape[k] = was.shape[order[k]];
        v->order[k] = was.order[order[k]];
        v->stride[k] = was.stride[order[k]];
        for (int i = 0; i < was.atoms; i++)
            if (was.atom[i].axis == order[k]) {
                v->atom[v->atoms] = was.atom[i];
                v->atom[v->atoms++].axis = k;
            }
    }
}

void ls__value_exchange(ls__named *v, int axis)
{
    int order[LS_MAX_RANK], last = v->rank - 1;

    for (int k = 0; k <= last; k++)
        order[k] = k == axis ? last : k == last ? axis : k;
    ls__value_transpose(v, order);
}

void ls__value_drop(ls__named *v, int axis)
{
    bool drop[LS_MAX_RANK] = {false};

    drop[axis] = true;
    ls__value_squeeze(v, drop);
}

int ls__value_merge(ls__named *v, int first)
{
    int64_t shape[LS_MAX_RANK];

    memcpy(shape, v->shape, sizeof shape);
    shape[first] = 1;
    for (int k = first; k < v->rank; k++)
        shape[first] *= v->shape[k];
    return ls__value_reshape(v, first + 1, shape, 0);
}

void ls__value_squeeze(ls__named *v, const bool *drop)
{
    int to[LS_MAX_RANK], kept = 0;

    for (int k = 0; k < v->rank; k++) {
        to[k] = kept;
        v->shape[kept] = v->shape[k];
        v->stride[kept] = v->stride[k];
        kept += !drop[k];
    }
    v->rank = kept;
    for (int i = 0; i < v->atoms; i++)
        v->atom[i].axis = to[v->atom[i].axis];
}

void ls__value_unsqueeze(ls__named *v, int k)
{
    LS__ASSERT(v->rank < LS_MAX_RANK && k >= 0 && k <= v->rank);
    memmove(v->shape + k + 1, v->shape + k,
            (size_t)(v->rank - k) * sizeof *v->shape);
    memmove(v->stride + k + 1, v->stride + k,
            (size_t)(v->rank - k) * sizeof *v->stride);
    v->shape[k] = 1;
    v->stride[k] = 0;
    v->rank++;
    for (int i = 0; i < v->atoms; i++)
        v->atom[i].axis += v->atom[i].axis >= k;
}

/* Give an axis of `need` elements its atoms from i on; returns the next one. */
static int fill_axis(ls__named *v, int i, int axis, int64_t need,
                     int64_t rows)
{
    int status;

    if (need < 1)
        return LS_ESHAPE;
    while (i < v->atoms && (need > 1 || (rows == 1 && v->atom[i].place ==
                                                          LS__ROW))) {
        ls__atom *a = &v->atom[i];
        int64_t size = a->place == LS__ROW && rows ? rows : a->size;

        if (need % size == 0) {
            need /= size;
        } else if (a->place != LS__ROW && size % need == 0) {
            if ((status = ls__atoms_split(v, i, need)) < 0)
                return status;
            need = 1;
        } else {
            return LS_ESHAPE;
        }
        v->atom[i++].axis = axis;
        if (rows == 1 && a->place == LS__ROW && need == 1)
            break;
    }
    return need == 1 ? i : LS_ESHAPE;
}

static int try_reshape(ls__named *v, int rank, const int64_t *shape,
                       int64_t rows)
{
    int i = 0;

    for (int k = 0; k < rank && i >= 0; k++)
        i = fill_axis(v, i, k, shape[k], rows);
    while (i >= 0 && i < v->atoms && rows == 1 && v->atom[i].place == LS__ROW)
        v->atom[i++].axis = rank - 1;
    if (i < 0)
        return i;
    return i == v->atoms && rank ? 0 : LS_ESHAPE;
}

/* The shape as its atoms are. */
static void shape_of_atoms(ls__named *v, int rank)
{
    v->rank = rank;
    for (int k = 0; k < rank; k++)
        v->shape[k] = 1;
    for (int i = 0; i < v->atoms; i++)
        v->shape[v->atom[i].axis] *= v->atom[i].size;
}

/* The node as one axis, but for the rows if those come first: with that axes
 * begin that lie across those that were. */
static int flattened(ls__named *v)
{
    ls_node *node = ls__value_plain(v);
    int first = ls__value_rows(v) == 0;
    int64_t flat[2] = {LS__ROWS, 1};

    if (!node)
        return ls__made(node);
    if (!first && ls__value_rows(v) >= 0)
        return LS_ESHAPE;
    for (int k = first; k < v->rank; k++)
        flat[1] *= v->shape[k];
    node = ls_reshape(node, 1, flat + 1);
    return ls__value_set(v, node, 1 + first, flat + !first, 1, &first);
}

int ls__value_reshape(ls__named *v, int rank, const int64_t *shape,
                      int64_t rows)
{
    char from[LS__VALUE_TEXT], to[LS__VALUE_TEXT];
    ls__named way = *v;
    bool known = v->kind == LS__NUMBERS;
    int status = !known ? try_reshape(&way, rank, shape, rows)
                 : ls__count(rank, shape) == ls__value_count(v) ? 0 : LS_ESHAPE;

    if (status == LS_ESHAPE && !known) {
        way = *v;
        if ((status = flattened(&way)) == 0)
            status = try_reshape(&way, rank, shape, rows);
    }
    if (status < 0)
        return ls__fail(status, "%s cannot become %s",
                        ls__value_text(from, v->rank, v->shape),
                        ls__value_text(to, rank, shape));
    if (known) {
        way.rank = rank;
        memcpy(way.shape, shape, (size_t)rank * sizeof *shape);
        ls__strides(&way, rank, way.stride);
    } else {
        shape_of_atoms(&way, rank);
    }
    *v = way;
    return 0;
}

/* Repeat an axis of one element. */
static int repeat(ls__named *v, int axis, int64_t size)
{
    int64_t shape[LS_MAX_RANK], n = ls__atoms_rank(v);
    int i = 0, place = size == LS__ROWS ? LS__ROW : 0;

    while (i < v->atoms && v->atom[i].axis < axis)
        i++;
    if (v->atoms == LS__ATOMS || n + 1 >= LS_MAX_RANK)
        return ls__refuse("it has too many axes");
    if (place == 0) {
        int64_t is[LS_MAX_RANK];
        ls_node *wide;

        shape[0] = 1;
        ls_node_shape(v->node, is);
        memcpy(shape + 1, is, (size_t)n * sizeof *is);
        wide = ls_reshape(v->node, (int)n + 1, shape);
        shape[0] = size;
        v->node = ls_broadcast_to(wide, (int)n + 1, shape);
        for (int k = 0; k < v->atoms; k++)
            v->atom[k].place += v->atom[k].place != LS__ROW;
    }
    memmove(v->atom + i + 1, v->atom + i,
            (size_t)(v->atoms - i) * sizeof *v->atom);
    v->atom[i] = (ls__atom){size, axis, place};
    v->atoms++;
    v->shape[axis] = size;
    return ls__made(v->node);
}

int ls__value_expand(ls__named *v, int rank, const int64_t *shape)
{
    int status = 0, rows = 0;
    bool zeros = v->zeros == v->node;

    for (int k = 0; k < rank; k++)
        rows += shape[k] && shape[k] % LS__ROWS == 0;
    if (rows > 1)
        return ls__refuse("it goes through rows by rows, which do not see each "
                          "other here");
    while (v->rank < rank)
        ls__value_unsqueeze(v, 0);
    for (int k = 0; k < rank && status == 0; k++) {
        char from[LS__VALUE_TEXT], to[LS__VALUE_TEXT];

        if (shape[k] == v->shape[k] || shape[k] == 1)
            continue;
        if (v->shape[k] != 1 || (shape[k] != LS__ROWS &&
                                 shape[k] % LS__ROWS == 0))
            return ls__refuse("%s cannot be repeated to %s",
                              ls__value_text(from, v->rank, v->shape),
                              ls__value_text(to, rank, shape));
        if (v->kind == LS__NUMBERS)
            v->shape[k] = shape[k]; /* its stride is 0 */
        else
            status = repeat(v, k, shape[k]);
    }
    v->zeros = zeros ? v->node : NULL;
    return status;
}
