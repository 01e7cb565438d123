/* SPDX-License-Identifier: BSD-3-Clause */
/* Attention and rotary positions, as operators of opset 23 and as exporters
 * write attention out: MatMul(q, kT) by a factor, a causal mask, Softmax,
 * MatMul with v.  Where it can be it is the engine's one operator. */
#include "base/error.h"
#include "import/reader.h"

#include <lockstep/arithmetic.h>

#include <math.h>
#include <string.h>

/* Masked scores are as low as that, or lower. */
static const double FAR = -1e30;

/* What an attention is made of: (rows,heads,T,d) each. */
typedef struct attention {
    ls__named q, k, v;
    double scale;
    bool causal;
} attention;

/* ------ one operator ------ */

/* (rows heads,T,d) as (rows,heads,T,d). */
static int as_heads(ls__named *v)
{
    int64_t heads = v->shape[0] / LS__ROWS;
    const int64_t shape[] = {LS__ROWS, heads, v->shape[1], v->shape[2]};

    if (v->rank != 3)
        return 0;
    return heads ? ls__value_reshape(v, 4, shape, 0) : LS_ESHAPE;
}

/* May the engine's operator do it? */
static bool is_own(const attention *a)
{
    const ls__named *q = &a->q, *k = &a->k, *v = &a->v;

    return q->rank == 4 && k->rank == 4 && v->rank == 4 &&
           ls__value_rows(q) == 0 && ls__value_rows(k) == 0 &&
           ls__value_rows(v) == 0 && q->shape[1] % k->shape[1] == 0 &&
           q->shape[2] == k->shape[2] && q->shape[3] == k->shape[3] &&
           !memcmp(k->shape, v->shape, 4 * sizeof *k->shape);
}

/* (rows,heads,T,d) as the node (T,heads d). */
static ls_node *side_by_side(ls__named *v)
{
    static const int order[] = {2, 1, 3};
    ls_node *x;

    if (ls__value_in_order(v, 3, order, &x) < 0)
        return NULL;
    return ls_reshape(x, 2, (int64_t[]){v->shape[2],
                                        v->shape[1] * v->shape[3]});
}

/* Make y the attention. */
static int attend(attention *a, ls__named *y)
{
    static const int order[] = {2, 1, 3};
    const int64_t *shape = a->q.shape;
    double by = a->scale * sqrt((double)shape[3]);
    ls_node *q = side_by_side(&a->q), *k = side_by_side(&a->k);
    ls_node *v = side_by_side(&a->v), *x;

    if (!q || !k || !v)
        return ls__made(NULL);
    if (fabs(by - 1) > 1e-6)
        q = ls_scale_shift(q, by, 0);
    x = ls_dot_product_attention(q, k, v, (int)shape[1], a->causal);
    if (!x)
        return ls__made(x);
    x = ls_reshape(x, 3, (int64_t[]){shape[2], shape[1], shape[3]});
    return ls__value_set(y, x, 4, shape, 3, order);
}

/* ------ written out ------ */

/* Numbers that are known, or that a node repeats. */
static const ls__named *numbers_of(const ls__named *v)
{
    if (v && v->kind == LS__NODE && v->known && v->known_of == v->node)
        return v->known;
    return v && v->kind == LS__NUMBERS ? v : NULL;
}

/* Does a mask of T by T show a position itself and those before?  It is added,
 * or where it is `hidden` (1 or 0) it hides. */
static bool is_causal(const ls__named *mask, int64_t t, int hidden)
{
    if (mask->rank < 2 || mask->shape[mask->rank - 1] != t ||
        ls__value_count(mask) != t * t)
        return false;
    for (int64_t i = 0; i < t * t; i++) {
        double x = mask->number[i];

        if (hidden >= 0)
            x = (x != 0) == hidden ? FAR : 0;
        if (i % t <= i / t ? x != 0 : !(x <= FAR))
            return false;
    }
    return true;
}

/* What is masked by a node, or goes into it if that is the softmax; NULL: it is
 * another node. */
static const ls__named *masked(ls__reader *r, const ls__om_node *n,
                               bool *causal)
{
    bool where = !strcmp(n->op, "Where");

    *causal = strcmp(n->op, "Softmax");
    if (!*causal)
        return ls__read_in(r, n, 0);
    for (int k = 0; k < 2 && n->inputs == 2 + where; k++) {
        const ls__named *s = ls__read_in(r, n, k + where);
        const ls__named *other = ls__read_in(r, n, !k + where);
        const ls__named *mask = where ? numbers_of(ls__read_in(r, n, 0))
                                      : numbers_of(other);
        double far = FAR;

        if (s && mask && s->kind == LS__NODE && s->rank > 1 &&
            (!where || (other && ls__only_number(other, &far))) && far <= FAR &&
            is_causal(mask, s->shape[s->rank - 1], where ? k : -1))
            return s;
    }
    return NULL;
}

/* Find the product that scores are, and its factors. */
static bool find_scores(ls__reader *r, const ls__named *s, attention *a)
{
    const ls__named *q, *k;
    const ls__om_node *n;
    int at, rank = s->rank;

    a->scale = ls__read_factor(r, s, &s);
    at = ls__read_maker(r, s);
    n = at < 0 ? NULL : &r->file->om.node[at];
    if (!n || strcmp(n->op, "MatMul") || !(q = ls__read_in(r, n, 0)) ||
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
        if (!strcmp(n->op, op))
            return true;
        if (strcmp(n->op, "Identity") &&
            (strcmp(n->op, "Cast") ||
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
        const ls__named *is = om->node[i].outputs
                                  ? ls__read_out(r, &om->node[i], 0) : NULL;
        int where = is && !strcmp(om->node[i].op, "IsNaN") &&
                            r->uses[t->y - r->value] == 2 &&
                            ls__read_in(r, &om->node[i], 0) == t->y
                        ? ls__read_reader(r, is, i) : -1;
        const ls__om_node *n = where < 0 ? NULL : &om->node[where];
        double no;

        if (n && !strcmp(n->op, "Where") && ls__read_in(r, n, 2) == t->y &&
            ls__read_in(r, n, 1) &&
            ls__only_number(ls__read_in(r, n, 1), &no) && no == 0) {
            t->node[t->count++] = i;
            t->node[t->count++] = where;
            t->y = ls__read_out(r, n, 0);
            return;
        }
    }
}

/* Find what is behind scores, up to the product with values. */
static bool find_values(ls__reader *r, const ls__om_node *n, attention *a,
                        taken *t)
{
    const ls__om_node *soft = n, *last;
    const ls__named *v;

    t->y = ls__read_out(r, n, 0);
    if (strcmp(n->op, "Softmax")) {
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
    static const int turned[] = {0, 1, 3, 2};
    attention a;
    taken t = {.count = 0};
    bool may = !strcmp(n->op, "Add") || !strcmp(n->op, "Where") ||
               !strcmp(n->op, "Softmax");
    const ls__named *s = may ? masked(r, n, &a.causal) : NULL;
    ls__named y = {.name = n->output[0]};
    int status, rank;

    if (!s || s->kind != LS__NODE || !find_scores(r, s, &a) ||
        !find_values(r, n, &a, &t))
        return 0;
    rank = a.q.rank;
    if (as_heads(&a.q) < 0 || as_heads(&a.k) < 0 || as_heads(&a.v) < 0)
        return 0;
    ls__value_transpose(&a.k, turned);
    if (!is_own(&a))
        return 0;
    if ((status = attend(&a, &y)) < 0)
        return status;
    if (rank == 3)
        status = ls__value_reshape(
            &y, 3, (int64_t[]){y.shape[0] * y.shape[1], y.shape[2],
                               y.shape[3]}, 0);
    for (int i = 0; i < t.count; i++)
        r->done[t.node[i]] = true;
    if (status == 0)
        status = ls__read_put(r, &r->file->om.node[t.node[t.count - 1]], &y);
    return status < 0 ? status : 1;
}
