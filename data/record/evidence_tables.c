/* SPDX-License-Identifier: BSD-3-Clause */
/* Evidence of tables, indices, views and bags. */
#include "record/evidence_rules.h"

#include <stdlib.h>
#include <string.h>

/* ------ tables ------ */

/* Begin "adds": what was there before, then d of those that follow. */
static void begin_adds(const ls__asked *q)
{
    ls__asked_rule(q, "adds");
    if (ls__asked_what(q, "dparam"))
        ls__asked_before(q);
    ls__evidence_begin(q->e, "a");
}

/* End it; nothing to add is a zero. */
static void end_adds(const ls__asked *q, int64_t found)
{
    if (found == 0)
        ls__evidence_say(q->e, 0);
    ls__evidence_end(q->e);
    if (ls__asked_what(q, "dx"))
        ls__asked_addend(q);
}

/* Add d, n a vector, of those of `count` indices that are `row`. */
static void adds_of(const ls__asked *q, const uint32_t *index, int64_t count,
                    uint32_t row, const uint32_t *d, int64_t n)
{
    int64_t found = 0;

    begin_adds(q);
    for (int64_t i = 0; i < count; i++)
        if (index[i] == row) {
            ls__evidence_take(q->e, d + i * n);
            found++;
        }
    end_adds(q, found);
}

/* Answer for a node that is the same in every row. */
int ls__evidence_parameter(const ls__asked *q)
{
    const uint32_t *p = ls__asked_param(q, 0, q->size);

    if (ls__asked_dparam(q, 0)) {
        ls__asked_rule(q, "column");
        ls__asked_before(q);
        ls__evidence_list(q->e, "a", q->rows, q->dy + q->at, q->size);
        return 0;
    }
    return p && ls__asked_y(q) ? ls__asked_move(q, &p[q->at % q->size])
                               : ls__asked_unknown("parameter");
}

int ls__evidence_embed(const ls__asked *q)
{
    int64_t count = ls__asked_of(q, "count", 0), n = q->width;
    const uint32_t *table = ls__asked_param(q, 0, count * n);
    int64_t i = q->at / n, j = q->at % n;

    if (q->size != q->in_size * n)
        return ls__asked_unknown("embed");
    if (ls__asked_dparam(q, 0)) {
        adds_of(q, q->x, q->vectors, (uint32_t)i, q->dy + j, n);
        return 0;
    }
    return table && ls__asked_y(q) && q->x[i] < (uint32_t)count
               ? ls__asked_move(q, table + q->x[i] * n + j)
               : ls__asked_unknown("embed");
}

int ls__evidence_position(const ls__asked *q)
{
    const uint32_t *table = ls__asked_param(q, 0, q->size);

    if (ls__asked_dparam(q, 0)) {
        begin_adds(q);
        for (int64_t i = 0; i < q->rows; i++)
            ls__evidence_take(q->e, q->dy + i * q->size + q->at);
        end_adds(q, q->rows);
        return 0;
    }
    if (!table || !ls__asked_y(q))
        return ls__asked_unknown("position");
    ls__asked_rule(q, "term.add");
    ls__evidence_number(q->e, "a", &q->x[q->at]);
    ls__evidence_number(q->e, "b", &table[q->at % q->size]);
    return 0;
}

int ls__evidence_gather(const ls__asked *q)
{
    const uint32_t *index = ls__asked_x(q, 1);
    int64_t of[LS_MAX_RANK], n, count, row;

    if (!index || ls__evidence_axes(q->from->shape, of) < 1)
        return ls__asked_unknown("gather");
    n = q->in_size / of[0];
    count = ls__evidence_size(ls__evidence_node(
        q->e, ls__evidence_input(q->n, 1))->shape);
    if (count > q->size || count * n != q->size)
        return ls__asked_unknown("gather");
    row = q->at / (ls__asked_y(q) ? q->size : q->in_size);
    index += row * count;
    if (ls__asked_dx(q, 0)) {
        adds_of(q, index, count, (uint32_t)(q->at / n % of[0]),
                q->dy + row * q->size + q->at % n, n);
        return 0;
    }
    return ls__asked_y(q)
               ? ls__asked_move(q, q->x + row * q->in_size +
                                       index[q->at / n % count] * n +
                                       q->at % n)
               : ls__asked_unknown("gather");
}

int ls__evidence_one_hot(const ls__asked *q)
{
    if (!ls__asked_y(q))
        return ls__asked_unknown("one_hot");
    ls__asked_rule(q, "one_hot");
    ls__evidence_number(q->e, "index", &q->x[q->at / q->width]);
    ls__evidence_word(q->e, "at", (uint32_t)(q->at % q->width));
    return 0;
}

/* ------ views ------ */

int ls__evidence_flat(const ls__asked *q)
{
    if (ls__asked_y(q))
        return ls__asked_move(q, &q->x[q->at]);
    if (!ls__asked_dx(q, 0))
        return ls__asked_unknown(q->n->op);
    ls__asked_rule(q, "adds");
    ls__evidence_number(q->e, "a", &q->dy[q->at]);
    ls__asked_addend(q);
    return 0;
}

/* Find the element of a row of x that is element `at` of a row of the value. */
static int64_t view_source(const ls__asked *q, int64_t at)
{
    int64_t in[LS_MAX_RANK], out[LS_MAX_RANK], axes[LS_MAX_RANK] = {0};
    int64_t index[LS_MAX_RANK] = {0}, spot[LS_MAX_RANK] = {0}, to = 0;
    int rank = ls__evidence_axes(q->n->shape, out);
    int of = ls__evidence_axes(q->from->shape, in), more = rank - of;
    const char *text = ls__evidence_of(q->n, "axes");
    int64_t axis = ls__asked_of(q, "axis", 0);

    if (text)
        ls__evidence_axes(text, axes);
    for (int k = rank - 1; k >= 0; k--) {
        index[k] = at % out[k];
        at /= out[k];
    }
    for (int k = 0; k < of; k++)
        if (strcmp(q->n->op, "transpose") == 0)
            spot[(uint64_t)axes[k] % LS_MAX_RANK] = index[k];
        else if (k + more >= 0)
            spot[k] = in[k] == 1 ? 0 : index[k + more];
    if (strcmp(q->n->op, "slice") == 0 && axis >= 0 && axis < of)
        spot[axis] = index[axis] + ls__asked_of(q, "first", 0);
    for (int k = 0; k < of; k++)
        to = to * in[k] + spot[k] % in[k];
    return to < q->in_size ? to : 0;
}

int ls__evidence_view(const ls__asked *q)
{
    bool is_y = ls__asked_y(q);
    int64_t size = is_y ? q->size : q->in_size, found = 0;
    int64_t row = q->at / size, at = q->at % size;

    if (is_y)
        return ls__asked_move(q, q->x + row * q->in_size + view_source(q, at));
    if (!ls__asked_dx(q, 0))
        return ls__asked_unknown(q->n->op);
    begin_adds(q);
    for (int64_t i = 0; i < q->size; i++)
        if (view_source(q, i) == at) {
            ls__evidence_take(q->e, q->dy + row * q->size + i);
            found++;
        }
    end_adds(q, found);
    return 0;
}

/* Find the place along the axis, where input 0 comes first: `extent` places of
 * (outer,..,inner). */
int ls__evidence_concat(const ls__asked *q)
{
    const ls__said *other = ls__evidence_node(q->e,
                                              ls__evidence_input(q->n, 1));
    int64_t in[2][LS_MAX_RANK], axis = ls__asked_of(q, "axis", 0), inner = 1;
    int rank = ls__evidence_axes(q->from->shape, in[0]);
    bool is_y = ls__asked_y(q);
    int64_t k = q->e->of->place.index, both, extent, i, outer;
    const uint32_t *x[2] = {q->x, ls__asked_x(q, 1)};

    if (!other || axis < 0 || axis >= rank || !x[1] || k > 1 ||
        ls__evidence_axes(other->shape, in[1]) != rank ||
        (!is_y && !ls__asked_dx(q, (int)k)))
        return ls__asked_unknown("concat");
    for (int a = (int)axis + 1; a < rank; a++)
        inner *= in[0][a];
    both = in[0][axis] + in[1][axis];
    extent = is_y ? both : in[k][axis];
    i = q->at / inner % extent;
    outer = q->at / inner / extent;
    if (!is_y) {
        i += k ? in[0][axis] : 0;
        ls__asked_rule(q, "adds");
        ls__evidence_number(q->e, "a", q->dy + (outer * both + i) * inner +
                                           q->at % inner);
        ls__asked_addend(q);
        return 0;
    }
    k = i >= in[0][axis];
    i -= k ? in[0][axis] : 0;
    return ls__asked_move(q, x[k] + (outer * in[k][axis] + i) * inner +
                                 q->at % inner);
}

/* Find the same step counted from the other end, of as many as the row has. */
int ls__evidence_reverse(const ls__asked *q)
{
    const uint32_t *length = ls__asked_x(q, 1);
    int64_t shape[LS_MAX_RANK], at = q->at, width, t, count;

    if (ls__evidence_axes(q->n->shape, shape) < 1 || q->size != q->in_size)
        return ls__asked_unknown(q->n->op);
    width = q->size / shape[0];
    t = at / width % shape[0];
    count = length ? (int64_t)length[at / q->size] : shape[0];
    if (t < count && count <= shape[0])
        at += (count - 1 - 2 * t) * width;
    if (ls__asked_y(q))
        return ls__asked_move(q, &q->x[at]);
    if (!ls__asked_dx(q, 0))
        return ls__asked_unknown(q->n->op);
    ls__asked_rule(q, "adds");
    ls__evidence_number(q->e, "a", &q->dy[at]);
    ls__asked_addend(q);
    return 0;
}

/* ------ bags ------ */

/* What a bag has of the index: its value's place, NULL for 1; false: nothing.
 * An index that stands in it twice is more than one number can tell. */
typedef struct found {
    const uint32_t *value;
    int64_t count;
} found;

static found find_in_bag(const ls__asked *q, int64_t bag, uint32_t index)
{
    const uint32_t *v = ls__asked_x(q, 1);
    found f = {NULL, 0};

    for (int64_t i = bag * q->in; i < (bag + 1) * q->in; i++)
        if (q->x[i] == index) {
            f.value = v ? v + i : NULL;
            f.count++;
        }
    return f;
}

/* Compute 1, or of a mean 1 / how many the bag has; two that are equal have
 * twice that. */
static uint32_t usual_value(const ls__asked *q, int64_t bag, int64_t count)
{
    int64_t there = 0;
    float one, sum = 0;

    for (int64_t i = bag * q->in; i < (bag + 1) * q->in; i++)
        there += q->x[i] >> 31 == 0;
    one = ls__asked_of(q, "mean", 0) ? 1.0f / (float)there : 1.0f;
    for (int64_t i = 0; i < count; i++)
        sum += one;
    return ls__asked_bits(sum);
}

/* One of the three lists of a chain over entries: `value`, `w`, `index`. */
typedef struct entry {
    found of;
    int64_t bag, k; /* index of K: an input, or a bag */
    const uint32_t *w;
} entry;

static void give_entries(const ls__asked *q, const entry *e, int64_t n)
{
    ls__evidence_begin(q->e, "value");
    for (int64_t i = 0; i < n; i++)
        if (e[i].of.value)
            ls__evidence_take(q->e, e[i].of.value);
        else
            ls__evidence_say(q->e, usual_value(q, e[i].bag, e[i].of.count));
    ls__evidence_end(q->e);
    ls__evidence_begin(q->e, "w");
    for (int64_t i = 0; i < n; i++)
        ls__evidence_take(q->e, e[i].w);
    ls__evidence_end(q->e);
    ls__evidence_begin(q->e, "index");
    for (int64_t i = 0; i < n; i++)
        ls__evidence_say(q->e, (uint32_t)e[i].k);
    ls__evidence_end(q->e);
}

/* Find the entries of y's bag, by rising index, or for the table the bags that
 * name its row.  Returns how many; -1: one cannot be told. */
static int64_t find_entries(const ls__asked *q, const uint32_t *table,
                            entry *e, int64_t count)
{
    int64_t n = 0, j = q->at % q->width, nth = q->at / q->width;
    bool is_y = ls__asked_y(q);
    int64_t of = is_y ? count : q->vectors;

    for (int64_t i = 0; i < of; i++) {
        int64_t bag = is_y ? nth : i;
        found f = find_in_bag(q, bag, (uint32_t)(is_y ? i : nth));

        if (f.count == 0)
            continue;
        if (f.count > 1 && f.value)
            return -1;
        e[n++] = (entry){f, bag, i, (is_y ? table + i * q->width
                                          : q->dy + i * q->width) + j};
    }
    return n;
}

static int bag_sum(const ls__asked *q, const uint32_t *table,
                   const uint32_t *bias, int64_t count)
{
    int64_t most = ls__asked_y(q) ? count : q->vectors, n;
    entry *e = malloc((size_t)(most + 1) * sizeof *e);

    if (!e)
        return ls__fail(LS_ENOMEM, "no memory for evidence");
    n = find_entries(q, table, e, count);
    if (n < 0) {
        free(e);
        return ls__asked_unknown("a bag that names one row twice, with "
                                 "values");
    }
    ls__asked_rule(q, n ? "bag" : "adds");
    if (!ls__asked_y(q))
        ls__asked_before(q);
    if (n)
        give_entries(q, e, n);
    else if (bias)
        ls__evidence_number(q->e, "a", &bias[q->at % q->width]);
    else
        ls__evidence_word(q->e, "a", 0);
    if (n && bias)
        ls__evidence_number(q->e, "bias", &bias[q->at % q->width]);
    free(e);
    return 0;
}

static int bag_values(const ls__asked *q, const uint32_t *table)
{
    uint32_t row = q->x[q->at];

    if (row >> 31) {
        ls__asked_rule(q, "adds");
        ls__evidence_word(q->e, "a", 0);
    } else {
        ls__asked_rule(q, "product");
        ls__evidence_list(q->e, "a", q->width,
                          q->dy + q->at / q->in * q->width, 1);
        ls__evidence_list(q->e, "b", q->width, table + row * q->width, 1);
    }
    ls__asked_addend(q);
    return 0;
}

int ls__evidence_bag(const ls__asked *q)
{
    int64_t count = ls__asked_of(q, "count", 0);
    const uint32_t *table = ls__asked_param(q, 0, count * q->width);
    const uint32_t *bias = ls__asked_param(q, 1, q->width);
    bool has_bias = ls__evidence_param(q->e, q->n, 1);

    if (!table || (has_bias && !bias) ||
        q->size * q->in != q->in_size * q->width)
        return ls__asked_unknown(q->n->op);
    if (ls__asked_what(q, "kept"))
        return ls__asked_unknown("a bag's list by its rows: that is no float");
    if (ls__asked_y(q))
        return bag_sum(q, table, bias, count);
    if (ls__asked_dparam(q, 0))
        return bag_sum(q, table, NULL, count);
    if (ls__asked_dparam(q, 1))
        return ls__asked_column(q, q->dy);
    return ls__asked_dx(q, 1) && q->at < q->rows * q->in_size
               ? bag_values(q, table) : ls__asked_unknown(q->n->op);
}
