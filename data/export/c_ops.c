/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators with short calls: those that a template says, elementwise ones, and
 * those that move numbers. */
#include "base/error.h"
#include "export/writer.h"
#include "kernel/terms.h"

/* ------ elementwise ------ */

/* The formula of terms.h, 16 elements at a time: operands a and b, constants p
 * and q. */
static void put_term(ls__writer *w, const ls__crow *row, int node)
{
    static const char *const take[] = {"    v16 a = take({x} + i, left);",
                                       "    v16 b = take({x1} + i, left);"};
    const ls__net_node *n = w->node[node].of;

    ls__call(w, node, "for (i = 0; i < m * {size}; i += 16) {\n"
             "    int64_t left = m * {size} - i;", NULL, NULL);
    for (int k = 0; k < 2 && row->by[k]; k++) {
        ls__text_put(&w->calls, "        const float %c = ", "pq"[k]);
        ls__text_number(&w->calls,
                        (double)(float)ls__net_number(n, row->by[k]), "f");
        ls__text_put(&w->calls, ";\n");
    }
    for (int k = 0; k < n->inputs; k++)
        ls__call(w, node, take[k], NULL, NULL);
    ls__call(w, node, "\n    put({y} + i, {v0}, left);\n}", &row->value, NULL);
}

/* ------ axes ------ */

/* Strides of a walk over a whole value. */
static void strides_of(const ls__net_node *n, int64_t *stride)
{
    int64_t by = 1;

    for (int k = n->rank - 1; k >= 0; k--) {
        stride[k] = by;
        by *= n->shape[k];
    }
}

static void put_list(ls__text *t, const char *name, int n, const int64_t *of)
{
    ls__text_put(t, "        static const int64_t %s[] = {", name);
    for (int k = 0; k < n; k++)
        ls__text_put(t, "%s%lld", k ? ", " : "", (long long)of[k]);
    ls__text_put(t, "%s};\n", n ? "" : "1");
}

/* The axis that a node tells, which may be counted from the end. */
static int64_t axis_of(const ls__net_node *n)
{
    int64_t axis = ls__net_integer(n, "axis");

    return axis < 0 ? axis + n->rank : axis;
}

/* Axes in another order, or some of one, or repeated: a walk over x. */
static void put_moved(ls__writer *w, int node)
{
    const ls__net_node *n = w->node[node].of, *x = n->in[0];
    int64_t from[LS_MAX_RANK] = {0}, stride[LS_MAX_RANK] = {0};
    int64_t of[] = {n->rank, 0};

    strides_of(x, from);
    for (int k = 0; k < n->rank; k++) {
        int64_t at = ls__net_is(n, "transpose") ? ls__net_size(n, "axes", k)
                                                : k - (n->rank - x->rank);

        stride[k] = at < 0 || x->shape[at] == 1 ? 0 : from[at];
    }
    of[1] = ls__net_integer(n, "first") * from[axis_of(n)];
    ls__text_put(&w->calls, "    {\n");
    put_list(&w->calls, "size", n->rank, n->shape);
    put_list(&w->calls, "stride", n->rank, stride);
    ls__call(w, node, "\n    for (i = 0; i < m; i++)\n"
             "        view({i0}, size, stride, {x@} + {i1}, {y@});\n}", NULL,
             of);
}

static void put_concat(ls__writer *w, int node)
{
    const ls__net_node *n = w->node[node].of;
    int64_t outer = 1;

    for (int k = 0; k < axis_of(n); k++)
        outer *= n->shape[k];
    ls__call(w, node, "for (i = 0; i < m * {i0}; i++) {\n"
             "    float *to = {y} + i * {size/i0};\n\n"
             "    memcpy(to, {x} + i * {xsize/i0}, {xsize/i0} * sizeof *to);\n"
             "    memcpy(to + {xsize/i0}, {x1} + i * {x1size/i0},\n"
             "           {x1size/i0} * sizeof *to);\n}", NULL, &outer);
}

/* (outer,n,inner) of a reduction. */
static void put_reduction(ls__writer *w, int node)
{
    const ls__net_node *n = w->node[node].of, *x = n->in[0];
    int64_t axis = ls__net_integer(n, "axis"), part[3] = {1, 1, 1};
    int64_t end = axis + ls__net_integer_or(n, "axes", 1);

    for (int k = 0; k < x->rank; k++)
        part[(k >= axis) + (k >= end)] *= x->shape[k];
    ls__call(w, node, "{v0}(m * {i0}, {i1}, {i2}, {x}, {y});",
             &(const char *){ls__net_is(n, "sum") ? "sum_over" : "max_over"},
             part);
}

/* ------ the rows ------ */

/* The constants p and q, by the names of terms.h. */
#define scale_shift {"scale", "shift"}
#define low_high {"low", "high"}
#define exponent {"power"}
#define slope_of {"slope"}
#define alpha_of {"alpha"}

#define TERM(name, formula) {.op = name, .value = formula},
#define OF_TERM(kind, function, name, reads, onnx, value, ...) \
    TERM(name, #value)
#define OF_OTHER(kind, name, inputs, reads, constants, shape, onnx, formula, \
                 ...) \
    {.op = name, .value = #formula, .by = constants},

#define EACH_ROW "for (i = 0; i < m; i++)\n    "
#define EACH_NUMBER "for (i = 0; i < m * {size}; i++)\n    "

/* Steps of which `count` are turned round. */
#define REVERSE(count) \
    "for (i = 0; i < m * {shape0}; i++) {\n" \
    "    int64_t j, t = i % {shape0}, count = " count ";\n" \
    "    int64_t from = t < count ? i + count - 1 - 2 * t : i;\n\n" \
    "    for (j = 0; j < {size/shape0}; j++)\n" \
    "        {y}[i * {size/shape0} + j] = {x}[from * {size/shape0} + j];\n}"

/* A list of indices, whose values are 1 or given. */
#define BAG(values) \
    "for (i = 0; i < m * {xvectors}; i++)\n" \
    "    bag({xwidth}, {a} + i * {xwidth}, " values ", {mean}, {count=1},\n" \
    "            {width}, {t0}, {p1}, {y} + i * {width}, t);"

static const ls__crow rows[] = {
    LS__TERM_ROWS(OF_TERM, OF_TERM, OF_OTHER)
    TERM("relu", "relu_of(a)")
    TERM("tanh", "v16_tanh(a)")
    TERM("sigmoid", "sigmoid_of(a)")
    TERM("gelu", "gelu(a)")
    TERM("add", "v16_add(a, b)")
    TERM("round_bf16", "bf16_of(a)")
    {"reshape flatten dropout", .is_view = true},
    {"transpose slice broadcast", .put = put_moved},
    {"concat", .put = put_concat},
    {"sum max_over", .put = put_reduction},
    {"reverse", .text = REVERSE("{shape0}")},
    {"reverse_lengths", .text = REVERSE("length_of({a1}[i / {shape0}], "
                                        "{shape0})")},
    {"embed", .text = "for (i = 0; i < m * {xsize}; i++)\n"
                      "    embed({a}[i], {count=1}, {width}, {t0}, {y} + i * "
                      "{width});"},
    {"position", .text = EACH_ROW "add({size}, {x@}, {p0}, {y@});"},
    {"parameter", .text = EACH_NUMBER "{y}[i] = {p0}[i % {size}];"},
    /* A row's vectors are its table. */
    {"gather", .text = "for (i = 0; i < m * {x1size}; i++)\n"
                       "    pick({a1}[i], {xshape0}, {xsize/xshape0}, {x} + i "
                       "/ {x1size} * {xsize}, {y} + i * {xsize/xshape0});"},
    {"one_hot", .text = EACH_NUMBER "{y}[i] = {a}[i / {width}] == i % "
                        "{width};"},
    {"embed_bag sparse_dense", .text = BAG("0"), .room = "2*xwidth"},
    {"sparse_dense_values", .text = BAG("{x1} + i * {xwidth}"),
     .room = "2*xwidth"},
    {"matmul", .text = "matmul(m * {xvectors/xheight}, {xheight}, {xwidth}, "
                       "{width}, {x}, {x1}, {y}, t);", .room = "xwidth*panels"},
    {"layer_norm", .text = "layer_norm(m * {vectors}, {width}, {epsilon}, "
                           "{two_passes}, {x}, {p0}, {p1}, {y}, t);",
     .room = "2*ROWS*vectors"},
    {"rms_norm", .text = "rms_norm(m * {vectors}, {width}, {epsilon}, {x}, "
                         "{p0}, {y}, t);", .room = "ROWS*vectors"},
    {"group_norm", .text = EACH_ROW
     "group_norm((ls__channels){{vectors}, {width/groups=1}, {width}, "
     "{size/groups=1}}, {epsilon}, {two_passes}, {x@}, {p0}, {p1},\n"
     "               {y@}, t);", .room = "4*size/groups=1+2"},
    {"softmax", .text = EACH_NUMBER "{y}[i] = {x}[i];\n"
                        "softmax(m * {vectors}, {width}, {width}, {y});"},
    {"log_softmax", .text = "log_softmax(m * {vectors}, {width}, {x}, {y});"},
    {.op = NULL}};

const ls__crow *ls__crow_of(const char *op)
{
    static const ls__crow *const tables[] = {rows, ls__crow_layers};

    for (int i = 0; i < 2; i++)
        for (const ls__crow *r = tables[i]; r->op; r++)
            if (ls__net_word(op, r->op))
                return r;
    return NULL;
}

void ls__crow_put(ls__writer *w, int node)
{
    const ls__net_node *n = w->node[node].of;
    const ls__crow *row = ls__crow_of(n->op);

    if (!row) {
        w->status = ls__fail(LS_ENOTSUP, "%s: node %d of the graph: there is "
                             "no C source for \"%s\"", w->path, node, n->op);
        return;
    }
    if (row->room)
        ls__cwant(w, ls__cnumber(w, node, row->room));
    if (row->value)
        put_term(w, row, node);
    else if (row->put)
        row->put(w, node);
    else if (row->text)
        ls__call(w, node, row->text, NULL, NULL);
}
