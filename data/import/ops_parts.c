/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of values, parts put together, and more than there was. */
#include "base/error.h"
#include "import/reader.h"

#include <lockstep/arithmetic.h>

#include <math.h>
#include <string.h>

/* ------ parts ------ */

int ls__read_part(ls__named *v, int axis, int64_t first, int64_t count)
{
    bool zeros = ls__is_zero(v), mixed = ls__value_mixes_rows(v);
    int k = 0, status;
    int64_t shape[LS_MAX_RANK];
    ls__lie lie;
    ls_node *x;

    if (first == 0 && count == v->shape[axis])
        return 0;
    if (count < 1 || axis == ls__value_rows(v) ||
        v->shape[axis] % LS__ROWS == 0)
        return ls__refuse(count < 1 ? "nothing would be left"
                                    : "it takes some of the rows");
    if (mixed) { /* of such a value the axis is made the last of the node */
        ls__value_exchange(v, axis);
        if (!(x = ls__value_last(v)))
            return ls__made(x);
        x = ls_slice(x, ls_node_shape(x, shape) - 1, first, count);
        status = ls__value_set_last(v, x, count);
        ls__value_exchange(v, axis);
        return status;
    }
    if (!(x = ls__value_lying(v, -1, &lie)))
        return ls__made(x);
    while (lie.order[k] != axis)
        k++;
    v->shape[axis] = count;
    status = ls__value_set_lying(v, ls_slice(x, k, first, count), &lie);
    v->zeros = zeros ? v->node : NULL;
    return status;
}

/* x[.., a:b:step, ..]: one of each `step` elements that are side by side. */
static int in_steps(ls__named *v, int axis, int64_t a, int64_t b, int64_t step)
{
    int64_t shape[LS_MAX_RANK], size = v->shape[axis];
    int64_t count = step > 0 && b > a ? (b - a + step - 1) / step : 0;
    int status;

    if (count < 1 || v->rank == LS_MAX_RANK || step > size ||
        a - a % step + count * step > size || size % LS__ROWS == 0)
        return ls__refuse("it goes in steps of %lld that do not cut its axis "
                          "into equal parts", (long long)step);
    status = ls__read_part(v, axis, a - a % step, count * step);
    for (int k = v->rank; k > axis + 1; k--)
        shape[k] = v->shape[k - 1];
    for (int k = 0; k < axis; k++)
        shape[k] = v->shape[k];
    shape[axis] = count;
    shape[axis + 1] = step;
    if (status == 0 &&
        (status = ls__value_reshape(v, v->rank + 1, shape, 0)) == 0 &&
        (status = ls__read_part(v, axis + 1, a % step, 1)) == 0)
        ls__value_drop(v, axis + 1);
    return status;
}

int64_t ls__read_bound(int64_t at, int64_t size, bool back)
{
    at = at < -size ? -1 : at < 0 ? at + size : at;
    if (back)
        return at >= size ? size - 1 : at;
    return at < 0 ? 0 : at > size ? size : at;
}

/* The same of numbers, in any steps. */
static int numbers_in_steps(ls__named *v, int axis, int64_t a, int64_t b,
                            int64_t step)
{
    int64_t size = (b - a + step + (step < 0 ? 1 : -1)) / step;

    v->shape[axis] = size > 0 ? size : 0;
    v->number += size > 0 ? a * v->stride[axis] : 0;
    v->stride[axis] *= step;
    return 0;
}

static int slice(ls__reader *r, const ls__om_node *n, ls__named *v)
{
    int64_t list[4][LS_MAX_RANK]; /* from, to, axes, steps */
    int got, status = 0;

    if ((got = ls__read_sizes(r, n, 1, LS_MAX_RANK, list[0])) < 0)
        return got;
    for (int k = 0; k < got; k++) {
        list[2][k] = k;
        list[3][k] = 1;
    }
    for (int k = 1; k < 4; k++)
        if ((k == 1 || ls__read_in(r, n, k + 1)) &&
            ls__read_sizes(r, n, k + 1, LS_MAX_RANK, list[k]) != got)
            return ls__refuse("its bounds are not known");
    for (int k = 0; k < got && status == 0; k++) {
        int axis = ls__read_axis(list[2][k], v->rank);
        int64_t step = list[3][k], size = axis < 0 ? 0 : v->shape[axis];
        int64_t a = ls__read_bound(list[0][k], size, step < 0);
        int64_t b = ls__read_bound(list[1][k], size, step < 0);

        if (axis < 0)
            return axis;
        if (v->kind == LS__NUMBERS && step && step >= -INT32_MAX &&
            step <= INT32_MAX)
            status = numbers_in_steps(v, axis, a, b, step);
        else
            status = step == 1 ? ls__read_part(v, axis, a, b - a)
                               : in_steps(v, axis, a, b, step);
    }
    return status;
}

static int split(ls__reader *r, const ls__om_node *n, ls__named *v)
{
    int64_t sizes[64], at = 0;
    int axis = ls__read_axis_of(n, 0, v->rank), got = 0, status = 0;

    if (axis < 0)
        return axis;
    if (ls__read_in(r, n, 1) && (got = ls__read_sizes(r, n, 1, 64, sizes)) < 0)
        return got;
    if (n->outputs > 64 || (got && got != n->outputs))
        return ls__refuse("it has too many parts");
    for (int k = 0; k < n->outputs && !got; k++) {
        int64_t each = (v->shape[axis] + n->outputs - 1) / n->outputs;
        int64_t left = v->shape[axis] - k * each;

        sizes[k] = left < each ? left : each;
    }
    for (int k = 0; k < n->outputs && status == 0; k++) {
        ls__named *y = ls__read_out(r, n, k);
        const char *name = y->name;

        if (sizes[k] < 1 || sizes[k] > v->shape[axis] - at)
            return ls__refuse("its parts do not fit");
        *y = *v;
        y->name = name;
        status = ls__read_part(y, axis, at, sizes[k]);
        at += sizes[k];
    }
    return status < 0 ? status : 1;
}

static int cut(ls__reader *r, const ls__om_node *n, ls__named *v)
{
    double size;
    int status = ls__read_number(r, n, 1, 1, &size);

    if (status < 0)
        return status;
    if ((v->along = ls__read_axis_of(n, 0, v->rank)) < 0)
        return v->along;
    if (!(size >= 1 && size <= (double)v->shape[v->along]) ||
        !ls__om_integer(n, "keepdims", 1))
        return ls__refuse("its parts are not of one known size");
    v->kind = LS__SEQUENCE;
    v->part = (int64_t)size;
    return 0;
}

static int part_at(ls__reader *r, const ls__om_node *n, ls__named *v)
{
    double at;
    int status = ls__read_number(r, n, 1, 0, &at);
    int64_t first, size;

    if (status < 0)
        return status;
    if (v->kind != LS__SEQUENCE)
        return ls__refuse("its list is not that of a split");
    size = v->shape[v->along];
    first = ls__read_index_of(at, (size + v->part - 1) / v->part);
    if (first < 0)
        return (int)first;
    first *= v->part;
    v->kind = LS__NODE;
    size -= first;
    return ls__read_part(v, v->along, first, size < v->part ? size : v->part);
}

int ls__read_join(ls__reader *r, int count, ls__named *v, int main, int axis)
{
    int k = 0;
    int64_t size = 0;
    ls_node **x = ls__arena_new(&r->file->arena, (size_t)count + 1, sizeof(*x));
    ls__lie lie;

    if (!x)
        return LS_ENOMEM;
    ls__value_lie(&v[main], -1, &lie);
    for (int i = 0; i < count; i++) {
        if (!(x[i] = ls__value_in_order(&v[i], lie.axes, lie.order)))
            return ls__made(NULL);
        size += v[i].shape[axis];
    }
    while (lie.order[k] != axis)
        k++;
    v[main].shape[axis] = size;
    return ls__value_set_lying(&v[main], ls_concat(x, count, k), &lie);
}

static int concat(ls__reader *r, const ls__om_node *n, ls__named *v)
{
    ls__named *all = ls__arena_new(&r->file->arena, (size_t)n->inputs,
                                   sizeof *all);
    int rank = v->rank, status = 0, rows = -1;
    int axis = ls__read_axis_of(n, 0, rank);

    if (!all || axis < 0)
        return all ? axis : LS_ENOMEM;
    for (int k = 0; k < n->inputs && status == 0; k++) {
        status = ls__read_node_in(r, n, k, &all[k]);
        if (status == 0 && all[k].rank != rank)
            status = ls__refuse("its inputs have other ranks");
        if (status == 0 && ls__value_rows(&all[k]) >= 0)
            rows = ls__value_rows(&all[k]);
    }
    if (status == 0 && rows == axis)
        status = ls__refuse("it joins rows");
    for (int k = 0; k < n->inputs && status == 0 && rows >= 0; k++) {
        int64_t shape[LS_MAX_RANK];

        memcpy(shape, all[k].shape, sizeof shape);
        shape[rows] = LS__ROWS; /* what is the same in every row */
        status = ls__value_expand(&all[k], rank, shape);
    }
    if (status == 0)
        status = ls__read_join(r, n->inputs, all, 0, axis);
    *v = all[0];
    return status;
}

/* ------ more than there was ------ */

/* A number before and behind an axis. */
static int surround(ls__reader *r, const ls__om_node *n, ls__named *v,
                    int axis, const int64_t by[2], double x)
{
    ls__named parts[3];
    int count = 0, main = 0, status = 0;

    for (int k = 0; k < 2; k++)
        if (by[k] < 0 || by[k] > INT32_MAX || axis == ls__value_rows(v) ||
            v->shape[axis] % LS__ROWS == 0)
            return ls__refuse("it takes away, or adds rows");
    for (int k = 0; k < 3 && status == 0; k++) {
        ls__named *p = &parts[count];
        int64_t shape[LS_MAX_RANK];

        if (k != 1 && !by[k / 2])
            continue;
        count++;
        if (k == 1) {
            main = count - 1;
            *p = *v;
            continue;
        }
        memcpy(shape, v->shape, sizeof shape);
        shape[axis] = by[k / 2];
        p->name = n->output[0];
        if ((status = ls__fold_new(r, p, 1, &(int64_t){1}, true)) < 0)
            return status;
        *p->number = x;
        if ((status = ls__read_as_node(r, p->name, p)) == 0)
            status = ls__value_expand(p, v->rank, shape);
    }
    if (status == 0 && count > 1)
        status = ls__read_join(r, count, parts, main, axis);
    if (status == 0)
        *v = parts[main];
    return status;
}

static int pad(ls__reader *r, const ls__om_node *n, ls__named *v)
{
    int64_t by[2 * LS_MAX_RANK], axes[LS_MAX_RANK];
    double x;
    int got, count, status = ls__read_number(r, n, 2, 0, &x);

    if (!ls__om_may_say(n, "mode", "constant"))
        return ls__refuse("read is padding by a constant");
    if (status < 0)
        return status;
    if ((got = ls__read_sizes(r, n, 1, 2 * LS_MAX_RANK, by)) < 0)
        return got;
    count = got / 2;
    for (int k = 0; k < count; k++)
        axes[k] = k;
    if (ls__read_in(r, n, 3) &&
        ls__read_sizes(r, n, 3, LS_MAX_RANK, axes) != count)
        return ls__refuse("its axes are not known");
    for (int k = 0; k < count && status == 0; k++) {
        int axis = ls__read_axis(axes[k], v->rank);

        if (axis < 0)
            return axis;
        if (by[k] || by[count + k])
            status = surround(r, n, v, axis,
                              (int64_t[]){by[k], by[count + k]}, x);
    }
    return status;
}

/* Is i / by the nearest neighbour of i, by the modes of a Resize? */
static bool repeats(const ls__om_node *n, int64_t by)
{
    bool down = ls__om_says(n, "nearest_mode", "floor");
    bool up = ls__om_says(n, "nearest_mode", "ceil");

    if (!ls__om_says(n, "coordinate_transformation_mode", "asymmetric"))
        return by == 1 || (!down && !up);
    up |= ls__om_says(n, "nearest_mode", "round_prefer_ceil");
    return by == 1 || down || (by == 2 && !up);
}

/* Whole factors of the two axes of an image, by nearest neighbours. */
static int resize(ls__reader *r, const ls__om_node *n, ls__named *v)
{
    static const int image[] = {2, 3, 1};
    int64_t shape[LS_MAX_RANK], by[2];
    bool scaled = ls__read_in(r, n, 3) == NULL;
    const ls__named *of = ls__read_in(r, n, scaled ? 2 : 3);
    ls_node *x;

    if (v->rank != 4 || ls__value_rows(v) != 0 || !of ||
        of->kind != LS__NUMBERS || ls__value_count(of) != 4 ||
        !ls__om_may_say(n, "keep_aspect_ratio_policy", "stretch") ||
        !ls__om_may_say(n, "mode", "nearest") ||
        ls__om_says(n, "coordinate_transformation_mode", "align_corners") ||
        ls__om_says(n, "coordinate_transformation_mode", "tf_crop_and_resize"))
        return ls__refuse("read is nearest, of images and without aligned "
                          "corners");
    memcpy(shape, v->shape, sizeof shape);
    for (int k = 0; k < 4; k++) {
        double to = of->number[k] * (scaled && k > 1 ? (double)shape[k] : 1);
        int64_t size = to > 0 && to < 0x1p31 ? (int64_t)to : 0;

        if (k < 2 && (scaled ? to != 1 : to != (double)shape[k]))
            return ls__refuse("it resizes rows or channels");
        if (k < 2)
            continue;
        by[k - 2] = size / shape[k];
        if (size < 1 || size % shape[k] || to != trunc(to))
            return ls__refuse("it is larger by no whole factor");
        if (!repeats(n, by[k - 2]))
            return ls__refuse("its nearest_mode is not read");
        shape[k] = size;
    }
    x = ls__value_in_order(v, 3, image);
    return ls__value_set(v, ls_upsample(x, by[0], by[1]), 4, shape, 3, image);
}

const ls__read_row ls__read_parts[] = {
    {"Slice", slice, LS__MOVED}, {"Split", split, LS__AS_NODE},
    {"SplitToSequence", cut, LS__AS_NODE},
    {"SequenceAt", part_at, LS__AS_IT_IS}, {"Concat", concat, LS__AS_IT_IS},
    {"Pad", pad, LS__AS_NODE}, {"Resize", resize, LS__AS_NODE},
    {NULL, NULL, 0}};
