/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators with short calls: elementwise ones, and those that move numbers. */
#include "base/error.h"
#include "export/writer.h"
#include "kernel/terms.h"

#include <stdlib.h>
#include <string.h>

/* ------ elementwise ------ */

/* Does a formula name the word? */
static bool names(const char *formula, char word)
{
    static const char inside[] = "abcdefghijklmnopqrstuvwxyz"
                                 "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

    for (const char *at = formula; (at = strchr(at, word)); at++)
        if ((at == formula || !strchr(inside, at[-1])) &&
            !strchr(inside, at[1]))
            return true;
    return false;
}

/* The formula of terms.h, 16 elements at a time: operands a and b, constants p
 * and q. */
static int put_term(ls__writer *w, const ls__crow *row, int node)
{
    const ls__cnode *n = &w->node[node];

    ls__call(w, "for (i = 0; i < m * %lld; i += 16) {", (long long)n->size);
    ls__call(w, "    int64_t left = m * %lld - i;", (long long)n->size);
    for (int k = 0; k < 2; k++)
        if (names(row->value, "pq"[k])) {
            ls__text_put(&w->calls, "        const float %c = ", "pq"[k]);
            ls__text_float(&w->calls,
                           (float)ls__net_number(n->of, row->by[k]));
            ls__text_put(&w->calls, ";\n");
        }
    for (int k = 0; k < 2; k++)
        if (names(row->value, "ab"[k]))
            ls__call(w, "    v16 %c = take(n%d + i, left);", "ab"[k],
                     ls__cval(w, node, k < n->of->inputs ? k : 0));
    ls__call(w, "\n        put(n%d + i, %s, left);\n    }", node, row->value);
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
    ls__text_put(t, "        static const int64_t %s[] = {", name);
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

    ls__text_put(t, "    {\n");
    put_list(t, "size", of->rank, of->shape);
    put_list(t, "stride", of->rank, stride);
    ls__text_put(t, "\n        for (i = 0; i < m; i++)\n"
                    "            view(%d, size, stride, %d, "
                    "n%d + i * %lld + %lld, n%d + i * %lld + %lld);\n    }\n",
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
        ls__call(w, "    count = length_of(%s[i / %lld], %lld);",
                 ls__cargument(w, ls__cin(w, node, 1), of), steps, steps);
    }
    ls__call(w, "    from = t < count ? i + count - 1 - 2 * t : i;");
    ls__call(w, "    for (j = 0; j < %lld; j++)", width);
    ls__call(w, "        n%d[i * %lld + j] = n%d[from * %lld + j];\n    }",
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
    ls__call(w, "%s(m * %lld, %lld, %lld, n%d, n%d);",
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
    ls__call(w, "    embed(%s[i], %lld, %lld, %s, n%d + i * %lld);",
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
    ls__call(w, "    pick(%s[i], %lld, %lld, n%d + i / %lld * %lld, n%d + i "
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
    ls__call(w, "    n%d[i] = %s[i / %lld] == i %% %lld;", node,
             ls__cargument(w, ls__cin(w, node, 0), of), width, width);
    return 0;
}

static int put_position(ls__writer *w, int node)
{
    const ls__cnode *n = &w->node[node];
    char table[LS__NAME];
    int status = ls__weights_plain(w, n->of->param[0]->id, table);

    ls__call(w, "for (i = 0; i < m; i++)");
    ls__call(w, "    add(%lld, n%d + i * %lld, %s, n%d + i * %lld);",
             (long long)n->size, ls__cval(w, node, 0), (long long)n->size,
             table, node, (long long)n->size);
    return status;
}

static int put_parameter(ls__writer *w, int node)
{
    const ls__cnode *n = &w->node[node];
    char table[LS__NAME];
    int status = ls__weights_plain(w, n->of->param[0]->id, table);

    ls__call(w, "for (i = 0; i < m * %lld; i++)", (long long)n->size);
    ls__call(w, "    n%d[i] = %s[i %% %lld];", node, table, (long long)n->size);
    return status;
}

/* A bag's list has room in t, its indices and then its values. */
static int put_bag(ls__writer *w, int node)
{
    const ls__cnode *n = &w->node[node], *x = ls__cin(w, node, 0);
    int64_t places = ls__net_width(x->of), width = ls__net_width(n->of);
    char table[LS__NAME], bias[LS__NAME] = "0", of[LS__ARGUMENT];
    int status = ls__weights_table(w, n->of->param[0]->id, width, table);

    if (status == 0 && n->of->params > 1)
        status = ls__weights_plain(w, n->of->param[1]->id, bias);
    ls__call(w, "for (i = 0; i < m * %lld; i++)",
             (long long)ls__net_vectors(x->of));
    ls__text_put(&w->calls, "        bag(%lld, %s + i * %lld, ",
                 (long long)places, ls__cargument(w, x, of), (long long)places);
    if (n->of->inputs > 1)
        ls__text_put(&w->calls, "n%d + i * %lld", ls__cval(w, node, 1),
                     (long long)places);
    else
        ls__text_put(&w->calls, "0");
    ls__text_put(&w->calls, ", %d, %lld,\n            %lld, %s, %s, n%d + i * "
                 "%lld, t);\n", (int)ls__net_integer(n->of, "mean"),
                 (long long)ls__net_integer_or(n->of, "count", 1),
                 (long long)width, table, bias, node, (long long)width);
    ls__cwant(w, 2 * places);
    return status;
}

/* ------ the rows ------ */

/* The constants p and q, by the names of terms.h. */
#define scale_shift {"scale", "shift"}
#define low_high {"low", "high"}
#define exponent {"power"}
#define slope_of {"slope"}
#define alpha_of {"alpha"}

#define TERM(name, formula) {name, NULL, formula, {NULL}}
#define MOVES(name, function) {name, function, NULL, {NULL}}
#define OF_UNARY(kind, function, name, reads, onnx, value, by_a) \
    TERM(name, #value),
#define OF_BINARY(kind, function, name, reads, onnx, value, by_a, by_b) \
    TERM(name, #value),
#define OF_OTHER(kind, name, inputs, reads, constants, shape, onnx, value, \
                 by_a, by_b) \
    {name, NULL, #value, constants},

static const ls__crow rows[] = {
    LS__TERM_ROWS(OF_UNARY, OF_BINARY, OF_OTHER)
    TERM("relu", "relu_of(a)"),
    TERM("tanh", "v16_tanh(a)"),
    TERM("sigmoid", "sigmoid_of(a)"),
    TERM("gelu", "gelu(a)"),
    TERM("add", "v16_add(a, b)"),
    TERM("round_bf16", "bf16_of(a)"),
    MOVES("reshape", put_copy),
    MOVES("flatten", put_copy),
    MOVES("dropout", put_copy),
    MOVES("transpose", put_transpose),
    MOVES("slice", put_slice),
    MOVES("broadcast", put_broadcast),
    MOVES("concat", put_concat),
    MOVES("reverse", put_reverse),
    MOVES("reverse_lengths", put_reverse),
    MOVES("sum", put_reduction),
    MOVES("max_over", put_reduction),
    MOVES("embed", put_embed),
    MOVES("position", put_position),
    MOVES("parameter", put_parameter),
    MOVES("gather", put_gather),
    MOVES("one_hot", put_one_hot),
    MOVES("embed_bag", put_bag),
    MOVES("sparse_dense", put_bag),
    MOVES("sparse_dense_values", put_bag),
    {NULL, NULL, NULL, {NULL}}};

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
    return row->put(w, node);
}
