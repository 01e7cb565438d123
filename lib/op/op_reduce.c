/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums and maxima over axes that follow each other: x is (outer, n, inner), and
 * n goes.
 *
 * A sum along the last axes runs in 16 lanes and blocks of 4096 as any other, a
 * sum down columns in index order, 256 a chunk. */
#include "kernel/loops.h"
#include "op/layer_parts.h"
#include "op/op_table.h"

/* The axes that are reduced: `axes` of them, from `axis` on. */
typedef struct reduction {
    int64_t axis, axes;
} reduction;

/* The three extents of x, rows counting as outer. */
typedef struct extents {
    int64_t outer, n, inner;
} extents;

static extents extents_of(const ls_node *node, int64_t rows)
{
    const ls_node *x = node->in[0];
    const reduction *of = node->of;
    extents e = {rows, 1, 1};

    for (int k = 0; k < x->rank; k++)
        *(k < of->axis              ? &e.outer
          : k < of->axis + of->axes ? &e.n
                                    : &e.inner) *= x->shape[k];
    LS__ASSERT(e.outer * e.inner == rows * node->size);
    return e;
}

static int reduced_shape(ls_node *n)
{
    const ls_node *x = n->in[0];
    const reduction *of = n->of;
    int64_t shape[LS_MAX_RANK];
    int rank = 0;

    if (ls__want(n, 0, LS_F32, 1) < 0)
        return LS_ESHAPE;
    if (of->axis < 0 || of->axes < 1 || of->axes > x->rank - of->axis)
        return ls__fail(LS_ESHAPE, "%s \"%s\": %lld axes from axis %lld of %d",
                        n->op->name, n->name, (long long)of->axes,
                        (long long)of->axis, x->rank);
    for (int k = 0; k < x->rank; k++)
        if (k < of->axis || k >= of->axis + of->axes)
            shape[rank++] = x->shape[k];
    return ls__node_set_shape(n, LS_F32, rank, shape);
}

static const ls__attribute attributes[] = {
    LS__FIELD("axis", LS__INTEGER, reduction, axis),
    LS__FIELD("axes", LS__INTEGER, reduction, axes), {0}};

/* ------ sum ------ */

static void sum_fwd(const ls__run *r)
{
    extents e = extents_of(r->node, r->rows);
    const float *x = r->x[0];

    for (int64_t o = 0; o < e.outer; o++, x += e.n * e.inner)
        if (e.inner == 1)
            r->y[o] = r->kernels->row_sum(e.n, x);
        else
            r->kernels->column_sum(e.n, e.inner, x, false, r->y + o * e.inner);
}

/* to = the n elements of one, `times` times.  Up to four are stored as four;
 * the next store writes over those too many. */
static void repeat(const float *one, int64_t n, int64_t times, float *to)
{
    const float *end = to + n * times;
    int64_t step = n == 3 ? 3 : 4;

    if (n > 4) {
        for (; to < end; to += n)
            memcpy(to, one, (size_t)n * sizeof *to);
        return;
    }
    const float four[] = {one[0], one[n > 1 ? 1 : 0], one[n > 2 ? 2 : 0],
                          one[n == 4 ? 3 : n == 2 ? 1 : 0]};
    for (; end - to >= 4; to += step)
        memcpy(to, four, sizeof four);
    for (int j = 0; to < end; j++)
        *to++ = four[j];
}

/* Each element of x gets what its sum has. */
static void sum_bwd(const ls__run *r)
{
    extents e = extents_of(r->node, r->rows);
    const float *dy = r->dy, *addend = r->addend[0];
    float *dx = r->dx[0];

    if (!dx)
        return;
    for (int64_t o = 0; o < e.outer; o++, dy += e.inner)
        if (addend)
            for (int64_t i = 0; i < e.n; i++)
                for (int64_t j = 0; j < e.inner; j++)
                    *dx++ = *addend++ + dy[j];
        else {
            repeat(dy, e.inner, e.n, dx);
            dx += e.n * e.inner;
        }
}

/* Down columns that one chain adds. */
static bool sum_runs(const ls_node *n, ls__runs *runs)
{
    extents e = extents_of(n, 1);

    *runs = (ls__runs){e.inner, e.n};
    return e.inner >= LS__LEAST_RUN && e.n > 1 && e.n <= LS__CHUNK;
}

const ls__op ls__op_sum = {
    .name = "sum", .inputs = 1, .of = sizeof(reduction), .shape = reduced_shape,
    .plan = {.over = LS__OVER_ADDEND, .runs = sum_runs},
    .run = {.forward = sum_fwd, .backward = sum_bwd, .cuts = 1},
    .file = {.attributes = attributes}};

/* ------ max ------ */

static void max_fwd(const ls__run *r)
{
    extents e = extents_of(r->node, r->rows);
    const float *x = r->x[0];

    for (int64_t o = 0; o < e.outer; o++, x += e.n * e.inner)
        for (int64_t j = 0; j < e.inner; j++)
            r->y[o * e.inner + j] = ls__greatest(e.n, e.inner, x + j);
}

/* One maximum's gradient d: shared by all that reach it. */
static void max_share(const extents *e, const float *x, float y, float d,
                      const float *addend, float *dx)
{
    int64_t reach = 0, end = e->n * e->inner;
    float part;

    for (int64_t i = 0; i < end; i += e->inner)
        reach += x[i] == y;
    LS__ASSERT(reach > 0 || y != y);
    part = d / (float)reach;
    for (int64_t i = 0; i < end; i += e->inner) {
        float to = x[i] == y ? part : 0;

        dx[i] = addend ? addend[i] + to : to;
    }
}

static void max_bwd(const ls__run *r)
{
    extents e = extents_of(r->node, r->rows);
    const float *x = r->x[0];

    if (!r->dx[0])
        return;
    for (int64_t o = 0; o < e.outer; o++)
        for (int64_t j = 0; j < e.inner; j++) {
            int64_t at = o * e.n * e.inner + j, k = o * e.inner + j;

            max_share(&e, x + at, r->y[k], r->dy[k],
                      r->addend[0] ? r->addend[0] + at : NULL, r->dx[0] + at);
        }
}

const ls__op ls__op_max_over = {
    .name = "max_over", .inputs = 1, .of = sizeof(reduction),
    .shape = reduced_shape,
    .plan = {.reads = 1, .reads_y = true, .over = LS__OVER_ADDEND},
    .run = {.forward = max_fwd, .backward = max_bwd, .cuts = 1},
    .file = {.attributes = attributes}};

ls_node *ls__reduction_node(bool sum, ls_node *x, int first, int axes)
{
    const ls__op *op = sum ? &ls__op_sum : &ls__op_max_over;

    return ls__node_with(ls__node_unnamed(op, x, NULL),
                         &(reduction){first, axes});
}
