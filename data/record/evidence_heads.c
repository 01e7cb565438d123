/* SPDX-License-Identifier: BSD-3-Clause */
/* Evidence of attention and of rotary positions. */
#include "record/evidence_rules.h"

#include <stdlib.h>

/* ------ rotary positions ------ */

int ls__evidence_rotary(const ls__asked *q)
{
    int64_t heads = ls__asked_of(q, "heads", 1);
    int64_t d = heads > 0 ? q->width / heads : 0;
    const uint32_t *x = ls__asked_y(q) ? q->x : q->dy;
    int64_t i, first;

    if (d < 2 || (!ls__asked_y(q) && !ls__asked_dx(q, 0)))
        return ls__asked_unknown("rotary");
    i = q->at % d % (d / 2);
    first = q->at - q->at % d;
    ls__asked_rule(q, ls__asked_y(q) ? "rotary" : "rotary.back");
    ls__evidence_number(q->e, "a", &x[first + i]);
    ls__evidence_number(q->e, "b", &x[first + i + d / 2]);
    ls__evidence_word(q->e, "t", (uint32_t)(q->at % q->size / q->width));
    ls__evidence_word(q->e, "i", (uint32_t)i);
    ls__evidence_word(q->e, "d", (uint32_t)d);
    ls__evidence_word(q->e, "base", ls__asked_real(q, "base"));
    ls__evidence_word(q->e, "at", q->at % d >= d / 2);
    if (!ls__asked_y(q))
        ls__asked_addend(q);
    return 0;
}

/* ------ attention ------ */

/* T positions, D/H wide heads; k and v are kv wide, and each of their heads
 * serves `each` of q's.  Behind a head's P, where some of it is dropped, stand
 * words that say what was not, `kept` numbers in all. */
typedef struct heads {
    const ls__asked *q;
    int64_t t, d, wide, kv, each, count, kept;
    bool causal;
    const uint32_t *k, *v, *s, *dp, *ds; /* (rows,heads,T,T) */
    const uint32_t *p;                   /* (rows,heads,kept) */
    ls__drops drops;
} heads;

/* Find position t of a head of row i, in q and y, and in k and v. */
static int64_t in_q(const heads *h, int64_t i, int64_t head, int64_t t)
{
    return (i * h->t + t) * h->wide + head * h->d;
}

static int64_t in_kv(const heads *h, int64_t i, int64_t head, int64_t t)
{
    return (i * h->t + t) * h->kv + head / h->each * h->d;
}

/* Say what of P, from row t of a head of row i on, is dropped; step 0: of a
 * sum. */
static void give_drops(const heads *h, int64_t i, int64_t head, int64_t t,
                       int64_t u, int64_t step)
{
    if (!h->drops.key)
        return;
    ls__asked_drops(h->q, &h->drops, h->count * h->t * h->t,
                    ((i * h->count + head) * h->t + t) * h->t + u);
    if (step)
        ls__evidence_word(h->q->e, "step", (uint32_t)step);
}

static void give_scale(const heads *h)
{
    ls__evidence_word(h->q->e, "scale",
                      ls__asked_bits(1.0f / __builtin_sqrtf((float)h->d)));
}

/* Make element (t,u) of a head's scores, or of dP. */
static int score(const heads *h, bool back)
{
    const ls__asked *q = h->q;
    int64_t u = q->at % h->t, t = q->at / h->t % h->t;
    int64_t head = q->at / h->t / h->t, i = head / h->count;

    head %= h->count;
    ls__asked_product(q);
    ls__evidence_list(q->e, "a", h->d, (back ? q->dy : q->x) +
                                           in_q(h, i, head, t), 1);
    ls__evidence_list(q->e, "b", h->d, (back ? h->v : h->k) +
                                           in_kv(h, i, head, u), 1);
    if (back)
        give_drops(h, i, head, t, u, 0);
    else
        give_scale(h);
    return 0;
}

/* Make element u of a row of P, or of dS. */
static int weight(const heads *h, bool back)
{
    const ls__asked *q = h->q;
    int64_t wide = back ? h->t * h->t : h->kept, head = q->at / wide;
    int64_t t = q->at % wide / h->t, u = q->at % wide % h->t;
    int64_t sees = h->causal && !back ? t + 1 : h->t;
    int64_t first = (head * h->t + t) * h->t;

    if (t >= h->t)
        return ls__asked_unknown("which weights of attention are not dropped: "
                                 "that is no float");
    if (u >= sees) {
        ls__asked_rule(q, "move");
        ls__evidence_word(q->e, "x", 0);
        return 0;
    }
    ls__asked_rule(q, back ? "softmax.back" : "softmax");
    if (back)
        ls__evidence_list(q->e, "p", h->t, h->p + head * h->kept + t * h->t, 1);
    ls__evidence_list(q->e, back ? "dp" : "x", sees,
                      (back ? h->dp : h->s) + first, 1);
    ls__evidence_word(q->e, "at", (uint32_t)u);
    return 0;
}

/* y = P v, or dq = dS k scale. */
static int by_row(const heads *h, bool back)
{
    const ls__asked *q = h->q;
    int64_t c = q->at % h->wide, t = q->at / h->wide % h->t;
    int64_t i = q->at / q->size, head = c / h->d;
    int64_t number = i * h->count + head;

    ls__asked_product(q);
    ls__evidence_list(q->e, "a", h->t,
                      (back ? h->ds + number * h->t * h->t
                            : h->p + number * h->kept) + t * h->t, 1);
    ls__evidence_list(q->e, "b", h->t, (back ? h->k : h->v) +
                                           in_kv(h, i, head, 0) + c % h->d,
                      h->kv);
    if (!back) {
        give_drops(h, i, head, t, 0, 1);
        return 0;
    }
    give_scale(h);
    ls__asked_addend(q);
    return 0;
}

/* dk = dS^T q scale, or dv = P^T dy: the products of q's heads that share it
 * one after the other. */
static int by_column(const heads *h, bool of_k)
{
    const ls__asked *q = h->q;
    int64_t c = q->at % h->kv, u = q->at / h->kv % h->t;
    int64_t i = q->at / h->kv / h->t, head = c / h->d * h->each;
    int64_t wide = of_k ? h->t * h->t : h->kept, number = i * h->count + head;
    const uint32_t *a = of_k ? h->ds : h->p, *b = of_k ? q->x : q->dy;

    ls__asked_product(q);
    ls__evidence_begin(q->e, "a");
    for (int64_t k = 0; k < h->each * h->t; k++)
        ls__evidence_take(q->e, a + (number + k / h->t) * wide +
                                    k % h->t * h->t + u);
    ls__evidence_end(q->e);
    ls__evidence_begin(q->e, "b");
    for (int64_t k = 0; k < h->each * h->t; k++)
        ls__evidence_take(q->e, b + in_q(h, i, head + k / h->t, k % h->t) +
                                    c % h->d);
    ls__evidence_end(q->e);
    if (h->each > 1)
        ls__evidence_word(q->e, "heads", (uint32_t)h->each);
    if (of_k)
        give_scale(h);
    else
        give_drops(h, i, head, 0, u, h->t);
    ls__asked_addend(q);
    return 0;
}

static bool find_heads(const ls__asked *q, heads *h)
{
    const ls__said *k = ls__evidence_node(q->e, ls__evidence_input(q->n, 1));
    const char *rate = ls__evidence_of(q->n, "dropout");
    bool drops = rate && strtod(rate, NULL) > 0;
    int64_t all, words;

    *h = (heads){.q = q, .count = ls__asked_of(q, "heads", 1),
                 .causal = ls__asked_of(q, "causal", 0) != 0, .wide = q->width,
                 .t = q->size / q->width, .k = ls__asked_x(q, 1),
                 .v = ls__asked_x(q, 2)};
    if (!k || h->count < 1 || h->wide % h->count || !h->k || !h->v ||
        (drops && !ls__asked_find_drops(q, rate, &h->drops)))
        return false;
    h->kv = ls__evidence_width(k->shape);
    h->d = h->wide / h->count;
    if (h->kv < 1 || h->wide % h->kv)
        return false;
    h->each = h->wide / h->kv;
    all = q->rows * h->count * h->t * h->t;
    words = drops ? (h->t * h->t + 31) / 32 : 0;
    h->kept = h->t * h->t + words;
    h->s = ls__asked_shown(q, "forward", "S", all);
    h->p = ls__asked_shown(q, "forward", "kept",
                           q->rows * h->count * h->kept);
    h->dp = ls__asked_shown(q, "backward", "dP", all);
    h->ds = ls__asked_shown(q, "backward", "dS", all);
    return true;
}

static int attention_back(const heads *h)
{
    const ls__asked *q = h->q;

    if (!q->dy || !h->p)
        return ls__asked_unknown("attention");
    if (ls__asked_what(q, "dP"))
        return score(h, true);
    if (ls__asked_what(q, "dS") && h->dp)
        return weight(h, true);
    if (ls__asked_dx(q, 0) && h->ds)
        return by_row(h, true);
    return (ls__asked_dx(q, 1) && h->ds) || ls__asked_dx(q, 2)
               ? by_column(h, q->e->of->place.index == 1)
               : ls__asked_unknown("attention");
}

int ls__evidence_attention(const ls__asked *q)
{
    heads h;

    if (!find_heads(q, &h))
        return ls__asked_unknown("attention");
    if (ls__asked_what(q, "S"))
        return score(&h, false);
    if (ls__asked_what(q, "kept") && h.s)
        return weight(&h, false);
    return ls__asked_y(q) && h.p ? by_row(&h, false) : attention_back(&h);
}
