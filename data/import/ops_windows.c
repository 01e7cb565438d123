/* SPDX-License-Identifier: BSD-3-Clause */
/* Convolutions and pools: windows over images, whose channels are last here. */
#include "base/error.h"
#include "import/reader.h"

#include <lockstep/arithmetic.h>
#include <string.h>

enum { LARGEST = 1 << 24 }; /* size, step or padding */

/* A window over one or two axes: what it covers, and zeros around. */
typedef struct window {
    int axes;
    int64_t size[2], stride[2], gap[2], before[2], behind[2];
} window;

static int two_numbers(const ls__om_node *n, const char *name, int axes,
                       int64_t usual, int64_t out[2])
{
    int64_t list[2] = {usual, usual};
    int got = ls__om_integers(n, name, 2, list);

    if (got >= 0 && got != axes)
        return ls__refuse("its %s has %d numbers, not %d", name, got, axes);
    out[2 - axes] = list[0];
    out[1] = list[axes - 1];
    for (int k = 2 - axes; k < 2; k++)
        if (out[k] < 1 || out[k] > LARGEST)
            return ls__refuse("its %s is out of range", name);
    return 0;
}

/* Is the padding such that the image keeps its size, by its strides? */
static bool is_same(const ls__om_node *n)
{
    return ls__om_says(n, "auto_pad", "SAME_UPPER") ||
           ls__om_says(n, "auto_pad", "SAME_LOWER");
}

/* The window of a node over an image (rows,C,..); one axis is the second. */
static int window_of(const ls__om_node *n, const ls__named *x,
                     const int64_t size[2], window *w)
{
    int64_t pads[4] = {0};
    int status, got = ls__om_integers(n, "pads", 4, pads);
    bool upper = ls__om_says(n, "auto_pad", "SAME_UPPER");
    bool same = is_same(n);

    *w = (window){.axes = x->rank - 2, .size = {1, 1}, .stride = {1, 1},
                  .gap = {1, 1}};
    if (w->axes < 1 || w->axes > 2)
        return ls__refuse("read are windows over one and two axes");
    if ((status = two_numbers(n, "kernel_shape", w->axes, 0, w->size)) < 0 &&
        !size)
        return status;
    if (size)
        memcpy(w->size, size, sizeof w->size); /* of a tensor there is */
    if ((status = two_numbers(n, "strides", w->axes, 1, w->stride)) < 0 ||
        (status = two_numbers(n, "dilations", w->axes, 1, w->gap)) < 0)
        return status;
    if (got >= 0 && got != 2 * w->axes && !same)
        return ls__refuse("it has %d pads", got);
    for (int k = 0; k < 4; k++)
        if (pads[k] < 0 || pads[k] > LARGEST)
            return ls__refuse("its pads are out of range");
    for (int k = 0; k < w->axes; k++) {
        int to = k + 2 - w->axes;
        int64_t in = x->shape[2 + k];
        int64_t reach = (w->size[to] - 1) * w->gap[to] + 1;
        int64_t out = (in + w->stride[to] - 1) / w->stride[to];
        int64_t missing = (out - 1) * w->stride[to] + reach - in;

        missing = missing > 0 ? missing : 0;
        w->before[to] = same ? (missing + !upper) / 2
                             : got > 0 ? pads[k] : 0;
        w->behind[to] = same ? missing - w->before[to]
                             : got > 0 ? pads[w->axes + k] : 0;
    }
    return 0;
}

/* ONNX's axes of an image of one or two, as a node (H,W,C) has them. */
static const int image_axes[2][3] = {{2, 1}, {2, 3, 1}};

/* The image as a node (H,W,C); of one axis with H 1. */
static ls_node *image(ls__named *v)
{
    int axes = v->rank - 2;
    ls_node *x = ls__value_in_order(v, axes + 1, image_axes[axes - 1]);

    return axes > 1 ? x : ls_reshape(x, 3, (int64_t[]){1, v->shape[2],
                                                       v->shape[1]});
}

/* Make v such a node's. */
static int set_image(ls__named *v, ls_node *y)
{
    int64_t of[LS_MAX_RANK], shape[4] = {LS__ROWS};
    int axes = v->rank - 2;

    if (!y)
        return ls__made(y);
    ls_node_shape(y, of);
    shape[1] = of[2];
    shape[2] = of[2 - axes];
    shape[3] = of[1];
    if (axes == 1)
        y = ls_reshape(y, 2, of + 1);
    return ls__value_set(v, y, v->rank, shape, axes + 1, image_axes[axes - 1]);
}

/* ------ convolutions ------ */

/* What both kinds have. */
typedef struct convolution {
    const ls__named *w, *bias;
    int64_t groups, size[2];
    window by;
} convolution;

static int take(ls__reader *r, const ls__om_node *n, const ls__named *v,
                const char *what, convolution *c)
{
    const ls__named *w = ls__read_in(r, n, 1);

    *c = (convolution){.w = w, .bias = ls__read_in(r, n, 2),
                       .groups = ls__om_integer(n, "group", 1)};
    if (!w)
        return ls__refuse("it lacks input 1");
    if (w->kind != LS__WEIGHT || w->rank != v->rank || v->rank < 3 ||
        v->rank > 4 || ls__value_rows(v) != 0)
        return ls__refuse("read are %s of one and two axes whose weights are "
                          "an initializer", what);
    c->size[0] = v->rank == 4 ? w->shape[2] : 1;
    c->size[1] = w->shape[v->rank - 1];
    return 0;
}

/* The window as options of a convolution or a pool. */
#define SET_WINDOW(o, w) \
    ((o).padding = LS_EXPLICIT, (o).stride_y = (w)->stride[0], \
     (o).stride_x = (w)->stride[1], (o).dilation_y = (w)->gap[0], \
     (o).dilation_x = (w)->gap[1], (o).top = (w)->before[0], \
     (o).bottom = (w)->behind[0], (o).left = (w)->before[1], \
     (o).right = (w)->behind[1])

/* The kernel's parameter has been read: make v the convolution of x. */
static int convolve(ls__reader *r, const convolution *c, ls_node *x,
                    const char *name, int64_t channels, ls__named *v)
{
    ls_conv_options o = ls_conv_defaults();
    int status = 0;

    SET_WINDOW(o, &c->by);
    o.no_bias = !c->bias || ls__is_zero(c->bias);
    o.groups = c->groups;
    if (!o.no_bias)
        status = ls__read_param(r, name, "bias", c->bias, 0, 1, &channels,
                                (int[]){0});
    return status < 0 ? status
           : set_image(v, ls_conv2d_with(x, channels, c->size[0], c->size[1],
                                         &o, name));
}

static int conv(ls__reader *r, const ls__om_node *n, ls__named *v)
{
    static const int orders[2][4] = {{-1, 2, 1, 0}, {2, 3, 1, 0}};
    char name[LS__LAYER_NAME];
    convolution c;
    ls_node *x;
    int64_t in;
    int status = take(r, n, v, "convolutions", &c);

    if (status < 0 || (status = window_of(n, v, c.size, &c.by)) < 0)
        return status;
    in = c.w->shape[1];
    if (c.groups < 1 || v->shape[1] / in != c.groups || v->shape[1] % in)
        return ls__refuse("its groups of channels do not fit");
    if (!(x = image(v)))
        return ls__made(x);
    if ((status = ls__read_layer(r, n, c.w, name)) < 0 ||
        (status = ls__read_param(r, name, "kernel", c.w, 0, 4,
                                 (int64_t[]){c.size[0], c.size[1], in,
                                             c.w->shape[0]},
                                 orders[v->rank - 3])) < 0)
        return status;
    return convolve(r, &c, x, name, c.w->shape[0], v);
}

/* ------ transposed convolutions ------ */

/* Put `stride` - 1 zeros behind each element along an axis of x (H,W,C).  What
 * is to be around it and negative is taken away. */
static ls_node *spread(ls_node *x, int axis, int64_t stride, int64_t *before,
                       int64_t *behind)
{
    int64_t shape[LS_MAX_RANK], wide[4], first, size;
    ls_node *both[2] = {x, NULL};

    if (!x)
        return NULL;
    ls_node_shape(x, shape);
    size = shape[axis] * stride;
    if (stride > 1) { /* (..,size,1,..), of which one part of many is x */
        for (int k = 0; k < 4; k++)
            wide[k] = k == axis + 1 ? 1 : shape[k - (k > axis)];
        both[0] = ls_reshape(x, 4, wide);
        wide[axis + 1] = stride - 1;
        both[1] = ls_broadcast_to(ls_scale_shift(both[0], 0, 0), 4, wide);
        shape[axis] = size;
        x = ls_reshape(ls_concat(both, 2, axis + 1), 3, shape);
    }
    first = *before < 0 ? -*before : 0;
    size -= first + (*behind < 0 ? -*behind : 0);
    *before = *before < 0 ? 0 : *before;
    *behind = *behind < 0 ? 0 : *behind;
    return size == shape[axis] ? x : ls_slice(x, axis, first, size);
}

/* How the weights (C,n / groups,h,w) of one are those of a convolution,
 * (h,w,C / groups,n), turned round by both axes. */
static ls__lay turned(const ls__named *w, const int64_t size[2], int64_t groups)
{
    int64_t c = w->shape[0] / groups, n = w->shape[1], area = size[0] * size[1];

    return (ls__lay){.digits = 5, .table = -1,
                     .size = {size[0], size[1], c, groups, n},
                     .step = {-size[1], -1, n * area, c * n * area, area},
                     .start = area - 1};
}

/* Put zeros between the pixels of an image and say how many are around it. */
static int lay_apart(const ls__om_node *n, window *by, ls_node **x)
{
    int64_t more[2] = {0, 0};
    int got = ls__om_integers(n, "output_padding", 2, more);

    if (got == 1) {
        more[1] = more[0];
        more[0] = 0;
    }
    for (int k = 0; k < 2; k++) {
        int64_t reach = (by->size[k] - 1) * by->gap[k];

        if (more[k] < 0 || more[k] >= LARGEST || (got >= 0 && got != by->axes))
            return ls__refuse("its output_padding is out of range");
        by->before[k] = reach - by->before[k];
        by->behind[k] = reach - by->behind[k] + more[k] - (by->stride[k] - 1);
        *x = spread(*x, k, by->stride[k], &by->before[k], &by->behind[k]);
    }
    return ls__made(*x);
}

/* A convolution of what lies apart. */
static int conv_transpose(ls__reader *r, const ls__om_node *n, ls__named *v)
{
    int64_t shape[4];
    char name[LS__LAYER_NAME];
    convolution c;
    ls__wire at;
    ls__lay lay;
    ls_node *x;
    int status = take(r, n, v, "those", &c);

    if (status < 0)
        return status;
    for (int k = 0; k < c.w->rank; k++)
        if (c.w->order[k] != k)
            return ls__refuse("\"%s\" is transposed", c.w->name);
    if (ls__om_attribute(n, "output_shape", &at) || is_same(n))
        return ls__refuse("its output_shape and auto_pad are not read: export "
                          "with pads and output_padding");
    if (c.groups < 1 || v->shape[1] != c.w->shape[0] ||
        v->shape[1] % c.groups)
        return ls__refuse("its groups of channels do not fit");
    if ((status = window_of(n, v, c.size, &c.by)) < 0)
        return status;
    x = image(v);
    if (!x || (status = lay_apart(n, &c.by, &x)) < 0)
        return x ? status : ls__made(x);
    c.by.stride[0] = c.by.stride[1] = 1; /* the zeros between are the strides */
    lay = turned(c.w, c.size, c.groups);
    shape[0] = c.size[0];
    shape[1] = c.size[1];
    shape[2] = v->shape[1] / c.groups;
    shape[3] = c.groups * c.w->shape[1];
    if ((status = ls__read_layer(r, n, c.w, name)) < 0 ||
        (status = ls__read_laid(r, name, "kernel", c.w->weight, "", 4, shape,
                                &lay)) < 0)
        return status;
    return convolve(r, &c, x, name, shape[3], v);
}

/* ------ pools ------ */

/* Does padding depend on a window with holes?  ONNX counts them, ONNX Runtime
 * does not. */
static bool is_unclear(const ls__om_node *n)
{
    int64_t gap[2] = {1, 1};

    ls__om_integers(n, "dilations", 2, gap);
    return (gap[0] != 1 || gap[1] != 1) && is_same(n);
}

static int pool(ls__reader *r, const ls__om_node *n, ls__named *v)
{
    ls_pooling_options o = ls_pooling_defaults();
    bool greatest = ls__om_is(n, "MaxPool");
    window by;
    ls_node *x;
    int status;

    (void)r;
    if (is_unclear(n))
        return ls__refuse("programs do not agree on its auto_pad with "
                          "dilations: export with pads");
    if (v->rank < 3 || v->rank > 4 || ls__value_rows(v) != 0)
        return ls__refuse("read are pools over one and two axes");
    if (n->outputs > 1 && *n->output[1])
        return ls__refuse("its indices are not known here");
    if ((status = window_of(n, v, NULL, &by)) < 0)
        return status;
    SET_WINDOW(o, &by);
    o.ceil_mode = ls__om_integer(n, "ceil_mode", 0);
    o.exclude_padding = !greatest && !ls__om_integer(n, "count_include_pad", 0);
    x = image(v);
    return set_image(v, greatest
                            ? ls_max_pool_with(x, by.size[0], by.size[1], &o)
                            : ls_avg_pool_with(x, by.size[0], by.size[1], &o));
}

const ls__read_row ls__read_windows[] = {
    {"Conv", conv, LS__AS_NODE}, {"ConvTranspose", conv_transpose, LS__AS_NODE},
    {"MaxPool AveragePool", pool, LS__AS_NODE}, {NULL, NULL, 0}};
