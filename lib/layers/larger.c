/* SPDX-License-Identifier: BSD-3-Clause */
/* Layers that make images larger (upsampling, transposed convolution), made of
 * other operators, with their order of additions. */
#include "base/assert.h"
#include "base/error.h"
#include "graph/standing.h"
#include "layers/shape.h"

#include <lockstep/arithmetic.h>
#include <lockstep/ops.h>

/* Check that x is an image, and the factors of its new height and width. */
static bool is_image(ls_node *x, const char *what, int64_t high, int64_t wide)
{
    const int64_t most = 1 << 16;
    int rank;

    if (!ls__node_stands(x))
        return false;
    rank = ls__shape_of(x).rank;
    if (rank == 3 && high >= 1 && wide >= 1 && high <= most && wide <= most)
        return true;
    ls__graph_failed(ls__graph_of(x),
                     ls__fail(LS_ESHAPE, "%s: the input has %d axes, not the 3 "
                              "of an image, or cannot become %lld by %lld "
                              "times as large", what, rank, (long long)high,
                              (long long)wide));
    return false;
}

/* x (H,W,C) as (H,1,W,1,C). */
static ls_node *apart(ls_node *x)
{
    ls__shape s = ls__shape_of(x);

    return ls_reshape(x, 5, (int64_t[]){s.of[0], 1, s.of[1], 1, s.of[2]});
}

/* x (H,y,W,x,C) as an image (H y,W x,C). */
static ls_node *together(ls_node *x)
{
    ls__shape s;

    if (!x)
        return NULL;
    s = ls__shape_of(x);
    return ls_reshape(x, 3, (int64_t[]){s.of[0] * s.of[1], s.of[2] * s.of[3],
                                        s.of[4]});
}

ls_node *ls_upsample(ls_node *x, int64_t high, int64_t wide)
{
    ls__shape s;

    if (!is_image(x, "upsample", high, wide))
        return NULL;
    s = ls__shape_of(x);
    return together(ls_broadcast_to(
        apart(x), 5, (int64_t[]){s.of[0], high, s.of[1], wide, s.of[2]}));
}

/* `count` - 1 zeros after each element along an axis of one. */
static ls_node *spread(ls_node *x, int64_t count, int axis)
{
    ls_node *both[2] = {x};
    ls__shape s;

    if (!x || count == 1)
        return x;
    s = ls__shape_of(x);
    LS__ASSERT(s.rank == 5 && s.of[axis] == 1);
    s.of[axis] = count - 1;
    both[1] = ls_broadcast_to(ls_scale_shift(x, 0, 0), 5, s.of);
    return ls_concat(both, 2, axis);
}

/* Padding: zeros that a window of n sees before the first element, and after
 * the last one and the zeros that follow it. */
static void set_padding(ls_padding padding, int64_t n, int64_t stride,
                        int64_t *before, int64_t *after)
{
    int64_t same = stride > n - 1 ? n - 1 : (n + stride - 1) / 2;

    *before = padding == LS_SAME ? same : n - 1;
    *after = padding == LS_SAME ? n - 1 - same : n > stride ? n - stride : 0;
}

ls_node *ls_conv2d_transpose(ls_node *x, int64_t n, ls_window w,
                             const char *name)
{
    int64_t high = w.stride_y ? w.stride_y : 1;
    int64_t wide = w.stride_x ? w.stride_x : 1;
    ls_conv_options o = ls_conv_defaults();

    if (!is_image(x, "conv2d_transpose", high, wide))
        return NULL;
    if (w.padding != LS_SAME && w.padding != LS_VALID) {
        ls__fail(LS_EINVAL, "conv2d_transpose \"%s\": padding %d is not "
                 "LS_SAME or LS_VALID", name ? name : "", (int)w.padding);
        return ls__graph_failed(ls__graph_of(x), LS_EINVAL);
    }
    o.padding = LS_EXPLICIT;
    set_padding(w.padding, w.height, high, &o.top, &o.bottom);
    set_padding(w.padding, w.width, wide, &o.left, &o.right);
    x = together(spread(spread(apart(x), high, 1), wide, 3));
    return ls_conv2d_with(x, n, w.height, w.width, &o, name);
}
