/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers that are moved, not computed, or counted off. */
#include "base/error.h"
#include "import/fold.h"

#include <math.h>
#include <string.h>

/* y has elements of x, from `first` on, by those strides. */
static int pick(ls__reader *r, const ls__om_node *n, const ls__named *x,
                int rank, const int64_t *shape, const int64_t *stride,
                int64_t first)
{
    ls__named *y = ls__read_out(r, n, 0);
    int status = ls__fold_new(r, y, rank, shape, x->is_real);
    int64_t count = ls__count(rank, shape);

    for (int64_t i = 0; i < count && status == 0; i++)
        y->number[i] = x->number[first + ls__place(i, rank, shape, stride)];
    return status < 0 ? status : 1;
}

/* The shape that Reshape gives v; 0: it does not fit. */
static int reshaped(ls__reader *r, const ls__om_node *n, ls__named *v)
{
    int64_t shape[LS_MAX_RANK], whole = ls__value_count(v), known;
    int hole = -1, rank = ls__read_sizes(r, n, 1, LS_MAX_RANK, shape);

    if (rank < 0)
        return rank;
    for (int k = 0; k < rank; k++) {
        if (shape[k] == 0 && k < v->rank)
            shape[k] = v->shape[k];
        if (shape[k] == -1) {
            hole = k;
            shape[k] = 1;
        }
    }
    known = ls__count(rank, shape);
    if (hole >= 0 && known > 0)
        shape[hole] = whole / known;
    if (ls__count(rank, shape) != whole)
        return 0;
    v->rank = rank;
    memcpy(v->shape, shape, sizeof shape);
    return 1;
}

/* The shape that Squeeze, or Unsqueeze where it adds, gives v; 0: it does not
 * fit. */
static int squeezed(ls__reader *r, const ls__om_node *n, bool adds,
                    ls__named *v)
{
    int64_t axes[LS_MAX_RANK];
    bool which[LS_MAX_RANK] = {false};
    int count = n->inputs > 1 ? ls__read_sizes(r, n, 1, LS_MAX_RANK, axes) : 0;

    if (count < 0 || (adds && count + v->rank > LS_MAX_RANK))
        return count < 0 ? count : 0;
    for (int k = 0; k < count; k++) {
        int axis = ls__read_axis(axes[k], v->rank + (adds ? count : 0));

        if (axis < 0 || (!adds && v->shape[axis] != 1))
            return axis < 0 ? axis : 0;
        which[axis] = true;
    }
    if (!adds) {
        for (int k = 0; n->inputs < 2 && k < v->rank; k++)
            which[k] = v->shape[k] == 1;
        ls__value_squeeze(v, which);
        return 1;
    }
    for (int k = 0; k < LS_MAX_RANK; k++)
        if (which[k] && k <= v->rank)
            ls__value_unsqueeze(v, k);
    return 1;
}

/* The same numbers under another shape. */
static int fold_shape(ls__reader *r, const ls__om_node *n)
{
    ls__named v = *ls__read_in(r, n, 0), *y = ls__read_out(r, n, 0);
    int status = strcmp(n->op, "Reshape")
                     ? squeezed(r, n, !strcmp(n->op, "Unsqueeze"), &v)
                     : reshaped(r, n, &v);

    if (status <= 0)
        return status;
    status = ls__fold_new(r, y, v.rank, v.shape, v.is_real);
    if (status == 0)
        memcpy(y->number, v.number,
               (size_t)ls__value_count(&v) * sizeof *v.number);
    return status < 0 ? status : 1;
}

static int fold_transpose(ls__reader *r, const ls__om_node *n)
{
    const ls__named *x = ls__read_in(r, n, 0);
    int64_t by[LS_MAX_RANK], stride[LS_MAX_RANK], shape[LS_MAX_RANK];
    int64_t perm[LS_MAX_RANK];
    int got = ls__om_integers(n, "perm", LS_MAX_RANK, perm);

    ls__strides(x, x->rank, by);
    for (int k = 0; k < x->rank; k++) {
        int from = got == x->rank ? ls__read_axis(perm[k], x->rank)
                                  : x->rank - 1 - k;

        if (from < 0)
            return from;
        shape[k] = x->shape[from];
        stride[k] = by[from];
    }
    return pick(r, n, x, x->rank, shape, stride, 0);
}

static int fold_expand(ls__reader *r, const ls__om_node *n)
{
    const ls__named *x = ls__read_in(r, n, 0);
    ls__named to = {.kind = LS__NUMBERS};
    int64_t shape[LS_MAX_RANK], stride[LS_MAX_RANK];
    int rank = ls__read_sizes(r, n, 1, LS_MAX_RANK, to.shape);

    if (rank < 0)
        return rank;
    to.rank = rank;
    if (!ls__value_join(x, &to, &rank, shape) ||
        ls__count(rank, shape) > LS__MOST_NUMBERS)
        return 0;
    ls__strides(x, rank, stride);
    return pick(r, n, x, rank, shape, stride, 0);
}

/* A bound of a slice, which may be counted from the end; behind it, in steps
 * back, lies -1. */
static int64_t clipped(int64_t at, int64_t size, bool back)
{
    at = at < -size ? -1 : at < 0 ? at + size : at;
    if (back)
        return at >= size ? size - 1 : at;
    return at < 0 ? 0 : at > size ? size : at;
}

static int fold_slice(ls__reader *r, const ls__om_node *n)
{
    const ls__named *x = ls__read_in(r, n, 0);
    int64_t list[4][LS_MAX_RANK], stride[LS_MAX_RANK], shape[LS_MAX_RANK];
    int64_t first = 0;
    int got = ls__read_sizes(r, n, 1, LS_MAX_RANK, list[0]);

    if (got < 0 || ls__read_sizes(r, n, 2, LS_MAX_RANK, list[1]) != got)
        return got < 0 ? got : 0;
    for (int k = 0; k < got; k++) {
        list[2][k] = k;
        list[3][k] = 1;
    }
    for (int k = 3; k < 5; k++)
        if (ls__read_in(r, n, k) &&
            ls__read_sizes(r, n, k, LS_MAX_RANK, list[k - 1]) != got)
            return 0;
    ls__strides(x, x->rank, stride);
    memcpy(shape, x->shape, sizeof shape);
    for (int k = 0; k < got; k++) {
        int axis = ls__read_axis(list[2][k], x->rank);
        int64_t size, from = list[0][k], to = list[1][k], step = list[3][k];

        if (axis < 0 || step == 0 || step < -INT32_MAX || step > INT32_MAX)
            return axis < 0 ? axis : 0;
        size = x->shape[axis];
        from = clipped(from, size, step < 0);
        to = clipped(to, size, step < 0);
        size = (to - from + step + (step < 0 ? 1 : -1)) / step;
        shape[axis] = size > 0 ? size : 0;
        first += size > 0 ? from * stride[axis] : 0;
        stride[axis] *= step;
    }
    return pick(r, n, x, x->rank, shape, stride, first);
}

/* x[.., index, ..] along an axis. */
static int fold_gather(ls__reader *r, const ls__om_node *n)
{
    const ls__named *x = ls__read_in(r, n, 0), *of = ls__read_in(r, n, 1);
    ls__named *y = ls__read_out(r, n, 0);
    int axis = ls__read_axis(ls__om_integer(n, "axis", 0), x->rank), rank = 0;
    int64_t shape[2 * LS_MAX_RANK], inner = 1, outer = 1, count, size;
    int status;

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
            return LS_ENOTSUP;
        y->number[i] = x->number[(i / inner / count * size + k) * inner +
                                 i % inner];
    }
    return 1;
}

static int fold_concat(ls__reader *r, const ls__om_node *n)
{
    const ls__named *x = ls__read_in(r, n, 0);
    ls__named *y = ls__read_out(r, n, 0);
    int axis = ls__read_axis(ls__om_integer(n, "axis", 0), x->rank), status;
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

static int fold_where(ls__reader *r, const ls__om_node *n)
{
    const ls__named *c = ls__read_in(r, n, 0), *a = ls__read_in(r, n, 1);
    const ls__named *b = ls__read_in(r, n, 2);
    ls__named *y = ls__read_out(r, n, 0), joined = {.kind = LS__NUMBERS};
    int64_t shape[LS_MAX_RANK], sc[LS_MAX_RANK], sa[LS_MAX_RANK];
    int64_t sb[LS_MAX_RANK];
    int rank, status;

    if (!a || !b || !ls__value_join(a, b, &joined.rank, joined.shape) ||
        !ls__value_join(c, &joined, &rank, shape))
        return 0;
    if ((status = ls__fold_new(r, y, rank, shape, a->is_real)) < 0)
        return status;
    ls__strides(c, rank, sc);
    ls__strides(a, rank, sa);
    ls__strides(b, rank, sb);
    for (int64_t i = 0; i < ls__count(rank, shape); i++)
        y->number[i] = c->number[ls__place(i, rank, shape, sc)] != 0
                           ? a->number[ls__place(i, rank, shape, sa)]
                           : b->number[ls__place(i, rank, shape, sb)];
    return 1;
}

/* The greatest of integers, or the product. */
static int fold_product(ls__reader *r, const ls__om_node *n)
{
    const ls__named *x = ls__read_in(r, n, 0);
    ls__named *y = ls__read_out(r, n, 0);
    bool keep = ls__om_integer(n, "keepdims", 1);
    int64_t one[LS_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    double all = 1;
    int status;

    if (x->rank > 1 || x->is_real)
        return 0;
    for (int64_t i = 0; i < ls__value_count(x); i++)
        all *= x->number[i];
    if (fabs(all) >= LS__EXACT)
        return ls__by_rows();
    if ((status = ls__fold_new(r, y, keep ? x->rank : 0, one, false)) < 0)
        return status;
    *y->number = all;
    return 1;
}

static int fold_range(ls__reader *r, const ls__om_node *n)
{
    double of[3], count;
    int64_t size;
    const ls__named *x = ls__read_in(r, n, 0);
    ls__named *y = ls__read_out(r, n, 0);
    int status = 0;

    for (int k = 0; k < 3; k++)
        if ((status = ls__read_number(r, n, k, 0, &of[k])) < 0)
            return status;
    count = ceil((of[1] - of[0]) / of[2]);
    if (!(count >= 0 && count <= (double)LS__MOST_NUMBERS))
        return ls__fail(LS_ENOTSUP, "it has too many numbers, or counts rows");
    size = (int64_t)count;
    if ((status = ls__fold_new(r, y, 1, &size, x->is_real)) < 0)
        return status;
    for (int64_t i = 0; i < size; i++)
        y->number[i] = of[0] + (double)i * of[2];
    return 1;
}

static int fold_trilu(ls__reader *r, const ls__om_node *n)
{
    const ls__named *x = ls__read_in(r, n, 0);
    ls__named *y = ls__read_out(r, n, 0);
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

static int fold_filled(ls__reader *r, const ls__om_node *n)
{
    ls__named *y = ls__read_out(r, n, 0);
    int64_t shape[LS_MAX_RANK];
    ls__om_tensor t = {0};
    ls__wire at;
    ls__field f;
    int rank = ls__read_sizes(r, n, 0, LS_MAX_RANK, shape), status = 0;
    double x = 0;
    bool is_real = true, many;

    if (rank < 0)
        return rank;
    if (ls__om_attribute(n, "value", &at) && ls__wire_find(at, 5, &f)) {
        status = ls__om_tensor_of(&r->file->om, f.bytes, &t);
        if (status < 0 || t.elements != 1 || !ls__om_elements(&t, &x))
            return status;
        is_real = t.type != LS__OM_INT64 && t.type != LS__OM_INT32 &&
                  t.type != LS__OM_BOOL;
    }
    many = ls__count(rank, shape) > LS__MOST_NUMBERS; /* in every row */
    status = many ? ls__fold_new(r, y, 1, &(int64_t){1}, is_real)
                  : ls__fold_new(r, y, rank, shape, is_real);
    for (int64_t i = 0; status == 0 && i < ls__value_count(y); i++)
        y->number[i] = x;
    if (status == 0 && many &&
        (status = ls__read_as_node(r, n->output[0], y)) == 0)
        status = ls__value_expand(y, rank, shape);
    return status < 0 ? status : 1;
}

static int fold_cast(ls__reader *r, const ls__om_node *n)
{
    ls__named *y = ls__read_out(r, n, 0), x = *ls__read_in(r, n, 0);
    int64_t to = ls__om_integer(n, "to", LS__OM_FLOAT);
    const ls__named *like = ls__read_in(r, n, 1);
    bool is_real = to == LS__OM_FLOAT || to == LS__OM_DOUBLE ||
                   to == LS__OM_FLOAT16 || to == LS__OM_BFLOAT16;
    int status;

    if (!strcmp(n->op, "CastLike"))
        is_real = like && (like->kind == LS__WEIGHT || like->is_real);
    if ((status = ls__fold_new(r, y, x.rank, x.shape, is_real)) < 0)
        return status;
    for (int64_t i = 0; i < ls__value_count(&x); i++) {
        if (is_real && !x.is_real && ls__of_rows(x.number[i]))
            return ls__by_rows();
        if (like && !is_real && x.number[i] != trunc(x.number[i]))
            return ls__fail(LS_ENOTSUP, "it cuts numbers off, or asks what "
                            "they are not");
        y->number[i] = is_real ? x.number[i]
                       : to == LS__OM_BOOL ? x.number[i] != 0
                                           : trunc(x.number[i]);
    }
    return 1;
}

/* x[.., index[..], ..], an index for each element. */
static int fold_elements(ls__reader *r, const ls__om_node *n)
{
    const ls__named *x = ls__read_in(r, n, 0), *at = ls__read_in(r, n, 1);
    ls__named *y = ls__read_out(r, n, 0);
    int64_t stride[LS_MAX_RANK], by;
    int axis = ls__read_axis(ls__om_integer(n, "axis", 0), x->rank), status;

    if (axis < 0 || !at || at->rank != x->rank)
        return axis < 0 ? axis : 0;
    for (int k = 0; k < x->rank; k++)
        if (k != axis && at->shape[k] > x->shape[k])
            return ls__fail(LS_ESHAPE, "its indices do not fit");
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
static int fold_scatter(ls__reader *r, const ls__om_node *n)
{
    const ls__named *x = ls__read_in(r, n, 0), *at = ls__read_in(r, n, 1);
    const ls__named *to = ls__read_in(r, n, 2);
    ls__named *y = ls__read_out(r, n, 0);
    int64_t each = 1, axes, all = ls__value_count(x);
    ls__wire w;
    int status;

    if (!at || !to || at->rank < 1 ||
        (ls__om_attribute(n, "reduction", &w) &&
         !ls__om_says(n, "reduction", "none")))
        return 0;
    axes = at->shape[at->rank - 1];
    for (int k = (int)axes; k < x->rank; k++)
        each *= x->shape[k];
    if (axes < 1 || axes > x->rank ||
        ls__value_count(to) != ls__value_count(at) / axes * each)
        return ls__fail(LS_ESHAPE, "its indices do not fit");
    status = ls__fold_new(r, y, x->rank, x->shape, x->is_real);
    for (int64_t i = 0; status == 0 && i < all; i++)
        y->number[i] = x->number[i];
    for (int64_t i = 0; status == 0 && i < ls__value_count(at) / axes; i++) {
        int64_t place = 0;

        for (int k = 0; k < axes; k++) {
            int64_t index = ls__read_index_of(at->number[i * axes + k],
                                              x->shape[k]);

            if (index < 0)
                return (int)index;
            place = place * x->shape[k] + index;
        }
        for (int64_t k = 0; k < each; k++)
            y->number[place * each + k] = to->number[i * each + k];
    }
    return status < 0 ? status : 1;
}

static int fold_same(ls__reader *r, const ls__om_node *n)
{
    int status = ls__read_put(r, n, ls__read_in(r, n, 0));

    return status < 0 ? status : 1;
}

const ls__read_row ls__fold_rows[] = {
    {"Reshape", fold_shape}, {"Squeeze", fold_shape},
    {"Unsqueeze", fold_shape}, {"Transpose", fold_transpose},
    {"Expand", fold_expand}, {"Slice", fold_slice}, {"Gather", fold_gather},
    {"Concat", fold_concat}, {"Where", fold_where},
    {"ReduceProd", fold_product}, {"Range", fold_range},
    {"Trilu", fold_trilu}, {"ConstantOfShape", fold_filled},
    {"Cast", fold_cast}, {"CastLike", fold_cast}, {"Identity", fold_same},
    {"Dropout", fold_same}, {"GatherElements", fold_elements},
    {"ScatterND", fold_scatter}, {NULL, NULL}};
