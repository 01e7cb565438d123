/* SPDX-License-Identifier: BSD-3-Clause */
/* Attention as exporters write it out: MatMul(q, kT) by a factor, a causal mask
 * or none, Softmax, MatMul with v.  It becomes the engine's operator. */
#include "import/heads.h"

#include <string.h>

/* (rows heads,T,d) as (rows,heads,T,d). */
static int as_heads(ls__named *v)
{
    int64_t heads = v->shape[0] / LS__ROWS;
    const int64_t shape[] = {LS__ROWS, heads, v->shape[1], v->shape[2]};

    if (v->rank != 3)
        return 0;
    return heads ? ls__value_reshape(v, 4, shape, 0) : LS_ESHAPE;
}

/* What is masked by a node, or goes into it if that is the softmax; NULL: it is
 * another node. */
static const ls__named *masked(ls__reader *r, const ls__om_node *n,
                               bool *causal)
{
    bool where = ls__om_is(n, "Where");

    *causal = !ls__om_is(n, "Softmax");
    if (!*causal)
        return ls__read_in(r, n, 0);
    for (int k = 0; k < 2 && n->inputs == 2 + where; k++) {
        const ls__named *s = ls__read_in(r, n, k + where);
        const ls__named *other = ls__read_in(r, n, !k + where);
        const ls__named *mask = where ? ls__numbers_of(ls__read_in(r, n, 0))
                                      : ls__numbers_of(other);
        double far = LS__FAR;

        if (s && mask && s->kind == LS__NODE && s->rank > 1 &&
            (!where || (other && ls__only_number(other, &far))) &&
            far <= LS__FAR &&
            ls__is_causal(mask, s->shape[s->rank - 1], where ? k : -1))
            return s;
    }
    return NULL;
}

/* Find the product that scores are, and its factors. */
static bool find_scores(ls__reader *r, const ls__named *s,
                        ls__attention_parts *a)
{
    const ls__named *q, *k;
    const ls__om_node *n;
    int at, rank = s->rank;

    a->scale = ls__read_factor(r, s, &s);
    at = ls__read_maker(r, s);
    n = at < 0 ? NULL : &r->file->om.node[at];
    if (!n || !ls__om_is(n, "MatMul") || !(q = ls__read_in(r, n, 0)) ||
        !(k = ls__read_in(r, n, 1)))
        return false;
    a->scale *= ls__read_factor(r, q, &q) * ls__read_factor(r, k, &k);
    a->q = *q;
    a->k = *k;
    return q->kind == LS__NODE && k->kind == LS__NODE && q->rank == rank &&
           k->rank == rank && (rank == 3 || rank == 4);
}

/* Nodes behind the one that is read, which become part of it. */
typedef struct taken {
    int node[8], count;
    const ls__named *y; /* the last one's value */
} taken;

/* Go on to the only reader, past copies; false: it is of another operator. */
static bool take(ls__reader *r, const char *op, taken *t)
{
    while (t->count < 8) {
        int at = ls__read_reader(r, t->y, t->count ? t->node[t->count - 1]
                                                   : r->node);
        const ls__om_node *n = at < 0 ? NULL : &r->file->om.node[at];

        if (!n || ls__read_in(r, n, 0) != t->y)
            break;
        t->node[t->count++] = at;
        t->y = ls__read_out(r, n, 0);
        if (ls__om_is(n, op))
            return true;
        if (!ls__om_is(n, "Identity") &&
            (!ls__om_is(n, "Cast") ||
             ls__om_integer(n, "to", 0) != LS__OM_FLOAT))
            break;
    }
    return false;
}

/* Go past Where(IsNaN(p), 0, p), if that is what reads a softmax. */
static void take_is_nan(ls__reader *r, taken *t)
{
    const ls__om *om = &r->file->om;
    int at = t->count ? t->node[t->count - 1] : r->node;

    for (int i = at + 1; i < om->nodes && i < at + 8; i++) {
        const ls__om_node *n = &om->node[i];
        int where = n->outputs && ls__om_is(n, "IsNaN") &&
                            r->uses[t->y - r->value] == 2 &&
                            ls__read_in(r, n, 0) == t->y
                        ? ls__read_no_nan(r, t->y, ls__read_out(r, n, 0), i)
                        : -1;

        if (where < 0)
            continue;
        t->node[t->count++] = i;
        t->node[t->count++] = where;
        t->y = ls__read_out(r, &om->node[where], 0);
        return;
    }
}

/* Find what is behind scores, up to the product with values. */
static bool find_values(ls__reader *r, const ls__om_node *n,
                        ls__attention_parts *a, taken *t)
{
    const ls__om_node *soft = n, *last;
    const ls__named *v;

    t->y = ls__read_out(r, n, 0);
    if (!ls__om_is(n, "Softmax")) {
        if (!take(r, "Softmax", t))
            return false;
        soft = &r->file->om.node[t->node[t->count - 1]];
    }
    if (ls__om_integer(soft, "axis", -1) != -1 &&
        ls__om_integer(soft, "axis", -1) != a->q.rank - 1)
        return false;
    if (t->count < 4)
        take_is_nan(r, t);
    if (!take(r, "MatMul", t))
        return false;
    last = &r->file->om.node[t->node[t->count - 1]];
    v = ls__read_in(r, last, 1);
    if (!v || v->kind != LS__NODE || v->rank != a->q.rank)
        return false;
    a->v = *v;
    return true;
}

int ls__read_written_attention(ls__reader *r, const ls__om_node *n)
{
    ls__attention_parts a;
    taken t = {.count = 0};
    const ls__named *s = ls__om_is(n, "Add Where Softmax")
                             ? masked(r, n, &a.causal) : NULL;
    ls__named y = {.name = n->output[0]};
    int status, rank;

    if (!s || s->kind != LS__NODE || !find_scores(r, s, &a) ||
        !find_values(r, n, &a, &t))
        return 0;
    rank = a.q.rank;
    if (as_heads(&a.q) < 0 || as_heads(&a.k) < 0 || as_heads(&a.v) < 0)
        return 0;
    ls__value_exchange(&a.k, 2);
    if (!ls__attention_is_own(&a))
        return 0;
    if ((status = ls__attend(&a, &y)) < 0)
        return status;
    if (rank == 3)
        status = ls__value_reshape(
            &y, 3, (int64_t[]){y.shape[0] * y.shape[1], y.shape[2],
                               y.shape[3]}, 0);
    for (int i = 0; i < t.count; i++)
        r->done[t.node[i]] = true;
    return status < 0 ? status
           : ls__read_put(r, &r->file->om.node[t.node[t.count - 1]], &y);
}
