/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of values, parts put together, and more than there was. */
#include "base/error.h"
#include "import/reader.h"

#include <lockstep/arithmetic.h>

#include <math.h>
#include <string.h>

/* ------ parts ------ */

/* Are the rows part of a larger axis? */
static bool mixes_rows(const ls__named *v)
{
    for (int i = 0; i < v->atoms; i++)
        if (v->atom[i].place == LS__ROW)
            return v->shape[v->atom[i].axis] != LS__ROWS;
    return false;
}

/* A part of such a value, whose axis is made the last of the node. */
static int part_of_last(ls__named *v, int axis, int64_t first, int64_t count)
{
    int order[LS_MAX_RANK], status;
    int64_t shape[LS_MAX_RANK];
    ls_node *x;

    for (int k = 0; k < v->rank; k++)
        order[k] = k == axis ? v->rank - 1 : k == v->rank - 1 ? axis : k;
    ls__value_transpose(v, order);
    if ((status = ls__value_last(v, &x)) < 0)
        return status;
    x = ls_slice(x, ls_node_shape(x, shape) - 1, first, count);
    if ((status = ls__value_set_last(v, x, count)) < 0)
        return status;
    ls__value_transpose(v, order);
    return 0;
}

/* x[.., first:first+count, ..] along an axis of a node's value. */
int ls__read_part(ls__named *v, int axis, int64_t first, int64_t count)
{
    int order[LS_MAX_RANK], axes, k = 0, status;
    int64_t shape[LS_MAX_RANK];
    bool zeros = ls__is_zero(v);
    ls_node *x;

    if (first == 0 && count == v->shape[axis])
        return 0;
    if (count < 1 || axis == ls__value_rows(v) ||
        v->shape[axis] % LS__ROWS == 0)
        return ls__fail(LS_ENOTSUP, count < 1 ? "nothing would be left"
                        : "it takes some of the rows");
    if (mixes_rows(v))
        return part_of_last(v, axis, first, count);
    axes = ls__value_order(v, -1, order);
    if ((status = ls__value_in_order(v, axes, order, &x)) < 0)
        return status;
    while (order[k] != axis)
        k++;
    memcpy(shape, v->shape, sizeof shape);
    shape[axis] = count;
    status = ls__value_set(v, ls_slice(x, k, first, count), v->rank, shape,
                           axes, order);
    v->zeros = zeros ? v->node : NULL;
    return status;
}

/* x[.., a:b:step, ..]: one of each `step` elements that are side by side. */
static int in_steps(ls__named *v, int axis, int64_t a, int64_t b, int64_t step)
{
    int64_t shape[LS_MAX_RANK], size = v->shape[axis];
    int64_t count = step > 0 && b > a ? (b - a + step - 1) / step : 0;
    bool drop[LS_MAX_RANK] = {false};
    int status;

    if (count < 1 || v->rank == LS_MAX_RANK || step > size ||
        a - a % step + count * step > size || size % LS__ROWS == 0)
        return ls__fail(LS_ENOTSUP, "it goes in steps of %lld that do not cut "
                        "its axis into equal parts", (long long)step);
    status = ls__read_part(v, axis, a - a % step, count * step);
    for (int k = v->rank; k > axis + 1; k--)
        shape[k] = v->shape[k - 1];
    for (int k = 0; k < axis; k++)
        shape[k] = v->shape[k];
    shape[axis] = count;
    shape[axis + 1] = step;
    drop[axis + 1] = true;
    if (status == 0 &&
        (status = ls__value_reshape(v, v->rank + 1, shape, 0)) == 0 &&
        (status = ls__read_part(v, axis + 1, a % step, 1)) == 0)
        ls__value_squeeze(v, drop);
    return status;
}

static int slice(ls__reader *r, const ls__om_node *n)
{
    int64_t from[LS_MAX_RANK], to[LS_MAX_RANK], axes[LS_MAX_RANK];
    int64_t steps[LS_MAX_RANK];
    ls__named v;
    int got, status = ls__read_node_in(r, n, 0, &v);

    if (status < 0)
        return status;
    if ((got = ls__read_sizes(r, n, 1, LS_MAX_RANK, from)) < 0)
        return got;
    for (int k = 0; k < got; k++) {
        axes[k] = k;
        steps[k] = 1;
    }
    if (ls__read_sizes(r, n, 2, LS_MAX_RANK, to) != got ||
        (ls__read_in(r, n, 3) &&
         ls__read_sizes(r, n, 3, LS_MAX_RANK, axes) != got) ||
        (ls__read_in(r, n, 4) &&
         ls__read_sizes(r, n, 4, LS_MAX_RANK, steps) != got))
        return ls__fail(LS_ENOTSUP, "its bounds are not known");
    for (int k = 0; k < got && status == 0; k++) {
        int axis = ls__read_axis(axes[k], v.rank);
        int64_t size = axis < 0 ? 0 : v.shape[axis], a = from[k], b = to[k];

        if (axis < 0)
            return axis;
        a = a < -size ? 0 : a < 0 ? a + size : a > size ? size : a;
        b = b < -size ? 0 : b < 0 ? b + size : b > size ? size : b;
        status = steps[k] == 1 ? ls__read_part(&v, axis, a, b - a)
                               : in_steps(&v, axis, a, b, steps[k]);
    }
    return status < 0 ? status : ls__read_put(r, n, &v);
}

static int split(ls__reader *r, const ls__om_node *n)
{
    int64_t sizes[64], at = 0;
    ls__named v;
    int axis, got = 0, status = ls__read_node_in(r, n, 0, &v);

    if (status < 0)
        return status;
    if ((axis = ls__read_axis(ls__om_integer(n, "axis", 0), v.rank)) < 0)
        return axis;
    if (ls__read_in(r, n, 1) && (got = ls__read_sizes(r, n, 1, 64, sizes)) < 0)
        return got;
    if (n->outputs > 64 || (got && got != n->outputs))
        return ls__fail(LS_ENOTSUP, "it has too many parts");
    for (int k = 0; k < n->outputs && !got; k++) {
        int64_t each = (v.shape[axis] + n->outputs - 1) / n->outputs;
        int64_t left = v.shape[axis] - k * each;

        sizes[k] = left < each ? left : each;
    }
    for (int k = 0; k < n->outputs && status == 0; k++) {
        ls__named x = v, *y = ls__read_out(r, n, k);
        const char *name = y->name;

        if (sizes[k] < 1 || sizes[k] > v.shape[axis] - at)
            return ls__fail(LS_ESHAPE, "its parts do not fit");
        status = ls__read_part(&x, axis, at, sizes[k]);
        at += sizes[k];
        *y = x;
        y->name = name;
    }
    return status;
}

static int cut(ls__reader *r, const ls__om_node *n)
{
    ls__named v;
    double size;
    int status = ls__read_node_in(r, n, 0, &v);

    if (status < 0 || (status = ls__read_number(r, n, 1, 1, &size)) < 0)
        return status;
    v.along = ls__read_axis(ls__om_integer(n, "axis", 0), v.rank);
    if (v.along < 0)
        return v.along;
    if (!(size >= 1 && size <= (double)v.shape[v.along]) ||
        !ls__om_integer(n, "keepdims", 1))
        return ls__fail(LS_ENOTSUP, "its parts are not of one known size");
    v.kind = LS__SEQUENCE;
    v.part = (int64_t)size;
    return ls__read_put(r, n, &v);
}

static int part_at(ls__reader *r, const ls__om_node *n)
{
    ls__named v = *ls__read_in(r, n, 0);
    double at;
    int status = ls__read_number(r, n, 1, 0, &at);
    int64_t first, size;

    if (status < 0)
        return status;
    if (v.kind != LS__SEQUENCE)
        return ls__fail(LS_ENOTSUP, "its list is not that of a split");
    size = v.shape[v.along];
    first = ls__read_index_of(at, (size + v.part - 1) / v.part);
    if (first < 0)
        return (int)first;
    first *= v.part;
    v.kind = LS__NODE;
    size -= first;
    status = ls__read_part(&v, v.along, first, size < v.part ? size : v.part);
    return status < 0 ? status : ls__read_put(r, n, &v);
}

/* Join values along an axis, laid as v[main] is, which they become. */
int ls__read_join(ls__reader *r, int count, ls__named *v, int main, int axis)
{
    int order[LS_MAX_RANK], axes = ls__value_order(&v[main], -1, order), k = 0;
    int64_t shape[LS_MAX_RANK];
    ls_node **x = ls__arena_new(&r->file->arena, (size_t)count + 1, sizeof(*x));
    int status;

    if (!x)
        return LS_ENOMEM;
    memcpy(shape, v[main].shape, sizeof shape);
    shape[axis] = 0;
    for (int i = 0; i < count; i++) {
        if ((status = ls__value_in_order(&v[i], axes, order, &x[i])) < 0)
            return status;
        shape[axis] += v[i].shape[axis];
    }
    while (order[k] != axis)
        k++;
    return ls__value_set(&v[main], ls_concat(x, count, k), v[main].rank, shape,
                         axes, order);
}

static int concat(ls__reader *r, const ls__om_node *n)
{
    ls__named *v = ls__arena_new(&r->file->arena, (size_t)n->inputs,
                                   sizeof *v);
    int rank = ls__read_in(r, n, 0)->rank, status = 0, rows = -1;
    int axis = ls__read_axis(ls__om_integer(n, "axis", 0), rank);

    if (!v || axis < 0)
        return v ? axis : LS_ENOMEM;
    for (int k = 0; k < n->inputs && status == 0; k++) {
        status = ls__read_node_in(r, n, k, &v[k]);
        if (status == 0 && v[k].rank != rank)
            status = ls__fail(LS_ESHAPE, "its inputs have other ranks");
        if (status == 0 && ls__value_rows(&v[k]) >= 0)
            rows = ls__value_rows(&v[k]);
    }
    if (status == 0 && rows == axis)
        status = ls__fail(LS_ENOTSUP, "it joins rows");
    for (int k = 0; k < n->inputs && status == 0 && rows >= 0; k++) {
        int64_t shape[LS_MAX_RANK];

        memcpy(shape, v[k].shape, sizeof shape);
        shape[rows] = LS__ROWS; /* what is the same in every row */
        status = ls__value_expand(&v[k], rank, shape);
    }
    if (status == 0)
        status = ls__read_join(r, n->inputs, v, 0, axis);
    return status < 0 ? status : ls__read_put(r, n, v);
}

/* ------ more than there was ------ */

/* A number before and behind an axis. */
static int surround(ls__reader *r, const ls__om_node *n, ls__named *v,
                    int axis, const int64_t by[2], double x)
{
    const int64_t one = 1;
    ls__named parts[3];
    int count = 0, main = 0, status = 0;

    for (int k = 0; k < 2; k++)
        if (by[k] < 0 || by[k] > INT32_MAX || axis == ls__value_rows(v) ||
            v->shape[axis] % LS__ROWS == 0)
            return ls__fail(LS_ENOTSUP, "it takes away, or adds rows");
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
        if ((status = ls__fold_new(r, p, 1, &one, true)) < 0)
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

static int pad(ls__reader *r, const ls__om_node *n)
{
    int64_t by[2 * LS_MAX_RANK], axes[LS_MAX_RANK];
    double x;
    ls__named v;
    int got, count, status = ls__read_node_in(r, n, 0, &v);
    ls__wire at;

    if (status < 0)
        return status;
    if (ls__om_attribute(n, "mode", &at) && !ls__om_says(n, "mode", "constant"))
        return ls__fail(LS_ENOTSUP, "read is padding by a constant");
    if ((status = ls__read_number(r, n, 2, 0, &x)) < 0)
        return status;
    if ((got = ls__read_sizes(r, n, 1, 2 * LS_MAX_RANK, by)) < 0)
        return got;
    count = got / 2;
    for (int k = 0; k < count && k < LS_MAX_RANK; k++)
        axes[k] = k;
    if (ls__read_in(r, n, 3) &&
        ls__read_sizes(r, n, 3, LS_MAX_RANK, axes) != count)
        return ls__fail(LS_ENOTSUP, "its axes are not known");
    for (int k = 0; k < count && status == 0; k++) {
        int axis = ls__read_axis(axes[k], v.rank);

        if (axis < 0)
            return axis;
        if (by[k] || by[count + k])
            status = surround(r, n, &v, axis,
                              (int64_t[]){by[k], by[count + k]}, x);
    }
    return status < 0 ? status : ls__read_put(r, n, &v);
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
static int resize(ls__reader *r, const ls__om_node *n)
{
    static const int image[] = {2, 3, 1};
    int64_t shape[LS_MAX_RANK], sizes[LS_MAX_RANK], by[2];
    bool scaled = ls__read_in(r, n, 3) == NULL;
    const ls__named *of = ls__read_in(r, n, scaled ? 2 : 3);
    ls__named v;
    ls_node *x;
    ls__wire at;
    int status = ls__read_node_in(r, n, 0, &v);

    if (status < 0)
        return status;
    if (v.rank != 4 || !of || of->kind != LS__NUMBERS ||
        ls__value_count(of) != 4 ||
        (ls__om_attribute(n, "keep_aspect_ratio_policy", &at) &&
         !ls__om_says(n, "keep_aspect_ratio_policy", "stretch")) ||
        (ls__om_attribute(n, "mode", &at) && !ls__om_says(n, "mode", "nearest"))
        || ls__om_says(n, "coordinate_transformation_mode", "align_corners") ||
        ls__om_says(n, "coordinate_transformation_mode", "tf_crop_and_resize"))
        return ls__fail(LS_ENOTSUP, "read is nearest, of images and without "
                        "aligned corners");
    memcpy(shape, v.shape, sizeof shape);
    for (int k = 0; k < 4; k++) {
        double to = of->number[k] * (scaled && k > 1 ? (double)shape[k] : 1);

        if (k > 1) {
            sizes[k] = to > 0 && to < 0x1p31 ? (int64_t)to : 0;
            by[k - 2] = sizes[k] / shape[k];
            if (sizes[k] < 1 || sizes[k] % shape[k] || to != trunc(to))
                return ls__fail(LS_ENOTSUP, "it is larger by no whole factor");
            if (!repeats(n, by[k - 2]))
                return ls__fail(LS_ENOTSUP, "its nearest_mode is not read");
            shape[k] = sizes[k];
        } else if (scaled ? to != 1 : to != (double)shape[k]) {
            return ls__fail(LS_ENOTSUP, "it resizes rows or channels");
        }
    }
    if ((status = ls__value_in_order(&v, 3, image, &x)) < 0)
        return status;
    status = ls__value_set(&v, ls_upsample(x, by[0], by[1]), 4, shape, 3,
                           image);
    return status < 0 ? status : ls__read_put(r, n, &v);
}

const ls__read_row ls__read_parts[] = {
    {"Slice", slice}, {"Split", split}, {"SplitToSequence", cut},
    {"SequenceAt", part_at}, {"Concat", concat},
    {"Pad", pad}, {"Resize", resize}, {NULL, NULL}};
