/* SPDX-License-Identifier: BSD-3-Clause */
/* Contents of bags, in the order in which they are added up. */
#include "op/bag_list.h"
#include "base/assert.h"
#include "op/op_table.h"

#include <string.h>

_Static_assert(sizeof(ls__bag_entry) == 3 * sizeof(float), "no padding");

int64_t ls__bag_places(const ls_node *n)
{
    return ls__width(n->in[0]);
}

int64_t ls__bag_list_floats(const ls_node *n)
{
    return 1 + 2 * ls__bag_places(n);
}

/* ------ one list ------ */

/* Compare entries of a list by index; equal ones by their places, which are
 * e->bag here. */
static bool precedes(const ls__bag_entry *a, const ls__bag_entry *b)
{
    return a->index < b->index || (a->index == b->index && a->bag < b->bag);
}

/* Shell's sort: lists are short, and as a rule in order. */
static void sort_list(ls__bag_entry *e, int64_t n)
{
    int64_t gap = 1;

    while (gap < n / 3)
        gap = 3 * gap + 1;
    for (; gap > 0; gap /= 3)
        for (int64_t i = gap; i < n; i++) {
            ls__bag_entry x = e[i];
            int64_t at = i;

            for (; at >= gap && precedes(&x, &e[at - gap]); at -= gap)
                e[at] = e[at - gap];
            e[at] = x;
        }
}

/* Collect a bag's contents, in the order of its places; returns their number.
 * rise: do their indices rise? */
static int64_t collect(const ls__run *r, int64_t bag, uint32_t *index,
                       float *value, bool *rise)
{
    int64_t k = ls__bag_places(r->node), n = 0, before = -1;
    bool mean = ls__bag_of_node(r->node)->mean;
    const int32_t *x = (const int32_t *)r->x[0] + bag * k;
    const float *v =
        r->node->op->inputs > 1 ? (const float *)r->x[1] + bag * k : NULL;

    *rise = true;
    for (int64_t i = 0; i < k; i++) {
        if (x[i] < 0)
            continue;
        *rise &= x[i] > before;
        before = x[i];
        index[n] = (uint32_t)x[i];
        value[n++] = v ? v[i] : 1;
    }
    for (int64_t i = 0; i < n && mean; i++)
        value[i] = 1.0f / (float)n;
    return n;
}

/* Add up entries of one index, in the order of places; returns the number
 * left. */
static int64_t merge(ls__bag_entry *e, int64_t n)
{
    int64_t to = 0;

    for (int64_t i = 1; i < n; i++)
        if (e[i].index == e[to].index)
            e[to].value += e[i].value;
        else
            e[++to] = e[i];
    return n ? to + 1 : 0;
}

/* Put a list into order of its indices; returns the number left. */
static int64_t put_in_order(int64_t n, ls__bag_entry *e, uint32_t *index,
                            float *value)
{
    for (int64_t i = 0; i < n; i++)
        e[i] = (ls__bag_entry){index[i], (uint32_t)i, value[i]};
    sort_list(e, n);
    n = merge(e, n);
    for (int64_t i = 0; i < n; i++) {
        index[i] = e[i].index;
        value[i] = e[i].value;
    }
    return n;
}

void ls__bag_list_make(const ls__run *r, int64_t bag, ls__bag_entry *e,
                       float *list)
{
    uint32_t *index = (uint32_t *)(void *)(list + 1);
    float *value = list + 1 + ls__bag_places(r->node);
    bool rise;
    int64_t n = collect(r, bag, index, value, &rise);
    int32_t count = (int32_t)(rise ? n : put_in_order(n, e, index, value));

    LS__ASSERT(count >= 0 && count <= ls__bag_places(r->node));
    memcpy(list, &count, sizeof count);
}

ls__bag ls__bag_list(const ls__run *r, const float *list)
{
    return (ls__bag){.n = ls__width(r->node),
                     .count = ls__bag_list_count(list),
                     .index = (const uint32_t *)(const void *)(list + 1),
                     .value = list + 1 + ls__bag_places(r->node),
                     .table = r->param[0],
                     .bias = r->node->params > 1 ? r->param[1] : NULL};
}

/* ------ entries of many ------ */

/* Sort by one digit of the index: a pass of a stable radix sort. */
static void sort_digit(int64_t n, int shift, const ls__bag_entry *from,
                       ls__bag_entry *to)
{
    uint32_t count[LS__BAG_COUNTS] = {0}, sum = 0;

    _Static_assert(LS__BAG_COUNTS == 1 << 8, "a digit is 8 bits");
    LS__ASSERT(LS__APART(from, to, n * (int64_t)sizeof *from,
                         n * (int64_t)sizeof *to));
    for (int64_t i = 0; i < n; i++)
        count[from[i].index >> shift & (LS__BAG_COUNTS - 1)]++;
    for (int d = 0; d < LS__BAG_COUNTS; d++) {
        uint32_t of_digit = count[d];

        count[d] = sum;
        sum += of_digit;
    }
    for (int64_t i = 0; i < n; i++)
        to[count[from[i].index >> shift & (LS__BAG_COUNTS - 1)]++] = from[i];
}

int ls__bag_bits(const ls_node *node)
{
    int bits = 0;

    while ((ls__bag_of_node(node)->count - 1) >> bits)
        bits++;
    return bits;
}

const ls__bag_entry *ls__bag_sort(int bits, int64_t n, ls__bag_entry *e,
                                  ls__bag_entry *other)
{
    for (int shift = 0; shift < bits; shift += 8) {
        ls__bag_entry *swap = e;

        sort_digit(n, shift, e, other);
        e = other;
        other = swap;
    }
    return e;
}

bool ls__bag_touches(const ls__instr *in)
{
    return ls__is_bag(in->node->op) && ((ls__bag_made *)in->made)->touched;
}

/* The touched blocks of the table's gradient; NULL: nobody asks for them. */
static const ls__touched *touched_of(const ls__run *r)
{
    const ls__bag_made *made = r->in->made;

    return made->touched ? r->of->touched : NULL;
}

void ls__bag_clear(const ls__run *r, int64_t first, int64_t last)
{
    int64_t width = ls__width(r->node), n = (last - first) * width;
    float *rows = r->dparam[0] + first * width;

    if (touched_of(r))
        ls__touched_clear(touched_of(r), rows, n);
    else
        memset(rows, 0, (size_t)n * sizeof *rows);
}

int64_t ls__bag_table_grad(const ls__run *r, int64_t next, int64_t n,
                           const ls__bag_entry *e, const float *d, bool add)
{
    int64_t width = ls__width(r->node);

    for (int64_t i = 0, end; i < n; i = end) {
        int64_t row = e[i].index;
        float *of_row = r->dparam[0] + row * width;
        bool small;

        for (end = i + 1; end < n && e[end].index == row; end++)
            ;
        LS__ASSERT(end == n || e[end].index > row);
        if (!add && next < row)
            ls__bag_clear(r, next, row);
        small = r->kernels->bag_grad(width, end - i, e + i, d, add, of_row);
        if (touched_of(r))
            ls__touched_set(touched_of(r), of_row, width, small);
        next = row + 1;
    }
    return next;
}
