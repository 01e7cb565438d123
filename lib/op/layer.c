/* SPDX-License-Identifier: BSD-3-Clause */
/* Layers made of operators. */
#include "op/layer.h"
#include "base/sized.h"
#include "graph/op.h"
#include "graph/undo.h"
#include <lockstep/arithmetic.h>

ls_node *ls__projection(ls_node *x, int64_t n, const char *name,
                        const char *part, bool bias, ls__extents kernel)
{
    char *path;

    if (!x || x->graph->status)
        return NULL;
    path = ls__path(x->graph, name, part);
    return path ? ls__dense(x, n, path, bias, kernel) : NULL;
}

static ls_node *attention_failed(ls_node *x, const char *name, int heads,
                                 int kv_heads)
{
    if (heads < 1 || ls__width(x) % heads)
        ls__fail(LS_ESHAPE, "attention \"%s\": width %lld does not divide "
                 "into %d heads", name, (long long)ls__width(x), heads);
    else
        ls__fail(LS_ESHAPE, "attention \"%s\": %d heads cannot share %d heads "
                 "of keys and values", name, heads, kv_heads);
    return ls__graph_failed(x->graph, LS_ESHAPE);
}

void ls_attention_defaults_bytes(ls_attention_options *options, size_t size)
{
    const ls_attention_options o = {.size = sizeof o};

    LS__NEED_OR(options, );
    ls__sized_defaults(options, size, &o, sizeof o);
}

bool ls__attention_options(ls_graph *graph, ls_attention_options *o,
                           const ls_attention_options *options)
{
    int status;

    *o = ls_attention_defaults();
    status = ls__sized_take("attention", o, sizeof *o, options);
    if (status < 0)
        ls__graph_failed(graph, status);
    return status == 0;
}

static ls_node *attention(ls_node *x, int heads, const ls_attention_options *o,
                          const char *name)
{
    int64_t d = ls__width(x), h = heads, dh = h > 0 ? d / h : 0;
    int kv_heads = o->kv_heads;
    ls__extents in = {3, {d, h, dh}}, out = {3, {h, dh, d}}, kv = in;
    ls_node *q, *k, *v, *y;

    name = name ? name : "";
    if (heads < 1 || d % heads || kv_heads < 1 || heads % kv_heads)
        return attention_failed(x, name, heads, kv_heads);
    kv.of[1] = kv_heads;
    ls__undo_enter(x->graph);
    q = ls__projection(x, d, name, "query", o->qkv_bias, in);
    k = ls__projection(x, kv_heads * dh, name, "key", o->qkv_bias, kv);
    v = ls__projection(x, kv_heads * dh, name, "value", o->qkv_bias, kv);
    if (o->rotary_base != 0) {
        q = ls_rotary(q, heads, o->rotary_base);
        k = ls_rotary(k, kv_heads, o->rotary_base);
    }
    y = ls__attention(q, k, v, heads, o->causal, o->dropout, name);
    y = ls__projection(y, d, name, "out", o->out_bias, out);
    return ls__undo_leave(x->graph, y);
}

ls_node *ls_attention_with(ls_node *x, int heads,
                           const ls_attention_options *options,
                           const char *name)
{
    ls_attention_options o;

    if (!x || x->graph->status ||
        !ls__attention_options(x->graph, &o, options))
        return NULL;
    if (o.kv_heads == 0)
        o.kv_heads = heads;
    return attention(x, heads, &o, name);
}

ls_node *ls_grouped_attention(ls_node *x, int heads, int kv_heads,
                              double rotary_base, bool causal,
                              const char *name)
{
    ls_attention_options o = {.kv_heads = kv_heads, .causal = causal,
                              .rotary_base = rotary_base};

    return x && !x->graph->status ? attention(x, heads, &o, name) : NULL;
}

ls_node *ls_self_attention(ls_node *x, int heads, bool causal,
                           const char *name)
{
    return ls_grouped_attention(x, heads, heads, 0, causal, name);
}

ls_node *ls_swiglu(ls_node *x, int64_t n, const char *name)
{
    ls__extents matrix = {2, {x ? ls__width(x) : 0, n}};
    ls_node *gate, *up;

    if (!x || x->graph->status)
        return NULL;
    name = name ? name : "";
    ls__undo_enter(x->graph);
    gate = ls__projection(x, n, name, "gate", false, matrix);
    up = ls__projection(x, n, name, "up", false, matrix);
    return ls__undo_leave(x->graph, ls_mul(ls_silu(gate), up));
}

/* ------ convolutions of steps ------ */

/* Steps as an image of height 1. */
static ls_node *as_image(ls_node *x, const char *name)
{
    char text[LS__SHAPE_TEXT];

    if (!x || x->graph->status)
        return NULL;
    if (x->rank == 2)
        return ls_reshape(x, 3, (int64_t[]){1, x->shape[0], x->shape[1]});
    ls__fail(LS_ESHAPE, "conv1d \"%s\": x is %s; it takes (steps,channels)",
             name ? name : "", ls__shape_text(text, x->rank, x->shape));
    return ls__graph_failed(x->graph, LS_ESHAPE);
}

static ls_node *as_steps(ls_node *x)
{
    return x ? ls_reshape(x, 2, x->shape + 1) : NULL;
}

static ls_window of_steps(int64_t width, int64_t stride, ls_padding padding)
{
    return (ls_window){.height = 1, .width = width, .stride_x = stride,
                       .padding = padding};
}

ls_node *ls_conv1d(ls_node *x, int64_t n, int64_t width, int64_t stride,
                   ls_padding padding, const char *name)
{
    return as_steps(ls_conv2d(as_image(x, name), n,
                              of_steps(width, stride, padding), name));
}

/* Whether all that is about the axis that steps lack is as it was. */
static bool of_one_axis(const ls_conv_options *o)
{
    return (o->stride_y == 0 || o->stride_y == 1) &&
           (o->dilation_y == 0 || o->dilation_y == 1) && !o->top && !o->bottom;
}

ls_node *ls_conv1d_with(ls_node *x, int64_t n, int64_t width,
                        const ls_conv_options *options, const char *name)
{
    ls_conv_options o = ls_conv_defaults();
    int status;

    if (!x || x->graph->status)
        return NULL;
    status = ls__sized_take("conv", &o, sizeof o, options);
    if (status == 0 && !of_one_axis(&o))
        status = ls__fail(LS_EINVAL, "conv1d \"%s\": stride_y %lld, dilation_y "
                          "%lld, top %lld, bottom %lld: steps have one axis, "
                          "x", name ? name : "", (long long)o.stride_y,
                          (long long)o.dilation_y, (long long)o.top,
                          (long long)o.bottom);
    if (status < 0)
        return ls__graph_failed(x->graph, status);
    return as_steps(ls_conv2d_with(as_image(x, name), n, 1, width, &o, name));
}
