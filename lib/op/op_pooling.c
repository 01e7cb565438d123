/* SPDX-License-Identifier: BSD-3-Clause */
/* Pooling over images, one by one; the formulas stand in kernel/k_pooling.h. */
#include "base/sized.h"
#include "op/op_table.h"
#include "op/window.h"

/* Does each window of one axis have a tap in the image? */
static bool all_touch(int64_t in, int64_t k, int64_t s, int64_t gap,
                      int64_t low, int64_t out)
{
    for (int64_t i = 0; i < out; i++) {
        int64_t at = i * s - low, first = at < 0 ? (gap - 1 - at) / gap : 0;

        if (first >= k || at + first * gap >= in)
            return false;
    }
    return true;
}

static int pooling_shape(ls_node *n)
{
    int status = ls__window_fit(n, LS_EXPLICIT, 0);
    const ls__window *w = ls__window_of(n);
    const int64_t *x = n->in[0]->shape;

    if (status < 0)
        return status;
    if (!all_touch(x[0], w->kh, w->sy, w->dy, w->top, w->h) ||
        !all_touch(x[1], w->kw, w->sx, w->dx, w->left, w->w))
        return ls__fail(LS_ESHAPE, "%s: a window of %lld by %lld with strides "
                        "%lld and %lld, dilations %lld and %lld and %lld and "
                        "%lld pixels before the image of %lld by %lld would "
                        "hold no pixel of it", n->op->name, (long long)w->kh,
                        (long long)w->kw, (long long)w->sy, (long long)w->sx,
                        (long long)w->dy, (long long)w->dx, (long long)w->top,
                        (long long)w->left, (long long)x[0], (long long)x[1]);
    return 0;
}

/* Refuse gaps: in files of others a mean has none. */
static int avg_shape(ls_node *n)
{
    const ls__window *w = ls__window_of(n);

    if (w->dy > 1 || w->dx > 1)
        return ls__fail(LS_EINVAL, "avg_pool: dilations %lld and %lld: only "
                        "max_pool has them", (long long)w->dy,
                        (long long)w->dx);
    return pooling_shape(n);
}

static ls__pooling pooling_of(const ls_node *n)
{
    const int64_t *x = n->in[0]->shape;

    LS__ASSERT(n->in[0]->rank == 3 && n->shape[0] == ls__window_of(n)->h);
    return ls__pooling_of(ls__window_of(n), x[0], x[1], x[2]);
}

/* dx += addend, over image i. */
static void add_to(const ls__run *r, int64_t i)
{
    int64_t size = r->node->in[0]->size;

    if (r->addend[0])
        r->kernels->add(size, r->addend[0] + i * size, r->dx[0] + i * size,
                        r->dx[0] + i * size);
}

/* The numbers of the largest. */
static int64_t max_stash(const ls__bench *b, const ls__instr *in)
{
    (void)b;
    return in->node->size;
}

static void max_fwd(const ls__run *r)
{
    ls__pooling p = pooling_of(r->node);
    int64_t in = r->node->in[0]->size, out = r->node->size;

    for (int64_t i = 0; i < r->rows; i++)
        r->kernels->max_pool(&p, 0, p.h, (const float *)r->x[0] + i * in,
                             false, r->y + i * out, r->stash + i * out);
}

static void max_bwd(const ls__run *r)
{
    ls__pooling p = pooling_of(r->node);
    int64_t in = r->node->in[0]->size, out = r->node->size;

    for (int64_t i = 0; i < r->rows; i++) {
        r->kernels->max_pool_grad(&p, r->stash + i * out, r->dy + i * out,
                                  r->dx[0] + i * in);
        add_to(r, i);
    }
}

static const ls__attribute attributes[] = {
    LS__WINDOW_ATTRIBUTES,
    LS__FIELD_UNLESS("dilation_y", ls__window, dy, 1),
    LS__FIELD_UNLESS("dilation_x", ls__window, dx, 1),
    LS__FIELD_UNLESS("top", ls__window, pixels.top, 0),
    LS__FIELD_UNLESS("bottom", ls__window, pixels.bottom, 0),
    LS__FIELD_UNLESS("left", ls__window, pixels.left, 0),
    LS__FIELD_UNLESS("right", ls__window, pixels.right, 0),
    LS__FIELD_IF("ceil", ls__window, ceil),
    LS__FIELD_IF("inside", ls__window, inside),
    {0}};

const ls__op ls__op_max_pool = {
    .name = "max_pool", .inputs = 1, .of = sizeof(ls__window),
    .shape = pooling_shape,
    .plan = {.stash = max_stash},
    .run = {.forward = max_fwd, .backward = max_bwd, .cuts = 1},
    .file = {.attributes = attributes}};

static void avg_fwd(const ls__run *r)
{
    ls__pooling p = pooling_of(r->node);

    for (int64_t i = 0; i < r->rows; i++)
        r->kernels->avg_pool(&p,
                             (const float *)r->x[0] + i * r->node->in[0]->size,
                             r->y + i * r->node->size);
}

static void avg_bwd(const ls__run *r)
{
    ls__pooling p = pooling_of(r->node);

    for (int64_t i = 0; i < r->rows; i++) {
        r->kernels->avg_pool_grad(&p, r->dy + i * r->node->size,
                                  r->dx[0] + i * r->node->in[0]->size);
        add_to(r, i);
    }
}

const ls__op ls__op_avg_pool = {
    .name = "avg_pool", .inputs = 1, .of = sizeof(ls__window),
    .shape = avg_shape,
    .run = {.forward = avg_fwd, .backward = avg_bwd, .cuts = 1},
    .file = {.attributes = attributes}};

static ls_node *pooling(const ls__op *op, ls_node *x, ls__window window)
{
    return ls__node_with(ls__node_unnamed(op, x, NULL), &window);
}

ls_node *ls_max_pool(ls_node *x, ls_window window)
{
    return pooling(&ls__op_max_pool, x, ls__window_new(&window));
}

ls_node *ls_avg_pool(ls_node *x, ls_window window)
{
    return pooling(&ls__op_avg_pool, x, ls__window_new(&window));
}

LS__DEFAULTS(ls_pooling_options, ls_pooling_defaults_bytes,
             .padding = LS_SAME, .stride_y = 1, .stride_x = 1,
             .dilation_y = 1, .dilation_x = 1)

static ls_node *pooling_with(const ls__op *op, ls_node *x, int64_t height,
                             int64_t width, const ls_pooling_options *options)
{
    ls_pooling_options o = ls_pooling_defaults();

    if (!ls__node_takes(x, "pooling", &o, sizeof o, options))
        return NULL;
    return pooling(op, x, (ls__window){
        .kh = height, .kw = width, .sy = o.stride_y, .sx = o.stride_x,
        .dy = o.dilation_y, .dx = o.dilation_x, .padding = o.padding,
        .ceil = o.ceil_mode, .inside = o.exclude_padding,
        .pixels = {o.top, o.bottom, o.left, o.right}});
}

ls_node *ls_max_pool_with(ls_node *x, int64_t height, int64_t width,
                          const ls_pooling_options *options)
{
    return pooling_with(&ls__op_max_pool, x, height, width, options);
}

ls_node *ls_avg_pool_with(ls_node *x, int64_t height, int64_t width,
                          const ls_pooling_options *options)
{
    return pooling_with(&ls__op_avg_pool, x, height, width, options);
}
