/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers that are put together, chosen or counted off. */
#include "base/error.h"
#include "import/fold.h"

#include <math.h>
#include <string.h>

/* x[.., index, ..] along an axis. */
static int gather(ls__reader *r, const ls__om_node *n, const ls__named *x,
                  ls__named *y)
{
    const ls__named *of = ls__read_in(r, n, 1);
    int axis = ls__read_axis_of(n, 0, x->rank), rank = 0, status;
    int64_t shape[2 * LS_MAX_RANK], inner = 1, outer = 1, count, size;

    if (axis < 0 || !of || x->rank - 1 + of->rank > LS_MAX_RANK)
        return axis < 0 ? axis : 0;
    size = x->shape[axis];
    for (int k = 0; k < axis; k++)
        outer *= shape[rank++] = x->shape[k];
    for (int k = 0; k < of->rank; k++)
        shape[rank++] = of->shape[k];
    for (int k = axis + 1; k < x->rank; k++)
        inner *= shape[rank++] = x->shape[k];
    if ((status = ls__fold_new(r, y, rank, shape, x->is_real)) < 0)
        return status;
    count = ls__value_count(of);
    for (int64_t i = 0; i < outer * count * inner; i++) {
        int64_t k = ls__read_index_of(of->number[i / inner % count], size);

        if (k < 0)
            return (int)k;
        y->number[i] = x->number[(i / inner / count * size + k) * inner +
                                 i % inner];
    }
    return 1;
}

static int concat(ls__reader *r, const ls__om_node *n, const ls__named *x,
                  ls__named *y)
{
    int axis = ls__read_axis_of(n, 0, x->rank), status;
    int64_t shape[LS_MAX_RANK], inner = 1, outer = 1, before = 0;

    if (axis < 0)
        return axis;
    memcpy(shape, x->shape, sizeof shape);
    for (int k = 0; k < x->rank; k++)
        *(k < axis ? &outer : &inner) *= k == axis ? 1 : shape[k];
    shape[axis] = 0;
    for (int k = 0; k < n->inputs; k++) {
        const ls__named *each = ls__read_in(r, n, k);

        if (!each || each->rank != x->rank ||
            each->shape[axis] > LS__MOST_NUMBERS)
            return 0;
        for (int i = 0; i < x->rank; i++)
            if (i != axis && each->shape[i] != x->shape[i])
                return 0;
        shape[axis] += each->shape[axis];
    }
    if ((status = ls__fold_new(r, y, x->rank, shape, x->is_real)) < 0)
        return status;
    for (int k = 0; k < n->inputs; k++) {
        const ls__named *each = ls__read_in(r, n, k);
        int64_t wide = each->shape[axis] * inner;

        for (int64_t i = 0; i < outer && wide; i++)
            memcpy(y->number + i * shape[axis] * inner + before,
                   each->number + i * wide, (size_t)wide * sizeof *y->number);
        before += wide;
    }
    return 1;
}

static int where(ls__reader *r, const ls__om_node *n, const ls__named *x,
                 ls__named *y)
{
    const ls__named *in[3] = {x, ls__read_in(r, n, 1), ls__read_in(r, n, 2)};
    ls__named joined = {.kind = LS__NUMBERS};
    int64_t shape[LS_MAX_RANK], stride[3][LS_MAX_RANK];
    int rank, status;

    if (!in[1] || !in[2] ||
        !ls__value_join(in[1], in[2], &joined.rank, joined.shape) ||
        !ls__value_join(x, &joined, &rank, shape))
        return 0;
    if ((status = ls__fold_new(r, y, rank, shape, in[1]->is_real)) < 0)
        return status;
    for (int k = 0; k < 3; k++)
        ls__strides(in[k], rank, stride[k]);
    for (int64_t i = 0; i < ls__count(rank, shape); i++) {
        int k = x->number[ls__place(i, rank, shape, stride[0])] != 0 ? 1 : 2;

        y->number[i] = in[k]->number[ls__place(i, rank, shape, stride[k])];
    }
    return 1;
}

/* The product of integers. */
static int product(ls__reader *r, const ls__om_node *n, const ls__named *x,
                   ls__named *y)
{
    int rank = ls__om_integer(n, "keepdims", 1) ? x->rank : 0, status;
    double all = 1;

    if (x->rank > 1 || x->is_real)
        return 0;
    for (int64_t i = 0; i < ls__value_count(x); i++)
        all *= x->number[i];
    if (fabs(all) >= LS__EXACT)
        return ls__by_rows();
    if ((status = ls__fold_new(r, y, rank, &(int64_t){1}, false)) < 0)
        return status;
    *y->number = all;
    return 1;
}

static int range(ls__reader *r, const ls__om_node *n, const ls__named *x,
                 ls__named *y)
{
    double of[3], count;
    int64_t size;
    int status = 0;

    for (int k = 0; k < 3; k++)
        if ((status = ls__read_number(r, n, k, 0, &of[k])) < 0)
            return status;
    count = ceil((of[1] - of[0]) / of[2]);
    if (!(count >= 0 && count <= (double)LS__MOST_NUMBERS))
        return ls__refuse("it has too many numbers, or counts rows");
    size = (int64_t)count;
    if ((status = ls__fold_new(r, y, 1, &size, x->is_real)) < 0)
        return status;
    for (int64_t i = 0; i < size; i++)
        y->number[i] = of[0] + (double)i * of[2];
    return 1;
}

static int triangle(ls__reader *r, const ls__om_node *n, const ls__named *x,
                    ls__named *y)
{
    bool upper = ls__om_integer(n, "upper", 1);
    double by;
    int64_t high, wide;
    int status = ls__read_number(r, n, 1, 0, &by);

    if (status < 0 || x->rank < 2)
        return status;
    high = x->shape[x->rank - 2];
    wide = x->shape[x->rank - 1];
    if ((status = ls__fold_new(r, y, x->rank, x->shape, x->is_real)) < 0)
        return status;
    for (int64_t i = 0; i < ls__value_count(x); i++) {
        double off = (double)(i % wide) - (double)(i / wide % high) - by;

        y->number[i] = (upper ? off >= 0 : off <= 0) ? x->number[i] : 0;
    }
    return 1;
}

static int filled(ls__reader *r, const ls__om_node *n, const ls__named *sizes,
                  ls__named *y)
{
    int64_t shape[LS_MAX_RANK];
    ls__om_tensor t = {.type = LS__OM_FLOAT};
    ls__wire at;
    ls__field f;
    int rank = ls__read_sizes(r, n, 0, LS_MAX_RANK, shape), status;
    bool many; /* in every row */
    double x = 0;

    (void)sizes;
    if (rank < 0)
        return rank;
    if (ls__om_attribute(n, "value", &at) && ls__wire_find(at, 5, &f)) {
        status = ls__om_tensor_of(&r->file->om, f.bytes, &t);
        if (status < 0 || t.elements != 1 || !ls__om_elements(&t, &x))
            return status;
    }
    many = ls__count(rank, shape) > LS__MOST_NUMBERS;
    status = ls__fold_new(r, y, many ? 1 : rank, many ? &(int64_t){1} : shape,
                          ls__om_is_real(t.type));
    for (int64_t i = 0; status == 0 && i < ls__value_count(y); i++)
        y->number[i] = x;
    if (status == 0 && many &&
        (status = ls__read_as_node(r, n->output[0], y)) == 0)
        status = ls__value_expand(y, rank, shape);
    return status < 0 ? status : 1;
}

static int cast(ls__reader *r, const ls__om_node *n, const ls__named *x,
                ls__named *y)
{
    const ls__named *like = ls__read_in(r, n, 1);
    int64_t to = ls__om_integer(n, "to", LS__OM_FLOAT);
    bool is_real = ls__om_is(n, "CastLike")
                       ? like && (like->kind == LS__WEIGHT || like->is_real)
                       : ls__om_is_real(to);
    int status;

    if ((status = ls__fold_new(r, y, x->rank, x->shape, is_real)) < 0)
        return status;
    for (int64_t i = 0; i < ls__value_count(x); i++) {
        if (is_real && !x->is_real && ls__of_rows(x->number[i]))
            return ls__by_rows();
        if (like && !is_real && x->number[i] != trunc(x->number[i]))
            return ls__refuse("it cuts numbers off, or asks what they are not");
        y->number[i] = is_real ? x->number[i]
                       : to == LS__OM_BOOL ? x->number[i] != 0
                                           : trunc(x->number[i]);
    }
    return 1;
}

/* x[.., index[..], ..], an index for each element. */
static int elements(ls__reader *r, const ls__om_node *n, const ls__named *x,
                    ls__named *y)
{
    const ls__named *at = ls__read_in(r, n, 1);
    int64_t stride[LS_MAX_RANK], by;
    int axis = ls__read_axis_of(n, 0, x->rank), status;

    if (axis < 0 || !at || at->rank != x->rank)
        return axis < 0 ? axis : 0;
    for (int k = 0; k < x->rank; k++)
        if (k != axis && at->shape[k] > x->shape[k])
            return ls__refuse("its indices do not fit");
    ls__strides(x, x->rank, stride);
    by = stride[axis];
    stride[axis] = 0;
    status = ls__fold_new(r, y, at->rank, at->shape, x->is_real);
    for (int64_t i = 0; status == 0 && i < ls__value_count(at); i++) {
        int64_t k = ls__read_index_of(at->number[i], x->shape[axis]);

        if (k < 0)
            return (int)k;
        y->number[i] = x->number[ls__place(i, at->rank, at->shape, stride) +
                                 k * by];
    }
    return status < 0 ? status : 1;
}

/* x with other numbers where indices of its first axes point. */
static int scatter(ls__reader *r, const ls__om_node *n, const ls__named *x,
                   ls__named *y)
{
    const ls__named *at = ls__read_in(r, n, 1), *to = ls__read_in(r, n, 2);
    int64_t each = 1, axes, all = ls__value_count(x);
    int status;

    if (!at || !to || at->rank < 1 || !ls__om_may_say(n, "reduction", "none"))
        return 0;
    axes = at->shape[at->rank - 1];
    for (int k = (int)axes; k < x->rank; k++)
        each *= x->shape[k];
    if (axes < 1 || axes > x->rank ||
        ls__value_count(to) != ls__value_count(at) / axes * each)
        return ls__refuse("its indices do not fit");
    if ((status = ls__fold_new(r, y, x->rank, x->shape, x->is_real)) < 0)
        return status;
    memcpy(y->number, x->number, (size_t)all * sizeof *y->number);
    for (int64_t i = 0; i < ls__value_count(at) / axes; i++) {
        int64_t place = 0;

        for (int k = 0; k < axes; k++) {
            int64_t index = ls__read_index_of(at->number[i * axes + k],
                                              x->shape[k]);

            if (index < 0)
                return (int)index;
            place = place * x->shape[k] + index;
        }
        memcpy(y->number + place * each, to->number + i * each,
               (size_t)each * sizeof *y->number);
    }
    return 1;
}

const ls__fold_row ls__fold_rows[] = {
    {"Gather", gather}, {"Concat", concat}, {"Where", where},
    {"ReduceProd", product}, {"Range", range}, {"Trilu", triangle},
    {"ConstantOfShape", filled}, {"Cast CastLike", cast},
    {"GatherElements", elements}, {"ScatterND", scatter}, {NULL, NULL}};
