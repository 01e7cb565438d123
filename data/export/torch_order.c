/* SPDX-License-Identifier: BSD-3-Clause */
/* See torch_order.h. */
#include "export/torch_order.h"
#include "kernel/terms.h"

#include <string.h>

typedef ls__torch_order order;

#define TERM(kind, function, name, ...) name,
#define OTHER_TERM(kind, name, ...) name,
static const char *const elementwise[] = {
    LS__TERM_ROWS(TERM, TERM, OTHER_TERM)
    "add", "gelu", "relu", "tanh", "sigmoid", "dropout", "round_bf16",
    "batch_norm", "group_norm", NULL};
static const char *const pools[] = {"max_pool", "avg_pool", NULL};
static const char *const sums[] = {"sum", "max_over", NULL};
static const char *const shapes[] = {"reshape", "flatten", NULL};
static const char *const vector_norms[] = {"layer_norm", "rms_norm", NULL};

static bool is_of(const ls__net_node *n, const char *const *ops)
{
    while (*ops && !ls__net_is(n, *ops))
        ops++;
    return *ops;
}

static int64_t size_of(const ls__net_node *n)
{
    return ls__net_width(n) * ls__net_vectors(n);
}

static order of_kind(ls__torch_kind kind)
{
    return (order){kind, 0};
}

static bool is_image(order o)
{
    return o.kind == LS__TORCH_IMAGE || o.kind == LS__TORCH_GIVEN;
}

/* Two that stand beside each other. */
static order both(order a, order b)
{
    ls__torch_kind low = a.kind < b.kind ? a.kind : b.kind;
    ls__torch_kind high = a.kind < b.kind ? b.kind : a.kind;

    if (low == high && a.c == b.c)
        return a;
    if (high >= LS__TORCH_FLAT)
        return of_kind(LS__TORCH_UNKNOWN);
    if (high == LS__TORCH_GIVEN)
        return of_kind(low);
    if (low == LS__TORCH_GIVEN || high == LS__TORCH_SPLIT)
        return of_kind(high);
    return of_kind(low == LS__TORCH_SPLIT ? LS__TORCH_UNKNOWN : LS__TORCH_EACH);
}

/* The same numbers under another shape. */
static order reshaped(const ls__net_node *n, order x)
{
    const ls__net_node *of = n->in[0];
    int64_t c = ls__net_width(of);
    bool keeps = c == ls__net_width(n) && of->rank && n->rank;

    if (x.kind <= LS__TORCH_SPLIT) {
        if (!of->op) /* a row is what a program makes of it */
            return of_kind(n->rank == 3 ? LS__TORCH_GIVEN : LS__TORCH_SAME);
        return n->rank <= 1 ? of_kind(LS__TORCH_SAME)
               : keeps      ? x : of_kind(LS__TORCH_SPLIT);
    }
    if (x.kind == LS__TORCH_FLAT || x.kind == LS__TORCH_UNKNOWN)
        return n->rank == of->rank ? x : of_kind(LS__TORCH_UNKNOWN);
    if (size_of(of) == c || (c == 1 && is_image(x)))
        return of_kind(n->rank == 3 ? LS__TORCH_GIVEN : LS__TORCH_SAME);
    if (keeps)
        return of_kind(LS__TORCH_EACH);
    return is_image(x) && n->rank == 1 ? (order){LS__TORCH_FLAT, c}
                                       : of_kind(LS__TORCH_UNKNOWN);
}

/* The order of an operator that does nothing to that of the last axis. */
static order other(const ls__net_node *n, order x)
{
    if (ls__net_is(n, "dense"))
        return of_kind(x.kind <= LS__TORCH_SPLIT || n->rank <= 1
                           ? LS__TORCH_SAME : LS__TORCH_EACH);
    if (x.kind >= LS__TORCH_FLAT)
        return of_kind(LS__TORCH_UNKNOWN);
    if (n->rank <= 1)
        return of_kind(LS__TORCH_SAME);
    if (x.kind <= LS__TORCH_SPLIT ||
        (ls__net_is(n, "concat") && ls__net_integer(n, "axis") == 2))
        return x;
    return of_kind(LS__TORCH_EACH);
}

static bool mixes_axes(const ls__net_node *n)
{
    return ls__net_is(n, "transpose") ||
           (is_of(n, sums) && ls__net_integer(n, "axis") +
                              ls__net_integer(n, "axes") == n->in[0]->rank);
}

static order order_of(const ls__net_node *n, const order *known)
{
    order x = of_kind(LS__TORCH_SAME);

    if (!n->op)
        return of_kind(n->rank == 3 && !n->is_i32 ? LS__TORCH_GIVEN
                                                  : LS__TORCH_SAME);
    if (ls__net_is(n, "conv2d"))
        return of_kind(LS__TORCH_IMAGE);
    for (int k = 0; k < n->inputs; k++)
        x = k ? both(x, known[n->in[k]->id]) : known[n->in[k]->id];
    if (size_of(n) == 1)
        return of_kind(LS__TORCH_SAME);
    if (is_of(n, elementwise) || (is_of(n, pools) && is_image(x)) ||
        (is_of(n, vector_norms) && x.kind == LS__TORCH_FLAT) ||
        (ls__net_is(n, "broadcast") && n->rank == n->in[0]->rank))
        return x;
    if (is_of(n, shapes))
        return reshaped(n, x);
    if (mixes_axes(n) && x.kind > LS__TORCH_SPLIT)
        return of_kind(LS__TORCH_UNKNOWN);
    return other(n, x);
}

const ls__torch_order *ls__torch_orders(ls__net *net)
{
    order *known = ls__arena_new(&net->arena, (size_t)net->nodes + 1,
                                 sizeof *known);

    for (int i = 0; known && i < net->nodes; i++)
        known[i] = order_of(&net->node[i], known);
    return known;
}

/* Does a parameter of its own stand beside what has another order, or may have
 * it: a cube of numbers? */
static bool is_beside(const ls__net *net, const order *known,
                      const ls__net_node *param)
{
    bool cube = param->rank == 3 && param->shape[0] > 1 &&
                param->shape[0] == param->shape[1] &&
                param->shape[0] == param->shape[2];

    for (int i = param->id + 1; i < net->nodes; i++) {
        const ls__net_node *n = &net->node[i];
        bool reads = false, strange = false;

        for (int k = 0; k < n->inputs; k++) {
            order x = known[n->in[k]->id];

            reads |= n->in[k] == param;
            strange |= x.kind >= LS__TORCH_FLAT || (cube && is_image(x));
        }
        if (reads && strange)
            return true;
    }
    return false;
}

bool ls__torch_is_known(const ls__net *net, const ls__torch_order *known,
                        const ls__net_node *n)
{
    order x = of_kind(LS__TORCH_SAME);

    if (ls__net_is(n, "parameter"))
        return !is_beside(net, known, n);
    if (ls__net_is(n, "sparse_dense") || ls__net_is(n, "sparse_dense_values"))
        return n->param[0]->of.shape[0] != n->param[0]->of.shape[1];
    if (n->inputs)
        x = known[n->in[0]->id];
    switch (x.kind) {
    case LS__TORCH_UNKNOWN:
        return false;
    case LS__TORCH_SPLIT:
        return !ls__net_is(n, "conv2d") && !ls__net_is(n, "batch_norm") &&
               !ls__net_is(n, "group_norm");
    case LS__TORCH_FLAT:
        return ls__net_is(n, "dense") || ls__net_is(n, "batch_norm") ||
               is_of(n, vector_norms);
    default:
        return true;
    }
}
