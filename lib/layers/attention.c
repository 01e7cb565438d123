/* SPDX-License-Identifier: BSD-3-Clause */
/* Attention, and what stands beside it in a block. */
#include "base/assert.h"
#include "base/error.h"
#include "base/sized.h"
#include "graph/standing.h"
#include "layers/shape.h"
#include "op/layer_parts.h"

#include <lockstep/arithmetic.h>

static ls_node *failed(ls_node *x, const char *name, int heads, int kv_heads)
{
    if (heads < 1 || ls__last_of(x) % heads)
        ls__fail(LS_ESHAPE, "attention \"%s\": width %lld does not divide "
                 "into %d heads", name, (long long)ls__last_of(x), heads);
    else
        ls__fail(LS_ESHAPE, "attention \"%s\": %d heads cannot share %d heads "
                 "of keys and values", name, heads, kv_heads);
    return ls__graph_failed(ls__graph_of(x), LS_ESHAPE);
}

LS__DEFAULTS(ls_attention_options, ls_attention_defaults_bytes)

static ls_node *attention(ls_node *x, int heads, const ls_attention_options *o,
                          const char *name)
{
    int64_t d = ls__last_of(x), h = heads, dh = h > 0 ? d / h : 0;
    int64_t in[] = {d, h, dh}, kv[] = {d, o->kv_heads, dh}, out[] = {h, dh, d};
    int kv_heads = o->kv_heads;
    ls_graph *g = ls__graph_of(x);
    ls_node *q, *k, *v, *y;

    name = name ? name : "";
    if (heads < 1 || d % heads || kv_heads < 1 || heads % kv_heads)
        return failed(x, name, heads, kv_heads);
    LS__ASSERT(h * dh == d && kv_heads <= heads);
    ls__undo_enter(g);
    q = ls__projection(x, d, name, "query", o->qkv_bias, 3, in);
    k = ls__projection(x, kv_heads * dh, name, "key", o->qkv_bias, 3, kv);
    v = ls__projection(x, kv_heads * dh, name, "value", o->qkv_bias, 3, kv);
    if (o->rotary_base != 0) {
        q = ls_rotary(q, heads, o->rotary_base);
        k = ls_rotary(k, kv_heads, o->rotary_base);
    }
    y = ls__attention(q, k, v, heads, o->causal, o->dropout, name);
    y = ls__projection(y, d, name, "out", o->out_bias, 3, out);
    return ls__undo_leave(g, y);
}

ls_node *ls_attention_with(ls_node *x, int heads,
                           const ls_attention_options *options,
                           const char *name)
{
    ls_attention_options o = ls_attention_defaults();

    if (!ls__node_takes(x, "attention", &o, sizeof o, options))
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

    return ls__node_stands(x) ? attention(x, heads, &o, name) : NULL;
}

ls_node *ls_self_attention(ls_node *x, int heads, bool causal,
                           const char *name)
{
    return ls_grouped_attention(x, heads, heads, 0, causal, name);
}

ls_node *ls_swiglu(ls_node *x, int64_t n, const char *name)
{
    int64_t matrix[] = {x ? ls__last_of(x) : 0, n};
    ls_node *gate, *up;
    ls_graph *g;

    if (!ls__node_stands(x))
        return NULL;
    g = ls__graph_of(x);
    name = name ? name : "";
    ls__undo_enter(g);
    gate = ls__projection(x, n, name, "gate", false, 2, matrix);
    up = ls__projection(x, n, name, "up", false, 2, matrix);
    return ls__undo_leave(g, ls_mul(ls_silu(gate), up));
}
