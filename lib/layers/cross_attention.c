/* SPDX-License-Identifier: BSD-3-Clause */
/* Attention to another sequence, or under a mask that is given: made of
 * products, a softmax and views, which have its gradients, files and
 * exports. */
#include "base/assert.h"
#include "base/error.h"
#include "graph/standing.h"
#include "layers/shape.h"
#include "op/layer_parts.h"
#include <lockstep/arithmetic.h>

/* The value of masked scores, as Flax's finfo.min: e^x of it is 0 beside any
 * other, and where all are masked all are equal. */
static const double FAR = 1e30;

/* A part of the layer as heads: with axes {1,0,2} the matrices are (T,n/heads),
 * with {1,2,0} (n/heads,T). */
static ls_node *project(ls_node *x, const char *name, const char *part,
                        bool bias, int64_t n, int64_t heads, const int *axes)
{
    int64_t kernel[] = {ls__last_of(x), heads, n / heads};
    int64_t split[] = {ls__shape_of(x).of[0], heads, n / heads};

    x = ls__projection(x, n, name, part, bias, 3, kernel);
    return ls_transpose(ls_reshape(x, 3, split), axes);
}

/* s where the mask is 1, far below where it is less: no float is between the
 * ends of this clamp, so the mask gets no gradient. */
static ls_node *hide(ls_node *s, ls_node *mask)
{
    ls__shape shape;

    if (!s || !mask)
        return s;
    shape = ls__shape_of(s);
    LS__ASSERT(shape.rank == 3); /* of heads */
    mask = ls_clamp(ls_scale_shift(mask, 0x1p24, 1 - 0x1p24), 0, 1);
    mask = ls_broadcast_to(mask, 3, shape.of);
    return ls_add(ls_mul(s, mask), ls_scale_shift(mask, FAR, -FAR));
}

/* P v of all heads, side by side again: (T,n). */
static ls_node *gather_heads(ls_node *p, ls_node *v, int64_t n)
{
    ls_node *y = ls_transpose(ls_matmul(p, v), (int[]){1, 0, 2});

    return y ? ls_reshape(y, 2, (int64_t[]){ls__shape_of(y).of[0], n}) : NULL;
}

static ls_node *refuse(ls_node *x, const ls_node *memory, int heads,
                       const char *name)
{
    ls__shape s = ls__shape_of(x), of = ls__shape_of(memory);
    char left[LS__SHAPE_TEXT], right[LS__SHAPE_TEXT];

    if (s.rank != 2 || of.rank != 2)
        ls__fail(LS_ESHAPE, "attention \"%s\": %s to %s; they must be (T,D) "
                 "and (S,E)", name, ls__shape_text(left, s.rank, s.of),
                 ls__shape_text(right, of.rank, of.of));
    else
        ls__fail(LS_ESHAPE, "attention \"%s\": width %lld does not divide into "
                 "%d heads", name, (long long)ls__last_of(x), heads);
    return ls__graph_failed(ls__graph_of(x), LS_ESHAPE);
}

static ls_node *attend(ls_node *x, ls_node *memory, ls_node *mask, int heads,
                       const ls_attention_options *o, const char *name)
{
    bool bias = o->qkv_bias;
    int64_t n = ls__last_of(x), out[] = {heads, heads > 0 ? n / heads : 0, n};
    ls_graph *g = ls__graph_of(x);
    ls_node *q, *k, *v, *p, *y;

    name = name ? name : "";
    if (ls__shape_of(x).rank != 2 || ls__shape_of(memory).rank != 2 ||
        heads < 1 || n % heads)
        return refuse(x, memory, heads, name);
    ls__undo_enter(g);
    q = project(x, name, "query", bias, n, heads, (int[]){1, 0, 2});
    k = project(memory, name, "key", bias, n, heads, (int[]){1, 2, 0});
    v = project(memory, name, "value", bias, n, heads, (int[]){1, 0, 2});
    p = ls_scale_shift(ls_matmul(q, k),
                       1 / __builtin_sqrt((double)(n / heads)), 0);
    p = ls_softmax(hide(p, mask));
    if (o->dropout != 0)
        p = ls_dropout(p, o->dropout, name);
    y = ls__projection(gather_heads(p, v, n), n, name, "out", o->out_bias, 3,
                       out);
    return ls__undo_leave(g, y);
}

ls_node *ls_cross_attention(ls_node *x, ls_node *memory, ls_node *mask,
                            int heads, const char *name)
{
    const ls_attention_options o = {0};

    return ls__node_stands(x) && memory
               ? attend(x, memory, mask, heads, &o, name) : NULL;
}

ls_node *ls_cross_attention_with(ls_node *x, ls_node *memory, ls_node *mask,
                                 int heads,
                                 const ls_attention_options *options,
                                 const char *name)
{
    ls_attention_options o = ls_attention_defaults();

    if (!memory || !ls__node_takes(x, "attention", &o, sizeof o, options))
        return NULL;
    if (!o.causal && o.kv_heads == 0 && o.rotary_base == 0)
        return attend(x, memory, mask, heads, &o, name);
    ls__fail(LS_EINVAL, "attention \"%s\" to another sequence has no causal "
             "mask, heads that are shared or rotary positions",
             name ? name : "");
    return ls__graph_failed(ls__graph_of(x), LS_EINVAL);
}
