/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables, indices, views and bags. */
#include "operators.h"
#include "verdict.h"

#include <stdlib.h>

/* ------ tables ------ */

/* The sum before, and d, n a vector, of those of `count` indices that are
 * `row`. */
static f32 adds_of(const asked *q, place index, int64_t count, uint32_t row,
                   place d, int64_t n)
{
    const f32 *c = is_what("dparam") ? sum_before(q) : NULL;
    f32 sum = c ? *c : 0;

    for (int64_t i = 0; i < count; i++)
        if (word(index + i) == row)
            sum = f_add(sum, word(d + i * n));
    return is_what("dparam") ? sum : plus_others(q, sum);
}

/* The same in every row. */
f32 parameter_makes(const asked *q)
{
    place p = param_of(q, 0, q->size);

    if (is_dparam(q, 0))
        return column(sum_before(q), words(q->dy + q->at, q->rows, q->size),
                      q->rows);
    return p && is_y() ? word(p + q->at % q->size) : unknown("parameter");
}

f32 embed_makes(const asked *q)
{
    int64_t count = integer(q, "count", 0), n = q->width;
    int64_t i = q->at / n, j = q->at % n;
    place table = param_of(q, 0, count * n);
    uint32_t row;

    if (q->size != q->in_size * n || !table)
        return unknown("embed");
    if (is_dparam(q, 0))
        return adds_of(q, q->x, q->vectors, (uint32_t)i, q->dy + j, n);
    row = is_y() ? word(q->x + i) : 0;
    return is_y() && row < (uint32_t)count ? word(table + row * n + j)
                                           : unknown("embed");
}

f32 position_makes(const asked *q)
{
    place table = param_of(q, 0, q->size);
    const f32 *c;
    f32 sum;

    if (!is_dparam(q, 0))
        return table && is_y() ? f_add(word(q->x + q->at),
                                       word(table + q->at % q->size))
                               : unknown("position");
    c = sum_before(q);
    sum = c ? *c : 0;
    for (int64_t i = 0; i < q->rows; i++)
        sum = f_add(sum, word(q->dy + i * q->size + q->at));
    return sum;
}

f32 gather_makes(const asked *q)
{
    const said *indices = node_of(input(q->n, 1));
    int64_t all[MOST_RANK], n, count, row;
    place index = input_of(q, 1);
    uint32_t from;

    if (!index || axes(q->from->shape, all) < 1)
        return unknown("gather");
    n = q->in_size / all[0];
    count = size(indices->shape);
    if (count > q->size || count * n != q->size)
        return unknown("gather");
    row = q->at / (is_y() ? q->size : q->in_size);
    index += row * count;
    if (is_dx(q, 0))
        return adds_of(q, index, count, (uint32_t)(q->at / n % all[0]),
                       q->dy + row * q->size + q->at % n, n);
    from = is_y() ? word(index + q->at / n % count) : 0;
    return is_y() && from < all[0]
               ? word(q->x + row * q->in_size + from * n + q->at % n)
               : unknown("gather");
}

f32 one_hot_makes(const asked *q)
{
    if (!is_y() || q->size != q->in_size * q->width)
        return unknown("one_hot");
    return word(q->x + q->at / q->width) == (uint32_t)(q->at % q->width)
               ? F(1.0f) : 0;
}

/* ------ views ------ */

/* x, and the gradient, where another place has them. */
static f32 from_place(const asked *q, int64_t at)
{
    if (is_y())
        return word(q->x + at);
    return is_dx(q, 0) ? plus_others(q, f_add(0, word(q->dy + at)))
                       : unknown(q->n->op);
}

f32 flat_makes(const asked *q)
{
    return q->size == q->in_size ? from_place(q, q->at) : unknown(q->n->op);
}

/* The map from a row of the value to a row of x: the extents of both, and of
 * each axis of x the axis of the value (-1: it stands still) and where it
 * begins. */
typedef struct view {
    int rank, from;
    int64_t in[MOST_RANK], out[MOST_RANK], first[MOST_RANK], axis[MOST_RANK];
} view;

static view view_of(const asked *q)
{
    const char *turned = attribute(q->n, "axes");
    int64_t axis = integer(q, "axis", 0), to[MOST_RANK] = {0};
    view v;

    memset(&v, 0, sizeof v);
    v.rank = axes(q->n->shape, v.out);
    v.from = axes(q->from->shape, v.in);
    if (turned)
        axes(turned, to);
    for (int k = 0; k < v.from; k++)
        v.axis[k] = v.in[k] == 1 ? -1 : k + v.rank - v.from;
    for (int k = 0; k < v.from && strcmp(q->n->op, "transpose") == 0; k++)
        v.axis[(uint64_t)to[k] % MOST_RANK] = k;
    if (strcmp(q->n->op, "slice") == 0 && axis >= 0 && axis < v.from)
        v.first[axis] = integer(q, "first", 0);
    return v;
}

/* The element of a row of x that is element `at` of a row of the value. */
static int64_t source_of(const asked *q, const view *v, int64_t at)
{
    int64_t index[MOST_RANK] = {0}, to = 0;

    for (int k = v->rank - 1; k >= 0; k--) {
        index[k] = at % v->out[k];
        at /= v->out[k];
    }
    for (int k = 0; k < v->from; k++)
        to = to * v->in[k] + ((v->axis[k] < 0 ? 0 : index[v->axis[k]]) +
                              v->first[k]) % v->in[k];
    return to >= 0 && to < q->in_size ? to : 0;
}

f32 view_makes(const asked *q)
{
    int64_t each = is_y() ? q->size : q->in_size;
    int64_t row = q->at / each, at = q->at % each;
    view v = view_of(q);
    f32 sum = 0;

    if (is_y())
        return word(q->x + row * q->in_size + source_of(q, &v, at));
    if (!is_dx(q, 0))
        return unknown(q->n->op);
    for (int64_t i = 0; i < q->size; i++)
        if (source_of(q, &v, i) == at)
            sum = f_add(sum, word(q->dy + row * q->size + i));
    return plus_others(q, sum);
}

/* Along the axis, where input 0 comes first: `extent` places of
 * (outer,..,inner). */
f32 concat_makes(const asked *q)
{
    const said *other = node_of(input(q->n, 1));
    int64_t in[2][MOST_RANK], axis = integer(q, "axis", 0), inner = 1;
    int64_t k = is_y() ? 0 : of->index, both, i, outer;
    int rank = axes(q->from->shape, in[0]);
    place x[2];

    x[0] = q->x;
    x[1] = input_of(q, 1);
    if (!other || axis < 0 || axis >= rank || !x[1] || k < 0 || k > 1 ||
        axes(other->shape, in[1]) != rank || (!is_y() && !is_dx(q, (int)k)))
        return unknown("concat");
    for (int a = (int)axis + 1; a < rank; a++)
        inner *= in[0][a];
    both = in[0][axis] + in[1][axis];
    i = q->at / inner % (is_y() ? both : in[k][axis]);
    outer = q->at / inner / (is_y() ? both : in[k][axis]);
    if (!is_y()) {
        i += k ? in[0][axis] : 0;
        return plus_others(q, f_add(0, word(q->dy +
                                            (outer * both + i) * inner +
                                            q->at % inner)));
    }
    k = i >= in[0][axis];
    i -= k ? in[0][axis] : 0;
    return word(x[k] + (outer * in[k][axis] + i) * inner + q->at % inner);
}

/* The same step counted from the other end, of as many as the row has. */
f32 reverse_makes(const asked *q)
{
    place length = input_of(q, 1);
    int64_t shape[MOST_RANK], at = q->at, n, t, count;

    if (axes(q->n->shape, shape) < 1 || q->size != q->in_size)
        return unknown(q->n->op);
    n = q->size / shape[0];
    t = at / n % shape[0];
    count = length ? (int32_t)word(length + at / q->size) : shape[0];
    if (t < count && count <= shape[0])
        at += (count - 1 - 2 * t) * n;
    return from_place(q, at);
}

/* ------ bags ------ */

/* A bag's indices, rising, and their values: those of one index added in order.
 * Without values each is 1, or of a mean 1 / how many the bag has. */
typedef struct bag {
    int64_t n;
    uint32_t *index;
    f32 *value;
} bag;

static bag bag_of(const asked *q, int64_t nth)
{
    const uint32_t *index = words(q->x + nth * q->in, q->in, 1);
    card *e = room_of((size_t)q->in * sizeof *e); /* values, by index */
    bool mean = integer(q, "mean", 0);
    place v = input_of(q, 1);
    int64_t n = 0, to = -1;
    bag b;

    b.index = room_for(q->in);
    b.value = room_for(q->in);
    for (int64_t i = 0; i < q->in; i++)
        if (index[i] >> 31 == 0) {
            e[n].key = index[i];
            e[n].at = (uint32_t)i;
            e[n++].of = v ? word(v + nth * q->in + i) : F(1.0f);
        }
    qsort(e, (size_t)n, sizeof *e, by_key);
    for (int64_t i = 0; i < n; i++) {
        f32 x = mean ? f_div(F(1.0f), f_int(n)) : e[i].of;

        if (i && e[i].key == e[i - 1].key) {
            b.value[to] = f_add(b.value[to], x);
            continue;
        }
        b.index[++to] = e[i].key;
        b.value[to] = x;
    }
    b.n = to + 1;
    return b;
}

/* A bag's sum: rows of the table by rising index. */
static f32 bag_y(const asked *q, place table, place bias, int64_t count)
{
    bag b = bag_of(q, q->at / q->width);
    f32 *w = room_for(b.n), sum;

    for (int64_t i = 0; i < b.n; i++)
        w[i] = b.index[i] < count
                   ? word(table + b.index[i] * q->width + q->at % q->width)
                   : unknown("an index beyond its table");
    sum = bag_sum(0, b.value, w, b.index, b.n);
    return bias ? f_add(sum, word(bias + q->at % q->width)) : sum;
}

/* The list that a bag is added up by: how many there are, their indices, their
 * values.  Integers are filed as floats are, small ones as zeros. */
static f32 bag_list(const asked *q)
{
    int64_t each = 1 + 2 * q->in, i = q->at % each - 1;
    bag b = bag_of(q, q->at / each);

    if (i < q->in)
        return i >= 0 && i < b.n && !f_zero(b.index[i]) ? b.index[i] : 0;
    return i - q->in < b.n ? b.value[i - q->in]
                           : unknown("what is behind a bag's list");
}

/* Of a row of the table the bags that name it. */
static f32 bag_dtable(const asked *q)
{
    const f32 *c = sum_before(q);
    f32 *value = room_for(q->vectors), *d = room_for(q->vectors);
    uint32_t *index = room_for(q->vectors), row;
    int64_t n = 0;

    row = (uint32_t)(q->at / q->width);
    for (int64_t i = 0; i < q->vectors; i++) {
        int64_t k = 0;
        bag b;

        while (k < q->in && word(q->x + i * q->in + k) != row)
            k++;
        if (k == q->in)
            continue;
        b = bag_of(q, i);
        for (k = 0; b.index[k] != row;)
            k++;
        value[n] = b.value[k];
        d[n] = word(q->dy + i * q->width + q->at % q->width);
        index[n++] = (uint32_t)i;
    }
    return bag_sum(c ? *c : 0, value, d, index, n);
}

static f32 bag_dvalue(const asked *q, place table, int64_t count)
{
    uint32_t row = word(q->x + q->at);
    int64_t n = q->width;

    if (row >> 31)
        return plus_others(q, 0);
    if (row >= count)
        return unknown(q->n->op);
    return plus_others(q, f32_product(
        NULL, words(q->dy + q->at / q->in * n, n, 1),
        words(table + row * n, n, 1), n));
}

f32 bag_makes(const asked *q)
{
    int64_t count = integer(q, "count", 0);
    place table = param_of(q, 0, count * q->width);
    place bias = param_of(q, 1, q->width);

    if (!table || (param(q->n, 1) && !bias) ||
        q->size * q->in != q->in_size * q->width)
        return unknown(q->n->op);
    if (is_what("kept") && has_rows(of, q->vectors, 1 + 2 * q->in))
        return bag_list(q);
    if (is_y())
        return bag_y(q, table, bias, count);
    if (is_dparam(q, 0))
        return bag_dtable(q);
    if (is_dparam(q, 1))
        return column_of(q, q->dy);
    return is_dx(q, 1) && q->at < q->rows * q->in_size
               ? bag_dvalue(q, table, count) : unknown(q->n->op);
}
