/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators of one element at a time, and sums over axes. */
#include "base/error.h"
#include "import/reader.h"
#include "kernel/terms.h"

#include <lockstep/arithmetic.h>

#include <math.h>
#include <string.h>

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

static int one(ls__reader *r, const ls__om_node *n, ls__named *v)
{
    (void)r;
    return ls__value_with(v, term_of(n->op)->one(v->node));
}

/* Those with numbers. */
static int with_numbers(ls__reader *r, const ls__om_node *n, ls__named *v)
{
    ls_node *x = v->node;

    (void)r;
    if (ls__om_is(n, "LeakyRelu"))
        x = ls_leaky_relu(x, ls__om_real(n, "alpha", (double)0.01f));
    else if (ls__om_is(n, "Elu"))
        x = ls_elu(x, ls__om_real(n, "alpha", 1));
    else if (ls__om_is(n, "HardSigmoid"))
        x = ls_clamp(ls_scale_shift(x, ls__om_real(n, "alpha", (double)0.2f),
                                    ls__om_real(n, "beta", 0.5)), 0, 1);
    else if (ls__om_is(n, "Gelu"))
        x = ls__om_says(n, "approximate", "tanh") ? ls_gelu(x)
                                                  : ls_gelu_exact(x);
    else if (ls__om_is(n, "Reciprocal"))
        x = ls_pow(x, -1);
    else /* Softsign */
        x = ls_div(x, ls_scale_shift(ls_abs(x), 1, 1));
    return ls__value_with(v, x);
}

static int clip(ls__reader *r, const ls__om_node *n, ls__named *v)
{
    double low, high;
    int status = ls__read_number(r, n, 1, -(double)INFINITY, &low);

    if (status == 0)
        status = ls__read_number(r, n, 2, (double)INFINITY, &high);
    return status < 0 ? status
                      : ls__value_with(v, ls_clamp(v->node, low, high));
}

static int selu(ls__reader *r, const ls__om_node *n, ls__named *v)
{
    ls__wire at;

    (void)r;
    if (ls__om_attribute(n, "alpha", &at) || ls__om_attribute(n, "gamma", &at))
        return ls__refuse("its alpha and gamma are others than those of the "
                          "paper");
    return ls__value_with(v, ls_selu(v->node));
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
        return ls__refuse("%s and %s do not go together",
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
static ls_node *by_number(const ls__om_node *n, ls_node *x, double c,
                          bool first)
{
    bool add = ls__om_is(n, "Add"), minus = ls__om_is(n, "Sub");
    bool times = ls__om_is(n, "Mul"), by = ls__om_is(n, "Div");

    if (((add || (minus && !first)) && c == 0) ||
        ((times || (by && !first)) && c == 1))
        return x;
    if (add || minus)
        return ls_scale_shift(x, minus && first ? -1 : 1,
                              minus && !first ? -c : c);
    if (times || by)
        return ls_scale_shift(by && first ? ls_pow(x, -1) : x,
                              by && !first ? 1 / c : c, 0);
    return ls__om_is(n, "Max") ? ls_clamp(x, c, (double)INFINITY)
                               : ls_clamp(x, -(double)INFINITY, c);
}

bool ls__only_number(const ls__named *v, double *x)
{
    if ((v->kind != LS__NUMBERS && v->kind != LS__WEIGHT) ||
        ls__value_count(v) != 1)
        return false;
    *x = v->kind == LS__NUMBERS ? *v->number
                                : ls__om_element(v->weight->tensor, 0);
    return true;
}

static int two(ls__reader *r, const ls__om_node *n, ls__named *v)
{
    ls__named b;
    double c;
    int status;

    if (n->inputs == 1) /* Max, Min */
        return 0;
    if (n->inputs != 2 || !ls__read_in(r, n, 1))
        return ls__refuse("it is read with two inputs");
    b = *ls__read_in(r, n, 1);
    for (int k = 0; k < 2; k++) {
        const ls__named *number = k ? &b : v;
        ls__named *x = k ? v : &b;

        if (!ls__only_number(number, &c) || number->rank > x->rank)
            continue;
        if ((status = ls__read_as_node(r, n->input[!k], x)) < 0)
            return status;
        *v = *x;
        return ls__value_with(v, by_number(n, v->node, c, k == 0));
    }
    status = ls__read_alike(r, n, v, &b);
    return status < 0 ? status
                      : ls__value_with(v, term_of(n->op)->two(v->node, b.node));
}

const ls__read_row *ls__read_term(const char *op)
{
    static const ls__read_row of_one = {"", one, LS__AS_NODE};
    static const ls__read_row of_two = {"", two, LS__AS_IT_IS};
    const struct term *t = term_of(op);

    return !t ? NULL : t->one ? &of_one : &of_two;
}

int ls__read_add(ls__reader *r, const ls__om_node *n, ls__named *a,
                 ls__named *b)
{
    int status = ls__read_alike(r, n, a, b);

    return status < 0 ? status : ls__value_with(a, ls_add(a->node, b->node));
}

static int power(ls__reader *r, const ls__om_node *n, ls__named *v)
{
    double by;
    int status = ls__read_number(r, n, 1, 1, &by);

    return status < 0 ? status
           : ls__value_with(v, by == 2 ? ls_square(v->node)
                               : by == 0.5 ? ls_sqrt(v->node)
                                           : ls_pow(v->node, by));
}

/* max(x, 0) + slope min(x, 0) */
static int prelu(ls__reader *r, const ls__om_node *n, ls__named *v)
{
    ls__named slope;
    int status = ls__read_node_in(r, n, 1, &slope);
    ls_node *below;

    if (status < 0 || (status = ls__read_alike(r, n, v, &slope)) < 0)
        return status;
    below = ls_mul(slope.node, ls_relu(ls_neg(v->node)));
    return ls__value_with(v, ls_sub(ls_relu(v->node), below));
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
        return got < 0 ? got : ls__refuse("too many axes");
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

/* Make a value what a reduction of that name makes of it, over some axes, which
 * are kept as ones of one element or not. */
static int over_axes(ls__named *v, const char *op, const bool *over, bool keep)
{
    int axes[LS__ATOMS], count = 0, kept = 0, gone[LS__ATOMS] = {0};

    for (int i = 0; i < v->atoms; i++)
        if (over[v->atom[i].axis]) {
            if (v->atom[i].place == LS__ROW)
                return ls__over_rows();
            gone[v->atom[i].place] = 1;
            axes[count++] = v->atom[i].place;
        }
    for (int i = 0; i < v->atoms; i++)
        if (!over[v->atom[i].axis]) {
            int before = 0;

            for (int k = 0; k < v->atom[i].place; k++)
                before += gone[k];
            v->atom[kept] = v->atom[i];
            v->atom[kept++].place -= before;
        }
    v->atoms = kept;
    for (int k = 0; k < v->rank; k++)
        if (over[k])
            v->shape[k] = 1;
    if (!keep)
        ls__value_squeeze(v, over);
    return ls__value_with(v, reduced(op, v->node, count, axes));
}

static int reduce(ls__reader *r, const ls__om_node *n, ls__named *v)
{
    bool over[LS_MAX_RANK] = {false};
    int status = axes_of(r, n, v->rank, over);

    return status < 0 ? status
                      : over_axes(v, n->op, over,
                                  ls__om_integer(n, "keepdims", 1));
}

static int global_pool(ls__reader *r, const ls__om_node *n, ls__named *v)
{
    static const bool over[] = {0, 0, 1, 1, 1, 1, 1, 1};

    (void)r;
    return over_axes(v, ls__om_is(n, "GlobalMaxPool") ? "ReduceMax"
                                                      : "ReduceMean",
                     over, true);
}

/* Along the last axis of a node. */
static int softmax(ls__reader *r, const ls__om_node *n, ls__named *v)
{
    int axis = ls__read_axis_of(n, -1, v->rank);
    bool last = axis == v->rank - 1;
    ls__lie lie;
    ls_node *x;

    (void)r;
    if (axis < 0)
        return axis;
    if (axis == ls__value_rows(v))
        return ls__over_rows();
    x = last ? ls__value_last(v) : ls__value_lying(v, axis, &lie);
    x = ls__om_is(n, "Softmax") ? ls_softmax(x) : ls_log_softmax(x);
    return last ? ls__value_set_last(v, x, v->shape[axis])
                : ls__value_set_lying(v, x, &lie);
}

const ls__read_row ls__read_plain[] = {
    {"LeakyRelu Elu HardSigmoid Gelu Reciprocal Softsign", with_numbers,
     LS__AS_NODE},
    {"Clip", clip, LS__AS_NODE}, {"Selu", selu, LS__AS_NODE},
    {"Pow", power, LS__AS_NODE}, {"PRelu", prelu, LS__AS_NODE},
    {"ReduceMean ReduceSum ReduceMax ReduceMin ReduceSumSquare ReduceL1 "
     "ReduceL2", reduce, LS__AS_NODE},
    {"GlobalAveragePool GlobalMaxPool", global_pool, LS__AS_NODE},
    {"Softmax LogSoftmax", softmax, LS__AS_NODE}, {NULL, NULL, 0}};
