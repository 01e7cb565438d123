/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators with short calls: elementwise ones, and those that move numbers. */
#include "base/assert.h"
#include "base/error.h"
#include "export/writer.h"
#include "kernel/terms.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ------ calls ------ */

/* "x1@" or "x", if the word is one of that letter: which input. */
static bool is_input(const char *word, char letter, int *k)
{
    bool number = word[0] == letter && word[1] >= '0' && word[1] <= '9';

    *k = number ? word[1] - '0' : 0;
    return word[0] == letter && (number || !word[1] || word[1] == '@');
}

static void put_value(const ls__cnode *n, const char *word, ls__text *t)
{
    ls__text_put(t, "n%d", n->as);
    if (word[strlen(word) - 1] == '@')
        ls__text_put(t, " + i * %lld", (long long)n->size);
}

static int64_t number_of(const ls__cnode *n, const char *word)
{
    return !strcmp(word, "size")      ? n->size
           : !strcmp(word, "width")   ? ls__net_width(n->of)
           : !strcmp(word, "vectors") ? ls__net_vectors(n->of)
           : !strncmp(word, "shape", 5) ? n->of->shape[word[5] - '0']
                                        : ls__net_integer(n->of, word);
}

static void put_word(const ls__writer *w, int node, const char *word,
                     ls__text *t)
{
    const ls__cnode *n = &w->node[node];
    char name[LS__ARGUMENT];
    int k;

    if (is_input(word, 'y', &k))
        put_value(n, word, t);
    else if (is_input(word, 'x', &k))
        put_value(ls__cin(w, node, k), word, t);
    else if (is_input(word, 'a', &k))
        ls__text_put(t, "%s", ls__cargument(w, ls__cin(w, node, k), name));
    else if (!strcmp(word, "epsilon"))
        ls__text_float(t, ls__net_epsilon(n->of));
    else if (*word == 'x')
        ls__text_put(t, "%lld",
                     (long long)number_of(ls__cin(w, node, 0), word + 1));
    else
        ls__text_put(t, "%lld", (long long)number_of(n, word));
}

void ls__call(ls__writer *w, int node, const char *format, ...)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz_0123456789@";
    char line[1024], word[24];
    ls__text of = {.failed = 0};
    va_list args;
    int size = 0;

    for (const char *at = format; *at;) {
        size_t plain = strcspn(at + 1, "{") + 1;
        size_t n = *at == '{' ? strspn(at + 1, letters) : 0;

        if (n && n < sizeof word && at[n + 1] == '}') {
            memcpy(word, at + 1, n);
            word[n] = 0;
            put_word(w, node, word, &of);
            plain = n + 2;
        } else {
            ls__text_add(&of, at, plain);
        }
        at += plain;
    }
    va_start(args, format);
    if (!of.failed)
        size = vsnprintf(line, sizeof line, of.bytes, args);
    va_end(args);
    LS__ASSERT(size < (int)sizeof line);
    if (of.failed)
        w->calls.failed = of.failed;
    else
        ls__text_put(&w->calls, "    %s\n", line);
    ls__text_close(&of);
}

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
    const ls__net_node *n = w->node[node].of;

    ls__call(w, node, "for (i = 0; i < m * {size}; i += 16) {");
    ls__call(w, node, "    int64_t left = m * {size} - i;");
    for (int k = 0; k < 2; k++)
        if (names(row->value, "pq"[k])) {
            ls__text_put(&w->calls, "        const float %c = ", "pq"[k]);
            ls__text_float(&w->calls, (float)ls__net_number(n, row->by[k]));
            ls__text_put(&w->calls, ";\n");
        }
    for (int k = 0; k < 2; k++)
        if (names(row->value, "ab"[k]))
            ls__call(w, node, "    v16 %c = take(n%d + i, left);", "ab"[k],
                     ls__cval(w, node, k < n->inputs ? k : 0));
    ls__call(w, node, "\n        put({y} + i, %s, left);\n    }", row->value);
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

/* Walk over x, from `first` on, to the node's value, or where it is `part` of
 * that, back into it. */
static int put_view(ls__writer *w, int node, const int64_t *stride,
                    int64_t first, const ls__cnode *part)
{
    const ls__cnode *n = &w->node[node], *x = part ? part : ls__cin(w, node, 0);
    const ls__net_node *of = part ? x->of : n->of;
    ls__text *t = &w->calls;

    ls__text_put(t, "    {\n");
    put_list(t, "size", of->rank, of->shape);
    put_list(t, "stride", of->rank, stride);
    ls__text_put(t, "\n        for (i = 0; i < m; i++)\n"
                    "            view(%d, size, stride, %d, "
                    "n%d + i * %lld + %lld, n%d + i * %lld + %lld);\n    }\n",
                 of->rank, part != NULL, x->as, (long long)x->size,
                 part ? 0LL : (long long)first, node, (long long)n->size,
                 part ? (long long)first : 0LL);
    return 0;
}

static int put_transpose(ls__writer *w, int node)
{
    const ls__net_node *n = w->node[node].of;
    int64_t from[LS_MAX_RANK] = {0}, stride[LS_MAX_RANK] = {0};

    strides_of(ls__cin(w, node, 0), from);
    for (int k = 0; k < n->rank; k++)
        stride[k] = from[ls__net_size(n, "axes", k)];
    return put_view(w, node, stride, 0, NULL);
}

static int put_slice(ls__writer *w, int node)
{
    const ls__net_node *n = w->node[node].of;
    int64_t axis = ls__net_integer(n, "axis"), stride[LS_MAX_RANK] = {0};

    strides_of(ls__cin(w, node, 0), stride);
    axis += axis < 0 ? n->rank : 0;
    return put_view(w, node, stride, ls__net_integer(n, "first") * stride[axis],
                    NULL);
}

static int put_broadcast(ls__writer *w, int node)
{
    const ls__cnode *n = &w->node[node], *x = ls__cin(w, node, 0);
    int64_t from[LS_MAX_RANK] = {0}, stride[LS_MAX_RANK] = {0};
    int more = n->of->rank - x->of->rank;

    strides_of(x, from);
    for (int k = more; k < n->of->rank; k++)
        stride[k] = x->of->shape[k - more] == 1 ? 0 : from[k - more];
    return put_view(w, node, stride, 0, NULL);
}

static int put_reverse(ls__writer *w, int node)
{
    const ls__cnode *n = &w->node[node];
    long long width = n->size / n->of->shape[0];

    ls__call(w, node, "for (i = 0; i < m * {shape0}; i++) {");
    ls__call(w, node, "    long j, t = i %% {shape0}, count = {shape0};");
    ls__call(w, node, "    long from;\n");
    if (n->of->inputs > 1)
        ls__call(w, node, "    count = length_of({a1}[i / {shape0}], "
                 "{shape0});");
    ls__call(w, node, "    from = t < count ? i + count - 1 - 2 * t : i;");
    ls__call(w, node, "    for (j = 0; j < %lld; j++)", width);
    ls__call(w, node, "        {y}[i * %lld + j] = {x}[from * %lld + j];\n"
             "    }", width, width);
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
        const ls__net_node *x = n->of->in[k];

        put_view(w, node, stride, first, ls__cin(w, node, k));
        first += x->shape[axis] * stride[axis];
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
    ls__call(w, node, "%s(m * %lld, %lld, %lld, {x}, {y});",
             ls__net_is(n->of, "sum") ? "sum_over" : "max_over",
             (long long)outer, (long long)of, (long long)inner);
    return 0;
}

/* ------ indices ------ */

/* Indices are the input itself. */
static int put_embed(ls__writer *w, int node)
{
    const ls__net_node *n = w->node[node].of;
    char name[LS__NAME];
    int status = ls__weights_table(w, n->param[0]->id, ls__net_width(n), name);

    ls__call(w, node, "for (i = 0; i < m * {xsize}; i++)");
    ls__call(w, node, "    embed({a}[i], %lld, {width}, %s, {y} + i * "
             "{width});", (long long)ls__net_integer_or(n, "count", 1), name);
    return status;
}

/* A row's vectors are its table. */
static int put_gather(ls__writer *w, int node)
{
    const ls__cnode *x = ls__cin(w, node, 0);
    long long width = x->size / x->of->shape[0];
    long long count = ls__cin(w, node, 1)->size;

    ls__call(w, node, "for (i = 0; i < m * %lld; i++)", count);
    ls__call(w, node, "    pick({a1}[i], {xshape0}, %lld, {x} + i / %lld * "
             "{xsize}, {y} + i * %lld);", width, count, width);
    return 0;
}

static int put_one_hot(ls__writer *w, int node)
{
    ls__call(w, node, "for (i = 0; i < m * {size}; i++)");
    ls__call(w, node, "    {y}[i] = {a}[i / {width}] == i %% {width};");
    return 0;
}

static int put_position(ls__writer *w, int node)
{
    char table[LS__NAME];
    int status = ls__weights_plain(w, w->node[node].of->param[0]->id, table);

    ls__call(w, node, "for (i = 0; i < m; i++)");
    ls__call(w, node, "    add({size}, {x@}, %s, {y@});", table);
    return status;
}

static int put_parameter(ls__writer *w, int node)
{
    char table[LS__NAME];
    int status = ls__weights_plain(w, w->node[node].of->param[0]->id, table);

    ls__call(w, node, "for (i = 0; i < m * {size}; i++)");
    ls__call(w, node, "    {y}[i] = %s[i %% {size}];", table);
    return status;
}

/* A bag's list has room in t, its indices and then its values. */
static int put_bag(ls__writer *w, int node)
{
    const ls__net_node *n = w->node[node].of;
    char table[LS__NAME], bias[LS__NAME] = "0";
    int status = ls__weights_table(w, n->param[0]->id, ls__net_width(n), table);

    if (status == 0 && n->params > 1)
        status = ls__weights_plain(w, n->param[1]->id, bias);
    ls__call(w, node, "for (i = 0; i < m * {xvectors}; i++)");
    ls__call(w, node, n->inputs > 1
                 ? "    bag({xwidth}, {a} + i * {xwidth}, {x1} + i * {xwidth}, "
                   "{mean}, %lld,\n            {width}, %s, %s, {y} + i * "
                   "{width}, t);"
                 : "    bag({xwidth}, {a} + i * {xwidth}, 0, {mean}, %lld,\n"
                   "            {width}, %s, %s, {y} + i * {width}, t);",
             (long long)ls__net_integer_or(n, "count", 1), table, bias);
    ls__cwant(w, 2 * ls__net_width(n->in[0]));
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
    MOVES("reshape flatten dropout", put_copy),
    MOVES("transpose", put_transpose),
    MOVES("slice", put_slice),
    MOVES("broadcast", put_broadcast),
    MOVES("concat", put_concat),
    MOVES("reverse reverse_lengths", put_reverse),
    MOVES("sum max_over", put_reduction),
    MOVES("embed", put_embed),
    MOVES("position", put_position),
    MOVES("parameter", put_parameter),
    MOVES("gather", put_gather),
    MOVES("one_hot", put_one_hot),
    MOVES("embed_bag sparse_dense sparse_dense_values", put_bag),
    {NULL, NULL, NULL, {NULL}}};

bool ls__crow_is_view(const char *op)
{
    const ls__crow *row = ls__crow_of(op);

    return row && row->put == put_copy;
}

const ls__crow *ls__crow_of(const char *op)
{
    static const ls__crow *const tables[] = {rows, ls__crow_layers};

    for (int i = 0; i < 2; i++)
        for (const ls__crow *r = tables[i]; r->op; r++)
            if (ls__net_word(op, r->op))
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
