/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators that take some axes, or two nodes, made to take any: sums, maxima
 * and means over sets of axes, products with leading axes that differ, and
 * concatenated lists. */
#include "base/assert.h"
#include "base/error.h"
#include "graph/standing.h"
#include "layers/shape.h"
#include "op/layer_parts.h"

#include <lockstep/arithmetic.h>

/* ------ reductions ------ */

/* The set of axes; 0 and a failure where one is none or stands there twice. */
static unsigned axes_of(ls_node *x, int count, const int *axes)
{
    ls__shape s = ls__shape_of(x);
    unsigned set = count ? 0 : (1u << s.rank) - 1;

    for (int i = 0; i < count; i++) {
        int axis = axes[i] < 0 ? axes[i] + s.rank : axes[i];

        if (axis < 0 || axis >= s.rank || set >> axis & 1) {
            char text[LS__SHAPE_TEXT];

            ls__fail(LS_ESHAPE, "reduction of \"%s\": axis %d of %s is none, "
                     "or stands there twice", ls_node_name(x), axes[i],
                     ls__shape_text(text, s.rank, s.of));
            ls__graph_failed(ls__graph_of(x), LS_ESHAPE);
            return 0;
        }
        set |= 1u << axis;
    }
    return set;
}

/* One node for each group of axes that follow each other, the last first. */
static ls_node *over(bool sum, ls_node *x, int count, const int *axes)
{
    unsigned set = axes_of(x, count, axes);

    if (!set && count)
        return NULL;
    for (int last = ls__shape_of(x).rank - 1; x && last >= 0; last--) {
        int first = last;

        if (!(set >> last & 1))
            continue;
        while (first > 0 && set >> (first - 1) & 1)
            first--;
        x = ls__reduction_node(sum, x, first, last + 1 - first);
        last = first;
    }
    return x;
}

/* Check what is given before it is looked at. */
static ls_node *reduced(const char *function, bool sum, ls_node *x, int count,
                        const int *axes)
{
    ls_graph *g;

    if (!ls__node_stands(x))
        return NULL;
    g = ls__graph_of(x);
    if (count > 0 && !axes)
        return ls__graph_failed(g, ls__null(function, "axes"));
    if (count < 0)
        return ls__graph_failed(
            g, ls__fail(LS_EINVAL, "%s \"%s\": %d axes; there may be 0 or "
                        "more", sum ? "sum" : "max_over", ls_node_name(x),
                        count));
    ls__undo_enter(g);
    return ls__undo_leave(g, over(sum, x, count, axes));
}

ls_node *ls_sum_over(ls_node *x, int count, const int *axes)
{
    return reduced(__func__, true, x, count, axes);
}

ls_node *ls_max_over(ls_node *x, int count, const int *axes)
{
    return reduced(__func__, false, x, count, axes);
}

static double elements(const ls_node *x)
{
    ls__shape s = ls__shape_of(x);
    double n = 1;

    for (int k = 0; k < s.rank; k++)
        n *= (double)s.of[k];
    return n;
}

ls_node *ls_mean_over(ls_node *x, int count, const int *axes)
{
    ls_node *y = reduced(__func__, true, x, count, axes);

    return y ? ls_scale_shift(y, elements(y) / elements(x), 0) : NULL;
}

/* ------ products ------ */

/* The leading axes of a under those of b, from the last on: the greater where
 * one of them is 1.  false: they do not fit. */
static bool leading(const ls__shape *a, const ls__shape *b, ls__shape *out)
{
    out->rank = (a->rank > b->rank ? a->rank : b->rank) - 2;
    for (int k = 1; k <= out->rank; k++) {
        int64_t x = k <= a->rank - 2 ? a->of[a->rank - 2 - k] : 1;
        int64_t y = k <= b->rank - 2 ? b->of[b->rank - 2 - k] : 1;

        if (x != y && x != 1 && y != 1)
            return false;
        out->of[out->rank - k] = x > y ? x : y;
    }
    return true;
}

/* A node with these leading axes. */
static ls_node *led_by(ls_node *x, ls__shape axes)
{
    ls__shape s = ls__shape_of(x);
    bool same = axes.rank == s.rank - 2;

    for (int k = 0; same && k < axes.rank; k++)
        same = axes.of[k] == s.of[k];
    if (same)
        return x;
    LS__ASSERT(axes.rank + 2 < LS_MAX_RANK && s.rank >= 2);
    axes.of[axes.rank] = s.of[s.rank - 2];
    axes.of[axes.rank + 1] = s.of[s.rank - 1];
    return ls_broadcast_to(x, axes.rank + 2, axes.of);
}

ls_node *ls_matmul(ls_node *a, ls_node *b)
{
    ls__shape of_a = {0}, of_b = {0}, axes;
    ls_graph *g = a ? ls__graph_of(a) : NULL;

    if (ls__node_stands(a) && b && ls__graph_of(b) == g) {
        of_a = ls__shape_of(a);
        of_b = ls__shape_of(b);
    }
    if (of_a.rank < 2 || of_b.rank < 2 || !leading(&of_a, &of_b, &axes))
        return ls__matmul(a, b); /* refused with its words */
    ls__undo_enter(g);
    a = led_by(a, axes);
    b = led_by(b, axes);
    return ls__undo_leave(g, ls__matmul(a, b));
}

/* ------ lists ------ */

/* A long list is concatenated from its two halves, so that nothing is copied
 * more than log(count) times.  The nodes of the second half are made first. */
ls_node *ls_concat(ls_node *const *x, int count, int axis)
{
    LS__NEED_OR(x, NULL);

    int half = count / 2;
    ls_node *second;

    if (count < 1) { /* of no graph */
        ls__fail(LS_EINVAL, "ls_concat: %d nodes; there must be 1 or more",
                 count);
        return NULL;
    }
    if (count == 1)
        return x[0];
    second = ls_concat(x + half, count - half, axis);
    return ls__joined(ls_concat(x, half, axis), second, axis);
}
