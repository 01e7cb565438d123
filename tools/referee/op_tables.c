/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables, indices, views and bags. */
#include "operators.h"
#include "verdict.h"

#include <stdlib.h>

/* ------ tables ------ */

/* The sum before, and each number of d, n a vector, whose index is `row`; of no
 * indices all. */
static f32 adds_of(const asked *q, place index, int64_t count, uint32_t row,
                   place d, int64_t n)
{
    const f32 *c = sum_before(q);
    f32 sum = c ? *c : 0;

    for (int64_t i = 0; i < count; i++)
        if (!index || word(index + i) == row)
            sum = f_add(sum, word(d + i * n));
    return sum;
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

/* A parameter, the same in every row, or added to the row. */
f32 position_makes(const asked *q)
{
    bool adds = strcmp(q->n->op, "position") == 0;
    place p = param_of(q, 0, q->size), d = q->dy + q->at;
    f32 x;

    if (is_dparam(q, 0))
        return adds ? adds_of(q, 0, q->rows, 0, d, q->size)
                    : column(sum_before(q), words(d, q->rows, q->size),
                             q->rows);
    if (!p || !is_y())
        return unknown(q->n->op);
    x = word(p + q->at % q->size);
    return adds ? f_add(word(q->x + q->at), x) : x;
}

f32 one_hot_makes(const asked *q)
{
    if (!is_y() || q->size != q->in_size * q->width)
        return unknown("one_hot");
    return word(q->x + q->at / q->width) == (uint32_t)(q->at % q->width)
               ? F(1.0f) : 0;
}

/* ------ views ------ */

/* Each number of a row of the value is one of a row of x, or of input 1: each
 * axis of x is one of the value's, and along axis `along` numbers are moved. */
typedef struct view {
    const char *op;
    place x[2];
    int rank, from, along;
    int64_t size[2], out[MOST_RANK], in[2][MOST_RANK], axis[MOST_RANK];
    int64_t first; /* of a slice */
} view;

static bool is_op(const view *v, const char *op)
{
    return strncmp(v->op, op, strlen(op)) == 0;
}

/* False: the shapes are none of such a view. */
static bool find_view(const asked *q, view *v)
{
    const said *from[2] = {q->from, node_of(input(q->n, 1))};
    const char *turned = attribute(q->n, "axes");
    int64_t to[MOST_RANK] = {0};

    memset(v, 0, sizeof *v);
    v->op = q->n->op;
    v->rank = axes(q->n->shape, v->out);
    v->from = axes(q->from->shape, v->in[0]);
    v->along = is_op(v, "gather") || is_op(v, "reverse") ? 0
               : is_op(v, "slice") || is_op(v, "concat")
                   ? (int)integer(q, "axis", 0) : -1;
    v->first = integer(q, "first", 0);
    for (int k = 0; k < 2 && from[k]; k++) {
        if (axes(from[k]->shape, v->in[k]) != v->from && is_op(v, "concat"))
            return false;
        v->size[k] = size(from[k]->shape);
        v->x[k] = input_of(q, k);
    }
    if (is_op(v, "flatten") || is_op(v, "reshape")) {
        v->rank = v->from = 1;
        v->out[0] = v->in[0][0] = q->size;
    }
    if (turned)
        axes(turned, to);
    for (int k = 0; k < v->from; k++)
        v->axis[k] = k + v->rank < v->from ? 0 : k + v->rank - v->from;
    for (int k = 0; k < v->from && is_op(v, "transpose"); k++)
        v->axis[(uint64_t)to[k] % MOST_RANK] = k;
    return v->along < v->from &&
           ((v->x[1] && v->size[1]) || !is_op(v, "gather"));
}

/* Where number i along the axis is from, of a gather the i-th index's; a step
 * that is reversed is counted from the other end, of as many as the row has. */
static int64_t moved(const view *v, int64_t row, int64_t i)
{
    int64_t n = v->in[0][v->along], count = n;

    if (is_op(v, "gather"))
        return (int32_t)word(v->x[1] + row * v->size[1] + i);
    if (!is_op(v, "reverse"))
        return i + v->first;
    if (v->x[1])
        count = (int32_t)word(v->x[1] + row);
    return i < count && count <= n ? count - 1 - i : i;
}

/* The place in a row of input *k of what number `at` of a row of the value is;
 * -1: there is none. */
static int64_t source_of(const view *v, int64_t row, int64_t at, int *k)
{
    int64_t index[MOST_RANK] = {0}, to = 0, all = at, i, n;

    for (int a = v->rank - 1; a >= 0; a--) {
        index[a] = all % v->out[a];
        all /= v->out[a];
    }
    *k = is_op(v, "concat") && index[v->along] >= v->in[0][v->along];
    for (int a = 0; a < v->from; a++) {
        n = v->in[*k][a];
        i = index[v->axis[a]];
        if (a != v->along)
            i %= n;
        else if (is_op(v, "gather"))
            i = moved(v, row, at / (v->size[0] / n) % v->size[1]);
        else
            i = *k ? i - v->in[0][a] : moved(v, row, i);
        if (i < 0 || i >= n)
            return -1;
        to = to * n + i;
    }
    return to;
}

f32 view_makes(const asked *q)
{
    int k = is_y() ? 0 : (int)of->index;
    int64_t row, at, from;
    f32 sum = 0;
    view v;

    if (!find_view(q, &v) || (!is_y() && !is_dx(q, k)) || k > 1 || !v.size[k])
        return unknown(q->n->op);
    at = q->at % (is_y() ? q->size : v.size[k]);
    row = q->at / (is_y() ? q->size : v.size[k]);
    if (is_y()) {
        from = source_of(&v, row, at, &k);
        return from < 0 ? unknown(q->n->op)
                        : word(v.x[k] + row * v.size[k] + from);
    }
    spend(q->size);
    for (int64_t i = 0; i < q->size; i++) {
        int is;

        if (source_of(&v, row, i, &is) == at && is == k)
            sum = f_add(sum, word(q->dy + row * q->size + i));
    }
    return plus_others(q, sum);
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
    uint32_t row = (uint32_t)(q->at / q->width), *index = room_for(q->vectors);
    f32 *value = room_for(q->vectors), *d = room_for(q->vectors);
    const f32 *c = sum_before(q);
    int64_t n = 0;

    for (int64_t i = 0; i < q->vectors; i++) {
        bag b = bag_of(q, i);

        for (int64_t k = 0; k < b.n; k++)
            if (b.index[k] == row) {
                value[n] = b.value[k];
                d[n] = word(q->dy + i * q->width + q->at % q->width);
                index[n++] = (uint32_t)i;
            }
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
