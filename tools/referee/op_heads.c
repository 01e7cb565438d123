/* SPDX-License-Identifier: BSD-3-Clause */
/* Attention and rotary positions. */
#include "operators.h"

/* ------ rotary positions ------ */

f32 rotary_makes(const asked *q)
{
    int64_t heads = integer(q, "heads", 1), d, i, t;
    place x = is_y() ? q->x : q->dy;
    f32 power, angle, a, b, c, s;

    d = heads > 0 ? q->width / heads : 0;
    if (d < 2 || q->size != q->in_size || (!is_y() && !is_dx(q, 0)))
        return unknown("rotary");
    i = q->at % d % (d / 2);
    t = q->at % q->size / q->width;
    power = f_div(f_int(2 * i), f_int(d));
    angle = f_mul(f_int(t), f_div(F(1.0f), f_pow(real_number(q, "base"),
                                                 power)));
    x += q->at - q->at % d + i;
    a = word(x);
    b = word(x + d / 2);
    c = f_cos(angle);
    s = f_mul(is_y() ? F(1.0f) : F(-1.0f), f_sin(angle));
    a = q->at % d >= d / 2 ? f_add(f_mul(b, c), f_mul(a, s))
                           : f_sub(f_mul(a, c), f_mul(b, s));
    return is_y() ? a : plus_others(q, a);
}

/* ------ attention ------ */

/* T positions, D/H wide heads; k and v are kv wide, and each of their heads
 * serves `each` of q's.  Behind a head's P, where some of it is dropped, stand
 * words that say what was not, `kept` words in all. */
typedef struct heads {
    const asked *q;
    int64_t t, d, wide, kv, each, count, kept;
    bool causal;
    place k, v, s, dp, ds; /* (rows,heads,T,T) */
    place p;               /* (rows,heads,kept) */
    f32 scale;
    drops drops;
} heads;

/* Position t of a head of row i, in q and y, and in k and v. */
static int64_t in_q(const heads *h, int64_t i, int64_t head, int64_t t)
{
    return (i * h->t + t) * h->wide + head * h->d;
}

static int64_t in_kv(const heads *h, int64_t i, int64_t head, int64_t t)
{
    return (i * h->t + t) * h->kv + head / h->each * h->d;
}

/* P of element (t,u) of a head, of all rows, kept or dropped. */
static f32 drop(const heads *h, f32 p, int64_t head, int64_t t, int64_t u)
{
    return h->drops.some ? dropped(&h->drops, p, h->count * h->t * h->t,
                                   (head * h->t + t) * h->t + u)
                         : p;
}

/* Element (t,u) of a head's scores, or of dP. */
static f32 score(const heads *h, bool back)
{
    const asked *q = h->q;
    int64_t u = q->at % h->t, t = q->at / h->t % h->t;
    int64_t number = q->at / h->t / h->t, i = number / h->count;
    int64_t head = number % h->count;
    f32 x = multiplied(NULL, words((back ? q->dy : q->x) +
                                       in_q(h, i, head, t), h->d, 1),
                       words((back ? h->v : h->k) + in_kv(h, i, head, u),
                             h->d, 1), h->d);

    return back ? drop(h, x, number, t, u) : f_mul(x, h->scale);
}

/* Element u of a row of P, or of dS. */
static f32 weight(const heads *h, bool back)
{
    const asked *q = h->q;
    int64_t all = h->t * h->t, each = back ? all : h->kept;
    int64_t head = q->at / each, at = q->at % each, t = at / h->t;
    int64_t u = at % h->t, sees = h->causal && !back ? t + 1 : h->t;
    const f32 *x;

    if (at >= all)
        return kept_bits(&h->drops, h->count * all, head * all, at - all, all);
    if (u >= sees)
        return 0;
    x = words((back ? h->dp : h->s) + (head * h->t + t) * h->t, sees, 1);
    return back ? softmax_back(words(h->p + head * h->kept + t * h->t, h->t,
                                     1),
                               x, h->t, u)
                : softmax_of(x, sees, u);
}

/* y = P v, or dq = dS k scale. */
static f32 by_row(const heads *h, bool back)
{
    const asked *q = h->q;
    int64_t c = q->at % h->wide, t = q->at / h->wide % h->t;
    int64_t i = q->at / q->size, head = c / h->d;
    int64_t number = i * h->count + head, n = h->t;
    f32 *a = words((back ? h->ds + number * n * n : h->p + number * h->kept) +
                       t * n, n, 1), x;

    for (int64_t u = 0; u < n && !back; u++)
        a[u] = drop(h, a[u], number, t, u);
    x = multiplied(NULL, a, words((back ? h->k : h->v) + in_kv(h, i, head, 0) +
                                      c % h->d, n, h->kv), n);
    return back ? plus_others(q, f_mul(x, h->scale)) : x;
}

/* dk = dS^T q scale, or dv = P^T dy: the products of q's heads that share it
 * are added one after the other. */
static f32 by_column(const heads *h, bool of_k)
{
    const asked *q = h->q;
    int64_t c = q->at % h->kv, u = q->at / h->kv % h->t, n = h->t;
    int64_t i = q->at / h->kv / n, head = c / h->d * h->each;
    f32 sum = 0, x;

    for (int64_t k = head; k < head + h->each; k++) {
        int64_t number = i * h->count + k;
        f32 *a = words((of_k ? h->ds + number * n * n
                             : h->p + number * h->kept) + u, n, n);

        for (int64_t t = 0; t < n && !of_k; t++)
            a[t] = drop(h, a[t], number, t, u);
        x = multiplied(NULL, a, words((of_k ? q->x : q->dy) +
                                          in_q(h, i, k, 0) + c % h->d, n,
                                      h->wide), n);
        x = of_k ? f_mul(x, h->scale) : x;
        sum = k > head ? f_add(sum, x) : x;
    }
    return plus_others(q, sum);
}

static bool find_heads(const asked *q, heads *h)
{
    const said *k = node_of(input(q->n, 1)), *v = node_of(input(q->n, 2));
    const char *rate = attribute(q->n, "dropout");
    bool has_drops = real_or(rate, 0) > 0;
    int64_t all;

    memset(h, 0, sizeof *h);
    h->q = q;
    h->count = integer(q, "heads", 1);
    h->causal = integer(q, "causal", 0);
    h->wide = q->width;
    h->t = q->size / q->width;
    h->k = input_of(q, 1);
    h->v = input_of(q, 2);
    if (!k || !v || h->count < 1 || h->wide % h->count || !h->k || !h->v ||
        q->size != q->in_size || (has_drops && !find_drops(q, rate, &h->drops)))
        return false;
    h->kv = width(k->shape);
    h->d = h->wide / h->count;
    if (h->kv < 1 || h->wide % h->kv || h->kv % h->d ||
        size(k->shape) != h->t * h->kv || size(v->shape) != h->t * h->kv ||
        h->t > ATTRIBUTE / h->t / h->count / (q->rows + 1))
        return false;
    h->each = h->wide / h->kv;
    h->scale = f_div(F(1.0f), f_sqrt(f_int(h->d)));
    all = q->rows * h->count * h->t * h->t;
    h->kept = h->t * h->t + (has_drops ? (h->t * h->t + 31) / 32 : 0);
    h->s = shown(q, "forward", "S", all);
    h->p = shown(q, "forward", "kept", q->rows * h->count * h->kept);
    h->dp = shown(q, "backward", "dP", all);
    h->ds = shown(q, "backward", "dS", all);
    return true;
}

static f32 attention_back(const heads *h)
{
    const asked *q = h->q;

    if (!q->dy || !h->p)
        return unknown("attention");
    if (is_what("dP"))
        return score(h, true);
    if (is_what("dS") && h->dp)
        return weight(h, true);
    if (is_dx(q, 0) && h->ds)
        return by_row(h, true);
    return (is_dx(q, 1) && h->ds) || is_dx(q, 2)
               ? by_column(h, of->index == 1) : unknown("attention");
}

f32 attention_makes(const asked *q)
{
    heads h;

    if (!find_heads(q, &h))
        return unknown("attention");
    if (is_what("S"))
        return score(&h, false);
    if (is_what("kept") && h.s)
        return weight(&h, false);
    return is_y() && h.p ? by_row(&h, false) : attention_back(&h);
}
