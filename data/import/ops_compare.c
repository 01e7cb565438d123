/* SPDX-License-Identifier: BSD-3-Clause */
/* Comparisons of data, what is made of them, and choices by them. */
#include "base/error.h"
#include "import/reader.h"

#include <lockstep/arithmetic.h>

#include <string.h>

/* Make v such a node's: truths, or what they chose. */
static int put(ls__named *v, ls_node *node, bool is_truth)
{
    v->is_real = true;
    v->is_truth = is_truth;
    return ls__value_with(v, node);
}

/* A copy of input k, which has to be there. */
static int operand(ls__reader *r, const ls__om_node *n, int k, ls__named *v)
{
    const ls__named *from = ls__read_in(r, n, k);

    if (!from)
        return ls__refuse("it lacks input %d", k);
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

int ls__read_compare(ls__reader *r, const ls__om_node *n, ls__named *v)
{
    const struct truth *t = truths;
    ls__named b;
    int status;

    if (ls__om_is(n, "Not IsNaN")) {
        if ((status = ls__read_as_node(r, v->name, v)) < 0)
            return status;
        return put(v, not(*n->op == 'N' ? v->node
                                        : ls_equal(v->node, v->node)), true);
    }
    if ((status = operand(r, n, 1, &b)) < 0 ||
        (status = ls__read_alike(r, n, v, &b)) < 0)
        return status;
    while (strcmp(t->op, n->op))
        t++;
    return put(v, t->of(v->node, b.node), true);
}

int ls__read_truth_of(ls__reader *r, const ls__om_node *n, ls__named *v)
{
    ls__named zero = {.name = n->output[0]};
    int status;

    if (v->is_truth)
        return put(v, v->node, true);
    if ((status = ls__fold_new(r, &zero, 0, NULL, true)) < 0 ||
        (status = ls__read_as_node(r, v->name, v)) < 0 ||
        (status = ls__read_as_node(r, zero.name, &zero)) < 0 ||
        (status = ls__read_alike(r, n, v, &zero)) < 0)
        return status;
    return put(v, not(ls_equal(v->node, zero.node)), true);
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

static int where(ls__reader *r, const ls__om_node *n, ls__named *v)
{
    ls__named c = *v, side[2];
    int status = 0;

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
    *v = side[0];
    return put(v, ls_where(c.node, v->node, side[1].node), v->is_truth);
}

const ls__read_row ls__read_truths[] = {
    {"Less LessOrEqual GreaterOrEqual Equal And Or Xor Not", ls__read_compare,
     LS__AS_IT_IS}, {"Where", where, LS__AS_IT_IS}, {NULL, NULL, 0}};
