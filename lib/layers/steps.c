/* SPDX-License-Identifier: BSD-3-Clause */
/* Convolutions of steps, which are images of height 1. */
#include "base/assert.h"
#include "base/error.h"
#include "graph/standing.h"
#include "layers/shape.h"

#include <lockstep/arithmetic.h>
#include <lockstep/ops.h>

static ls_node *as_image(ls_node *x, const char *name)
{
    char text[LS__SHAPE_TEXT];
    ls__shape s;

    if (!ls__node_stands(x))
        return NULL;
    s = ls__shape_of(x);
    if (s.rank == 2)
        return ls_reshape(x, 3, (int64_t[]){1, s.of[0], s.of[1]});
    ls__fail(LS_ESHAPE, "conv1d \"%s\": x is %s; it takes (steps,channels)",
             name ? name : "", ls__shape_text(text, s.rank, s.of));
    return ls__graph_failed(ls__graph_of(x), LS_ESHAPE);
}

static ls_node *as_steps(ls_node *x)
{
    ls__shape s;

    if (!x)
        return NULL;
    s = ls__shape_of(x);
    LS__ASSERT(s.rank == 3 && s.of[0] == 1);
    return ls_reshape(x, 2, s.of + 1);
}

ls_node *ls_conv1d(ls_node *x, int64_t n, int64_t width, int64_t stride,
                   ls_padding padding, const char *name)
{
    ls_window w = {.height = 1, .width = width, .stride_x = stride,
                   .padding = padding};

    return as_steps(ls_conv2d(as_image(x, name), n, w, name));
}

/* Are the options of the axis that steps lack the defaults? */
static bool of_one_axis(const ls_conv_options *o)
{
    return (o->stride_y == 0 || o->stride_y == 1) &&
           (o->dilation_y == 0 || o->dilation_y == 1) && !o->top && !o->bottom;
}

ls_node *ls_conv1d_with(ls_node *x, int64_t n, int64_t width,
                        const ls_conv_options *options, const char *name)
{
    ls_conv_options o = ls_conv_defaults();

    if (!ls__node_takes(x, "conv", &o, sizeof o, options))
        return NULL;
    if (of_one_axis(&o))
        return as_steps(ls_conv2d_with(as_image(x, name), n, 1, width, &o,
                                       name));
    ls__fail(LS_EINVAL, "conv1d \"%s\": stride_y %lld, dilation_y %lld, top "
             "%lld, bottom %lld: steps have one axis, x", name ? name : "",
             (long long)o.stride_y, (long long)o.dilation_y, (long long)o.top,
             (long long)o.bottom);
    return ls__graph_failed(ls__graph_of(x), LS_EINVAL);
}
