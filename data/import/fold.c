/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers that are known while a graph is read: constants, shapes, and what is
 * computed from them.  All are doubles; floats are rounded after each operator.
 *
 * The number of rows is LS__ROWS here, and its multiples stay what they are:
 * sums and remainders of them, or a quotient that is none, are refused. */
#include "base/error.h"
#include "import/fold.h"

#include <math.h>
#include <string.h>

int ls__fold_new(ls__reader *r, ls__named *v, int rank, const int64_t *shape,
                 bool is_real)
{
    int64_t n = ls__count(rank, shape);

    if (n < 0 || n > LS__MOST_NUMBERS ||
        (r->numbers += n) > 2 * LS__MOST_NUMBERS)
        return ls__refuse("its value has too many numbers to be known "
                          "beforehand");
    *v = (ls__named){.name = v->name, .kind = LS__NUMBERS, .rank = rank,
                     .is_real = is_real};
    if (rank)
        memcpy(v->shape, shape, (size_t)rank * sizeof *shape);
    v->number = ls__arena_new(&r->file->arena, (size_t)n + 1,
                              sizeof *v->number);
    return v->number ? 0 : LS_ENOMEM;
}

int ls__fold_ordered(ls__reader *r, ls__named *v)
{
    ls__named was = *v;
    int64_t stride[LS_MAX_RANK], n = ls__value_count(v);
    bool ordered = true;
    int status;

    ls__strides(v, v->rank, stride);
    for (int k = 0; k < v->rank; k++)
        ordered &= v->shape[k] == 1 || stride[k] == v->stride[k];
    if (ordered)
        return 0;
    status = ls__fold_new(r, v, was.rank, was.shape, was.is_real);
    for (int64_t i = 0; status == 0 && i < n; i++)
        v->number[i] = was.number[ls__place(i, was.rank, was.shape,
                                            was.stride)];
    return status;
}

bool ls__of_rows(double x)
{
    return x != 0 && fabs(x) < LS__EXACT && fmod(x, (double)LS__ROWS) == 0;
}

int ls__by_rows(void)
{
    return ls__refuse("it computes something of the number of rows that is no "
                      "multiple of it");
}

/* ------ elementwise ------ */

static double add(double a, double b) { return a + b; }
static double subtract(double a, double b) { return a - b; }
static double multiply(double a, double b) { return a * b; }
static double divide(double a, double b) { return a / b; }
static double equal(double a, double b) { return a == b; }
static double greater(double a, double b) { return a > b; }
static double less(double a, double b) { return a < b; }
static double not_less(double a, double b) { return a >= b; }
static double not_greater(double a, double b) { return a <= b; }
static double both(double a, double b) { return a != 0 && b != 0; }
static double either(double a, double b) { return a != 0 || b != 0; }
static double modulo(double a, double b)
{
    return b != 0 ? a - b * floor(a / b) : 0;
}
static double negative(double a) { return -a; }
static double inverse(double a) { return 1 / a; }
static double no(double a) { return a == 0; }

typedef struct formula {
    const char *op;
    double (*two)(double a, double b); /* operands */
    double (*one)(double a);
    bool decides; /* its value is a truth */
    bool on_rows; /* multiples of the rows may go in */
} formula;

static const formula formulas[] = {
    {"Add", add, NULL, 0, 0}, {"Sub", subtract, NULL, 0, 0},
    {"Mul", multiply, NULL, 0, 1}, {"Div", divide, NULL, 0, 1},
    {"Mod", modulo, NULL, 0, 1}, {"Pow", pow, NULL, 0, 0},
    {"Min", fmin, NULL, 0, 0}, {"Max", fmax, NULL, 0, 0},
    {"Equal", equal, NULL, 1, 1}, {"Greater", greater, NULL, 1, 0},
    {"Less", less, NULL, 1, 0}, {"GreaterOrEqual", not_less, NULL, 1, 0},
    {"LessOrEqual", not_greater, NULL, 1, 0}, {"And", both, NULL, 1, 0},
    {"Or", either, NULL, 1, 0}, {"Not", NULL, no, 1, 0},
    {"Neg", NULL, negative, 0, 1}, {"Sqrt", NULL, sqrt, 0, 0},
    {"Floor", NULL, floor, 0, 1}, {"Ceil", NULL, ceil, 0, 1},
    {"Exp", NULL, exp, 0, 0}, {"Log", NULL, log, 0, 0},
    {"Sin", NULL, sin, 0, 0}, {"Cos", NULL, cos, 0, 0},
    {"Abs", NULL, fabs, 0, 0}, {"Reciprocal", NULL, inverse, 0, 0},
    {NULL, NULL, NULL, 0, 0}};

static const formula remainder_of = {"Mod", fmod, NULL, 0, 0};

int64_t ls__place(int64_t i, int rank, const int64_t *shape,
                  const int64_t *stride)
{
    int64_t at = 0;

    for (int k = rank; k-- > 0; i /= shape[k])
        at += i % shape[k] * stride[k];
    return at;
}

/* The value of a formula; by whole numbers a quotient is cut. */
static int one_number(const formula *f, double a, double b, bool is_real,
                      double *y)
{
    bool rows = ls__of_rows(a) || (!f->one && ls__of_rows(b));

    if (!is_real && f->two == divide && b == 0)
        return ls__refuse("it divides by 0");
    *y = f->one ? f->one(a) + 0.0 : f->two(a, b); /* its zeros have no sign */
    if (rows && (!f->on_rows || fabs(*y) >= LS__EXACT ||
                 (f->two == divide && *y != trunc(*y)) ||
                 (f->two == modulo && *y != 0)))
        return ls__by_rows();
    if (is_real && !f->decides)
        *y = (double)(float)*y;
    else if (f->two == divide)
        *y = trunc(*y);
    return 0;
}

static int fold_formula(ls__reader *r, const ls__om_node *n, const formula *f)
{
    const ls__named *a = ls__read_in(r, n, 0);
    const ls__named *b = ls__read_in(r, n, !f->one);
    ls__named *y = ls__read_out(r, n, 0);
    int64_t shape[LS_MAX_RANK], sa[LS_MAX_RANK], sb[LS_MAX_RANK], count;
    int rank, status;

    if (f->two == modulo && ls__om_integer(n, "fmod", 0))
        f = &remainder_of;
    if (n->inputs > 2 || !a || !b || !ls__value_join(a, b, &rank, shape))
        return 0;
    count = ls__count(rank, shape);
    if ((status = ls__fold_new(r, y, rank, shape, a->is_real && !f->decides)) <
        0)
        return status;
    ls__strides(a, rank, sa);
    ls__strides(b, rank, sb);
    for (int64_t i = 0; i < count && status == 0; i++)
        status = one_number(f, a->number[ls__place(i, rank, shape, sa)],
                            b->number[ls__place(i, rank, shape, sb)],
                            a->is_real, &y->number[i]);
    return status < 0 ? status : 1;
}

/* NULL: there is none. */
static const formula *formula_of(const ls__om_node *n)
{
    const formula *f = formulas;

    while (f->op && !ls__om_is(n, f->op))
        f++;
    return f->op ? f : NULL;
}

int ls__fold(ls__reader *r, const ls__om_node *n)
{
    const formula *f = formula_of(n);

    for (const ls__fold_row *row = ls__fold_rows; row->op; row++)
        if (ls__om_is(n, row->op))
            return row->fold(r, n, ls__read_in(r, n, 0), ls__read_out(r, n, 0));
    return f ? fold_formula(r, n, f) : 0;
}

/* ------ repeated in every row ------ */

int ls__read_known(ls__reader *r, ls__named *v, const ls__named *numbers)
{
    ls__named *copy = ls__arena_new(&r->file->arena, 1, sizeof *copy);

    if (!copy)
        return LS_ENOMEM;
    *copy = *numbers;
    v->known = copy;
    v->known_of = v->node;
    return 0;
}

int ls__fold_repeated(ls__reader *r, const ls__om_node *n)
{
    enum { MOST = 3 };
    ls__named *in[MOST], was[MOST], *y = ls__read_out(r, n, 0), wide = {0}, v;
    int64_t shape[LS_MAX_RANK];
    int rank;
    int status;

    if (n->inputs > MOST || (!ls__om_is(n, "Where Cast") && !formula_of(n)))
        return 0;
    for (int k = 0; k < n->inputs; k++) {
        in[k] = ls__read_in(r, n, k);
        if (!in[k] || (in[k]->kind != LS__NUMBERS &&
                       (in[k]->kind != LS__NODE || !in[k]->known ||
                        in[k]->known_of != in[k]->node)))
            return 0;
        if (!ls__value_join(&wide, in[k], &rank, shape))
            return 0;
        wide.rank = rank;
        memcpy(wide.shape, shape, sizeof shape);
    }
    for (int k = 0; k < n->inputs; k++) {
        was[k] = *in[k];
        if (in[k]->kind == LS__NODE) {
            *in[k] = *in[k]->known;
            in[k]->name = was[k].name;
        }
    }
    status = ls__fold(r, n);
    for (int k = n->inputs; k-- > 0;)
        *in[k] = was[k];
    if (status <= 0)
        return status;
    v = *y;
    if ((status = ls__read_as_node(r, y->name, &v)) < 0 ||
        (status = ls__value_expand(&v, wide.rank, wide.shape)) < 0 ||
        (status = ls__read_known(r, &v, y)) < 0)
        return status;
    return ls__read_put(r, n, &v);
}
