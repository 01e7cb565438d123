/* SPDX-License-Identifier: BSD-3-Clause */
/* Attention as one operator, of opset 23: the engine's where it does the same,
 * else products and a softmax. */
#include "base/error.h"
#include "import/heads.h"

#include <lockstep/arithmetic.h>

#include <math.h>
#include <string.h>

/* ------ one operator ------ */

bool ls__attention_is_own(const ls__attention_parts *a)
{
    const ls__named *q = &a->q, *k = &a->k, *v = &a->v;

    return q->rank == 4 && k->rank == 4 && v->rank == 4 &&
           ls__value_rows(q) == 0 && ls__value_rows(k) == 0 &&
           ls__value_rows(v) == 0 && q->shape[1] % k->shape[1] == 0 &&
           q->shape[2] == k->shape[2] && q->shape[3] == k->shape[3] &&
           !memcmp(k->shape, v->shape, 4 * sizeof *k->shape);
}

static const int beside[] = {2, 1, 3};

ls_node *ls__heads_beside(ls__named *v)
{
    return ls_reshape(ls__value_in_order(v, 3, beside), 2,
                      (int64_t[]){v->shape[2], v->shape[1] * v->shape[3]});
}

int ls__heads_apart(ls_node *x, const int64_t *shape, ls__named *y)
{
    x = ls_reshape(x, 3, (int64_t[]){shape[2], shape[1], shape[3]});
    return ls__value_set(y, x, 4, shape, 3, beside);
}

int ls__attend(ls__attention_parts *a, ls__named *y)
{
    const int64_t *shape = a->q.shape;
    double by = a->scale * sqrt((double)shape[3]);
    ls_node *q = ls__heads_beside(&a->q), *k = ls__heads_beside(&a->k);
    ls_node *v = ls__heads_beside(&a->v);

    if (!q || !k || !v)
        return ls__made(NULL);
    if (fabs(by - 1) > 1e-6)
        q = ls_scale_shift(q, by, 0);
    q = ls_dot_product_attention(q, k, v, (int)shape[1], a->causal);
    return ls__heads_apart(q, shape, y);
}

/* ------ masks ------ */

const ls__named *ls__numbers_of(const ls__named *v)
{
    if (v && v->kind == LS__NODE && v->known && v->known_of == v->node)
        return v->known;
    return v && v->kind == LS__NUMBERS ? v : NULL;
}

bool ls__is_causal(const ls__named *mask, int64_t t, int hidden)
{
    if (mask->rank < 2 || mask->shape[mask->rank - 1] != t ||
        ls__value_count(mask) != t * t)
        return false;
    for (int64_t i = 0; i < t * t; i++) {
        double x = mask->number[i];

        if (hidden >= 0)
            x = (x != 0) == hidden ? LS__FAR : 0;
        if (i % t <= i / t ? x != 0 : !(x <= LS__FAR))
            return false;
    }
    return true;
}

/* ------ in and out ------ */

/* (rows,T,heads,d) and (rows,heads,T,d). */
static const int heads_first[] = {0, 2, 1, 3};

int ls__heads_in(ls__reader *r, const ls__om_node *n, int k, int64_t heads,
                 ls__named *v)
{
    int status = ls__read_node_in(r, n, k, v);

    if (status < 0 || v->rank == 4)
        return status;
    if (v->rank != 3 || heads < 1 || v->shape[2] % heads)
        return ls__refuse("its input %d does not divide into %lld heads", k,
                          (long long)heads);
    status = ls__value_reshape(v, 4, (int64_t[]){v->shape[0], v->shape[1],
                                                 heads, v->shape[2] / heads},
                               0);
    if (status == 0)
        ls__value_transpose(v, heads_first);
    return status;
}

int ls__heads_out(ls__reader *r, const ls__om_node *n, ls__named *y)
{
    if (ls__read_in(r, n, 0)->rank == 4)
        return 0;
    ls__value_transpose(y, heads_first);
    return ls__value_merge(y, 2);
}

/* Repeat each head of keys or values for those of queries that share it. */
static int repeat_heads(ls__named *v, int64_t heads)
{
    int64_t each = heads / v->shape[1], t = v->shape[2], d = v->shape[3];
    const int64_t wide[] = {v->shape[0], v->shape[1], each, t, d};
    int status;

    if (each * v->shape[1] != heads)
        return ls__refuse("%lld heads cannot share %lld", (long long)heads,
                          (long long)v->shape[1]);
    if (each == 1)
        return 0;
    ls__value_unsqueeze(v, 2);
    status = ls__value_expand(v, 5, wide);
    return status < 0 ? status
                      : ls__value_reshape(v, 4, (int64_t[]){wide[0], heads, t,
                                                            d}, 0);
}

/* Scores, a mask or two, a softmax, a product. */
static int by_parts(ls__reader *r, const ls__om_node *n, ls__attention_parts *a,
                    ls__named mask[2], ls__named *y)
{
    ls__named s = {.name = n->output[0]};
    int64_t scores;
    int status;

    if ((status = repeat_heads(&a->k, a->q.shape[1])) < 0 ||
        (status = repeat_heads(&a->v, a->q.shape[1])) < 0)
        return status;
    ls__value_exchange(&a->k, 2);
    if ((status = ls__value_product(&a->q, &a->k, &s)) < 0 ||
        (status = ls__value_with(&s, ls_scale_shift(s.node, a->scale, 0))) < 0)
        return status;
    scores = ls__value_count(&s);
    for (int i = 0; i < 2; i++) {
        if (mask[i].rank && (status = ls__read_add(r, n, &s, &mask[i])) < 0)
            return status;
        if (ls__value_count(&s) != scores)
            return ls__refuse("its mask is wider than its scores");
    }
    status = ls__value_set_last(&s, ls_softmax(ls__value_last(&s)), s.shape[3]);
    return status < 0 ? status : ls__value_product(&s, &a->v, y);
}

/* A mask that is given: numbers, of which truths show, or floats. */
static int given_mask(ls__reader *r, const ls__om_node *n, const ls__named *is,
                      ls__named *mask)
{
    int status;

    if (is->kind != LS__NUMBERS || is->is_real) {
        *mask = *is;
        if (is->is_truth)
            return ls__value_with(mask, ls_scale_shift(is->node, -LS__FAR,
                                                       LS__FAR));
        return is->is_real ? 0 : ls__refuse("its mask is data, and no floats "
                                            "that are added");
    }
    mask->name = n->output[0];
    status = ls__fold_new(r, mask, is->rank, is->shape, true);
    for (int64_t i = 0; status == 0 && i < ls__value_count(is); i++)
        mask->number[i] = is->number[i] != 0 ? 0 : LS__FAR;
    return status;
}

/* The causal mask of that shape. */
static int causal_mask(ls__reader *r, const ls__om_node *n, int64_t t,
                       int64_t of, ls__named *mask)
{
    int status;

    mask->name = n->output[0];
    status = ls__fold_new(r, mask, 2, (int64_t[]){t, of}, true);
    for (int64_t i = 0; status == 0 && i < t * of; i++)
        mask->number[i] = i % of <= i / of ? 0 : LS__FAR;
    return status;
}

/* What is not read of it. */
static int refuse(ls__reader *r, const ls__om_node *n)
{
    static const char *const outputs[] = {
        "", "its keys are kept for later steps",
        "its values are kept for later steps", "its scores are put out"};

    for (int k = 4; k < n->inputs; k++)
        if (ls__read_in(r, n, k))
            return ls__refuse("it goes on from keys and values of earlier "
                              "steps: export without a cache");
    for (int k = 1; k < n->outputs && k < 4; k++)
        if (*n->output[k] && r->uses[ls__read_out(r, n, k) - r->value])
            return ls__refuse("%s: export without a cache", outputs[k]);
    return ls__om_real(n, "softcap", 0) != 0
               ? ls__refuse("softcap is not known here") : 0;
}

static int attention_of(ls__reader *r, const ls__om_node *n, ls__named *v)
{
    int64_t heads = ls__om_integer(n, "q_num_heads", 0);
    int64_t shared = ls__om_integer(n, "kv_num_heads", heads);
    const ls__named *is = ls__read_in(r, n, 3);
    ls__named mask[2] = {{0}};
    ls__attention_parts a = {.causal = ls__om_integer(n, "is_causal", 0)};
    int64_t t;
    int status = refuse(r, n);

    if (status < 0 || (status = ls__heads_in(r, n, 0, heads, &a.q)) < 0 ||
        (status = ls__heads_in(r, n, 1, shared, &a.k)) < 0 ||
        (status = ls__heads_in(r, n, 2, shared, &a.v)) < 0 ||
        (is && (status = given_mask(r, n, is, &mask[0])) < 0))
        return status;
    t = a.q.shape[2];
    a.scale = ls__om_real(n, "scale", 1 / sqrt((double)a.q.shape[3]));
    if (mask[0].kind == LS__NUMBERS && t == a.k.shape[2] &&
        ls__is_causal(&mask[0], t, -1)) {
        a.causal = true;
        mask[0] = (ls__named){0};
    }
    if (ls__attention_is_own(&a) && !mask[0].rank)
        status = ls__attend(&a, v);
    else if (!a.causal ||
             (status = causal_mask(r, n, t, a.k.shape[2], &mask[1])) == 0)
        status = by_parts(r, n, &a, mask, v);
    return status < 0 ? status : ls__heads_out(r, n, v);
}

const ls__read_row ls__read_heads[] = {
    {"Attention", attention_of, LS__AS_IT_IS},
    {"RotaryEmbedding", ls__read_rotary, LS__AS_IT_IS}, {NULL, NULL, 0}};
