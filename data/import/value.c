/* SPDX-License-Identifier: BSD-3-Clause */
/* See value.h. */
#include "import/value.h"
#include "base/assert.h"
#include "base/error.h"

#include <lockstep/arithmetic.h>
#include <stdio.h>
#include <string.h>

/* ------ looking ------ */

const char *ls__value_text(char out[LS__VALUE_TEXT], int rank,
                           const int64_t *shape)
{
    size_t n = 0;

    for (int k = 0; k < rank && n < LS__VALUE_TEXT - 40; k++) {
        bool rows = shape[k] % LS__ROWS == 0 && shape[k];
        long long size = rows ? shape[k] / LS__ROWS : shape[k];

        n += (size_t)snprintf(out + n, LS__VALUE_TEXT - n, "%s", k ? "," : "(");
        if (!rows || size != 1)
            n += (size_t)snprintf(out + n, LS__VALUE_TEXT - n, "%lld%s", size,
                                  rows ? " " : "");
        if (rows)
            n += (size_t)snprintf(out + n, LS__VALUE_TEXT - n, "rows");
    }
    snprintf(out + n, LS__VALUE_TEXT - n, rank ? ")" : "()");
    return out;
}

int64_t ls__value_count(const ls__named *v)
{
    return ls__count(v->rank, v->shape);
}

static const ls__atom *rows_of(const ls__named *v)
{
    for (int i = 0; i < v->atoms; i++)
        if (v->atom[i].place == LS__ROW)
            return &v->atom[i];
    return NULL;
}

int ls__value_rows(const ls__named *v)
{
    const ls__atom *rows = rows_of(v);

    return rows && v->shape[rows->axis] == LS__ROWS ? rows->axis : -1;
}

int ls__atoms_rank(const ls__named *v)
{
    return v->atoms - (rows_of(v) != NULL);
}

/* The axis of the node's shape of each atom that is no row, by places. */
static void by_place(const ls__named *v, int at[LS__ATOMS])
{
    for (int i = 0; i < v->atoms; i++)
        if (v->atom[i].place != LS__ROW) {
            LS__ASSERT(v->atom[i].place < LS__ATOMS);
            at[v->atom[i].place] = i;
        }
}

/* Reshape the node to its atoms, in the order of their places. */
static int reshape_to_atoms(ls__named *v)
{
    int at[LS__ATOMS], n = ls__atoms_rank(v);
    int64_t shape[LS__ATOMS], is[LS_MAX_RANK];

    if (n >= LS_MAX_RANK)
        return ls__refuse("it has more than %d axes", LS_MAX_RANK - 1);
    by_place(v, at);
    for (int k = 0; k < n; k++)
        shape[k] = v->atom[at[k]].size;
    if (ls_node_shape(v->node, is) == n &&
        !memcmp(is, shape, (size_t)n * sizeof *is))
        return 0;
    return ls__value_with(v, ls_reshape(v->node, n, shape));
}

/* ------ making ------ */

int ls__value_set(ls__named *v, ls_node *node, int rank, const int64_t *shape,
                  int axes, const int *order)
{
    int place[LS_MAX_RANK], next = 0;
    int64_t of[LS_MAX_RANK] = {0}; /* the shape may be v's own */

    if (!node)
        return ls__made(node);
    LS__ASSERT(rank >= 0 && rank <= LS_MAX_RANK);
    for (int k = 0; k < rank; k++) {
        place[k] = LS__ROW;
        of[k] = shape[k];
    }
    for (int k = 0; k < axes; k++)
        if (of[order[k]] != 1)
            place[order[k]] = next++;
    *v = (ls__named){.name = v->name, .kind = LS__NODE, .rank = rank,
                     .is_real = true, .is_truth = v->is_truth, .node = node};
    memcpy(v->shape, of, sizeof of);
    for (int k = 0; k < rank; k++)
        if (of[k] != 1)
            v->atom[v->atoms++] = (ls__atom){of[k], k, place[k]};
    return reshape_to_atoms(v);
}

/* ------ moving ------ */

int ls__atoms_split(ls__named *v, int i, int64_t size)
{
    ls__atom *a = &v->atom[i];

    LS__ASSERT(a->place != LS__ROW && a->size % size == 0);
    if (v->atoms == LS__ATOMS)
        return ls__refuse("its axes are cut into too many");
    for (int k = 0; k < v->atoms; k++)
        v->atom[k].place += v->atom[k].place > a->place;
    memmove(a + 1, a, (size_t)(v->atoms - i) * sizeof *a);
    v->atoms++;
    a[1].size /= size;
    a[1].place++;
    a[0].size = size;
    return reshape_to_atoms(v);
}

/* Put the node's axes in the order of these atoms. */
static int arrange(ls__named *v, int n, const int *order)
{
    int axes[LS_MAX_RANK];
    bool moves = false;

    LS__ASSERT(n == ls__atoms_rank(v) && n < LS_MAX_RANK);
    for (int k = 0; k < n; k++) {
        axes[k] = v->atom[order[k]].place;
        moves |= axes[k] != k;
    }
    if (!moves)
        return 0;
    for (int k = 0; k < n; k++)
        v->atom[order[k]].place = k;
    return ls__value_with(v, ls_transpose(v->node, axes));
}

/* Make one atom of those of an axis, which lie one after the other. */
static void merge(ls__named *v)
{
    int kept = 0;

    for (int i = 0; i < v->atoms; i++) {
        ls__atom *last = kept ? &v->atom[kept - 1] : NULL, a = v->atom[i];

        if (last && last->axis == a.axis && last->place != LS__ROW &&
            a.place == last->place + 1) {
            last->size *= a.size;
            for (int k = 0; k < v->atoms; k++)
                if (k < kept || k > i)
                    v->atom[k].place -= v->atom[k].place > last->place;
        } else {
            v->atom[kept++] = a;
        }
    }
    v->atoms = kept;
}

bool ls__value_mixes_rows(const ls__named *v)
{
    return rows_of(v) && ls__value_rows(v) < 0;
}

static ls_node *mixed(const ls__named *v)
{
    char text[LS__VALUE_TEXT];

    ls__refuse("the rows of %s are no axis of their own here",
               ls__value_text(text, v->rank, v->shape));
    return NULL;
}

ls_node *ls__value_in_order(ls__named *v, int axes, const int *order)
{
    int list[LS__ATOMS], n = 0;
    int64_t shape[LS_MAX_RANK];

    LS__ASSERT(v->kind == LS__NODE);
    if (ls__value_mixes_rows(v))
        return mixed(v);
    if (axes >= LS_MAX_RANK) {
        ls__refuse("it has more than %d axes", LS_MAX_RANK - 1);
        return NULL;
    }
    for (int k = 0; k < axes; k++) {
        shape[k] = v->shape[order[k]];
        for (int i = 0; i < v->atoms; i++)
            if (v->atom[i].axis == order[k] && v->atom[i].place != LS__ROW)
                list[n++] = i;
    }
    if (arrange(v, n, list) < 0)
        return NULL;
    merge(v);
    if (reshape_to_atoms(v) < 0)
        return NULL;
    return axes == ls__atoms_rank(v) ? v->node
                                     : ls_reshape(v->node, axes, shape);
}

/* ------ the last axes ------ */

/* Append an axis's atoms that are no rows to a list; returns their size. */
static int64_t list_axis(const ls__named *v, int axis, int list[LS__ATOMS],
                         int *n)
{
    int64_t size = 1;

    for (int i = 0; i < v->atoms; i++)
        if (v->atom[i].axis == axis && v->atom[i].place != LS__ROW) {
            list[(*n)++] = i;
            size *= v->atom[i].size;
        }
    return size;
}

ls_node *ls__value_last(ls__named *v)
{
    int list[LS__ATOMS] = {0}, at[LS__ATOMS], n = 0, axes, last = v->rank - 1;
    int64_t shape[LS__ATOMS];

    if (v->rank < 1 || v->shape[last] % LS__ROWS == 0)
        return mixed(v);
    by_place(v, at);
    for (int k = 0; k < ls__atoms_rank(v); k++)
        if (v->atom[at[k]].axis != last) {
            shape[n] = v->atom[at[k]].size;
            list[n++] = at[k];
        }
    shape[n] = v->shape[last];
    axes = n + 1;
    list_axis(v, last, list, &n);
    if (axes >= LS_MAX_RANK)
        ls__refuse("it has too many axes");
    if (axes >= LS_MAX_RANK || arrange(v, n, list) < 0)
        return NULL;
    return n == axes ? v->node : ls_reshape(v->node, axes, shape);
}

int ls__value_set_last(ls__named *v, ls_node *node, int64_t size)
{
    int last = v->rank - 1;

    if (!node)
        return ls__made(node);
    while (v->atoms && v->atom[v->atoms - 1].axis == last)
        v->atoms--;
    v->node = node;
    v->shape[last] = size;
    if (size != 1) {
        int place = ls__atoms_rank(v);

        if (v->atoms == LS__ATOMS)
            return ls__refuse("it has too many axes");
        v->atom[v->atoms++] = (ls__atom){size, last, place};
    }
    return reshape_to_atoms(v);
}

void ls__value_lie(const ls__named *v, int last, ls__lie *lie)
{
    int at[LS__ATOMS], *order = lie->order, n = 0, rows = ls__value_rows(v);
    bool taken[LS_MAX_RANK] = {false};

    by_place(v, at);
    for (int k = 0; k < v->rank; k++)
        if (k == rows || k == last)
            taken[k] = true;
        else if ((taken[k] = v->shape[k] == 1))
            order[n++] = k;
    for (int k = 0; k < ls__atoms_rank(v); k++)
        if (!taken[v->atom[at[k]].axis]) {
            order[n++] = v->atom[at[k]].axis;
            taken[v->atom[at[k]].axis] = true;
        }
    if (last >= 0)
        order[n++] = last;
    lie->axes = n;
}

ls_node *ls__value_lying(ls__named *v, int last, ls__lie *lie)
{
    ls__value_lie(v, last, lie);
    return ls__value_in_order(v, lie->axes, lie->order);
}

int ls__value_set_lying(ls__named *v, ls_node *node, const ls__lie *lie)
{
    return ls__value_set(v, node, v->rank, v->shape, lie->axes, lie->order);
}

ls_node *ls__value_plain(ls__named *v)
{
    int order[LS_MAX_RANK], n = 0, rows = ls__value_rows(v);

    for (int k = 0; k < v->rank; k++)
        if (k != rows)
            order[n++] = k;
    return ls__value_in_order(v, n, order);
}

bool ls__value_join(const ls__named *a, const ls__named *b, int *rank,
                    int64_t shape[LS_MAX_RANK])
{
    *rank = a->rank > b->rank ? a->rank : b->rank;
    for (int k = 0; k < *rank; k++) {
        int i = k - (*rank - a->rank), j = k - (*rank - b->rank);
        int64_t x = i < 0 ? 1 : a->shape[i], y = j < 0 ? 1 : b->shape[j];

        if (x != y && x != 1 && y != 1)
            return false;
        shape[k] = x == 1 ? y : x;
    }
    return true;
}

/* Split both until the atoms are alike of each of the first `axes` axes that
 * both have. */
static int match(ls__named *v, ls__named *other, int axes)
{
    int status = 0, j = 0;

    for (int i = 0; i < v->atoms && status == 0; i++) {
        int64_t a, b;

        if (v->atom[i].axis >= axes)
            break;
        while (j < other->atoms && other->atom[j].axis < v->atom[i].axis)
            j++;
        if (j == other->atoms || other->atom[j].axis > v->atom[i].axis)
            continue;
        a = v->atom[i].size;
        b = other->atom[j].size;
        if (a != b && v->atom[i].place != LS__ROW && a % b == 0)
            status = ls__atoms_split(v, i, b);
        else if (a != b && other->atom[j].place != LS__ROW && b % a == 0)
            status = ls__atoms_split(other, j, a);
        else if (a != b)
            status = ls__refuse("its axes are cut at other places than the "
                                "other operand's");
        j++;
    }
    return status;
}

/* The node as matrices: axes of a batch, each of which this or the other value
 * has, then the last two. */
static ls_node *matrices(ls__named *v, const ls__named *other)
{
    int list[LS__ATOMS] = {0}, n = 0, axes = 0;
    int64_t shape[2 * LS__ATOMS];

    for (int k = 0; k < v->rank - 2; k++) {
        int was = n;

        list_axis(v, k, list, &n);
        for (int i = was; i < n; i++)
            shape[axes++] = v->atom[list[i]].size;
        for (int j = 0; n == was && j < other->atoms; j++)
            if (other->atom[j].axis == k && other->atom[j].place != LS__ROW &&
                v->shape[k] == 1)
                shape[axes++] = 1;
    }
    for (int k = v->rank - 2; k < v->rank; k++)
        shape[axes++] = list_axis(v, k, list, &n);
    if (axes >= LS_MAX_RANK)
        ls__refuse("it has too many axes");
    return axes >= LS_MAX_RANK || arrange(v, n, list) < 0
               ? NULL : ls_reshape(v->node, axes, shape);
}

int ls__value_product(ls__named *a, ls__named *b, ls__named *y)
{
    int status, last, rows = 0;
    ls_node *x[2];

    while (a->rank < b->rank)
        ls__value_unsqueeze(a, 0);
    while (b->rank < a->rank)
        ls__value_unsqueeze(b, 0);
    last = a->rank - 1;
    if (a->rank < 2 || a->shape[last] != b->shape[last - 1] ||
        a->shape[last] % LS__ROWS == 0)
        return ls__refuse("its matrices do not fit, or it sums over the rows, "
                          "which do not see each other here");
    for (int k = 0; k < last - 1; k++)
        if (a->shape[k] != b->shape[k] && a->shape[k] != 1 && b->shape[k] != 1)
            return ls__refuse("its batches do not fit");
    if ((status = match(a, b, last - 1)) < 0)
        return status;
    x[0] = matrices(a, b);
    x[1] = x[0] ? matrices(b, a) : NULL;
    if (!x[1])
        return ls__made(NULL);
    *y = (ls__named){.name = y->name, .kind = LS__NODE, .rank = a->rank,
                     .is_real = true};
    for (int k = 0, place = 0; k <= last; k++) {
        const ls__named *from = k < last - 1 && a->shape[k] == 1 ? b
                                : k == last ? b : a;

        y->shape[k] = from->shape[k];
        for (int i = 0; i < from->atoms; i++)
            if (from->atom[i].axis == k) {
                bool row = from->atom[i].place == LS__ROW;

                if (y->atoms == LS__ATOMS)
                    return ls__refuse("it has too many axes");
                rows += row;
                y->atom[y->atoms] = from->atom[i];
                y->atom[y->atoms++].place = row ? LS__ROW : place++;
            }
    }
    if (rows > 1 || (!rows && (rows_of(a) || rows_of(b))))
        return ls__refuse("it multiplies rows by rows");
    status = ls__value_with(y, ls_matmul(x[0], x[1]));
    return status < 0 ? status : reshape_to_atoms(y);
}

int ls__value_like(ls__named *v, ls__named *other)
{
    int list[LS__ATOMS] = {0}, at[LS__ATOMS], n = 0, status;
    int64_t shape[LS_MAX_RANK], all[LS_MAX_RANK], is[LS_MAX_RANK];
    int of[LS__ATOMS], rank, j = 0;

    while (v->rank < other->rank)
        ls__value_unsqueeze(v, 0);
    if ((status = match(v, other, v->rank)) < 0)
        return status;
    for (int k = 0; k < LS__ATOMS; k++)
        of[k] = -1;
    for (int i = 0; i < v->atoms; i++, j++) { /* of[their place] is our atom */
        while (other->atom[j].axis < v->atom[i].axis)
            j++;
        if (v->atom[i].place != LS__ROW)
            of[other->atom[j].place] = i;
    }
    rank = ls__atoms_rank(other);
    by_place(other, at);
    for (int k = 0; k < rank; k++) {
        all[k] = other->atom[at[k]].size;
        shape[k] = of[k] < 0 ? 1 : all[k];
        if (of[k] >= 0)
            list[n++] = of[k];
    }
    if ((status = arrange(v, n, list)) < 0)
        return status;
    if (n < rank)
        v->node = ls_broadcast_to(ls_reshape(v->node, rank, shape), rank, all);
    else if (ls_node_shape(v->node, is) != rank)
        v->node = ls_reshape(v->node, rank, shape);
    return ls__made(v->node);
}
