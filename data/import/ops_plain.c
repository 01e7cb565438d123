/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators of one element at a time, and sums over axes. */
#include "base/error.h"
#include "import/reader.h"
#include "kernel/terms.h"

#include <lockstep/arithmetic.h>

#include <math.h>
#include <string.h>

/* Give output 0 the node in the place of v's. */
static int put(ls__reader *r, const ls__om_node *n, ls__named *v,
               ls_node *node)
{
    v->node = node;
    return node ? ls__read_put(r, n, v) : ls__made(node);
}

/* ------ one operand ------ */

/* Those of kernel/terms.h whose row says that one operator of ONNX does the
 * same: the writer and this reader go by it. */
#define ls__binary_entropy NULL /* losses of the engine's own */
#define ls__divergence NULL
#define ls__keep NULL
#define ls__keep_else NULL
#define OF_UNARY(kind, function, name, reads, onnx, ...) \
    {onnx, function, NULL},
#define OF_BINARY(kind, function, name, reads, onnx, ...) \
    {onnx, NULL, function},
#define OF_OTHER(...)
static const struct term {
    const char *onnx; /* "Sub(*)" */
    ls_node *(*one)(ls_node *a);
    ls_node *(*two)(ls_node *a, ls_node *b);
} terms[] = {
    LS__TERM_ROWS(OF_UNARY, OF_BINARY, OF_OTHER)
    {"Relu(*)", ls_relu, NULL}, {"Tanh(*)", ls_tanh, NULL},
    {"Sigmoid(*)", ls_sigmoid, NULL}, {"Neg(*)", ls_neg, NULL},
    {"Add(*)", NULL, ls_add}, {NULL, NULL, NULL}};

static const struct term *term_of(const char *op)
{
    size_t n = strlen(op);

    for (const struct term *t = terms; t->onnx; t++)
        if (!strncmp(t->onnx, op, n) && !strcmp(t->onnx + n, "(*)"))
            return t;
    return NULL;
}

static int one(ls__reader *r, const ls__om_node *n)
{
    ls__named v;
    int status = ls__read_node_in(r, n, 0, &v);

    return status < 0 ? status : put(r, n, &v, term_of(n->op)->one(v.node));
}

/* Those with numbers. */
static int with_numbers(ls__reader *r, const ls__om_node *n)
{
    double alpha = ls__om_real(n, "alpha", (double)NAN);
    double beta = ls__om_real(n, "beta", 0.5), low, high;
    bool of[8] = {false};
    static const char *const ops[] = {"LeakyRelu", "Elu", "HardSigmoid", "Gelu",
                                      "Clip", "Reciprocal", "Softsign",
                                      "Selu"};
    ls__named v;
    int status = ls__read_node_in(r, n, 0, &v);
    ls_node *y = NULL, *x = v.node;

    if (status < 0)
        return status;
    for (int i = 0; i < 8; i++)
        of[i] = !strcmp(ops[i], n->op);
    if (of[0]) {
        y = ls_leaky_relu(x, isnan(alpha) ? (double)0.01f : alpha);
    } else if (of[1]) {
        y = ls_elu(x, isnan(alpha) ? 1 : alpha);
    } else if (of[2]) {
        y = ls_clamp(ls_scale_shift(x, isnan(alpha) ? (double)0.2f : alpha,
                                    beta), 0, 1);
    } else if (of[3]) {
        y = ls__om_says(n, "approximate", "tanh") ? ls_gelu(x)
                                                  : ls_gelu_exact(x);
    } else if (of[4]) {
        if ((status = ls__read_number(r, n, 1, -(double)INFINITY, &low)) < 0 ||
            (status = ls__read_number(r, n, 2, (double)INFINITY, &high)) < 0)
            return status;
        y = ls_clamp(x, low, high);
    } else if (of[5]) {
        y = ls_pow(x, -1);
    } else if (of[6]) {
        y = ls_div(x, ls_scale_shift(ls_abs(x), 1, 1));
    } else {
        if (!isnan(alpha) || !isnan(ls__om_real(n, "gamma", (double)NAN)))
            return ls__fail(LS_ENOTSUP, "its alpha and gamma are others than "
                            "those of the paper");
        y = ls_selu(x);
    }
    return put(r, n, &v, y);
}

/* ------ two operands ------ */

int ls__read_alike(ls__reader *r, const ls__om_node *n, ls__named *a,
                   ls__named *b)
{
    int64_t shape[LS_MAX_RANK];
    char one_text[LS__VALUE_TEXT], two_text[LS__VALUE_TEXT];
    int rank, status;
    ls__named *wide = a, *other = b;
    ls_node *made;

    if (!ls__value_join(a, b, &rank, shape))
        return ls__fail(LS_ESHAPE, "%s and %s do not go together",
                        ls__value_text(one_text, a->rank, a->shape),
                        ls__value_text(two_text, b->rank, b->shape));
    if ((status = ls__read_as_node(r, n->input[0], a)) < 0 ||
        (status = ls__read_as_node(r, n->input[1], b)) < 0)
        return status;
    if (ls__value_count(b) > ls__value_count(a)) {
        wide = b;
        other = a;
    }
    if ((status = ls__value_expand(wide, rank, shape)) < 0 ||
        (status = ls__value_like(other, wide)) < 0)
        return status;
    made = other->node;
    *other = *wide;
    other->node = made;
    return 0;
}

/* x with a number: exact where an operator has it. */
static ls_node *by_number(const char *op, ls_node *x, double c, bool first)
{
    bool sum = !strcmp(op, "Add") || (!strcmp(op, "Sub") && !first);
    bool factor = !strcmp(op, "Mul") || (!strcmp(op, "Div") && !first);

    if ((sum && c == 0) || (factor && c == 1))
        return x;
    if (!strcmp(op, "Add"))
        return ls_scale_shift(x, 1, c);
    if (!strcmp(op, "Sub"))
        return first ? ls_scale_shift(x, -1, c) : ls_scale_shift(x, 1, -c);
    if (!strcmp(op, "Mul"))
        return ls_scale_shift(x, c, 0);
    if (!strcmp(op, "Div"))
        return first ? ls_scale_shift(ls_pow(x, -1), c, 0)
                     : ls_scale_shift(x, 1 / c, 0);
    if (!strcmp(op, "Max"))
        return ls_clamp(x, c, (double)INFINITY);
    return ls_clamp(x, -(double)INFINITY, c);
}

/* A constant, or an initializer of one number, which is none to train: so
 * exporters write factors. */
bool ls__only_number(const ls__named *v, double *x)
{
    if ((v->kind != LS__NUMBERS && v->kind != LS__WEIGHT) ||
        ls__value_count(v) != 1)
        return false;
    *x = v->kind == LS__NUMBERS ? *v->number
                                : ls__om_element(v->weight->tensor, 0);
    return true;
}

static int two(ls__reader *r, const ls__om_node *n)
{
    ls__named v[2];
    int status = 0;

    if (n->inputs == 1) /* Max, Min */
        return ls__read_put(r, n, ls__read_in(r, n, 0));
    if (n->inputs != 2 || !ls__read_in(r, n, 0) || !ls__read_in(r, n, 1))
        return ls__fail(LS_ENOTSUP, "it is read with two inputs");
    v[0] = *ls__read_in(r, n, 0);
    v[1] = *ls__read_in(r, n, 1);
    for (int k = 0; k < 2; k++) {
        ls__named *x = &v[!k];
        double c;

        if (!ls__only_number(&v[k], &c) || v[k].rank > x->rank)
            continue;
        if ((status = ls__read_as_node(r, n->input[!k], x)) < 0)
            return status;
        return put(r, n, x, by_number(n->op, x->node, c, k == 0));
    }
    if ((status = ls__read_alike(r, n, &v[0], &v[1])) < 0)
        return status;
    return put(r, n, &v[0], term_of(n->op)->two(v[0].node, v[1].node));
}

int ls__read_add(ls__reader *r, const ls__om_node *n, ls__named *a,
                 ls__named *b)
{
    int status = ls__read_alike(r, n, a, b);

    if (status < 0)
        return status;
    return put(r, n, a, ls_add(a->node, b->node));
}

static int power(ls__reader *r, const ls__om_node *n)
{
    double by;
    ls__named v;
    int status = ls__read_node_in(r, n, 0, &v);

    if (status < 0 || (status = ls__read_number(r, n, 1, 1, &by)) < 0)
        return status;
    return put(r, n, &v, by == 2 ? ls_square(v.node)
                         : by == 0.5 ? ls_sqrt(v.node) : ls_pow(v.node, by));
}

/* max(x, 0) + slope min(x, 0) */
static int prelu(ls__reader *r, const ls__om_node *n)
{
    ls__named v, slope;
    int status = ls__read_node_in(r, n, 0, &v);
    ls_node *below;

    if (status < 0 || (status = ls__read_node_in(r, n, 1, &slope)) < 0 ||
        (status = ls__read_alike(r, n, &v, &slope)) < 0)
        return status;
    below = ls_mul(slope.node, ls_relu(ls_neg(v.node)));
    return put(r, n, &v, ls_sub(ls_relu(v.node), below));
}

/* ------ over axes ------ */

/* The axes of a reduction, by opset an attribute or an input. */
static int axes_of(ls__reader *r, const ls__om_node *n, int rank,
                   bool over[LS_MAX_RANK])
{
    int64_t list[LS_MAX_RANK];
    int got = ls__om_integers(n, "axes", LS_MAX_RANK, list);

    if (got < 0)
        got = ls__read_in(r, n, 1)
                  ? ls__read_sizes(r, n, 1, LS_MAX_RANK, list) : 0;
    if (got < 0 || got > LS_MAX_RANK)
        return got < 0 ? got : ls__fail(LS_ESHAPE, "too many axes");
    for (int k = 0; k < rank; k++)
        over[k] = !got && !ls__om_integer(n, "noop_with_empty_axes", 0);
    for (int k = 0; k < got; k++) {
        int axis = ls__read_axis(list[k], rank);

        if (axis < 0)
            return axis;
        over[axis] = true;
    }
    return 0;
}

static ls_node *reduced(const char *op, ls_node *x, int count, const int *axes)
{
    bool root = !strcmp(op, "ReduceL2");

    if (!strcmp(op, "ReduceL1") || (root && !count))
        x = ls_abs(x);
    else if (root || !strcmp(op, "ReduceSumSquare"))
        x = ls_square(x);
    if (!count)
        return x;
    if (!strcmp(op, "ReduceMean"))
        return ls_mean_over(x, count, axes);
    if (!strcmp(op, "ReduceMax"))
        return ls_max_over(x, count, axes);
    if (!strcmp(op, "ReduceMin"))
        return ls_neg(ls_max_over(ls_neg(x), count, axes));
    x = ls_sum_over(x, count, axes);
    return root ? ls_sqrt(x) : x;
}

/* Make output 0 what a reduction of that name makes of input 0, over some axes,
 * which are kept as ones of one element or not. */
static int over_axes(ls__reader *r, const ls__om_node *n, const char *op,
                    const bool *over, bool keep)
{
    ls__named v;
    int axes[LS__ATOMS], count = 0, kept = 0, gone[LS__ATOMS] = {0};
    int status = ls__read_node_in(r, n, 0, &v);

    if (status < 0)
        return status;
    for (int i = 0; i < v.atoms; i++)
        if (over[v.atom[i].axis]) {
            if (v.atom[i].place == LS__ROW)
                return ls__fail(LS_ENOTSUP, "it goes over the rows, which do "
                                "not see each other here");
            gone[v.atom[i].place] = 1;
            axes[count++] = v.atom[i].place;
        }
    for (int i = 0; i < v.atoms; i++)
        if (!over[v.atom[i].axis]) {
            int before = 0;

            for (int k = 0; k < v.atom[i].place; k++)
                before += gone[k];
            v.atom[kept] = v.atom[i];
            v.atom[kept++].place -= before;
        }
    v.atoms = kept;
    for (int k = 0; k < v.rank; k++)
        if (over[k])
            v.shape[k] = 1;
    v.node = reduced(op, v.node, count, axes);
    if (!keep)
        ls__value_squeeze(&v, over);
    return put(r, n, &v, v.node);
}

static int reduce(ls__reader *r, const ls__om_node *n)
{
    bool over[LS_MAX_RANK] = {false};
    int status = axes_of(r, n, ls__read_in(r, n, 0)->rank, over);

    return status < 0 ? status
                      : over_axes(r, n, n->op, over,
                                        ls__om_integer(n, "keepdims", 1));
}

static int global_pool(ls__reader *r, const ls__om_node *n)
{
    bool over[LS_MAX_RANK] = {false};

    for (int k = 2; k < LS_MAX_RANK; k++)
        over[k] = true;
    return over_axes(r, n, strstr(n->op, "Max") ? "ReduceMax"
                                                      : "ReduceMean", over,
                           true);
}

/* Along the last axis of a node. */
static int softmax(ls__reader *r, const ls__om_node *n)
{
    ls__named v;
    int order[LS_MAX_RANK], axes, axis, status;
    int64_t shape[LS_MAX_RANK];
    ls_node *x;

    if ((status = ls__read_node_in(r, n, 0, &v)) < 0)
        return status;
    if ((axis = ls__read_axis(ls__om_integer(n, "axis", -1), v.rank)) < 0)
        return axis;
    if (axis == ls__value_rows(&v))
        return ls__fail(LS_ENOTSUP, "it goes over the rows, which do not see "
                        "each other here");
    if (axis == v.rank - 1) {
        if ((status = ls__value_last(&v, &x)) < 0)
            return status;
        x = strcmp(n->op, "Softmax") ? ls_log_softmax(x) : ls_softmax(x);
        status = ls__value_set_last(&v, x, v.shape[axis]);
        return status < 0 ? status : ls__read_put(r, n, &v);
    }
    axes = ls__value_order(&v, axis, order);
    if ((status = ls__value_in_order(&v, axes, order, &x)) < 0)
        return status;
    x = strcmp(n->op, "Softmax") ? ls_log_softmax(x) : ls_softmax(x);
    memcpy(shape, v.shape, sizeof shape);
    status = ls__value_set(&v, x, v.rank, shape, axes, order);
    return status < 0 ? status : ls__read_put(r, n, &v);
}

const ls__read_row ls__read_plain[] = {
    {"Relu", one}, {"Tanh", one}, {"Sigmoid", one}, {"Neg", one},
    {"Sqrt", one}, {"Exp", one}, {"Log", one}, {"Sin", one}, {"Cos", one},
    {"Abs", one}, {"Softplus", one}, {"Mish", one}, {"HardSwish", one},
    {"Add", two}, {"Sub", two}, {"Mul", two}, {"Div", two}, {"Min", two},
    {"Max", two}, {"LeakyRelu", with_numbers}, {"Elu", with_numbers},
    {"HardSigmoid", with_numbers}, {"Gelu", with_numbers},
    {"Clip", with_numbers}, {"Reciprocal", with_numbers},
    {"Softsign", with_numbers}, {"Selu", with_numbers}, {"Pow", power},
    {"PRelu", prelu}, {"ReduceMean", reduce},
    {"ReduceSum", reduce}, {"ReduceMax", reduce}, {"ReduceMin", reduce},
    {"ReduceSumSquare", reduce}, {"ReduceL1", reduce}, {"ReduceL2", reduce},
    {"GlobalAveragePool", global_pool}, {"GlobalMaxPool", global_pool},
    {"Softmax", softmax}, {"LogSoftmax", softmax}, {NULL, NULL}};
