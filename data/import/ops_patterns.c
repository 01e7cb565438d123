/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators that are known in the company of others alone, as exporters write
 * them. */
#include "base/error.h"
#include "import/reader.h"

#include <lockstep/arithmetic.h>

#include <math.h>
#include <string.h>

int ls__read_reader(ls__reader *r, const ls__named *y, int from)
{
    const ls__om *om = &r->file->om;

    for (int i = from + 1; i < om->nodes && r->uses[y - r->value] == 1; i++)
        for (int k = 0; k < om->node[i].inputs; k++)
            if (om->node[i].outputs == 1 &&
                ls__read_in(r, &om->node[i], k) == y)
                return i;
    return -1;
}

int ls__read_maker(ls__reader *r, const ls__named *y)
{
    for (int i = r->file->om.nodes; i-- > 0;)
        if (r->file->om.node[i].outputs > 0 &&
            ls__read_out(r, &r->file->om.node[i], 0) == y)
            return i;
    return -1;
}

double ls__read_factor(ls__reader *r, const ls__named *y, const ls__named **x)
{
    int i = ls__read_maker(r, y);
    const ls__om_node *n = i < 0 ? NULL : &r->file->om.node[i];
    bool by = n && ls__om_is(n, "Div"), times = n && ls__om_is(n, "Mul");

    for (int k = 0; k < 2 && (by || times) && n->inputs == 2; k++) {
        const ls__named *c = ls__read_in(r, n, k);
        double number;

        *x = ls__read_in(r, n, !k);
        if (c && *x && ls__only_number(c, &number) && (times || k == 1))
            return by ? 1 / number : number;
    }
    *x = y;
    return 1;
}

/* The Where behind node `from` that alone reads a condition; -1: there is
 * none. */
static int where_of(ls__reader *r, const ls__named *y, int from)
{
    int i = ls__read_reader(r, y, from);
    const ls__om_node *n = i < 0 ? NULL : &r->file->om.node[i];

    return n && ls__om_is(n, "Where") && n->inputs == 3 &&
                   ls__read_in(r, n, 0) == y && ls__read_in(r, n, 1) &&
                   ls__read_in(r, n, 2)
               ? i : -1;
}

int ls__read_no_nan(ls__reader *r, const ls__named *x, const ls__named *is,
                    int from)
{
    int at = where_of(r, is, from);
    const ls__om_node *w = at < 0 ? NULL : &r->file->om.node[at];
    double no;

    return w && ls__read_in(r, w, 2) == x &&
                   ls__only_number(ls__read_in(r, w, 1), &no) && no == 0
               ? at : -1;
}

/* Where(x > 20, x, Softplus(x)), as PyTorch writes its Softplus: from 20 on the
 * two differ by less than a float can tell. */
static int greater(ls__reader *r, const ls__om_node *n, ls__named *v)
{
    const ls__om *om = &r->file->om;
    const ls__named *x = ls__read_in(r, n, 0), *y = ls__read_out(r, n, 0);
    double limit;
    int at = -1;

    if (ls__read_in(r, n, 1) &&
        ls__only_number(ls__read_in(r, n, 1), &limit) && limit >= 20)
        at = where_of(r, y, r->node);
    if (at >= 0) {
        const ls__om_node *w = &om->node[at];
        const ls__named *a = ls__read_in(r, w, 1), *b = ls__read_in(r, w, 2);

        if (x->kind == LS__NODE && a->kind == LS__NODE && b->kind == LS__NODE &&
            a->node == x->node && !strcmp(ls_node_op(b->node), "softplus") &&
            ls_node_input(b->node, 0) == x->node) {
            r->done[at] = true;
            return ls__read_put(r, w, b);
        }
    }
    return ls__read_compare(r, n, v);
}

/* Where(IsNaN(x), 0, x) of a softmax, as PyTorch writes that of a row of which
 * all is masked: here that is the mean, so no mask may have such rows. */
static int is_nan(ls__reader *r, const ls__om_node *n, ls__named *v)
{
    const ls__named *x = ls__read_in(r, n, 0);
    int at = ls__read_no_nan(r, x, ls__read_out(r, n, 0), r->node);

    if (at < 0 || x->kind != LS__NODE || strcmp(ls_node_op(x->node), "softmax"))
        return ls__read_compare(r, n, v);
    if (r->blind)
        return ls__refuse("a mask has rows of -infinity alone, whose softmax "
                          "is 0 there and the mean of all here");
    r->done[at] = true;
    return ls__read_put(r, &r->file->om.node[at], x);
}

/* The node of two inputs that alone reads a value, and its other input; -1:
 * there is none. */
static int reader_of(ls__reader *r, const ls__named *y, int from,
                     const ls__named **other)
{
    int i = ls__read_reader(r, y, from);
    const ls__om_node *n = i < 0 ? NULL : &r->file->om.node[i];

    if (!n || n->inputs != 2)
        return -1;
    *other = ls__read_in(r, n, ls__read_in(r, n, 0) == y);
    return *other ? i : -1;
}

/* Is a value x by that factor? */
static bool is_factor(ls__reader *r, const ls__named *y, double factor,
                      const ls__named **x)
{
    return fabs(ls__read_factor(r, y, x) / factor - 1) < 1e-6;
}

/* x/2 (1 + erf(x / sqrt 2)), its factors in any order: GELU as it was written
 * before opset 20. */
static int erf_of_gelu(ls__reader *r, const ls__om_node *n, ls__named *v)
{
    const ls__named *x, *other, *y = ls__read_out(r, n, 0), *of;
    bool half = false, has_x = false;
    int nodes[4], count = 0, at = r->node;
    double c;

    if (!is_factor(r, ls__read_in(r, n, 0), sqrt(0.5), &x) ||
        x->kind != LS__NODE)
        x = NULL;
    for (; x && !(half && has_x) && count < 4; count++) {
        const char *op = count ? "Mul" : "Add";

        if ((at = reader_of(r, y, at, &other)) < 0 ||
            strcmp(r->file->om.node[at].op, op))
            break;
        nodes[count] = at;
        y = ls__read_out(r, &r->file->om.node[at], 0);
        if (ls__only_number(other, &c)) {
            if (c != (count ? 0.5 : 1) || half)
                break;
            half = count > 0;
        } else if (other == x && !has_x) {
            has_x = true;
        } else if (!half && !has_x && is_factor(r, other, 0.5, &of) &&
                   of == x) {
            half = has_x = true;
        } else {
            break;
        }
    }
    if (!half || !has_x)
        return ls__refuse("Erf is not known by itself, but as in a GELU: "
                          "export with opset 20 or later, which has Gelu");
    for (int k = 0; k < count; k++)
        r->done[nodes[k]] = true;
    *v = *x;
    v->node = ls_gelu_exact(v->node);
    return v->node ? ls__read_put(r, &r->file->om.node[at], v)
                   : ls__made(v->node);
}

const ls__read_row ls__read_patterns[] = {
    {"Erf", erf_of_gelu, LS__AS_IT_IS}, {"Greater", greater, LS__AS_IT_IS},
    {"IsNaN", is_nan, LS__AS_IT_IS}, {NULL, NULL, 0}};
