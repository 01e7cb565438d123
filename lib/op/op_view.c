/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators that compute nothing: the value of reshape, flatten, transpose,
 * slice and broadcast is a view of their input; concat's inputs are views of
 * its value. */
#include "op/layer_parts.h"
#include "op/op_table.h"
#include "op/view.h"
#include <lockstep/arithmetic.h>

#include <string.h>

/* Each of these structs is some operators' attributes. */
typedef struct slice {
    int64_t axis, first, count;
} slice;

typedef struct concat {
    int64_t axis;
} concat;

typedef struct asked {
    ls__extents extents; /* reshape, broadcast: the shape asked for; transpose:
                            the axes in their new order */
} asked;

static const ls__extents *asked_of(const ls_node *n)
{
    const asked *of = n->of;

    return &of->extents;
}

/* ------ values that are views ------ */

static ls__view transpose_view(const ls_node *n)
{
    ls__view x = ls__view_all(n->rank, n->in[0]->shape), v = x;

    for (int k = 0; k < n->rank; k++) {
        v.shape[k] = x.shape[asked_of(n)->of[k]];
        v.stride[k] = x.stride[asked_of(n)->of[k]];
    }
    return v;
}

static ls__view slice_view(const ls_node *n)
{
    ls__view v = ls__view_all(n->rank, n->in[0]->shape);
    const slice *s = n->of;

    LS__ASSERT(s->axis >= 0 && s->axis < n->rank);
    v.first = s->first * v.stride[s->axis];
    v.shape[s->axis] = n->shape[s->axis];
    return v;
}

/* Axes that x lacks, or has only one of, stand still. */
static ls__view broadcast_view(const ls_node *n)
{
    const ls_node *x = n->in[0];
    ls__view from = ls__view_all(x->rank, x->shape);
    ls__view v = ls__view_all(n->rank, n->shape);
    int more = n->rank - x->rank;

    LS__ASSERT(more >= 0);
    for (int k = 0; k < n->rank; k++)
        v.stride[k] = k < more || x->shape[k - more] == 1
                          ? 0
                          : from.stride[k - more];
    return v;
}

static ls__view view_of(const ls_node *n)
{
    return n->op == &ls__op_transpose ? transpose_view(n)
           : n->op == &ls__op_slice   ? slice_view(n)
                                      : broadcast_view(n);
}

static void view_fwd(const ls__run *r)
{
    ls__view one = view_of(r->node);
    ls__view v = ls__view_rows(&one, r->rows, r->node->in[0]->size);

    ls__view_read(&v, r->x[0], NULL, r->y);
}

/* Every element of dy is added to its own; the addend comes last. */
static void view_bwd(const ls__run *r)
{
    int64_t size = r->rows * r->node->in[0]->size;
    ls__view one = view_of(r->node);
    ls__view v = ls__view_rows(&one, r->rows, r->node->in[0]->size);

    if (!r->dx[0])
        return;
    memset(r->dx[0], 0, (size_t)size * sizeof *r->dy);
    ls__view_write(&v, r->dy, true, r->dx[0]);
    if (r->addend[0])
        r->kernels->add(size, r->addend[0], r->dx[0], r->dx[0]);
}

/* ------ transpose ------ */

/* Each axis once. */
static int transpose_shape(ls_node *n)
{
    const ls_node *x = n->in[0];
    int64_t shape[LS_MAX_RANK] = {0};
    unsigned seen = 0;

    if (ls__want(n, 0, LS_F32, 2) < 0)
        return LS_ESHAPE;
    if (asked_of(n)->rank != x->rank)
        return ls__fail(LS_EINVAL, "transpose \"%s\": %d axes are named; the "
                        "input has %d", n->name, asked_of(n)->rank, x->rank);
    for (int k = 0; k < x->rank; k++) {
        int64_t axis = asked_of(n)->of[k];

        if (axis < 0 || axis >= x->rank || seen >> axis & 1)
            return ls__fail(LS_EINVAL, "transpose \"%s\": axis %d of the value "
                            "is axis %lld of the input; each of 0 to %d must "
                            "stand there once", n->name, k, (long long)axis,
                            x->rank - 1);
        seen |= 1u << axis;
        shape[k] = x->shape[axis];
    }
    return ls__node_set_shape(n, LS_F32, x->rank, shape);
}

static const ls__attribute transpose_attributes[] = {
    LS__FIELD("axes", LS__SIZES, asked, extents), {0}};

const ls__op ls__op_transpose = {
    .name = "transpose", .inputs = 1, .of = sizeof(asked),
    .shape = transpose_shape,
    .run = {.forward = view_fwd, .backward = view_bwd, .cuts = 1},
    .file = {.attributes = transpose_attributes}};

ls_node *ls_transpose(ls_node *x, const int *axes)
{
    asked of = {{.rank = x ? x->rank : 0}};

    for (int k = 0; k < of.extents.rank; k++)
        of.extents.of[k] = axes              ? axes[k]
                           : k < x->rank - 2 ? k
                                             : 2 * x->rank - 3 - k;
    return ls__node_with(ls__node_unnamed(&ls__op_transpose, x, NULL), &of);
}

/* ------ slice ------ */

static int slice_shape(ls_node *n)
{
    const ls_node *x = n->in[0];
    int64_t shape[LS_MAX_RANK], count;
    slice *s = n->of;

    if (ls__want(n, 0, LS_F32, 1) < 0 || ls__want_axis(n, &s->axis) < 0)
        return LS_ESHAPE;
    count = s->count;
    if (s->first < 0 || count < 1 || s->first > x->shape[s->axis] - count)
        return ls__fail(LS_ESHAPE, "slice \"%s\": %lld elements from %lld of "
                        "axis %lld, which has %lld", n->name, (long long)count,
                        (long long)s->first, (long long)s->axis,
                        (long long)x->shape[s->axis]);
    memcpy(shape, x->shape, sizeof shape);
    shape[s->axis] = count;
    return ls__node_set_shape(n, LS_F32, x->rank, shape);
}

static const ls__attribute slice_attributes[] = {
    LS__FIELD("axis", LS__INTEGER, slice, axis),
    LS__FIELD("first", LS__INTEGER, slice, first),
    LS__FIELD("count", LS__INTEGER, slice, count), {0}};

const ls__op ls__op_slice = {
    .name = "slice", .inputs = 1, .of = sizeof(slice), .shape = slice_shape,
    .run = {.forward = view_fwd, .backward = view_bwd, .cuts = 1,
            .picks = ls__picks_value},
    .file = {.attributes = slice_attributes}};

ls_node *ls_slice(ls_node *x, int axis, int64_t first, int64_t count)
{
    return ls__node_with(ls__node_unnamed(&ls__op_slice, x, NULL),
                         &(slice){axis, first, count});
}

/* ------ shapes that are asked for ------ */

/* Make a reshape or broadcast to the shape that was given. */
static ls_node *with_shape(const ls__op *op, ls_node *x, int rank,
                           const int64_t *shape)
{
    asked of = {{.rank = rank}};

    if (!ls__node_stands(x))
        return NULL;
    if (rank < 0 || rank >= LS_MAX_RANK || (rank && !shape))
        return ls__graph_failed(
            x->graph, ls__fail(LS_EINVAL, "%s \"%s\": rank %d; it must be "
                               "0..%d", op->name, x->name, rank,
                               LS_MAX_RANK - 1));
    if (rank)
        memcpy(of.extents.of, shape, (size_t)rank * sizeof *shape);
    return ls__node_with(ls__node_unnamed(op, x, NULL), &of);
}

static int misfit(const ls_node *n)
{
    const ls_node *x = n->in[0];
    char from[LS__SHAPE_TEXT], to[LS__SHAPE_TEXT];

    return ls__fail(LS_ESHAPE, "%s \"%s\": %s does not become %s",
                    n->op->name, n->name,
                    ls__shape_text(from, x->rank, x->shape),
                    ls__shape_text(to, asked_of(n)->rank, asked_of(n)->of));
}

static int reshape_shape(ls_node *n)
{
    const ls__extents *to = asked_of(n);

    if (ls__want(n, 0, LS_F32, 0) < 0 ||
        ls__node_set_shape(n, LS_F32, to->rank, to->of) < 0)
        return LS_ESHAPE;
    return n->size == n->in[0]->size ? 0 : misfit(n);
}

static const ls__attribute shape_asked[] = {
    LS__FIELD("shape", LS__SIZES, asked, extents), {0}};

const ls__op ls__op_reshape = {
    .name = "reshape", .inputs = 1, .of = sizeof(asked), .shape = reshape_shape,
    .plan = {.passes = 1},
    .run = {.forward = ls__view_forward, .backward = ls__nothing_back,
            .cuts = 1},
    .file = {.attributes = shape_asked}};

ls_node *ls_reshape(ls_node *x, int rank, const int64_t *shape)
{
    if (rank > 0)
        LS__NEED_NODE(x, shape);
    return with_shape(&ls__op_reshape, x, rank, shape);
}

static int flatten_shape(ls_node *n)
{
    if (ls__want(n, 0, LS_F32, 0) < 0)
        return LS_ESHAPE;
    return ls__node_set_shape(n, LS_F32, 1, &n->in[0]->size);
}

const ls__op ls__op_flatten = {
    .name = "flatten", .inputs = 1, .shape = flatten_shape,
    .plan = {.passes = 1},
    .run = {.forward = ls__view_forward, .backward = ls__nothing_back,
            .cuts = 1}};

LS__BUILD_UNARY(ls_flatten, &ls__op_flatten)

static int broadcast_shape(ls_node *n)
{
    const ls_node *x = n->in[0];
    const ls__extents *to = asked_of(n);
    int more = to->rank - x->rank;

    if (ls__want(n, 0, LS_F32, 0) < 0)
        return LS_ESHAPE;
    if (more < 0)
        return misfit(n);
    for (int k = 0; k < x->rank; k++)
        if (x->shape[k] != 1 && x->shape[k] != to->of[k + more])
            return misfit(n);
    return ls__node_set_shape(n, LS_F32, to->rank, to->of);
}

/* The number of elements before axis *k of a value that lie over equal axes of
 * x, or, not equal, over none or one element; *k goes to the first that
 * does. */
static int64_t stretch(const ls_node *n, bool equal, int *k)
{
    const ls_node *x = n->in[0];
    int more = n->rank - x->rank;
    int64_t size = 1;

    for (; *k > 0; --*k) {
        int64_t extent = *k > more ? x->shape[*k - 1 - more] : 1;

        if (equal ? *k <= more || extent != n->shape[*k - 1] : extent != 1)
            break;
        size *= n->shape[*k - 1];
    }
    return size;
}

static bool broadcast_runs(const ls_node *n, ls__runs *runs)
{
    int k = n->rank;

    runs->n = stretch(n, true, &k);
    runs->times = stretch(n, false, &k);
    (void)stretch(n, true, &k);
    return k == 0 && runs->n >= LS__LEAST_RUN;
}

const ls__op ls__op_broadcast = {
    .name = "broadcast", .inputs = 1, .of = sizeof(asked),
    .shape = broadcast_shape,
    .plan = {.runs = broadcast_runs},
    .run = {.forward = view_fwd, .backward = view_bwd, .cuts = 1},
    .file = {.attributes = shape_asked}};

ls_node *ls_broadcast_to(ls_node *x, int rank, const int64_t *shape)
{
    if (rank > 0)
        LS__NEED_NODE(x, shape);
    return with_shape(&ls__op_broadcast, x, rank, shape);
}

/* ------ concat ------ */

static int concat_shape(ls_node *n)
{
    const ls_node *a = n->in[0], *b = n->in[1];
    char left[LS__SHAPE_TEXT], right[LS__SHAPE_TEXT];
    int64_t shape[LS_MAX_RANK];
    concat *c = n->of;

    if (ls__want(n, 0, LS_F32, 1) < 0 || ls__want(n, 1, LS_F32, 1) < 0 ||
        ls__want_axis(n, &c->axis) < 0)
        return LS_ESHAPE;
    memcpy(shape, a->shape, sizeof shape);
    if (b->rank == a->rank)
        shape[c->axis] = b->shape[c->axis];
    if (b->rank != a->rank ||
        memcmp(b->shape, shape, (size_t)b->rank * sizeof *shape))
        return ls__fail(LS_ESHAPE, "concat: %s and %s differ in more than axis "
                        "%lld", ls__shape_text(left, a->rank, a->shape),
                        ls__shape_text(right, b->rank, b->shape),
                        (long long)c->axis);
    shape[c->axis] += a->shape[c->axis];
    return ls__node_set_shape(n, LS_F32, a->rank, shape);
}

/* The view of input k in the value, for all rows. */
static ls__view part_of(const ls__run *r, int k)
{
    const ls_node *n = r->node;
    ls__view v = ls__view_all(n->rank, n->shape);
    const concat *c = n->of;

    v.shape[c->axis] = n->in[k]->shape[c->axis];
    v.first = k * n->in[0]->shape[c->axis] * v.stride[c->axis];
    LS__ASSERT(v.shape[c->axis] < n->shape[c->axis]);
    return ls__view_rows(&v, r->rows, n->size);
}

static void concat_fwd(const ls__run *r)
{
    for (int k = 0; k < 2; k++) {
        ls__view v = part_of(r, k);

        ls__view_write(&v, r->x[k], false, r->y);
    }
}

static void concat_bwd(const ls__run *r)
{
    for (int k = 0; k < 2; k++) {
        ls__view v = part_of(r, k);

        if (r->dx[k])
            ls__view_read(&v, r->dy, r->addend[k], r->dx[k]);
    }
}

static const ls__attribute concat_attributes[] = {
    LS__FIELD("axis", LS__INTEGER, concat, axis), {0}};

const ls__op ls__op_concat = {
    .name = "concat", .inputs = 2, .of = sizeof(concat), .shape = concat_shape,
    .plan = {.over = LS__OVER_ADDEND},
    .run = {.forward = concat_fwd, .backward = concat_bwd, .cuts = 1},
    .file = {.attributes = concat_attributes}};

ls_node *ls__joined(ls_node *first, ls_node *second, int axis)
{
    return ls__node_with(ls__node_unnamed(&ls__op_concat, first, second),
                         &(concat){axis});
}
