/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators with short calls: elementwise ones, and those that move numbers. */
#include "base/error.h"
#include "export/writer.h"

#include <stdlib.h>
#include <string.h>

/* ------ elementwise ------ */

/* The call with a, b, and its constants p and q. */
static int put_term(ls__writer *w, const ls__crow *row, int node)
{
    const ls__cnode *n = &w->node[node];
    ls__text *t = &w->calls;

    ls__write_part(w, row->part);
    ls__text_put(t, "    for (i = 0; i < m * %lld; i++)\n        v%d[i] = ",
                 (long long)n->size, node);
    for (const char *c = row->call; *c; c++)
        if (*c == '$' && (c[1] == 'a' || c[1] == 'b'))
            ls__text_put(t, "v%d[i]", ls__cval(w, node, *++c == 'b'));
        else if (*c == '$')
            ls__text_float(t, (float)ls__net_number(
                n->of, row->by[*++c == 'q']));
        else
            ls__text_add(t, c, 1);
    ls__text_put(t, ";\n");
    return 0;
}

/* ------ axes ------ */

static int put_copy(ls__writer *w, int node)
{
    (void)w;
    (void)node;
    return 0;
}

/* Strides of a walk over a whole value. */
static void strides_of(const ls__cnode *n, int64_t *stride)
{
    int64_t by = 1;

    for (int k = n->of->rank - 1; k >= 0; k--) {
        stride[k] = by;
        by *= n->of->shape[k];
    }
}

static void put_list(ls__text *t, const char *name, int n, const int64_t *of)
{
    ls__text_put(t, "        static const long %s[] = {", name);
    for (int k = 0; k < n; k++)
        ls__text_put(t, "%s%lld", k ? ", " : "", (long long)of[k]);
    ls__text_put(t, "%s};\n", n ? "" : "1");
}

/* Walk over x (rows of a given width, from `first` on) to y, or back, by the
 * shape of a node. */
static void put_view(ls__writer *w, const ls__net_node *of,
                     const int64_t *stride, bool back, int from,
                     int64_t from_size, int64_t first, int to, int64_t to_size,
                     int64_t second)
{
    ls__text *t = &w->calls;

    ls__write_part(w, "view");
    ls__text_put(t, "    {\n");
    put_list(t, "size", of->rank, of->shape);
    put_list(t, "stride", of->rank, stride);
    ls__text_put(t, "\n        for (i = 0; i < m; i++)\n"
                    "            view(%d, size, stride, %d, "
                    "v%d + i * %lld + %lld, v%d + i * %lld + %lld);\n    }\n",
                 of->rank, back, from, (long long)from_size, (long long)first,
                 to,
                 (long long)to_size, (long long)second);
}

static int put_transpose(ls__writer *w, int node)
{
    const ls__cnode *n = &w->node[node], *x = ls__cin(w, node, 0);
    int64_t from[LS_MAX_RANK] = {0}, stride[LS_MAX_RANK] = {0};

    strides_of(x, from);
    for (int k = 0; k < n->of->rank; k++)
        stride[k] = from[ls__net_size(n->of, "axes", k)];
    put_view(w, n->of, stride, false, ls__cval(w, node, 0), x->size, 0,
             node, n->size, 0);
    return 0;
}

static int put_slice(ls__writer *w, int node)
{
    const ls__cnode *n = &w->node[node], *x = ls__cin(w, node, 0);
    int64_t axis = ls__net_integer(n->of, "axis");
    int64_t stride[LS_MAX_RANK] = {0};

    strides_of(x, stride);
    axis += axis < 0 ? x->of->rank : 0;
    put_view(w, n->of, stride, false, ls__cval(w, node, 0), x->size,
             ls__net_integer(n->of, "first") * stride[axis], node, n->size,
             0);
    return 0;
}

static int put_broadcast(ls__writer *w, int node)
{
    const ls__cnode *n = &w->node[node], *x = ls__cin(w, node, 0);
    int64_t from[LS_MAX_RANK] = {0}, stride[LS_MAX_RANK] = {0};
    int more = n->of->rank - x->of->rank;

    strides_of(x, from);
    for (int k = more; k < n->of->rank; k++)
        stride[k] = x->of->shape[k - more] == 1 ? 0 : from[k - more];
    put_view(w, n->of, stride, false, ls__cval(w, node, 0), x->size, 0,
             node, n->size, 0);
    return 0;
}

static int put_reverse(ls__writer *w, int node)
{
    const ls__cnode *n = &w->node[node];
    long long steps = n->of->shape[0], width = n->size / steps;
    char of[LS__ARGUMENT];

    ls__call(w, "for (i = 0; i < m * %lld; i++) {", steps);
    ls__call(w, "    long j, t = i %% %lld, count = %lld;", steps, steps);
    ls__call(w, "    long from;\n");
    if (n->of->inputs > 1) {
        ls__write_part(w, "length");
        ls__call(w, "    count = length_of(%s[i / %lld], %lld);",
                 ls__cargument(w, ls__cin(w, node, 1), of), steps, steps);
    }
    ls__call(w, "    from = t < count ? i + count - 1 - 2 * t : i;");
    ls__call(w, "    for (j = 0; j < %lld; j++)", width);
    ls__call(w, "        v%d[i * %lld + j] = v%d[from * %lld + j];\n    }",
             node, width, ls__cval(w, node, 0), width);
    return 0;
}

static int put_concat(ls__writer *w, int node)
{
    const ls__cnode *n = &w->node[node];
    int64_t stride[LS_MAX_RANK] = {0}, first = 0;
    int64_t axis = ls__net_integer(n->of, "axis");

    axis += axis < 0 ? n->of->rank : 0;
    strides_of(n, stride);
    for (int k = 0; k < 2; k++) {
        const ls__cnode *x = ls__cin(w, node, k);

        put_view(w, x->of, stride, true, ls__cval(w, node, k), x->size,
                 0, node, n->size, first);
        first += x->of->shape[axis] * stride[axis];
    }
    return 0;
}

/* (outer,n,inner) of a reduction. */
static int put_reduction(ls__writer *w, int node)
{
    const ls__cnode *n = &w->node[node], *x = ls__cin(w, node, 0);
    int64_t axis = ls__net_integer(n->of, "axis"), outer = 1, of = 1;
    int64_t inner = 1, end = axis + ls__net_integer_or(n->of, "axes", 1);

    for (int k = 0; k < x->of->rank; k++)
        *(k < axis ? &outer : k < end ? &of : &inner) *= x->of->shape[k];
    ls__call(w, "%s(m * %lld, %lld, %lld, v%d, v%d);",
             ls__net_is(n->of, "sum") ? "sum_over" : "max_over",
             (long long)outer, (long long)of, (long long)inner,
             ls__cval(w, node, 0), node);
    return 0;
}

/* ------ indices ------ */

/* Indices are the input itself. */
static int put_embed(ls__writer *w, int node)
{
    const ls__cnode *n = &w->node[node], *x = ls__cin(w, node, 0);
    char name[LS__NAME], of[LS__ARGUMENT];
    int status = ls__weights_table(w, n->of->param[0]->id,
                                   ls__net_width(n->of), name);

    ls__call(w, "for (i = 0; i < m * %lld; i++)", (long long)x->size);
    ls__call(w, "    embed(%s[i], %lld, %lld, &%s, v%d + i * %lld);",
             ls__cargument(w, x, of),
             (long long)ls__net_integer_or(n->of, "count", 1),
             (long long)ls__net_width(n->of), name, node,
             (long long)ls__net_width(n->of));
    return status;
}

/* A row's vectors are its table. */
static int put_gather(ls__writer *w, int node)
{
    const ls__cnode *n = &w->node[node], *x = ls__cin(w, node, 0);
    const ls__cnode *at = ls__cin(w, node, 1);
    long long count = x->of->shape[0], width = x->size / count;
    char of[LS__ARGUMENT];

    ls__call(w, "for (i = 0; i < m * %lld; i++)", (long long)at->size);
    ls__call(w, "    pick(%s[i], %lld, %lld, v%d + i / %lld * %lld, v%d + i "
             "* %lld);", ls__cargument(w, at, of), count, width,
             ls__cval(w, node, 0), (long long)at->size, (long long)x->size,
             n->as, width);
    return 0;
}

static int put_one_hot(ls__writer *w, int node)
{
    const ls__cnode *n = &w->node[node];
    long long width = ls__net_width(n->of);
    char of[LS__ARGUMENT];

    ls__call(w, "for (i = 0; i < m * %lld; i++)", (long long)n->size);
    ls__call(w, "    v%d[i] = %s[i / %lld] == i %% %lld;", node,
             ls__cargument(w, ls__cin(w, node, 0), of), width, width);
    return 0;
}

/* A bag's list has room in t, its indices and then its values. */
static int put_bag(ls__writer *w, int node)
{
    const ls__cnode *n = &w->node[node], *x = ls__cin(w, node, 0);
    int64_t places = ls__net_width(x->of), width = ls__net_width(n->of);
    char table[LS__NAME], bias[LS__NAME] = "", of[LS__ARGUMENT];
    int status = ls__weights_table(w, n->of->param[0]->id, width, table);

    if (status == 0 && n->of->params > 1)
        status = ls__weights_plain(w, n->of->param[1]->id, bias);
    ls__call(w, "for (i = 0; i < m * %lld; i++)",
             (long long)ls__net_vectors(x->of));
    ls__text_put(&w->calls, "        bag(%lld, %s + i * %lld, ",
                 (long long)places, ls__cargument(w, x, of), (long long)places);
    if (n->of->inputs > 1)
        ls__text_put(&w->calls, "v%d + i * %lld", ls__cval(w, node, 1),
                     (long long)places);
    else
        ls__text_put(&w->calls, "0");
    ls__text_put(&w->calls, ", %d, %lld,\n            %lld, &%s, v%d + i * "
                 "%lld, (int32_t *)t, t + %lld);\n",
                 (int)ls__net_integer(n->of, "mean"),
                 (long long)ls__net_integer_or(n->of, "count", 1),
                 (long long)width,
                 table, node, (long long)width, (long long)places);
    if (*bias) {
        ls__write_part(w, "bias");
        ls__call(w, "add_bias(m * %lld, %lld, %s, v%d, %lld);",
                 (long long)ls__net_vectors(x->of), (long long)width, bias,
                 node,
                 (long long)width);
    }
    if (w->floats < 2 * places)
        w->floats = 2 * places;
    return status;
}

/* ------ the rows ------ */

#define TERM(name, part, text) {name, part, NULL, text, {NULL, NULL}}

static const ls__crow rows[] = {
    TERM("relu", "relu", "relu($a)"),
    TERM("tanh", "tanh", "tangent($a)"),
    TERM("sigmoid", "sigmoid", "sigmoid($a)"),
    TERM("gelu", "gelu", "gelu($a)"),
    TERM("silu", "silu", "silu($a)"),
    TERM("softplus", "softplus", "softplus($a)"),
    TERM("exp", "exp", "e_to($a)"),
    TERM("log", "log", "logarithm($a)"),
    TERM("sqrt", "root", "root($a)"),
    TERM("sin", "sine", "sine($a, 0)"),
    TERM("cos", "sine", "sine($a, 1)"),
    TERM("selu", "selu", "selu($a)"),
    TERM("mish", "mish", "mish($a)"),
    TERM("hard_swish", "exp",
         "mul($a, clamp(fused($a, 0x1.555556p-3f, 0.5f), 0.0f, 1.0f))"),
    TERM("gelu_exact", "gelu_exact", "gelu_exact($a)"),
    TERM("square", "mul", "mul($a, $a)"),
    TERM("abs", "size", "size_of($a)"),
    TERM("add", "add", "add($a, $b)"),
    TERM("sub", "sub", "sub($a, $b)"),
    TERM("mul", "mul", "mul($a, $b)"),
    TERM("div", "div", "divide($a, $b)"),
    TERM("min", "lesser", "lesser($a, $b)"),
    TERM("max", "greater", "greater($a, $b)"),
    TERM("binary_entropy", "binary_entropy", "binary_entropy($a, $b)"),
    TERM("divergence", "divergence", "divergence($a, $b)"),
    TERM("round_bf16", "round_bf16", "round_bf16($a)"),
    {"scale", "fma", NULL, "fused($p, $a, $q)", {"scale", "shift"}},
    {"clamp", "clamp", NULL, "clamp($a, $p, $q)", {"low", "high"}},
    {"pow", "pow", NULL, "power($a, $p)", {"power", NULL}},
    {"leaky_relu", "leaky_relu", NULL, "leaky_relu($a, $p)", {"slope", NULL}},
    {"elu", "elu", NULL, "elu($a, $p)", {"alpha", NULL}},
    {"reshape", NULL, put_copy, NULL, {NULL, NULL}},
    {"flatten", NULL, put_copy, NULL, {NULL, NULL}},
    {"dropout", NULL, put_copy, NULL, {NULL, NULL}},
    {"transpose", NULL, put_transpose, NULL, {NULL, NULL}},
    {"slice", NULL, put_slice, NULL, {NULL, NULL}},
    {"broadcast", NULL, put_broadcast, NULL, {NULL, NULL}},
    {"concat", NULL, put_concat, NULL, {NULL, NULL}},
    {"reverse", NULL, put_reverse, NULL, {NULL, NULL}},
    {"reverse_lengths", NULL, put_reverse, NULL, {NULL, NULL}},
    {"sum", "sum", put_reduction, NULL, {NULL, NULL}},
    {"max_over", "max_over", put_reduction, NULL, {NULL, NULL}},
    {"embed", "embed", put_embed, NULL, {NULL, NULL}},
    {"gather", "pick", put_gather, NULL, {NULL, NULL}},
    {"one_hot", NULL, put_one_hot, NULL, {NULL, NULL}},
    {"embed_bag", "bag", put_bag, NULL, {NULL, NULL}},
    {"sparse_dense", "bag", put_bag, NULL, {NULL, NULL}},
    {"sparse_dense_values", "bag", put_bag, NULL, {NULL, NULL}},
    {NULL, NULL, NULL, NULL, {NULL, NULL}}};

bool ls__crow_is_view(const char *op)
{
    const ls__crow *row = ls__crow_of(op);

    return row && row->put == put_copy;
}

const ls__crow *ls__crow_of(const char *op)
{
    for (const ls__crow *r = rows; r->op; r++)
        if (!strcmp(r->op, op))
            return r;
    for (const ls__crow *r = ls__crow_layers; r->op; r++)
        if (!strcmp(r->op, op))
            return r;
    return NULL;
}

int ls__crow_put(ls__writer *w, int node)
{
    const ls__cnode *n = &w->node[node];
    const ls__crow *row = ls__crow_of(n->of->op);

    if (!row)
        return ls__fail(LS_ENOTSUP, "%s: node %d of the graph: there is no C "
                        "source for \"%s\"", w->path, node, n->of->op);
    if (!row->put)
        return put_term(w, row, node);
    if (row->part)
        ls__write_part(w, row->part);
    return row->put(w, node);
}
