/* SPDX-License-Identifier: BSD-3-Clause */
/* Comparisons of data, what is made of them, and choices by them. */
#include "base/error.h"
#include "import/reader.h"

#include <lockstep/arithmetic.h>

#include <string.h>

/* Give output 0 the node in the place of v's: truths, or what they chose. */
static int put(ls__reader *r, const ls__om_node *n, ls__named *v,
               ls_node *node, bool is_truth)
{
    v->node = node;
    v->is_real = true;
    v->is_truth = is_truth;
    return node ? ls__read_put(r, n, v) : ls__made(node);
}

/* A copy of input k, which has to be there. */
static int operand(ls__reader *r, const ls__om_node *n, int k, ls__named *v)
{
    const ls__named *from = ls__read_in(r, n, k);

    if (!from)
        return ls__fail(LS_EFORMAT, "it lacks input %d", k);
    *v = *from;
    return 0;
}

static ls_node *not(ls_node *x)
{
    return ls_scale_shift(x, -1, 1);
}

static ls_node *greater(ls_node *a, ls_node *b) { return ls_less(b, a); }
static ls_node *at_least(ls_node *a, ls_node *b) { return ls_less_equal(b, a); }
static ls_node *one_of(ls_node *a, ls_node *b) { return not(ls_equal(a, b)); }

static const struct truth {
    const char *op;
    ls_node *(*of)(ls_node *a, ls_node *b);
} truths[] = {
    {"Less", ls_less}, {"Greater", greater}, {"LessOrEqual", ls_less_equal},
    {"GreaterOrEqual", at_least}, {"Equal", ls_equal}, {"And", ls_min},
    {"Or", ls_max}, {"Xor", one_of}};

int ls__read_compare(ls__reader *r, const ls__om_node *n)
{
    const struct truth *t = truths;
    ls__named a, b;
    int status = operand(r, n, 0, &a);

    if (status < 0)
        return status;
    if (!strcmp(n->op, "Not") || !strcmp(n->op, "IsNaN")) {
        if ((status = ls__read_as_node(r, a.name, &a)) < 0)
            return status;
        return put(r, n, &a, not(*n->op == 'N' ? a.node
                                               : ls_equal(a.node, a.node)),
                   true);
    }
    if ((status = operand(r, n, 1, &b)) < 0 ||
        (status = ls__read_alike(r, n, &a, &b)) < 0)
        return status;
    while (strcmp(t->op, n->op))
        t++;
    return put(r, n, &a, t->of(a.node, b.node), true);
}

int ls__read_truth_of(ls__reader *r, const ls__om_node *n)
{
    ls__named v = *ls__read_in(r, n, 0), zero = {.name = n->output[0]};
    int status;

    if (v.is_truth)
        return put(r, n, &v, v.node, true);
    if ((status = ls__fold_new(r, &zero, 0, NULL, true)) < 0 ||
        (status = ls__read_as_node(r, v.name, &v)) < 0 ||
        (status = ls__read_as_node(r, zero.name, &zero)) < 0 ||
        (status = ls__read_alike(r, n, &v, &zero)) < 0)
        return status;
    return put(r, n, &v, not(ls_equal(v.node, zero.node)), true);
}

/* A number where a known condition takes it, else 0: a mask whose rows tell
 * whether they are of that number alone. */
static int fill_in(ls__reader *r, const ls__named *c, bool yes,
                   ls__named *number)
{
    double x = *number->number;
    int status = ls__fold_new(r, number, c->rank, c->shape, true);

    for (int64_t i = 0; status == 0 && i < ls__value_count(c); i++)
        number->number[i] = (c->number[i] != 0) == yes ? x : 0;
    return status;
}

static int where(ls__reader *r, const ls__om_node *n)
{
    ls__named c, side[2];
    int status = operand(r, n, 0, &c);

    for (int k = 0; k < 2 && status == 0; k++) {
        status = operand(r, n, k + 1, &side[k]);
        if (status == 0 && c.kind == LS__NUMBERS &&
            side[k].kind == LS__NUMBERS && ls__value_count(&side[k]) == 1 &&
            side[k].rank <= c.rank)
            status = fill_in(r, &c, !k, &side[k]);
        if (status == 0)
            status = ls__read_as_node(r, side[k].name, &side[k]);
    }
    if (status == 0)
        status = ls__read_as_node(r, c.name, &c);
    /* What one makes wider the others are to be, too. */
    for (int i = 0; i < 2 && status == 0; i++)
        if ((status = ls__read_alike(r, n, &side[0], &side[1])) == 0)
            status = ls__read_alike(r, n, &side[0], &c);
    if (status < 0)
        return status;
    return put(r, n, &side[0], ls_where(c.node, side[0].node, side[1].node),
               side[0].is_truth);
}

const ls__read_row ls__read_truths[] = {
    {"Less", ls__read_compare}, {"LessOrEqual", ls__read_compare},
    {"GreaterOrEqual", ls__read_compare}, {"Equal", ls__read_compare},
    {"And", ls__read_compare}, {"Or", ls__read_compare},
    {"Xor", ls__read_compare}, {"Not", ls__read_compare}, {"Where", where},
    {NULL, NULL}};
